//! Reads and writes of blocks: hands a planned workload to the engines of `assay-load`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{
    Bystanders, Class, ClassOutcome, Content, Durability, EngineKind, Job, Law, LoadError, Outcome,
    Pattern, Work,
};

use crate::quantity::units::show;
use crate::results::bundle::Histograms;
use crate::results::plan::{Area, Plan, PlannedWorkload};
use crate::results::record::{Count, Counted};
use crate::results::series::SeriesRow;

/// Share of the processor time from which on the work of the kernel's workers is told.
const TOLD_SHARE: f64 = 0.05;

/// What the engines work on.
#[derive(Clone, Copy)]
pub struct Medium<'a> {
    /// The open target; absent for the simulated engine.
    pub file: Option<&'a File>,
    /// The bytes that may be touched.
    pub area: Area,
    /// Alignment of buffers in memory, bytes.
    pub memory_alignment: usize,
    /// The law of the simulated engine, where that is the target.
    pub law: Option<Law>,
}

/// Patterns by their words in plans.
const PATTERNS: [(&str, Pattern); 3] =
    [("random", Pattern::Random), ("sequential", Pattern::Sequential), ("spread", Pattern::Spread)];
/// What is written, by its words in plans.
const CONTENTS: [(&str, Content); 2] = [("random", Content::Random), ("zero", Content::Zero)];
/// Engines that move bytes, by their words in plans.
const ENGINES: [(&str, EngineKind); 2] =
    [("io_uring", EngineKind::IoUring), ("psync", EngineKind::Psync)];

/// The engine of simulated targets.
const SIMULATED: &str = "simulated";

/// What a word of a stored plan stands for. Another version, or somebody's hand, may have written
/// others: nothing is run in their place.
fn meaning<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> Result<T, LoadError> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        LoadError::Invalid(format!(
            "the plan has the {what} `{}`, which this version does not know; it knows {}",
            word.escape_debug(),
            words.join(", ")
        ))
    })
}

fn kind(engine: &str, law: Option<Law>) -> Result<EngineKind, LoadError> {
    law.map_or_else(|| meaning("engine", engine, &ENGINES), |law| Ok(EngineKind::Simulated(law)))
}

/// Whether this version knows every word of a stored plan that says what to do.
///
/// # Errors
/// The first that it does not know.
pub fn understood(plan: &Plan) -> Result<(), LoadError> {
    let own = plan.workloads.iter();
    let beside = plan.workloads.iter().filter_map(|workload| workload.beside.as_deref());
    for workload in own.chain(beside) {
        meaning("pattern", &workload.pattern, &PATTERNS)?;
        meaning("content", &workload.content, &CONTENTS)?;
    }
    let engines = plan.surveys.iter().map(|survey| &survey.engine.name);
    let engines = engines.chain(plan.workloads.iter().map(|workload| &workload.engine));
    // The simulated one comes with its target's law.
    let mut engines = engines.filter(|name| *name != SIMULATED);
    engines.try_for_each(|name| meaning("engine", name, &ENGINES).map(drop))
}

/// The job of a planned workload.
///
/// # Errors
/// A word of the plan that this version does not know.
pub fn job(workload: &PlannedWorkload, area: &Area, seed: u64) -> Result<Job, LoadError> {
    Ok(Job {
        pattern: meaning("pattern", &workload.pattern, &PATTERNS)?,
        work: if workload.rewrite {
            Work::Rewrite
        } else {
            Work::Mix { read_percent: workload.read_percent }
        },
        size_bytes: workload.size_bytes,
        depth: workload.depth,
        threads: workload.threads,
        durability: if workload.data_sync { Durability::DataSynced } else { Durability::Written },
        content: meaning("content", &workload.content, &CONTENTS)?,
        area: whole_blocks(workload, &workload.own_part(area)),
        ramp: Duration::from_nanos(workload.ramp_ns),
        time: Duration::from_nanos(workload.time_ns),
        operations: workload.operations,
        seed,
    })
}

/// The bytes of an area that hold whole operations.
fn whole_blocks(workload: &PlannedWorkload, area: &Area) -> Range<u64> {
    let unit = u64::from(workload.size_bytes).max(1);
    area.start..area.start + area.length / unit * unit
}

/// Offset in bytes from the start of the target of operation `index` of a trial; none unless the
/// pattern is `spread`, where it follows from the plan alone: the `index`-th of as many evenly
/// spaced blocks as there are operations.
pub fn sample_offset(workload: &PlannedWorkload, area: &Area, index: u64) -> Option<u64> {
    let samples = workload.operations.filter(|_| workload.pattern == "spread")?;
    let area = whole_blocks(workload, &workload.own_part(area));
    Some(assay_load::spread_offset(&area, workload.size_bytes, samples, index))
}

