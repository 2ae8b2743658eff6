//! Runs reads and writes on the engines of `assay-load`, and converts the results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use assay_core::quantity::metric::FDATASYNCS;
use assay_core::quantity::units::show;
use assay_load::{Bystanders, ClassOutcome, Job, LoadError, Outcome};

use super::planned::{Engine, kind};
use super::{IoDetail, Poll, poll};
use crate::measured::{Claims, Count, Histograms, Measured, RunResult, SeriesRow};
use crate::place::TestMedium;

/// Smallest share of CPU time at which the kernel's worker threads are mentioned.
const TOLD_SHARE: f64 = 0.05;

/// Runs a job on a medium; work of bystanders does not count.
pub fn run_job(
    engine: Engine,
    job: &Job,
    medium: &TestMedium<'_>,
    bystanders: &Bystanders,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    let kind = kind(engine, medium.law).map_err(LoadError::Invalid)?;
    assay_load::run_beside(bystanders, job, &kind, &medium.target(), stop)
}

/// Suffix of a class whose histogram contains response times.
const RESPONSE: &str = "-response";

/// The class of operations of a response time histogram with this name.
pub fn of_response(name: &str) -> Option<&str> {
    name.strip_suffix(RESPONSE)
}

pub(crate) fn ran(outcome: &Outcome) -> RunResult {
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
        notes: outcome.engine.notes.iter().cloned().chain(workers(outcome)).collect(),
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
    let count = |class: &ClassOutcome| {
        let counted = Count { operations: class.operations, bytes: class.bytes };
        (class.class.name().to_owned(), counted)
    };
    outcome.classes.iter().map(count).collect()
}

fn detail(outcome: &Outcome) -> IoDetail {
    IoDetail {
        classes: class_counts(outcome),
        submitting_ns: outcome.totals.submitting_ns,
        longest_ns: outcome.series.iter().map(|row| row.latency_max_ns).max(),
        still_s: still_s(outcome),
        looked_at: outcome.queue.looked_at,
        already_complete: outcome.queue.already_complete,
        pace: outcome.pace,
        sample_latencies_ns: outcome.sample_latencies_ns.clone(),
        written: outcome.written.clone(),
        ..IoDetail::default()
    }
}

/// Whole seconds between the first and the last completion without one.
fn still_s(outcome: &Outcome) -> Option<u32> {
    let seconds: BTreeSet<u32> = outcome.series.iter().map(|row| row.second).collect();
    let [first, last] = [seconds.first()?, seconds.last()?];
    Some(last - first + 1 - seconds.len() as u32)
}

/// Words for kernel workers with a considerable share.
fn workers(outcome: &Outcome) -> Option<String> {
    let workers_ns = outcome.process_cpu_ns.saturating_sub(outcome.cpu_ns);
    let share = workers_ns as f64 / outcome.process_cpu_ns.max(1) as f64;
    if outcome.engine.poll == Poll::Sqpoll {
        return Some(poll::taken(share));
    }
    (share >= TOLD_SHARE).then(|| {
        format!(
            "kernel workers used {} of the CPU time, because io_uring passed operations to kernel workers",
            show::percent(100.0 * share)
        )
    })
}

fn histograms(outcome: &Outcome) -> Histograms {
    let of_class = |class: &ClassOutcome| {
        let name = class.class.name();
        let service =
            (!class.latency_ns.is_empty()).then(|| (name.to_owned(), class.latency_ns.clone()));
        let response = class.response_ns.clone().map(|times| (format!("{name}{RESPONSE}"), times));
        service.into_iter().chain(response)
    };
    let syncs = outcome.sync_ns.clone().map(|times| (FDATASYNCS.to_owned(), times));
    outcome.classes.iter().flat_map(of_class).chain(syncs).collect()
}

/// Nonempty buckets: index and count.
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
