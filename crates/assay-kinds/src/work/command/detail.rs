//! What is counted of commands beside what all work measures.

use std::collections::BTreeMap;

use assay_system::system::execute::PeakBy;
use serde::{Deserialize, Serialize};

use crate::work::measured::Counts;

/// Runs whose times are kept of one trial; further ones are in its sums alone.
pub const KEPT_RUNS: usize = 1000;

/// What only commands count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Runs that were measured.
    pub runs: u64,
    /// How long each of them took, nanoseconds, in their order: the first thousand. The start of the
    /// shell is in them.
    pub wall_ns: Vec<u64>,
    /// The longest and the shortest of all, nanoseconds.
    pub span_ns: [u64; 2],
    /// What the shell alone takes and is taken off of each run: its shortest start in this trial (the mean of
    /// its starts in results of older versions), nanoseconds; none where there was no shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_ns: Option<f64>,
    /// Runs by how they ended: `exit code 0`.
    pub endings: BTreeMap<String, u64>,
    /// How the peak of memory was had; that of the weakest where runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_by: Option<PeakBy>,
    /// Bytes that each run read from storage at least and at most, where that could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_span_bytes: Option<[u64; 2]>,
    /// For `cold`: bytes of files in the page cache before and after it was emptied, where most was
    /// left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_bytes: Option<[u64; 2]>,
    /// Names of the variables that it got of assay's environment; their values are kept nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Processes that commands had left running, and that were ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_running: u64,
}

impl Detail {
    /// Nanoseconds of each run that was kept, the shell's own start taken off.
    pub fn alone_ns(&self) -> impl Iterator<Item = f64> + '_ {
        let shell_ns = self.shell_ns.unwrap_or(0.0);
        self.wall_ns.iter().map(move |ns| (*ns as f64 - shell_ns).max(0.0))
    }
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts for Detail {
    fn operations(&self) -> u64 {
        self.runs
    }
}
