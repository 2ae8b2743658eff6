//! Rows of measured trials as series: one metric of one row, trial by trial.

use assay_core::quantity::metric::{Nature, Side};
use assay_core::quantity::{Better, Metric, Scale};
use assay_study::findings::{AbsentCell, TrialValue, measurements::Series};
use assay_study::results::design::Design;
use assay_study::results::record::{OUT_OF_TIME, Status};
use assay_workloads::OwnMetric;
use assay_workloads::metrics::{nature, of_work, side};

use super::rows::{MeasuredTrial, RowTrials};
use super::{hosts, metrics};

pub(super) struct RowMetric<'m> {
    name: &'m str,
    better: Better,
    nature: Nature,
    scale: Scale,
    side: Side,
}

impl<'m> RowMetric<'m> {
    pub fn known(metric: &'static Metric) -> Self {
        let Metric { name, better, nature, scale, .. } = *metric;
        Self { name, better, nature, scale, side: metric.side() }
    }

    fn from_own(own: &'m OwnMetric) -> Self {
        let OwnMetric { name, better, .. } = own;
        let (nature, side) = (nature(name), side(name));
        Self { name, better: *better, nature, scale: Scale::Ratio, side }
    }
}

/// A series per metric of a row, and the metrics without a number.
pub(super) fn row_series(design: &Design, row: &RowTrials<'_>) -> (Vec<Series>, Vec<AbsentCell>) {
    let (mut series, mut absent) = (Vec::new(), Vec::new());
    absent.extend(unmeasured_row(row));
    if row.trials.is_empty() {
        return (series, absent);
    }
    let reported = row.own_metrics().into_iter().map(RowMetric::from_own);
    let known = of_work().filter(|metric| metrics::applies(metric.name, row));
    for metric in reported.chain(known.map(RowMetric::known)) {
        match series_of(design, row, &metric) {
            Ok(one) => series.push(one),
            Err(reason) => absent.push(row.absent(Some(metric.name), reason)),
        }
    }
    (series, absent)
}

/// Why a row has no number at all; `None` if a trial counts.
fn unmeasured_row(row: &RowTrials<'_>) -> Option<AbsentCell> {
    if row.trust.is_some() {
        return None;
    }
    let failed = row.trials.iter().find(|trial| trial.record.status == Status::Failed);
    let reason = match failed.map(|trial| trial.record.reason.as_deref()) {
        Some(Some(OUT_OF_TIME)) => OUT_OF_TIME.to_owned(),
        Some(Some(reason)) => format!("every trial failed: {reason}"),
        Some(None) => "every trial failed".to_owned(),
        None if row.trials.is_empty() => "no trial ran".to_owned(),
        None => "only the warm-up ran".to_owned(),
    };
    Some(row.absent(None, reason))
}

/// The value of a metric in each trial of a row; `Err` has the reason why the row has no number of it.
pub(super) fn series_of(
    design: &Design,
    row: &RowTrials<'_>,
    metric: &RowMetric<'_>,
) -> Result<Series, String> {
    if let Some(reason) = metrics::why_no_percentile(metric.name, row) {
        return Err(reason);
    }
    let mut trials = Vec::with_capacity(row.trials.len());
    let (mut cut_short, mut has_value) = (None, false);
    let failed = |trial: &MeasuredTrial<'_>, why: &str| {
        let (status, reason) = (Status::Failed, Some(why.to_owned()));
        TrialValue { status, reason, ..cell_trial(trial, None) }
    };
    for trial in &row.trials {
        let value = metrics::value(metric.name, row, trial);
        if !trial.counts() {
            trials.push(cell_trial(trial, value.ok()));
            continue;
        }
        if row.broken.contains(&trial.record.replicate) {
            trials.push(failed(trial, hosts::BROKEN));
            continue;
        }
        match value {
            Ok(value) => {
                has_value = true;
                trials.push(cell_trial(trial, Some(value)));
            }
            // A trial that was cut short has no number; any other failure leaves the row without one.
            Err(reason) => {
                let measured = trial.record.measured.as_ref();
                let why =
                    measured.and_then(|measured| measured.detail.cut_short()).ok_or(reason)?;
                trials.push(failed(trial, &why));
                cut_short = Some(why);
            }
        }
    }
    if let Some(why) = cut_short.filter(|_| !has_value) {
        return Err(why);
    }
    let primary_metric = design.primary.as_deref().unwrap_or_else(|| default_primary(design, row));
    let (trust, mut because) = row.judged(metric.nature, metric.side);
    let primary = metric.name == primary_metric;
    because.extend(row.as_given(metric.nature).filter(|_| primary));
    Ok(Series {
        control: row.workload.control,
        scale: metric.scale,
        primary,
        trials,
        trust,
        because,
        ..Series::bare(&row.workload.name, row.arm.clone(), metric.name, metric.better)
    })
}

pub(super) fn cell_trial(trial: &MeasuredTrial<'_>, value: Option<f64>) -> TrialValue {
    let record = trial.record;
    let value = value.filter(|_| record.status != Status::Failed);
    TrialValue {
        reason: record.reason.clone(),
        repeats: record.repeats,
        ..TrialValue::bare(record.replicate, Some(record.order), value, record.status)
    }
}

/// The default primary metric of a row: the first that its programs report, else the default of its kind.
pub(super) fn default_primary<'r>(design: &Design, row: &'r RowTrials<'_>) -> &'r str {
    let varies = |name: &str| design.factors.iter().any(|factor| factor.name == name);
    match row.own_metrics().first() {
        Some(metric) => metric.name.as_str(),
        None => row.workload.work.primary(&varies),
    }
}
