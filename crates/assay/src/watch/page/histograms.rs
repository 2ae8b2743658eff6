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
const NARROWEST: usize = 13;
/// Lines outside the rows: title, names, and the numbers below.
const AROUND: usize = 7;
const LEAST_ROWS: usize = 4;
/// Rows before the first completed request.
const USUAL_ROWS: usize = 8;

struct HistogramColumn {
    name: String,
    colour: &'static str,
    latencies: Latencies,
    /// Requests in total and per second now.
    numbers: Option<(u64, f64)>,
    now_ns: Option<f64>,
    failed: u64,
}

pub(super) fn wanted_lines(page: &Page<'_>, chosen: usize) -> usize {
    let disk = page.state.disk(chosen);
    match &disk.classes {
        Presence::Present(_) => {
            AROUND + doublings(&columns(page, chosen, usize::MAX)).len().max(USUAL_ROWS)
        }
        Presence::Absent(_) => 9,
    }
}

pub(super) fn section(page: &Page<'_>, chosen: usize, wide: usize, room: usize) -> Vec<String> {
    let disk = page.state.disk(chosen);
    let mut lines = match &disk.classes {
        Presence::Present(_) => traced(page, chosen, wide, room),
        Presence::Absent(reason) => means_only(disk, reason, wide),
    };
    lines.truncate(room);
    lines
}

fn traced(page: &Page<'_>, chosen: usize, wide: usize, room: usize) -> Vec<String> {
    let shown = columns(page, chosen, wide);
    let name = &page.state.disks[chosen].name;
    let limit = room.saturating_sub(AROUND).max(LEAST_ROWS);
    let rows = row_ranges(&shown, limit);
    let mut lines = vec![title(page, name, wide)];
    let width = (wide.saturating_sub(LABEL) / shown.len().max(1)).min(46);
    let mut names = format!("{:>LABEL$}", "from");
    for column in &shown {
        let text = cut(&column.name, width - 1);
        names += &page.bold(column.colour, &format!(" {text:<w$}", w = width - 1));
    }
    lines.push(names);
    for (from_ns, to_ns) in rows {
        lines.push(row(page, &shown, from_ns..to_ns, width));
    }
    lines.extend(number_lines(&shown, width));
    lines
}

fn title(page: &Page<'_>, name: &str, wide: usize) -> String {
    let text = match page.view.class.and_then(|index| USUAL.iter().chain(&RARE).nth(index)) {
        Some(class) => format!(" latency of {name}, {class} only, since the start"),
        None => format!(" latency of {name} by class, since the start"),
    };
    paint(BOLD, &cut(&text, wide))
}

/// Returns the columns: as many classes as fit, or both intervals of one class.
fn columns(page: &Page<'_>, chosen: usize, wide: usize) -> Vec<HistogramColumn> {
    let (whole, last) = (page.state.disk(chosen), &page.state.last.disks[chosen]);
    if let Some(class) = page.view.class.and_then(|at| USUAL.iter().chain(&RARE).nth(at)) {
        let (whole, last) = (class_span(whole, class), class_span(last, class));
        let queued = column(page, class, "queued to done", &whole, &last, |span| &span.queued);
        let issued = column(page, class, "in the device", &whole, &last, |span| &span.issued);
        return vec![queued, issued];
    }
    let room = (wide.saturating_sub(LABEL) / NARROWEST).max(1);
    let names = classes(whole).into_iter().take(room.max(USUAL.len()));
    let column_of = |class: &'static str| {
        let (whole, last) = (class_span(whole, class), class_span(last, class));
        column(page, class, class, &whole, &last, |span| &span.queued)
    };
    names.map(column_of).collect()
}

fn class_span(disk: &DiskSpan, class: &str) -> ClassSpan {
    disk.classes.value().and_then(|spans| spans.get(class)).cloned().unwrap_or_default()
}

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
        numbers: (whole.requests > 0)
            .then(|| (whole.requests, page.state.last.per_s(last.requests))),
        now_ns: pick(last).mean_ns(),
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

