//! What a limit of memory held with each kind of swap, and at what cost: a sentence for each workload.

use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use assay_study::findings::{Findings, Measurement, Sentence, Trust};
use assay_workloads::memory::{self, EXPECTED, HELD, KILLED, RATE, REACHED};

use super::rows::WorkloadTrials;

/// A compressor that saves less than this saves nothing worth telling.
const SMALL: f64 = 0.1;

struct Held {
    name: String,
    set_bytes: u64,
    reached_bytes: f64,
    killed: (usize, usize),
    rate: Option<f64>,
    /// Bytes of the set per byte of memory.
    per_memory: Option<f64>,
    /// Whether anything lay packed in memory.
    packs: bool,
    trust: Trust,
}

pub(super) fn sentence(
    workload: &str,
    found: &Findings,
    rows: &[WorkloadTrials<'_>],
) -> Option<Sentence> {
    let own = rows.iter().filter(|row| row.workload.name == workload && !row.workload.control);
    let all: Vec<Held> = own.filter_map(|row| held(found, row)).collect();
    let swaps = all.iter().any(|one| one.killed.0 > 0 || one.packs);
    if !swaps {
        return None;
    }
    let killed = all.iter().filter(|one| one.killed.0 > 0).map(|one| {
        format!(
            "{} ran out of memory in {} of {} trials, after filling {} of {}",
            one.name,
            one.killed.0,
            one.killed.1,
            show::bytes(one.reached_bytes as u64),
            show::bytes(one.set_bytes)
        )
    });
    let lived = all.iter().filter_map(|one| {
        let rate = show::per_second(one.rate?);
        let per = one.per_memory.filter(|_| one.packs).map(|per| one.taken(per));
        let per = per.unwrap_or_default();
        // An arm that is killed now and then has it in the others.
        let where_not = match one.killed {
            (0, _) => String::new(),
            (killed, all) => format!(" in the other {} trials", all.saturating_sub(killed)),
        };
        Some(format!(
            "{}: the data fits{where_not}, with {rate} accesses per second{per}",
            one.name
        ))
    });
    let told: Vec<String> = killed.chain(lived).collect();
    let worst = all.iter().map(|one| one.trust).max().unwrap_or(Trust::Trusted);
    let text = format!("{workload}: {}{}.", told.join("; "), worst.doubt());
    Some(Sentence::finding("memory", text))
}

impl Held {
    /// What of memory the set took, what lies packed outside of the limit included.
    fn taken(&self, per: f64) -> String {
        let memory = show::bytes((self.set_bytes as f64 / per) as u64);
        if per < 1.0 + SMALL {
            format!(
                ", but uses {memory} of memory including compressed pages outside the limit (no saving)"
            )
        } else {
            format!(", using {memory} of memory ({} bytes of data per byte)", show::ratio(per))
        }
    }
}

fn held(found: &Findings, row: &WorkloadTrials<'_>) -> Option<Held> {
    let planned = memory::Planned::of(&row.workload.work)?;
    let cell = |metric: &Metric| {
        let own = found.cell(&row.workload.name, &row.workload.arm, metric.name);
        own.filter(|cell| cell.trust != Some(Trust::Invalid))
    };
    let mean = |metric| cell(metric).and_then(Measurement::value);
    let kills = cell(&KILLED).map(Measurement::values).unwrap_or_default();
    Some(Held {
        name: found.arm_words(&row.workload.arm),
        set_bytes: planned.set_bytes,
        reached_bytes: mean(&REACHED)?,
        killed: (kills.iter().filter(|killed| **killed > 0.0).count(), kills.len()),
        rate: mean(&RATE),
        per_memory: mean(&HELD),
        packs: cell(&EXPECTED).is_some(),
        trust: [&REACHED, &RATE, &HELD, &KILLED]
            .into_iter()
            .filter_map(|one| cell(one)?.trust)
            .max()?,
    })
}
