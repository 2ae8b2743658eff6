//! A metric over a numeric factor: where it peaks, and how steeply it changes.

use assay_stats::Sample;
use std::collections::BTreeSet;

use super::arms::{Question, Runs};
use super::bound::Bound;
use super::pairs::together;
use super::ranks::{could_be_best, mean};
use super::words;
use crate::findings::Trend;
use crate::quantity::{Bytes, Scale};
use crate::results::design::{Design, Factor};
use crate::results::plan::Arm;

/// Levels from which there is a curve to speak of.
const FEWEST_LEVELS: usize = 3;

/// The trends of one workload over every numeric factor, at each combination of the others.
pub(super) fn trends(design: &Design, question: &Question<'_>) -> Vec<Trend> {
    if question.scale != Scale::Ratio || !design.order.tells_arms_from_time() {
        return Vec::new();
    }
    design
        .factors
        .iter()
        .filter_map(|factor| Some((factor, numbers(factor)?)))
        .flat_map(|(factor, levels)| {
            contexts(question, &factor.name)
                .into_iter()
                .filter_map(move |others| trend(design, question, factor, &levels, others))
        })
        .collect()
}

/// The levels as numbers, if all of them are: plain ones, or amounts of bytes.
fn numbers(factor: &Factor) -> Option<Vec<f64>> {
    let levels: Option<Vec<f64>> = factor.levels.iter().map(|level| number(level)).collect();
    levels.filter(|levels| levels.len() >= FEWEST_LEVELS && levels.iter().all(|level| *level > 0.0))
}

/// A level as a number.
pub(super) fn number(level: &str) -> Option<f64> {
    let plain = level.parse::<f64>().ok();
    plain.or_else(|| level.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
}

/// Combinations of the other factors' levels.
pub(super) fn contexts(question: &Question<'_>, factor: &str) -> BTreeSet<Arm> {
    let without = |runs: &Runs<'_>| {
        let mut arm = runs.arm.clone();
        arm.remove(factor);
        arm
    };
    question.arms.iter().map(without).collect()
}

fn trend(
    design: &Design,
    question: &Question<'_>,
    factor: &Factor,
    levels: &[f64],
    others: Arm,
) -> Option<Trend> {
    let measured: Vec<(f64, &Runs<'_>)> = factor
        .levels
        .iter()
        .zip(levels)
        .filter_map(|(name, level)| {
            let mut arm = others.clone();
            arm.insert(factor.name.clone(), name.clone());
            Some((*level, question.find(&arm)?))
        })
        .filter(|(_, runs)| !runs.first.is_empty())
        .collect();
    if measured.len() < FEWEST_LEVELS {
        return None;
    }
    let slopes = slopes(&measured);
    let sample = Sample::of(&slopes)?;
    let runs: Vec<&Runs<'_>> = measured.iter().map(|(_, runs)| *runs).collect();
    let best = could_be_best(design, question.better, &runs, 1)?;
    let candidates = measured.iter().zip(&best.candidates).filter(|(_, is)| **is);
    let ends = candidates.map(|((level, _), _)| *level);
    let mut trend = Trend {
        workload: question.workload.to_owned(),
        metric: question.metric.to_owned(),
        factor: factor.name.clone(),
        arm: others,
        n: sample.n,
        peak: measured[best.best].0,
        peak_range: [ends.clone().reduce(f64::min)?, ends.reduce(f64::max)?],
        slope: sample.mean,
        ci95: Bound::of(design, 1).interval(&sample),
        text: String::new(),
    };
    trend.text = words::trend(&trend, question.better, factor);
    Some(trend)
}

/// The least-squares slope of each replicate that has every level, logarithm on logarithm.
pub(super) fn slopes(measured: &[(f64, &Runs<'_>)]) -> Vec<f64> {
    let x: Vec<f64> = measured.iter().map(|(level, _)| level.ln()).collect();
    let centre = mean(&x);
    let arms: Vec<&Runs<'_>> = measured.iter().map(|(_, runs)| *runs).collect();
    let squares: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
    // What all arms have, the first one has.
    let replicates = arms.first().into_iter().flat_map(|runs| runs.first.keys());
    replicates
        .filter_map(|replicate| {
            let y = together(&arms, *replicate)?;
            let products: f64 = x.iter().zip(&y).map(|(x, y)| (x - centre) * y).sum();
            Some(products / squares)
        })
        .collect()
}
