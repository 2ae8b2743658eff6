//! Answers to the claims of a study, from the same pairs, ranks and slopes as its verdicts, never from a bare maximum.
//! The cases of a claim share its error; two compared arms have the wider of both intervals.

use std::borrow::Cow;

use assay_core::quantity::{Better, Scale, level_number};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, median};
use assay_study::file::Amount;
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::{AbsentCell, Comparison, Trust, measurements::Series};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Ask, AskKind, Design, Factor};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::record::Status;
use assay_workloads::metrics::is_of_speed;

use super::arms::{Question, Runs};
use super::pairs::{pairs, signed_interval};
use super::ranks::{BestArm, could_be_best, mean, own_levels};
use super::trends::{other_settings, slopes};
use super::{bound::ErrorBound, load::unequal_load, orders::two_orders, words};
use crate::{inference::at_level, inference::distinct, rules::only_slowed};

/// A slope of logarithms this near to 1 is proportional, and this near to 0 flat.
const NEAR: f64 = 0.2;
const ROUNDING: f64 = 1e-9;
const FEWEST_LEVELS: usize = 3;

pub(super) struct ClaimVerdict {
    pub claim: Claim,
    pub text: String,
    /// The outcome if its numbers were trusted.
    pub would_be: Option<Claim>,
}

impl ClaimVerdict {
    fn new(claim: Claim, text: String) -> Self {
        Self { claim, text, would_be: None }
    }

    /// Suspect numbers decide nothing, but if rules show that they were only slowed, they still meet a lower bound.
    fn of_suspect_numbers(self, slowed: Option<String>) -> Self {
        match (self.claim, slowed) {
            (Claim::Supported, Some(rules)) => {
                let text = format!("{}, suspect, but {rules} can only lower it", self.text);
                Self { text, ..self }
            }
            (Claim::Supported | Claim::Contradicted, _) => Self {
                claim: Claim::NotShown,
                text: format!("{}, {}", self.text, words::SUSPECT),
                would_be: Some(self.claim),
            },
            (Claim::NotShown | Claim::NoData, _) => self,
        }
    }
}

/// Where a claim is tested: in a workload, at one combination of the levels of the factors that it does not name.
pub(super) struct ClaimTest<'q, 'a> {
    pub question: &'q Question<'a>,
    others: Arm,
    /// All measurements, including invalid ones.
    series: &'q [Series],
    comparisons: &'q [Comparison],
}

impl ClaimTest<'_, '_> {
    /// Number of comparisons that share the error of this one; 1 if the study does not judge it.
    fn family(&self, compared: Option<&Comparison>) -> usize {
        let primary = self.comparisons.iter().filter(|one| self.is_of(one) && one.primary);
        match compared {
            Some(comparison) if comparison.primary => primary.count() * self.question.sharing,
            _ => 1,
        }
    }

    fn comparison_of(&self, one: &Arm, other: &Arm) -> Option<&Comparison> {
        self.comparisons.iter().filter(|comparison| self.is_of(comparison)).find(|comparison| {
            let arms = [&comparison.configuration, &comparison.baseline];
            arms == [one, other] || arms == [other, one]
        })
    }

    fn is_of(&self, comparison: &Comparison) -> bool {
        comparison.workload == self.question.workload && comparison.metric == self.question.metric
    }

    fn is_suspect(&self, ask: &Ask) -> bool {
        // A claim on the best level depends on all levels, not only on the named one.
        let is_asked = |arm: &Arm| !ask.kind.is_of_two() || has_level_of(ask, arm);
        let arms = self.question.arms.iter().map(|runs| runs.arm);
        arms.filter(|arm| matches(arm, &self.others) && is_asked(arm))
            .any(|arm| self.question.is_suspect(arm))
    }

    /// The rules that made numbers suspect, if the numbers are rates with a lower bound and only slowed.
    fn slowing_rules(&self, ask: &Ask) -> Option<String> {
        let is_lower_bound = ask.kind == AskKind::Bound && ask.max.is_none();
        if !is_lower_bound || self.question.better != Better::Higher {
            return None;
        }
        let (workload, metric) = (self.question.workload, self.question.metric);
        let series =
            self.series.iter().filter(|one| (&*one.workload, &*one.metric) == (workload, metric));
        only_slowed(series.flat_map(|one| &one.because).collect())
    }

