//! How power losses are caused, which determines what they prove.

use crate::keys::names;
use serde::{Deserialize, Serialize};

/// Method of a power loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Cuts a log of writes and flushes.
    #[default]
    Replay,
    /// A virtual machine loses its power.
    Kill,
    /// The user cuts the power of the real machine.
    Plug,
}

names!(Method: Replay = "replay", Kill = "kill", Plug = "plug");
