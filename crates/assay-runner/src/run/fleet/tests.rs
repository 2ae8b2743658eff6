//! Fleets with ranks that are lost, differ, send garbage, or hang.

use assay_study::results::record::Status;

use super::{OnFailure, stored};
use crate::run::known::fleet::{
    A_TRIAL, BEFORE, Came, KnownEnding, KnownFleet, STUDY, USUAL, fleet, one_of_three_lost,
};

fn hashes(came: &[Came]) -> Vec<String> {
    let own = |came: &Came| came.kept[0].environment.fleet.as_ref().unwrap().order_sha256.clone();
    came.iter().map(own).collect()
}

#[test]
fn four_ranks_have_one_plan_one_order_and_one_result() {
    let came = fleet(&[USUAL, USUAL, USUAL, USUAL], OnFailure::Stop);
    let zero = came[0].finished.as_ref().unwrap();
    let whole = zero.plan.trials.len();
    assert!(whole > 6 && zero.trials.len() == whole, "{} of {whole}", zero.trials.len());
    let fleet = zero.environment.fleet.as_ref().unwrap();
    assert_eq!((fleet.ranks, fleet.rank, fleet.hosts.len()), (4, None, 4));
    let names: Vec<&str> = fleet.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["n0", "n1", "n2", "n3"]);
    let hashes = hashes(&came);
    assert!(hashes.iter().all(|own| *own == hashes[0] && own.len() == 64), "{hashes:?}");
    for (at, trial) in zero.trials.iter().enumerate() {
        let record = trial;
        let operations = record.measured.as_ref().unwrap().operations();
        let together = record.together.as_ref().unwrap();
        assert_eq!(together.hosts.len(), 4);
        assert_eq!(together.hosts.iter().map(|own| own.operations).sum::<u64>(), operations);
        assert_eq!(trial.latency_ns["read"].len(), operations, "the histogram has each of them");
        let own = |came: &Came| {
            let own =
                came.kept.iter().find(|own| own.environment.fleet.as_ref().unwrap().rank.is_some());
            own.unwrap().trials[at].measured.as_ref().unwrap().operations()
        };
        assert_eq!(came.iter().map(own).sum::<u64>(), operations, "what each rank keeps itself");
    }
    // Rank 0 stores its result and the combined one, the others one each.
    assert_eq!(came.iter().map(|own| own.kept.len()).collect::<Vec<_>>(), [2, 1, 1, 1]);
    for other in &came[1..] {
        let finished = other.finished.as_ref().unwrap();
        assert_eq!(
            (finished.trials.len(), finished.ended.clone(), finished.interrupted),
            (whole, None, false)
        );
    }
}

#[test]
fn targets_may_differ_and_all_get_what_the_least_has() {
    let slow = KnownFleet { target: "simulated:fixed,mean=300us", ..USUAL };
    let came = fleet(&[USUAL, slow], OnFailure::Stop);
    let plans: Vec<_> = came.iter().map(|own| own.kept.last().unwrap().plan.clone()).collect();
    assert_eq!(plans[0].trials, plans[1].trials);
    assert_eq!(plans[0].surveys[0].pilot, plans[1].surveys[0].pilot, "the slower of the two");
    assert_ne!(plans[0].sha256, plans[1].sha256, "each names its own target");
    let zero = came[0].finished.as_ref().unwrap();
    let hosts = &zero.trials.last().unwrap().together.as_ref().unwrap().hosts;
    assert!(hosts[0].operations_per_s > 2.0 * hosts[1].operations_per_s, "{hosts:?}");
}

#[test]
fn another_study_is_refused_by_name_before_anything_runs() {
    let other =
        KnownFleet { study: Box::leak(STUDY.replace("4 KiB", "8 KiB").into_boxed_str()), ..USUAL };
    let came = fleet(&[USUAL, other, USUAL], OnFailure::Continue);
    for own in &came {
        let why = own.finished.as_ref().err().unwrap();
        assert!(why.message.contains("rank 1 (n1) has a different plan"), "{}", why.message);
        assert!(own.kept.is_empty(), "nothing was started");
    }
}

#[test]
fn what_has_no_sum_is_refused() {
    let text = STUDY.replace(
        "replicates = 3",
        "replicates = 12\nstop = { rule = \"interim\", interim_at = [6, 12] }",
    );
    let looks = KnownFleet { study: Box::leak(text.into_boxed_str()), ..USUAL };
    let came = fleet(&[looks.clone(), looks], OnFailure::Stop);
    let why = &came[0].finished.as_ref().err().unwrap().message;
    assert!(why.contains("--coordinator does not support this study yet"), "{why}");
}