    /// Why a number is missing, at a level of a factor if given.
    fn why_missing(&self, level: Option<(&String, &str)>) -> &'static str {
        let mut levels = self.others.clone();
        levels.extend(level.map(|(factor, level)| (factor.clone(), level.to_owned())));
        why_missing(self.series, self.question.workload, &levels)
    }
}

/// Why a workload has no number at some levels: the most serious reason of its trials.
pub(super) fn why_missing(series: &[Series], workload: &str, levels: &Arm) -> &'static str {
    let mut at_levels: Vec<&Series> = series.iter().filter(|one| one.primary).collect();
    at_levels.retain(|one| one.workload == workload && matches(&one.arm, levels));
    let trials = at_levels.iter().flat_map(|one| &one.trials);
    let mut trials = trials.filter(|trial| trial.status != Status::Warmup);
    let count = trials.clone().count();
    if count == 0 {
        words::UNMEASURED
    } else if at_levels.iter().any(|one| one.trust == Some(Trust::Invalid)) {
        words::INVALID
    } else if trials.clone().all(|trial| trial.status == Status::Failed) {
        words::FAILED
    } else if trials.any(|trial| trial.status == Status::Disturbed) {
        words::DISTURBED
    } else if count < FEWEST_FOR_INTERVAL {
        words::FEW
    } else {
        words::NOT_TOGETHER
    }
}

pub(super) struct AnswerInput<'q, 'a> {
    pub questions: &'q [Question<'a>],
    pub series: &'q [Series],
    pub comparisons: &'q [Comparison],
}

pub(super) fn answers(design: &Design, input: &AnswerInput<'_, '_>, emulated: bool) -> Vec<Answer> {
    let asks = design.questions.iter().map(|ask| with_levels(design, ask));
    asks.map(|ask| judge_ask(design, &ask, input, emulated)).collect()
}

/// Adds to answers without data why the plan excluded a level; removes answers on levels that the study lacks.
pub(crate) fn explain(answers: &mut Vec<Answer>, design: &Design, absent: &[AbsentCell]) {
    let mut questions = design.questions.iter();
    // Answers are in the order of the questions.
    answers.retain_mut(|answer| {
        let Some(ask) = questions.next().filter(|_| answer.verdict == Claim::NoData) else {
            return true;
        };
        let ask = with_levels(design, ask);
        let level = ask.factor.as_ref().zip(ask.level.as_ref());
        let is_asked = |one: &&AbsentCell| {
            let is_at =
                |(factor, level): (&String, &String)| one.configuration.get(factor) == Some(level);
            ask.workloads.contains(&one.workload) && level.is_none_or(is_at)
        };
        let absent: Vec<&AbsentCell> = absent.iter().filter(is_asked).collect();
        let obstacles = absent.iter().filter_map(|one| one.obstacle.as_ref());
        let reasons = distinct(obstacles).into_iter();
        answer.reasons.extend(reasons.map(|reason| format!("Excluded: {reason}.")));
        // `add_fitness` finds an answer by its index, so it needs all of them.
        design.fit.is_some() || !absent.is_empty() || has_asked_levels(design, &ask)
    });
}

/// Whether the study still has the levels of a question's factor.
fn has_asked_levels(design: &Design, ask: &Ask) -> bool {
    let mut factors = design.factors.iter();
    let Some(factor) = factors.find(|factor| Some(&factor.name) == ask.factor.as_ref()) else {
        return true;
    };
    let mut levels = [&ask.level, &ask.versus].into_iter().flatten().chain(&ask.between);
    levels.all(|level| factor.levels.contains(level))
}

