//! Results as bars with their intervals.

use super::words::{Names, Subject, cell, metric_title, of_cell, primary, short, subjects};
use super::{Drawing, at_most, clipped, sweep};
use crate::document::numbers;
use crate::evidence::Evidence;
use crate::figure::{Axis, Figure, Layout, Marks, Point, Scale, Series, Unit, id_of};
use assay_core::catalogue::About;
use assay_core::findings::{Cell, Findings};
use assay_core::results::plan::{Arm, level_words};

/// The registry's entry.
pub static BARS: Drawing = Drawing {
    about: About {
        name: "bars",
        summary: "results as bars with their 95 % intervals",
        text: "A bar is the geometric mean of the trials of a setting on the metric that verdicts are \
               about, its line the 95 % interval. A check has a bar for each workload. Numbers that \
               are suspect or invalid have hollow bars.",
    },
    draw,
};

/// Arms up to which there are bars.
const MOST_ARMS: usize = 24;
/// Arms up to which workloads stand together.
const MOST_TOGETHER: usize = 4;
const MOST_FIGURES: usize = 8;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    if !sweep::factors(findings).is_empty() {
        return Vec::new();
    }
    of_metric(findings, &Names::of(findings), &subjects(findings), BARS.about.name)
}

/// Bars of workloads, each on its metric; `kind` begins the ids of the figures.
pub(super) fn of_metric(
    findings: &Findings,
    names: &Names,
    workloads: &[Subject<'_>],
    kind: &str,
) -> Vec<Figure> {
    let arms = arms(findings, workloads);
    let figures = if arms.len() <= MOST_TOGETHER && workloads.len() > 1 {
        together(findings, names, workloads, &arms)
    } else {
        workloads.iter().filter_map(|one| apart(findings, names, *one)).collect()
    };
    let named = |figure: Figure| Figure { id: id_of(&[kind, &figure.id]), ..figure };
    at_most(figures.into_iter().map(named).collect(), MOST_FIGURES, "workload")
}

/// Arms in the order of the study.
fn arms<'a>(findings: &'a Findings, workloads: &[Subject<'_>]) -> Vec<&'a Arm> {
    let mut arms: Vec<&Arm> = Vec::new();
    for cell in workloads.iter().flat_map(|one| primary(findings, *one)) {
        if !arms.contains(&&cell.arm) {
            arms.push(&cell.arm);
        }
    }
    arms
}

/// A figure for each metric: workloads side by side, a series for each arm.
fn together(
    findings: &Findings,
    names: &Names,
    workloads: &[Subject<'_>],
    arms: &[&Arm],
) -> Vec<Figure> {
    let mut metrics: Vec<&str> = Vec::new();
    for workload in workloads {
        if !metrics.contains(&workload.metric) {
            metrics.push(workload.metric);
        }
    }
    let figure = |metric: &str| {
        let own: Vec<&Subject<'_>> =
            workloads.iter().filter(|one| one.metric == metric).take(MOST_ARMS).collect();
        let series = arms.iter().enumerate().map(|(index, arm)| {
            let name = names.arm(arm);
            let bars = own.iter().enumerate().filter_map(|(at, workload)| {
                let says = if name.is_empty() {
                    short(workload.name)
                } else {
                    format!("{}, {name}", short(workload.name))
                };
                bar(findings, at, &says, cell(findings, workload.name, arm, metric)?)
            });
            Series::new(index, name.clone(), Marks::Bars(bars.collect()))
        });
        let along = Axis::names("", own.iter().map(|workload| short(workload.name)));
        finished(findings, metric, "", along, series.collect())
    };
    metrics.into_iter().filter_map(figure).collect()
}

/// The arms of one workload.
fn apart(findings: &Findings, names: &Names, workload: Subject<'_>) -> Option<Figure> {
    let cells = primary(findings, workload);
    if cells.len() < 2 || cells.len() > MOST_ARMS {
        return None;
    }
    let (along, series) = if let [first, second] = names.varied() {
        grouped(findings, names, &cells, [first, second])
    } else {
        let bars = cells.iter().enumerate();
        let bars = bars.filter_map(|(at, cell)| bar(findings, at, &names.arm(&cell.arm), cell));
        let along = Axis::names("", cells.iter().map(|cell| names.arm(&cell.arm)));
        (along, vec![Series::new(0, "", Marks::Bars(bars.collect()))])
    };
    finished(findings, workload.metric, workload.name, along, series)
}

/// Levels of the factor with more of them along, the other one as series.
fn grouped(
    findings: &Findings,
    names: &Names,
    cells: &[&Cell],
    factors: [&String; 2],
) -> (Axis, Vec<Series>) {
    let [first, second] = factors.map(|factor| levels(findings, cells, factor));
    let (along, (other, series)) = if first.len() >= second.len() {
        ((factors[0], first), (factors[1], second))
    } else {
        ((factors[1], second), (factors[0], first))
    };
    let made = series.iter().enumerate().map(|(index, level)| {
        let own = cells.iter().filter(|cell| cell.arm.get(other) == Some(level));
        let bars = own.filter_map(|cell| {
            let at = along.1.iter().position(|level| cell.arm.get(along.0) == Some(level))?;
            bar(findings, at, &names.arm(&cell.arm), cell)
        });
        Series::new(index, short(&level_words(other, level)), Marks::Bars(bars.collect()))
    });
    let names = along.1.iter().map(|level| short(&level_words(along.0, level)));
    (Axis::names("", names), made.collect())
}

/// Levels of a factor in the order of the study.
pub(super) fn levels(findings: &Findings, cells: &[&Cell], factor: &str) -> Vec<String> {
    if let Some(declared) = findings.factors.iter().find(|one| one.name == factor) {
        return declared.levels.clone();
    }
    let mut levels: Vec<String> = Vec::new();
    for level in cells.iter().filter_map(|cell| cell.arm.get(factor)) {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    levels
}

fn bar(findings: &Findings, at: usize, name: &str, cell: &Cell) -> Option<Point> {
    let told = of_cell(findings, at as f64, name, cell)?;
    let label = Some(numbers::under_heading(&cell.metric, told.value));
    Some(Point { label, ..told })
}

fn finished(
    findings: &Findings,
    metric: &str,
    workload: &str,
    along: Axis,
    series: Vec<Series>,
) -> Option<Figure> {
    let series: Vec<Series> =
        series.into_iter().filter(|series| !series.marks.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let what = metric_title(metric);
    let of = if workload.is_empty() { String::new() } else { format!("{}: ", short(workload)) };
    let missing =
        findings.absent.iter().filter(|absent| workload.is_empty() || absent.workload == workload);
    let missing = missing.filter(|absent| absent.metric.as_ref().is_none_or(|own| own == metric));
    let notes = missing.take(5).map(|absent| {
        format!("Not there: {}: {}.", short(&absent.workload), short(&absent.reason))
    });
    // Intervals of few trials may be endless; bars are to be seen all the same.
    let values = || series.iter().flat_map(|one| one.marks.points()).map(|bar| bar.value);
    let limits = [1.6 * values().fold(0.0, f64::min), 1.6 * values().fold(0.0, f64::max)];
    let value = Axis::new(what.clone(), Scale::Linear, Unit::Metric(metric.to_owned()));
    let value = Axis { limits: Some(limits), ..value.from_zero() };
    let notes = notes.chain(clipped(&series, &value)).collect();
    let [titled, each] = if findings.study.kind == "article" {
        ["as published", "number as published"]
    } else {
        ["geometric means of the trials", "geometric mean"]
    };
    Some(Figure {
        id: id_of(&[workload, metric]),
        title: format!("{of}{what}, {titled}"),
        description: format!(
            "Each bar is a {each}, the line at its end the 95 % interval; hollow bars are \
             not to be trusted."
        ),
        layout: Layout::Lying,
        along,
        value,
        series,
        spans: Vec::new(),
        guides: Vec::new(),
        interval: "95 % interval".to_owned(),
        notes,
        workload: (!workload.is_empty()).then(|| workload.to_owned()),
        metric: None,
    })
}
