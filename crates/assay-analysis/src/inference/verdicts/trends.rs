//! A metric over a numeric factor: its best level and its shape (R5b). All trends of a workload are one family, and
//! those of its classes another. A slope only describes a line through logarithms; a curve that levels off has a knee.

use std::collections::BTreeSet;

use assay_core::quantity::{Scale, level_number};
use assay_core::stats::{Sample, bonferroni};
use assay_study::findings::{Shape, Trend};
use assay_study::results::design::{ALPHA, Design, Factor};
use assay_study::results::plan::Arm;

use super::arms::{Question, Runs};
use super::pairs::{levels_in, pairs, signed_interval};
use super::ranks::{find_best, mean, pairs_of};
use super::{bound::ErrorBound, words};
use crate::inference::{at_level, without_factor};

const FEWEST_LEVELS: usize = 3;

/// The trends of one workload over every numeric factor, at each combination of the others.
pub(super) fn trends(design: &Design, question: &Question<'_>) -> Vec<Trend> {
    if question.scale != Scale::Ratio || !design.order.tells_arms_from_time() {
        return Vec::new();
    }
    let mut curves: Vec<Curve<'_, '_>> = Vec::new();
    for factor in &design.factors {
        let Some(levels) = numeric_levels(factor) else { continue };
        let contexts = other_settings(question, &factor.name).into_iter();
        curves.extend(contexts.filter_map(|others| Curve::new(question, factor, &levels, others)));
    }
    // One interval per pair of levels, and one for the slope.
    let statements: usize = curves.iter().map(|curve| pairs_of(curve.levels.len()) + 1).sum();
    let bound = ErrorBound::new(design, statements * question.sharing);
    let margin = design.margin.unwrap_or(0.0).ln_1p();
    curves.iter().filter_map(|curve| curve.trend(&bound, margin)).collect()
}

/// The levels as numbers, plain or in bytes; `None` if one is not numeric.
fn numeric_levels(factor: &Factor) -> Option<Vec<f64>> {
    let levels: Option<Vec<f64>> = factor.levels.iter().map(|level| level_number(level)).collect();
    levels.filter(|levels| levels.len() >= FEWEST_LEVELS && levels.iter().all(|level| *level > 0.0))
}

/// Every combination of the other factors' levels among the arms.
pub(super) fn other_settings(question: &Question<'_>, factor: &str) -> BTreeSet<Arm> {
    question.arms.iter().map(|runs| without_factor(runs.arm, factor)).collect()
}

/// The measurements over the levels of a factor, in ascending order.
struct Curve<'q, 'a> {
    question: &'q Question<'a>,
    factor: &'q Factor,
    others: Arm,
    levels: Vec<f64>,
    runs: Vec<&'q Runs<'a>>,
}