/// The claim with default levels: the second over the first level of the only varied factor.
fn with_levels<'a>(design: &Design, ask: &'a Ask) -> Cow<'a, Ask> {
    if !ask.is_of_any_two() {
        return Cow::Borrowed(ask);
    }
    let is_meant = |factor: &&Factor| match &ask.factor {
        Some(name) => factor.name == *name,
        None => factor.varies(),
    };
    let mut meant = design.factors.iter().filter(is_meant);
    let (Some(factor), None) = (meant.next(), meant.next()) else { return Cow::Borrowed(ask) };
    let [over, level] = [0, 1].map(|index| factor.levels.get(index).cloned());
    Cow::Owned(Ask { factor: Some(factor.name.clone()), level, versus: over, ..ask.clone() })
}

/// Judges a claim; each workload and combination of the other factors' levels is a case.
fn judge_ask(design: &Design, ask: &Ask, input: &AnswerInput<'_, '_>, emulated: bool) -> Answer {
    let AnswerInput { series, comparisons, .. } = *input;
    let tests: Vec<ClaimTest<'_, '_>> =
        ask.workloads.iter().flat_map(|workload| tests_of(ask, workload, input)).collect();
    let mut cases: Vec<ClaimVerdict> = Vec::new();
    for test in &tests {
        if emulated && is_of_speed(test.question.metric) {
            let text = format!("{}: {}", case_name(design, test), words::NO_VERDICT_EMULATED);
            cases.push(ClaimVerdict::new(Claim::NotShown, text));
            continue;
        }
        let mut case = judge_case(design, ask, test, tests.len() * sharing(design));
        if test.is_suspect(ask) {
            case = case.of_suspect_numbers(test.slowing_rules(ask));
        }
        cases.push(case);
    }
    for workload in &ask.workloads {
        if !tests.iter().any(|test| test.question.workload == workload) {
            cases.push(no_data(why_unmeasured(series, workload, ask.metric.as_ref())));
        }
    }
    let verdict = overall_claim(&cases);
    let evidence = comparisons.iter().filter(|comparison| {
        let is_at = |test: &ClaimTest<'_, '_>| {
            test.is_of(comparison) && matches(&comparison.configuration, &test.others)
        };
        has_level_of(ask, &comparison.configuration) && tests.iter().any(is_at)
    });
    Answer {
        ask: ask.ask.clone(),
        published: ask.published.clone(),
        answer: words::answer(verdict, &cases),
        verdict,
        reasons: words::reasons(verdict, &cases),
        evidence: evidence.map(|comparison| comparison.id.clone()).collect(),
        max_rate: None,
    }
}

/// Why a workload has no valid numbers, or none of the requested metric, such as energy.
fn why_unmeasured(series: &[Series], workload: &str, metric: Option<&String>) -> String {
    let mut measured = series.iter().filter(|one| one.workload == workload).peekable();
    if let Some(metric) = metric
        && measured.peek().is_some()
        && measured.all(|one| one.metric != *metric)
    {
        return words::no_metric(workload, metric);
    }
    format!("{workload} {}", why_missing(series, workload, &Arm::new()))
}

/// Number of questions that share one error: if all of them decide the outcome, one wrong answer is enough.
fn sharing(design: &Design) -> usize {
    if design.fit.is_some() { design.questions.len().max(1) } else { 1 }
}

/// Whether an arm has one of the levels in a claim; true if the claim names none.
fn has_level_of(ask: &Ask, arm: &Arm) -> bool {
    let Some(level) = ask.factor.as_ref().and_then(|factor| arm.get(factor)) else {
        return true;
    };
    let levels = [&ask.level, &ask.versus];
    levels.iter().all(|wanted| wanted.is_none())
        || levels.into_iter().flatten().any(|wanted| wanted == level)
}

