//! Virtual machines with a drive that Assay implements, and the messages to and from the program in them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Backend of a drive: no answers once the power is off.
pub trait FarSide: Send + Sync {
    fn bytes(&self) -> u64;

    /// Reads bytes from a place; whether it answers.
    fn read(&self, at_bytes: u64, into: &mut [u8]) -> bool;

    /// Writes bytes at an offset; `through` makes them durable before the answer. Returns whether it answers.
    fn write(&self, at_bytes: u64, bytes: &[u8], through: bool) -> bool;

    /// Has zeros in a place; whether it answers.
    fn clear(&self, at_bytes: u64, bytes: u64, through: bool) -> bool;

    /// Has all that was written before on the medium; whether it answers.
    fn flush(&self) -> bool;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeardLine {
    Line(String),
    /// Nothing, for [`MOMENT_MS`].
    Nothing,
    /// The machine has ended; its last words.
    Over(String),
}

pub const MOMENT_MS: u64 = 20;

/// A running machine; dropping it cuts its power.
pub trait Powered {
    fn say(&mut self, line: &str) -> Result<(), String>;

    fn hear(&mut self) -> HeardLine;
}

/// Starts machines that differ only in their drive.
pub trait VmStarter {
    fn start(&mut self, drive: Arc<dyn FarSide>) -> Result<Box<dyn Powered + '_>, String>;

    /// Describes the machines in a few words; `None` if unknown.
    fn describe(&self) -> Option<String> {
        None
    }
}

/// Special requirements of such machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmNeeds {
    pub programs: Vec<(&'static str, &'static str)>,
    pub modules: Vec<&'static str>,
    /// Programs and files of this machine that a user named.
    pub needs: Vec<String>,
    pub config: VmConfig,
}

/// Size and kernel of a virtual machine, as far as a study sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}
