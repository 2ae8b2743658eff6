//! Results as bars with their intervals.

use super::words::{Subject, mean_of, point, primary, subjects};
use super::{Drawing, sweep};
use crate::document::numbers;
use crate::document::numbers::unit_of;
use crate::evidence::Evidence;
use assay_core::catalogue::About;
use assay_core::exhibit::figure::{Axis, Figure, Mark, Point, Series, id_of, joined, short};
use assay_core::exhibit::parts::{BEYOND, at_most, distinct, of_bars};
use assay_study::findings::shown::{MICRO_RATE, Names, metric_title};
use assay_study::findings::{Findings, Measurement};
use assay_study::results::plan::{Arm, level_words};

pub static BARS: Drawing = Drawing {
    about: About {
        name: "bars",
        summary: "results as bars with 95% CIs",
        text: "Each bar is the geometric mean of a configuration's trials in the metric that the verdicts use, with \
               the 95% CI as a line. A check has one bar per workload. Hollow bars mark suspect or invalid numbers.",
    },
    draw,
};

const MOST_ARMS: usize = 24;
const MOST_TOGETHER: usize = 4;
const MOST_FIGURES: usize = 8;
/// Limit on notes on missing numbers.
const MOST_MISSING: usize = 5;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    if !sweep::factors(findings).is_empty() {
        return Vec::new();
    }
    of_metric(findings, &Names::from_findings(findings), &subjects(findings), BARS.about.name)
}

