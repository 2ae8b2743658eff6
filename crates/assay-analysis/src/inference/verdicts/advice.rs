//! Advice: the best arm per workload as a candidate, levels to avoid, and trade-offs between workloads.

use std::{cmp::Ordering, collections::BTreeSet};

use assay_core::{quantity::level_number, stats::Sample};
use assay_study::findings::{Advice, AdviceKind, AdviceStatus, Comparison, Effect, Rank, Verdict};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Design, Factor};
use assay_study::results::plan::Arm;

use super::arms::{Question, Runs};
use super::bound::ErrorBound;
use super::contrasts::{Contrast, contrasts, is_other_work};
use super::noise::{Reach, reach};
use super::pairs::{pairs, signed_interval};
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

/// One candidate per workload, then levels to avoid, then trade-offs; none for differences within noise or margin.
pub(super) fn advice(evidence: &AdviceInput<'_, '_>, stage: AdviceStage) -> Vec<Advice> {
    let status = match stage {
        AdviceStage::Confirming => AdviceStatus::Confirmed,
        AdviceStage::Measured | AdviceStage::Imported | AdviceStage::Together => {
            AdviceStatus::Candidate
        }
    };
    let new_advice = |sentence: String, more: &str, evidence: Vec<String>, kind| {
        let text = format!("{sentence}{more}");
        Advice { text, sentence, evidence, status, kind, lines: Vec::new() }
    };
    let contrasts = contrasts(evidence);
    let trade_offs = trade_offs(&contrasts);
    let traded: BTreeSet<&Arm> = trade_offs.iter().flatten().map(|one| &one.levels).collect();
    let mut advice = Vec::new();
    for question in evidence.questions {
        let Some((best, tied)) = best_arm(evidence, question) else { continue };
        // A trade-off already names its level.
        if traded.iter().any(|levels| matches(&best.configuration, levels)) {
            continue;
        }
        let suspect =
            question.is_suspect(&best.configuration) || question.is_suspect(&best.baseline);
        let end = end_of_range(evidence.design, &best.configuration);
        let tied = tied.map(|tied| words::tie_words(evidence.design, &tied)).unwrap_or_default();
        let sentence = words::use_words(evidence.design, best, stage, suspect, end, &tied);
        let more = words::caveats(stage, evidence.unmeasured);
        advice.push(new_advice(sentence, &more, vec![best.id.clone()], AdviceKind::Use));
    }
    for bad in levels_to_avoid(&contrasts, &traded) {
        let ids = bad.iter().flat_map(BadArm::ids).cloned().collect();
        advice.push(new_advice(words::avoid_words(&bad), "", ids, AdviceKind::Avoid));
    }
    for trade_off in &trade_offs {
        let ids = trade_off.iter().map(|one| one.id.clone()).collect();
        advice.push(new_advice(words::trade_off_words(trade_off), "", ids, AdviceKind::TradeOff));
    }
    advice
}

/// Which end of a numeric factor an arm is at, if any: a level beyond may be better.
fn end_of_range(design: &Design, arm: &Arm) -> Option<&'static str> {
    const FEWEST: usize = 3;
    design.factors.iter().filter(|factor| factor.levels.len() >= FEWEST).find_map(|factor| {
        let levels = factor.levels.iter().map(|level| level.parse().ok());
        let levels = levels.collect::<Option<Vec<f64>>>()?;
        let level: f64 = arm.get(&factor.name)?.parse().ok()?;
        if levels.iter().all(|other| *other <= level) {
            return Some("largest");
        }
        levels.iter().all(|other| *other >= level).then_some("smallest")
    })
}

/// The arm to advise: better than its baseline and not significantly beaten. Of several, an arm that a question of the
/// study names (a knee), else the smallest one near the best: the best of many looks too good (R5).
fn best_arm<'a>(
    evidence: &AdviceInput<'a, '_>,
    question: &Question<'_>,
) -> Option<(&'a Comparison, Option<Tied<'a>>)> {
    let reach = reach(evidence.design, question);
    let better = evidence.of_workload(question).filter(|comparison| {
        comparison.verdict == Some(Verdict::Better)
            && !comparison.within_margin
            && !is_other_work(&comparison.configuration, &comparison.baseline)
            && is_beyond(comparison, reach)
    });
    let Some(rank) = evidence.ranks.iter().find(|rank| rank.workload == question.workload) else {
        let best = better.max_by(|one, other| gain(one).total_cmp(&gain(other)))?;
        return Some((best, None));
    };
    let first_ranks = rank.ranks.iter().filter(|place| place.rank_range[0] == 1);
    let mut unbeaten = first_ranks.filter_map(|place| {
        better.clone().find(|comparison| comparison.configuration == place.configuration)
    });
    let is_knee = |comparison: &&Comparison| {
        let (workload, arm) = (&comparison.workload, &comparison.configuration);
        evidence.knees.iter().any(|knee| (&knee.0, &knee.1) == (workload, arm))
    };
    if let Some(knee) = unbeaten.clone().find(is_knee) {
        return Some((knee, None));
    }
    Some(smallest_equivalent(evidence, question, unbeaten.next()?, better.clone()))
}

