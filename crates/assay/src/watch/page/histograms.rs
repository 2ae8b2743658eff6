//! Latency histograms by class, side by side with the same rows.

use std::ops::Range;

use super::{BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, Page, YELLOW, bar, cut, paint};
use crate::watch::sampler::DiskSpan;
use crate::watch::words::{RARE, USUAL, classes, compact, counted_means};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::probes::block_latency::counts::{ClassSpan, Latencies};

const LABEL: usize = 9;
const COUNT: usize = 7;
/// Limits of a column's width.
const NARROWEST: usize = 13;
const WIDEST: usize = 46;
/// Lines outside the rows: title, names, and the numbers below.
const LINES_AROUND: usize = 7;
const LEAST_ROWS: usize = 4;
/// Lines of [`means_only`] with a reason of two lines.
const MEANS_LINES: usize = 9;
/// Rows before the first completed request.
const USUAL_ROWS: usize = 8;
/// Start of the first of these rows: about 33 µs.
const USUAL_FIRST_NS: u64 = 1 << 15;

struct HistogramColumn {
    name: String,
    colour: &'static str,
    latencies: Latencies,
    /// Requests in total and per second now; `None` before the first one.
    requests: Option<(u64, f64)>,
    mean_now_ns: Option<f64>,
    failed: u64,
}

/// Returns the number of lines that [`section`] fills, given enough room.
pub(super) fn wanted_lines(page: &Page<'_>, selected: usize) -> usize {
    if page.state.disk(selected).classes.value().is_none() {
        return MEANS_LINES;
    }
    let rows = doublings(&columns(page, selected, usize::MAX)).len();
    LINES_AROUND + rows.max(USUAL_ROWS)
}

/// Returns the latency of a disk: histograms, or only means if its requests are not traced.
pub(super) fn section(page: &Page<'_>, selected: usize, width: usize, room: usize) -> Vec<String> {
    let disk = page.state.disk(selected);
    let mut lines = match &disk.classes {
        Presence::Present(_) => histogram_lines(page, selected, width, room),
        Presence::Absent(reason) => means_only(disk, reason, width),
    };
    lines.truncate(room);
    lines
}

fn histogram_lines(page: &Page<'_>, selected: usize, width: usize, room: usize) -> Vec<String> {
    let columns = columns(page, selected, width);
    let name = &page.state.disks[selected].name;
    let mut lines = vec![title(page, name, width)];
    let column_width = (width.saturating_sub(LABEL) / columns.len().max(1)).min(WIDEST);
    let mut names = format!("{:>LABEL$}", "from");
    for column in &columns {
        let text = cut(&column.name, column_width - 1);
        names += &page.bold(column.colour, &format!(" {text:<w$}", w = column_width - 1));
    }
    lines.push(names);
    let most_rows = room.saturating_sub(LINES_AROUND).max(LEAST_ROWS);
    for (from_ns, to_ns) in row_ranges(&columns, most_rows) {
        lines.push(row(page, &columns, from_ns..to_ns, column_width));
    }
    lines.extend(number_lines(&columns, column_width));
    lines
}