/// At any loss of a rank, the others end within their timeout and name it.
#[test]
#[ignore = "nightly: 1 s"]
fn a_rank_that_is_lost_ends_the_others_by_name_wherever_that_is() {
    for ending in [KnownEnding::Dies, KnownEnding::Stops, KnownEnding::Babbles] {
        for at in [BEFORE, BEFORE + 1, BEFORE + 2, BEFORE + A_TRIAL, BEFORE + 4 * A_TRIAL + 1] {
            let lost = KnownFleet { ends: Some((at, ending)), ..USUAL };
            let came = fleet(&[USUAL, USUAL, lost], OnFailure::Stop);
            let zero = came[0].finished.as_ref().unwrap();
            let why = zero.ended.as_deref().unwrap_or_default();
            assert!(why.starts_with("lost rank 2 (n2): "), "{ending:?} {at}: {why}");
            let fleet = zero.environment.fleet.as_ref().unwrap();
            let whole = (at - BEFORE) / A_TRIAL;
            let lost = fleet.hosts[2].lost.as_ref().unwrap();
            assert_eq!(lost.order as usize, whole, "{ending:?} {at}");
            assert_eq!(zero.trials.len(), whole + 1, "{ending:?} {at}: finished ones are kept");
            assert!(zero.trials[..whole].iter().all(|own| own.measured.is_some()));
            assert!(zero.trials[whole].measured.is_none());
            let other = came[1].finished.as_ref().unwrap();
            assert!(
                other.ended.as_deref().unwrap().contains("lost rank 2 (n2)"),
                "{:?}",
                other.ended
            );
            assert!(came[2].finished.is_ok(), "it keeps its own result");
        }
    }
}

#[test]
fn the_others_go_on_where_that_is_asked_for_and_say_how_many_they_are() {
    let zero = one_of_three_lost();
    let whole = zero.plan.trials.len();
    assert_eq!((zero.trials.len(), zero.ended.as_deref()), (whole, None));
    let counts: Vec<usize> = zero
        .trials
        .iter()
        .map(|own| own.together.as_ref().map_or(0, |own| own.hosts.len()))
        .collect();
    let expected = |at: usize| match at {
        ..4 => 3,
        4 => 0,
        _ => 2,
    };
    assert_eq!(counts, (0..whole).map(expected).collect::<Vec<usize>>());
    assert!(zero.trials[4].reason.as_ref().unwrap().contains("lost rank 2 (n2)"));
    assert!(zero.trials[5].together.as_ref().unwrap().of == 3);
    let hosts = &zero.environment.fleet.as_ref().unwrap().hosts;
    let unheard =
        |host: &stored::Host| host.said.iter().any(|own| own.text.contains("no trust ratings"));
    assert_eq!(hosts.iter().map(unheard).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn rank_0_lost_ends_all_others_and_their_results_stay() {
    for ending in [KnownEnding::Dies, KnownEnding::Stops] {
        // It sends three messages to each of two ranks before a trial, and three in one: it is lost in the second.
        let zero = KnownFleet { ends: Some((2 * 3 + 2 * 3 + 2, ending)), ..USUAL };
        let came = fleet(&[zero, USUAL, USUAL], OnFailure::Continue);
        for own in &came[1..] {
            let finished = own.finished.as_ref().unwrap();
            let why = finished.ended.as_deref().unwrap_or_default();
            assert!(why.contains("rank 0"), "{ending:?}: {why}");
            assert!(own.kept[0].trials.iter().any(|trial| trial.status != Status::Failed));
        }
    }
}

/// Sixty-four ranks: plan, barriers and merging, with the simulated drive.
#[test]
#[ignore = "nightly: 4 s"]
fn sixty_four_ranks_run_together() {
    let all = vec![USUAL; 64];
    let came = fleet(&all, OnFailure::Stop);
    let zero = came[0].finished.as_ref().unwrap();
    assert_eq!(zero.trials.len(), zero.plan.trials.len());
    for trial in &zero.trials {
        let together = trial.together.as_ref().unwrap();
        assert_eq!(together.hosts.len(), 64);
        let sum: u64 = together.hosts.iter().map(|own| own.operations).sum();
        assert_eq!(sum, trial.measured.as_ref().unwrap().operations());
    }
    assert!(came.iter().all(|own| own.finished.is_ok()));
}
