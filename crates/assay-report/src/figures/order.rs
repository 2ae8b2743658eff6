//! Every trial in the order it ran, against the mean of its arm.

use super::Drawing;
use super::words::{Subject, primary, subjects};
use crate::document::numbers;
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{
    Axis, AxisScale, AxisSpan, Colour, Figure, Guide, Look, Mark, Point, Series, SpanKind, id_of,
    joined, short,
};
use assay_core::exhibit::parts::{at_most, clipped, merged_point, trials_per_point};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::shown::{Names, metric_title};
use assay_study::findings::{Measurement, TrialValue};
use assay_study::results::record::Status;

pub static ORDER: Drawing = Drawing {
    about: About {
        name: "order",
        summary: "every trial in run order, relative to the mean of its configuration",
        text: "A quiet machine shows a level band around 1. A slope is drift, a step is a change, and waves are \
               periodic disturbances. The background changes with each replicate. Markers show trials that were \
               disturbed, repeated or excluded by design.",
    },
    draw,
};

/// Up to this number of replicates, the background shows them.
const MOST_SPANS: usize = 40;
const MOST_FIGURES: usize = 4;
/// Largest ratio on the axis; trials beyond it are at the edge.
const FARTHEST: f64 = 10.0;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    // The orders of two results are unrelated.
    if evidence.findings.study.kind == "compare" {
        return Vec::new();
    }
    let names = Names::from_findings(&evidence.findings);
    let subjects = subjects(&evidence.findings);
    if names.varied().is_empty() {
        return figure(evidence, &names, &subjects).into_iter().collect();
    }
    let figures = subjects.iter().filter_map(|subject| figure(evidence, &names, &[*subject]));
    at_most(figures.collect(), MOST_FIGURES, "workload")
}

struct OrderPoint<'a> {
    order: u32,
    relative: f64,
    text: String,
    trial: &'a TrialValue,
}

/// All trials of the subjects relative to the mean of their configuration or workload; `None` with fewer than three.
fn figure(evidence: &Evidence, names: &Names, subjects: &[Subject<'_>]) -> Option<Figure> {
    let several = subjects.len() > 1;
    let cells = subjects.iter().flat_map(|it| primary(&evidence.findings, *it));
    let mut points: Vec<_> = cells.flat_map(|cell| points_of_cell(names, several, cell)).collect();
    points.sort_by_key(|it| it.order);
    if points.len() < 3 {
        return None;
    }
    let (metric, workload, prefix) = match subjects {
        [one] => (metric_title(one.metric), one.name, format!("{}: ", short(one.name))),
        _ => ("result".to_owned(), "", String::new()),
    };
    let group = if several { "workload" } else { "configuration" };
    let plain = points.iter().filter(|it| look_of(it.trial) == TrialLook::Plain).count();
    let together = trials_per_point(plain);
    let mut notes = Vec::new();
    if together > 1 {
        notes.push(format!("{plain} trials: a point averages up to {together}; line: range."));
    }
    let along = Axis::new("position in the run order", AxisScale::Linear, Unit::Number);
    let value_title = format!("{metric} relative to the mean of its {group}");
    let value =
        Axis::new(value_title, AxisScale::Log10, Unit::Ratio).within([1.0 / FARTHEST, FARTHEST]);
    let series = series(&points);
    notes.extend(clipped(&series, &value));
    Some(Figure {
        id: id_of(&["order", workload]),
        title: format!("{prefix}{metric} of each trial relative to its {group} mean, in run order"),
        description: "Each point is a trial; the background changes with each replicate."
            .to_owned(),
        spans: replicate_spans(&points),
        guides: vec![Guide::line(1.0, format!("mean of the {group}"))],
        interval: "lowest to highest".to_owned(),
        notes,
        ..Figure::upright(along, value, series)
    })
}

/// The trials of a cell with a positive value, named by the workload if there are `several`.
fn points_of_cell<'a>(names: &Names, several: bool, cell: &'a Measurement) -> Vec<OrderPoint<'a>> {
    let Some(mean) = cell.value().filter(|mean| mean.is_finite() && *mean > 0.0) else {
        return Vec::new();
    };
    let name = if several { short(&cell.workload) } else { names.arm(&cell.configuration) };
    let points = cell.trials.iter().filter_map(|trial| {
        let value = trial.value.filter(|value| value.is_finite() && *value > 0.0)?;
        let text = joined(&[&name, &numbers::value(&cell.metric, value)]);
        Some(OrderPoint { order: trial.order?, relative: value / mean, text, trial })
    });
    points.collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TrialLook {
    Plain,
    Warmup,
    Disturbed,
    Repeat,
    Outlier,
}

