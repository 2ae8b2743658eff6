//! Tied at the top: of arms that do as much as the best one, the smallest level is advised. It costs less
//! elsewhere: a queue that is twice as long for the same rate has twice the latency.

use std::cmp::Ordering;

use assay_core::quantity::level_number;
use assay_core::stats::Sample;
use assay_study::findings::Comparison;
use assay_study::results::design::Design;
use assay_study::results::plan::Arm;

use super::advice::Evidence;
use super::arms::{Question, Runs};
use super::bound::Bound;
use super::contrasts::is_other_work;
use super::pairs::pairs;

/// The tail that is told beside, where it is surely shorter.
const TAIL: &str = "latency_p99_ns";

/// An arm that is advised though another one has a better mean.
pub(super) struct Tied<'a> {
    pub best: &'a Arm,
    /// Tails of both, the advised one first.
    pub tails: Option<[f64; 2]>,
}

/// The smallest of the arms that are surely not worse than the best by more than the margin, and what it
/// stands for; the best itself where there is none.
pub(super) fn smallest<'a>(
    evidence: &Evidence<'_, '_>,
    question: &Question<'_>,
    best: &'a Comparison,
    others: impl Iterator<Item = &'a Comparison>,
) -> (&'a Comparison, Option<Tied<'a>>) {
    let Some(top) = question.find(&best.configuration) else { return (best, None) };
    let tied = others.filter(|other| {
        other.configuration != best.configuration
            && is_smaller(&other.configuration, &best.configuration)
            && !is_other_work(&other.configuration, &best.configuration)
            && question
                .find(&other.configuration)
                .is_some_and(|runs| does_as_much(evidence.design, question, runs, top))
    });
    let least = tied
        .min_by(|one, other| in_order(evidence.design, &one.configuration, &other.configuration));
    match least {
        Some(found) => {
            let tails =
                tails(evidence, question.workload, [&found.configuration, &best.configuration]);
            (found, Some(Tied { best: &best.configuration, tails }))
        }
        None => (best, None),
    }
}

/// Whether an arm differs from another one by smaller numbers alone.
fn is_smaller(arm: &Arm, than: &Arm) -> bool {
    let differing = || arm.iter().filter(|(name, level)| than.get(*name) != Some(*level));
    let is_less = |(name, level): (&String, &String)| {
        let [own, other] = [Some(level), than.get(name)].map(|level| level_number(level?));
        own.zip(other).is_some_and(|(own, other)| own < other)
    };
    differing().next().is_some() && differing().all(is_less)
}

/// By the first factor in which they differ.
fn in_order(design: &Design, one: &Arm, other: &Arm) -> Ordering {
    let level = |arm: &Arm, name: &str| arm.get(name).and_then(|level| level_number(level));
    design
        .factors
        .iter()
        .filter_map(|factor| level(one, &factor.name).zip(level(other, &factor.name)))
        .map(|(one, other)| one.total_cmp(&other))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Whether an arm is surely not worse by more than the margin: one-sided, at 5% for the pair.
fn does_as_much(design: &Design, question: &Question<'_>, arm: &Runs<'_>, best: &Runs<'_>) -> bool {
    let sample = Sample::of(&pairs(best, arm).differences());
    let bound = Bound::new(design, 1).equivalence();
    let worst = sample.and_then(|sample| bound.interval(&sample)).map(|[low, high]| {
        let sign = question.better.sign();
        (sign * low).min(sign * high)
    });
    worst.is_some_and(|worst| worst > -design.margin.unwrap_or(0.0).ln_1p())
}

/// The tails of two arms, where that of the first is surely shorter.
fn tails(evidence: &Evidence<'_, '_>, workload: &str, arms: [&Arm; 2]) -> Option<[f64; 2]> {
    let mut all = evidence.all.iter();
    let told = all.find(|one| one.workload == workload && one.metric == TAIL)?;
    let [own, other] = arms.map(|arm| told.find(arm));
    let pairs = pairs(other?, own?);
    let sample = Sample::of(&pairs.differences())?;
    let [_, high] = Bound::new(evidence.design, 1).interval(&sample)?;
    (high < 0.0).then(|| pairs.means().map(f64::exp))
}
