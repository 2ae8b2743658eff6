//! Numbers that somebody published of such work, in their own digits: another machine's, so that
//! nothing is concluded from them about this one.

use serde::{Deserialize, Serialize};

use crate::results::plan::Arm;

/// One published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Title of the text that it stands in.
    pub article: String,
    /// The table that holds it, with the line.
    pub table: String,
    /// What it is of: `noop on ext4`.
    pub of: String,
    /// The workload that it stands beside.
    pub workload: String,
    /// Levels of the arms that it stands beside; empty where it stands beside all of them.
    pub configuration: Arm,
    pub metric: String,
    /// As it was printed, with its unit: `513349 K/s`; absent where it cannot be read any more.
    pub text: String,
    /// In the unit of the metric, or as a ratio; absent where it is no single number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit that it was printed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The factor over whose first level it is a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<String>,
    /// What it is: `mean of 5 runs, spread not published`.
    pub statistic: String,
    /// What speaks against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// A unit as an author writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unit {
    pub name: String,
    /// What one of it is in the unit of the metric.
    pub size: f64,
}
