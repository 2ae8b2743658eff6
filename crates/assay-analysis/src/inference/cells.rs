//! Cells: the center and spread of one series, over the same trials as its comparison.

use std::collections::HashMap;

use assay_core::quantity::Scale;
use assay_core::stats::{Sample, geometric_mean, median};
use assay_study::findings::measurements::Series;
use assay_study::findings::{Measurement, TrialValue, is_wide};
use assay_study::results::design::{ALPHA, Design};
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;

/// Below this number of trials, every statement on a cell is provisional (R4).
const SETTLED: usize = 6;
/// With this many undisturbed trials the disturbed ones are left out: an interval needs as many.
const ENOUGH: usize = 3;

pub(super) fn cells(design: &Design, series: Vec<Series>) -> Vec<Measurement> {
    let baselines = baselines(design, &series);
    let cells = series.into_iter().enumerate();
    cells.map(|(at, series)| measurement(series, baselines.get(&at).map(Vec::as_slice))).collect()
}

/// The number of a row from its trials of a ratio metric; `baseline` are the trials of its baseline.
pub(super) fn number(own: &[TrialValue], baseline: Option<&[TrialValue]>) -> Option<f64> {
    let beside = baseline.filter(|other| is_repeated(own) && is_repeated(other));
    let values: Vec<f64> =
        summed_up(own, beside).into_iter().filter_map(|trial| trial.value).collect();
    geometric_mean(&values).map(|centre| centre.mean).or_else(|| median(&values))
}

fn is_repeated(trials: &[TrialValue]) -> bool {
    trials.iter().any(|trial| trial.repeats.is_some())
}

/// Baseline trials of each series with a repeated trial, by index of the series.
fn baselines(design: &Design, series: &[Series]) -> HashMap<usize, Vec<TrialValue>> {
    let repeated = |own: &&Series| is_repeated(&own.trials);
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

pub(super) fn cell(series: Series) -> Measurement {
    measurement(series, None)
}

fn measurement(series: Series, baseline: Option<&[TrialValue]>) -> Measurement {
    let counted = summed_up(&series.trials, baseline);
    let values: Vec<f64> = counted.iter().filter_map(|trial| trial.value).collect();
    let values = values.as_slice();
    let counted = places(&series.trials, &counted);
    let (geometric, mean) = match series.scale {
        Scale::Ratio => (geometric_mean(values), None),
        Scale::Difference => (None, Sample::of(values)),
    };
    let of_geometric = || geometric.and_then(|centre| centre.ci95);
    let ci95 = mean.map_or_else(of_geometric, |sample| sample.interval(ALPHA));
    let ci95 = ci95.filter(|ends| ends.iter().all(|end| end.is_finite()));
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Measurement {
        workload: series.workload,
        configuration: series.arm,
        metric: series.metric,
        better: series.better,
        trials: series.trials,
        counted,
        n: values.len(),
        geometric_mean: geometric.map(|centre| centre.mean),
        mean: mean.map(|sample| sample.mean),
        min: extreme(f64::min),
        median: median(values),
        max: extreme(f64::max),
        ci95,
        wide: is_wide(ci95),
        provisional: values.len() < SETTLED,
        control: series.control,
        primary: series.primary,
        scale: series.scale,
        trust: series.trust,
        reasons: series.because,
    }
}

/// Indices of the counted trials; `None` if they are the undisturbed ones.
fn places(trials: &[TrialValue], counted: &[&TrialValue]) -> Option<Vec<usize>> {
    let told = trials.iter().filter(|trial| trial.counts_by_itself());
    (!told.eq(counted.iter().copied())).then(|| positions(trials, counted))
}

fn positions(trials: &[TrialValue], some: &[&TrialValue]) -> Vec<usize> {
    let places = trials.iter().enumerate().map(|(at, trial)| (std::ptr::from_ref(trial), at));
    let places: HashMap<*const TrialValue, usize> = places.collect();
    some.iter().filter_map(|own| places.get(&std::ptr::from_ref(*own)).copied()).collect()
}

pub(super) fn counting(trials: &[TrialValue]) -> Vec<usize> {
    positions(trials, &summed_up(trials, None))
}

pub(super) fn summarised(trials: &[TrialValue]) -> Vec<f64> {
    summed_up(trials, None).into_iter().filter_map(|trial| trial.value).collect()
}

/// The trials behind a cell: one per replicate, if enough replicates have an undisturbed one.
fn summed_up<'t>(trials: &'t [TrialValue], baseline: Option<&[TrialValue]>) -> Vec<&'t TrialValue> {
    let first = || trials.iter().filter(|trial| trial.repeats.is_none());
    let valued = |trial: &&TrialValue| trial.value.is_some();
    let paired = |trial| paired(trials, trial, baseline?).filter(valued);
    let standing: Vec<&TrialValue> = first()
        .filter_map(|trial| paired(trial).or_else(|| standing(trials, trial).filter(valued)))
        .collect();
    if standing.len() >= ENOUGH {
        return standing;
    }
    let counts = |trial: &&TrialValue| trial.status.counts();
    first().filter(counts).filter(valued).collect()
}

/// The trial that pairs with the baseline's: the first run, or the repeat in which both are undisturbed.
fn paired<'t>(
    trials: &'t [TrialValue],
    first: &'t TrialValue,
    baseline: &[TrialValue],
) -> Option<&'t TrialValue> {
    if !first.status.counts() {
        return None;
    }
    let replicate = first.replicate;
    let of_baseline = |round: u32, repeats: bool| {
        let own = baseline.iter().find(|trial| {
            trial.replicate == round
                && trial.status != Status::Warmup
                && trial.repeats.map(|of| of.replicate) == repeats.then_some(replicate)
        });
        own.is_some_and(|trial| trial.status == Status::Ok && trial.value.is_some())
    };
    if first.status == Status::Ok && of_baseline(replicate, false) {
        return Some(first);
    }
    rounds(trials, first).find(|round| of_baseline(round.replicate, true))
}

/// A trial, or its undisturbed repeat if it was disturbed.
fn standing<'t>(trials: &'t [TrialValue], first: &'t TrialValue) -> Option<&'t TrialValue> {
    match first.status {
        Status::Ok => Some(first),
        Status::Disturbed => rounds(trials, first).next(),
        Status::Failed | Status::Warmup => None,
    }
}

fn rounds<'t>(
    trials: &'t [TrialValue],
    first: &TrialValue,
) -> impl Iterator<Item = &'t TrialValue> {
    let replicate = first.replicate;
    trials.iter().filter(move |trial| {
        let repeats = trial.repeats.is_some_and(|of| of.replicate == replicate);
        repeats && trial.status == Status::Ok
    })
}
