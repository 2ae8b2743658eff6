//! Notes on a comparison: what a reader has to know before believing it (R4, R11).

use assay_core::quantity::{Better, Scale};
use assay_core::stats::fisher_exact;
use assay_study::findings::notes::{Failures, Note, NoteSide};
use assay_study::findings::{Comparison, TrialValue, Trust};
use assay_study::results::design::{ALPHA, Design};

use super::arms::{Question, Runs, Sides};
use super::pairs::Pairs;

/// Fewest pairs with which a distribution-free test reaches 5% (R4).
pub(super) const SETTLED: usize = 6;

pub(super) fn notes(
    design: &Design,
    question: &Question<'_>,
    Sides { baseline, arm }: Sides<'_, '_>,
    pairs: &Pairs,
    found: &Comparison,
) -> Vec<Note> {
    let sides = [(NoteSide::Baseline, baseline), (NoteSide::Arm, arm)];
    let trust = sides.iter().filter_map(|(of, runs)| {
        let trust = runs.trust.filter(|trust| *trust != Trust::Trusted)?;
        Some(Note::Trust { of: *of, trust })
    });
    let mut told: Vec<Note> = trust.collect();
    told.extend(failures(baseline, arm));
    if design.margin.is_none() {
        told.push(Note::RatioOnly { pairs: found.n });
    } else if !question.primary {
        told.push(Note::Secondary);
    } else {
        told.extend(strength(design, found.n));
    }
    let left_out = pairs.all.len().saturating_sub(pairs.undisturbed.len());
    told.extend((left_out > 0).then_some(Note::LeftOut { pairs: left_out }));
    if question.scale == Scale::Ratio {
        told.extend(sides.iter().find_map(|(of, runs)| zeros(*of, runs)));
    }
    told.extend(sides.iter().filter_map(|(of, runs)| rare_slow(*of, question.better, runs)));
    told
}

fn strength(design: &Design, pairs: usize) -> Option<Note> {
    match pairs {
        _ if !design.order.tells_arms_from_time() => Some(Note::NoOrder { order: design.order }),
        0..=2 => Some(Note::TooFew { pairs }),
        _ if pairs < SETTLED => Some(Note::Provisional { pairs }),
        _ => None,
    }
}

/// Failed trials, and whether one arm fails more often (Fisher's exact test).
fn failures(baseline: &Runs<'_>, arm: &Runs<'_>) -> Option<Note> {
    let ((started, failed), (base_started, base_failed)) =
        (arm.started_and_failed(), baseline.started_and_failed());
    if failed + base_failed == 0 {
        return None;
    }
    let p = fisher_exact(failed, started, base_failed, base_started);
    let more = if failed * base_started > base_failed * started {
        NoteSide::Arm
    } else {
        NoteSide::Baseline
    };
    Some(Note::Failed {
        arm: Failures { failed, started },
        baseline: Failures { failed: base_failed, started: base_started },
        more: (p < ALPHA).then_some(more),
    })
}

fn zeros(of: NoteSide, runs: &Runs<'_>) -> Option<Note> {
    let counts = |trial: &&TrialValue| trial.status.counts();
    let zero = |trial: &&TrialValue| trial.value.is_some_and(|value| value <= 0.0);
    let trials = runs.trials.iter().filter(counts).filter(zero).count();
    (trials > 0).then_some(Note::NoRatio { of, trials })
}

/// Outliers on the bad side: the interval does not show how often they occur (R4).
fn rare_slow(of: NoteSide, better: Better, runs: &Runs<'_>) -> Option<Note> {
    let middle =
        assay_core::stats::median(&runs.first.values().map(|run| run.level).collect::<Vec<_>>())?;
    let bad = |level: f64| match better {
        Better::Higher => level < middle,
        Better::Lower => level > middle,
        Better::Unknown => false,
    };
    let stands = runs.first.values().filter(|run| run.outlier && !run.disturbed);
    let trials = stands.filter(|run| bad(run.level)).count();
    (trials > 0).then_some(Note::FarOff { of, trials, all: runs.first.len() })
}
