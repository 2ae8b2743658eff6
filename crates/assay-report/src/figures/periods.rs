//! Latency of a class of requests in each trial, and below it the load.

use super::Drawing;
use super::words::{Subject, primary, subjects};
use crate::document::numbers::unit_of;
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{
    Axis, AxisScale, Figure, Look, Mark, Point, Series, id_of, short, with_marks,
};
use assay_core::exhibit::parts::at_most;
use assay_core::quantity::metric::{Statistic, class, of_requests};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::Measurement;
use assay_study::findings::shown::{Names, metric_title};
use assay_study::results::record::Status;

pub static PERIODS: Drawing = Drawing {
    about: About {
        name: "production",
        summary: "latency of a request class in each trial, with the load below",
        text: "Trials are in run order, one line per configuration. The first figure shows the mean latency, the \
               second the requests served per second. If both change together, the load may be the cause. Hollow \
               points are warm-ups.",
    },
    draw,
};

const MOST_FIGURES: usize = 8;
const FEWEST_TRIALS: usize = 4;
/// Limit on trials per figure: more are indistinguishable.
const MOST_TRIALS: usize = 120;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let names = Names::from_findings(findings);
    // Trials of compared results have no common order.
    if findings.study.kind == "compare" || names.varied().is_empty() {
        return Vec::new();
    }
    let pairs = subjects(findings).into_iter().filter_map(|subject| {
        // Only the mean latency of a class of requests has a load: the rate of the class.
        let (class, _) = class(subject.metric).filter(|(_, what)| *what == Statistic::Mean)?;
        let rate = Subject { metric: of_requests(class, Statistic::Rate)?.name, ..subject };
        let latency = figure(&names, subject, &primary(findings, subject), &AxisScale::Log10)?;
        let load = figure(&names, rate, &primary(findings, rate), &AxisScale::Linear)?;
        Some([latency, load])
    });
    at_most(pairs.flatten().collect(), MOST_FIGURES, "figure")
}

/// A line per configuration; `None` with one configuration, or too few or too many trials.
fn figure(
    names: &Names,
    subject: Subject<'_>,
    cells: &[&Measurement],
    scale: &AxisScale,
) -> Option<Figure> {
    let trials: usize = cells.iter().map(|cell| cell.trials.len()).sum();
    if cells.len() < 2 || !(FEWEST_TRIALS..=MOST_TRIALS).contains(&trials) {
        return None;
    }
    let unit = unit_of(subject.metric);
    let lines = cells.iter().map(|cell| {
        let name = names.arm(&cell.configuration);
        let points = points(unit, &name, cell);
        (name, points)
    });
    let series = with_marks(Series::each(lines, Mark::Line))?;
    let metric = metric_title(subject.metric);
    let along = Axis::new("position in the run order", AxisScale::Linear, Unit::Number);
    let mut value = Axis::new(metric.clone(), scale.clone(), unit);
    value.from_zero = *scale == AxisScale::Linear;
    Some(Figure {
        id: id_of(&["production", subject.name, subject.metric]),
        title: format!("{}: {metric} of each trial, in run order", short(subject.name)),
        description:
            "Each point is a trial, each line a configuration; the load is below the latency."
                .to_owned(),
        workload: Some(subject.name.to_owned()),
        ..Figure::upright(along, value, series)
    })
}

fn points(unit: Unit, name: &str, cell: &Measurement) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for trial in &cell.trials {
        let (Some(value), Some(order)) = (trial.value, trial.order) else { continue };
        // A logarithmic axis can only show positive values.
        if !value.is_finite() || value <= 0.0 {
            continue;
        }
        let words = format!("{name}, trial {order}");
        let point = Point::new(f64::from(order), unit, &words, value, None);
        points.push(match trial.status {
            Status::Warmup => point.marked(Look::Hollow, "warm-up, not counted"),
            Status::Disturbed => point.marked(Look::Crossed, "disturbed"),
            Status::Ok | Status::Failed => point,
        });
    }
    points.sort_by(|left, right| left.at.total_cmp(&right.at));
    points
}
