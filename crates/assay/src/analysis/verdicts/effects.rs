//! Main effects of factors and what they have to do with each other (amendment to R5): means of
//! logarithms over the other factors' levels within a replicate, paired over replicates.

use std::collections::BTreeSet;

use assay_stats::Sample;

use super::arms::Question;
use super::bound::{Bound, exp};
use super::comparisons::{Ruler, word};
use super::words;
use crate::quantity::Scale;
use crate::results::design::{Design, Factor, Order};
use crate::results::findings::{Effect, Interaction, Verdict};
use crate::results::plan::Arm;

/// The main effects of all factors on one workload.
pub(super) fn effects(design: &Design, question: &Question<'_>) -> Vec<Effect> {
    if question.scale != Scale::Ratio {
        return Vec::new();
    }
    design.factors.iter().flat_map(|factor| of_factor(design, question, factor)).collect()
}

/// The level that a factor's others are compared with, and those others.
fn levels<'a>(design: &'a Design, factor: &'a Factor) -> Option<(&'a String, Vec<&'a String>)> {
    let base = design.baseline.get(&factor.name).or(factor.levels.first())?;
    Some((base, factor.levels.iter().filter(|level| *level != base).collect()))
}

fn of_factor(design: &Design, question: &Question<'_>, factor: &Factor) -> Vec<Effect> {
    let Some((base, others)) = levels(design, factor) else { return Vec::new() };
    let ruler = Ruler::new(design, others.len(), question.better);
    let name = &factor.name;
    others
        .into_iter()
        .filter_map(|level| {
            let contexts = contexts(question, &[(name, base)], &[(name, level)]);
            let differences = by_replicate(question, |replicate| {
                mean_over(&contexts, |arm| {
                    let [low, high] = [arm.clone(), at(arm, &[(name, level)])];
                    Some(
                        standing(question, &high, replicate)?
                            - standing(question, &low, replicate)?,
                    )
                })
            });
            let sample = Sample::of(&differences)?;
            Some(effect(design, question, (factor, base, level), &sample, &ruler))
        })
        .collect()
}

fn effect(
    design: &Design,
    question: &Question<'_>,
    (factor, base, level): (&Factor, &str, &str),
    sample: &Sample,
    ruler: &Ruler,
) -> Effect {
    let [ci95, family] = ruler.intervals(sample);
    let judged = ruler.verdict(sample);
    let verdict = match design.order {
        Order::Sequential => Verdict::Inconclusive,
        _ => judged.map_or(Verdict::Inconclusive, |judged| word(judged.verdict)),
    };
    let mut effect = Effect {
        workload: question.workload.to_owned(),
        metric: question.metric.to_owned(),
        better: question.better,
        factor: factor.name.clone(),
        baseline: base.to_owned(),
        level: level.to_owned(),
        n: sample.n,
        ratio: sample.mean.exp(),
        ci95: ci95.and_then(exp),
        ci95_family: family.and_then(exp),
        verdict: Some(verdict),
        text: String::new(),
    };
    effect.text = words::effect(&effect);
    effect
}

/// Factors that depend on each other, one entry a pair of factors whose levels disagree clearly.
pub(super) fn interactions(design: &Design, question: &Question<'_>) -> Vec<Interaction> {
    if question.scale != Scale::Ratio || design.order == Order::Sequential {
        return Vec::new();
    }
    let factors = &design.factors;
    let pairs: Vec<(&Factor, &Factor)> = factors
        .iter()
        .enumerate()
        .flat_map(|(index, first)| factors[index + 1..].iter().map(move |second| (first, second)))
        .collect();
    pairs.iter().filter_map(|pair| interaction(design, question, *pair, pairs.len())).collect()
}

fn interaction(
    design: &Design,
    question: &Question<'_>,
    (first, second): (&Factor, &Factor),
    pairs_of_factors: usize,
) -> Option<Interaction> {
    let (base1, others1) = levels(design, first)?;
    let (base2, others2) = levels(design, second)?;
    let bound = Bound::of(design, others1.len() * others2.len() * pairs_of_factors);
    let mut clearest: Option<(f64, Interaction)> = None;
    for level1 in &others1 {
        for level2 in &others2 {
            let corner = [(&first.name, base1), (&second.name, base2)];
            let moved = [(&first.name, *level1), (&second.name, *level2)];
            let contrast = Contrast { question, corner, moved };
            let Some((t, found)) = contrast.judged(&bound) else { continue };
            if clearest.as_ref().is_none_or(|(known, _)| t > *known) {
                clearest = Some((t, found));
            }
        }
    }
    clearest.map(|(_, found)| found)
}

