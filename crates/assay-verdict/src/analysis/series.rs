//! Rows of measured trials as series: one metric of one row, trial by trial.

use assay_base::quantity::Metric;
use assay_kinds::work;
use assay_study::findings::measurements::Series;
use assay_study::findings::{AbsentCell, CellTrial};
use assay_study::results::design::Design;
use assay_study::results::record::Status;

use super::metrics;
use super::rows::{Measured, Row};

/// All series of a row, and all its numbers that are not there.
pub(super) fn series(design: &Design, row: &Row<'_>) -> (Vec<Series>, Vec<AbsentCell>) {
    let (mut series, mut absent) = (Vec::new(), Vec::new());
    absent.extend(nothing_measured(row));
    if row.trials.is_empty() {
        return (series, absent);
    }
    for metric in work::metrics::of_work().filter(|metric| metrics::applies(metric.name, row)) {
        match one(design, row, metric) {
            Ok(one) => series.push(one),
            Err(reason) => absent.push(AbsentCell {
                workload: row.workload.name.clone(),
                arm: row.arm.clone(),
                metric: Some(metric.name.to_owned()),
                reason,
                obstacle: None,
            }),
        }
    }
    (series, absent)
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
        None => "only its warm-up was run".to_owned(),
    };
    Some(AbsentCell {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        metric: None,
        reason,
        obstacle: None,
    })
}

fn one(design: &Design, row: &Row<'_>, metric: &Metric) -> Result<Series, String> {
    if let Some(reason) = metrics::unsupported(metric.name, row) {
        return Err(reason);
    }
    let mut trials = Vec::with_capacity(row.trials.len());
    let (mut cut, mut has_value) = (None, false);
    for trial in &row.trials {
        let value = metrics::value(metric.name, row, trial);
        let why = trial.record.measured.as_ref().and_then(|own| own.detail.cut_short());
        match (&value, why) {
            // It is told of this trial, and counts as one that gave no number.
            (Err(_), Some(why)) if trial.counts() => {
                let (status, reason) = (Status::Failed, Some(why.clone()));
                trials.push(CellTrial { status, reason, ..cell_trial(trial, None) });
                cut = Some(why);
                continue;
            }
            (Err(reason), _) if trial.counts() => return Err(reason.clone()),
            (Ok(_), _) => has_value |= trial.counts(),
            _ => {}
        }
        trials.push(cell_trial(trial, value.ok()));
    }
    if let Some(why) = cut.filter(|_| !has_value) {
        return Err(why);
    }
    let wanted = design.primary.as_deref().unwrap_or_else(|| primary(design, row));
    let (trust, because) = row.judged(metric);
    Ok(Series {
        control: row.workload.control,
        primary: metric.name == wanted,
        trials,
        trust,
        because,
        ..Series::bare(&row.workload.name, row.arm.clone(), metric.name, metric.better)
    })
}

pub(super) fn cell_trial(trial: &Measured<'_>, value: Option<f64>) -> CellTrial {
    let record = trial.record;
    let value = value.filter(|_| record.status != Status::Failed);
    CellTrial {
        reason: record.reason.clone(),
        repeats: record.repeats,
        ..CellTrial::bare(record.replicate, Some(record.order), value, record.status)
    }
}

/// The metric by which a row is compared where the study does not say.
pub(super) fn primary(design: &Design, row: &Row<'_>) -> &'static str {
    let varies = |name: &str| design.factors.iter().any(|factor| factor.name == name);
    row.workload.work.primary(&varies)
}
