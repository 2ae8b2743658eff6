//! Round trips over time while a link is idle and while it is loaded, a line for each arm.

use std::collections::BTreeMap;

use super::parts::{with_marks, with_ramp};
use super::words::{Names, Subject, joined, notable, point, primary, short, subjects};
use super::{Drawing, at_most};
use crate::evidence::{Evidence, RanTrial};
use crate::figure::{Axis, Figure, Marks, Point, Scale, Series, Span, SpanKind, Unit, id_of};
use assay_base::catalogue::About;
use assay_kinds::work::network;
use assay_study::findings::Findings;
use assay_system::system::network::Load;

/// The registry's entry.
pub static LINKS: Drawing = Drawing {
    about: About {
        name: "links",
        summary: "round trips over time while a link is idle, loaded up, down and both ways",
        text: "A line for each setting, of its first whole trial: the mean round trip of each second. Shaded \
               stretches are the phases, and in each the ramp, which is not counted. Below it the data that \
               the streams moved in each second.",
    },
    draw,
};

const MOST_ARMS: usize = 5;
const MOST_FIGURES: usize = 4;
/// Seconds between two phases, where the queue empties.
const BETWEEN: f64 = 1.0;

/// Whether a workload is a link: its seconds are of phases, not of operations.
pub(super) fn is_link(findings: &Findings, workload: &str) -> bool {
    let added = network::ADDED.name;
    findings.cells.iter().any(|cell| cell.workload == workload && cell.metric == added)
}

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let names = Names::of(findings);
    let own = subjects(findings).into_iter().filter(|subject| is_link(findings, subject.name));
    let both = own.flat_map(|subject| {
        let lines = lines(evidence, subject);
        [figure(&names, subject, &lines, true), figure(&names, subject, &lines, false)]
    });
    at_most(both.flatten().collect(), MOST_FIGURES, "figure")
}

/// The first whole trial of each arm that is drawn.
fn lines<'e>(evidence: &'e Evidence, subject: Subject<'_>) -> Vec<&'e RanTrial> {
    let mut arms = notable(&evidence.findings, subject, MOST_ARMS - 2);
    // Beside the best and the worst the last ones: of rates that rise these show where it turns.
    let own = primary(&evidence.findings, subject);
    for cell in own.iter().rev().filter(|cell| !cell.control) {
        if arms.len() < MOST_ARMS && !arms.contains(&cell.arm) {
            arms.push(cell.arm.clone());
        }
    }
    arms.sort_by_key(|arm| own.iter().position(|cell| cell.arm == *arm));
    let first = arms.iter().filter_map(|arm| {
        let cell = own.iter().find(|cell| cell.arm == *arm)?;
        evidence.counting(cell).find(|trial| !trial.series.is_empty())
    });
    first.collect()
}

/// What a phase of a trial has in each of its seconds: round trips and their sum, and bytes.
fn seconds(trial: &RanTrial, load: Load) -> Vec<(u64, u64, u64)> {
    let own = trial.series.iter().filter(|row| row.class == load.name());
    let rows: BTreeMap<u32, (u64, u64, u64)> =
        own.map(|row| (row.second, (row.operations, row.latency_sum_ns, row.bytes))).collect();
    let first = rows.keys().next().copied().unwrap_or(0);
    let last = rows.keys().last().copied().unwrap_or(0);
    // The last second of a phase is never whole.
    (first..last).map(|second| rows.get(&second).copied().unwrap_or_default()).collect()
}

fn figure(
    names: &Names,
    subject: Subject<'_>,
    trials: &[&RanTrial],
    latency: bool,
) -> Option<Figure> {
    let metric = if latency { "latency_mean_ns" } else { "up_bits_per_s" };
    let unit = Unit::metric(metric);
    let (mut spans, mut lines) = (Vec::new(), vec![Vec::<Point>::new(); trials.len()]);
    let mut begin = 0.0;
    for load in Load::ALL {
        let phases: Vec<_> = trials.iter().map(|trial| seconds(trial, load)).collect();
        let wide = phases.iter().map(Vec::len).max().unwrap_or(0);
        if wide == 0 || (!latency && load == Load::Idle) {
            continue;
        }
        for ((line, phase), trial) in lines.iter_mut().zip(&phases).zip(trials) {
            for (at, (trips, sum_ns, bytes)) in phase.iter().enumerate() {
                let value =
                    if latency { *sum_ns as f64 / *trips as f64 } else { 8.0 * *bytes as f64 };
                if !value.is_finite() || value <= 0.0 {
                    continue;
                }
                let arm = names.arm(&trial.arm);
                let name = joined(&[&arm, load.name(), &format!("second {at}")]);
                let told = point(begin + at as f64, &unit, &name, value, None);
                line.push(Point { joined: at > 0 && !line.is_empty(), ..told });
            }
        }
        let end = begin + wide as f64;
        let (kind, label) = (SpanKind::Alternate, load.name().to_owned());
        let text = format!("phase {label}");
        let phase = Span { from: begin, to: end, kind, text: text.clone(), label };
        spans.extend(with_ramp(phase, &text, (network::ramp_ns(load) as f64 / 1e9).floor()));
        begin = end + BETWEEN;
    }
    let names = trials.iter().map(|trial| names.arm(&trial.arm));
    let series = with_marks(Series::each(names.zip(lines), Marks::Line))?;
    let (what, title, value) = if latency {
        ("latency", "round trips over time", Axis::new("mean round trip", Scale::Log10, unit))
    } else {
        let axis = Axis::new("data moved", Scale::Linear, unit).from_zero();
        ("rate", "data that the streams moved over time", axis)
    };
    let along = Axis::new("seconds of the phases", Scale::Time, Unit::Seconds);
    Some(Figure {
        id: id_of(&["links", what, subject.name]),
        title: format!("{}: {title}", short(subject.name)),
        description:
            "A line for each setting, of its first whole trial, a point a second. Stretches are the \
             phases; the ramp at the beginning of each is not counted."
                .to_owned(),
        spans,
        workload: Some(subject.name.to_owned()),
        ..Figure::upright(along, value, series)
    })
}
