//! How much load there can be below a limit: part of an answer.

use serde::{Deserialize, Serialize};

use super::Trust;
use crate::file::limit::bracket::Standing;

/// What a study found that looked for the most load (R16).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MostLoad {
    pub workload: String,
    pub metric: String,
    /// `p99 < 2 ms`.
    pub slo: String,
    pub slo_ns: u64,
    /// The highest rate up to which every tried rate passes; absent if none passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_passing_rate: Option<String>,
    /// The lowest rate from which on every tried rate fails; `None` if the highest one does not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_failing_rate: Option<String>,
    /// All tried rates, the lowest first, without the trials of the search.
    pub rates: Vec<Rate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Level of the rate: `41000/s`.
    pub rate: String,
    pub outcome: Standing,
    pub trials: usize,
    /// Trials that did not issue their operations on time.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub late: usize,
    /// Geometric mean of the percentile, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Its bounds, each one-sided at 5% over all rates at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds_ns: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl MostLoad {
    pub fn rate(&self, name: &str) -> Option<&Rate> {
        self.rates.iter().find(|known| known.rate == name)
    }
}
