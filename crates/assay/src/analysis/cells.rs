//! Cells: one metric of one row, with its trials, centre and spread.

use assay_stats::{geometric_mean, median};

use super::metrics;
use super::rows::{Measured, Row};
use crate::quantity::{METRICS, Metric};
use crate::results::findings::{AbsentCell, Cell, CellTrial};
use crate::results::record::Status;

/// Trials below which every statement about a cell is provisional (R4).
const SETTLED: usize = 6;

/// All numbers, and all that are not there.
pub(super) fn cells(rows: &[Row<'_>]) -> (Vec<Cell>, Vec<AbsentCell>) {
    let (mut cells, mut absent) = (Vec::new(), Vec::new());
    for row in rows {
        absent.extend(nothing_measured(row));
        if row.trials.is_empty() {
            continue;
        }
        for metric in METRICS.iter().filter(|metric| metrics::applies(metric.name, row)) {
            match cell(row, metric) {
                Ok(cell) => cells.push(cell),
                Err(reason) => absent.push(AbsentCell {
                    workload: row.workload.name.clone(),
                    arm: row.arm.clone(),
                    metric: Some(metric.name.to_owned()),
                    reason,
                }),
            }
        }
    }
    (cells, absent)
}

/// Why a planned row has no number at all.
fn nothing_measured(row: &Row<'_>) -> Option<AbsentCell> {
    if row.trust.is_some() {
        return None;
    }
    let failed = row.trials.iter().find(|trial| trial.record.status == Status::Failed);
    let reason = match failed.map(|trial| trial.record.reason.as_deref()) {
        Some(Some(reason)) => format!("every trial failed: {reason}"),
        Some(None) => "every trial failed".to_owned(),
        None if row.trials.is_empty() => "no trial of it was run".to_owned(),
        None => "only its lead-in was run".to_owned(),
    };
    Some(AbsentCell {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        metric: None,
        reason,
    })
}

fn cell(row: &Row<'_>, metric: &Metric) -> Result<Cell, String> {
    if let Some(reason) = metrics::unsupported(metric.name, row) {
        return Err(reason);
    }
    let mut values = Vec::new();
    let mut trials = Vec::new();
    for trial in &row.trials {
        let value = metrics::value(metric.name, row, trial);
        if trial.counts() {
            values.push(value.clone()?);
        }
        trials.push(cell_trial(trial, value.ok()));
    }
    let centre = geometric_mean(&values);
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Ok(Cell {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        metric: metric.name.to_owned(),
        better: metric.better,
        trials,
        n: values.len(),
        geometric_mean: centre.map(|centre| centre.mean),
        min: extreme(f64::min),
        median: median(&values),
        max: extreme(f64::max),
        ci95: centre.and_then(|centre| centre.ci95).filter(|ends| ends[1].is_finite()),
        provisional: values.len() < SETTLED,
        control: false,
        trust: row.trust,
        because: row.remarks.iter().map(|(rule, remark)| remark.because(rule)).collect(),
    })
}

fn cell_trial(trial: &Measured<'_>, value: Option<f64>) -> CellTrial {
    CellTrial {
        replicate: trial.record.replicate,
        order: Some(trial.record.order),
        value: value.filter(|_| trial.record.status != Status::Failed),
        status: trial.record.status,
        reason: trial.record.reason.clone(),
        repeats: trial.record.repeats,
        outlier: false,
    }
}