/// Returns the class that the user selected; `None` if all are shown.
fn selected_class(page: &Page<'_>) -> Option<&'static str> {
    USUAL.into_iter().chain(RARE).nth(page.view.class?)
}

fn title(page: &Page<'_>, name: &str, width: usize) -> String {
    let text = match selected_class(page) {
        Some(class) => format!(" latency of {name}, {class} only, since the start"),
        None => format!(" latency of {name} by class, since the start"),
    };
    paint(BOLD, &cut(&text, width))
}

/// Returns the columns: both intervals of a selected class, or else the usual classes and as many more as fit.
fn columns(page: &Page<'_>, selected: usize, width: usize) -> Vec<HistogramColumn> {
    let (whole, last) = (page.state.disk(selected), &page.state.last.disks[selected]);
    let column_of = |class: &str, name: &str, pick: fn(&ClassSpan) -> &Latencies| {
        column(page, class, name, &class_span(whole, class), &class_span(last, class), pick)
    };
    if let Some(class) = selected_class(page) {
        let queued = column_of(class, "queued to done", |span| &span.queued);
        let issued = column_of(class, "in the device", |span| &span.issued);
        return vec![queued, issued];
    }
    let room = width.saturating_sub(LABEL) / NARROWEST;
    let names = classes(whole).into_iter().take(room.max(USUAL.len()));
    names.map(|class| column_of(class, class, |span| &span.queued)).collect()
}

fn class_span(disk: &DiskSpan, class: &str) -> ClassSpan {
    disk.classes.value().and_then(|spans| spans.get(class)).cloned().unwrap_or_default()
}

/// Returns the column of a request class; `pick` chooses which of its two intervals is shown.
fn column(
    page: &Page<'_>,
    class: &str,
    name: &str,
    whole: &ClassSpan,
    last: &ClassSpan,
    pick: fn(&ClassSpan) -> &Latencies,
) -> HistogramColumn {
    let colour = match class {
        "read" => CYAN,
        "write" => YELLOW,
        "flush" => MAGENTA,
        "discard" => GREEN,
        _ => BLUE,
    };
    HistogramColumn {
        name: name.to_owned(),
        colour,
        latencies: pick(whole).clone(),
        requests: (whole.requests > 0)
            .then(|| (whole.requests, page.state.last.per_s(last.requests))),
        mean_now_ns: pick(last).mean_ns(),
        failed: whole.failed,
    }
}

/// Returns the powers of two between the lowest and the highest latency of all columns.
fn doublings(columns: &[HistogramColumn]) -> Vec<u64> {
    let buckets = columns.iter().flat_map(|column| column.latencies.by_doubling());
    let filled: Vec<u64> = buckets.filter(|(_, count)| *count > 0).map(|(from, _)| from).collect();
    let (Some(low), Some(high)) = (filled.iter().min(), filled.iter().max()) else {
        return Vec::new();
    };
    (low.ilog2()..=high.ilog2()).map(|power| 1 << power).collect()
}

/// Returns the range of each row in nanoseconds, end exclusive: the same number of powers of two, the fewest that fit.
fn row_ranges(columns: &[HistogramColumn], most_rows: usize) -> Vec<(u64, u64)> {
    let mut doublings = doublings(columns);
    if doublings.is_empty() {
        // No request completed yet: the range of a typical drive.
        doublings.extend((0..USUAL_ROWS.min(most_rows)).map(|row| USUAL_FIRST_NS << row));
    }
    let powers_per_row = doublings.len().div_ceil(most_rows.max(1)).max(1);
    let factor = 2_u64.saturating_pow(powers_per_row as u32);
    let starts = doublings.iter().step_by(powers_per_row);
    starts.map(|from| (*from, from.saturating_mul(factor))).collect()
}

fn requests_in(latencies: &Latencies, range: &Range<u64>) -> u64 {
    let buckets = latencies.by_doubling().into_iter();
    buckets.filter(|(from_ns, _)| range.contains(from_ns)).map(|(_, requests)| requests).sum()
}

fn row(
    page: &Page<'_>,
    columns: &[HistogramColumn],
    range: Range<u64>,
    column_width: usize,
) -> String {
    let from = show::duration(range.start as f64);
    let mut line = format!("{from:>LABEL$}");
    let edge = paint(DIM, if page.style.blocks { "│" } else { "|" });
    for column in columns {
        let requests = requests_in(&column.latencies, &range);
        let share = requests as f64 / (column.latencies.len() as f64).max(1.0);
        let length = column_width.saturating_sub(COUNT + 2);
        let bar = bar(share, length, page.style.blocks);
        let bar = page.tint(column.colour, &format!("{bar:<length$}"));
        let count = if requests > 0 { compact(requests) } else { String::new() };
        line = format!("{line}{edge}{bar}{count:>COUNT$} ");
    }
    line
}

/// Returns the numbers below the histograms; the longest latency is an upper bound.
fn number_lines(columns: &[HistogramColumn], column_width: usize) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), show::duration);
    let line = |name: &str, text_of: &dyn Fn(&HistogramColumn) -> String| {
        let mut line = paint(DIM, &format!("{name:>LABEL$}"));
        for column in columns {
            let text = cut(&text_of(column), column_width - 2);
            line = format!("{line}{text:>w$}  ", w = column_width - 2);
        }
        line
    };
    vec![
        line("requests", &|column| request_numbers(column, column_width)),
        line("mean now", &|column| time(column.mean_now_ns)),
        line("mean", &|column| time(column.latencies.mean_ns())),
        line("p99", &|column| time(column.latencies.percentile_ns(0.99))),
        line("longest", &|column| time(column.latencies.highest_ns().map(|ns| ns as f64))),
    ]
}

/// Returns the total with the rate, or with the failed requests if there are any; only one number if both do not fit.
fn request_numbers(column: &HistogramColumn, column_width: usize) -> String {
    let Some((total, per_s)) = column.requests else { return "-".to_owned() };
    let total = compact(total);
    let (both, one) = if column.failed > 0 {
        let failed = format!("!{} bad", compact(column.failed));
        (format!("{total} {failed}"), failed)
    } else {
        (format!("{total} {}/s", show::per_second(per_s.round())), total)
    };
    if both.len() + 2 < column_width { both } else { one }
}

/// Returns the kernel's counters, and why requests are not traced.
fn means_only(disk: &DiskSpan, reason: &str, width: usize) -> Vec<String> {
    let name = &disk.name;
    let mut lines = vec![paint(BOLD, &cut(&format!(" latency of {name}: means only"), width))];
    let mut line = " classes unavailable:".to_owned();
    for word in reason.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > width {
            lines.push(paint(DIM, &cut(&line, width)));
            " ".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(paint(DIM, &cut(&line, width)));
    let Some(counters) = disk.counters.value() else { return lines };
    lines.push(String::new());
    lines.push(format!(" {:<9}{:>10}{:>25}", "", "requests", "mean (kernel counters)"));
    for (class, requests, mean_ns) in counted_means(counters) {
        let mean = mean_ns.map_or_else(|| "-".to_owned(), show::duration);
        lines.push(format!(" {class:<9}{:>10}{mean:>25}", show::count(requests)));
    }
    lines
}
