//! Runs reads and writes on the engines of `assay-load`, and converts the results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use assay_core::{quantity::metric::FDATASYNCS, quantity::units::show};
use assay_load::{Bystanders, ClassOutcome, Job, LoadError, Outcome};

use super::planned::{Engine, load_engine};
use super::{IoDetail, Poll, poll};
use crate::measured::{Claims, Count, Histograms, Measured, RunResult, SeriesRow};
use crate::place::TestMedium;

/// Smallest share of CPU time at which the kernel's worker threads are mentioned.
const NOTED_SHARE: f64 = 0.05;

/// Runs a job on a medium; work of bystanders does not count.
pub fn run_job(
    engine: Engine,
    job: &Job,
    medium: &TestMedium<'_>,
    bystanders: &Bystanders,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    let engine = load_engine(engine, medium.law).map_err(LoadError::Invalid)?;
    assay_load::run_beside(bystanders, job, &engine, &medium.target(), stop)
}

/// Suffix of a class whose histogram contains response times.
const RESPONSE: &str = "-response";

/// The class of operations of a response time histogram with this name.
pub fn of_response(name: &str) -> Option<&str> {
    name.strip_suffix(RESPONSE)
}

pub(crate) fn run_result(outcome: &Outcome) -> RunResult {
    RunResult {
        measured: measured(outcome),
        histograms: histograms(outcome),
        series: series(outcome),
        threads_cpu_ns: outcome.cpu_ns,
        stopped: outcome.stopped,
    }
}

fn measured(outcome: &Outcome) -> Measured {
    let totals = &outcome.totals;
    Measured {
        window_ns: outcome.window_ns,
        elapsed_ns: totals.elapsed_ns,
        cpu_ns: outcome.process_cpu_ns,
        waited_ns: outcome.waited_ns,
        claims: claims(outcome),
        notes: outcome.engine.notes.iter().cloned().chain(worker_note(outcome)).collect(),
        ..Measured::from_detail(detail(outcome))
    }
}

pub fn claims(outcome: &Outcome) -> Claims {
    let totals = &outcome.totals;
    let count = |operations, bytes| Count { operations, bytes };
    Claims {
        read: count(totals.read_operations, totals.read_bytes),
        write: count(totals.write_operations, totals.write_bytes),
        trim: count(totals.trim_operations, totals.trim_bytes),
        zero: count(totals.zero_operations, totals.zero_bytes),
    }
}

pub(crate) fn class_counts(outcome: &Outcome) -> BTreeMap<String, Count> {
    let count_of = |class: &ClassOutcome| {
        (class.class.name().to_owned(), Count { operations: class.operations, bytes: class.bytes })
    };
    outcome.classes.iter().map(count_of).collect()
}

fn detail(outcome: &Outcome) -> IoDetail {
    IoDetail {
        classes: class_counts(outcome),
        submitting_ns: outcome.totals.submitting_ns,
        longest_ns: outcome.series.iter().map(|row| row.latency_max_ns).max(),
        still_s: idle_seconds(outcome),
        looked_at: outcome.queue.looked_at,
        already_complete: outcome.queue.already_complete,
        pace: outcome.pace,
        sample_latencies_ns: outcome.sample_latencies_ns.clone(),
        written: outcome.written.clone(),
        ..IoDetail::default()
    }
}

/// Whole seconds between the first and the last completion without one.
fn idle_seconds(outcome: &Outcome) -> Option<u32> {
    let seconds: BTreeSet<u32> = outcome.series.iter().map(|row| row.second).collect();
    let [first, last] = [seconds.first()?, seconds.last()?];
    Some(last - first + 1 - seconds.len() as u32)
}

/// Words for kernel workers with a considerable share.
fn worker_note(outcome: &Outcome) -> Option<String> {
    let workers_ns = outcome.process_cpu_ns.saturating_sub(outcome.cpu_ns);
    let share = workers_ns as f64 / outcome.process_cpu_ns.max(1) as f64;
    if outcome.engine.poll == Poll::Sqpoll {
        return Some(poll::cpu_words(share));
    }
    (share >= NOTED_SHARE).then(|| {
        format!(
            "kernel workers used {} of the CPU time, because io_uring passed operations to kernel workers",
            show::percent(100.0 * share)
        )
    })
}

/// Latencies by class, response times under an arrival rate, and sync times; no empty histograms.
fn histograms(outcome: &Outcome) -> Histograms {
    let mut histograms = Histograms::new();
    for class in &outcome.classes {
        let name = class.class.name();
        if !class.latency_ns.is_empty() {
            histograms.insert(name.to_owned(), class.latency_ns.clone());
        }
        if let Some(times) = &class.response_ns {
            histograms.insert(format!("{name}{RESPONSE}"), times.clone());
        }
    }
    histograms.extend(outcome.sync_ns.clone().map(|times| (FDATASYNCS.to_owned(), times)));
    histograms
}

fn used_buckets(counts: &[u32]) -> Vec<[u32; 2]> {
    let all = counts.iter().enumerate();
    all.filter(|(_, count)| **count > 0).map(|(index, &count)| [index as u32, count]).collect()
}

/// The rows per second of an outcome, in storage format.
pub(crate) fn series(outcome: &Outcome) -> Vec<SeriesRow> {
    outcome
        .series
        .iter()
        .map(|row| SeriesRow {
            second: row.second,
            class: row.class.name().to_owned(),
            operations: row.operations,
            bytes: row.bytes,
            latency_sum_ns: row.latency_sum_ns,
            latency_max_ns: row.latency_max_ns,
            latency_buckets: used_buckets(&row.latency_buckets),
        })
        .collect()
}
