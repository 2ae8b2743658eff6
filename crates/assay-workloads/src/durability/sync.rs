//! How a program makes its writes durable.

use crate::keys::names;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// No sync: nothing is acknowledged.
    None,
    /// `fsync` after the writes.
    Fsync,
    #[default]
    Fdatasync,
    /// Each write, as with `O_DSYNC`: with the page cache, a write and a flush.
    #[serde(rename = "o_dsync")]
    Dsync,
}

names!(Sync: None = "none", Fsync = "fsync", Fdatasync = "fdatasync", Dsync = "o_dsync");
