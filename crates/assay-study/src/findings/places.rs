//! The same workload in several places, such as bare metal and containers, in percent of one of them.

use assay_core::json::is_default;
use assay_core::quantity::Better;
use serde::{Deserialize, Serialize};

use super::facts::PlaceSort;
use super::{EnvironmentFacts, Trust};
use crate::results::plan::Arm;

pub const PLACE: &str = "place";

/// Metric of numbers that were published as percent of a baseline place.
pub const PUBLISHED_PERCENT: &str = "published_percent";

pub const PUBLISHED: &str = "published";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Places {
    /// The place that the others are per cent of.
    pub baseline: String,
    pub chosen: BaselineChoice,
    /// The places: the baseline first, emulated ones last.
    pub platforms: Vec<Placed>,
    /// Each workload in each place, absent ones included.
    pub rows: Vec<PlaceRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedBeside>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BaselineChoice {
    Asked,
    BareMetal,
    /// The imported table compares with it.
    Table,
    First,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NameSource {
    Given,
    /// Detected during the study.
    Found,
    /// An imported table contains the name.
    Table,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placed {
    pub name: String,
    pub named: NameSource,
    /// Kind of place, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PlaceSort>,
    /// Recorded name, independent of a given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Its machine; without targets.
    pub machine: EnvironmentFacts,
    /// The results that were measured there, in the order in which they were given.
    pub results: Vec<PlacedResult>,
}

impl Placed {
    pub fn is_emulated(&self) -> bool {
        self.kind == Some(PlaceSort::Emulator)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedResult {
    pub id: String,
    /// When it started, RFC 3339.
    pub started: String,
}

/// Unit of observation of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PlatformUnit {
    Trials,
    /// Trials of two results, taken together.
    TrialsOfResults,
    /// Three or more results.
    Sessions,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceRow {
    pub workload: String,
    #[serde(default, skip_serializing_if = "Arm::is_empty")]
    pub configuration: Arm,
    pub platform: String,
    pub metric: String,
    pub better: Better,
    pub unit: PlatformUnit,
    pub n: usize,
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed: usize,
    /// Geometric mean, in the metric's unit.
    pub value: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// Per cent of the baseline's speed: 50 is half as fast.
    pub percent: Option<f64>,
    pub percent_ci95: Option<[f64; 2]>,
    /// Simultaneous interval for all places of the workload, which decides the verdict.
    pub percent_ci95_simultaneous: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// Trust; absent without rules to judge the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub emulated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

impl PlaceRow {
    /// Returns whether nothing known makes the value invalid.
    pub fn is_sound(&self) -> bool {
        self.trust != Some(Trust::Invalid)
    }

    /// The interval that decides the verdict; for an emulated place, which has none, the pairwise one.
    pub fn percent_interval(&self) -> Option<[f64; 2]> {
        self.percent_ci95_simultaneous.or(self.percent_ci95)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Printed {
    pub percent: f64,
    /// Percentage computed from the numbers printed next to it.
    pub computed: f64,
    /// Whether the printed digits equal the computed ones, rounded or truncated.
    pub follows: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedBeside {
    /// Source: `article 000`.
    pub source: String,
    pub title: String,
    pub work: String,
    /// What each number is: `best of 3 runs, spread not published`.
    pub statistic: String,
    /// The place that the others are per cent of.
    pub baseline: String,
    pub rows: Vec<BesideRow>,
}

/// One row of a published table, with the author's digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideRow {
    pub platform: String,
    /// The number with its unit, as printed: `1042.523 s`.
    pub value: String,
    pub percent: String,
    /// The same as numbers.
    pub printed: Printed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}
