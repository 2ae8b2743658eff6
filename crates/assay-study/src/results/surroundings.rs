//! What was looked at once before the trials of a study and once after them.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::presence::Presence;
use assay_machine::probes::drive_health::Health;
use assay_machine::probes::energy::Energy;
use serde::{Deserialize, Serialize};

pub mod facts;

/// Reason for unobserved values: an older version, or no probe.
const NOT_WATCHED: &str = "not watched";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub health_before: BTreeMap<String, Presence<Health>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub health_after: BTreeMap<String, Presence<Health>>,
    /// Energy at idle, before the first trial.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub idle: Presence<Energy>,
    /// Processes that ran another study at the same time, as seen between trials.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub studies: BTreeSet<u32>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            health_before: BTreeMap::new(),
            health_after: BTreeMap::new(),
            idle: not_watched(),
            studies: BTreeSet::new(),
        }
    }
}

impl Surroundings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn not_watched<T>() -> Presence<T> {
    Presence::absent(NOT_WATCHED)
}

pub fn is_not_watched<T>(seen: &Presence<T>) -> bool {
    seen.reason() == Some(NOT_WATCHED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_watched_is_not_written() {
        assert_eq!(serde_json::to_string(&Surroundings::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<Surroundings>("{}").unwrap().is_empty());
    }
}
