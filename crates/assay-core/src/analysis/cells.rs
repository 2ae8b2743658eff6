//! Cells: one series with its centre and spread.

use assay_stats::{geometric_mean, median};

use crate::findings::measurements::Series;
use crate::findings::{Cell, CellTrial};
use crate::results::record::Status;

/// Trials below which every statement about a cell is provisional (R4).
const SETTLED: usize = 6;

/// Undisturbed trials from which the disturbed ones are left out: an interval needs as many.
const ENOUGH: usize = 3;

/// The cell of a series.
pub(super) fn cell(series: Series) -> Cell {
    let values = summarised(&series.trials);
    let centre = geometric_mean(&values);
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Cell {
        workload: series.workload,
        arm: series.arm,
        metric: series.metric,
        better: series.better,
        trials: series.trials,
        n: values.len(),
        geometric_mean: centre.map(|centre| centre.mean),
        min: extreme(f64::min),
        median: median(&values),
        max: extreme(f64::max),
        ci95: centre.and_then(|centre| centre.ci95).filter(|ends| ends[1].is_finite()),
        provisional: values.len() < SETTLED,
        control: series.control,
        primary: series.primary,
        scale: series.scale,
        trust: series.trust,
        because: series.because,
    }
}

/// Values that a cell sums up: the trial that stands for each replicate, as long as enough
/// replicates have an undisturbed one.
pub(super) fn summarised(trials: &[CellTrial]) -> Vec<f64> {
    let first = || trials.iter().filter(|trial| trial.repeats.is_none());
    let standing: Vec<f64> = first().filter_map(|trial| standing(trials, trial)).collect();
    if standing.len() >= ENOUGH {
        return standing;
    }
    let counts = |trial: &&CellTrial| matches!(trial.status, Status::Ok | Status::Disturbed);
    first().filter(counts).filter_map(|trial| trial.value).collect()
}

/// The value of a trial, or of its undisturbed repeat where something disturbed it: the same one
/// that comparisons use.
fn standing(trials: &[CellTrial], first: &CellTrial) -> Option<f64> {
    match first.status {
        Status::Ok => first.value,
        Status::Disturbed => {
            trials
                .iter()
                .filter(|trial| trial.status == Status::Ok)
                .find(|trial| trial.repeats.is_some_and(|of| of.replicate == first.replicate))?
                .value
        }
        Status::Failed | Status::LeadIn => None,
    }
}
