//! Evidence of trials with phases, for the figures of kinds of work, and for an artificial one.

use std::sync::Arc;

use assay_core::catalogue::About;
use assay_core::exhibit::figure::{Figure, SpanKind, id_of};
use assay_workloads::own_figures;
use assay_workloads::tell::{OwnFigure, PhaseFigure, TrialPhase};

use super::trial;
use crate::evidence::{Evidence, TrialEvidence};
use crate::figures::{FigureSource, all};
use crate::tests::fixture;
use assay_study::results::plan::Arm;
use assay_study::results::series::SeriesRow;

/// Figure of work that walks and then runs.
static MADE_UP: OwnFigure = OwnFigure {
    about: About {
        name: "paces",
        summary: "seconds of work that walks and runs",
        text: "A line for each setting.",
    },
    known_by: "pace_ns",
    along: "seconds of both",
    description: "A point a second.",
    figures: &[
        PhaseFigure {
            name: "step",
            title: "steps over time",
            values: "mean step",
            metric: "latency_mean_ns",
            phases: &[
                TrialPhase { name: "walk", ramp_s: 0 },
                TrialPhase { name: "run", ramp_s: 2 },
            ],
        },
        PhaseFigure {
            name: "load",
            title: "what is carried over time",
            values: "carried",
            metric: "carried_bits_per_s",
            phases: &[TrialPhase { name: "run", ramp_s: 2 }],
        },
    ],
};

/// Two trials with different settings, in the first two phases of a figure: the second phase becomes slow, more so with
/// the first setting.
fn of_phases(figure: &OwnFigure) -> Evidence {
    let mut evidence = Evidence::bare(fixture("study-two-arms"));
    let metrics = evidence.findings.measurements.iter_mut().map(|cell| &mut cell.metric);
    let compared = evidence.findings.comparisons.iter_mut().map(|found| &mut found.metric);
    for metric in metrics.chain(compared).filter(|metric| *metric == "iops") {
        figure.known_by.clone_into(metric);
    }
    let [first, second, ..] = figure.figures[0].phases else { panic!("two phases") };
    let workload = Arc::new(evidence.findings.measurements[0].workload.clone());
    for (order, level) in (1..).zip(["mq-deadline", "none"]) {
        let arm = Arm::from([("scheduler".into(), level.into())]);
        let row = |second: u32, class: &str, trip_ns: u64| SeriesRow {
            second,
            class: class.to_owned(),
            operations: 100,
            bytes: 600_000,
            latency_sum_ns: 100 * trip_ns,
            latency_max_ns: 2 * trip_ns,
            latency_buckets: Vec::new(),
        };
        let deep = if order == 1 { 580_000_000 } else { 18_000_000 };
        let calm = (0..4).map(|at| row(at, first.name, 120_000 + 1000 * u64::from(at)));
        let full = (6..14).map(|at| row(at, second.name, deep / u64::from(14 - at.min(13))));
        let series = calm.chain(full).collect();
        let workload = Arc::clone(&workload);
        evidence.trials.push(TrialEvidence { workload, series, ..trial(order, arm, 1) });
    }
    evidence
}

/// Evidence for each kind of work with a figure of its seconds, by name of the figure.
pub(super) fn of_kinds() -> impl Iterator<Item = (String, Evidence)> {
    own_figures().map(|figure| (figure.about.name.to_owned(), of_phases(figure)))
}

/// Expected figures by file name: the first of a kind is named like its figure.
pub(super) fn pictures() -> impl Iterator<Item = (String, Figure)> {
    own_figures().flat_map(|figure| {
        let name = figure.about.name;
        let evidence = of_phases(figure);
        let drawn = all(&evidence);
        let workload = evidence.findings.measurements[0].workload.as_str();
        let of_each = figure.figures.iter().enumerate().map(|(at, own)| {
            let file = if at == 0 { name.to_owned() } else { format!("{name}-{}", own.name) };
            let id = id_of(&[name, own.name, workload]);
            let found = drawn.iter().find(|figure| figure.id == id);
            (file, found.unwrap_or_else(|| panic!("nothing drew {id}")).clone())
        });
        of_each.collect::<Vec<_>>()
    })
}

fn told(evidence: &Evidence) -> Vec<String> {
    let points = MADE_UP.draw(evidence).into_iter().flat_map(|figure| {
        let all = figure.series.into_iter().flat_map(|one| one.points);
        all.map(|point| point.text).collect::<Vec<_>>()
    });
    points.collect()
}

/// Trials with one unnamed setting.
#[test]
fn what_is_told_of_a_second_begins_with_the_setting_or_with_the_phase() {
    let both = told(&of_phases(&MADE_UP));
    assert!(both.iter().any(|text| text.starts_with("mq-deadline, walk, second 0")), "{both:?}");
    let mut alone = of_phases(&MADE_UP);
    alone
        .findings
        .measurements
        .retain(|cell| cell.configuration.values().any(|level| level == "mq-deadline"));
    alone.findings.comparisons.clear();
    let alone = told(&alone);
    assert!(alone.iter().any(|text| text.starts_with("walk, second 0")), "{alone:?}");
    assert!(!alone.iter().any(|text| text.starts_with([',', ' '])), "{alone:?}");
}

#[test]
fn each_figure_has_the_phases_that_it_names_and_their_ramps() {
    let figures = MADE_UP.draw(&of_phases(&MADE_UP));
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["paces-step-random-write", "paces-load-random-write"]);
    let phases = |figure: &Figure| -> Vec<String> {
        let own = figure.spans.iter().filter(|span| span.kind == SpanKind::Alternate);
        own.map(|span| span.label.clone()).collect()
    };
    assert_eq!(figures.iter().map(phases).collect::<Vec<_>>(), [vec!["walk", "run"], vec!["run"]]);
    let ramps = |figure: &Figure| {
        figure.spans.iter().filter(|span| span.kind != SpanKind::Alternate).count()
    };
    assert_eq!(figures.iter().map(ramps).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn work_without_such_seconds_is_not_drawn() {
    let mut evidence = of_phases(&MADE_UP);
    let own =
        evidence.findings.measurements.iter_mut().filter(|cell| cell.metric == MADE_UP.known_by);
    own.for_each(|cell| "iops".clone_into(&mut cell.metric));
    assert!(MADE_UP.draw(&evidence).is_empty());
}
