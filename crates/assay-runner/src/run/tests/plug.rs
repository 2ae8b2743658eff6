//! A study whose trials end with a power loss, from its first call to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use assay_machine::system::network::protocol::TOKEN_VARIABLE;
use assay_workloads::durability::DurabilityDetail;

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Two cuts"
replicates = 2
warmup_trial    = "none"
seed       = 11
area       = { size = "16 MiB" }

[[workload]]
name       = "log"
durability = { method = "plug", peer = "192.168.1.2:7710", record_size = "512 B", runtime = "50 ms" }
"#;

fn plugged() -> Fake {
    let fake = machine();
    fake.set_variable(TOKEN_VARIABLE, "what both ends of this test know");
    fake.start_again("first\n");
    fake
}

fn asked() -> Request<'static> {
    let mut study = text::parse("test", STUDY).unwrap();
    study.area.size = Some(Bytes(1 << 20));
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        ..Request::bare(study, vec!["/home/me".to_owned()])
    }
}

fn going() -> AtomicBool {
    AtomicBool::new(false)
}

/// Starts it, and cuts the power after this many promises; returns its directory.
fn cut_first(fake: &Fake, at: u64) -> PathBuf {
    fake.cut_power_at(at);
    let ran = || run(fake, asked(), &going(), &mut |_| {}).map(|finished| finished.trials.len());
    assert!(catch_unwind(AssertUnwindSafe(ran)).is_err(), "it was to be cut");
    let id = fake.list(Path::new("/var/lib/assay/results")).unwrap().remove(0);
    Path::new("/var/lib/assay/results").join(id)
}

fn go_on(fake: &Fake, directory: &Path, stop: &AtomicBool) -> Outcome<Finished> {
    let (stored, voucher) = vouch(fake, directory, Purpose::GoOn).unwrap();
    let acting = Acting { stored, voucher, directory: directory.to_owned() };
    resume(fake, acting, &Consented::default(), Looks::default(), stop, &mut |_| {})
}

fn details(trials: &[Trial]) -> Vec<&DurabilityDetail> {
    let measured = trials.iter().filter_map(|trial| trial.measured.as_ref());
    measured.filter_map(DurabilityDetail::of).collect()
}

#[test]
fn each_cut_is_judged_after_the_next_start_and_asked_for_again_until_there_are_enough() {
    let fake = plugged();
    let directory = cut_first(&fake, 10);
    assert!(bundle::read(&fake, &directory).unwrap().trials.is_empty());
    fake.start_again("second\n");
    fake.cut_power_at(6);
    let again = || go_on(&fake, &directory, &going()).map(|finished| finished.trials.len());
    assert!(catch_unwind(AssertUnwindSafe(again)).is_err(), "the second one is asked for");
    let stored = bundle::read(&fake, &directory).unwrap();
    assert_eq!(details(&stored.trials).len(), 1, "the first one is kept");
    fake.start_again("third\n");
    let finished = go_on(&fake, &directory, &going()).unwrap();
    let found: Vec<_> = details(&finished.trials)
        .iter()
        .map(|own| (own.tally.crash_points, own.tally.lost, own.tally.acknowledged_writes))
        .collect();
    assert_eq!(found, [(1, 0, 10), (1, 0, 6)]);
    assert!(!finished.interrupted && fake.kept().is_empty());
    let rate = &finished.trials[0].measured.as_ref().unwrap().absent;
    assert!(rate["durability_rounds_per_s"].contains("destroyed the timing data"), "{rate:?}");
}

#[test]
fn a_loss_is_found_and_the_next_one_that_nobody_cuts_is_no_cut() {
    let fake = plugged();
    let directory = cut_first(&fake, 10);
    fake.lose_kept().start_again("second\n");
    let finished = go_on(&fake, &directory, &going()).unwrap();
    let own = details(&finished.trials);
    assert_eq!((own.len(), own[0].tally.lost, own[0].tally.crash_points), (1, 1, 1));
    let last = &finished.trials[1];
    assert_eq!(last.status, Status::Failed);
    assert!(last.reason.as_ref().unwrap().contains("the power was not cut"), "{:?}", last.reason);
    assert_eq!(fake.called().len(), 1, "who was called once cut before it");
    assert!(fake.kept().is_empty());
}

#[test]
fn a_peer_that_forgot_fails_the_trial_and_a_stop_keeps_the_cut() {
    let fake = plugged();
    let directory = cut_first(&fake, 10);
    fake.start_again("second\n");
    let stopped = go_on(&fake, &directory, &AtomicBool::new(true)).unwrap();
    assert!(stopped.interrupted && stopped.directory.is_some(), "what waits to be judged stays");
    assert_eq!(fake.kept().len(), 1);
    fake.restart_peer();
    let finished = go_on(&fake, &directory, &going()).unwrap();
    let reason = finished.trials[0].reason.clone().unwrap();
    assert!(reason.contains("192.168.1.2:7710 no longer has a record of this trial"), "{reason}");
    assert!(details(&finished.trials).is_empty());
}

#[test]
fn a_study_that_is_stopped_before_a_cut_leaves_nothing() {
    let fake = plugged();
    let stop = going();
    let finished = run(&fake, asked(), &stop, &mut |event| {
        if matches!(event, Event::TrialStarted { .. }) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap();
    assert!(finished.interrupted && finished.directory.is_none());
    assert!(fake.kept().is_empty() && fake.called().is_empty());
}
