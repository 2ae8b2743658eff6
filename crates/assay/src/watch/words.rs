//! Sentences and short forms shared by page, lines and text.

use super::State;
use super::members;
use super::sampler::{DiskSpan, Span};
use crate::store::progress::StudyProgress;
use assay_core::quantity::units::show;
use assay_machine::system::devices::Counters;

/// Classes that are always shown, in display order.
pub(super) const USUAL: [&str; 4] = ["read", "write", "flush", "discard"];
/// Classes shown only if requests of them completed.
pub(super) const RARE: [&str; 2] = ["fua", "write-zeroes"];
/// Throughput below which a program is not worth a warning, in bytes per second.
const WORTH_BYTES_PER_S: f64 = 1e6;
/// Share of stolen time that is worth a warning.
const WORTH_STOLEN: f64 = 0.05;

pub(super) fn classes(disk: &DiskSpan) -> Vec<&'static str> {
    let is_seen = |class: &&str| disk.classes.value().is_some_and(|it| it.contains_key(*class));
    USUAL.into_iter().chain(RARE.into_iter().filter(is_seen)).collect()
}

/// Returns warnings, the most severe first.
pub fn warnings(state: &State, strip: Option<&StudyProgress>) -> Vec<String> {
    let last = &state.last;
    let mut texts = Vec::new();
    if last.throttle_events.value().is_some_and(|events| *events > 0) {
        texts.push("a CPU was throttled by heat".to_owned());
    }
    if let Some(memory) = last.memory.value() {
        let moved = memory.swapped_in_bytes + memory.swapped_out_bytes;
        if moved > 0 {
            texts.push(format!("memory pressure: {} swapped", rate(last.per_s(moved))));
        }
    }
    if let Some(load) = last.load().filter(|load| load.steal > WORTH_STOLEN) {
        texts.push(format!("the hypervisor stole {} of CPU time", percent(load.steal)));
    }
    texts.extend(members::warnings(state));
    texts.extend(strip.and_then(|strip| disturber(state, strip)));
    texts.extend(strip.and_then(|strip| strip.warnings.last().cloned()));
    texts
}

fn disturber(state: &State, strip: &StudyProgress) -> Option<String> {
    let last = &state.last;
    let others = last.users.busiest.iter().filter(|user| user.name != "assay");
    let disturbs = |bytes: u64| last.per_s(bytes) >= WORTH_BYTES_PER_S;
    // A program without open files on a watched disk is probably active elsewhere; during a study of this process, open
    // files are not read.
    let user = others
        .filter(|user| strip.own || !user.on.is_empty())
        .find(|user| disturbs(user.bytes()))?;
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

/// Heading above the lines of [`line`].
pub const LINE_HEADING: &str = "device     reads/s      bytes/s     mean      max  writes/s      bytes/s     mean      max  queue   busy";

pub fn line(span: &Span, disk: &DiskSpan) -> String {
    let Some(counters) = disk.counters.value() else {
        return format!("{:<10} {}", disk.name, disk.counters.reason().unwrap_or_default());
    };
    let columns = |count: u64, bytes: u64, class: &str, ms: u64| {
        format!(
            "{:>7} {:>12} {:>8} {:>8}",
            show::per_second(span.per_s(count)),
            rate(span.per_s(bytes)),
            mean(disk, class, count, ms),
            max(disk, class)
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

/// Returns the mean latency of a class from tracing, or else from the kernel's counters.
fn mean(disk: &DiskSpan, class: &str, count: u64, ms: u64) -> String {
    let traced = disk.classes.value().and_then(|spans| spans.get(class)?.queued.mean_ns());
    let counted = (count > 0).then(|| ms as f64 * 1e6 / count as f64);
    traced.or(counted).map_or_else(|| "-".to_owned(), show::duration)
}

fn max(disk: &DiskSpan, class: &str) -> String {
    let traced = disk.classes.value().and_then(|spans| spans.get(class)?.queued.highest_ns());
    traced.map_or_else(|| "-".to_owned(), |ns| show::duration(ns as f64))
}

/// Returns mean latencies from the kernel's counters: class, requests, nanoseconds. Excludes discards.
pub(super) fn counted_means(counters: &Counters) -> [(&'static str, u64, Option<f64>); 4] {
    let mean = |ms: u64, count: u64| (count > 0).then(|| ms as f64 * 1e6 / count as f64);
    let (reads, writes) = (counters.reads_completed, counters.writes_completed);
    let flushes = counters.flushes_completed;
    [
        ("read", reads, mean(counters.read_ms, reads)),
        ("write", writes, mean(counters.write_ms, writes)),
        ("flush", flushes, mean(counters.flush_ms, flushes)),
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
