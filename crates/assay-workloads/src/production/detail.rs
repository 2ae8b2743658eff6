//! Record of a period besides the data of all work.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::harm::{Breach, HarmLimits};
use super::look::{ClassRequests, DevicePressure, Glance};
use crate::measured::Counts;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProductionDetail {
    pub period: Period,
    /// Each second, including the settling time after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<Second>,
    /// Number of uncounted seconds at the beginning.
    #[serde(default)]
    pub left_out: usize,
    /// Limits beyond which the level would have been rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<HarmLimits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<Breach>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    pub span_ns: u64,
    pub classes: BTreeMap<String, ClassRequests>,
    /// Why single requests were not visible: then counts and means are the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untraced: Option<String>,
    /// Requests in flight at its beginning and at its end.
    pub in_flight: [u64; 2],
    /// Time in flight summed over requests, nanoseconds.
    pub under_way_ns: u64,
    pub pressure: Presence<DevicePressure>,
    /// Busy time summed over processors, nanoseconds.
    pub busy_ns: Presence<f64>,
}

impl Default for Period {
    fn default() -> Self {
        Self {
            span_ns: 0,
            classes: BTreeMap::new(),
            untraced: None,
            in_flight: [0; 2],
            under_way_ns: 0,
            pressure: Presence::Present(DevicePressure::default()),
            busy_ns: Presence::Present(0.0),
        }
    }
}

impl Period {
    pub fn beginning(in_flight: u64) -> Self {
        Self { in_flight: [in_flight; 2], ..Self::default() }
    }

    /// Adds the counters of a glance, which covers about one second.
    pub fn add(&mut self, glance: &Glance) {
        self.span_ns = self.span_ns.saturating_add(glance.span_ns);
        for (class, served) in &glance.classes {
            let sum = self.classes.entry(class.clone()).or_default();
            *sum = sum.plus(served);
        }
        if self.untraced.is_none() {
            self.untraced.clone_from(&glance.untraced);
        }
        self.in_flight[1] = glance.in_flight;
        self.under_way_ns = self.under_way_ns.saturating_add(glance.under_way_ns);
        self.pressure = self.pressure.both(&glance.pressure, |sum, more| DevicePressure {
            some_ns: sum.some_ns.saturating_add(more.some_ns),
            full_ns: sum.full_ns.saturating_add(more.full_ns),
        });
        let span_ns = glance.span_ns as f64;
        self.busy_ns = self.busy_ns.both(&glance.busy, |sum, share| sum + share * span_ns);
    }

    pub fn served(&self) -> ClassRequests {
        self.classes.values().fold(ClassRequests::default(), ClassRequests::plus)
    }

    pub fn seconds(&self) -> Option<f64> {
        (self.span_ns > 0).then(|| self.span_ns as f64 / 1e9)
    }
}

/// One second, the unit for limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    pub span_ns: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassRequests>,
    /// Minimum age of the oldest request in flight, nanoseconds.
    #[serde(default)]
    pub oldest_ns: u64,
    /// Share of it in which some task waited for a device, if the kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
}

impl From<&Glance> for Second {
    fn from(glance: &Glance) -> Self {
        let span_ns = glance.span_ns.max(1) as f64;
        Self {
            span_ns: glance.span_ns,
            classes: glance.classes.clone(),
            oldest_ns: glance.oldest_ns,
            pressure: glance.pressure.value().map(|pressure| pressure.some_ns as f64 / span_ns),
        }
    }
}

impl ProductionDetail {
    pub fn counted(&self) -> &[Second] {
        self.seconds.get(self.left_out..).unwrap_or_default()
    }
}

impl Counts for ProductionDetail {
    fn operations(&self) -> u64 {
        self.period.served().requests
    }
}
