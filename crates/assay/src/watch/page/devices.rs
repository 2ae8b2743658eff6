//! The table of devices: rates, queue, utilization.

use super::{BOLD, Page, RED, cut, paint};
use crate::watch::sampler::DiskSpan;
use crate::watch::words::{depth, percent, rate};
use assay_core::quantity::units::show;

/// Utilization from which a device is highlighted.
const BUSY: f64 = 0.9;

/// Returns a heading and a line per device, the selected one marked; the heading counts devices that do not fit.
pub(super) fn table(
    page: &Page<'_>,
    shown: &[usize],
    selected: usize,
    width: usize,
    room: usize,
) -> Vec<String> {
    let Some(rows) = room.checked_sub(1) else { return Vec::new() };
    // Scrolls just far enough to show the selected device in the last row.
    let position = shown.iter().position(|disk| *disk == selected).unwrap_or_default();
    let first = (position + 1).saturating_sub(rows.max(1));
    let visible: Vec<usize> = shown.iter().skip(first).take(rows).copied().collect();
    let hidden = shown.len() - visible.len();
    let name = if hidden > 0 { format!("+{hidden} more") } else { "device".to_owned() };
    let mut lines = vec![paint(BOLD, &cut(&heading(&name, width), width))];
    for disk in visible {
        lines.push(row(page, &page.state.last.disks[disk], disk == selected, width));
    }
    lines
}

/// Returns whether the table has columns for flushes and discards.
const fn has_rare_columns(width: usize) -> bool {
    width >= 76
}

/// Returns the widths of the columns for name, queue and utilization.
const fn widths(width: usize) -> [usize; 3] {
    if width < 66 { [8, 6, 7] } else { [11, 7, 8] }
}

fn heading(name: &str, width: usize) -> String {
    let rare =
        if has_rare_columns(width) { format!("{:>6}{:>6}", "f/s", "d/s") } else { String::new() };
    let [name_width, queue_width, busy_width] = widths(width);
    format!(
        " {name:<name_width$}{:>7}{:>11}{:>8}{:>11}{rare}{:>queue_width$}{:>busy_width$}",
        "r/s", "read", "w/s", "written", "queue", "busy"
    )
}

fn row(page: &Page<'_>, disk: &DiskSpan, is_selected: bool, width: usize) -> String {
    let mark = if is_selected && page.state.shown().len() > 1 { ">" } else { " " };
    let [name_width, queue_width, busy_width] = widths(width);
    let name = cut(&disk.name, name_width - 1);
    let Some(counters) = disk.counters.value() else {
        let reason = disk.counters.reason().unwrap_or_default();
        return cut(&format!("{mark}{name:<name_width$} gone: {reason}"), width);
    };
    let span = &page.state.last;
    let per_s = |count: u64| show::per_second(span.per_s(count).round());
    let rare = if has_rare_columns(width) {
        format!("{:>6}{:>6}", per_s(counters.flushes_completed), per_s(counters.discards_completed))
    } else {
        String::new()
    };
    let busy = span.busy(counters);
    let text = format!(
        "{mark}{name:<name_width$}{:>7}{:>11}{:>8}{:>11}{rare}{:>queue_width$}",
        per_s(counters.reads_completed),
        rate(span.per_s(counters.read_bytes)),
        per_s(counters.writes_completed),
        rate(span.per_s(counters.written_bytes)),
        depth(span.queue(counters)),
    );
    let mut utilization = format!("{:>busy_width$}", percent(busy));
    if busy >= BUSY {
        utilization = page.bold(RED, &utilization);
    } else if is_selected {
        utilization = paint(BOLD, &utilization);
    }
    if is_selected { paint(BOLD, &text) + &utilization } else { text + &utilization }
}
