//! Seconds of trials with phases, one line per setting, as a kind of work defines it.

use std::collections::BTreeMap;

use super::FigureSource;
use super::words::{Subject, notable, primary, subjects};
use crate::document::numbers::unit_of;
use crate::evidence::{Evidence, TrialEvidence};
use assay_core::exhibit::figure::{
    Axis, AxisScale, AxisSpan, Figure, Mark, Point, Series, SpanKind, joined, with_marks,
};
use assay_core::exhibit::parts::{at_most, with_ramp};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::{findings::Findings, findings::shown::Names, results::series::SeriesRow};
use assay_workloads::tell::{OwnFigure, PhaseFigure};

const MOST_ARMS: usize = 5;
const MOST_FIGURES: usize = 4;
/// Seconds between two phases, without counts.
const BETWEEN: f64 = 1.0;

impl FigureSource for OwnFigure {
    fn about(&self) -> About {
        self.about
    }

    fn draw(&self, evidence: &Evidence) -> Vec<Figure> {
        let findings = &evidence.findings;
        let names = Names::from_findings(findings);
        let mut figures = Vec::new();
        for subject in subjects(findings) {
            if applies_to(self, findings, subject.name) {
                let trials = drawn_trials(evidence, subject);
                for kind in self.figures {
                    figures.extend(figure(self, kind, &names, subject, &trials));
                }
            }
        }
        at_most(figures, MOST_FIGURES, "figure")
    }
}

fn applies_to(figure: &OwnFigure, findings: &Findings, workload: &str) -> bool {
    let mut cells = findings.measurements.iter().filter(|cell| cell.workload == workload);
    cells.any(|cell| cell.metric == figure.known_by)
}

/// Whether the seconds of a workload belong to phases, rather than operations.
pub(super) fn has_phases(findings: &Findings, workload: &str) -> bool {
    assay_workloads::own_figures().any(|figure| applies_to(figure, findings, workload))
}

/// The first whole trial of each drawn arm.
fn drawn_trials<'e>(evidence: &'e Evidence, subject: Subject<'_>) -> Vec<&'e TrialEvidence> {
    let mut arms = notable(&evidence.findings, subject, MOST_ARMS - 2);
    // Besides the most notable ones, the last ones: with ascending rates, they show where the system saturates.
    let cells = primary(&evidence.findings, subject);
    for cell in cells.iter().rev().filter(|cell| !cell.control) {
        if arms.len() < MOST_ARMS && !arms.contains(&cell.configuration) {
            arms.push(cell.configuration.clone());
        }
    }
    arms.sort_by_key(|arm| cells.iter().position(|cell| cell.configuration == *arm));
    let trials = arms.iter().filter_map(|arm| {
        let cell = cells.iter().find(|cell| cell.configuration == *arm)?;
        evidence.counting(cell).find(|trial| !trial.series.is_empty())
    });
    trials.collect()
}

/// The rows of a phase of a trial, one per second from the first on; `None` for seconds without a row.
fn seconds<'t>(trial: &'t TrialEvidence, phase: &str) -> Vec<Option<&'t SeriesRow>> {
    let rows = trial.series.iter().filter(|row| row.class == phase);
    let rows: BTreeMap<u32, &SeriesRow> = rows.map(|row| (row.second, row)).collect();
    let first = rows.keys().next().copied().unwrap_or(0);
    let last = rows.keys().last().copied().unwrap_or(0);
    // The last second of a phase is always partial.
    (first..last).map(|second| rows.get(&second).copied()).collect()
}

/// Bits per second, or mean latency in nanoseconds; `None` without operations.
fn value(unit: Unit, row: &SeriesRow) -> Option<f64> {
    let value = match unit {
        Unit::BitsPerS => 8.0 * row.bytes as f64,
        _ => row.latency_sum_ns as f64 / row.operations as f64,
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

/// A figure with a line per trial, whose phases are drawn one after another; `None` without points.
fn figure(
    own: &OwnFigure,
    drawn: &PhaseFigure,
    names: &Names,
    subject: Subject<'_>,
    trials: &[&TrialEvidence],
) -> Option<Figure> {
    let unit = unit_of(drawn.metric);
    let (mut spans, mut lines) = (Vec::new(), vec![Vec::<Point>::new(); trials.len()]);
    let mut begin = 0.0;
    for phase in drawn.phases {
        // All lines begin a phase at the same place, after the longest previous phase.
        let mut longest = 0;
        for (line, trial) in lines.iter_mut().zip(trials) {
            let rows = seconds(trial, phase.name);
            longest = longest.max(rows.len());
            for (at, row) in rows.iter().enumerate() {
                let Some(value) = row.and_then(|row| value(unit, row)) else { continue };
                let arm = names.arm(&trial.arm);
                let name = joined(&[&arm, phase.name, &format!("second {at}")]);
                let point = Point::new(begin + at as f64, unit, &name, value, None);
                line.push(Point { joined: at > 0 && !line.is_empty(), ..point });
            }
        }
        if longest == 0 {
            continue;
        }
        let end = begin + longest as f64;
        let (kind, label) = (SpanKind::Alternate, phase.name.to_owned());
        let text = format!("phase {label}");
        let whole = AxisSpan { from: begin, to: end, kind, text: text.clone(), label };
        spans.extend(with_ramp(whole, &text, phase.ramp_s as f64));
        begin = end + BETWEEN;
    }
    let names = trials.iter().map(|trial| names.arm(&trial.arm));
    let series = with_marks(Series::each(names.zip(lines), Mark::Line))?;
    let values = match unit {
        Unit::BitsPerS => Axis::new(drawn.values, AxisScale::Linear, unit).from_zero(),
        _ => Axis::new(drawn.values, AxisScale::Log10, unit),
    };
    let along = Axis::new(own.along, AxisScale::Time, Unit::Seconds);
    let kind = format!("{}-{}", own.about.name, drawn.name);
    let figure = Figure { spans, ..Figure::upright(along, values, series) };
    Some(figure.of_workload(&kind, subject.name, drawn.title, own.description))
}
