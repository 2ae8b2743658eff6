//! Sentences and short forms shared by page, lines and text.

use super::sampler::{DiskSpan, Span};
use super::{State, members};
use crate::store::progress::StudyProgress;
use assay_core::quantity::units::show;
use assay_machine::system::devices::Counters;

/// Classes that are always shown, in display order.
pub(super) const USUAL: [&str; 4] = ["read", "write", "flush", "discard"];
/// Classes shown only if requests of them completed.
pub(super) const RARE: [&str; 2] = ["fua", "write-zeroes"];
/// Throughput below which a program is not worth a warning, in bytes per second.
const LEAST_BYTES_PER_S: f64 = 1e6;
/// Share of stolen time above which to warn.
const MOST_STOLEN: f64 = 0.05;

/// Returns the classes to show of a disk.
pub(super) fn classes(disk: &DiskSpan) -> Vec<&'static str> {
    let has_class = |class: &&str| disk.classes.value().is_some_and(|it| it.contains_key(*class));
    USUAL.into_iter().chain(RARE.into_iter().filter(has_class)).collect()
}

/// Returns warnings, the most severe first.
pub fn warnings(state: &State, progress: Option<&StudyProgress>) -> Vec<String> {
    let last = &state.last;
    let mut texts = Vec::new();
    if last.throttle_events.value().is_some_and(|events| *events > 0) {
        texts.push("a CPU was throttled by heat".to_owned());
    }
    if let Some(memory) = last.memory.value() {
        let swapped = memory.swapped_in_bytes + memory.swapped_out_bytes;
        if swapped > 0 {
            texts.push(format!("memory pressure: {} swapped", rate(last.per_s(swapped))));
        }
    }
    if let Some(load) = last.load().filter(|load| load.steal > MOST_STOLEN) {
        texts.push(format!("the hypervisor stole {} of CPU time", percent(load.steal)));
    }
    texts.extend(members::warnings(state));
    if let Some(progress) = progress {
        texts.extend(disturbance(state, progress));
        texts.extend(progress.warnings.last().cloned());
    }
    texts
}

/// Returns a warning about the busiest other program on the watched disks during a study.
fn disturbance(state: &State, progress: &StudyProgress) -> Option<String> {
    let last = &state.last;
    let user = last.users.busiest.iter().find(|user| {
        // A program without open files on a watched disk is probably active elsewhere; during a study of this process,
        // open files are not read.
        let may_use_disk = progress.is_own || !user.on.is_empty();
        user.name != "assay" && may_use_disk && last.per_s(user.bytes()) >= LEAST_BYTES_PER_S
    })?;
    let (verb, bytes) = if user.written_bytes >= user.read_bytes {
        ("writes", user.written_bytes)
    } else {
        ("reads", user.read_bytes)
    };
    let speed = rate(last.per_s(bytes));
    let place = if user.on.is_empty() {
        "somewhere".to_owned()
    } else {
        format!("on {}", user.on.join(" "))
    };
    Some(format!("{} (PID {}) {verb} {speed} {place} during the study", user.name, user.pid))
}

/// Heading above the lines of [`device_line`].
pub const LINE_HEADING: &str = "device     reads/s      bytes/s     mean      max  writes/s      bytes/s     mean      max  queue   busy";

pub fn device_line(span: &Span, disk: &DiskSpan) -> String {
    let Some(counters) = disk.counters.value() else {
        return format!("{:<10} {}", disk.name, disk.counters.reason().unwrap_or_default());
    };
    let columns = |count: u64, bytes: u64, class: &str, ms: u64| {
        format!(
            "{:>7} {:>12} {:>8} {:>8}",
            show::per_second(span.per_s(count)),
            rate(span.per_s(bytes)),
            mean_latency(disk, class, count, ms),
            max_latency(disk, class)
        )
    };
    format!(
        "{:<10} {}  {} {:>6} {:>6}",
        disk.name,
        columns(counters.reads_completed, counters.read_bytes, "read", counters.read_ms),
        columns(counters.writes_completed, counters.written_bytes, "write", counters.write_ms),
        depth(span.queue(counters)),
        percent(span.busy(counters)),
    )
}

/// Returns the mean latency of a class from tracing, or else from the kernel's counters of requests and their time.
fn mean_latency(disk: &DiskSpan, class: &str, count: u64, total_ms: u64) -> String {
    let traced = disk.classes.value().and_then(|spans| spans.get(class)?.queued.mean_ns());
    traced.or(mean_ns(total_ms, count)).map_or_else(|| "-".to_owned(), show::duration)
}

/// Returns the maximum latency of a class, which only tracing knows.
fn max_latency(disk: &DiskSpan, class: &str) -> String {
    let traced = disk.classes.value().and_then(|spans| spans.get(class)?.queued.highest_ns());
    traced.map_or_else(|| "-".to_owned(), |ns| show::duration(ns as f64))
}

fn mean_ns(total_ms: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| total_ms as f64 * 1e6 / count as f64)
}

/// Returns class, requests, and mean latency in nanoseconds from the kernel's counters. Discards have no latency here.
pub(super) fn counted_means(counters: &Counters) -> [(&'static str, u64, Option<f64>); 4] {
    let (reads, writes) = (counters.reads_completed, counters.writes_completed);
    let flushes = counters.flushes_completed;
    [
        ("read", reads, mean_ns(counters.read_ms, reads)),
        ("write", writes, mean_ns(counters.write_ms, writes)),
        ("flush", flushes, mean_ns(counters.flush_ms, flushes)),
        ("discard", counters.discards_completed, None),
    ]
}

/// Formats bytes per second, with at least one digit of a KiB.
pub(super) fn rate(bytes_per_s: f64) -> String {
    show::rate(bytes_per_s.round())
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

pub(super) fn depth(queue: f64) -> String {
    if queue < 9.95 { format!("{queue:.1}") } else { format!("{queue:.0}") }
}

pub(super) fn compact(count: u64) -> String {
    match count {
        0..=999_999 => count.to_string(),
        1_000_000..=999_949_999 => format!("{:.1}M", count as f64 / 1e6),
        _ => format!("{:.1}G", count as f64 / 1e9),
    }
}

pub(super) fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}
