//! Cells: one series with its centre and spread, of the very trials that its comparison rests on.

use std::collections::HashMap;

use assay_stats::{Sample, geometric_mean, median};

use crate::findings::measurements::Series;
use crate::findings::{Cell, CellTrial};
use crate::quantity::Scale;
use crate::results::design::{ALPHA, Design};
use crate::results::plan::Arm;
use crate::results::record::Status;

/// Trials below which every statement about a cell is provisional (R4).
const SETTLED: usize = 6;

/// Undisturbed trials from which the disturbed ones are left out: an interval needs as many.
const ENOUGH: usize = 3;

/// The cells of all series, in their order.
pub(super) fn cells(design: &Design, series: Vec<Series>) -> Vec<Cell> {
    let baselines = baselines(design, &series);
    let cells = series.into_iter().enumerate().map(|(at, series)| {
        let beside = baselines.get(&at).map(Vec::as_slice);
        let values = summarised_beside(&series.trials, beside);
        of(series, &values)
    });
    cells.collect()
}

/// Trials of the baseline of each series in which something was repeated, by the series' place.
fn baselines(design: &Design, series: &[Series]) -> HashMap<usize, Vec<CellTrial>> {
    let repeated = |own: &&Series| own.trials.iter().any(|trial| trial.repeats.is_some());
    let key = |own: &Series, arm: Arm| (own.workload.clone(), own.metric.clone(), arm);
    let all: HashMap<_, &Series> = (series.iter().filter(repeated).filter(|own| !own.control))
        .map(|own| (key(own, own.arm.clone()), own))
        .collect();
    let of = |(at, own): (usize, &Series)| {
        if !repeated(&own) {
            return None;
        }
        let mut arm = own.arm.clone();
        arm.extend(design.baseline.iter().map(|(name, level)| (name.clone(), level.clone())));
        let is_other = own.control || arm != own.arm;
        let found = all.get(&key(own, arm)).filter(|_| is_other);
        Some((at, found?.trials.clone()))
    };
    series.iter().enumerate().filter_map(of).collect()
}

/// The cell of a series that is compared with nothing.
pub(super) fn cell(series: Series) -> Cell {
    let values = summarised(&series.trials);
    of(series, &values)
}

fn of(series: Series, values: &[f64]) -> Cell {
    let (geometric, mean) = match series.scale {
        Scale::Ratio => (geometric_mean(values), None),
        Scale::Difference => (None, Sample::of(values)),
    };
    let of_geometric = || geometric.and_then(|centre| centre.ci95);
    let ci95 = mean.map_or_else(of_geometric, |sample| sample.interval(ALPHA));
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Cell {
        workload: series.workload,
        arm: series.arm,
        metric: series.metric,
        better: series.better,
        trials: series.trials,
        n: values.len(),
        geometric_mean: geometric.map(|centre| centre.mean),
        mean: mean.map(|sample| sample.mean),
        min: extreme(f64::min),
        median: median(values),
        max: extreme(f64::max),
        ci95: ci95.filter(|ends| ends.iter().all(|end| end.is_finite())),
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
    summarised_beside(trials, None)
}

fn summarised_beside(trials: &[CellTrial], baseline: Option<&[CellTrial]>) -> Vec<f64> {
    let first = || trials.iter().filter(|trial| trial.repeats.is_none());
    let paired = |trial| paired(trials, trial, baseline?);
    let standing: Vec<f64> =
        first().filter_map(|trial| paired(trial).or_else(|| standing(trials, trial))).collect();
    if standing.len() >= ENOUGH {
        return standing;
    }
    let counts = |trial: &&CellTrial| matches!(trial.status, Status::Ok | Status::Disturbed);
    first().filter(counts).filter_map(|trial| trial.value).collect()
}

/// The value that comparisons pair with the baseline's: of the first run, or of the repeat in which
/// neither was disturbed.
fn paired(trials: &[CellTrial], first: &CellTrial, baseline: &[CellTrial]) -> Option<f64> {
    if !matches!(first.status, Status::Ok | Status::Disturbed) {
        return None;
    }
    let replicate = first.replicate;
    let of_baseline = |round: u32, repeats: bool| {
        let own = baseline.iter().find(|trial| {
            trial.replicate == round
                && trial.status != Status::LeadIn
                && trial.repeats.map(|of| of.replicate) == repeats.then_some(replicate)
        });
        own.is_some_and(|trial| trial.status == Status::Ok && trial.value.is_some())
    };
    if first.status == Status::Ok && of_baseline(replicate, false) {
        return first.value;
    }
    rounds(trials, first).find(|round| of_baseline(round.replicate, true))?.value
}

/// The value of a trial, or of its undisturbed repeat where something disturbed it.
fn standing(trials: &[CellTrial], first: &CellTrial) -> Option<f64> {
    match first.status {
        Status::Ok => first.value,
        Status::Disturbed => rounds(trials, first).next()?.value,
        Status::Failed | Status::LeadIn => None,
    }
}

/// The undisturbed repeats of a trial.
fn rounds<'t>(trials: &'t [CellTrial], first: &CellTrial) -> impl Iterator<Item = &'t CellTrial> {
    let replicate = first.replicate;
    trials.iter().filter(move |trial| {
        let repeats = trial.repeats.is_some_and(|of| of.replicate == replicate);
        repeats && trial.status == Status::Ok
    })
}
