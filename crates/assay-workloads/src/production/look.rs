//! What is seen of others' work at a glance; who looks is handed in.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use crate::measured::SeriesRow;

/// Requests of one class that ended in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    pub requests: u64,
    pub bytes: u64,
    /// Time from their arrival until their end, nanoseconds, summed.
    pub sum_ns: u64,
    /// Time that 99% of them stay below, where there are enough of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
}

impl Served {
    /// Adds those of another span; what is told of single requests is lost.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes: self.bytes.saturating_add(other.bytes),
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            p99_ns: None,
        }
    }

    /// Their mean latency, nanoseconds; none where there are none.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.sum_ns as f64 / self.requests as f64)
    }
}

/// Time in which tasks waited for a device, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    pub some_ns: u64,
    pub full_ns: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Glance {
    pub span_ns: u64,
    /// By class (`read`, `write`, `flush`, `discard`), of which something ended.
    pub classes: BTreeMap<String, Served>,
    /// Why requests were not seen one by one, where they were not.
    pub untraced: Option<String>,
    pub in_flight: u64,
    /// Nanoseconds that requests were under way, summed over them.
    pub under_way_ns: u64,
    /// Nanoseconds that the oldest request under way has been so at least.
    pub oldest_ns: u64,
    pub pressure: Presence<Waited>,
    /// Share of the processors' time in which they worked.
    pub busy: Presence<f64>,
    /// What is kept of it as rows per second; their second is set by whoever keeps them.
    pub rows: Vec<SeriesRow>,
}

pub trait Lookout: Sync {
    /// What counts begins now: whatever else looks around a trial looks now, too.
    fn begin(&self);
    fn glance(&self) -> Result<Glance, String>;
}