impl<'q, 'a> Curve<'q, 'a> {
    /// The arms at each level of a factor and fixed `others`, in ascending order; `None` with too few levels.
    fn new(
        question: &'q Question<'a>,
        factor: &'q Factor,
        numbers: &[f64],
        others: Arm,
    ) -> Option<Self> {
        let mut measured: Vec<(f64, &Runs<'_>)> = Vec::new();
        for (name, level) in factor.levels.iter().zip(numbers) {
            let arm = at_level(&others, &factor.name, name);
            let runs = question.find(&arm).filter(|runs| !runs.first.is_empty());
            measured.extend(runs.map(|runs| (*level, runs)));
        }
        measured.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (levels, runs): (Vec<f64>, Vec<_>) = measured.into_iter().unzip();
        (levels.len() >= FEWEST_LEVELS).then_some(Self { question, factor, others, levels, runs })
    }

    /// The trend; `None` if the metric neither follows a line nor has a level beyond the margin (a logarithm).
    fn trend(&self, bound: &ErrorBound, margin: f64) -> Option<Trend> {
        let better = self.question.better;
        let best = find_best(better, &self.runs, bound)?;
        let line = self.line(bound, margin);
        let levels = self.compare_with(best.best, bound);
        let shape = match &line {
            Some(_) => Shape::Linear,
            None if levels.iter().any(|level| level.is_behind(margin)) => Shape::Peak,
            None => return None,
        };
        let may_be_best = self.levels.iter().zip(&best.candidates).filter(|(_, may_be)| **may_be);
        let peaks = may_be_best.map(|(level, _)| *level);
        let mut trend = Trend {
            workload: self.question.workload.to_owned(),
            metric: self.question.metric.to_owned(),
            factor: self.factor.name.clone(),
            configuration: self.others.clone(),
            n: by_replicate(&self.runs, |_| ()).len(),
            peak: self.levels[best.best],
            peak_range: [peaks.clone().reduce(f64::min)?, peaks.reduce(f64::max)?],
            shape,
            slope: line.as_ref().map(|(sample, _)| sample.mean),
            ci95: line.as_ref().map(|(_, ends)| *ends),
            near: None,
            knee: None,
            knee_range: None,
            margin: Some(margin.exp_m1()),
            text: String::new(),
        };
        if line.is_none() {
            self.describe_plateau(&mut trend, &levels, best.best, margin);
        }
        trend.text = words::trend(&trend, better, self.factor);
        Some(trend)
    }

    /// The slope and its CI, if the curve is a line whose ends differ significantly by more than the margin.
    fn line(&self, bound: &ErrorBound, margin: f64) -> Option<(Sample, [f64; 2])> {
        let measured: Vec<(f64, &Runs<'_>)> =
            self.levels.iter().copied().zip(self.runs.iter().copied()).collect();
        let sample = Sample::of(&slopes(&measured))?;
        let ends = bound.interval(&sample)?;
        let span = (self.levels.last()? / self.levels.first()?).ln();
        let is_beyond_margin = ends[0] * span > margin || ends[1] * span < -margin;
        (is_beyond_margin && self.is_straight(margin)).then_some((sample, ends))
    }

    /// Whether no level deviates from the line significantly or by more than the margin.
    fn is_straight(&self, margin: f64) -> bool {
        let x: Vec<f64> = self.levels.iter().map(|level| level.ln()).collect();
        let residuals = by_replicate(&self.runs, |y| residuals(&x, y));
        let single = ErrorBound::t(bonferroni(ALPHA, x.len()));
        (0..x.len()).all(|level| {
            let at_level: Vec<f64> = residuals.iter().map(|replicate| replicate[level]).collect();
            let Some(sample) = Sample::of(&at_level) else { return false };
            let ends = single.interval(&sample).filter(|_| sample.mean.abs() > ROUNDING);
            let is_significant = ends.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
            sample.mean.abs() <= margin && !is_significant
        })
    }

    /// The difference of each level from the best one, and its CI; zero for the best.
    fn compare_with(&self, best: usize, bound: &ErrorBound) -> Vec<TrendLevel> {
        let sign = self.question.better.sign();
        let level = |(index, runs): (usize, &&Runs<'_>)| {
            if index == best {
                return TrendLevel { mean: Some(0.0), ends: Some([0.0; 2]) };
            }
            let differences = pairs(self.runs[best], runs).differences();
            let sample = Sample::of(&differences);
            let ends = sample.as_ref().and_then(|sample| bound.interval(sample));
            TrendLevel {
                mean: sample.map(|sample| sign * sample.mean),
                ends: ends.map(|ends| signed_interval(ends, sign)),
            }
        };
        self.runs.iter().enumerate().map(level).collect()
    }

    /// Stores the levels around the best that match it, and the knee if they reach exactly one end of the range.
    fn describe_plateau(&self, trend: &mut Trend, levels: &[TrendLevel], best: usize, margin: f64) {
        let last = levels.len() - 1;
        // The first and last level of the run around the best that matches it.
        let run_around_best = |is_match: &dyn Fn(&TrendLevel) -> bool| {
            let from = (0..=best).rev().take_while(|index| is_match(&levels[*index])).last();
            let to = (best..=last).take_while(|index| is_match(&levels[*index])).last();
            [from.unwrap_or(best), to.unwrap_or(best)]
        };
        let by_mean = |level: &TrendLevel| level.mean.is_some_and(|mean| mean >= -margin);
        let [from, to] = run_around_best(&by_mean);
        let certain = run_around_best(&|level| level.ends.is_some_and(|[low, _]| low >= -margin));
        let possible = run_around_best(&|level| !level.is_behind(margin));
        trend.near = Some([from, to].map(|index| self.levels[index]));
        // A plateau at the upper end begins at the knee; one at the lower end ends there.
        let (shape, knee, ends) = if 0 < from && from < last && to == last {
            (Shape::Saturates, from, [possible[0], certain[0]])
        } else if from == 0 && 0 < to && to < last {
            (Shape::FlatUpTo, to, [certain[1], possible[1]])
        } else {
            return;
        };
        trend.shape = shape;
        trend.knee = Some(self.levels[knee]);
        trend.knee_range = Some(ends.map(|index| self.levels[index]));
    }
}

/// A level against the best one, in logarithms; more is better.
struct TrendLevel {
    mean: Option<f64>,
    ends: Option<[f64; 2]>,
}

impl TrendLevel {
    /// Whether the level is worse by more than the margin, by its whole interval.
    fn is_behind(&self, margin: f64) -> bool {
        self.ends.is_some_and(|[_, high]| high < -margin)
    }
}

const ROUNDING: f64 = 1e-9;

/// One value per replicate with all levels.
fn by_replicate<T>(arms: &[&Runs<'_>], value: impl Fn(&[f64]) -> T) -> Vec<T> {
    // The first arm has every replicate that all arms have.
    let replicates = arms.first().into_iter().flat_map(|runs| runs.first.keys());
    replicates.filter_map(|replicate| Some(value(&levels_in(arms, *replicate)?))).collect()
}

fn slope(x: &[f64], y: &[f64]) -> f64 {
    let x_mean = mean(x);
    let squares: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * y).sum();
    products / squares
}

fn residuals(x: &[f64], y: &[f64]) -> Vec<f64> {
    let (slope, [x_mean, y_mean]) = (slope(x, y), [mean(x), mean(y)]);
    x.iter().zip(y).map(|(x, y)| y - y_mean - slope * (x - x_mean)).collect()
}

/// The least-squares slope of each replicate with all levels, log over log.
pub(super) fn slopes(measured: &[(f64, &Runs<'_>)]) -> Vec<f64> {
    let x: Vec<f64> = measured.iter().map(|(level, _)| level.ln()).collect();
    let arms: Vec<&Runs<'_>> = measured.iter().map(|(_, runs)| *runs).collect();
    by_replicate(&arms, |y| slope(&x, y))
}
