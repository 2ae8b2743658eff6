//! A study that is interrupted at any trial and resumed ends like an uninterrupted one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::failure::Outcome;
use assay_machine::system::{Fake, System};
use assay_runner::run::{self, Acting, Consented, Event, Finished, Request};
use assay_study::file::text;
use assay_study::results::bundle;
use assay_study::results::vouch::{Purpose, vouch};
use assay_testkit::needs::is_sampled;

use crate::DRIVE;
use crate::races::{findings, machine};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 3
seed       = 5
margin     = "5%"
baseline   = { queue_depth = "1" }

[factors]
queue_depth = ["1", "2", "8"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "20 ms" }

[[workload]]
name = "write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "20 ms" }
"#;

fn request() -> Request<'static> {
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        ..Request::bare(text::parse("test", STUDY).unwrap(), vec![DRIVE.to_owned()])
    }
}

fn interrupted_after(fake: &Fake, last: usize) -> Finished {
    let stop = AtomicBool::new(false);
    run::run(fake, request(), &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index, .. } if index == last) {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap()
}

fn gone_on_with(fake: &Fake, acting: Acting) -> Outcome<Finished> {
    let going = AtomicBool::new(false);
    run::resume(fake, acting, &Consented::default(), run::Looks::default(), &going, &mut |_| {})
}

fn resumed(fake: &Fake, id: &str) -> Finished {
    let directory = Path::new("/var/lib/assay/results").join(id);
    let (stored, voucher) = vouch(fake, &directory, Purpose::GoOn).unwrap();
    gone_on_with(fake, Acting { stored, voucher, directory }).unwrap()
}

#[test]
fn wherever_it_was_interrupted_the_findings_are_the_same() {
    let whole = run::run(&machine(), request(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let expected = serde_json::to_string(&findings(&whole)).unwrap();
    let trials = whole.plan.trials.len();
    // Three replicates, each with its warm-up.
    assert_eq!(trials, 3 * (1 + 8));
    for last in (0..trials - 1).filter(|last| is_sampled(*last as u64, 3)) {
        let fake = machine();
        let begun = interrupted_after(&fake, last);
        assert!(begun.interrupted);
        assert_eq!(begun.trials.len(), last + 1);
        let finished = resumed(&fake, &begun.id);
        assert_eq!(finished.plan, whole.plan);
        assert_eq!(serde_json::to_string(&findings(&finished)).unwrap(), expected, "after {last}");
    }
}

#[test]
fn a_line_that_a_crash_cut_off_is_run_again() {
    let whole = run::run(&machine(), request(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let fake = machine();
    let begun = interrupted_after(&fake, 9);
    let path = Path::new("/var/lib/assay/results").join(&begun.id).join("trials.jsonl");
    let text = fake.read_text(&path).unwrap();
    fake.put(&path, &text[..text.len() - 30]);
    let finished = resumed(&fake, &begun.id);
    assert_eq!(findings(&finished), findings(&whole));
    let stored = bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&begun.id)).unwrap();
    assert_eq!(stored.trials.len(), whole.trials.len());
}

#[test]
fn a_plan_that_was_changed_is_refused() {
    let fake = machine();
    let begun = interrupted_after(&fake, 3);
    let directory = Path::new("/var/lib/assay/results").join(&begun.id);
    let path = directory.join("plan.json");
    let text = fake.read_text(&path).unwrap();
    fake.put(&path, text.replace("\"margin\": 0.05", "\"margin\": 0.5"));
    let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
    let ended = gone_on_with(&fake, Acting { stored, voucher, directory });
    let failure = ended.err().expect("refused");
    assert!(failure.message.contains("hash"), "{failure}");
}

/// Unknown work is neither replaced nor evaluated.
#[test]
fn a_plan_with_unknown_words_is_refused_and_nothing_runs() {
    let fake = machine();
    let begun = interrupted_after(&fake, 3);
    let directory = Path::new("/var/lib/assay/results").join(&begun.id);
    let path = directory.join("plan.json");
    let whole = fake.read_text(&path).unwrap();
    for (word, other) in [
        ("\"pattern\": \"random\"", "\"pattern\": \"zipf\""),
        ("\"content\": \"0%\"", "\"content\": \"poems\""),
        ("\"engine\": \"simulated\"", "\"engine\": \"steam\""),
        ("\"io\": {", "\"dance\": {"),
    ] {
        assert!(whole.contains(word), "{word}: {whole}");
        fake.put(&path, whole.replacen(word, other, 1));
        let failure = vouch(&fake, &directory, Purpose::GoOn).err().expect("refused");
        assert_eq!(failure.kind.exit_code(), 2, "{failure}");
        let named = other.split('"').nth_back(1).unwrap();
        let refusals = ["unknown variant", "unknown compressibility `poems`"];
        let is_refused = refusals.iter().any(|words| failure.message.contains(words));
        assert!(is_refused, "{named}: {failure}");
    }
    fake.put(&path, whole);
    assert_eq!(bundle::read(&fake, &directory).unwrap().trials.len(), 4);
}
