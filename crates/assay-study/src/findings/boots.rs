//! What is told of boots beside their metrics.

use serde::{Deserialize, Serialize};

use crate::results::plan::Arm;

/// The boots of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BootGroup {
    /// Workload.
    pub workload: String,
    /// The group.
    pub arm: Arm,
    /// Boots that finished.
    pub n: usize,
    /// The slowest units, the slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<SlowUnit>,
    /// Boots that did not finish: shown, and in no mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<UnfinishedBoot>,
    /// What is worth telling of its boots, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A unit that took long to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowUnit {
    /// Its name.
    pub name: String,
    /// Boots that tell of it.
    pub n: usize,
    /// Seconds from the message that it was being started to the one that it had, mean of those boots.
    pub mean_s: f64,
    /// The longest of them.
    pub longest_s: f64,
}

/// A boot without an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedBoot {
    /// When it began by the wall clock, RFC 3339.
    pub started: String,
    /// Why it has no end.
    pub reason: String,
}