/// Returns the range of each row in nanoseconds, upper end exclusive. All rows have the same width in powers of two to
/// preserve the shape: the fewest that fit. Before the first completed request, the rows cover the range of a typical
/// drive.
fn row_ranges(columns: &[HistogramColumn], limit: usize) -> Vec<(u64, u64)> {
    let doublings = doublings(columns);
    let typical: Vec<u64> = (15..15 + USUAL_ROWS.min(limit)).map(|power| 1 << power).collect();
    let doublings = if doublings.is_empty() { typical } else { doublings };
    let step = doublings.len().div_ceil(limit.max(1)).max(1);
    let end = |from: u64| (0..step).fold(from, |end, _| end.saturating_mul(2));
    doublings.iter().step_by(step).map(|from| (*from, end(*from))).collect()
}

fn count(latencies: &Latencies, range: &Range<u64>) -> u64 {
    let inside = |(from, many)| if range.contains(&from) { many } else { 0 };
    latencies.by_doubling().into_iter().map(inside).sum()
}

fn row(page: &Page<'_>, columns: &[HistogramColumn], range: Range<u64>, width: usize) -> String {
    let from = show::duration(range.start as f64);
    let mut line = format!("{from:>LABEL$}");
    let edge = paint(DIM, if page.looks.blocks { "│" } else { "|" });
    for column in columns {
        let requests = count(&column.latencies, &range);
        let share = requests as f64 / (column.latencies.len() as f64).max(1.0);
        let length = width.saturating_sub(COUNT + 2);
        let bar = bar(share, length, page.looks.blocks);
        let bar = page.tint(column.colour, &format!("{bar:<length$}"));
        let requests = if requests > 0 { compact(requests) } else { String::new() };
        line = format!("{line}{edge}{bar}{requests:>COUNT$} ");
    }
    line
}

/// Returns the numbers below the histograms: requests, rate now, mean now and in total, 99th percentile, and upper
/// bound of the maximum.
fn number_lines(columns: &[HistogramColumn], width: usize) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), show::duration);
    let requests = |column: &HistogramColumn| {
        let Some((total, now)) = column.numbers else { return "-".to_owned() };
        let both = match column.failed {
            0 => format!("{} {}/s", compact(total), show::per_second(now.round())),
            failed => format!("{} !{} bad", compact(total), compact(failed)),
        };
        match column.failed {
            _ if both.len() + 2 < width => both,
            0 => compact(total),
            failed => format!("!{} bad", compact(failed)),
        }
    };
    let now = |column: &HistogramColumn| time(column.now_ns);
    let mean = |column: &HistogramColumn| time(column.latencies.mean_ns());
    let p99 = |column: &HistogramColumn| time(column.latencies.percentile_ns(0.99));
    let longest = |it: &HistogramColumn| time(it.latencies.highest_ns().map(|ns| ns as f64));
    let line = |name: &str, words: &dyn Fn(&HistogramColumn) -> String| {
        let mut line = paint(DIM, &format!("{name:>LABEL$}"));
        for column in columns {
            let text = cut(&words(column), width - 2);
            line = format!("{line}{text:>w$}  ", w = width - 2);
        }
        line
    };
    vec![
        line("requests", &requests),
        line("mean now", &now),
        line("mean", &mean),
        line("p99", &p99),
        line("longest", &longest),
    ]
}

/// Returns the kernel's counters, and why requests are not traced.
fn means_only(disk: &DiskSpan, reason: &str, wide: usize) -> Vec<String> {
    let name = &disk.name;
    let mut lines = vec![paint(BOLD, &cut(&format!(" latency of {name}: means only"), wide))];
    let words: Vec<&str> = reason.split_whitespace().collect();
    let mut line = " classes unavailable:".to_owned();
    for word in words {
        if line.chars().count() + 1 + word.chars().count() > wide {
            lines.push(paint(DIM, &cut(&line, wide)));
            " ".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(paint(DIM, &cut(&line, wide)));
    let Some(counters) = disk.counters.value() else { return lines };
    lines.push(String::new());
    lines.push(format!(" {:<9}{:>10}{:>25}", "", "requests", "mean (kernel counters)"));
    for (class, many, mean_ns) in counted_means(counters) {
        let mean = mean_ns.map_or_else(|| "-".to_owned(), show::duration);
        lines.push(format!(" {class:<9}{:>10}{mean:>25}", show::count(many)));
    }
    lines
}
