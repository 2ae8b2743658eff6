use assay_study::file::presets;
use assay_study::findings::Because;
use assay_study::findings::measurements::Series;
use assay_study::results::design::AskKind;
use assay_study::results::surroundings::facts::DriveHealth;

use super::super::verdicts::tests::{Study, arm};
use super::*;

const P99: &str = "fdatasync_p99_ns";
/// The p99 of each of six trials, in ms: its 95% CI is 8.82 to 9.09.
const NINE: [f64; 6] = [8.8, 9.0, 9.1, 8.8, 9.05, 8.98];

fn at_most(metric: &str, most: &str) -> Ask {
    Ask {
        kind: AskKind::Bound,
        ask: format!("Is {metric} at most {most}?"),
        published: Some("somebody says so (https://example.org)".to_owned()),
        workloads: vec!["wal".to_owned()],
        metric: Some(metric.to_owned()),
        factor: None,
        at: std::collections::BTreeMap::new(),
        level: None,
        versus: None,
        between: Vec::new(),
        min: None,
        max: most.parse().ok(),
        slo: None,
    }
}

/// A target with one workload, and the sync latency of each trial in ms.
fn place(p99_ms: &[f64], most: &str) -> Study {
    let mut study = Study::of(&[("a", &[])]);
    let trial = |(at, ms): (u32, &f64)| TrialValue::bare(at, Some(at), Some(ms * 1e6), Status::Ok);
    let trials = (1..).zip(p99_ms).map(trial);
    let own = Series { trials: trials.collect(), ..study.measured.series[0].clone() };
    let (workload, metric) = ("wal".to_owned(), P99.to_owned());
    let better = assay_core::quantity::Better::Lower;
    let series = Series { workload, metric, better, arm: arm(&[]), ..own };
    study.measured.series = vec![series];
    let design = &mut study.measured.design;
    design.factors.clear();
    design.baseline.clear();
    design.primary = Some(P99.to_owned());
    design.fit = Some("etcd".to_owned());
    design.questions = vec![at_most(P99, most)];
    study
}

fn because(rule: &str, trust: Trust) -> Because {
    let text = "syncs are acknowledged by a cache: so it is".to_owned();
    Because { rule: rule.to_owned(), trust, text }
}

fn told(study: Study) -> Fitness {
    study.findings().answers.requirements.unwrap()
}

fn ended(p99_ms: &[f64], most: &str) -> Fit {
    told(place(p99_ms, most)).outcome
}

#[test]
fn a_bound_is_decided_by_the_whole_interval() {
    assert_eq!(ended(&NINE, "10 ms"), Fit::Pass);
    assert_eq!(ended(&NINE, "8 ms"), Fit::Fail);
    assert_eq!(ended(&NINE, "9 ms"), Fit::Inconclusive);
    assert_eq!(ended(&NINE[..2], "10 ms"), Fit::Inconclusive);
    assert_eq!(ended(&[], "10 ms"), Fit::Inconclusive);
}

#[test]
fn what_is_exactly_the_bound_is_within_it() {
    assert_eq!(ended(&[10.0; 6], "10 ms"), Fit::Pass);
    assert_eq!(ended(&[10.001; 6], "10 ms"), Fit::Fail);
}

/// Each class with its published limits: MB/s of 10^6 bytes, then read and write IOPS.
#[test]
fn each_sd_class_is_decided_at_its_limits() {
    let classes = "c2 2e6,C4 4e6,c6 6e6,c10 10e6,u1 10e6,u3 30e6,v6 6e6,v10 10e6,V30 30e6,v60 60e6,v90 90e6,\
                   a1 10e6 1500 500,A2 10e6 4000 2000,boot-drive 10e6 1500 500";
    for class in classes.split(',') {
        let (name, limits) = class.split_once(' ').unwrap();
        let limits: Vec<f64> = limits.split(' ').map(|limit| limit.parse().unwrap()).collect();
        let asked = presets::find(name).unwrap().unwrap().question;
        assert_eq!(asked.len(), limits.len(), "{name}");
        assert!(asked[0].published.as_ref().unwrap().contains("not a certification"), "{name}");
        for (ask, limit) in asked.iter().zip(limits) {
            let ended_at = |share: f64| {
                let mut study = place(&[limit * share / 1e6; 6], "1 ms");
                let own = &mut study.measured.design.questions[0];
                (own.min, own.max) = (ask.min.clone(), None);
                told(study).outcome
            };
            let ends = [0.9999, 1.0, 1.0001].map(ended_at);
            assert_eq!(ends, [Fit::Fail, Fit::Pass, Fit::Pass], "{name}: {}", ask.ask);
        }
    }
}

