//! Notes on a comparison: what a reader has to know before believing it (R4, R11).

use assay_core::quantity::{Better, Scale};
use assay_core::stats::fisher_exact;
use assay_study::findings::notes::{Failures, Note, NoteSide};
use assay_study::findings::{Comparison, Trust};
use assay_study::results::design::{ALPHA, Design};

use super::arms::{Question, Runs, Sides};
use super::pairs::Pairs;

/// Fewest pairs with which a distribution-free test reaches 5% (R4).
pub(super) const SETTLED: usize = 6;

/// The notes that follow from the trials of both sides and the design.
pub(super) fn notes(
    design: &Design,
    question: &Question<'_>,
    Sides { baseline, arm }: Sides<'_, '_>,
    pairs: &Pairs,
    found: &Comparison,
) -> Vec<Note> {
    let sides = [(NoteSide::Baseline, baseline), (NoteSide::Arm, arm)];
    let mut notes: Vec<Note> = Vec::new();
    for (of, runs) in sides {
        let trust = runs.trust.filter(|trust| *trust != Trust::Trusted);
        notes.extend(trust.map(|trust| Note::Trust { of, trust }));
    }
    notes.extend(failures(baseline, arm));
    if design.margin.is_none() {
        notes.push(Note::RatioOnly { pairs: found.n });
    } else if !question.primary {
        notes.push(Note::Secondary);
    } else {
        notes.extend(weakness(design, found.n));
    }
    let left_out = pairs.all.len().saturating_sub(pairs.undisturbed.len());
    notes.extend((left_out > 0).then_some(Note::LeftOut { pairs: left_out }));
    if question.scale == Scale::Ratio {
        notes.extend(sides.iter().find_map(|(of, runs)| values_without_ratio(*of, runs)));
    }
    notes.extend(sides.iter().filter_map(|(of, runs)| bad_outliers(*of, question.better, runs)));
    notes
}

/// Why the pairs of a comparison are weak evidence: their order or number; `None` if they are not.
fn weakness(design: &Design, pairs: usize) -> Option<Note> {
    match pairs {
        _ if !design.order.tells_arms_from_time() => Some(Note::NoOrder { order: design.order }),
        0..=2 => Some(Note::TooFew { pairs }),
        _ if pairs < SETTLED => Some(Note::Provisional { pairs }),
        _ => None,
    }
}

/// Failed trials, and whether one arm fails more often (Fisher's exact test).
fn failures(baseline: &Runs<'_>, arm: &Runs<'_>) -> Option<Note> {
    let (started, failed) = arm.started_and_failed();
    let (base_started, base_failed) = baseline.started_and_failed();
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

fn values_without_ratio(of: NoteSide, runs: &Runs<'_>) -> Option<Note> {
    let counting = runs.trials.iter().filter(|trial| trial.status.counts());
    let trials = counting.filter(|trial| trial.value.is_some_and(|value| value <= 0.0)).count();
    (trials > 0).then_some(Note::NoRatio { of, trials })
}

/// Outliers on the bad side: the interval does not show how often they occur (R4).
fn bad_outliers(of: NoteSide, better: Better, runs: &Runs<'_>) -> Option<Note> {
    let levels: Vec<f64> = runs.first.values().map(|run| run.level).collect();
    let median = assay_core::stats::median(&levels)?;
    let is_bad = |level: f64| match better {
        Better::Higher => level < median,
        Better::Lower => level > median,
        Better::Unknown => false,
    };
    let outliers = runs.first.values().filter(|run| run.outlier && !run.disturbed);
    let trials = outliers.filter(|run| is_bad(run.level)).count();
    (trials > 0).then_some(Note::FarOff { of, trials, all: runs.first.len() })
}