/// Bars of workloads: few configurations share a figure per metric. `kind` is the prefix of the figures' IDs.
pub(super) fn of_metric(
    findings: &Findings,
    names: &Names,
    workloads: &[Subject<'_>],
    kind: &str,
) -> Vec<Figure> {
    // The arms (configurations), in the order of the study.
    let cells = workloads.iter().flat_map(|subject| primary(findings, *subject));
    let arms = distinct(cells.map(|cell| &cell.configuration));
    // Rates of different micro-benchmarks have no axis in common, so they are never together.
    let (together, alone): (Vec<Subject<'_>>, Vec<Subject<'_>>) =
        if arms.len() <= MOST_TOGETHER && workloads.len() > 1 {
            workloads.iter().copied().partition(|subject| subject.metric != MICRO_RATE)
        } else {
            (Vec::new(), workloads.to_vec())
        };
    let mut figures: Vec<Figure> = Vec::new();
    for metric in distinct(together.iter().map(|subject| subject.metric)) {
        figures.extend(in_one_figure(findings, names, workloads, &arms, metric));
    }
    figures.extend(alone.iter().filter_map(|subject| of_workload(findings, names, *subject)));
    for figure in &mut figures {
        figure.id = id_of(&[kind, &figure.id]);
    }
    at_most(figures, MOST_FIGURES, "workload")
}

/// Bars of all workloads with this metric in one figure, a series per arm.
fn in_one_figure(
    findings: &Findings,
    names: &Names,
    workloads: &[Subject<'_>],
    arms: &[&Arm],
    metric: &str,
) -> Option<Figure> {
    let subjects = workloads.iter().filter(|subject| subject.metric == metric).take(MOST_ARMS);
    let shown: Vec<&str> = subjects.map(|subject| subject.name).collect();
    let series = arms.iter().map(|arm| {
        let arm_name = names.arm(arm);
        let mut bars: Vec<Point> = Vec::new();
        for (at, workload) in shown.iter().enumerate() {
            let name = joined(&[&short(workload), &arm_name]);
            let cell = findings.cell(workload, arm, metric);
            bars.extend(cell.and_then(|cell| bar(findings, at, &name, cell)));
        }
        (arm_name, bars)
    });
    let along = Axis::names("", shown.iter().map(|workload| short(workload)));
    titled_bars(findings, metric, "", along, Series::each(series, Mark::Bars))
}

/// A bar per configuration of one workload; `None` with fewer than two, or too many.
fn of_workload(findings: &Findings, names: &Names, workload: Subject<'_>) -> Option<Figure> {
    let cells = primary(findings, workload);
    if cells.len() < 2 || cells.len() > MOST_ARMS {
        return None;
    }
    let (along, series) = if let [first, second] = names.varied() {
        grouped(findings, names, &cells, [first, second])
    } else {
        let bars = cells.iter().enumerate();
        let bars = bars.filter_map(|(at, it)| bar(findings, at, &names.arm(&it.configuration), it));
        let along = Axis::names("", cells.iter().map(|cell| names.arm(&cell.configuration)));
        (along, vec![Series::new(0, "", Mark::Bars, bars.collect())])
    };
    titled_bars(findings, workload.metric, workload.name, along, series)
}

/// Bars of two factors: a group of bars per level of the factor with more levels, a series per level of the other.
fn grouped(
    findings: &Findings,
    names: &Names,
    cells: &[&Measurement],
    factors: [&String; 2],
) -> (Axis, Vec<Series>) {
    let mut sorted = factors.map(|factor| (factor, levels_of(findings, cells, factor)));
    sorted.sort_by_key(|(_, levels)| std::cmp::Reverse(levels.len()));
    let [(long_factor, groups), (short_factor, levels)] = &sorted;
    let series = levels.iter().map(|level| {
        let mut bars: Vec<Point> = Vec::new();
        for cell in cells.iter().filter(|it| it.configuration.get(*short_factor) == Some(level)) {
            let group = cell.configuration.get(*long_factor);
            if let Some(at) = groups.iter().position(|known| group == Some(known)) {
                bars.extend(bar(findings, at, &names.arm(&cell.configuration), cell));
            }
        }
        (short(&level_words(short_factor, level)), bars)
    });
    let group_names = groups.iter().map(|level| short(&level_words(long_factor, level)));
    (Axis::names("", group_names), Series::each(series, Mark::Bars))
}

/// The levels of a factor as the study declares them, else those of the cells in their order.
pub(super) fn levels_of(findings: &Findings, cells: &[&Measurement], factor: &str) -> Vec<String> {
    if let Some(declared) = findings.study.factors.iter().find(|it| it.name == factor) {
        return declared.levels.clone();
    }
    distinct(cells.iter().filter_map(|cell| cell.configuration.get(factor)).cloned())
}

fn bar(findings: &Findings, at: usize, name: &str, cell: &Measurement) -> Option<Point> {
    let point = point(findings, at as f64, name, cell)?;
    let label = Some(numbers::under_heading(&cell.metric, point.value));
    Some(Point { label, ..point })
}

/// The figure of the bars with its texts and missing numbers. `workload` is empty for bars of several workloads.
fn titled_bars(
    findings: &Findings,
    metric: &str,
    workload: &str,
    along: Axis,
    series: Vec<Series>,
) -> Option<Figure> {
    let metric_name = metric_title(metric);
    let bars = of_bars(along, metric_name.clone(), unit_of(metric), BEYOND, series)?;
    let prefix = if workload.is_empty() { String::new() } else { format!("{}: ", short(workload)) };
    let missing_here = findings.absent.iter().filter(|absent| {
        (workload.is_empty() || absent.workload == workload)
            && absent.metric.as_ref().is_none_or(|it| it == metric)
    });
    let missing_notes = missing_here
        .take(MOST_MISSING)
        .map(|absent| format!("Missing: {}; {}.", short(&absent.workload), short(&absent.reason)));
    let mean = mean_of(findings, metric);
    Some(Figure {
        id: id_of(&[workload, metric]),
        title: format!("{prefix}{metric_name}, {mean}s of trials"),
        description: format!(
            "Each bar is a {mean}, with the 95% CI as a line; hollow bars mark suspect or invalid numbers."
        ),
        notes: missing_notes.chain(bars.notes).collect(),
        workload: (!workload.is_empty()).then(|| workload.to_owned()),
        ..bars
    })
}
