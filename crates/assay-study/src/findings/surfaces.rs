//! What the places of a device are like, one by one.

use serde::{Deserialize, Serialize};

use super::Trust;
use crate::results::plan::Arm;

/// The rate of a workload over its area, from its first byte to its last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Surface {
    pub workload: String,
    pub configuration: Arm,
    /// Trust of the workload, which is that of each of its bands; absent when nothing was measured.
    pub trust: Option<Trust>,
    /// Ten equal parts of the area.
    pub bands: Vec<Band>,
    /// Each place that was gone to, where there are so many that they can be drawn; places that no
    /// trial came to are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<Spot>,
    /// What the places say together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Extremes>,
    /// What keeps it from being whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One place of an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spot {
    /// Where it lies, in percent of the area.
    pub percent: f64,
    /// Trials that the numbers are of.
    pub n: usize,
    /// Bytes per second of service time: geometric mean of the trials.
    pub bandwidth_bytes_per_s: f64,
    /// Trial with the lowest.
    pub min: f64,
    /// Trial with the highest.
    pub max: f64,
}

/// The lowest, the mean and the highest of several numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extremes {
    pub lowest: f64,
    /// Their mean: of times the arithmetic one, of rates that of all places one after the other.
    pub mean: f64,
    pub highest: f64,
}

/// How soon single operations at random places ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accesses {
    pub workload: String,
    pub configuration: Arm,
    /// Trust of the workload.
    pub trust: Option<Trust>,
    /// Trials that the three numbers are of.
    pub n: usize,
    /// Nanoseconds of single operations, over all trials that count.
    pub whole: Extremes,
    /// The operations of the first of them: percent of the area, and nanoseconds.
    pub dots: Vec<(f64, u64)>,
}

/// One part of an area. A part that no sample of any trial went to has no numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Band {
    /// Where it begins, in percent of the area.
    pub from_percent: u32,
    /// Where it ends.
    pub to_percent: u32,
    /// Trials that the numbers are of.
    pub n: usize,
    /// Bytes per second of service time: geometric mean of the trials.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Trial with the lowest.
    pub min: Option<f64>,
    /// Trial with the highest.
    pub max: Option<f64>,
}