/// Runs a job on a medium with the engine that has this name.
pub fn run(
    engine: &str,
    job: &Job,
    medium: &Medium<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    run_beside(&Bystanders::now(), engine, job, medium, stop)
}

/// As [`run`]; what bystanders do is not counted.
pub fn run_beside(
    bystanders: &Bystanders,
    engine: &str,
    job: &Job,
    medium: &Medium<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    let kind = kind(engine, medium.law)?;
    let target = assay_load::Target {
        file: medium.file.map(AsFd::as_fd),
        memory_alignment: medium.memory_alignment,
    };
    assay_load::run_beside(bystanders, job, &kind, &target, stop)
}

/// Name of a class in records.
pub const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Read => "read",
        Class::Write => "write",
        Class::Rewrite => "rewrite",
    }
}

/// The counts of an outcome, as they are recorded.
pub fn counted(outcome: &Outcome) -> Counted {
    let totals = &outcome.totals;
    let claimed = [
        ("read", totals.read_operations, totals.read_bytes),
        ("write", totals.write_operations, totals.write_bytes),
    ];
    Counted {
        window_ns: outcome.window_ns,
        classes: outcome
            .classes
            .iter()
            .map(|class| {
                let count = Count { operations: class.operations, bytes: class.bytes };
                (class_name(class.class).to_owned(), count)
            })
            .collect(),
        claimed: claimed
            .into_iter()
            .filter(|&(_, operations, _)| operations > 0)
            .map(|(name, operations, bytes)| (name.to_owned(), Count { operations, bytes }))
            .collect::<BTreeMap<_, _>>(),
        elapsed_ns: totals.elapsed_ns,
        submitting_ns: totals.submitting_ns,
        cpu_ns: outcome.process_cpu_ns,
        longest_ns: outcome.series.iter().map(|row| row.latency_max_ns).max(),
        still_s: still_s(outcome),
        waited_ns: outcome.waited_ns,
        looked_at: outcome.queue.looked_at,
        already_complete: outcome.queue.already_complete,
        engine_notes: outcome.engine.notes.iter().cloned().chain(workers(outcome)).collect(),
        sample_latencies_ns: outcome.sample_latencies_ns.clone(),
        beside: None,
    }
}

/// Whole seconds between the first and the last completion in which none came.
fn still_s(outcome: &Outcome) -> Option<u32> {
    let seconds: BTreeSet<u32> = outcome.series.iter().map(|row| row.second).collect();
    let [first, last] = [seconds.first()?, seconds.last()?];
    Some(last - first + 1 - seconds.len() as u32)
}

/// What workers of the kernel did for an outcome, where that is more than next to nothing. How many
/// operations were passed on to them is told by nothing.
fn workers(outcome: &Outcome) -> Option<String> {
    let workers_ns = outcome.process_cpu_ns.saturating_sub(outcome.cpu_ns);
    let share = workers_ns as f64 / outcome.process_cpu_ns.max(1) as f64;
    (share >= TOLD_SHARE).then(|| {
        format!(
            "workers of the kernel took {} of the processor time: operations were passed on to them",
            show::percent(100.0 * share)
        )
    })
}

/// The histograms of an outcome.
pub fn histograms(outcome: &Outcome) -> Histograms {
    let of = |class: &ClassOutcome| (class_name(class.class).to_owned(), class.latency_ns.clone());
    outcome.classes.iter().map(of).collect()
}

/// Buckets with something in them: index and count.
fn used_buckets(counts: &[u32]) -> Vec<[u32; 2]> {
    let all = counts.iter().enumerate();
    all.filter(|(_, count)| **count > 0).map(|(index, &count)| [index as u32, count]).collect()
}

/// The rows per second of an outcome, as they are stored.
pub fn series(outcome: &Outcome) -> Vec<SeriesRow> {
    outcome
        .series
        .iter()
        .map(|row| SeriesRow {
            second: row.second,
            class: class_name(row.class).to_owned(),
            operations: row.operations,
            bytes: row.bytes,
            latency_sum_ns: row.latency_sum_ns,
            latency_max_ns: row.latency_max_ns,
            latency_buckets: used_buckets(&row.latency_buckets),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_not_known_is_an_error_that_names_it() {
        assert_eq!(meaning("pattern", "spread", &PATTERNS).unwrap(), Pattern::Spread);
        for (what, told) in [
            ("pattern", meaning("pattern", "zipf", &PATTERNS).map(drop)),
            ("content", meaning("content", "zipf", &CONTENTS).map(drop)),
            ("engine", kind("zipf", None).map(drop)),
        ] {
            let told = told.unwrap_err().to_string();
            assert!(told.starts_with(&format!("the plan has the {what} `zipf`")), "{told}");
        }
    }
}
