//! A gate inside of a study: how much worse than the baseline an arm may be, and what is made of the answer.

use assay_core::quantity::{Loss, Percent};
use serde::{Deserialize, Serialize};

use super::is_no;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub max_regression: Loss,
    /// A row that would not have found a loss of this makes no statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_detect: Option<Percent>,
    /// The metric that is judged; by default the one that verdicts are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Whether rows that make no statement are taken for green.
    #[serde(default, skip_serializing_if = "is_no")]
    pub allow_inconclusive: bool,
    /// Exit code in the place of 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_inconclusive: Option<u8>,
}
