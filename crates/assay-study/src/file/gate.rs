//! The gate of a study: the largest acceptable regression, and the exit code.

use assay_core::quantity::{Loss, Percent};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateKeys {
    pub max_regression: Loss,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_detect: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub allow_inconclusive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_inconclusive: Option<u8>,
}