type Setting<'a> = (&'a String, &'a String);

/// How much the effect of one level differs between two levels of another factor.
struct Contrast<'a> {
    question: &'a Question<'a>,
    corner: [Setting<'a>; 2],
    moved: [Setting<'a>; 2],
}

impl Contrast<'_> {
    /// The contrast with the distance of its interval from none; none where it is not clear.
    fn judged(&self, bound: &Bound) -> Option<(f64, Interaction)> {
        let [first, second] = self.moved;
        let contexts = contexts(self.question, &self.corner, &[first, second]);
        let part = |which: fn([f64; 2]) -> f64| {
            by_replicate(self.question, |replicate| {
                mean_over(&contexts, |arm| self.effects(arm, replicate).map(which))
            })
        };
        let sample = Sample::of(&part(|[low, high]| high - low))?;
        let ends = bound.interval(&sample)?;
        if ends[0] <= 0.0 && ends[1] >= 0.0 {
            return None;
        }
        let [low, high] =
            [part(|[low, _]| low), part(|[_, high]| high)].map(|part| Sample::of(&part));
        let mut found = Interaction {
            workload: self.question.workload.to_owned(),
            metric: self.question.metric.to_owned(),
            factors: [first.0.clone(), second.0.clone()],
            levels: [first.1.clone(), second.1.clone()],
            n: sample.n,
            ratio: sample.mean.exp(),
            ci95_family: exp(ends)?,
            text: String::new(),
        };
        found.text =
            words::interaction(&found, self.corner.map(|(_, level)| level.as_str()), [low?, high?]);
        Some((ends[0].abs().min(ends[1].abs()) / sample.sd?.max(f64::MIN_POSITIVE), found))
    }

    /// The effect of the first factor's level at both levels of the second.
    fn effects(&self, corner: &Arm, replicate: u32) -> Option<[f64; 2]> {
        let [first, second] = self.moved;
        let of =
            |settings: &[Setting<'_>]| standing(self.question, &at(corner, settings), replicate);
        Some([of(&[first])? - of(&[])?, of(&[first, second])? - of(&[second])?])
    }
}

/// Arms at the given levels whose counterparts at the moved levels were measured as well.
fn contexts(question: &Question<'_>, fixed: &[Setting<'_>], moved: &[Setting<'_>]) -> Vec<Arm> {
    let fits = |arm: &Arm| fixed.iter().all(|(name, level)| arm.get(*name) == Some(*level));
    let has_counterparts = |arm: &Arm| {
        (1..=moved.len()).all(|count| question.find(&at(arm, &moved[..count])).is_some())
    };
    let arms = question.arms.iter().map(|runs| runs.arm);
    arms.filter(|arm| fits(arm) && has_counterparts(arm)).cloned().collect()
}

/// An arm with other levels of some factors.
fn at(arm: &Arm, settings: &[Setting<'_>]) -> Arm {
    let mut arm = arm.clone();
    arm.extend(settings.iter().map(|(name, level)| ((*name).clone(), (*level).clone())));
    arm
}

/// The run that stands for an arm in a replicate.
pub(super) fn standing(question: &Question<'_>, arm: &Arm, replicate: u32) -> Option<f64> {
    question.find(arm)?.standing(replicate).map(|run| run.level)
}

/// One value a replicate, for the replicates that have one.
fn by_replicate(question: &Question<'_>, value: impl Fn(u32) -> Option<f64>) -> Vec<f64> {
    let replicates: BTreeSet<u32> =
        question.arms.iter().flat_map(|runs| runs.first.keys().copied()).collect();
    replicates.into_iter().filter_map(value).collect()
}

/// The mean over arms; none where one of them is missing.
fn mean_over(arms: &[Arm], value: impl Fn(&Arm) -> Option<f64>) -> Option<f64> {
    if arms.is_empty() {
        return None;
    }
    let sum: Option<f64> = arms.iter().map(value).sum();
    Some(sum? / arms.len() as f64)
}
