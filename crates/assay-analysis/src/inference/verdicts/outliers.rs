//! Trials that deviate from the prediction of their replicate and arm (R11c): marked, never removed.

use std::collections::BTreeMap;

use assay_core::stats::{MODIFIED_Z_LIMIT, median, modified_z};
use assay_study::findings::{TrialValue, measurements::Series};

use super::arms::arm_trial;

const FEWEST_TRIALS: usize = 4;
/// Fewest arms to separate a replicate's common deviation from that of one arm.
const FEWEST_ARMS: usize = 3;

/// Marks the trials whose deviation stands out among all arms of their workload and metric.
pub(crate) fn mark_outliers(series: &mut [Series]) {
    let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (index, row) in series.iter().enumerate() {
        groups.entry((row.workload.clone(), row.metric.clone())).or_default().push(index);
    }
    for members in groups.values() {
        let residuals = residuals(members.iter().map(|index| (*index, &series[*index])));
        let values: Vec<f64> = residuals.iter().map(|residual| residual.value).collect();
        for (residual, score) in residuals.iter().zip(modified_z(&values)) {
            let trial = &mut series[residual.series].trials[residual.trial];
            trial.outlier = score.abs() > MODIFIED_Z_LIMIT;
        }
    }
}

/// Index, replicate and value on the scale of comparison of each trial with such a value.
fn values_on_scale(series: &Series) -> Vec<(usize, u32, f64)> {
    let one = |(index, trial): (usize, &TrialValue)| {
        Some((index, trial.replicate, arm_trial(trial, series.scale)?.level))
    };
    series.trials.iter().enumerate().filter_map(one).collect()
}

fn median_of(levels: &[(usize, u32, f64)]) -> Option<f64> {
    median(&levels.iter().map(|(_, _, level)| *level).collect::<Vec<_>>())
}

/// The common deviation of a replicate: the median distance of its arms from their medians.
fn replicate_shifts<'a>(series: impl Iterator<Item = &'a Series>) -> BTreeMap<u32, f64> {
    let mut distances: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for arm in series {
        let levels = values_on_scale(arm);
        let Some(middle) = median_of(&levels) else { continue };
        for (_, replicate, level) in levels {
            distances.entry(replicate).or_default().push(level - middle);
        }
    }
    distances.retain(|_, values| values.len() >= FEWEST_ARMS);
    let shift = |(replicate, values): (u32, Vec<f64>)| Some((replicate, median(&values)?));
    distances.into_iter().filter_map(shift).collect()
}

/// A trial's deviation from the prediction of its arm and replicate.
struct Residual {
    series: usize,
    trial: usize,
    value: f64,
}

/// The residuals of all arms together: few trials of one arm alone would flag each other.
fn residuals<'a>(series: impl Iterator<Item = (usize, &'a Series)> + Clone) -> Vec<Residual> {
    let shifts = replicate_shifts(series.clone().map(|(_, arm)| arm));
    let mut residuals = Vec::new();
    for (index, arm) in series {
        let levels = values_on_scale(arm);
        let Some(middle) = median_of(&levels).filter(|_| levels.len() >= FEWEST_TRIALS) else {
            continue;
        };
        residuals.extend(levels.into_iter().map(|(trial, replicate, level)| Residual {
            series: index,
            trial,
            value: level - middle - shifts.get(&replicate).copied().unwrap_or(0.0),
        }));
    }
    residuals
}
