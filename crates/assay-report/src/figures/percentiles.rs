//! Latency over its quantiles, up to what the counts support.

use super::Drawing;
use super::words::{notable, primary, subjects};
use crate::evidence::{Evidence, RowLatencies};
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Mark, Point, Series, id_of, short};
use assay_core::exhibit::parts::{at_most, distinct, left_out};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::shown::Names;
use assay_workloads::io;

pub static PERCENTILES: Drawing = Drawing {
    about: About {
        name: "percentiles",
        summary: "latency percentiles",
        text: "Each additional nine has equal width, which enlarges the tail. A line ends at the last percentile with \
               enough operations. Each line pools the operations of all trials of a configuration and has no CI; \
               verdicts use the trials.",
    },
    draw,
};

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
    1.0 - 1e-7,
];
/// Limit on lines per figure: with more arms, draw the baseline, the best and the worst.
const MOST_LINES: usize = 6;
const LINES_OF_MANY: usize = 3;
const MOST_TOGETHER: usize = 8;
const MOST_FIGURES: usize = 4;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::from_findings(&evidence.findings);
    let figures = if names.varied().is_empty() {
        all_in_one(evidence).into_iter().collect()
    } else {
        figure_per_class(evidence, &names)
    };
    at_most(figures, MOST_FIGURES, "workload")
}

/// All lines in one figure, for a single configuration.
fn all_in_one(evidence: &Evidence) -> Option<Figure> {
    let rows: Vec<&RowLatencies> = evidence.latencies.iter().filter(|row| !row.control).collect();
    let line_name = |row: &RowLatencies| {
        let workload = short(&row.workload);
        if rows.iter().filter(|other| other.workload == row.workload).count() == 1 {
            return workload;
        }
        match io::of_response(&row.class) {
            Some(class) => format!("{workload}, {}, response", short(class)),
            None => format!("{workload}, {}", short(&row.class)),
        }
    };
    Some(Figure {
        id: id_of(&["percentiles"]),
        title: "Latency by cumulative share of operations, all trials pooled".to_owned(),
        notes: left_out(rows.len().saturating_sub(MOST_TOGETHER), "line").into_iter().collect(),
        ..figure(rows.iter().take(MOST_TOGETHER).map(|row| (line_name(row), *row)))?
    })
}

/// A figure per workload and class of operations, with a line per configuration.
fn figure_per_class(evidence: &Evidence, names: &Names) -> Vec<Figure> {
    let rows = evidence.latencies.iter();
    let classes = distinct(rows.map(|row| (row.workload.as_str(), row.class.as_str())));
    let subjects = subjects(&evidence.findings);
    let figures = classes.into_iter().filter_map(|(workload, class)| {
        let subject = subjects.iter().find(|it| it.name == workload)?;
        let has_many = primary(&evidence.findings, *subject).len() > MOST_LINES;
        let most = if has_many { LINES_OF_MANY } else { MOST_LINES };
        let arms = notable(&evidence.findings, *subject, most);
        let is_of_class =
            |row: &&RowLatencies| !row.control && row.workload == workload && row.class == class;
        let all: Vec<&RowLatencies> = evidence.latencies.iter().filter(is_of_class).collect();
        let shown: Vec<&&RowLatencies> = all.iter().filter(|row| arms.contains(&row.arm)).collect();
        let omitted = left_out(all.len() - shown.len(), "configuration");
        let note =
            omitted.map(|note| format!("Showing the baseline, the best and the worst. {note}"));
        let times = time_name(evidence, workload, class);
        Some(Figure {
            id: id_of(&["percentiles", workload, class]),
            title: format!("{}: {times} by cumulative share, all trials pooled", short(workload)),
            notes: note.into_iter().collect(),
            workload: Some(workload.to_owned()),
            ..figure(shown.into_iter().map(|row| (names.arm(&row.arm), *row)))?
        })
    });
    figures.collect()
}

/// Name of the times of a class: response or service time if the workload has both, else latency.
fn time_name(evidence: &Evidence, workload: &str, class: &str) -> String {
    if let Some(class) = io::of_response(class) {
        return format!("response time of {}s from the intended start", short(class));
    }
    let is_its_response =
        |it: &RowLatencies| it.workload == workload && io::of_response(&it.class) == Some(class);
    if evidence.latencies.iter().any(is_its_response) {
        return format!("service time of {}s from submission", short(class));
    }
    let ending = if class == "flush" { "es" } else { "s" };
    format!("latency of {}{ending}", short(class))
}

fn figure<'a>(lines: impl Iterator<Item = (String, &'a RowLatencies)>) -> Option<Figure> {
    let quantiles = |row: &RowLatencies| {
        let quantile = |q: f64| Some([q, row.nanoseconds.percentile_ns(q)? as f64]);
        QUANTILES.into_iter().filter_map(quantile).collect::<Vec<_>>()
    };
    let figure = curves(lines.map(|(name, row)| (name, quantiles(row))))?;
    let description =
        "Each additional nine has equal width. A line ends at the last percentile with enough operations; all trials \
         are pooled, so the line has no CI."
            .to_owned();
    Some(Figure { description, ..figure })
}

/// One line per name through its quantiles in nanoseconds, if it has two; `None` without lines.
pub(crate) fn curves(named: impl IntoIterator<Item = (String, Vec<[f64; 2]>)>) -> Option<Figure> {
    let mut lines = Vec::new();
    for (name, quantiles) in named.into_iter().filter(|(_, quantiles)| quantiles.len() > 1) {
        let mut points: Vec<Point> = Vec::new();
        for [q, ns] in quantiles {
            let words = format!("{name}, {}", Unit::Quantile.text(q));
            points.push(Point::new(q, Unit::Nanoseconds, &words, ns, None));
        }
        lines.push((name, points));
    }
    let series = Series::each(lines, Mark::Line);
    let along = "share of operations with at most this latency";
    let along = Axis::new(along, AxisScale::Percentile, Unit::Quantile);
    let value = Axis::new("latency", AxisScale::Log10, Unit::Nanoseconds);
    (!series.is_empty()).then(|| Figure::upright(along, value, series))
}
