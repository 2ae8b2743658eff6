//! Answers on the maximum load, from known numbers.

use assay_core::quantity::Better;
use assay_study::file::limit::bracket::Standing;
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::measurements::Series;
use assay_study::findings::most_load::MostLoad;
use assay_study::findings::{Because, TrialValue, Trust};
use assay_study::plan::most_load::RATE_METRIC;
use assay_study::results::course;
use assay_study::results::design::{AskKind, Factor};
use assay_study::results::record::Status;

use super::answers_tests::claim;
use super::tests::Study;

const LUCK: [f64; 6] = [0.98, 1.02, 1.0, 0.99, 1.01, 1.0];

/// Rates with the p99 of their trials in milliseconds, and the fraction of their operations that completed.
fn study(rates: &[(f64, f64, f64)]) -> Study {
    let mut study = Study::of(&[("a", &LUCK)]);
    let design = &mut study.measured.design;
    design.margin = None;
    design.questions = vec![claim(AskKind::MaxRate, |ask| {
        (ask.factor, ask.published) = (None, None);
        ask.slo = Some("p99 < 2 ms".to_owned());
    })];
    let levels = rates.iter().map(|(rate, ..)| course::level(*rate)).collect();
    design.factors = vec![Factor { name: course::RATE.to_owned(), levels }];
    design.baseline = rates.first().map(|(rate, ..)| course::at_rate(*rate)).unwrap_or_default();
    design.primary = Some("response_p99_ns".to_owned());
    let of = |rate: f64, metric: &str, better: Better, middle: f64| {
        let trial = |(replicate, luck): (u32, f64)| {
            TrialValue::bare(replicate, Some(replicate), Some(middle * luck), Status::Ok)
        };
        Series {
            primary: metric != RATE_METRIC,
            trials: (1..).zip(LUCK).map(trial).collect(),
            trust: Some(Trust::Trusted),
            ..Series::bare("work", course::at_rate(rate), metric, better)
        }
    };
    let both = |(rate, p99_ms, share): &(f64, f64, f64)| {
        [
            of(*rate, "response_p99_ns", Better::Lower, p99_ms * 1e6),
            of(*rate, RATE_METRIC, Better::Higher, rate * share),
        ]
    };
    study.measured.series = rates.iter().flat_map(both).collect();
    study
}

/// A typical drive: 2 ms up to about 4,400 per second.
const CURVE: [(f64, f64, f64); 4] =
    [(3000.0, 1.0, 1.0), (4000.0, 1.6, 1.0), (4400.0, 2.0, 1.0), (4800.0, 4.0, 1.0)];

fn answered(study: Study) -> Answer {
    study.findings().answers.all.remove(0)
}

fn load(answer: &Answer) -> &MostLoad {
    answer.max_rate.as_ref().unwrap()
}

#[test]
fn the_answer_has_its_two_rates_with_their_numbers() {
    let found = study(&CURVE).findings();
    let answer = &found.answers.all[0];
    assert_eq!(answer.verdict, Claim::Supported);
    let load = load(answer);
    assert_eq!(
        (load.max_passing_rate.as_deref(), load.min_failing_rate.as_deref()),
        (Some("4000/s"), Some("4800/s"))
    );
    assert_eq!((load.slo.as_str(), load.slo_ns), ("p99 < 2 ms", 2_000_000));
    let text = &answer.answer;
    assert!(text.starts_with("p99 < 2 ms: passes at 4,000/s (p99 1.6 ms, 1.5"), "{text}");
    assert!(text.contains("fails at 4,800/s (p99 4 ms, 3."), "{text}");
    assert!(text.ends_with("; the limit is between them."), "{text}");
    assert_eq!(answer.reasons.len(), 4);
    assert!(answer.reasons[2].contains("4,400/s") && answer.reasons[2].contains("inconclusive"));
    // It is the first sentence.
    assert_eq!((&*found.summary[0].topic, &found.summary[0].text), ("max-rate", text));
    assert!(found.comparisons.iter().all(|one| one.verdict.is_none()) && found.advice.is_empty());
}

#[test]
fn a_rate_that_fell_behind_fails_by_name() {
    let mut rates = CURVE;
    rates[1] = (4000.0, 0.1, 0.5);
    let answer = answered(study(&rates));
    let load = load(&answer);
    assert_eq!(load.rates[1].outcome, Standing::Exceeds);
    assert_eq!(load.max_passing_rate.as_deref(), Some("3000/s"));
    assert!(answer.reasons[1].contains("6 of 6 trials issued operations too late"));
    // A passing rate above it does not count, and a failing rate below it fails alone.
    assert_eq!(load.min_failing_rate.as_deref(), Some("4800/s"));
    assert!(!answer.reasons[0].contains("too late"));
}

