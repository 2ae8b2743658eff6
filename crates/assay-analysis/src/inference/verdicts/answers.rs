//! Answers to the claims of a study, from the same pairs, ranks and slopes as its verdicts, never from a bare maximum.
//! The cases of a claim share its error; two compared arms have the wider of both intervals.

use std::borrow::Cow;

use assay_core::quantity::{Better, Scale, level_number};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, median};
use assay_study::file::Amount;
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::measurements::Series;
use assay_study::findings::{AbsentCell, Comparison, Trust};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Ask, AskKind, Design, Factor};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::record::Status;
use assay_workloads::metrics::is_of_speed;

use super::arms::{Question, Runs};
use super::bound::ErrorBound;
use super::load::unequal_load;
use super::orders::two_orders;
use super::pairs::{pairs, signed};
use super::ranks::{BestArm, could_be_best, mean, own_levels};
use super::trends::{contexts, slopes};
use super::words;
use crate::inference::distinct;
use crate::rules::only_slowed;

/// A slope of logarithms this near to 1 is proportional, and this near to 0 flat.
const NEAR: f64 = 0.2;
/// Rounding error of the arithmetic, as a fraction.
const ROUNDING: f64 = 1e-9;
/// Fewest levels for a peak or a line.
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

    /// The same for suspect numbers: they decide nothing, except that slowed numbers can still meet a lower bound.
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

/// The context of a claim: a workload at some levels of the factors.
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
        let own = self.comparisons.iter().filter(|found| self.is_of(found) && found.primary);
        match compared {
            Some(found) if found.primary => own.count() * self.question.sharing,
            _ => 1,
        }
    }

    /// The study's comparison of two arms, in either direction.
    fn compared(&self, one: &Arm, other: &Arm) -> Option<&Comparison> {
        let own = self.comparisons.iter().filter(|found| self.is_of(found));
        own.into_iter().find(|found| {
            let arms = [&found.configuration, &found.baseline];
            arms == [one, other] || arms == [other, one]
        })
    }

    fn is_of(&self, found: &Comparison) -> bool {
        found.workload == self.question.workload && found.metric == self.question.metric
    }

    fn is_suspect(&self, ask: &Ask) -> bool {
        let own = |arm: &Arm| {
            // The best level is the best of all levels.
            matches(arm, &self.others) && (!ask.kind.is_of_two() || has_level_of(ask, arm))
        };
        let mut arms = self.question.arms.iter().map(|runs| runs.arm).filter(|arm| own(arm));
        arms.any(|arm| self.question.is_suspect(arm))
    }

    /// The rules that made numbers suspect, if the numbers are rates with a lower bound and only slowed.
    fn slowed(&self, ask: &Ask) -> Option<String> {
        let (workload, metric) = (self.question.workload, self.question.metric);
        let own = |one: &&Series| one.workload == workload && one.metric == metric;
        let reasons = self.series.iter().filter(own).flat_map(|one| &one.because);
        let is_lower = ask.kind == AskKind::Bound && ask.max.is_none();
        let is_rate = self.question.better == Better::Higher;
        if is_lower && is_rate { only_slowed(reasons.collect()) } else { None }
    }

    /// Why a number is missing, at a level of a factor if given.
    fn why(&self, level: Option<(&String, &str)>) -> &'static str {
        let mut levels = self.others.clone();
        levels.extend(level.map(|(factor, level)| (factor.clone(), level.to_owned())));
        why(self.series, self.question.workload, &levels)
    }
}

