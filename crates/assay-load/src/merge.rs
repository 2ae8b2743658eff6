//! The outcomes of all threads as one.

use std::collections::BTreeMap;

use crate::drive::Part;
use crate::verify::Written;
use crate::{ClassOutcome, EngineFacts, Job, Outcome, Pace, QueueFacts, SecondRow, Totals};
use hdrhistogram::Histogram;

/// Merges the parts of the threads; subtracts the CPU time of bystanders.
pub(crate) fn merge(
    job: &Job,
    name: &str,
    parts: Vec<Part>,
    bystanders_ns: u64,
    stopped: bool,
) -> Outcome {
    let mut outcome = Outcome {
        classes: Vec::new(),
        window_ns: window_ns(job, &parts),
        series: series(&parts),
        totals: totals(&parts),
        sample_latencies_ns: Vec::new(),
        slice_ends_ns: Vec::new(),
        written: None,
        queue: QueueFacts::default(),
        engine: EngineFacts { name: name.to_owned(), notes: Vec::new(), poll: job.poll },
        cpu_ns: parts.iter().map(|part| part.spent.thread_ns).sum(),
        process_cpu_ns: process_cpu_ns(&parts, bystanders_ns),
        waited_ns: parts.iter().map(|part| part.spent.waited_ns).sum(),
        stopped,
        pace: parts.iter().filter_map(|part| part.pace).reduce(Pace::plus),
        played: None,
        sync_ns: None,
    };
    let mut marks = Vec::new();
    for part in parts {
        marks.extend(part.marks);
        // One thread alone plays a track.
        outcome.played = outcome.played.or(part.played);
        add_syncs(&mut outcome.sync_ns, part.sync_ns);
        outcome.queue.looked_at += part.queue.looked_at;
        outcome.queue.already_complete += part.queue.already_complete;
        outcome.stopped |= part.stopped;
        for note in part.notes {
            if !outcome.engine.notes.contains(&note) {
                outcome.engine.notes.push(note);
            }
        }
        outcome.sample_latencies_ns.extend(part.found.samples);
        outcome.slice_ends_ns.extend(part.found.slice_ends_ns);
        for class in part.found.classes {
            add_class(&mut outcome.classes, class);
        }
    }
    outcome.classes.sort_by_key(|class| class.class);
    outcome.written = job.verify.map(|run| Written::new(run, job.seed, marks));
    outcome
}

/// The last thread sees all that the process took; clocks may differ by a moment.
fn process_cpu_ns(parts: &[Part], bystanders_ns: u64) -> u64 {
    let process = parts.iter().map(|part| part.spent.process_ns).max().unwrap_or(0);
    let threads = parts.iter().map(|part| part.spent.thread_ns).sum();
    process.saturating_sub(bystanders_ns).max(threads)
}

fn add_syncs(sum: &mut Option<Histogram<u64>>, new: Option<Histogram<u64>>) {
    let Some(new) = new else { return };
    match sum {
        Some(sum) => {
            let added = sum.add(&new);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        None => *sum = Some(new),
    }
}

/// Adds the operations of a thread to those of the same class.
fn add_class(classes: &mut Vec<ClassOutcome>, new: ClassOutcome) {
    let Some(sum) = classes.iter_mut().find(|old| old.class == new.class) else {
        classes.push(new);
        return;
    };
    sum.operations += new.operations;
    sum.bytes += new.bytes;
    // Both have the same constant bounds, so every value fits.
    let added = sum.latency_ns.add(&new.latency_ns);
    debug_assert!(added.is_ok(), "{added:?}");
    if let Some((sum, new)) = sum.response_ns.as_mut().zip(new.response_ns) {
        let added = sum.add(&new);
        debug_assert!(added.is_ok(), "{added:?}");
    }
}

/// The window for which operations / window is the sum of the threads' rates. Each thread's window is bounded by two of
/// its completions and unbiased; the longest one would give too low a rate, and a common one would cut operations.
///
/// Threads of a job with an operation count end at different times, so its window is the total time.
fn window_ns(job: &Job, parts: &[Part]) -> u64 {
    if job.operations.is_some() {
        let (first, last) = span(parts);
        return if parts.is_empty() { 0 } else { (last - first).max(1) };
    }
    // A window may be 0, because a clock may be coarser than an operation.
    if let [only] = parts {
        return only.found.window_ns.max(1);
    }
    let (mut operations, mut rate_per_ns) = (0, 0.0);
    for Part { found, .. } in parts {
        let count: u64 = found.classes.iter().map(|class| class.operations).sum();
        operations += count;
        rate_per_ns += count as f64 / found.window_ns.max(1) as f64;
    }
    if rate_per_ns > 0.0 { (operations as f64 / rate_per_ns).round() as u64 } else { 0 }
}

/// Stamps of the first submission and the last completion of all.
fn span(parts: &[Part]) -> (u64, u64) {
    let first = parts.iter().map(|part| part.found.first_ns).min();
    let last = parts.iter().map(|part| part.found.last_ns).max();
    (first.unwrap_or(0), last.unwrap_or(0))
}

fn totals(parts: &[Part]) -> Totals {
    let (first, last) = span(parts);
    let submitted = parts.iter().map(|part| part.submitted_ns).max();
    let mut sum = Totals {
        elapsed_ns: last - first,
        submitting_ns: submitted.unwrap_or(0) - first,
        ..Totals::default()
    };
    for Part { found, .. } in parts {
        sum.read_operations += found.totals.read_operations;
        sum.read_bytes += found.totals.read_bytes;
        sum.write_operations += found.totals.write_operations;
        sum.write_bytes += found.totals.write_bytes;
        sum.trim_operations += found.totals.trim_operations;
        sum.trim_bytes += found.totals.trim_bytes;
        sum.zero_operations += found.totals.zero_operations;
        sum.zero_bytes += found.totals.zero_bytes;
        sum.flush_operations += found.totals.flush_operations;
    }
    sum
}

/// Sums the rows of all threads per second and class.
fn series(parts: &[Part]) -> Vec<SecondRow> {
    let mut rows = BTreeMap::new();
    for row in parts.iter().flat_map(|part| &part.found.series) {
        rows.entry((row.second, row.class))
            .and_modify(|sum: &mut SecondRow| {
                sum.operations += row.operations;
                sum.bytes += row.bytes;
                sum.latency_sum_ns = sum.latency_sum_ns.saturating_add(row.latency_sum_ns);
                sum.latency_max_ns = sum.latency_max_ns.max(row.latency_max_ns);
                for (sum, buckets) in sum.latency_buckets.iter_mut().zip(row.latency_buckets) {
                    *sum = sum.saturating_add(buckets);
                }
            })
            .or_insert_with(|| row.clone());
    }
    rows.into_values().collect()
}