/// Whether a ratio is beyond the noise floor of two identical arms.
fn is_beyond(found: &Comparison, reach: Option<Reach>) -> bool {
    let Some((reach, ratio)) = reach.zip(found.ratio) else { return true };
    reach.is_exceeded_by(ratio, found.ci95_simultaneous)
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
fn trade_offs(contrasts: &[Contrast]) -> Vec<Vec<&Contrast>> {
    let mut trade_offs: Vec<Vec<&Contrast>> = Vec::new();
    for better in contrasts.iter().filter(|one| one.verdict == Verdict::Better) {
        if trade_offs.iter().any(|known| known[0].levels == better.levels) {
            continue;
        }
        let mut same_levels: Vec<&Contrast> = contrasts.iter().collect();
        same_levels
            .retain(|other| other.levels == better.levels && other.baseline == better.baseline);
        if same_levels.iter().any(|other| other.verdict == Verdict::Worse) {
            trade_offs.push(same_levels);
        }
    }
    trade_offs
}

pub(super) enum BadArm<'a> {
    Level(&'a Contrast),
    /// The baseline, which is worse than each of these.
    Baseline(Vec<&'a Contrast>),
}

impl BadArm<'_> {
    fn level(&self) -> &Arm {
        match self {
            Self::Level(one) => &one.levels,
            Self::Baseline(all) => &all[0].baseline,
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
fn levels_to_avoid<'a>(contrasts: &'a [Contrast], traded: &BTreeSet<&Arm>) -> Vec<Vec<BadArm<'a>>> {
    let levels = contrasts.iter().filter(|one| one.is_bad() && !traded.contains(&one.levels));
    let bad = levels.map(BadArm::Level).chain(bad_baselines(contrasts, traded));
    grouped(bad, |one, other| one.level() == other.level())
}

/// Baselines that every other arm beats significantly, unless each of those arms is worse elsewhere.
fn bad_baselines<'a>(contrasts: &'a [Contrast], traded: &BTreeSet<&Arm>) -> Vec<BadArm<'a>> {
    let mut groups = grouped(contrasts, |one, other| {
        one.workload == other.workload && one.baseline == other.baseline
    });
    groups.retain(|group| {
        let is_beaten = group.iter().all(|one| one.verdict == Verdict::Better && one.beyond_margin);
        is_beaten && group.iter().any(|one| !traded.contains(&one.levels))
    });
    groups.into_iter().map(BadArm::Baseline).collect()
}

/// The tail latency to report if it is significantly shorter.
const TAIL: &str = "latency_p99_ns";

pub(super) struct Tied<'a> {
    pub best: &'a Arm,
    /// Tail latencies of both, the recommended arm first.
    pub tails: Option<[f64; 2]>,
}

/// The smallest arm that is within the margin of the best, and the arm that it replaces; else the best.
pub(super) fn smallest_equivalent<'a>(
    evidence: &AdviceInput<'_, '_>,
    question: &Question<'_>,
    best: &'a Comparison,
    others: impl Iterator<Item = &'a Comparison>,
) -> (&'a Comparison, Option<Tied<'a>>) {
    let (design, best_arm) = (evidence.design, &best.configuration);
    let Some(best_runs) = question.find(best_arm) else { return (best, None) };
    let tied = others.filter(|other| {
        let arm = &other.configuration;
        let runs = question.find(arm).filter(|_| arm != best_arm && is_smaller(arm, best_arm));
        runs.is_some_and(|runs| is_as_good(design, question, runs, best_runs))
            && !is_other_work(arm, best_arm)
    });
    let smallest =
        tied.min_by(|one, other| compare_levels(design, &one.configuration, &other.configuration));
    let Some(smallest) = smallest else { return (best, None) };
    let tails = p99_tails(evidence, question.workload, [&smallest.configuration, best_arm]);
    (smallest, Some(Tied { best: best_arm, tails }))
}

/// Whether an arm differs from another only by smaller numbers.
fn is_smaller(arm: &Arm, than: &Arm) -> bool {
    let is_less = |(name, level): (&String, &String)| {
        let [level, other] = [Some(level), than.get(name)].map(|level| level_number(level?));
        level.zip(other).is_some_and(|(level, other)| level < other)
    };
    let mut changed = arm.iter().filter(|(name, level)| than.get(*name) != Some(*level)).peekable();
    changed.peek().is_some() && changed.all(is_less)
}

/// Orders arms by the first factor whose numeric levels differ.
fn compare_levels(design: &Design, one: &Arm, other: &Arm) -> Ordering {
    let levels = |factor: &Factor| {
        let [one, other] = [one, other].map(|arm| level_number(arm.get(&factor.name)?));
        Some(one?.total_cmp(&other?)).filter(|order| order.is_ne())
    };
    design.factors.iter().find_map(levels).unwrap_or(Ordering::Equal)
}

/// Whether an arm is not worse by more than the margin: one-sided at 5% for the pair.
fn is_as_good(design: &Design, question: &Question<'_>, arm: &Runs<'_>, best: &Runs<'_>) -> bool {
    let sample = Sample::of(&pairs(best, arm).differences());
    let bound = ErrorBound::new(design, 1).equivalence();
    let ends = sample.and_then(|sample| bound.interval(&sample));
    let least = -design.margin.unwrap_or(0.0).ln_1p();
    ends.is_some_and(|ends| signed_interval(ends, question.better.sign())[0] > least)
}

/// Mean p99 of two arms; `None` unless that of the first is significantly shorter. Means are of logarithms.
fn p99_tails(evidence: &AdviceInput<'_, '_>, workload: &str, arms: [&Arm; 2]) -> Option<[f64; 2]> {
    let [shorter, longer] = arms;
    let mut questions = evidence.all.iter();
    let tails = questions.find(|one| one.workload == workload && one.metric == TAIL)?;
    let paired = pairs(tails.find(longer)?, tails.find(shorter)?);
    let sample = Sample::of(&paired.differences())?;
    let [_, high] = ErrorBound::new(evidence.design, 1).interval(&sample)?;
    (high < 0.0).then(|| paired.means().map(f64::exp))
}
