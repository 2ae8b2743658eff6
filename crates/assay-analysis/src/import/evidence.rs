//! Evidence in the files of other tools that several importers share.

use std::collections::BTreeMap;

use assay_workloads::command::ImportEvidence;

use super::run::Run;

const RATE: &str = "bandwidth_bytes_per_s";

pub(super) fn rate(run: &Run) -> Option<f64> {
    run.values.iter().find(|told| told.metric == RATE)?.value
}

/// Settings that may differ between reads and writes of the same kind.
const NAMES: [&str; 2] = ["name", "filename"];

/// What runs in both directions have in common: the kind of work, and the settings.
fn kind(run: &Run) -> (String, BTreeMap<String, String>) {
    let mut settings = run.settings.clone();
    settings.retain(|name, _| !NAMES.contains(&name.as_str()));
    (run.workload.to_lowercase(), settings)
}

/// Adds to each run that read how fast the same file says that the same was written.
pub(super) fn compare_directions(runs: &mut [Run]) {
    let mut fastest: BTreeMap<(String, BTreeMap<String, String>), f64> = BTreeMap::new();
    for run in runs.iter() {
        let own = fastest.entry(kind(run)).or_default();
        *own = own.max(rate(run).unwrap_or_default());
    }
    for run in runs {
        let (workload, settings) = kind(run);
        let other = workload.replace("read", "write");
        let is_read = other != workload;
        let written =
            fastest.get(&(other, settings)).copied().filter(|rate| *rate > 0.0 && is_read);
        if let Some((read, written)) = rate(run).zip(written) {
            run.evidence.push(ImportEvidence::Directions { read, written });
        }
    }
}

/// Adds that what a run moved may have passed through the page cache.
pub(super) fn may_be_buffered(run: &mut Run, bytes: f64) {
    if let Some(bytes_per_s) = rate(run) {
        run.evidence.push(ImportEvidence::Buffered { bytes, bytes_per_s });
    }
}
