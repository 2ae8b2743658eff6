//! Cells: the center and spread of one series, over the same trials as its comparison.

use std::{collections::HashMap, ptr};

use assay_core::quantity::Scale;
use assay_core::stats::{Sample, geometric_mean, median};
use assay_study::findings::{Measurement, TrialValue, is_wide, measurements::Series};
use assay_study::results::design::{ALPHA, Design};
use assay_study::results::{plan::Arm, record::Status};

/// Below this number of trials, every statement on a cell is provisional (R4).
const SETTLED: usize = 6;
/// With this many undisturbed trials the disturbed ones are left out: an interval needs as many.
const ENOUGH: usize = 3;

pub(super) fn cells(design: &Design, series: Vec<Series>) -> Vec<Measurement> {
    let baselines = baselines(design, &series);
    let cells = series.into_iter().enumerate();
    let baseline = |index| baselines.get(&index).map(Vec::as_slice);
    cells.map(|(index, series)| measurement(series, baseline(index))).collect()
}

/// The number of a row from its trials of a ratio metric; `baseline` are the trials of its baseline.
pub(super) fn row_value(trials: &[TrialValue], baseline: Option<&[TrialValue]>) -> Option<f64> {
    let baseline = baseline.filter(|baseline| is_repeated(trials) && is_repeated(baseline));
    let values: Vec<f64> =
        counted_trials(trials, baseline).into_iter().filter_map(|trial| trial.value).collect();
    geometric_mean(&values).map(|center| center.mean).or_else(|| median(&values))
}

fn is_repeated(trials: &[TrialValue]) -> bool {
    trials.iter().any(|trial| trial.repeats.is_some())
}

/// Baseline trials by index of each series with a repeated trial; series of the baseline itself have no entry.
fn baselines(design: &Design, series: &[Series]) -> HashMap<usize, Vec<TrialValue>> {
    let key = |one: &Series, arm: Arm| (one.workload.clone(), one.metric.clone(), arm);
    let repeated = || series.iter().enumerate().filter(|(_, one)| is_repeated(&one.trials));
    let by_key: HashMap<_, &Series> = repeated()
        .filter(|(_, one)| !one.control)
        .map(|(_, one)| (key(one, one.arm.clone()), one))
        .collect();
    let mut baselines = HashMap::new();
    for (index, one) in repeated() {
        let baseline_arm = super::baseline_arm(design, &one.arm);
        let is_baseline = !one.control && baseline_arm == one.arm;
        if let Some(baseline) = by_key.get(&key(one, baseline_arm)).filter(|_| !is_baseline) {
            baselines.insert(index, baseline.trials.clone());
        }
    }
    baselines
}

pub(super) fn unpaired_cell(series: Series) -> Measurement {
    measurement(series, None)
}

/// Sums up a series over its undisturbed trials, preferably those that pair with the baseline's.
fn measurement(series: Series, baseline: Option<&[TrialValue]>) -> Measurement {
    let counted = counted_trials(&series.trials, baseline);
    let values: Vec<f64> = counted.iter().filter_map(|trial| trial.value).collect();
    let values = values.as_slice();
    let counted = unusual_positions(&series.trials, &counted);
    let (geometric, mean) = match series.scale {
        Scale::Ratio => (geometric_mean(values), None),
        Scale::Difference => (None, Sample::of(values)),
    };
    let ci95 = match mean {
        Some(sample) => sample.interval(ALPHA),
        None => geometric.and_then(|center| center.ci95),
    };
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
        geometric_mean: geometric.map(|center| center.mean),
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
fn unusual_positions(trials: &[TrialValue], counted: &[&TrialValue]) -> Option<Vec<usize>> {
    let undisturbed = trials.iter().filter(|trial| trial.counts_by_itself());
    (!undisturbed.eq(counted.iter().copied())).then(|| positions(trials, counted))
}

fn positions(trials: &[TrialValue], counted: &[&TrialValue]) -> Vec<usize> {
    let indices = trials.iter().enumerate().map(|(index, trial)| (ptr::from_ref(trial), index));
    let indices: HashMap<*const TrialValue, usize> = indices.collect();
    counted.iter().filter_map(|trial| indices.get(&ptr::from_ref(*trial)).copied()).collect()
}

pub(super) fn counted_positions(trials: &[TrialValue]) -> Vec<usize> {
    positions(trials, &counted_trials(trials, None))
}

pub(super) fn counted_values(trials: &[TrialValue]) -> Vec<f64> {
    counted_trials(trials, None).into_iter().filter_map(|trial| trial.value).collect()
}

/// The trials behind a number: one undisturbed trial per replicate if enough, else every first run that counts.
fn counted_trials<'t>(
    trials: &'t [TrialValue],
    baseline: Option<&[TrialValue]>,
) -> Vec<&'t TrialValue> {
    let first_runs = || trials.iter().filter(|trial| trial.repeats.is_none());
    let has_value = |trial: &&TrialValue| trial.value.is_some();
    let mut undisturbed = Vec::new();
    for first in first_runs() {
        let pairable = baseline.and_then(|baseline| pairable_trial(trials, first, baseline));
        let pairable = pairable.filter(has_value);
        undisturbed.extend(pairable.or_else(|| undisturbed_run(trials, first).filter(has_value)));
    }
    if undisturbed.len() >= ENOUGH {
        return undisturbed;
    }
    first_runs().filter(|trial| trial.status.counts() && trial.value.is_some()).collect()
}

/// The run of a replicate that pairs with the baseline's: the first one, or a repeat, in which both are undisturbed.
fn pairable_trial<'t>(
    trials: &'t [TrialValue],
    first: &'t TrialValue,
    baseline: &[TrialValue],
) -> Option<&'t TrialValue> {
    if !first.status.counts() {
        return None;
    }
    let replicate = first.replicate;
    // `repeats` is the replicate that the baseline's trial repeats, `None` for a first run.
    let is_baseline_undisturbed = |replicate: u32, repeats: Option<u32>| {
        let base = baseline.iter().find(|trial| {
            trial.replicate == replicate
                && trial.status != Status::Warmup
                && trial.repeats.map(|first| first.replicate) == repeats
        });
        base.is_some_and(|trial| trial.status == Status::Ok && trial.value.is_some())
    };
    if first.status == Status::Ok && is_baseline_undisturbed(replicate, None) {
        return Some(first);
    }
    undisturbed_repeats(trials, first)
        .find(|repeat| is_baseline_undisturbed(repeat.replicate, Some(replicate)))
}

/// A trial, or its undisturbed repeat if it was disturbed.
fn undisturbed_run<'t>(trials: &'t [TrialValue], first: &'t TrialValue) -> Option<&'t TrialValue> {
    match first.status {
        Status::Ok => Some(first),
        Status::Disturbed => undisturbed_repeats(trials, first).next(),
        Status::Failed | Status::Warmup => None,
    }
}

/// The undisturbed trials that repeat the replicate of a first run.
fn undisturbed_repeats<'t>(
    trials: &'t [TrialValue],
    first: &TrialValue,
) -> impl Iterator<Item = &'t TrialValue> {
    let replicate = first.replicate;
    trials.iter().filter(move |trial| {
        let is_repeat = trial.repeats.is_some_and(|of| of.replicate == replicate);
        is_repeat && trial.status == Status::Ok
    })
}
