//! Pilot: what one operation of each workload costs at depth 1, so that the plan can give a slow
//! device a queue that drains in time.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{Content, Durability, Job, LoadError, Pattern, Work};

use crate::plan::arms;
use crate::results::plan::{Area, Arm, Pilot, pilot_key};
use crate::study::{self, Io, Mix, Study, Workload};
use crate::workloads::io::{Medium, run};

/// Time that one pilot may take; at least one operation is always done.
const PILOT_MS: u64 = 25;
/// Operations that tell enough, where they are done sooner.
const PILOT_OPERATIONS: u64 = 64;

/// Runs the pilot of each workload that can be run; equal jobs are run once.
pub fn run_all(
    study: &Study,
    medium: &Medium<'_>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Pilot, LoadError> {
    let mut known: Vec<(Job, u64)> = Vec::new();
    let mut operation_ns = BTreeMap::new();
    for (key, io) in kinds(study) {
        let Some(job) = pilot_job(&io, &medium.area, seed) else { continue };
        let cost = match known.iter().find(|(other, _)| same_work(other, &job)) {
            Some((_, cost)) => *cost,
            None => one(&job, medium, stop)?,
        };
        known.push((job, cost));
        operation_ns.insert(key, cost);
    }
    Ok(Pilot { operation_ns })
}

/// Every workload under every arm, whatever its target, by its key.
fn kinds(study: &Study) -> BTreeMap<String, Io> {
    let (_, arms) = arms::arms(study, &[]);
    let under = |workload: &Workload, levels: &Arm| {
        Some((pilot_key(&workload.name, levels), arms::under(&workload.io, levels).ok()?))
    };
    arms.iter()
        .flat_map(|arm| study.workload.iter().filter_map(|workload| under(workload, &arm.levels)))
        .collect()
}

fn one(job: &Job, medium: &Medium<'_>, stop: &AtomicBool) -> Result<u64, LoadError> {
    let outcome = run("psync", job, medium, stop)?;
    let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
    Ok(outcome.totals.elapsed_ns / operations.max(1))
}

fn same_work(one: &Job, other: &Job) -> bool {
    one.pattern == other.pattern
        && one.work == other.work
        && one.size_bytes == other.size_bytes
        && one.durability == other.durability
}

fn pilot_job(io: &Io, area: &Area, seed: u64) -> Option<Job> {
    let possible = io.size.0 <= area.length && (!io.mix.writes() || area.written);
    let length = area.length / io.size.0.max(1) * io.size.0;
    possible.then(|| Job {
        pattern: match io.pattern {
            study::Pattern::Sequential => Pattern::Sequential,
            // Any place costs what the places of a spread do.
            study::Pattern::Random | study::Pattern::Spread => Pattern::Random,
        },
        work: match io.mix {
            Mix::Shares { read_percent } => Work::Mix { read_percent },
            Mix::Rewrite => Work::Rewrite,
        },
        size_bytes: io.size.0 as u32,
        depth: 1,
        threads: 1,
        durability: match io.sync {
            study::WriteSync::EachWrite => Durability::DataSynced,
            study::WriteSync::None => Durability::Written,
        },
        content: match io.content {
            study::Content::Random => Content::Random,
            study::Content::Zero => Content::Zero,
        },
        area: area.start..area.start + length,
        ramp: Duration::ZERO,
        time: Duration::from_millis(PILOT_MS),
        operations: Some(PILOT_OPERATIONS),
        seed,
    })
}
