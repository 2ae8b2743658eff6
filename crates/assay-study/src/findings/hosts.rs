//! The hosts of a fleet and their shares of the work.

use serde::{Deserialize, Serialize};

use crate::results::plan::Arm;

/// Several hosts that ran a study together: every number covers all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFindings {
    pub started: u32,
    /// How many were there at its end.
    pub finished: u32,
    /// SHA-256 of order and settings, which every host has proved.
    pub order_sha256: String,
    /// Connections that were turned away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
    pub rows: Vec<HostRow>,
    /// The slowest and the fastest host of each workload under each arm.
    pub ranges: Vec<HostRange>,
    /// Nanoseconds between the first and the last start of a trial: the median trial, and the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_ns: Option<[u64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRow {
    pub rank: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    pub trials: u32,
    /// Its rate over the mean rate of the hosts of a trial: the lowest, the median and the highest trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_rate: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// The slowest and the fastest host of a workload under an arm, by their means over its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRange {
    pub workload: String,
    pub configuration: Arm,
    /// Operations per second of the slowest.
    pub slowest_per_s: f64,
    pub slowest_rank: u32,
    /// Operations per second of the fastest.
    pub fastest_per_s: f64,
    pub fastest_rank: u32,
}
