//! Latency over its quantiles, up to what the counts support.

use super::Drawing;
use super::words::{notable, primary, subjects};
use crate::evidence::{Evidence, RowLatencies};
use assay_core::catalogue::About;
use assay_core::exhibit::Unit;
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Mark, Point, Series, id_of, short};
use assay_core::exhibit::parts::{at_most, distinct, left_out};
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
    0.999_999_9,
];
/// Limit on lines per figure: with more arms, draw the baseline, the best and the worst.
const MOST_LINES: usize = 6;
const LINES_OF_MANY: usize = 3;
const MOST_TOGETHER: usize = 8;
const MOST_FIGURES: usize = 4;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::from_findings(&evidence.findings);
    let figures =
        if names.varied().is_empty() { together(evidence) } else { by_workload(evidence, &names) };
    at_most(figures, MOST_FIGURES, "workload")
}

fn together(evidence: &Evidence) -> Vec<Figure> {
    let rows: Vec<&RowLatencies> = evidence.latencies.iter().filter(|row| !row.control).collect();
    let line_name = |row: &RowLatencies| {
        let has_several = rows.iter().filter(|other| other.workload == row.workload).count() > 1;
        let class = if has_several { format!(", {}", kind(row)) } else { String::new() };
        format!("{}{class}", short(&row.workload))
    };
    let lines = rows.iter().take(MOST_TOGETHER).map(|row| (line_name(row), *row));
    let drawn = figure(lines).map(|figure| Figure {
        id: id_of(&["percentiles"]),
        title: "Latency by cumulative share of operations, all trials pooled".to_owned(),
        notes: left_out(rows.len().saturating_sub(MOST_TOGETHER), "line").into_iter().collect(),
        ..figure
    });
    drawn.into_iter().collect()
}

fn by_workload(evidence: &Evidence, names: &Names) -> Vec<Figure> {
    let rows = evidence.latencies.iter();
    let classes = distinct(rows.map(|row| (row.workload.as_str(), row.class.as_str())));
    let subjects = subjects(&evidence.findings);
    let drawn = classes.into_iter().filter_map(|(workload, class)| {
        let subject = subjects.iter().find(|it| it.name == workload)?;
        let many = primary(&evidence.findings, *subject).len() > MOST_LINES;
        let most = if many { LINES_OF_MANY } else { MOST_LINES };
        let arms = notable(&evidence.findings, *subject, most);
        let is_its =
            |row: &&RowLatencies| !row.control && row.workload == workload && row.class == class;
        let all: Vec<&RowLatencies> = evidence.latencies.iter().filter(is_its).collect();
        let kept: Vec<&&RowLatencies> = all.iter().filter(|row| arms.contains(&row.arm)).collect();
        let note = left_out(all.len() - kept.len(), "configuration");
        let drawn = "Showing the baseline, the best and the worst.";
        let title = format!(
            "{}: {} by cumulative share, all trials pooled",
            short(workload),
            times(evidence, workload, class)
        );
        Some(Figure {
            id: id_of(&["percentiles", workload, class]),
            title,
            notes: note.map(|note| format!("{drawn} {note}")).into_iter().collect(),
            workload: Some(workload.to_owned()),
            ..figure(kept.into_iter().map(|row| (names.arm(&row.arm), *row)))?
        })
    });
    drawn.collect()
}

fn kind(row: &RowLatencies) -> String {
    match io::of_response(&row.class) {
        Some(class) => format!("{}, response", short(class)),
        None => short(&row.class),
    }
}

/// Kind of times of a class, if there are two.
fn times(evidence: &Evidence, workload: &str, class: &str) -> String {
    if let Some(class) = io::of_response(class) {
        return format!("response time of {}s from the intended start", short(class));
    }
    let is_response =
        |it: &RowLatencies| it.workload == workload && io::of_response(&it.class) == Some(class);
    if evidence.latencies.iter().any(is_response) {
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

/// One line per name through its quantiles in nanoseconds; `None` with fewer than two.
pub(crate) fn curves(named: impl IntoIterator<Item = (String, Vec<[f64; 2]>)>) -> Option<Figure> {
    let lines = named.into_iter().filter(|(_, quantiles)| quantiles.len() > 1);
    let lines = lines.map(|(name, quantiles)| {
        let point = |[q, ns]: [f64; 2]| {
            let words = format!("{name}, {}", Unit::Quantile.text(q));
            Point::new(q, Unit::Nanoseconds, &words, ns, None)
        };
        let points: Vec<Point> = quantiles.into_iter().map(point).collect();
        (name, points)
    });
    let series = Series::each(lines, Mark::Line);
    let along = "share of operations with at most this latency";
    let along = Axis::new(along, AxisScale::Percentile, Unit::Quantile);
    let value = Axis::new("latency", AxisScale::Log10, Unit::Nanoseconds);
    (!series.is_empty()).then(|| Figure::upright(along, value, series))
}
