//! A race on the simulated drive ends with valid statements only, also after an interruption at any trial.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use assay_analysis::inference;
use assay_machine::system::Fake;
use assay_runner::run::{self, Acting, Consented, Event, Finished, Looks, Request};
use assay_study::file::text;
use assay_study::findings::race::{RaceAnswer, RaceEnd};
use assay_study::findings::{Findings, StudyFacts};
use assay_study::results::bundle;
use assay_study::results::vouch::{Purpose, vouch};
use assay_testkit::needs::is_sampled;

use crate::DRIVE;

/// Four servers: depths of 4 and more use them all.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 6
seed       = 5
margin     = "5%"
stop       = { rule = "best" }
baseline   = { queue_depth = "1" }

[factors]
queue_depth = ["1", "2", "3", "4", "8"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "20 ms" }
"#;

pub(crate) fn machine() -> Fake {
    Fake::sata_ssd().unwrap()
}

pub(crate) fn request(text: &str) -> Request<'static> {
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        log: Some(inference::race_log),
        ..Request::bare(text::parse("test", text).unwrap(), vec![DRIVE.to_owned()])
    }
}

pub(crate) fn raced(text: &str) -> Finished {
    run::run(&machine(), request(text), &AtomicBool::new(false), &mut |_| {}).unwrap()
}

pub(crate) fn findings(finished: &Finished) -> Findings {
    let study = StudyFacts {
        id: String::new(),
        title: finished.study.title.clone(),
        kind: "study".to_owned(),
        plan_sha256: finished.plan.sha256.clone(),
        started: String::new(),
        seed: finished.plan.seed,
        stopped_by: finished.ended.clone(),
        ..StudyFacts::default()
    };
    inference::findings(study, &finished.plan, &finished.environment, &finished.trials)
}

pub(crate) fn answer(found: &Findings) -> &RaceAnswer {
    found.race.as_ref().expect("a race")
}

#[test]
fn a_race_ends_with_a_winner_and_without_a_verdict() {
    let finished = raced(STUDY);
    assert!(finished.trials.len() < finished.plan.trials.len(), "nothing left");
    let ended = finished.ended.as_deref().expect("a reason");
    let found = findings(&finished);
    let race = answer(&found);
    let winner = race.winner.as_ref().expect("a winner");
    assert!(["4", "8"].contains(&winner["queue_depth"].as_str()), "{winner:?}");
    assert!(race.end.is_some() && race.baseline_eliminated && race.can_be_confirmed(), "{ended}");
    let promised = race.winner_ratio.expect("a promise");
    assert!((3.0..5.0).contains(&promised), "{promised}");
    // The baseline always stays, and every elimination has a reason.
    let stayed = |depth: &str| {
        let own =
            race.entries.iter().find(|own| own.configuration["queue_depth"] == depth).unwrap();
        own.eliminated.is_none()
    };
    assert!(stayed("1") && !stayed("2"));
    let behind =
        race.entries.iter().filter_map(|own| own.eliminated.as_ref()?.ratio_to_leader.as_ref());
    assert!(behind.clone().count() >= 1);
    assert!(behind.clone().all(|own| own.ends[1] < 1.0 && own.ratio < 1.0));
    // Arms that a race selected get no statements.
    assert!(
        found.comparisons.is_empty()
            && found.effects.main.is_empty()
            && found.effects.ranks.is_empty()
    );
    assert!(
        found.effects.trends.is_empty() && found.advice.is_empty() && found.answers.all.is_empty()
    );
    assert!(found.effects.noise_floor.is_none() && found.effects.interactions.is_empty());
}