#[test]
fn a_source_without_a_limit_gives_no_verdict() {
    let mut study = place(&NINE, "10 ms");
    study.measured.design.questions[0].max = None;
    let told = told(study);
    assert_eq!(told.outcome, Fit::Inconclusive);
    assert!(told.text.contains("p99 fdatasync 8.9"), "{}", told.text);
    assert!(told.text.ends_with("; no limit is published)"), "{}", told.text);
}

#[test]
fn it_stands_first_and_tells_the_number_with_its_bound() {
    let found = place(&NINE, "10 ms").findings();
    assert_eq!(found.summary[0].topic, "fitness");
    let text = &found.summary[0].text;
    assert!(text.starts_with("Good enough for etcd: pass (wal: p99 fdatasync "), "{text}");
    assert!(text.ends_with("; the limit is at most 10 ms)."), "{text}");
    let bound = &found.answers.requirements.as_ref().unwrap().bounds[0];
    assert!(bound.published.as_ref().unwrap().contains("https://example.org"));
    // Without requirements there is no answer.
    let mut other = place(&NINE, "10 ms");
    other.measured.design.fit = None;
    let found = other.findings();
    assert!(
        found.answers.requirements.is_none()
            && found.summary.iter().all(|own| own.topic != "fitness")
    );
}

#[test]
fn what_syncs_rest_on_stands_beside_the_answer_and_decides_nothing() {
    let with = |rule: &str| {
        let mut study = place(&NINE, "10 ms");
        study.measured.series[0].because.push(because(rule, Trust::Trusted));
        told(study)
    };
    let (own, other) = (with(crate::rules::ACKNOWLEDGED), with("another"));
    assert_eq!((own.outcome, other.outcome), (Fit::Pass, Fit::Pass));
    let sentence = "Syncs are acknowledged by a cache: so it is.".to_owned();
    assert_eq!(own.bounds[0].reasons.last(), Some(&sentence));
    assert!(!other.bounds[0].reasons.contains(&sentence), "{:?}", other.bounds[0].reasons);
}

#[test]
fn one_bound_that_is_broken_is_enough_and_a_pass_needs_all() {
    let of = |mosts: &[&str]| {
        let mut study = place(&NINE, "10 ms");
        study.measured.design.questions = mosts.iter().map(|most| at_most(P99, most)).collect();
        told(study).outcome
    };
    assert_eq!(of(&["10 ms", "20 ms"]), Fit::Pass);
    assert_eq!(of(&["10 ms", "8 ms"]), Fit::Fail);
    assert_eq!(of(&["10 ms", "9 ms"]), Fit::Inconclusive);
    // They share the error: a bound that passes alone may be inconclusive among several.
    let near = "9.13 ms";
    assert_eq!(of(&[near]), Fit::Pass);
    assert_eq!(of(&[near; 8]), Fit::Inconclusive);
}

#[test]
fn a_metric_that_nothing_told_is_never_a_pass() {
    let mut study = place(&NINE, "10 ms");
    study.measured.design.questions = vec![at_most("fdatasync_p999_ns", "10 ms")];
    let told = told(study);
    assert_eq!(told.outcome, Fit::Inconclusive);
    assert!(told.text.contains("was not measured"), "{}", told.text);
}

#[test]
fn why_a_number_is_missing_stands_with_its_bound_and_with_no_other() {
    let because = |asked: &str| {
        let mut study = place(&NINE, "10 ms");
        study.measured.design.questions = vec![at_most(asked, "10 ms")];
        let design = study.measured.design.clone();
        let mut found = study.findings();
        found.absent.push(AbsentCell {
            workload: "wal".to_owned(),
            configuration: arm(&[]),
            metric: Some("fdatasync_p999_ns".to_owned()),
            reason: "needs 10,000 operations per trial, but had only 250".to_owned(),
            obstacle: None,
        });
        add_fitness(&mut found, &design);
        found.answers.requirements.unwrap().bounds.remove(0).reasons
    };
    let is_why = |text: &String| {
        text.starts_with("wal: needs 10,000 operations per trial, but had only 250; next: repeat")
    };
    assert!(because("fdatasync_p999_ns").iter().any(is_why));
    assert!(!because(P99).iter().any(is_why));
}

