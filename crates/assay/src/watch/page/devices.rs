//! The table of devices: rates, queue, utilization.

use super::{BOLD, Page, RED, cut, paint};
use crate::watch::sampler::DiskSpan;
use crate::watch::words::{depth, percent, rate};
use assay_core::quantity::units::show;

const BUSY: f64 = 0.9;

/// Returns the lines: a heading and a line per device, the selected one marked; the heading counts devices that do not
/// fit.
pub(super) fn table(
    page: &Page<'_>,
    shown: &[usize],
    chosen: usize,
    wide: usize,
    room: usize,
) -> Vec<String> {
    let Some(rows) = room.checked_sub(1) else { return Vec::new() };
    // The selected device is always shown.
    let position = shown.iter().position(|disk| *disk == chosen).unwrap_or_default();
    let from = (position + 1).saturating_sub(rows.max(1));
    let visible: Vec<usize> = shown.iter().skip(from).take(rows).copied().collect();
    let hidden = shown.len() - visible.len();
    let name = if hidden > 0 { format!("+{hidden} more") } else { "device".to_owned() };
    let mut lines = vec![paint(BOLD, &cut(&heading(&name, wide), wide))];
    for disk in visible {
        lines.push(row(page, &page.state.last.disks[disk], disk == chosen, wide));
    }
    lines
}

const fn has_rare(wide: usize) -> bool {
    wide >= 76
}

/// Returns the widths of the columns for name, queue and utilization.
const fn widths(wide: usize) -> [usize; 3] {
    if wide < 66 { [8, 6, 7] } else { [11, 7, 8] }
}

fn heading(name: &str, wide: usize) -> String {
    let rare = if has_rare(wide) { format!("{:>6}{:>6}", "f/s", "d/s") } else { String::new() };
    let [name_columns, queue, busy] = widths(wide);
    format!(
        " {name:<name_columns$}{:>7}{:>11}{:>8}{:>11}{rare}{:>queue$}{:>busy$}",
        "r/s", "read", "w/s", "written", "queue", "busy"
    )
}

fn row(page: &Page<'_>, disk: &DiskSpan, chosen: bool, wide: usize) -> String {
    let mark = if chosen && page.state.shown().len() > 1 { ">" } else { " " };
    let [columns, queue, busy_columns] = widths(wide);
    let name = cut(&disk.name, columns - 1);
    let Some(counters) = disk.counters.value() else {
        let reason = disk.counters.reason().unwrap_or_default();
        return cut(&format!("{mark}{name:<columns$} gone: {reason}"), wide);
    };
    let span = &page.state.last;
    let per_s = |count: u64| show::per_second(span.per_s(count).round());
    let rare = if has_rare(wide) {
        format!("{:>6}{:>6}", per_s(counters.flushes_completed), per_s(counters.discards_completed))
    } else {
        String::new()
    };
    let busy = span.busy(counters);
    let text = format!(
        "{mark}{name:<columns$}{:>7}{:>11}{:>8}{:>11}{rare}{:>queue$}",
        per_s(counters.reads_completed),
        rate(span.per_s(counters.read_bytes)),
        per_s(counters.writes_completed),
        rate(span.per_s(counters.written_bytes)),
        depth(span.queue(counters)),
    );
    let mut share = format!("{:>busy_columns$}", percent(busy));
    if busy >= BUSY {
        share = page.bold(RED, &share);
    } else if chosen {
        share = paint(BOLD, &share);
    }
    if chosen { paint(BOLD, &text) + &share } else { text + &share }
}