/// Why a workload has no number at some levels: the most serious reason of its trials.
pub(super) fn why(series: &[Series], workload: &str, levels: &Arm) -> &'static str {
    let own = |one: &&Series| one.workload == workload && one.primary && matches(&one.arm, levels);
    let own: Vec<&Series> = series.iter().filter(own).collect();
    let trials = || {
        let all = own.iter().flat_map(|one| &one.trials);
        all.filter(|trial| trial.status != Status::Warmup)
    };
    let all = |status: Status| trials().all(|trial| trial.status == status);
    match () {
        () if trials().next().is_none() => words::UNMEASURED,
        () if own.iter().any(|one| one.trust == Some(Trust::Invalid)) => words::INVALID,
        () if all(Status::Failed) => words::FAILED,
        () if trials().any(|trial| trial.status == Status::Disturbed) => words::DISTURBED,
        () if trials().count() < FEWEST_FOR_INTERVAL => words::FEW,
        () => words::NOT_TOGETHER,
    }
}

pub(super) struct AnswerInput<'q, 'a> {
    pub questions: &'q [Question<'a>],
    pub series: &'q [Series],
    pub comparisons: &'q [Comparison],
}

pub(super) fn answers(
    design: &Design,
    measured: &AnswerInput<'_, '_>,
    emulated: bool,
) -> Vec<Answer> {
    let asked = design.questions.iter().map(|ask| with_levels(design, ask));
    asked.map(|ask| answer(design, &ask, measured, emulated)).collect()
}

/// Adds the plan's reason for excluding a level to answers without data. Drops answers on removed levels.
pub(crate) fn explain(answers: &mut Vec<Answer>, design: &Design, absent: &[AbsentCell]) {
    let mut questions = design.questions.iter();
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
        design.fit.is_some() || !absent.is_empty() || has_asked_levels(design, &ask)
    });
}

/// Whether the study still has the levels of a question's factor.
fn has_asked_levels(design: &Design, ask: &Ask) -> bool {
    let Some(own) = design.factors.iter().find(|own| Some(&own.name) == ask.factor.as_ref()) else {
        return true;
    };
    let mut levels = [&ask.level, &ask.versus].into_iter().flatten().chain(&ask.between);
    levels.all(|level| own.levels.contains(level))
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
    let [over, level] = [0, 1].map(|at| factor.levels.get(at).cloned());
    Cow::Owned(Ask { factor: Some(factor.name.clone()), level, versus: over, ..ask.clone() })
}

fn answer(design: &Design, ask: &Ask, all: &AnswerInput<'_, '_>, emulated: bool) -> Answer {
    let AnswerInput { series, comparisons, .. } = *all;
    let own = ask.workloads.iter().flat_map(|name| places(ask, name, all));
    let places: Vec<ClaimTest<'_, '_>> = own.collect();
    let case = |place: &ClaimTest<'_, '_>| {
        if emulated && is_of_speed(place.question.metric) {
            let text = format!("{}: {}", name(design, place), words::NO_VERDICT_EMULATED);
            return ClaimVerdict::new(Claim::NotShown, text);
        }
        let case = case(design, ask, place, places.len() * sharing(design));
        if place.is_suspect(ask) { case.of_suspect_numbers(place.slowed(ask)) } else { case }
    };
    let mut cases: Vec<ClaimVerdict> = places.iter().map(case).collect();
    let measured = |name: &&String| places.iter().any(|place| place.question.workload == **name);
    let missing = ask.workloads.iter().filter(|name| !measured(name));
    let reason = |name: &String| {
        // Measured without the requested metric, such as energy.
        let own = |one: &&Series| one.workload == *name;
        let is_told = |metric: &String| series.iter().filter(own).any(|one| one.metric == *metric);
        match &ask.metric {
            Some(metric) if series.iter().any(|one| own(&one)) && !is_told(metric) => {
                words::no_metric(name, metric)
            }
            _ => format!("{name} {}", why(series, name, &Arm::new())),
        }
    };
    cases.extend(missing.map(|name| no_data(reason(name))));
    let verdict = overall(&cases);
    // The comparisons of the arms behind the answer.
    let evidence = comparisons.iter().filter(|found| {
        let is_here = |place: &ClaimTest<'_, '_>| {
            place.is_of(found) && matches(&found.configuration, &place.others)
        };
        has_level_of(ask, &found.configuration) && places.iter().any(is_here)
    });
    Answer {
        ask: ask.ask.clone(),
        published: ask.published.clone(),
        answer: words::answer(verdict, &cases),
        verdict,
        reasons: words::because(verdict, &cases),
        evidence: evidence.map(|found| found.id.clone()).collect(),
        max_rate: None,
    }
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

/// Every combination of the other factors' levels in a claim.
fn places<'q, 'a>(ask: &Ask, workload: &str, all: &AnswerInput<'q, 'a>) -> Vec<ClaimTest<'q, 'a>> {
    let AnswerInput { questions, series, comparisons } = *all;
    let wanted = |question: &&Question<'_>| match &ask.metric {
        Some(metric) => question.metric == *metric,
        None => question.primary,
    };
    let mut own = questions.iter().filter(|question| question.workload == workload);
    let Some(question) = own.find(wanted) else { return Vec::new() };
    let here = |arm: &Arm| matches(arm, &ask.at);
    let others: Vec<Arm> = match &ask.factor {
        Some(factor) => contexts(question, factor).into_iter().filter(here).collect(),
        None => question.arms.iter().map(|runs| runs.arm.clone()).filter(here).collect(),
    };
    others.into_iter().map(|others| ClaimTest { question, others, series, comparisons }).collect()
}

