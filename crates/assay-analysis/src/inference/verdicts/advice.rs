//! Advice: the best arm per workload as a candidate, levels to avoid, and trade-offs between workloads.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use assay_core::quantity::level_number;
use assay_core::stats::Sample;
use assay_study::findings::{Advice, AdviceKind, AdviceStatus, Comparison, Effect, Rank, Verdict};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Design, Factor};
use assay_study::results::plan::Arm;

use super::arms::{Question, Runs};
use super::bound::ErrorBound;
use super::contrasts::{Contrast, contrasts, is_other_work};
use super::noise::{Reach, reach};
use super::pairs::{pairs, signed};
use super::words_of_advice as words;
use crate::import::grouped;

/// Whether the numbers are confirmed, or can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdviceStage {
    Measured,
    Imported,
    Together,
    /// Fresh trials for the winner of an earlier study.
    Confirming,
}

pub(super) struct AdviceInput<'a, 'q> {
    pub design: &'a Design,
    /// Questions on the primary metric, without invalid numbers.
    pub questions: &'a [&'a Question<'q>],
    pub all: &'a [Question<'q>],
    pub comparisons: &'a [Comparison],
    pub effects: &'a [Effect],
    pub ranks: &'a [Rank],
    /// Arms named by a question of the study, with their workloads.
    pub knees: &'a [(String, Arm)],
    /// Levels without a number, as `factor=level`.
    pub unmeasured: &'a [String],
}

impl<'a> AdviceInput<'a, '_> {
    pub fn of_workload(
        &self,
        question: &Question<'_>,
    ) -> impl Iterator<Item = &'a Comparison> + Clone {
        let is_own = |found: &&Comparison| found.primary && found.workload == question.workload;
        self.comparisons.iter().filter(is_own)
    }
}

/// At most one candidate per workload, then levels to avoid, then trade-offs. Differences within the noise floor or the
/// margin give no advice.
pub(super) fn advice(evidence: &AdviceInput<'_, '_>, stage: AdviceStage) -> Vec<Advice> {
    let status = match stage {
        AdviceStage::Confirming => AdviceStatus::Confirmed,
        AdviceStage::Measured | AdviceStage::Imported | AdviceStage::Together => {
            AdviceStatus::Candidate
        }
    };
    let told = |sentence: String, more: &str, evidence: Vec<String>, kind| {
        let text = format!("{sentence}{more}");
        Advice { text, sentence, evidence, status, kind, lines: Vec::new() }
    };
    let contrasts = contrasts(evidence);
    let trades = trades(&contrasts);
    let torn: BTreeSet<&Arm> = trades.iter().flatten().map(|one| &one.what).collect();
    let mut advice = Vec::new();
    for question in evidence.questions {
        let Some((best, tied)) = best(evidence, question) else { continue };
        if torn.iter().any(|levels| matches(&best.configuration, levels)) {
            continue;
        }
        let suspect =
            question.is_suspect(&best.configuration) || question.is_suspect(&best.baseline);
        let end = end_of_range(evidence.design, &best.configuration);
        let tied = tied.map(|tied| words::tied(evidence.design, &tied)).unwrap_or_default();
        let sentence = words::candidate(evidence.design, best, stage, suspect, end, &tied);
        let more = words::more(stage, evidence.unmeasured);
        advice.push(told(sentence, &more, vec![best.id.clone()], AdviceKind::Use));
    }
    for bad in against(&contrasts, &torn) {
        let ids = bad.iter().flat_map(Bad::ids).cloned().collect();
        advice.push(told(words::against(&bad), "", ids, AdviceKind::Avoid));
    }
    for trade in &trades {
        let ids = trade.iter().map(|one| one.id.clone()).collect();
        advice.push(told(words::trade_off(trade), "", ids, AdviceKind::TradeOff));
    }
    advice
}

