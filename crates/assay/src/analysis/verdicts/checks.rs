//! What a study as a whole should be read with: drift, carry-over, order, noise (R2, R7, R10).

use std::collections::BTreeMap;

use assay_stats::{FTest, Slope, bonferroni, carry_over, slope};

use super::arms::{Question, Runs};
use super::words;
use crate::quantity::Scale;
use crate::results::design::{ALPHA, Design, Order};
use crate::results::findings::{Check, NoiseFloor};
use crate::results::plan::Arm;

/// Error at which a carry-over is told (R10).
const CARRY_OVER: f64 = 0.01;

/// Replicates below which neither can be seen.
const FEWEST: usize = 3;

fn check(name: &str, text: String) -> Check {
    Check { name: name.to_owned(), text }
}

/// All checks of a study that compares arms.
pub(super) fn checks(
    design: &Design,
    questions: &[&Question<'_>],
    floor: Option<&NoiseFloor>,
) -> Vec<Check> {
    let compares = questions.iter().any(|question| question.arms.len() > 1);
    if design.margin.is_none() || !compares {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(
        floor.filter(|floor| floor.different).map(|floor| check("noise-floor", floor.text.clone())),
    );
    if design.order == Order::Sequential {
        found.push(check("sequential", words::SEQUENTIAL_STUDY.to_owned()));
    }
    let ordered = questions.iter().any(|question| {
        question.arms.iter().flat_map(|runs| runs.first.values()).any(|run| run.order.is_some())
    });
    if !ordered {
        found.push(check("drift", words::NO_ORDER.to_owned()));
        return found;
    }
    let baselines = questions.iter().map(|question| question.baselines(design).count()).sum();
    let lines: Vec<_> = questions
        .iter()
        .filter_map(|question| Some((*question, clearest_line(design, question)?)))
        .collect();
    let by_order = predecessors(questions);
    let tests: Vec<_> = questions
        .iter()
        .filter_map(|question| Some((*question, carried(question, &by_order)?)))
        .collect();
    let drifts = lines.iter().filter(|(_, (line, _))| line.p < bonferroni(ALPHA, baselines));
    let mut told: Vec<Check> =
        drifts.map(|(question, line)| drift(design, question, line)).collect();
    let clear = tests.iter().filter(|(_, test)| test.p < bonferroni(CARRY_OVER, questions.len()));
    told.extend(
        clear.map(|(question, test)| {
            check("carry-over", words::carry_over(question.workload, test.p))
        }),
    );
    if told.is_empty() {
        told.push(check(
            "drift",
            unseen(design, questions, [!lines.is_empty(), !tests.is_empty()]),
        ));
    }
    found.extend(told);
    found
}

/// Arms that are invalid stand in the table and nowhere else.
pub(super) fn left_out(all: &[&Question<'_>], sound: &[&Question<'_>]) -> Option<Check> {
    let count = |questions: &[&Question<'_>]| -> usize {
        questions.iter().map(|question| question.arms.len()).sum()
    };
    let invalid = count(all) - count(sound);
    (invalid > 0).then(|| check("invalid", words::left_out(invalid)))
}

/// What may be said where nothing was seen: only of what could be looked for.
fn unseen(design: &Design, questions: &[&Question<'_>], looked: [bool; 2]) -> String {
    let two =
        questions.iter().all(|question| question.arms.len() == 2 && question.control.is_none());
    match looked {
        _ if design.order == Order::Sequential => words::NO_DRIFT_SEQUENTIAL,
        [true, true] => words::NO_DRIFT,
        [true, false] if two && design.order == Order::Chained => words::TWO_CHAINED,
        [true, false] => words::NO_DRIFT_ALONE,
        [false, true] => words::NO_CARRY_OVER_ALONE,
        [false, false] => words::TOO_FEW,
    }
    .to_owned()
}

/// Of all baselines of a workload the one that changes most clearly.
fn clearest_line(design: &Design, question: &Question<'_>) -> Option<(Slope, f64)> {
    let lines = question.baselines(design).filter_map(line);
    lines.min_by(|(one, _), (other, _)| one.p.total_cmp(&other.p))
}

/// A baseline over the study: its slope, and from its first trial to its last.
fn line(baseline: &Runs<'_>) -> Option<(Slope, f64)> {
    let points: Vec<(f64, f64)> = baseline
        .first
        .values()
        .filter(|run| !run.disturbed)
        .filter_map(|run| Some((f64::from(run.order?), run.level)))
        .collect();
    if points.len() < FEWEST {
        return None;
    }
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    let ends = x.iter().fold([f64::MAX, f64::MIN], |[low, high], x| [low.min(*x), high.max(*x)]);
    Some((slope(&x, &y)?, ends[1] - ends[0]))
}

/// A baseline that changed over the study.
fn drift(design: &Design, question: &Question<'_>, (line, span): &(Slope, f64)) -> Check {
    let change = match question.scale {
        Scale::Ratio => Some((line.slope * span).exp() - 1.0),
        Scale::Difference => None,
    };
    check("drift", words::drift(question.workload, question.metric, change, line.p, design.order))
}

/// The arm that ran before each position in time, over all workloads.
fn predecessors<'a>(questions: &[&Question<'a>]) -> BTreeMap<u32, &'a Arm> {
    let mut arms = BTreeMap::new();
    for question in questions {
        for runs in question.arms.iter().chain(&question.control) {
            let orders = runs.trials.iter().filter_map(|trial| trial.order);
            arms.extend(orders.map(|order| (order, runs.arm)));
        }
    }
    arms
}

/// Whether the arm that ran before makes a difference to the one that runs after it; none where
/// the order does not tell.
fn carried(question: &Question<'_>, by_order: &BTreeMap<u32, &Arm>) -> Option<FTest> {
    let names: Vec<&Arm> = question.arms.iter().map(|runs| runs.arm).collect();
    let index = |arm: &Arm| names.iter().position(|name| *name == arm);
    let (mut levels, mut arms, mut before, mut replicates) = (vec![], vec![], vec![], vec![]);
    for (arm, runs) in question.arms.iter().enumerate() {
        for (replicate, run) in &runs.first {
            let order = run.order.filter(|_| !run.disturbed).and_then(|order| order.checked_sub(1));
            let Some(previous) = order.and_then(|order| index(by_order.get(&order)?)) else {
                continue;
            };
            levels.push(run.level);
            arms.push(arm);
            before.push(previous);
            replicates.push(*replicate as usize);
        }
    }
    carry_over(&levels, &arms, &before, &replicates)
}