/// A claim is supported if every case supports it, and contradicted if one case contradicts it.
fn overall(cases: &[ClaimVerdict]) -> Claim {
    let all = |claim: Claim| cases.iter().all(|case| case.claim == claim);
    match () {
        () if cases.is_empty() || all(Claim::NoData) => Claim::NoData,
        () if cases.iter().any(|case| case.claim == Claim::Contradicted) => Claim::Contradicted,
        () if all(Claim::Supported) => Claim::Supported,
        () => Claim::NotShown,
    }
}

pub(super) struct PlaceCheck<'c, 'q, 'a> {
    design: &'c Design,
    ask: &'c Ask,
    pub place: &'c ClaimTest<'q, 'a>,
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
fn case(design: &Design, ask: &Ask, place: &ClaimTest<'_, '_>, cases: usize) -> ClaimVerdict {
    let name = name(design, place);
    if ask.kind.is_of_two() && (ask.level.is_none() || ask.versus.is_none()) {
        return no_data(words::no_two(&name, ask.factor.as_deref()));
    }
    let mut check = PlaceCheck { design, ask, place, curve: &Vec::new(), name: &name, cases };
    let Some(factor) = &ask.factor else { return reaches(&check) };
    if let Some(why) = words::no_verdict(design.order) {
        return ClaimVerdict::new(Claim::NotShown, format!("{name}: {why}"));
    }
    let Some(factor) = design.factors.iter().find(|one| one.name == *factor) else {
        return no_data(format!("{name}: {factor} did not vary"));
    };
    let curve = curve(place, factor);
    check.curve = &curve;
    match ask.kind {
        AskKind::Peak => peak(&check),
        AskKind::Linear => slope(&check, 1.0, &factor.name),
        AskKind::Flat => slope(&check, 0.0, &factor.name),
        AskKind::Best => foremost(&check, place.question.better),
        AskKind::Worst => foremost(&check, opposite(place.question.better)),
        AskKind::Better => beats(&check),
        AskKind::Equivalent => equal(&check),
        AskKind::Bound => reaches(&check),
        AskKind::Ratio => ratio(&check),
        AskKind::Knee => knee(&check),
        AskKind::Enough => enough(&check),
        // A study of this kind has only this question and a separate answer.
        AskKind::MaxRate => no_data(format!("{name} {}", words::UNMEASURED)),
    }
}

/// `random-read (filesystem=ext4)`: factors with one level are left out.
fn name(design: &Design, place: &ClaimTest<'_, '_>) -> String {
    let mut others = place.others.clone();
    let varies = |name: &String| design.varied().any(|factor| factor.name == *name);
    others.retain(|name, _| varies(name));
    crate::inference::with_levels(place.question.workload, &arm_in_words(others.iter()))
}

