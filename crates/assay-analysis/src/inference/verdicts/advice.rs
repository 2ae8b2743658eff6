//! What to do: the best arm of each workload, as a candidate until fresh trials confirm it; levels
//! that are surely worse; and trade-offs, where workloads disagree.

use std::collections::BTreeSet;

use assay_study::findings::{Advice, AdviceKind, AdviceStatus, Comparison, Effect, Rank, Verdict};
use assay_study::plan::arms::matches;
use assay_study::results::design::Design;
use assay_study::results::plan::Arm;

use super::arms::Question;
use super::contrasts::{Contrast, contrasts, is_other_work};
use super::noise::{Reach, reach};
use super::tied::{self, Tied};
use super::words_of_advice as words;

/// How far the numbers have been confirmed, and whether they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Measured,
    Imported,
    Together,
    /// Fresh trials of an earlier study's winner.
    Confirming,
}

pub(super) struct Evidence<'a, 'q> {
    pub design: &'a Design,
    /// Questions about the primary metric, without invalid numbers.
    pub questions: &'a [&'a Question<'q>],
    pub all: &'a [Question<'q>],
    pub comparisons: &'a [Comparison],
    pub effects: &'a [Effect],
    pub ranks: &'a [Rank],
    /// Arms that a question of the study asks for, each with its workload.
    pub knees: &'a [(String, Arm)],
    /// Levels of which no number is there, as `factor=level`.
    pub unmeasured: &'a [String],
}

/// One candidate a workload at most, then what is advised against, then trade-offs. Differences
/// that two identical arms may show on this bench, or that the margin declares to be nothing,
/// advise nothing.
pub(super) fn advice(evidence: &Evidence<'_, '_>, stage: Stage) -> Vec<Advice> {
    let told = |sentence: String, more: &str, ids: Vec<String>, kind| Advice {
        text: format!("{sentence}{more}"),
        sentence,
        evidence: ids,
        status: match stage {
            Stage::Confirming => AdviceStatus::Confirmed,
            Stage::Measured | Stage::Imported | Stage::Together => AdviceStatus::Candidate,
        },
        kind,
        lines: Vec::new(),
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

/// Whether an arm has the last level of a factor of numbers: what lies beyond may be better still.
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

/// The arm that is better than its baseline and that no other arm, other baselines included,
/// clearly beats. The best of many looks better than it is (R5): where one of these is what the study asks
/// for, it is that one; else the smallest that does as much.
fn best<'a>(
    evidence: &Evidence<'a, '_>,
    question: &Question<'_>,
) -> Option<(&'a Comparison, Option<Tied<'a>>)> {
    let reach = reach(evidence.design, question);
    let better = evidence.comparisons.iter().filter(|found| {
        found.primary
            && found.workload == question.workload
            && found.verdict == Some(Verdict::Better)
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
        let same = |(workload, arm): &(String, Arm)| {
            *workload == found.workload && *arm == found.configuration
        };
        evidence.knees.iter().any(same)
    };
    if let Some(asked) = unbeaten.clone().find(is_asked_for) {
        return Some((asked, None));
    }
    Some(tied::smallest(evidence, question, unbeaten.next()?, better.clone()))
}

/// Whether a ratio is one that two identical arms would not show here.
fn is_beyond(found: &Comparison, reach: Option<Reach>) -> bool {
    let Some((reach, ratio)) = reach.zip(found.ratio) else { return true };
    reach.is_passed_by(ratio, found.ci95_simultaneous)
}

/// How much better an arm is, by its estimate; only comparisons of one metric are held together.
fn gain(found: &Comparison) -> f64 {
    let amount = match (&found.difference, found.ratio) {
        (Some(difference), _) => difference.value,
        (None, Some(ratio)) => ratio.ln(),
        (None, None) => 0.0,
    };
    found.better.sign() * amount
}

/// Levels that are better in one workload and worse in another, each with all that tells so.
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
    /// Than its baseline.
    Level(&'a Contrast),
    /// The baseline itself, than each of these.
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

/// What is surely worse, one entry a level with each workload that tells so.
fn against<'a>(contrasts: &'a [Contrast], torn: &BTreeSet<&Arm>) -> Vec<Vec<Bad<'a>>> {
    let bad = contrasts.iter().filter(|one| one.is_bad());
    let levels = bad.filter(|one| !torn.contains(&one.what));
    let found = levels.map(Bad::Level).chain(bad_baselines(contrasts, torn));
    let mut grouped: Vec<Vec<Bad<'a>>> = Vec::new();
    for bad in found {
        match grouped.iter_mut().find(|known| known[0].level() == bad.level()) {
            Some(known) => known.push(bad),
            None => grouped.push(vec![bad]),
        }
    }
    grouped
}

/// Baselines that everything else surely beats; not where each of those is worse elsewhere.
fn bad_baselines<'a>(contrasts: &'a [Contrast], torn: &BTreeSet<&Arm>) -> Vec<Bad<'a>> {
    let mut groups: Vec<Vec<&Contrast>> = Vec::new();
    for one in contrasts {
        let own = |known: &&mut Vec<&Contrast>| {
            known[0].workload == one.workload && known[0].than == one.than
        };
        match groups.iter_mut().find(own) {
            Some(known) => known.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.retain(|group| {
        let beaten = group.iter().all(|one| one.verdict == Verdict::Better && one.sure);
        beaten && group.iter().any(|one| !torn.contains(&one.what))
    });
    groups.into_iter().map(Bad::Baseline).collect()
}
