//! Checks of the study as a whole: drift, carry-over, order, noise (R2, R7, R10).

use std::collections::{BTreeMap, HashMap};

use assay_core::quantity::Scale;
use assay_core::stats::{FTest, Slope, bonferroni, carry_over, carry_through, slope};
use assay_study::findings::{Check, NoiseFloor, RECORDED, SEQUENTIAL, UNORDERED};
use assay_study::results::design::{ALPHA, Design, LeadIn, Order};
use assay_study::results::{plan::Arm, record::Status};

use super::arms::{Question, Runs};
use super::{orders::Orders, words};

/// Significance level for reporting a carry-over effect (R10).
const CARRY_OVER: f64 = 0.01;
const POWER: f64 = 0.8;
const FEWEST_REPLICATES: usize = 3;

/// Checks whether noise, order, drift or carry-over affect the verdicts; none if there are no verdicts.
pub(super) fn verdict_checks(
    design: &Design,
    questions: &[&Question<'_>],
    floor: Option<&NoiseFloor>,
) -> Vec<Check> {
    let compares = questions.iter().any(|question| question.arms.len() > 1);
    if design.margin.is_none() || !compares {
        return Vec::new();
    }
    let floor = floor.filter(|floor| floor.different);
    let mut checks: Vec<Check> =
        floor.map(|floor| Check::new("noise-floor", floor.text.clone())).into_iter().collect();
    let without_verdict = match design.order {
        Order::Sequential => Some((SEQUENTIAL, words::SEQUENTIAL_STUDY)),
        Order::Unknown => Some((UNORDERED, words::UNORDERED_STUDY)),
        Order::Recorded => Some((RECORDED, words::RECORDED_STUDY)),
        Order::Random | Order::Chained | Order::Rcbd | Order::Crd => None,
    };
    checks.extend(without_verdict.map(|(name, text)| Check::new(name, text.to_owned())));
    if design.order == Order::Recorded {
        return checks;
    }
    let mut runs = questions.iter().flat_map(|question| &question.arms);
    if runs.any(|runs| runs.first.values().any(|run| run.order.is_some())) {
        checks.extend(drift_and_carry_over_checks(design, questions));
    } else {
        checks.push(Check::new("drift", words::NO_ORDER.to_owned()));
    }
    checks
}

/// Reports drift of the baselines and effects of one trial on the next; if there are none, what was detectable.
fn drift_and_carry_over_checks(design: &Design, questions: &[&Question<'_>]) -> Vec<Check> {
    // One test for drift per baseline; they share the error.
    let baselines = questions.iter().map(|question| question.baselines(design).count()).sum();
    let lines = test_each(questions, |question| most_significant_line(design, question));
    let mut checks: Vec<Check> = Vec::new();
    for (question, (line, span)) in &lines {
        if line.p < bonferroni(ALPHA, baselines) {
            checks.push(drift_check(design, question, line, *span));
        }
    }
    let by_order = number_arms(questions);
    let tests = test_each(questions, |question| carry_over_test(question, &by_order));
    let orders = test_each(questions, |question| Orders::new(design, question));
    let is_significant = |p: f64| p < bonferroni(CARRY_OVER, questions.len());
    let mut carry_over: Vec<String> = Vec::new();
    if design.order == Order::Random && design.lead_in == LeadIn::None {
        carry_over.push(words::UNGUARDED.to_owned());
    }
    for (question, test) in test_each(questions, |one| carry_through_test(one, &by_order)) {
        if is_significant(test.p) {
            carry_over.push(words::through_the_lead_in(question.workload, design.lead_in, test.p));
        }
    }
    for (question, orders) in orders.iter().filter(|(_, orders)| orders.differ()) {
        carry_over.push(words::carried_between(question.workload, orders.test.p));
    }
    for (question, test) in tests.iter().filter(|(_, test)| is_significant(test.p)) {
        carry_over.push(words::carry_over(question.workload, test.p));
    }
    let caveat = undetectable_carry_over(design, &tests, &orders);
    let drift_tested = !lines.is_empty();
    let carry_over_tested = !tests.is_empty() || !orders.is_empty();
    if checks.is_empty() && carry_over.is_empty() {
        let text = nothing_detected(design, questions, [drift_tested, carry_over_tested]);
        checks.push(Check::new("drift", text + &caveat));
    } else if carry_over_tested && carry_over.is_empty() {
        carry_over.push(words::NO_CARRY_OVER.to_owned() + &caveat);
    }
    checks.extend(carry_over.into_iter().map(|text| Check::new("carry-over", text)));
    checks
}

/// Runs `test` on each question; returns those with a result.
fn test_each<'q, 'a, T>(
    questions: &[&'q Question<'a>],
    test: impl Fn(&'q Question<'a>) -> Option<T>,
) -> Vec<(&'q Question<'a>, T)> {
    questions.iter().filter_map(|question| Some((*question, test(question)?))).collect()
}

/// Reports the invalid arms, which are only in the table.
pub(super) fn invalid_arms_check(all: &[&Question<'_>], sound: &[&Question<'_>]) -> Option<Check> {
    let count = |questions: &[&Question<'_>]| -> usize {
        let known = questions.iter().filter(|question| question.better.is_known());
        known.map(|question| question.arms.len()).sum()
    };
    let invalid = count(all) - count(sound);
    (invalid > 0).then(|| Check::new("invalid", words::left_out(invalid)))
}

/// The text if nothing was detected; `tested` says whether drift and carry-over could be tested.
fn nothing_detected(design: &Design, questions: &[&Question<'_>], tested: [bool; 2]) -> String {
    let two = questions.iter().all(|one| one.arms.len() == 2 && one.control.is_none());
    match tested {
        _ if design.order == Order::Sequential => words::NO_DRIFT_SEQUENTIAL,
        [true, true] => words::NO_DRIFT,
        [true, false] if two && design.order == Order::Chained => words::TWO_CHAINED,
        [true, false] if two && design.order == Order::Random => words::TWO_RANDOM,
        [true, false] => words::NO_DRIFT_ALONE,
        [false, true] => words::NO_CARRY_OVER_ALONE,
        [false, false] => words::TOO_FEW,
    }
    .to_owned()
}

/// The smallest carry-over effect detectable in every workload, in words; empty if no metric has a ratio.
fn undetectable_carry_over(
    design: &Design,
    tests: &[(&Question<'_>, FTest)],
    orders: &[(&Question<'_>, Orders)],
) -> String {
    let alpha = bonferroni(CARRY_OVER, tests.len());
    let tests = tests.iter().filter(|(question, _)| question.scale == Scale::Ratio);
    let tests = tests.map(|(_, test)| test.detectable(alpha, POWER).unwrap_or(f64::INFINITY));
    if let Some(effect) = tests.reduce(f64::max) {
        return words::missed_carry_over(design, effect.exp_m1(), "a carry-over effect");
    }
    let orders = orders.iter().filter(|(question, _)| question.scale == Scale::Ratio);
    let orders = orders.map(|(_, orders)| orders.detectable(POWER).unwrap_or(f64::INFINITY));
    match orders.reduce(f64::max) {
        Some(effect) => words::missed_carry_over(design, effect.exp_m1(), "an order effect"),
        None => String::new(),
    }
}

/// The baseline of a workload with the most significant slope.
fn most_significant_line(design: &Design, question: &Question<'_>) -> Option<(Slope, f64)> {
    let lines = question.baselines(design).filter_map(baseline_line);
    lines.min_by(|(one, _), (other, _)| one.p.total_cmp(&other.p))
}

/// A baseline over the study: its slope, and the time from its first trial to its last.
fn baseline_line(baseline: &Runs<'_>) -> Option<(Slope, f64)> {
    let undisturbed = baseline.first.values().filter(|run| !run.disturbed);
    let points = undisturbed.filter_map(|run| Some((f64::from(run.order?), run.level)));
    let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
    if x.len() < FEWEST_REPLICATES {
        return None;
    }
    let ends = x.iter().fold([f64::MAX, f64::MIN], |[low, high], x| [low.min(*x), high.max(*x)]);
    Some((slope(&x, &y)?, ends[1] - ends[0]))
}

fn drift_check(design: &Design, question: &Question<'_>, line: &Slope, span: f64) -> Check {
    let change = match question.scale {
        Scale::Ratio => Some((line.slope * span).exp() - 1.0),
        Scale::Difference => None,
    };
    let text = words::drift(question.workload, question.metric, change, line.p, design.order);
    Check::new("drift", text)
}

struct Neighbours<'a> {
    arms: BTreeMap<&'a Arm, usize>,
    /// By position: the number of the arm that ran there, and whether it was a warm-up.
    at: HashMap<u32, (usize, bool)>,
}

/// Numbers the arms of all questions, A/A controls included, and notes which arm ran at each position.
fn number_arms<'a>(questions: &[&Question<'a>]) -> Neighbours<'a> {
    let (mut arms, mut at) = (BTreeMap::new(), HashMap::new());
    for question in questions {
        for runs in question.arms.iter().chain(&question.control) {
            let next = arms.len();
            let number = *arms.entry(runs.arm).or_insert(next);
            for trial in runs.trials {
                let is_warmup = trial.status == Status::Warmup;
                at.extend(trial.order.map(|order| (order, (number, is_warmup))));
            }
        }
    }
    Neighbours { arms, at }
}

/// Trials with an arm before them: the value of each, its arm, the arm before it, and its replicate.
#[derive(Default)]
struct Followers {
    levels: Vec<f64>,
    arms: Vec<usize>,
    before: Vec<usize>,
    replicates: Vec<usize>,
}

impl Followers {
    /// The undisturbed first runs whose position has an arm before it: `arm_before` returns its index for a position.
    fn new(question: &Question<'_>, arm_before: impl Fn(u32) -> Option<usize>) -> Self {
        let mut found = Self::default();
        for (arm, runs) in question.arms.iter().enumerate() {
            for (replicate, run) in runs.first.iter() {
                let order = run.order.filter(|_| !run.disturbed);
                let Some(before) = order.and_then(&arm_before) else { continue };
                found.levels.push(run.level);
                found.arms.push(arm);
                found.before.push(before);
                found.replicates.push(*replicate as usize);
            }
        }
        found
    }
}

impl<'a> Neighbours<'a> {
    /// By number of an arm: its index in the question; `None` for arms of other questions and for the control.
    fn indexes_in(&self, question: &Question<'a>) -> Vec<Option<usize>> {
        let mut indexes = vec![None; self.arms.len()];
        for (index, runs) in question.arms.iter().enumerate() {
            if let Some(number) = self.arms.get(runs.arm) {
                indexes[*number] = Some(index);
            }
        }
        indexes
    }
}

/// Tests whether the previous arm affects a trial; `None` if the order cannot show it.
fn carry_over_test<'a>(question: &Question<'a>, around: &Neighbours<'a>) -> Option<FTest> {
    let indexes = around.indexes_in(question);
    let previous_arm = |order: u32| {
        let (arm, _) = around.at.get(&order.checked_sub(1)?)?;
        indexes[*arm]
    };
    let trials = Followers::new(question, previous_arm);
    carry_over(&trials.levels, &trials.arms, &trials.before, &trials.replicates)
}

/// Tests whether the last arm of a replicate affects the first trial of the next one despite the warm-up (R2c).
fn carry_through_test<'a>(question: &Question<'a>, around: &Neighbours<'a>) -> Option<FTest> {
    let indexes = around.indexes_in(question);
    // One past the last arm: a trial without a warm-up before it.
    let no_warmup = question.arms.len();
    let is_warmup = |order: u32| around.at.get(&order).is_some_and(|(_, is_warmup)| *is_warmup);
    let arm_before_warmup = |order: u32| {
        let Some(warmup) = order.checked_sub(1).filter(|previous| is_warmup(*previous)) else {
            return Some(no_warmup);
        };
        let (arm, _) = around.at.get(&warmup.checked_sub(1)?)?;
        indexes[*arm]
    };
    let trials = Followers::new(question, arm_before_warmup);
    let follows_warmup: Vec<usize> =
        trials.before.iter().map(|before| usize::from(*before != no_warmup)).collect();
    carry_through(&trials.levels, &trials.arms, &trials.before, &follows_warmup, &trials.replicates)
}
