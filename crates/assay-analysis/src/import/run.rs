//! Runs of another tool, before Assay knows what varies among them.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::failure::Outcome;
use assay_core::quantity::{Better, units::show};
use assay_core::stats::{observations_needed, percentile_is_supported};
use assay_workloads::{command::ImportEvidence, metrics};

use super::mistake_in;

/// Largest number of operations for which Assay mentions a missing percentile: that of a p99.9.
const MOST_MENTIONED: u64 = 10_000;
/// Quantiles with their latency metric.
pub(super) const PERCENTILES: [(f64, &str); 5] = [
    (0.5, "latency_p50_ns"),
    (0.9, "latency_p90_ns"),
    (0.99, "latency_p99_ns"),
    (0.999, "latency_p999_ns"),
    (0.9999, "latency_p9999_ns"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct RunMetric {
    pub metric: String,
    pub better: Better,
    /// In the metric's unit; `None` if the tool does not report it.
    pub value: Option<f64>,
    /// Why the tool could not measure it, if its file shows that.
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    pub workload: String,
    /// Package, module or host. Equal names in different places are different workloads.
    pub place: String,
    /// Settings from the file. Settings that differ among runs of a workload become factors.
    pub settings: BTreeMap<String, String>,
    /// Start and end in ms, on a clock common to all files.
    pub span_ms: Option<(u64, u64)>,
    /// Measured metrics, the primary one first.
    pub values: Vec<RunMetric>,
    pub failed: Option<String>,
    pub evidence: Vec<ImportEvidence>,
}

impl ImportedRun {
    pub fn new(workload: impl Into<String>) -> Self {
        Self { workload: workload.into(), ..Self::default() }
    }

    pub fn set(&mut self, name: &str, level: impl Into<String>) {
        self.settings.insert(name.to_owned(), level.into());
    }

    pub fn add(&mut self, metric: &str, value: Option<f64>) {
        self.add_as(metric, Better::Unknown, value);
    }

    /// Adds a metric; its direction comes from Assay's registry, else from the tool, else from its name.
    pub fn add_as(&mut self, metric: &str, stated: Better, value: Option<f64>) {
        let registered = metrics::better(metric);
        let is_ours = metrics::find(metric).is_some();
        let better = if stated.is_known() && !is_ours { stated } else { registered };
        self.values.push(RunMetric { metric: metric.to_owned(), better, value, why: None });
    }

    /// Adds a metric without a value, and why the tool could not measure it.
    pub fn lack(&mut self, metric: &str, why: &str) {
        self.add(metric, None);
        if let Some(metric) = self.values.last_mut() {
            metric.why = Some(why.to_owned());
        }
    }

    /// Notes that the page cache may have absorbed the run's traffic.
    pub fn may_be_buffered(&mut self, bytes: f64) {
        if let Some(bytes_per_s) = rate(self) {
            self.evidence.push(ImportEvidence::Buffered { bytes, bytes_per_s });
        }
    }

    /// Adds a percentile, unless the operations are too few for it.
    pub fn add_percentile(&mut self, metric: &str, share: f64, value: Option<f64>, count: u64) {
        if percentile_is_supported(count, share) {
            return self.add(metric, value);
        }
        let needed = observations_needed(share).unwrap_or(u64::MAX);
        // Most runs are too short for a p99.99: a note on it would be in every import.
        if needed > MOST_MENTIONED {
            return;
        }
        let needed = show::count(needed);
        self.lack(metric, &format!("needs {needed} operations per run, but a run had fewer"));
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRuns {
    pub runs: Vec<ImportedRun>,
    pub in_order: bool,
    /// Assumptions, one sentence each.
    pub notes: Vec<String>,
}

impl ImportedRuns {
    pub fn in_order(runs: Vec<ImportedRun>) -> Self {
        Self { runs, in_order: true, notes: Vec::new() }
    }

    /// Fails with the message `missing` if there is no run.
    pub fn require(self, name: &str, missing: &str) -> Outcome<Self> {
        if self.runs.is_empty() { Err(mistake_in(name, missing)) } else { Ok(self) }
    }
}

/// Adds the place to the names of workloads (in all files) that one file has at several places.
pub(super) fn name_places(files: &mut [ImportedRuns]) {
    let mut ambiguous: BTreeSet<String> = BTreeSet::new();
    for file in files.iter() {
        let mut first_places: BTreeMap<&str, &str> = BTreeMap::new();
        for run in &file.runs {
            let first_place = *first_places.entry(&run.workload).or_insert(&run.place);
            if run.place != first_place {
                ambiguous.insert(run.workload.clone());
            }
        }
    }
    for run in files.iter_mut().flat_map(|file| &mut file.runs) {
        if ambiguous.contains(&run.workload) && !run.place.is_empty() {
            run.workload = format!("{} {}", run.place, run.workload);
        }
    }
}

const RATE: &str = "bandwidth_bytes_per_s";

fn rate(run: &ImportedRun) -> Option<f64> {
    run.values.iter().find(|metric| metric.metric == RATE)?.value
}

/// Settings that may differ between reads and writes of the same kind.
const NAMES: [&str; 2] = ["name", "filename"];

/// The key common to runs of both directions: the kind of work and the settings.
fn direction_key(run: &ImportedRun) -> (String, BTreeMap<String, String>) {
    let mut settings = run.settings.clone();
    settings.retain(|name, _| !NAMES.contains(&name.as_str()));
    (run.workload.to_lowercase(), settings)
}

/// Adds to each reading run, as evidence, the fastest rate of the runs with `write` for `read` and the same settings.
pub(super) fn add_write_rates(runs: &mut [ImportedRun]) {
    let mut fastest: BTreeMap<(String, BTreeMap<String, String>), f64> = BTreeMap::new();
    for run in runs.iter() {
        let known = fastest.entry(direction_key(run)).or_default();
        *known = known.max(rate(run).unwrap_or_default());
    }
    for run in runs {
        let (workload, settings) = direction_key(run);
        if !workload.contains("read") {
            continue;
        }
        let written = fastest.get(&(workload.replace("read", "write"), settings)).copied();
        if let Some((read, written)) = rate(run).zip(written.filter(|rate| *rate > 0.0)) {
            run.evidence.push(ImportEvidence::Directions { read, written });
        }
    }
}
