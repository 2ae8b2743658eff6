//! What a study as a whole should be read with: drift, carry-over, order, noise (R2, R7, R10).

use std::collections::BTreeMap;

use assay_stats::{bonferroni, carry_over, slope};

use super::arms::{Question, Run};
use super::words;
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
    let mut told: Vec<Check> =
        questions.iter().filter_map(|question| drift(design, question, questions.len())).collect();
    let by_order = predecessors(questions);
    told.extend(
        questions.iter().filter_map(|question| carried(question, &by_order, questions.len())),
    );
    if told.is_empty() {
        told.push(check("drift", words::NO_DRIFT.to_owned()));
    }
    found.extend(told);
    found
}

/// Whether the baseline changed over the study.
fn drift(design: &Design, question: &Question<'_>, of: usize) -> Option<Check> {
    let runs: Vec<&Run> =
        question.baselines(design).next()?.first.values().filter(|run| !run.disturbed).collect();
    let points: Vec<(f64, f64)> =
        runs.iter().filter_map(|run| Some((f64::from(run.order?), run.level))).collect();
    if points.len() < FEWEST {
        return None;
    }
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    let line = slope(&x, &y)?;
    if line.p >= bonferroni(ALPHA, of) {
        return None;
    }
    let span =
        x.iter().copied().fold(f64::MIN, f64::max) - x.iter().copied().fold(f64::MAX, f64::min);
    let change = match question.scale {
        crate::quantity::Scale::Ratio => Some((line.slope * span).exp() - 1.0),
        crate::quantity::Scale::Difference => None,
    };
    Some(check(
        "drift",
        words::drift(question.workload, question.metric, change, line.p, design.order),
    ))
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

/// Whether the arm that ran before makes a difference to the one that runs after it.
fn carried(question: &Question<'_>, by_order: &BTreeMap<u32, &Arm>, of: usize) -> Option<Check> {
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
    let test = carry_over(&levels, &arms, &before, &replicates)?;
    (test.p < bonferroni(CARRY_OVER, of))
        .then(|| check("carry-over", words::carry_over(question.workload, test.p)))
}
