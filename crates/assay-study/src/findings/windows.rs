//! Two windows of others' work, one set against the other: parts of the findings.

use serde::{Deserialize, Serialize};

/// The workload of what was only watched.
pub const WATCHED: &str = "watched";

/// Before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Windows {
    /// What is compared with.
    pub before: Window,
    /// What is compared.
    pub after: Window,
    /// Whether work waited so differently for a processor that latencies say little of the device.
    pub unequal_pressure: bool,
    /// What the two shares say of each other, a sentence without its end.
    pub pressure: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// Id of its result.
    pub result: String,
    /// What it was called.
    pub title: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Its length.
    pub seconds: f64,
    /// Share, 0 to 1, of it in which something waited for a processor; none where that was not recorded.
    pub cpu_pressure: Option<f64>,
}
