//! What is counted of commands beside what all work measures.

use std::collections::BTreeMap;

use assay_core::quantity::units::show;
use assay_machine::system::execute::{Counting, PeakBy};
use serde::{Deserialize, Serialize};

use crate::command::readings::{ImportEvidence, READ_BYTES};
use crate::measured::{Counts, OwnMetric};

/// Runs whose times are kept of one trial; further ones are in its sums alone.
pub const KEPT_RUNS: usize = 1000;

/// Bytes of what the last run of a trial wrote that are kept, all files together.
pub const KEPT_BYTES: usize = 64 << 10;
/// Different hashes of a trial that are kept: more than one are too many.
const KEPT_SUMS: usize = 16;

/// What numbers were read from: the end of what a run wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The file; none of what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub bytes: u64,
    /// Its end as plain text.
    pub text: String,
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
    pub is_cut: bool,
}

impl Written {
    /// At most so many bytes of a text, which is what was read of all that was written.
    pub(super) fn of(file: Option<String>, read: &str, bytes: u64, most: usize) -> Self {
        let from = read.len().saturating_sub(most);
        let from = (from..=read.len()).find(|at| read.is_char_boundary(*at)).unwrap_or(read.len());
        let is_cut = from > 0 || bytes > READ_BYTES;
        Self { file, bytes, text: read[from..].to_owned(), is_cut }
    }

    pub(super) fn words(&self) -> Option<String> {
        let what = self.file.as_deref().unwrap_or("the command's output");
        let kept = show::bytes(KEPT_BYTES as u64);
        self.is_cut.then(|| format!("Assay stored only the last {kept} of {what} per trial"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandDetail {
    pub runs: u64,
    /// Nanoseconds of the first thousand runs in order, the start of the shell included.
    pub wall_ns: Vec<u64>,
    /// The longest and the shortest of all, nanoseconds.
    pub span_ns: [u64; 2],
    /// Nanoseconds subtracted per run: the shell's shortest start (in older results, the mean).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_ns: Option<f64>,
    /// Runs by how they ended: `exit code 0`.
    pub endings: BTreeMap<String, u64>,
    /// How the peak of memory was had; that of the weakest where runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_by: Option<PeakBy>,
    /// How processors counted instructions, cycles and cache misses; none where they did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Counting>,
    /// Bytes that each run read from storage at least and at most, where that could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_span_bytes: Option<[u64; 2]>,
    /// Bytes that system calls of a run read, or wrote if that was more, mean; none unless numbers are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_bytes: Option<u64>,
    /// For `drop_caches`: cached bytes of files before and after, where most was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_bytes: Option<[u64; 2]>,
    /// Names of the variables that it got of assay's environment; their values are kept nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Metrics that it told of itself, in the order in which they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<OwnMetric>,
    /// What the output of a tool says of its last run beside the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ImportEvidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Written>,
    /// SHA-256 of what runs produced, hexadecimal, each with the number of runs that did; the first sixteen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub produced: BTreeMap<String, u64>,
    /// Processes that commands had left running, and that were ended.
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
    pub left_running: u64,
}

impl CommandDetail {
    /// Nanoseconds of each run that was kept, the shell's own start taken off.
    pub fn alone_ns(&self) -> impl Iterator<Item = f64> + '_ {
        let shell_ns = self.shell_ns.unwrap_or(0.0);
        self.wall_ns.iter().map(move |ns| (*ns as f64 - shell_ns).max(0.0))
    }

    /// Nanoseconds that waiting is compared with: per run at least one start of the shell.
    pub fn judged_ns(&self, window_ns: u64) -> f64 {
        let shells_ns = self.shell_ns.unwrap_or(0.0) * self.runs as f64;
        (window_ns as f64 - shells_ns).max(shells_ns)
    }

    pub(super) fn count_produced(&mut self, sum: String) {
        if self.produced.contains_key(&sum) || self.produced.len() < KEPT_SUMS {
            *self.produced.entry(sum).or_default() += 1;
        }
    }
}

impl Counts for CommandDetail {
    fn operations(&self) -> u64 {
        self.runs
    }

    fn told(&self) -> &[OwnMetric] {
        &self.told
    }
}
