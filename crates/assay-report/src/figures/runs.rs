//! Every run of commands as a dot, with the mean of each command and its CI.

use super::Drawing;
use super::words::{point, primary, subjects};
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{Axis, AxisScale, Colour, Figure, Look, Mark, Point, short};
use assay_core::exhibit::parts::{at_most, by_sort};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::{Findings, Measurement, shown::Names};

pub static RUNS: Drawing = Drawing {
    about: About {
        name: "runs",
        summary: "every run of a command as a dot, with means and their 95% CIs",
        text: "Each dot is one run of a command, with the earliest run at the top of its row. The marker is the mean \
               of the trials with its 95% CI. Two clusters in a row mean two states of the machine; a slope means \
               drift.",
    },
    draw,
};

const TIME: &str = "duration_s";
const MOST_ARMS: usize = 24;
/// Limit on dots per figure: with more runs, draw a sample.
const MOST_DOTS: usize = 1000;
const MOST_FIGURES: usize = 4;
/// Half of the width of a command's dots; the distance to the next command is 1.
const HALF_BAND: f64 = 0.34;

/// Draws the time of every run of the commands, a figure per workload; nothing if no trial recorded runs.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    if evidence.trials.iter().all(|trial| trial.runs_ns.is_empty()) {
        return Vec::new();
    }
    let names = Names::from_findings(&evidence.findings);
    let mut figures = Vec::new();
    for subject in subjects(&evidence.findings) {
        let cells = primary(&evidence.findings, subject).into_iter();
        let times: Vec<&Measurement> =
            cells.map(|cell| time_of(&evidence.findings, cell)).collect();
        figures.extend(figure(evidence, &names, subject.name, &times));
    }
    at_most(figures, MOST_FIGURES, "workload")
}

/// A row of dots per configuration, one dot per run, and their mean; `None` without runs or with too many rows.
fn figure(
    evidence: &Evidence,
    names: &Names,
    workload: &str,
    cells: &[&Measurement],
) -> Option<Figure> {
    let runs: Vec<Vec<f64>> = cells.iter().map(|cell| runs_s(evidence, cell)).collect();
    let count: usize = runs.iter().map(Vec::len).sum();
    if count == 0 || cells.len() > MOST_ARMS {
        return None;
    }
    // Too many runs: show one of every `step`.
    let step = count.div_ceil(MOST_DOTS);
    let label = |cell: &Measurement| {
        let name = names.arm(&cell.configuration);
        if name.is_empty() { short(workload) } else { name }
    };
    // Each mark, and whether it is a mean instead of a run.
    let mut marks: Vec<(bool, Point)> = Vec::new();
    for (at, (cell, runs)) in cells.iter().zip(&runs).enumerate() {
        let name = label(cell);
        marks.extend(dots(at, &name, runs, step).into_iter().map(|dot| (false, dot)));
        // Without times, the primary metric is not in seconds.
        if cell.metric == TIME {
            let mean = point(&evidence.findings, at as f64, &name, cell);
            marks.extend(mean.map(|mean| (true, mean)));
        }
    }
    let sorts = [(false, "run", Colour::Series(0), 0), (true, "mean", Colour::Series(1), 1)];
    let series = by_sort(sorts, marks, Mark::Points);
    let sample = format!("Showing 1 of every {step} runs, {count} in total.");
    let along = Axis::names("", cells.iter().map(|cell| label(cell)));
    let value = Axis::new("time of a run", AxisScale::Linear, Unit::Seconds);
    let figure = Figure {
        notes: (step > 1).then_some(sample).into_iter().collect(),
        metric: Some(TIME.to_owned()),
        ..Figure::lying(along, value, series)
    };
    Some(figure.of_workload(
        "runs",
        workload,
        "time of each run",
        "Each dot is a run, with the earliest at the top of its row; the marker is the mean of the trials with its \
         95% CI.",
    ))
}

/// The time metric of a row's runs, regardless of the primary metric; the row itself if times are unknown.
fn time_of<'f>(findings: &'f Findings, cell: &'f Measurement) -> &'f Measurement {
    let is_time_of_cell = |other: &&Measurement| {
        other.metric == TIME
            && other.workload == cell.workload
            && other.configuration == cell.configuration
            && other.control == cell.control
    };
    findings.measurements.iter().find(is_time_of_cell).unwrap_or(cell)
}

/// Seconds of the runs behind a cell's mean, in the order they ran.
fn runs_s(evidence: &Evidence, cell: &Measurement) -> Vec<f64> {
    let trials = evidence.counting(cell);
    trials.flat_map(|trial| trial.runs_ns.iter().map(|ns| ns / 1e9)).collect()
}

/// Every `step`th run as a dot, spread over the width of row `at`.
fn dots(at: usize, name: &str, runs: &[f64], step: usize) -> Vec<Point> {
    // At least 1 as a divisor: a run alone is at the top of the row.
    let last_index = runs.len().saturating_sub(1).max(1) as f64;
    let mut dots = Vec::new();
    for (index, seconds) in runs.iter().enumerate().step_by(step) {
        let offset = HALF_BAND * (2.0 * index as f64 / last_index - 1.0);
        let text = format!("{name}, run {}", index + 1);
        let dot = Point::new(at as f64 + offset, Unit::Seconds, &text, *seconds, None);
        dots.push(Point { look: Look::Hollow, ..dot });
    }
    dots
}