#[test]
fn texts_tell_who_won_and_never_that_anything_is_better() {
    let found = findings(&raced(STUDY));
    let said = found.summary.iter().find(|own| own.topic == "race").expect("a sentence");
    assert!(said.text.contains(" won the race among 5 configurations after "), "{}", said.text);
    let document = assay_report::document::usual(&found);
    let texts =
        [assay_report::text::render(&document, 80, false), assay_report::markdown::comment(&found)];
    for text in texts {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("won the race among 5 configurations"), "{text}");
        assert!(text.contains("eliminated after"), "{text}");
        for word in ["better", "worse", "equivalent", "inconclusive"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    let stored = serde_json::to_string(&found).unwrap();
    let again: Findings = serde_json::from_str(&stored).unwrap();
    assert_eq!(again.race, found.race);
}

#[test]
fn a_race_of_few_replicates_ends_with_all_that_it_has() {
    // Two equal depths, without an equivalence margin to end.
    let text = STUDY.replace(
        "stop       = { rule = \"best\" }",
        "stop = { rule = \"best\", indifference_zone = \"0.01%\" }",
    );
    let finished = raced(&text.replace("replicates = 6", "replicates = 3"));
    let found = findings(&finished);
    assert_eq!(answer(&found).end, Some(RaceEnd::Replicates));
    assert!(answer(&found).text.contains("without a significant"), "{}", answer(&found).text);
}

fn interrupted_after(fake: &Fake, last: usize) -> Finished {
    let stop = AtomicBool::new(false);
    run::run(fake, request(STUDY), &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index, .. } if index == last) {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap()
}

#[test]
#[ignore = "nightly: 2 s"]
fn wherever_a_race_was_interrupted_it_ends_the_same() {
    let whole = raced(STUDY);
    let expected = findings(&whole);
    for last in (0..whole.trials.len() - 1).filter(|last| is_sampled(*last as u64, 3)) {
        let fake = machine();
        let begun = interrupted_after(&fake, last);
        assert!(begun.interrupted);
        assert_eq!(begun.trials.len(), last + 1);
        let under_way = findings(&begun);
        // A warm-up alone decides nothing.
        assert!(under_way.race.is_none_or(|race| race.end.is_none()), "after {last}");
        let directory = Path::new("/var/lib/assay/results").join(&begun.id);
        let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
        let acting = Acting { stored, voucher, directory: directory.clone() };
        let going = AtomicBool::new(false);
        let looks = Looks { log: Some(inference::race_log), ..Looks::default() };
        let consented = Consented::default();
        let finished = run::resume(&fake, acting, &consented, looks, &going, &mut |_| {}).unwrap();
        assert_eq!(finished.plan, whole.plan);
        assert_eq!(findings(&finished), expected, "after {last}");
        let stored = bundle::read(&fake, &directory).unwrap();
        assert_eq!(stored.ended, whole.ended, "after {last}");
        assert_eq!(stored.trials.len(), whole.trials.len());
    }
}

/// One of the remaining combinations moves twice as much as any other.
#[test]
fn a_space_is_raced_and_what_makes_no_sense_in_it_is_told() {
    const SPACE: &str = "[search]\nqueue_depth = \"1 .. 8 in doublings\"\nblock_size = \"4 KiB .. 8 KiB in doublings\"";
    let text = STUDY
        .replace(
            "stop       = { rule = \"best\" }",
            "primary_metric = \"bandwidth_bytes_per_s\"\nexclude = [\"queue_depth > 4 and block_size > 4 KiB\"]",
        )
        .replace("{ queue_depth = \"1\" }", "{ queue_depth = 1, block_size = \"4 KiB\" }")
        .replace("[factors]\nqueue_depth = [\"1\", \"2\", \"3\", \"4\", \"8\"]", SPACE)
        .replace("block_size = \"4 KiB\", time", "time");
    let finished = raced(&text);
    assert_eq!(finished.plan.workloads.len(), 7);
    let found = findings(&finished);
    let race = answer(&found);
    let winner = race.winner.as_ref().expect("a winner");
    assert_eq!((winner["queue_depth"].as_str(), winner["block_size"].as_str()), ("4", "8 KiB"));
    let [told] = found.absent.iter().filter(|own| own.metric.is_none()).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", found.absent)
    };
    assert_eq!(told.workload, "1 of 8 combinations");
    assert!(
        told.reason.ends_with("excluded by the study: queue_depth > 4 and block_size > 4 KiB"),
        "{}",
        told.reason
    );
    // The written study equals the one that ran.
    let text = text::write(&finished.study).unwrap();
    assert_eq!(text::stored("again", &text).unwrap(), finished.study);
}