fn look_of(trial: &TrialValue) -> TrialLook {
    match trial.status {
        Status::Warmup => TrialLook::Warmup,
        Status::Disturbed => TrialLook::Disturbed,
        _ if trial.repeats.is_some() => TrialLook::Repeat,
        _ if trial.outlier => TrialLook::Outlier,
        _ => TrialLook::Plain,
    }
}

/// A series per kind of trial that occurs; many trials of a kind are averaged.
fn series(all: &[OrderPoint<'_>]) -> Vec<Series> {
    // Kind of trial, name of the series, color, shape and look of its points.
    let looks = [
        (TrialLook::Plain, "trial", 0, 0, Look::Solid),
        (TrialLook::Warmup, "warm-up, not counted", 7, 0, Look::Hollow),
        (TrialLook::Disturbed, "disturbed", 1, 3, Look::Crossed),
        (TrialLook::Repeat, "repeat of a disturbed trial", 2, 2, Look::Solid),
        (TrialLook::Outlier, "outlier", 3, 1, Look::Solid),
    ];
    let mut series = Vec::new();
    for (trial_look, name, colour, shape, look) in looks {
        let trials: Vec<_> = all.iter().filter(|it| look_of(it.trial) == trial_look).collect();
        let together = trials_per_point(trials.len());
        let points: Vec<Point> = if together > 1 {
            trials.chunks(together).map(mean_point).collect()
        } else {
            trials.iter().map(|it| trial_point(it, name, look)).collect()
        };
        if !points.is_empty() {
            let (name, colour) = (name.to_owned(), Colour::Series(colour));
            series.push(Series { name, colour, shape, mark: Mark::Points, points });
        }
    }
    series
}

/// The point of one trial; `name` is the name of its look.
fn trial_point(ran: &OrderPoint<'_>, name: &str, look: Look) -> Point {
    let words = format!("{} ({})", ran.order, ran.text);
    let point = Point::new(f64::from(ran.order), Unit::Ratio, &words, ran.relative, None);
    if look_of(ran.trial) == TrialLook::Plain {
        return Point { remark: Some(ran.text.clone()), ..point };
    }
    let label = match &ran.trial.reason {
        Some(reason) => format!("{name}: {}", short(reason)),
        None => name.to_owned(),
    };
    let marked = point.marked(look, &label);
    Point { remark: Some(format!("{}; {label}", ran.text)), ..marked }
}

/// The geometric mean of consecutive trials.
fn mean_point(points: &[&OrderPoint<'_>]) -> Point {
    let mean = points.iter().map(|it| it.relative.ln()).sum::<f64>() / points.len() as f64;
    let trials: Vec<(u32, f64)> = points.iter().map(|it| (it.order, it.relative)).collect();
    merged_point(&trials, mean.exp())
}

/// The background of every second replicate, which separates it from its neighbors; none if there are too many.
fn replicate_spans(points: &[OrderPoint<'_>]) -> Vec<AxisSpan> {
    // A repeated trial belongs to the replicate of the disturbed one.
    let replicate_of = |it: &OrderPoint<'_>| {
        it.trial.repeats.map_or(it.trial.replicate, |disturbed| disturbed.replicate)
    };
    let mut spans: Vec<AxisSpan> = Vec::new();
    for run in points.chunk_by(|left, right| replicate_of(left) == replicate_of(right)) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let replicate = replicate_of(first);
        if replicate % 2 == 0 {
            continue;
        }
        spans.push(AxisSpan {
            from: f64::from(first.order) - 0.5,
            to: f64::from(last.order) + 0.5,
            kind: SpanKind::Alternate,
            text: format!("replicate {replicate}"),
            label: replicate.to_string(),
        });
    }
    if spans.len() > MOST_SPANS { Vec::new() } else { spans }
}