/// Whether an arm has the last level of a numeric factor: a level beyond may be better.
fn end_of_range(design: &Design, arm: &Arm) -> Option<&'static str> {
    const FEWEST: usize = 3;
    design.factors.iter().filter(|factor| factor.levels.len() >= FEWEST).find_map(|factor| {
        let levels: Option<Vec<f64>> =
            factor.levels.iter().map(|level| level.parse().ok()).collect();
        let levels = levels?;
        let own: f64 = arm.get(&factor.name)?.parse().ok()?;
        let largest = levels.iter().all(|level| *level <= own);
        let smallest = levels.iter().all(|level| *level >= own);
        largest.then_some("largest").or(smallest.then_some("smallest"))
    })
}

/// The arm that beats its baseline, unless another arm beats it significantly. The best of many looks too good (R5):
/// prefer an arm from a question, else the smallest equivalent one.
fn best<'a>(
    evidence: &AdviceInput<'a, '_>,
    question: &Question<'_>,
) -> Option<(&'a Comparison, Option<Tied<'a>>)> {
    let reach = reach(evidence.design, question);
    let better = evidence.of_workload(question).filter(|found| {
        found.verdict == Some(Verdict::Better)
            && !found.within_margin
            && !is_other_work(&found.configuration, &found.baseline)
            && is_beyond(found, reach)
    });
    let Some(rank) = evidence.ranks.iter().find(|rank| rank.workload == question.workload) else {
        let best = better.max_by(|one, other| gain(one).total_cmp(&gain(other)))?;
        return Some((best, None));
    };
    let unbeaten = rank.ranks.iter().filter(|place| place.rank_range[0] == 1);
    let mut unbeaten = unbeaten.filter_map(|place| {
        better.clone().find(|found| found.configuration == place.configuration)
    });
    let is_asked_for = |found: &&Comparison| {
        let own = (&found.workload, &found.configuration);
        evidence.knees.iter().any(|(workload, arm)| (workload, arm) == own)
    };
    if let Some(asked) = unbeaten.clone().find(is_asked_for) {
        return Some((asked, None));
    }
    Some(smallest(evidence, question, unbeaten.next()?, better.clone()))
}

/// Whether a ratio is beyond the noise floor of two identical arms.
fn is_beyond(found: &Comparison, reach: Option<Reach>) -> bool {
    let Some((reach, ratio)) = reach.zip(found.ratio) else { return true };
    reach.is_passed_by(ratio, found.ci95_simultaneous)
}

/// Estimated gain of an arm; only comparable within one metric.
fn gain(found: &Comparison) -> f64 {
    let amount = match (&found.difference, found.ratio) {
        (Some(difference), _) => difference.value,
        (None, Some(ratio)) => ratio.ln(),
        (None, None) => 0.0,
    };
    found.better.sign() * amount
}

/// Levels that are better in one workload and worse in another, each with all contrasts on it.
fn trades(contrasts: &[Contrast]) -> Vec<Vec<&Contrast>> {
    let mut trades: Vec<Vec<&Contrast>> = Vec::new();
    for one in contrasts.iter().filter(|one| one.verdict == Verdict::Better) {
        let same = |other: &&Contrast| other.what == one.what && other.than == one.than;
        let all: Vec<&Contrast> = contrasts.iter().filter(same).collect();
        let known = trades.iter().any(|trade| trade[0].what == one.what);
        if !known && all.iter().any(|other| other.verdict == Verdict::Worse) {
            trades.push(all);
        }
    }
    trades
}

pub(super) enum Bad<'a> {
    Level(&'a Contrast),
    /// The baseline, which is worse than each of these.
    Baseline(Vec<&'a Contrast>),
}

impl Bad<'_> {
    fn level(&self) -> &Arm {
        match self {
            Self::Level(one) => &one.what,
            Self::Baseline(all) => &all[0].than,
        }
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::Level(one) => std::slice::from_ref(one),
            Self::Baseline(all) => all.as_slice(),
        }
        .iter()
        .map(|one| &one.id)
    }
}

/// Significantly worse levels, one entry per level with each of its workloads.
fn against<'a>(contrasts: &'a [Contrast], torn: &BTreeSet<&Arm>) -> Vec<Vec<Bad<'a>>> {
    let bad = contrasts.iter().filter(|one| one.is_bad());
    let levels = bad.filter(|one| !torn.contains(&one.what));
    let found = levels.map(Bad::Level).chain(bad_baselines(contrasts, torn));
    grouped(found, |one, other| one.level() == other.level())
}