/// The tests of a claim in a workload: one per combination of the levels of the factors that it does not name.
fn tests_of<'q, 'a>(ask: &Ask, name: &str, input: &AnswerInput<'q, 'a>) -> Vec<ClaimTest<'q, 'a>> {
    let AnswerInput { questions, series, comparisons } = *input;
    let has_metric = |question: &&Question<'_>| match &ask.metric {
        Some(metric) => question.metric == *metric,
        None => question.primary,
    };
    let mut questions = questions.iter().filter(|question| question.workload == name);
    let Some(question) = questions.find(has_metric) else { return Vec::new() };
    let mut contexts: Vec<Arm> = match &ask.factor {
        Some(factor) => other_settings(question, factor).into_iter().collect(),
        None => question.arms.iter().map(|runs| runs.arm.clone()).collect(),
    };
    contexts.retain(|arm| matches(arm, &ask.at));
    contexts.into_iter().map(|others| ClaimTest { question, others, series, comparisons }).collect()
}

/// A claim is supported if every case supports it, and contradicted if one case contradicts it.
fn overall_claim(cases: &[ClaimVerdict]) -> Claim {
    let all = |claim: Claim| cases.iter().all(|case| case.claim == claim);
    if cases.is_empty() || all(Claim::NoData) {
        Claim::NoData
    } else if cases.iter().any(|case| case.claim == Claim::Contradicted) {
        Claim::Contradicted
    } else if all(Claim::Supported) {
        Claim::Supported
    } else {
        Claim::NotShown
    }
}

pub(super) struct ClaimCheck<'c, 'q, 'a> {
    design: &'c Design,
    ask: &'c Ask,
    pub test: &'c ClaimTest<'q, 'a>,
    /// The levels of the factor in question; empty if the question names no factor.
    pub curve: &'c Curve<'c, 'a>,
    pub name: &'c str,
    /// Number of cases that share the error of the claim.
    pub cases: usize,
}

fn no_data(text: String) -> ClaimVerdict {
    ClaimVerdict::new(Claim::NoData, text)
}

/// Judges a claim in one context; `cases` of them share the error.
fn judge_case(design: &Design, ask: &Ask, test: &ClaimTest<'_, '_>, cases: usize) -> ClaimVerdict {
    let name = case_name(design, test);
    if ask.kind.is_of_two() && (ask.level.is_none() || ask.versus.is_none()) {
        return no_data(words::no_two(&name, ask.factor.as_deref()));
    }
    // A bound without a factor needs no curve.
    let mut check = ClaimCheck { design, ask, test, curve: &Vec::new(), name: &name, cases };
    let Some(factor) = &ask.factor else { return judge_bound(&check) };
    if let Some(why) = words::no_verdict(design.order) {
        return ClaimVerdict::new(Claim::NotShown, format!("{name}: {why}"));
    }
    let Some(factor) = design.factors.iter().find(|one| one.name == *factor) else {
        return no_data(format!("{name}: {factor} did not vary"));
    };
    let curve = measured_curve(test, factor);
    check.curve = &curve;
    match ask.kind {
        AskKind::Peak => judge_peak(&check),
        AskKind::Linear => judge_slope(&check, 1.0, &factor.name),
        AskKind::Flat => judge_slope(&check, 0.0, &factor.name),
        AskKind::Best => judge_best(&check, test.question.better),
        AskKind::Worst => judge_best(&check, opposite(test.question.better)),
        AskKind::Better => judge_better(&check),
        AskKind::Equivalent => judge_equivalent(&check),
        AskKind::Bound => judge_bound(&check),
        AskKind::Ratio => judge_ratio(&check),
        AskKind::Knee => judge_knee(&check),
        AskKind::Enough => judge_enough(&check),
        // A study of this kind has only this question and a separate answer.
        AskKind::MaxRate => no_data(format!("{name} {}", words::UNMEASURED)),
    }
}

/// `random-read (filesystem=ext4)`: factors with one level are left out.
fn case_name(design: &Design, test: &ClaimTest<'_, '_>) -> String {
    let mut others = test.others.clone();
    let varies = |name: &String| design.varied().any(|factor| factor.name == *name);
    others.retain(|name, _| varies(name));
    crate::inference::with_levels(test.question.workload, &arm_in_words(others.iter()))
}

