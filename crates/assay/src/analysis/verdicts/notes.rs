//! Remarks beside a comparison: what a reader has to know before believing it (R4, R11).

use assay_stats::fisher_exact;

use super::arms::{Question, Runs};
use super::pairs::Pairs;
use super::words::{self, short_words};
use crate::quantity::{Better, Scale};
use crate::results::design::{ALPHA, Design};
use crate::results::findings::{CellTrial, Comparison, Trust};
use crate::results::record::Status;

/// Pairs below which no test without an assumed distribution reaches 5 % (R4).
const SETTLED: usize = 6;

/// Pairs up to which no order keeps a disturbance that returns at a fixed distance out (R2c).
const FEW: usize = 4;

/// All remarks, the gravest first.
pub(super) fn notes(
    design: &Design,
    question: &Question<'_>,
    (baseline, arm): (&Runs<'_>, &Runs<'_>),
    pairs: &Pairs,
    found: &Comparison,
) -> Vec<String> {
    let mut told = Vec::new();
    for runs in [baseline, arm] {
        let word = match runs.trust {
            Some(Trust::Invalid) => "invalid",
            Some(Trust::Suspect) => "suspect",
            _ => continue,
        };
        told.push(format!("the number of {} is {word}", short_words(runs.arm, design)));
    }
    told.extend(failures(design, baseline, arm));
    if design.margin.is_none() {
        told.push(format!("ratio only: no verdict at {}", words::replicates(found.n)));
    } else if !question.primary {
        told.push("secondary, unadjusted".to_owned());
    } else {
        told.extend(strength(design, found));
    }
    let left_out = pairs.all.len().saturating_sub(pairs.undisturbed.len());
    if left_out > 0 {
        told.push(format!("{} left out", words::counted(left_out, "disturbed pair")));
    }
    if question.scale == Scale::Ratio {
        told.extend(zeros(design, baseline, arm));
    }
    for runs in [baseline, arm] {
        told.extend(rare_slow(design, question.better, runs));
    }
    told
}

/// How much so few pairs can say.
fn strength(design: &Design, found: &Comparison) -> Option<String> {
    match found.n {
        _ if !design.order.tells_arms_from_time() => {
            words::no_verdict(design.order).map(str::to_owned)
        }
        0 => Some("no complete and undisturbed pair".to_owned()),
        1 => Some("1 pair: no ratio and no interval".to_owned()),
        2 => Some("2 pairs: no interval".to_owned()),
        n if n < SETTLED => Some(format!(
            "provisional: with {n} pairs the interval rests on near-normal log ratios; no \
             distribution-free test reaches 5 % below {SETTLED}{}",
            if n <= FEW { "; a regular disturbance may look like a difference" } else { "" }
        )),
        _ => None,
    }
}

/// Failed trials, and whether one arm fails more often (Fisher's exact test).
fn failures(design: &Design, baseline: &Runs<'_>, arm: &Runs<'_>) -> Option<String> {
    let ((started, failed), (base_started, base_failed)) =
        (arm.started_and_failed(), baseline.started_and_failed());
    if failed + base_failed == 0 {
        return None;
    }
    let words = |runs: &Runs<'_>, started, failed| {
        let trials = if started == 1 { "trial" } else { "trials" };
        format!("{failed} of {started} {trials} of {}", short_words(runs.arm, design))
    };
    let p = fisher_exact(failed, started, base_failed, base_started);
    let more = if failed * base_started > base_failed * started { arm } else { baseline };
    let told = if p < ALPHA {
        format!("; {} fails more often", short_words(more.arm, design))
    } else {
        String::new()
    };
    Some(format!(
        "{} and {} failed{told}",
        words(arm, started, failed),
        words(baseline, base_started, base_failed)
    ))
}

/// Values that allow no ratio.
fn zeros(design: &Design, baseline: &Runs<'_>, arm: &Runs<'_>) -> Option<String> {
    let counts = |trial: &&CellTrial| matches!(trial.status, Status::Ok | Status::Disturbed);
    let zero = |trial: &&CellTrial| trial.value.is_some_and(|value| value <= 0.0);
    [baseline, arm].into_iter().find_map(|runs| {
        let zeros = runs.trials.iter().filter(counts).filter(zero).count();
        (zeros > 0).then(|| {
            let why = match zeros {
                1 => "gives no ratio: its value is not above zero",
                _ => "give no ratio: their values are not above zero",
            };
            let trials = words::counted(zeros, "trial");
            format!("{trials} of {} {why}", short_words(runs.arm, design))
        })
    })
}

/// Trials far off on the bad side: the interval does not know how often they come (R4).
fn rare_slow(design: &Design, better: Better, runs: &Runs<'_>) -> Option<String> {
    let middle =
        assay_stats::median(&runs.first.values().map(|run| run.level).collect::<Vec<_>>())?;
    let bad = |level: f64| match better {
        Better::Higher => level < middle,
        Better::Lower => level > middle,
    };
    let stands = runs.first.values().filter(|run| run.outlier && !run.disturbed);
    let slow = stands.filter(|run| bad(run.level)).count();
    (slow > 0).then(|| {
        format!(
            "{slow} of {} trials of {} {} far from the others on the bad side: the interval \
             understates the risk of such trials",
            runs.first.len(),
            short_words(runs.arm, design),
            if slow == 1 { "is" } else { "are" }
        )
    })
}
