//! Order of a study's trials (R2).

use serde::{Deserialize, Serialize};

/// How the order of trials came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each replicate in a random order, after a warm-up of its first arm.
    #[default]
    Random,
    /// Each replicate starts with the arm that ended the one before; else random.
    Chained,
    /// Each replicate in a random order, without warm-ups.
    Rcbd,
    /// All trials in one random order.
    Crd,
    /// One arm after the other: drift and effects are confounded.
    Sequential,
    /// Unknown; not allowed in study files.
    Unknown,
    /// As recorded: nobody randomized the order; not allowed in study files.
    Recorded,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Chained => "chained",
            Self::Rcbd => "rcbd",
            Self::Crd => "crd",
            Self::Sequential => "sequential",
            Self::Unknown => "unknown",
            Self::Recorded => "recorded",
        }
    }

    pub fn is_by_replicate(self) -> bool {
        matches!(self, Self::Random | Self::Chained | Self::Rcbd)
    }

    /// Whether drift is distinguishable from differences between arms: only in drawn orders.
    pub fn tells_arms_from_time(self) -> bool {
        !matches!(self, Self::Sequential | Self::Unknown | Self::Recorded)
    }
}

/// Warm-up before the first trial of a replicate, so that this trial follows the same arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeadIn {
    #[default]
    Half,
    /// A whole trial, for long carry-over effects.
    Full,
    /// No warm-up: carry-over effects reach the next arm.
    None,
}