/// Baselines that every other arm beats significantly, unless each of those arms is worse elsewhere.
fn bad_baselines<'a>(contrasts: &'a [Contrast], torn: &BTreeSet<&Arm>) -> Vec<Bad<'a>> {
    let mut groups =
        grouped(contrasts, |one, other| one.workload == other.workload && one.than == other.than);
    groups.retain(|group| {
        let beaten = group.iter().all(|one| one.verdict == Verdict::Better && one.sure);
        beaten && group.iter().any(|one| !torn.contains(&one.what))
    });
    groups.into_iter().map(Bad::Baseline).collect()
}

/// The tail latency to report if it is significantly shorter.
const TAIL: &str = "latency_p99_ns";

pub(super) struct Tied<'a> {
    pub best: &'a Arm,
    /// Tail latencies of both, the recommended arm first.
    pub tails: Option<[f64; 2]>,
}

/// The smallest arm that is within the margin of the best, and the arm that it replaces; else the best.
pub(super) fn smallest<'a>(
    evidence: &AdviceInput<'_, '_>,
    question: &Question<'_>,
    best: &'a Comparison,
    others: impl Iterator<Item = &'a Comparison>,
) -> (&'a Comparison, Option<Tied<'a>>) {
    let (design, arm) = (evidence.design, &best.configuration);
    let Some(top) = question.find(arm) else { return (best, None) };
    let tied = others.filter(|other| {
        let own = &other.configuration;
        let runs = question.find(own).filter(|_| own != arm && is_smaller(own, arm));
        let is_alike = runs.is_some_and(|runs| does_as_much(design, question, runs, top));
        is_alike && !is_other_work(own, arm)
    });
    let least =
        tied.min_by(|one, other| in_order(design, &one.configuration, &other.configuration));
    let Some(found) = least else { return (best, None) };
    let tails = tails(evidence, question.workload, [&found.configuration, arm]);
    (found, Some(Tied { best: arm, tails }))
}

/// Whether an arm differs from another only by smaller numbers.
fn is_smaller(arm: &Arm, than: &Arm) -> bool {
    let differing = || arm.iter().filter(|(name, level)| than.get(*name) != Some(*level));
    let is_less = |(name, level): (&String, &String)| {
        let [own, other] = [Some(level), than.get(name)].map(|level| level_number(level?));
        own.zip(other).is_some_and(|(own, other)| own < other)
    };
    differing().next().is_some() && differing().all(is_less)
}

fn in_order(design: &Design, one: &Arm, other: &Arm) -> Ordering {
    let levels = |factor: &Factor| {
        let [one, other] = [one, other].map(|arm| level_number(arm.get(&factor.name)?));
        Some(one?.total_cmp(&other?)).filter(|order| order.is_ne())
    };
    design.factors.iter().find_map(levels).unwrap_or(Ordering::Equal)
}

/// Whether an arm is not worse by more than the margin: one-sided at 5% for the pair.
fn does_as_much(design: &Design, question: &Question<'_>, arm: &Runs<'_>, best: &Runs<'_>) -> bool {
    let sample = Sample::of(&pairs(best, arm).differences());
    let bound = ErrorBound::new(design, 1).equivalence();
    let ends = sample.and_then(|sample| bound.interval(&sample));
    let least = -design.margin.unwrap_or(0.0).ln_1p();
    ends.is_some_and(|ends| signed(ends, question.better.sign())[0] > least)
}

/// Tail latencies of two arms, if that of the first is significantly shorter.
fn tails(evidence: &AdviceInput<'_, '_>, workload: &str, arms: [&Arm; 2]) -> Option<[f64; 2]> {
    let mut all = evidence.all.iter();
    let told = all.find(|one| one.workload == workload && one.metric == TAIL)?;
    let [own, other] = arms.map(|arm| told.find(arm));
    let pairs = pairs(other?, own?);
    let sample = Sample::of(&pairs.differences())?;
    let [_, high] = ErrorBound::new(evidence.design, 1).interval(&sample)?;
    (high < 0.0).then(|| pairs.means().map(f64::exp))
}
