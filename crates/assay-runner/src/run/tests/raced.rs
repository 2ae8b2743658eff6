//! Races over settings of a machine: after any interruption, the settings are restored, and the race can be resumed.

use super::*;
use assay_study::plan::race;

fn racing() -> Request<'static> {
    let mut request = schedulers(&["mq-deadline", "none"]);
    let (first, _) = STUDY.split_once("[[workload]]\nname = \"random-write\"").unwrap();
    let more = "replicates = 4\nmargin = \"5%\"\nstop = { rule = \"best\" }";
    let race = text::parse("test", &first.replace("replicates = 3", more)).unwrap();
    let Study { area, baseline, mut factors, .. } = request.study;
    factors.insert("block_size".to_owned(), vec!["4 KiB".to_owned(), "8 KiB".to_owned()]);
    request.study = Study { area, baseline, factors, ..race };
    Request { log: Some(of_size), ..request }
}

/// A value that depends on the setting, not on a clock: the larger size is ahead by a third, with both schedulers.
fn of_size(
    _: &assay_study::results::Plan,
    _: &assay_study::results::Environment,
    trial: &Trial,
) -> Option<f64> {
    let ahead = if trial.arm["block_size"] == "8 KiB" { 0.3 } else { 0.0 };
    trial.measured.is_some().then_some(ahead)
}

fn looks() -> Looks<'static> {
    Looks { log: Some(of_size), ..Looks::default() }
}

/// The trials that ran, without times.
fn course(finished: &Finished) -> Vec<(u32, u32, usize)> {
    let records = finished.trials.iter();
    records.map(|record| (record.order, record.replicate, record.workload)).collect()
}

#[test]
#[ignore = "nightly: 1 s"]
fn settings_that_are_behind_leave_and_all_is_put_back() {
    let fake = machine();
    let finished = run(&fake, racing(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(is_put_back(&fake));
    assert!(finished.ended.is_some());
    let runs: Vec<race::Run> = finished
        .trials
        .iter()
        .map(|trial| {
            let log = of_size(&finished.plan, &finished.environment, trial);
            race::Run::new(trial, log)
        })
        .collect();
    let end = race::race(&finished.plan, &runs).unwrap();
    let leader = end.standing.leader.expect("a look");
    assert_eq!(finished.plan.workloads[leader].arm["block_size"], "8 KiB");
    // One of the smaller ones was eliminated; the other is the baseline.
    assert_eq!(end.standing.left.iter().flatten().count(), 1);
    assert!(finished.trials.len() < finished.plan.trials.len());
    assert!(end.next.is_empty());
}

#[test]
fn wherever_a_race_dies_it_is_put_back_and_gone_on_with_to_the_same_end() {
    let whole = {
        let fake = machine();
        course(&run(&fake, racing(), &AtomicBool::new(false), &mut |_| {}).unwrap())
    };
    let step = count(14, 1);
    let (mut resumed, mut change) = (0, 1);
    loop {
        let fake = machine();
        let dying = Faulty::dying(&fake, change);
        let _ = run(&dying, racing(), &AtomicBool::new(false), &mut |_| {});
        let alive = !dying.has_failed();
        for left in journal::unfinished(&fake, Path::new("/var/lib/assay/journal")).unwrap() {
            assert_eq!(journal::restore(&fake, &left).unwrap().failed, Vec::<String>::new());
        }
        assert!(is_put_back(&fake), "after change {change}");
        if alive {
            break;
        }
        for id in bundle::ids(&fake, Path::new("/var/lib/assay/results")) {
            let directory = Path::new("/var/lib/assay/results").join(&id);
            let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
            if stored.ended.is_some() {
                continue;
            }
            let acting = Acting { stored, voucher, directory };
            let (going, nothing) = (AtomicBool::new(false), Consented::default());
            let finished = resume(&fake, acting, &nothing, looks(), &going, &mut |_| {});
            let finished =
                finished.unwrap_or_else(|failure| panic!("after change {change}: {failure}"));
            resumed += 1;
            assert_eq!(course(&finished), whole, "after change {change}");
            assert!(is_put_back(&fake), "after change {change}");
        }
        change += u64::from(step);
    }
    assert!(resumed > 0, "nothing was gone on with");
}
