//! Cells: one series with its centre and spread.

use assay_stats::{geometric_mean, median};

use crate::results::findings::{Cell, CellTrial};
use crate::results::measurements::Series;
use crate::results::record::Status;

/// Trials below which every statement about a cell is provisional (R4).
const SETTLED: usize = 6;

/// Undisturbed trials from which the disturbed ones are left out: an interval needs as many.
const ENOUGH: usize = 3;

/// The cell of a series.
pub(super) fn cell(series: &Series) -> Cell {
    let values = summarised(&series.trials);
    let centre = geometric_mean(&values);
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Cell {
        workload: series.workload.clone(),
        arm: series.arm.clone(),
        metric: series.metric.clone(),
        better: series.better,
        trials: series.trials.clone(),
        n: values.len(),
        geometric_mean: centre.map(|centre| centre.mean),
        min: extreme(f64::min),
        median: median(&values),
        max: extreme(f64::max),
        ci95: centre.and_then(|centre| centre.ci95).filter(|ends| ends[1].is_finite()),
        provisional: values.len() < SETTLED,
        control: series.control,
        primary: series.primary,
        trust: series.trust,
        because: series.because.clone(),
    }
}

/// Values that a cell sums up: of undisturbed trials, as long as there are enough of them.
fn summarised(trials: &[CellTrial]) -> Vec<f64> {
    let of = |statuses: &[Status]| -> Vec<f64> {
        let counts = |trial: &&CellTrial| statuses.contains(&trial.status);
        trials.iter().filter(counts).filter_map(|trial| trial.value).collect()
    };
    let undisturbed = of(&[Status::Ok]);
    if undisturbed.len() >= ENOUGH { undisturbed } else { of(&[Status::Ok, Status::Disturbed]) }
}
