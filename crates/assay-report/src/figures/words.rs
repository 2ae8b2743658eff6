//! Names of arms and sentences of marks, common to all figures.

use std::collections::BTreeSet;

use crate::document::numbers::unit_of;
use crate::document::{comparison_of, result};
use assay_core::quantity::{Better, Scale};
use assay_core::{exhibit::figure::Point, exhibit::parts::distinct, quantity::units::show};
use assay_study::findings::{Comparison, Findings, Measurement, shown::mark_trust};
use assay_study::results::plan::Arm;

/// The point of a cell's mean, over the pairs if compared, with its interval and trust; `None` if not measured.
pub(super) fn point(findings: &Findings, at: f64, name: &str, cell: &Measurement) -> Option<Point> {
    let unit = unit_of(&cell.metric);
    let compared = comparison_of(findings, cell);
    let value = result(cell, compared).filter(|value| value.is_finite())?;
    let new_point = |interval| mark_trust(Point::new(at, unit, name, value, interval), cell.trust);
    // Whether the mean of the compared trials differs from that of all trials, or may differ.
    let has_other_mean = |found: &&Comparison| {
        found.compared_means.is_some() || found.means.is_some() && found.n < cell.n
    };
    if let Some(pairs) = compared.filter(has_other_mean) {
        // The cell's interval belongs to the mean over all trials, which differs.
        return Some(new_point(None).remarked(&format!("from the {} compared trials", pairs.n)));
    }
    let point = new_point(cell.ci95);
    if cell.ci95.is_some() {
        return Some(point);
    }
    Some(match cell.n {
        0..3 => point.remarked(&format!("no CI: {} of at least 3 trials", cell.n)),
        _ => point.remarked("no CI: a trial has no value above zero"),
    })
}

/// The statistic of a metric: the mean for metrics compared by difference, which may be 0.
pub(super) fn mean_of(findings: &Findings, metric: &str) -> &'static str {
    let by_difference = |it: &Measurement| it.metric == metric && it.scale == Scale::Difference;
    if findings.measurements.iter().any(by_difference) { "mean" } else { "geometric mean" }
}

/// At most `most` arms: the baseline, those with the largest and the smallest value, then others; in study order.
pub(super) fn notable(findings: &Findings, subject: Subject<'_>, most: usize) -> Vec<Arm> {
    let cells: Vec<&Measurement> = primary(findings, subject);
    let mut by_priority: Vec<&Arm> = Vec::new();
    by_priority.extend(comparisons_of(findings, subject.name).map(|it| &it.baseline).take(1));
    let mut by_value: Vec<_> = cells.iter().filter(|cell| cell.value().is_some()).collect();
    by_value.sort_by(|left, right| {
        right.value().partial_cmp(&left.value()).unwrap_or(std::cmp::Ordering::Equal)
    });
    by_priority.extend(by_value.first().map(|cell| &cell.configuration));
    by_priority.extend(by_value.last().map(|cell| &cell.configuration));
    by_priority.extend(cells.iter().map(|cell| &cell.configuration));
    let mut arms = distinct(by_priority);
    arms.retain(|arm| cells.iter().any(|cell| cell.configuration == **arm));
    arms.truncate(most);
    // In the order of the study: colors must not depend on results.
    arms.sort_by_key(|arm| cells.iter().position(|cell| cell.configuration == **arm));
    arms.into_iter().cloned().collect()
}

/// A workload with the metric that its figures show.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub name: &'a str,
    pub metric: &'a str,
    pub better: Better,
}

pub(super) fn subjects(findings: &Findings) -> Vec<Subject<'_>> {
    let mut known = BTreeSet::new();
    let first_cells =
        findings.measurements.iter().filter(|cell| known.insert(cell.workload.as_str()));
    first_cells.map(|cell| subject_of(findings, cell)).collect()
}

/// The workload of its first cell, with the metric of its comparisons, else with its primary metric.
fn subject_of<'a>(findings: &'a Findings, first: &'a Measurement) -> Subject<'a> {
    if let Some(found) = comparisons_of(findings, &first.workload).next() {
        return Subject { name: &first.workload, metric: &found.metric, better: found.better };
    }
    let mut cells = findings.measurements.iter().filter(|cell| cell.workload == first.workload);
    let cell = cells.find(|cell| cell.primary).unwrap_or(first);
    Subject { name: &first.workload, metric: &cell.metric, better: cell.better }
}

/// The comparisons of a workload on its primary metric.
pub(super) fn comparisons_of<'a>(
    findings: &'a Findings,
    workload: &str,
) -> impl Iterator<Item = &'a Comparison> {
    findings.comparisons.iter().filter(move |it| it.primary && it.workload == workload)
}

/// Cells of a workload on its primary metric, without the A/A control.
pub(super) fn primary<'a>(findings: &'a Findings, subject: Subject<'_>) -> Vec<&'a Measurement> {
    let is_its = |cell: &&Measurement| {
        !cell.control && cell.workload == subject.name && cell.metric == subject.metric
    };
    findings.measurements.iter().filter(is_its).collect()
}

pub(super) fn margin_guide(margin: f64) -> ([f64; 2], String) {
    ([1.0 / (1.0 + margin), 1.0 + margin], format!("margin {}", show::share(margin)))
}