/// The measured levels of a factor, in its order.
pub(super) type Curve<'q, 'a> = Vec<(&'q str, &'q Runs<'a>)>;

fn curve<'q, 'a>(place: &ClaimTest<'q, 'a>, factor: &'q Factor) -> Curve<'q, 'a> {
    let at = |level: &'q String| {
        let mut arm = place.others.clone();
        arm.insert(factor.name.clone(), level.clone());
        Some((level.as_str(), place.question.find(&arm)?))
    };
    factor.levels.iter().filter_map(at).filter(|(_, runs)| !runs.first.is_empty()).collect()
}

fn runs_of<'q, 'a>(curve: &Curve<'q, 'a>) -> Vec<&'q Runs<'a>> {
    curve.iter().map(|(_, runs)| *runs).collect()
}

fn peak(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let PlaceCheck { design, ask, place, curve, name, cases } = *check;
    let ends: Option<Vec<f64>> = ask.between.iter().map(|level| level_number(level)).collect();
    let levels: Option<Vec<f64>> = curve.iter().map(|(level, _)| level_number(level)).collect();
    let (Some([low, high]), Some(levels)) = (ends.as_deref(), levels) else {
        return no_data(words::no_numbers(name));
    };
    let inside = |level: f64| (*low..=*high).contains(&level);
    let within = levels.iter().filter(|level| inside(**level)).count();
    if curve.len() < FEWEST_LEVELS || within == 0 || within == levels.len() {
        return no_data(words::no_levels(name, &ask.between));
    }
    let Some(best) = could_be_best(design, place.question.better, &runs_of(curve), cases) else {
        return no_data(format!("{name} {}", place.why(None)));
    };
    let could = levels.iter().zip(&best.candidates).filter(|(_, could)| **could);
    let (all, within) = (could.clone().count(), could.filter(|(level, _)| inside(**level)).count());
    let claim = match within {
        0 => Claim::Contradicted,
        _ if within == all => Claim::Supported,
        _ => Claim::NotShown,
    };
    ClaimVerdict::new(claim, check.peak(curve[best.best].0, &could_be(curve, &best)))
}

fn could_be<'q>(curve: &Curve<'q, '_>, best: &BestArm) -> Vec<&'q str> {
    let levels = curve.iter().zip(&best.candidates).filter(|(_, could)| **could);
    levels.map(|((level, _), _)| *level).collect()
}

