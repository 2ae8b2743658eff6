//! How far a number can be trusted, and why.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    Trusted,
    Suspect,
    /// The number does not measure what its name says.
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

    /// Text for a sentence with suspect numbers, before its closing bracket.
    pub const fn doubt(self) -> &'static str {
        match self {
            Self::Trusted => "",
            Self::Suspect => ", suspect numbers",
            Self::Invalid => ", invalid numbers",
        }
    }
}

/// Rule for virtual drives: a note of this rule limits trust to this machine's view.
pub const LENT: &str = "host-cache";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Because {
    pub rule: String,
    /// Rating that the rule assigns; `trusted` is a note only.
    pub trust: Trust,
    pub text: String,
}