#[test]
fn numbers_that_are_not_trusted_never_pass_and_never_fail() {
    for most in ["10 ms", "8 ms"] {
        for trust in [Trust::Suspect, Trust::Invalid] {
            let mut study = place(&NINE, most);
            study.measured.series[0].trust = Some(trust);
            assert_eq!(told(study).outcome, Fit::Inconclusive, "{most} {trust:?}");
        }
        let mut trusted = place(&NINE, most);
        trusted.measured.series[0].trust = Some(Trust::Trusted);
        assert_ne!(told(trusted).outcome, Fit::Inconclusive, "{most}");
    }
}

#[test]
fn slowed_numbers_meet_a_lower_bound_and_break_none() {
    for (least, rule, ended) in [
        ("8 ms", "foreign-io", Fit::Pass),
        ("10 ms", "foreign-io", Fit::Inconclusive),
        ("8 ms", "host-cache", Fit::Inconclusive),
        ("8 ms", "device-bytes", Fit::Inconclusive),
    ] {
        let mut study = place(&NINE, "1 ms");
        let ask = &mut study.measured.design.questions[0];
        (ask.min, ask.max) = (least.parse().ok(), None);
        let own = &mut study.measured.series[0];
        (own.better, own.trust) = (assay_core::quantity::Better::Higher, Some(Trust::Suspect));
        own.because = ["cpu-starved", rule].map(|rule| because(rule, Trust::Suspect)).to_vec();
        own.trials.iter_mut().for_each(|trial| trial.status = Status::Disturbed);
        assert_eq!(told(study).outcome, ended, "{least} {rule}");
    }
}

#[test]
fn trials_that_failed_or_were_disturbed_keep_it_from_being_told() {
    let with = |statuses: &[Status]| {
        let mut study = place(&NINE, "10 ms");
        for (trial, status) in study.measured.series[0].trials.iter_mut().zip(statuses) {
            trial.status = *status;
            if *status == Status::Failed {
                trial.value = None;
            }
        }
        told(study)
    };
    let failed = with(&[Status::Failed]);
    assert_eq!(failed.outcome, Fit::Inconclusive);
    assert!(failed.text.contains("1 of 6 trials of wal failed"), "{}", failed.text);
    assert_eq!(with(&[Status::Disturbed; 6]).outcome, Fit::Inconclusive);
    assert_eq!(with(&[Status::Disturbed; 4]).outcome, Fit::Inconclusive);
    // The remaining trials are enough for an interval, so the excluded ones do not matter.
    assert_eq!(with(&[Status::Disturbed; 2]).outcome, Fit::Pass);
}

#[test]
fn a_drive_that_counts_errors_is_no_place_to_tell_anything_of() {
    let seen = |grown: &[(&str, u64)]| {
        let mut found = place(&NINE, "10 ms").findings();
        let grown = grown.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
        let drive = DriveHealth { drive: "sda".to_owned(), grown, ..DriveHealth::default() };
        found.environment.activity.drives = vec![drive];
        add_fitness(&mut found, &place(&NINE, "10 ms").measured.design);
        found.answers.requirements.unwrap()
    };
    assert_eq!(seen(&[]).outcome, Fit::Pass);
    let dying = seen(&[("reallocated_sectors", 3)]);
    assert_eq!(dying.outcome, Fit::Inconclusive);
    assert!(dying.text.contains("sda reported new internal errors"), "{}", dying.text);
}

#[test]
fn trials_that_are_still_to_come_tell_nothing() {
    let mut study = place(&NINE, "10 ms");
    study.measured.unfinished = true;
    let told = told(study);
    assert_eq!(told.outcome, Fit::Inconclusive);
    assert!(told.text.contains("Trials are pending"), "{}", told.text);
}

#[test]
fn an_emulator_is_no_place_either() {
    let mut study = place(&NINE, "10 ms");
    study.emulated = true;
    assert_eq!(told(study).outcome, Fit::Inconclusive);
}