/// A line through logarithms: near a slope, significantly away from it, or inconclusive.
fn slope(check: &PlaceCheck<'_, '_, '_>, wanted: f64, factor: &str) -> ClaimVerdict {
    let PlaceCheck { design, place, curve, name, cases, .. } = *check;
    let measured: Option<Vec<(f64, &Runs<'_>)>> =
        curve.iter().map(|(level, runs)| Some((level_number(level)?, *runs))).collect();
    let ratio = place.question.scale == Scale::Ratio;
    let measured = measured.filter(|all| {
        ratio && all.len() >= FEWEST_LEVELS && all.iter().all(|(level, _)| *level > 0.0)
    });
    let Some(measured) = measured else { return no_data(words::no_numbers(name)) };
    let Some(sample) = Sample::of(&slopes(&measured)) else {
        return no_data(format!("{name} {}", place.why(None)));
    };
    let ends = ErrorBound::new(design, cases).interval(&sample);
    let claim = ends.map(|ends| within(ends, wanted - NEAR, wanted + NEAR));
    let claim = claim.unwrap_or(Claim::NotShown);
    ClaimVerdict::new(claim, check.slope(factor, sample.mean, ends))
}

fn foremost(check: &PlaceCheck<'_, '_, '_>, better: Better) -> ClaimVerdict {
    let PlaceCheck { design, ask, place, curve, name, cases } = *check;
    let level = ask.level.as_deref().unwrap_or_default();
    let Some(own) = curve.iter().position(|(one, _)| *one == level) else {
        return no_data(no_level(place, ask, level, name));
    };
    if curve.len() < 2 {
        return no_data(words::no_levels(name, &[]));
    }
    let Some(best) = could_be_best(design, better, &runs_of(curve), cases) else {
        return no_data(format!("{name} {}", place.why(None)));
    };
    let could = could_be(curve, &best);
    let claim = match best.candidates[own] {
        true if could.len() == 1 => Claim::Supported,
        true => Claim::NotShown,
        false => Claim::Contradicted,
    };
    let word = if ask.kind == AskKind::Worst { "worst" } else { "best" };
    ClaimVerdict::new(claim, check.foremost(word, &could))
}

fn opposite(better: Better) -> Better {
    match better {
        Better::Higher => Better::Lower,
        Better::Lower => Better::Higher,
        Better::Unknown => Better::Unknown,
    }
}

fn no_level(place: &ClaimTest<'_, '_>, ask: &Ask, level: &str, name: &str) -> String {
    let at = ask.factor.as_ref().map(|factor| (factor, level));
    format!("{name}: {level} {}", place.why(at))
}

fn beats(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let claim = |[low, high]: [f64; 2], _: [f64; 2]| {
        let (above, below) = match check.place.question.better {
            Better::Unknown => (Claim::NotShown, Claim::NotShown),
            Better::Higher => (Claim::Supported, Claim::Contradicted),
            Better::Lower => (Claim::Contradicted, Claim::Supported),
        };
        match (low > 0.0, high < 0.0) {
            (true, _) => above,
            (_, true) => below,
            _ => Claim::NotShown,
        }
    };
    of_two(check, claim)
}

/// Within the margin by the equivalence interval, significantly beyond it, or inconclusive.
fn equal(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let margin = check.design.margin.unwrap_or_default().ln_1p();
    let claim = |[low, high]: [f64; 2], equivalence: [f64; 2]| match () {
        () if equivalence[0] > -margin && equivalence[1] < margin => Claim::Supported,
        () if high < -margin || low > margin => Claim::Contradicted,
        () => Claim::NotShown,
    };
    of_two(check, claim)
}

fn ratio(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let least = check.ask.min.as_ref().map_or(f64::NEG_INFINITY, |amount| amount.value.ln());
    let most = check.ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.value.ln());
    of_two(check, |ends, _| within(ends, least, most))
}

/// Judges the claim that a number is between two bounds.
fn within(ends: [f64; 2], least: f64, most: f64) -> Claim {
    let [low, high] = ends;
    match () {
        () if low >= least && high <= most => Claim::Supported,
        () if high < least || low > most => Claim::Contradicted,
        () => Claim::NotShown,
    }
}

/// Judges the CI of the ratio of two levels and that of equivalence; open without them, or if the load explains it.
fn of_two(
    check: &PlaceCheck<'_, '_, '_>,
    claim: impl Fn([f64; 2], [f64; 2]) -> Claim,
) -> ClaimVerdict {
    let PlaceCheck { design, ask, place, curve, name, cases } = *check;
    let runs = |level: &Option<String>| {
        let level = level.as_deref().unwrap_or_default();
        let found = curve.iter().find(|(one, _)| *one == level).copied();
        found.ok_or_else(|| no_data(no_level(place, ask, level, name)))
    };
    let [level, over] = match (runs(&ask.level), runs(&ask.versus)) {
        (Ok(level), Ok(over)) => [level, over],
        (Err(case), _) | (_, Err(case)) => return case,
    };
    let undisturbed = |runs: &Runs<'_>| runs.first.keys().any(|one| runs.standing(*one).is_some());
    if let Some((level, _)) = [level, over].iter().find(|(_, runs)| !undisturbed(runs)) {
        return no_data(no_level(place, ask, level, name));
    }
    let compared = place.compared(level.1.arm, over.1.arm);
    let family = place.family(compared);
    let bound = ErrorBound::new(design, cases.max(family));
    let sample = Sample::of(&pairs(over.1, level.1).differences());
    let within = |bound: &ErrorBound| sample.as_ref().and_then(|sample| bound.interval(sample));
    let ends = within(&bound).zip(within(&bound.equivalence()));
    let cases = if cases > family { cases } else { 1 };
    let text = check.two(level.0, over.0, sample.zip(ends.map(|(ends, _)| ends)), cases);
    let other_reason = |found: &Comparison| unequal_load(found).or_else(|| two_orders(found));
    if let Some(reason) = compared.and_then(other_reason) {
        return ClaimVerdict::new(Claim::NotShown, format!("{text}; {reason}"));
    }
    ClaimVerdict::new(ends.map_or(Claim::NotShown, |(ends, within)| claim(ends, within)), text)
}

