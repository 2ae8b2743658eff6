//! An observation of production work; the observer is a parameter.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use crate::measured::SeriesRow;

/// Completed requests of one class in a time span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassRequests {
    pub requests: u64,
    pub bytes: u64,
    /// Time from arrival to completion, summed, nanoseconds.
    pub sum_ns: u64,
    /// p99 latency, if there are enough requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
}

impl ClassRequests {
    /// Adds those of another span; drops the p99.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes: self.bytes.saturating_add(other.bytes),
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            p99_ns: None,
        }
    }

    /// Mean latency, nanoseconds; `None` without requests.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.sum_ns as f64 / self.requests as f64)
    }
}

/// Time in which tasks waited for a device, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePressure {
    pub some_ns: u64,
    pub full_ns: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Glance {
    pub span_ns: u64,
    /// Classes with completions (`read`, `write`, `flush`, `discard`).
    pub classes: BTreeMap<String, ClassRequests>,
    /// Why single requests were not visible, if so.
    pub untraced: Option<String>,
    pub in_flight: u64,
    /// Time in flight summed over requests, nanoseconds.
    pub under_way_ns: u64,
    /// Minimum age of the oldest request in flight, nanoseconds.
    pub oldest_ns: u64,
    pub pressure: Presence<DevicePressure>,
    /// Share of the time in which processors were busy.
    pub busy: Presence<f64>,
    /// Rows per second to store; the caller sets their second.
    pub rows: Vec<SeriesRow>,
}

pub trait Lookout: Sync {
    /// The measurement begins: other probes take their readings now.
    fn begin(&self);
    fn glance(&self) -> Result<Glance, String>;
}
