//! Latency over its quantiles, up to what the counts support.

use super::words::{Names, notable, point, primary, short, subjects};
use super::{Drawing, at_most, left_out};
use crate::evidence::{Evidence, Latencies};
use crate::figure::{Axis, Figure, Layout, Marks, Point, Scale, Series, Unit, id_of};
use assay_core::catalogue::About;

/// The registry's entry.
pub static PERCENTILES: Drawing = Drawing {
    about: About {
        name: "percentiles",
        summary: "latency over the share of operations that stay below it",
        text: "Each nine has the same room, so that the tail is as large as the rest. A line ends \
               where too few operations were counted to tell more. The operations of all trials of \
               a setting are taken together: the line has no interval, verdicts are read from trials.",
    },
    draw,
};

/// Quantiles of a line.
const QUANTILES: [f64; 16] = [
    0.01,
    0.1,
    0.25,
    0.5,
    0.75,
    0.9,
    0.95,
    0.98,
    0.99,
    0.995,
    0.999,
    0.9995,
    0.9999,
    0.99999,
    0.999_999,
    0.999_999_9,
];
/// Lines of one figure; of more arms the baseline, the best and the worst are drawn.
const MOST_LINES: usize = 6;
const LINES_OF_MANY: usize = 3;
/// Workloads of one figure where nothing varies.
const MOST_TOGETHER: usize = 8;
const MOST_FIGURES: usize = 4;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::of(&evidence.findings);
    let figures =
        if names.varied().is_empty() { together(evidence) } else { by_workload(evidence, &names) };
    at_most(figures, MOST_FIGURES, "workload")
}

/// A line a workload, where nothing varies.
fn together(evidence: &Evidence) -> Vec<Figure> {
    let own: Vec<&Latencies> = evidence.latencies.iter().filter(|one| !one.control).collect();
    let title =
        "Latency over the share of operations that stay below it, all trials pooled".to_owned();
    let named = |one: &&Latencies| {
        let several = own.iter().filter(|other| other.workload == one.workload).count() > 1;
        let class = if several { format!(", {}", short(&one.class)) } else { String::new() };
        format!("{}{class}", short(&one.workload))
    };
    let lines: Vec<(String, &Latencies)> =
        own.iter().take(MOST_TOGETHER).map(|one| (named(one), *one)).collect();
    let mut figure = figure(&["percentiles"], title, &lines);
    if let Some(figure) = &mut figure {
        figure.notes.extend(left_out(own.len() - lines.len(), "line"));
    }
    figure.into_iter().collect()
}

/// A figure a workload and class, a line an arm.
fn by_workload(evidence: &Evidence, names: &Names) -> Vec<Figure> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for one in &evidence.latencies {
        if !found.contains(&(&one.workload, &one.class)) {
            found.push((&one.workload, &one.class));
        }
    }
    let subjects = subjects(&evidence.findings);
    let drawn = found.into_iter().filter_map(|(workload, class)| {
        let subject = subjects.iter().find(|one| one.name == workload)?;
        let most = if primary(&evidence.findings, *subject).len() > MOST_LINES {
            LINES_OF_MANY
        } else {
            MOST_LINES
        };
        let arms = notable(&evidence.findings, *subject, most);
        let own = |one: &&Latencies| !one.control && one.workload == workload && one.class == class;
        let all: Vec<&Latencies> = evidence.latencies.iter().filter(own).collect();
        let kept = all.iter().filter(|one| arms.contains(&one.arm));
        let lines: Vec<(String, &Latencies)> =
            kept.map(|one| (names.arm(&one.arm), *one)).collect();
        let ending = if class == "flush" { "es" } else { "s" };
        let title = format!(
            "{}: latency of {}{ending} over the share of them that stay below it, all trials pooled",
            short(workload),
            short(class)
        );
        let mut figure = figure(&["percentiles", workload, class], title, &lines)?;
        let drawn = "Drawn are the baseline, the best and the worst.";
        let note = left_out(all.len() - lines.len(), "setting");
        figure.notes.extend(note.map(|note| format!("{drawn} {note}")));
        Some(figure)
    });
    drawn.collect()
}

fn figure(id: &[&str], title: String, lines: &[(String, &Latencies)]) -> Option<Figure> {
    let series: Vec<Series> = lines
        .iter()
        .map(|(name, own)| (name, points(name, own)))
        .filter(|(_, points)| points.len() > 1)
        .enumerate()
        .map(|(index, (name, points))| Series::new(index, name.clone(), Marks::Line(points)))
        .collect();
    if series.is_empty() {
        return None;
    }
    Some(Figure {
        id: id_of(id),
        title,
        description: "Each nine has the same room. A line ends where too few operations were counted to tell more; \
                      all trials are pooled, so it has no interval."
            .to_owned(),
        layout: Layout::Upright,
        along: Axis::new("share of the operations that are at most as slow", Scale::Percentile, Unit::Share),
        value: Axis::new("latency", Scale::Log10, Unit::Nanoseconds),
        series,
        spans: Vec::new(),
        guides: Vec::new(),
        interval: String::new(),
        notes: Vec::new(),
workload: id.get(1).map(|one| (*one).to_owned()),
metric: None,
    })
}

fn points(name: &str, own: &Latencies) -> Vec<Point> {
    let told = QUANTILES.into_iter().filter_map(|q| {
        let ns = own.nanoseconds.percentile_ns(q)? as f64;
        let words = format!("{name}, {}", Unit::Share.text(q));
        Some(point(q, &Unit::Nanoseconds, &words, ns, None))
    });
    told.collect()
}