/// The arms that questions about a knee find, each with its workload.
pub(super) fn knees(design: &Design, measured: &AnswerInput<'_, '_>) -> Vec<(String, Arm)> {
    let mut knees = Vec::new();
    for ask in design.questions.iter().filter(|ask| ask.kind == AskKind::Knee) {
        for place in ask.workloads.iter().flat_map(|name| places(ask, name, measured)) {
            let arm = arm_of(design, ask, &place);
            knees.extend(arm.map(|arm| (place.question.workload.to_owned(), arm)));
        }
    }
    knees
}

fn arm_of(design: &Design, ask: &Ask, place: &ClaimTest<'_, '_>) -> Option<Arm> {
    let factor = design.factors.iter().find(|one| ask.factor.as_ref() == Some(&one.name))?;
    let curve = curve(place, factor);
    let (levels, below) = by_share(ask, place, &curve);
    let (_, level, _) = levels.get(below.checked_sub(1)?)?;
    let mut arm = place.others.clone();
    arm.insert(factor.name.clone(), (*level).to_owned());
    Some(arm)
}

/// Levels that are shares or numbers, in ascending order, with their trials.
fn numbered<'q, 'a>(curve: &Curve<'q, 'a>) -> Vec<(f64, &'q str, &'q Runs<'a>)> {
    let levels = curve.iter();
    let number =
        |level: &str| level_number(level).or_else(|| level.strip_suffix('%')?.trim().parse().ok());
    let levels = levels.filter_map(|(level, runs)| Some((number(level)?, *level, *runs)));
    let mut levels: Vec<_> = levels.collect();
    levels.sort_by(|one, other| one.0.total_cmp(&other.0));
    levels
}

/// Numeric levels or shares in ascending order with their medians, and how many of the first stay below the bound.
fn by_share<'q>(
    ask: &Ask,
    place: &ClaimTest<'_, '_>,
    curve: &Curve<'q, '_>,
) -> (Vec<(f64, &'q str, f64)>, usize) {
    let most = bound_of(ask, place);
    let levels = numbered(curve).into_iter();
    let levels: Vec<(f64, &str, f64)> =
        levels.filter_map(|(number, level, runs)| Some((number, level, middle(runs)?))).collect();
    let below = levels.iter().take_while(|(.., middle)| *middle <= most).count();
    (levels, below)
}

fn bound_of(ask: &Ask, place: &ClaimTest<'_, '_>) -> f64 {
    ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.in_unit_of(place.question.metric))
}

/// The highest level whose median stays below a bound together with all levels below it.
fn knee(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let PlaceCheck { ask, place, curve, name, .. } = *check;
    let (levels, below) = by_share(ask, place, curve);
    if levels.len() < FEWEST_LEVELS {
        return no_data(words::no_numbers(name));
    }
    let told = |at: usize| levels.get(at).map(|(_, level, middle)| (*level, *middle));
    let found = below.checked_sub(1).and_then(told);
    let claimed = ask.level.as_deref().unwrap_or_default();
    let claim = match found {
        Some((level, _)) if level == claimed => Claim::Supported,
        _ => Claim::Contradicted,
    };
    ClaimVerdict::new(claim, check.knee(bound_of(ask, place), found, told(below)))
}

