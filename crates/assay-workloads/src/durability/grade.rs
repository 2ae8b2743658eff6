//! How cuts are made, and so what they prove.

use crate::keys::names;
use serde::{Deserialize, Serialize};

/// How a cut was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// A log of what was written and flushed is cut.
    #[default]
    Replay,
    /// A virtual machine loses its power.
    Kill,
    /// The machine that is there loses its power, by the hand of whoever is called.
    Plug,
}

names!(Grade: Replay = "replay", Kill = "kill", Plug = "plug");
