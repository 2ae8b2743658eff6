//! How the order of a study's trials comes about (R2).

use serde::{Deserialize, Serialize};

/// How the order of trials came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each replicate starts with the arm that ended the one before; else random.
    #[default]
    Chained,
    /// Each replicate in a random order of its own.
    Rcbd,
    /// All trials in one random order.
    Crd,
    /// One arm after the other: drift and effects cannot be told apart.
    Sequential,
    /// Not told; no study file may say so.
    Unknown,
}

impl Order {
    /// The word that study files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chained => "chained",
            Self::Rcbd => "rcbd",
            Self::Crd => "crd",
            Self::Sequential => "sequential",
            Self::Unknown => "unknown",
        }
    }
}