/// The measured levels of a factor in its order, each with its trials.
pub(super) type Curve<'q, 'a> = Vec<(&'q str, &'q Runs<'a>)>;

/// The levels of a factor that have trials at the other levels of a test.
fn measured_curve<'q, 'a>(test: &ClaimTest<'q, 'a>, factor: &'q Factor) -> Curve<'q, 'a> {
    let mut curve = Vec::new();
    for level in &factor.levels {
        let arm = at_level(&test.others, &factor.name, level);
        let runs = test.question.find(&arm).filter(|runs| !runs.first.is_empty());
        curve.extend(runs.map(|runs| (level.as_str(), runs)));
    }
    curve
}

fn runs_of<'q, 'a>(curve: &Curve<'q, 'a>) -> Vec<&'q Runs<'a>> {
    curve.iter().map(|(_, runs)| *runs).collect()
}

/// Whether all levels that could be the best are within the claimed limits, which include their ends.
fn judge_peak(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let ClaimCheck { design, ask, test, curve, name, cases } = *check;
    let ends: Option<Vec<f64>> = ask.between.iter().map(|level| level_number(level)).collect();
    let levels: Option<Vec<f64>> = curve.iter().map(|(level, _)| level_number(level)).collect();
    let (Some([low, high]), Some(levels)) = (ends.as_deref(), levels) else {
        return no_data(words::no_numbers(name));
    };
    let is_inside = |level: &f64| (*low..=*high).contains(level);
    let inside_count = levels.iter().filter(|level| is_inside(level)).count();
    // Without levels inside and outside the limits, the claim cannot fail or cannot hold.
    if curve.len() < FEWEST_LEVELS || inside_count == 0 || inside_count == levels.len() {
        return no_data(words::no_levels(name, &ask.between));
    }
    let Some(best) = could_be_best(design, test.question.better, &runs_of(curve), cases) else {
        return no_data(format!("{name} {}", test.why_missing(None)));
    };
    let peaks = levels.iter().zip(&best.candidates).filter(|(_, is_candidate)| **is_candidate);
    let are_inside: Vec<bool> = peaks.map(|(level, _)| is_inside(level)).collect();
    let claim = match (are_inside.contains(&true), are_inside.contains(&false)) {
        (false, _) => Claim::Contradicted,
        (true, false) => Claim::Supported,
        (true, true) => Claim::NotShown,
    };
    ClaimVerdict::new(claim, check.peak(curve[best.best].0, &candidate_levels(curve, &best)))
}

fn candidate_levels<'q>(curve: &Curve<'q, '_>, best: &BestArm) -> Vec<&'q str> {
    let levels = curve.iter().zip(&best.candidates).filter(|(_, is_candidate)| **is_candidate);
    levels.map(|((level, _), _)| *level).collect()
}

/// Whether the slope of log value over log level is near the wanted one, by its CI: 1 is proportional, 0 flat.
fn judge_slope(check: &ClaimCheck<'_, '_, '_>, wanted: f64, factor: &str) -> ClaimVerdict {
    let ClaimCheck { design, test, curve, name, cases, .. } = *check;
    // Logarithms exist only for numbers above zero.
    let number = |level| level_number(level).filter(|number| *number > 0.0);
    let points = curve.iter().map(|(level, runs)| Some((number(level)?, *runs)));
    let points: Vec<(f64, &Runs<'_>)> = points.collect::<Option<_>>().unwrap_or_default();
    if test.question.scale != Scale::Ratio || points.len() < FEWEST_LEVELS {
        return no_data(words::no_numbers(name));
    }
    let Some(sample) = Sample::of(&slopes(&points)) else {
        return no_data(format!("{name} {}", test.why_missing(None)));
    };
    let ends = ErrorBound::new(design, cases).interval(&sample);
    let claim = ends.map_or(Claim::NotShown, |ends| judge_ends(ends, wanted - NEAR, wanted + NEAR));
    ClaimVerdict::new(claim, check.slope(factor, sample.mean, ends))
}

/// Whether the claimed level is the only one that may be the best; `better` is reversed for the worst.
fn judge_best(check: &ClaimCheck<'_, '_, '_>, better: Better) -> ClaimVerdict {
    let ClaimCheck { design, ask, test, curve, name, cases } = *check;
    let claimed = ask.level.as_deref().unwrap_or_default();
    let Some(index) = curve.iter().position(|(level, _)| *level == claimed) else {
        return no_data(why_no_level(test, ask, claimed, name));
    };
    if curve.len() < 2 {
        return no_data(words::no_levels(name, &[]));
    }
    let Some(best) = could_be_best(design, better, &runs_of(curve), cases) else {
        return no_data(format!("{name} {}", test.why_missing(None)));
    };
    let candidates = candidate_levels(curve, &best);
    let claim = if !best.candidates[index] {
        Claim::Contradicted
    } else if candidates.len() == 1 {
        Claim::Supported
    } else {
        Claim::NotShown
    };
    let word = if ask.kind == AskKind::Worst { "worst" } else { "best" };
    ClaimVerdict::new(claim, check.foremost(word, &candidates))
}

fn opposite(better: Better) -> Better {
    match better {
        Better::Higher => Better::Lower,
        Better::Lower => Better::Higher,
        Better::Unknown => Better::Unknown,
    }
}

fn why_no_level(test: &ClaimTest<'_, '_>, ask: &Ask, level: &str, name: &str) -> String {
    let level_of_factor = ask.factor.as_ref().map(|factor| (factor, level));
    format!("{name}: {level} {}", test.why_missing(level_of_factor))
}

/// Whether a level is better than the other one: the CI of their difference is on the better side of zero.
fn judge_better(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let better = check.test.question.better;
    let claim = |[low, high]: [f64; 2], _equivalence: [f64; 2]| {
        if !better.is_known() || low <= 0.0 && high >= 0.0 {
            Claim::NotShown
        } else if (low > 0.0) == (better == Better::Higher) {
            Claim::Supported
        } else {
            Claim::Contradicted
        }
    };
    judge_two(check, claim)
}

/// Within the margin by the equivalence interval, significantly beyond it, or inconclusive.
fn judge_equivalent(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let margin = check.design.margin.unwrap_or_default().ln_1p();
    let claim = |[low, high]: [f64; 2], equivalence: [f64; 2]| {
        if equivalence[0] > -margin && equivalence[1] < margin {
            Claim::Supported
        } else if high < -margin || low > margin {
            Claim::Contradicted
        } else {
            Claim::NotShown
        }
    };
    judge_two(check, claim)
}

fn judge_ratio(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let least = check.ask.min.as_ref().map_or(f64::NEG_INFINITY, |amount| amount.value.ln());
    let most = check.ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.value.ln());
    judge_two(check, |ends, _| judge_ends(ends, least, most))
}

/// Judges the claim that a number is between two bounds by its interval.
fn judge_ends(ends: [f64; 2], least: f64, most: f64) -> Claim {
    let [low, high] = ends;
    if low >= least && high <= most {
        Claim::Supported
    } else if high < least || low > most {
        Claim::Contradicted
    } else {
        Claim::NotShown
    }
}

/// Applies `decide` to the CI of the difference of two levels and to that of equivalence. Without these CIs, or if
/// the load or the order may explain the difference, the claim is not shown.
fn judge_two(
    check: &ClaimCheck<'_, '_, '_>,
    decide: impl Fn([f64; 2], [f64; 2]) -> Claim,
) -> ClaimVerdict {
    let ClaimCheck { design, ask, test, curve, name, cases } = *check;
    let [level, over] = [&ask.level, &ask.versus].map(|level| level.as_deref().unwrap_or_default());
    let runs_at =
        |wanted: &str| curve.iter().find(|(level, _)| *level == wanted).map(|(_, runs)| *runs);
    let (Some(level_runs), Some(over_runs)) = (runs_at(level), runs_at(over)) else {
        let missing = if runs_at(level).is_none() { level } else { over };
        return no_data(why_no_level(test, ask, missing, name));
    };
    for (level, runs) in [(level, level_runs), (over, over_runs)] {
        if runs.first.keys().all(|replicate| runs.undisturbed_run(*replicate).is_none()) {
            return no_data(why_no_level(test, ask, level, name));
        }
    }
    let comparison = test.comparison_of(level_runs.arm, over_runs.arm);
    let family = test.family(comparison);
    let bound = ErrorBound::new(design, cases.max(family));
    let sample = Sample::of(&pairs(over_runs, level_runs).differences());
    let interval = |bound: &ErrorBound| sample.as_ref().and_then(|sample| bound.interval(sample));
    let ends = interval(&bound).zip(interval(&bound.equivalence()));
    // The text names the cases only if they make the interval wider than that of the comparison.
    let named_cases = if cases > family { cases } else { 1 };
    let text = check.two(level, over, sample.zip(ends.map(|(ends, _)| ends)), named_cases);
    let confounder = |one: &Comparison| unequal_load(one).or_else(|| two_orders(one));
    if let Some(reason) = comparison.and_then(confounder) {
        return ClaimVerdict::new(Claim::NotShown, format!("{text}; {reason}"));
    }
    let claim = ends.map_or(Claim::NotShown, |(ends, equivalence)| decide(ends, equivalence));
    ClaimVerdict::new(claim, text)
}

/// The arms that questions about a knee find, each with its workload.
pub(super) fn knees(design: &Design, measured: &AnswerInput<'_, '_>) -> Vec<(String, Arm)> {
    let mut knees = Vec::new();
    for ask in design.questions.iter().filter(|ask| ask.kind == AskKind::Knee) {
        for test in ask.workloads.iter().flat_map(|name| tests_of(ask, name, measured)) {
            let arm = knee_arm(design, ask, &test);
            knees.extend(arm.map(|arm| (test.question.workload.to_owned(), arm)));
        }
    }
    knees
}

/// The arm at the highest level within the bound of a question; `None` if no level is within it.
fn knee_arm(design: &Design, ask: &Ask, test: &ClaimTest<'_, '_>) -> Option<Arm> {
    let factor = design.factors.iter().find(|one| ask.factor.as_ref() == Some(&one.name))?;
    let curve = measured_curve(test, factor);
    let (medians, below) = medians_by_level(ask, test, &curve);
    let (level, _) = medians.get(below.checked_sub(1)?)?;
    Some(at_level(&test.others, &factor.name, level))
}

/// Levels that are numbers or percentages, in ascending order, with their trials.
fn numeric_levels<'q, 'a>(curve: &Curve<'q, 'a>) -> Vec<(&'q str, &'q Runs<'a>)> {
    let number =
        |level: &str| level_number(level).or_else(|| level.strip_suffix('%')?.trim().parse().ok());
    let levels = curve.iter();
    let mut levels: Vec<(f64, _)> =
        levels.filter_map(|(level, runs)| Some((number(level)?, (*level, *runs)))).collect();
    levels.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    levels.into_iter().map(|(_, level)| level).collect()
}

/// Numeric levels in ascending order with their medians, and how many of the first stay below the bound.
fn medians_by_level<'q>(
    ask: &Ask,
    test: &ClaimTest<'_, '_>,
    curve: &Curve<'q, '_>,
) -> (Vec<(&'q str, f64)>, usize) {
    let most = upper_bound(ask, test);
    let levels = numeric_levels(curve).into_iter();
    let medians: Vec<(&str, f64)> =
        levels.filter_map(|(level, runs)| Some((level, median_of_replicates(runs)?))).collect();
    let below = medians.iter().take_while(|(_, median)| *median <= most).count();
    (medians, below)
}

fn upper_bound(ask: &Ask, test: &ClaimTest<'_, '_>) -> f64 {
    ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.in_unit_of(test.question.metric))
}

