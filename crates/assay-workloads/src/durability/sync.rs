//! By what a program has what it wrote lie on the medium.

use crate::keys::names;
use serde::{Deserialize, Serialize};

/// A way to sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// By nothing: nothing is promised.
    None,
    /// By `fsync` after what was written.
    Fsync,
    /// By `fdatasync`.
    #[default]
    Fdatasync,
    /// By each write itself, as with `O_DSYNC`: through the page cache a write and a flush.
    #[serde(rename = "o_dsync")]
    Dsync,
}

names!(Sync: None = "none", Fsync = "fsync", Fdatasync = "fdatasync", Dsync = "o_dsync");
