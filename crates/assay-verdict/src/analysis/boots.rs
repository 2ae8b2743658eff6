//! What boots of a group were slow at, and which of them did not finish.

use std::collections::BTreeMap;

use assay_kinds::work::boot::Detail;
use assay_study::findings::boots::{BootGroup, SlowUnit, UnfinishedBoot};
use assay_study::results::record::Status;

use super::rows::Row;

/// Units that are told of a group.
const MOST_UNITS: usize = 10;

/// A group of boots; none of other work.
pub(super) fn of_row(row: &Row<'_>) -> Option<BootGroup> {
    if row.workload.work.kind().about.name != "boot" {
        return None;
    }
    let details: Vec<&Detail> =
        row.counting().filter_map(|trial| Detail::of(trial.record.measured.as_ref()?)).collect();
    let failed = row.trials.iter().filter(|trial| trial.record.status == Status::Failed);
    let unfinished = failed.map(|trial| UnfinishedBoot {
        started: trial.record.started.clone(),
        reason: trial.record.reason.clone().unwrap_or_default(),
    });
    let mut notes: Vec<String> = Vec::new();
    for note in details.iter().flat_map(|detail| &detail.boot.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    Some(BootGroup {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        n: details.len(),
        units: units(&details),
        unfinished: unfinished.collect(),
        notes,
    })
}

/// The units that took longest on average over the boots that tell of them.
fn units(details: &[&Detail]) -> Vec<SlowUnit> {
    let mut took: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for unit in details.iter().flat_map(|detail| &detail.boot.units) {
        took.entry(&unit.name).or_default().push(unit.took_us);
    }
    let told = took.into_iter().map(|(name, all)| {
        let sum: f64 = all.iter().map(|us| *us as f64 / 1e6).sum();
        SlowUnit {
            name: name.to_owned(),
            n: all.len(),
            mean_s: sum / all.len().max(1) as f64,
            longest_s: all.iter().copied().max().unwrap_or(0) as f64 / 1e6,
        }
    });
    let mut units: Vec<SlowUnit> = told.collect();
    units.sort_by(|one, other| other.mean_s.total_cmp(&one.mean_s));
    units.truncate(MOST_UNITS);
    units
}