/// Whether the claimed level is the knee: the highest below the bound, with all lower levels below it, too.
fn judge_knee(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let ClaimCheck { ask, test, curve, name, .. } = *check;
    let (medians, below) = medians_by_level(ask, test, curve);
    if medians.len() < FEWEST_LEVELS {
        return no_data(words::no_numbers(name));
    }
    let knee = below.checked_sub(1).map(|index| medians[index]);
    let claimed = ask.level.as_deref().unwrap_or_default();
    let claim = match knee {
        Some((level, _)) if level == claimed => Claim::Supported,
        _ => Claim::Contradicted,
    };
    let above = medians.get(below).copied();
    ClaimVerdict::new(claim, check.knee(upper_bound(ask, test), knee, above))
}

/// Whether the claimed level is as good as the best one, within the margin; the text names the smallest such level.
fn judge_enough(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let ClaimCheck { design, ask, test, curve, name, cases } = *check;
    let levels = numeric_levels(curve);
    if levels.len() < FEWEST_LEVELS {
        return no_data(words::no_numbers(name));
    }
    let claimed = ask.level.as_deref().unwrap_or_default();
    let Some(index) = levels.iter().position(|(level, _)| *level == claimed) else {
        return no_data(why_no_level(test, ask, claimed, name));
    };
    let sign = test.question.better.sign();
    let means: Vec<f64> = levels.iter().map(|(_, runs)| sign * mean(&own_levels(runs))).collect();
    // Of equal means, the smallest level counts as the best.
    let mut best = 0;
    for (candidate, mean) in means.iter().enumerate() {
        if *mean > means[best] {
            best = candidate;
        }
    }
    let margin = design.margin.unwrap_or_default().ln_1p();
    // The smallest level from which on all levels up to the best are within the margin.
    let mut smallest = best;
    while smallest > 0 && means[smallest - 1] >= means[best] - margin {
        smallest -= 1;
    }
    let sample = Sample::of(&pairs(levels[best].1, levels[index].1).differences());
    let bound = ErrorBound::new(design, cases * (levels.len() - 1));
    let ends = sample.as_ref().and_then(|sample| bound.interval(sample));
    let claim = match ends.map(|ends| signed_interval(ends, sign)) {
        _ if index == best => Claim::Supported,
        Some([low, _]) if low >= -margin => Claim::Supported,
        Some([_, high]) if high < -margin => Claim::Contradicted,
        _ => Claim::NotShown,
    };
    let (is_smallest, margin) = (best == 0, margin.exp_m1());
    let [from, best_level] = [smallest, best].map(|index| levels[index].0);
    let saturation = words::SaturationLevel { from, best_level, claimed, is_smallest, margin };
    let difference = sample.filter(|_| index != best).zip(ends);
    ClaimVerdict::new(claim, check.enough(&saturation, difference))
}

