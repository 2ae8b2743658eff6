//! Settings that change each other, or do not come back.

use super::*;
use assay_machine::system::fake::Manner;

/// A machine on which one setting takes what is written in a manner, and a study that varies it.
fn varying(manner: Manner) -> (Fake, Request<'static>) {
    let fake = machine();
    fake.put("/proc/sys/vm/swappiness", "60\n").put("/proc/sys/vm/page-cluster", "3\n");
    fake.set_manner("/proc/sys/vm/swappiness", manner);
    let mut request = request("/home/me");
    let levels = ["60", "70"].map(str::to_owned).into();
    request.study.factors.insert("tunable:/proc/sys/vm/swappiness".to_owned(), levels);
    (fake, request)
}

#[test]
fn an_unknown_neighbor_is_the_same_in_each_trial_and_restored() {
    let (fake, request) = varying(Manner::Zeroes("/proc/sys/vm/page-cluster".into()));
    let vm = |name: &str| fake.read_text(&Path::new("/proc/sys/vm").join(name)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    run(&fake, request, &AtomicBool::new(false), &mut |event| {
        if matches!(event, Event::TrialEnded { .. }) {
            seen.insert((vm("swappiness"), vm("page-cluster")));
        }
    })
    .unwrap();
    assert_eq!(seen, ["60\n", "70\n"].map(|level| (level.to_owned(), "0\n".to_owned())).into());
    assert_eq!((vm("swappiness").as_str(), vm("page-cluster").as_str()), ("60\n", "3\n"));
}

#[test]
fn a_setting_that_does_not_come_back_ends_the_study_before_its_first_trial() {
    let (fake, request) = varying(Manner::Rises);
    let failure = run(&fake, request, &AtomicBool::new(false), &mut |event| {
        assert!(!matches!(event, Event::TrialEnded { .. }));
    });
    assert_eq!(failure.err().unwrap().kind, Kind::NotRestored);
}

#[test]
fn levels_that_the_kernel_refuses_together_are_left_out_together() {
    let fake = machine();
    let mut request = schedulers(&["mq-deadline", "none"]);
    let lengths = ["64", "1024"].map(str::to_owned).to_vec();
    request.study.factors.insert("nr_requests".to_owned(), lengths);
    request.study.baseline.insert("nr_requests".to_owned(), "64".to_owned());
    let finished = run(&fake, request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let refused: Vec<Vec<&str>> = finished.plan.surveys[0]
        .refused
        .iter()
        .map(|refusal| refusal.levels.values().map(String::as_str).collect())
        .collect();
    assert_eq!(refused, [["1024", "none"]]);
    assert!(finished.trials.iter().all(|trial| trial.measured.is_some()));
    assert!(is_put_back(&fake));
}