#[test]
fn one_side_alone_is_said_so() {
    let answer = answered(study(&CURVE[..2]));
    assert!(answer.answer.contains("no tested rate fails (highest: 4,000/s"));
    assert_eq!((answer.verdict, load(&answer).min_failing_rate.as_ref()), (Claim::Supported, None));
    let answer = answered(study(&CURVE[3..]));
    assert!(answer.answer.contains("no tested rate passes (lowest: 4,800/s"));
    assert_eq!(
        (answer.verdict, load(&answer).max_passing_rate.as_ref()),
        (Claim::Contradicted, None)
    );
    let answer = answered(study(&CURVE[2..3]));
    assert!(answer.answer.contains("inconclusive at all tested rates"), "{}", answer.answer);
    assert_eq!(answer.verdict, Claim::NotShown);
    let answer = answered(study(&[]));
    assert_eq!(answer.verdict, Claim::NoData);
}

#[test]
fn trials_that_do_not_count_decide_nothing() {
    let mut few = study(&CURVE);
    for series in few.measured.series.iter_mut().filter(|one| one.arm == course::at_rate(4000.0)) {
        series.trials.iter_mut().skip(2).for_each(|trial| trial.status = Status::Disturbed);
    }
    let answer = answered(few);
    let rate = &load(&answer).rates[1];
    assert_eq!((rate.outcome, rate.trials, rate.bounds_ns), (Standing::Inconclusive, 2, None));
    assert_eq!(load(&answer).max_passing_rate.as_deref(), Some("3000/s"));
}

#[test]
fn numbers_that_are_not_trusted_decide_nothing() {
    let with = |trust: Trust| {
        let mut study = study(&CURVE);
        let own = study.measured.series.iter_mut();
        for series in own.filter(|one| one.arm == course::at_rate(4000.0)) {
            series.trust = Some(trust);
        }
        answered(study)
    };
    let suspect = with(Trust::Suspect);
    assert_eq!(suspect.verdict, Claim::NotShown);
    assert!(suspect.answer.contains("from suspect numbers"), "{}", suspect.answer);
    let invalid = with(Trust::Invalid);
    assert_eq!(load(&invalid).max_passing_rate.as_deref(), Some("3000/s"));
    assert!(invalid.reasons[1].contains("invalid numbers"), "{:?}", invalid.reasons);
}

/// The rule on schedules flags numbers if a drive falls behind, which is also the criterion to fail.
#[test]
fn a_rate_that_fails_because_it_fell_behind_is_not_doubted_for_that() {
    let with = |rate: f64, rule: &str| {
        let mut study = study(&CURVE);
        let own = study.measured.series.iter_mut();
        for series in own.filter(|one| one.arm == course::at_rate(rate)) {
            series.trust = Some(Trust::Suspect);
            series.because = vec![Because {
                rule: rule.to_owned(),
                trust: Trust::Suspect,
                text: "something".to_owned(),
            }];
        }
        answered(study).verdict
    };
    assert_eq!(with(4800.0, "late-submission"), Claim::Supported);
    assert_eq!(with(4800.0, "foreign-io"), Claim::NotShown);
    assert_eq!(with(4000.0, "late-submission"), Claim::NotShown);
}

#[test]
fn silent_before_its_end_and_on_an_emulated_machine() {
    let mut going = study(&CURVE);
    going.measured.unfinished = true;
    let found = going.findings();
    assert!(
        found.answers.all.is_empty() && found.summary.iter().all(|own| own.topic != "max-rate")
    );
    let mut emulated = study(&CURVE);
    emulated.emulated = true;
    let answer = answered(emulated);
    assert_eq!(answer.verdict, Claim::NotShown);
    assert!(answer.answer.contains("emulated") && !answer.answer.contains("passes at"));
}

#[test]
fn an_answer_of_another_kind_has_no_load() {
    let mut other = study(&CURVE);
    other.measured.design.margin = Some(0.05);
    other.measured.design.questions = vec![claim(AskKind::Flat, |ask| {
        ask.factor = Some(course::RATE.to_owned());
    })];
    let found = other.findings();
    assert!(
        found.answers.all[0].max_rate.is_none()
            && found.summary.iter().all(|own| own.topic != "max-rate")
    );
}