/// The median over replicates with an undisturbed run: robust against single outliers.
fn median_of_replicates(runs: &Runs<'_>) -> Option<f64> {
    let undisturbed = runs.first.keys().filter_map(|replicate| runs.undisturbed_run(*replicate));
    median(&undisturbed.map(|run| run.level.exp()).collect::<Vec<f64>>())
}

/// Whether the mean of an arm is within the claimed bounds, by its CI.
fn judge_bound(check: &ClaimCheck<'_, '_, '_>) -> ClaimVerdict {
    let ClaimCheck { design, ask, test, name, cases, .. } = *check;
    let question = test.question;
    let runs = question.find(&test.others).filter(|runs| !runs.first.is_empty());
    let sample = runs.and_then(|runs| Sample::of(&own_levels(runs)));
    let (Some(sample), Scale::Ratio) = (sample, question.scale) else {
        return no_data(format!("{name} {}", test.why_missing(None)));
    };
    let ends = ErrorBound::new(design, cases).interval(&sample).map(|ends| ends.map(f64::exp));
    let least = ask.min.as_ref().map_or(0.0, |amount| amount.in_unit_of(question.metric));
    let most = ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.in_unit_of(question.metric));
    // A value equal to the bound is within it: rounding in logarithms must not exclude it.
    let (least, most) = (least * (1.0 - ROUNDING), most * (1.0 + ROUNDING));
    let mut limits = ask.min.iter().chain(&ask.max).peekable();
    let claim = match ends.filter(|_| limits.peek().is_some()) {
        Some(ends) => judge_ends(ends, least, most),
        None => Claim::NotShown,
    };
    let is_decimal = limits.any(Amount::is_decimal_rate);
    ClaimVerdict::new(claim, check.level(is_decimal, sample.mean.exp(), ends))
}
