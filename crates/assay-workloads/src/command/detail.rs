//! Counters of commands besides those of all work.

use std::collections::BTreeMap;

use assay_core::quantity::units::show;
use assay_machine::system::execute::{Counting, PeakBy};
use serde::{Deserialize, Serialize};

use crate::command::readings::{ImportEvidence, READ_BYTES, last_bytes};
use crate::measured::{Counts, OwnMetric};

/// Limit on runs per trial with stored times; later ones only count in the sums.
pub const KEPT_RUNS: usize = 1000;

/// Limit on stored bytes of the last run's output, over all files.
pub const KEPT_BYTES: usize = 64 << 10;
/// Limit on stored hashes of a trial: a second one is already an error.
const KEPT_SUMS: usize = 16;

/// The end of the output that numbers were read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTail {
    /// The file; `None` for standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub bytes: u64,
    pub text: String,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub is_cut: bool,
}

impl OutputTail {
    /// Stores the last bytes of the part of the output that was read.
    pub(super) fn new(file: Option<String>, read: &str, bytes: u64, most: usize) -> Self {
        let text = last_bytes(read, most);
        let is_cut = text.len() < read.len() || bytes > READ_BYTES;
        Self { file, bytes, text: text.to_owned(), is_cut }
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
    /// Nanoseconds of the first thousand runs in order, including the start of the shell.
    pub wall_ns: Vec<u64>,
    /// The shortest and the longest run, nanoseconds.
    pub span_ns: [u64; 2],
    /// Nanoseconds subtracted per run: the shell's shortest start (in older results, the mean).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_ns: Option<f64>,
    /// Number of runs per exit status: `exit code 0`.
    pub endings: BTreeMap<String, u64>,
    /// Method for peak memory; the weakest one over all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_by: Option<PeakBy>,
    /// Method for counting instructions, cycles and cache misses; `None` if not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Counting>,
    /// Smallest and largest number of bytes that a run read from storage, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_span_bytes: Option<[u64; 2]>,
    /// Mean bytes per run that system calls read, or wrote if more; `None` if no numbers are parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_bytes: Option<u64>,
    /// For `drop_caches`: cached bytes of files before and after, of the trial with the largest rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_bytes: Option<[u64; 2]>,
    /// Names of variables passed on from Assay's environment; their values are never stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Metrics from its output, in the order of parsing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<OwnMetric>,
    /// Evidence in the tool's output of the last run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ImportEvidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<OutputTail>,
    /// SHA-256 of the outputs in hexadecimal, each with its number of runs; the first sixteen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub produced: BTreeMap<String, u64>,
    /// Processes that commands left running and Assay ended.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub left_running: u64,
}

impl CommandDetail {
    /// Nanoseconds of each stored run, without the shell's start.
    pub fn alone_ns(&self) -> impl Iterator<Item = f64> + '_ {
        let shell_ns = self.shell_ns.unwrap_or(0.0);
        self.wall_ns.iter().map(move |ns| (*ns as f64 - shell_ns).max(0.0))
    }

    /// Reference time for CPU waits, nanoseconds: at least the shell's start per run.
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

    fn own_metrics(&self) -> &[OwnMetric] {
        &self.told
    }
}