/// Whether a level matches the best within the margin, and the smallest level that does.
fn enough(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let PlaceCheck { design, ask, place, curve, name, cases } = *check;
    let levels = numbered(curve);
    if levels.len() < FEWEST_LEVELS {
        return no_data(words::no_numbers(name));
    }
    let claimed = ask.level.as_deref().unwrap_or_default();
    let Some(own) = levels.iter().position(|(_, level, _)| *level == claimed) else {
        return no_data(no_level(place, ask, claimed, name));
    };
    let sign = place.question.better.sign();
    let middles: Vec<f64> =
        levels.iter().map(|(.., runs)| sign * mean(&own_levels(runs))).collect();
    let best =
        (0..levels.len()).fold(0, |best, at| if middles[at] > middles[best] { at } else { best });
    let margin = design.margin.unwrap_or_default().ln_1p();
    let as_much = |at: &usize| middles[*at] >= middles[best] - margin;
    let from = (0..=best).rev().take_while(as_much).last().unwrap_or(best);
    let sample = Sample::of(&pairs(levels[best].2, levels[own].2).differences());
    let bound = ErrorBound::new(design, cases * (levels.len() - 1));
    let ends = sample.as_ref().and_then(|sample| bound.interval(sample));
    let claim = match ends.map(|ends| signed(ends, sign)) {
        _ if own == best => Claim::Supported,
        Some([low, _]) if low >= -margin => Claim::Supported,
        Some([_, high]) if high < -margin => Claim::Contradicted,
        _ => Claim::NotShown,
    };
    let [from, best_level] = [from, best].map(|at| levels[at].1);
    let (is_smallest, margin) = (best == 0, margin.exp_m1());
    let told = words::SaturationLevel { from, best: best_level, claimed, is_smallest, margin };
    let shown = sample.filter(|_| own != best).zip(ends);
    ClaimVerdict::new(claim, check.enough(&told, shown))
}

/// The median over replicates with an undisturbed run: robust against single outliers.
fn middle(runs: &Runs<'_>) -> Option<f64> {
    let standing = runs.first.keys().filter_map(|replicate| runs.standing(*replicate));
    median(&standing.map(|run| run.level.exp()).collect::<Vec<f64>>())
}

fn reaches(check: &PlaceCheck<'_, '_, '_>) -> ClaimVerdict {
    let PlaceCheck { design, ask, place, name, cases, .. } = *check;
    let question = place.question;
    let runs = question.find(&place.others).filter(|runs| !runs.first.is_empty());
    let sample = runs.and_then(|runs| Sample::of(&own_levels(runs)));
    let (Some(sample), Scale::Ratio) = (sample, question.scale) else {
        return no_data(format!("{name} {}", place.why(None)));
    };
    let ends = ErrorBound::new(design, cases).interval(&sample).map(|ends| ends.map(f64::exp));
    let least = ask.min.as_ref().map_or(0.0, |amount| amount.in_unit_of(question.metric));
    let most = ask.max.as_ref().map_or(f64::INFINITY, |amount| amount.in_unit_of(question.metric));
    // A value equal to the bound is within it: rounding in logarithms must not exclude it.
    let (least, most) = (least * (1.0 - ROUNDING), most * (1.0 + ROUNDING));
    let ends_of_claim = ends.filter(|_| ask.min.is_some() || ask.max.is_some());
    let claim = ends_of_claim.map_or(Claim::NotShown, |ends| within(ends, least, most));
    let mut limits = ask.min.iter().chain(&ask.max);
    let is_decimal = limits.any(Amount::is_decimal_rate);
    ClaimVerdict::new(claim, check.level(is_decimal, sample.mean.exp(), ends))
}
