//! How far a number can be trusted, and why.

use serde::{Deserialize, Serialize};

/// How far a number can be trusted, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Nothing speaks against it.
    Trusted,
    /// Something speaks against it.
    Suspect,
    /// It is not what it says it is.
    Invalid,
}

impl Trust {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }

    /// What stands beside numbers in a sentence, before its closing bracket; nothing where nothing speaks
    /// against them.
    pub const fn doubt(self) -> &'static str {
        match self {
            Self::Trusted => "",
            Self::Suspect => ", suspect numbers",
            Self::Invalid => ", invalid numbers",
        }
    }
}

/// The rule of drives that somebody lends: where it only takes note, numbers are trusted as what this machine is
/// given and never as the drive's own.
pub const LENT: &str = "host-cache";

/// Why a number is trusted, suspect or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Because {
    /// Rule that speaks.
    pub rule: String,
    /// What the rule takes away by it; `trusted` is a note that takes nothing.
    pub trust: Trust,
    /// What it says, one sentence.
    pub text: String,
}
