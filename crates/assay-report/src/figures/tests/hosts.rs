//! The figure of the hosts of a fleet.

use super::{fixture, trial};
use crate::evidence::{Evidence, HostRate, TrialEvidence};
use crate::figures::all;
use assay_core::exhibit::figure::{Figure, Look};
use assay_study::findings::hosts::{HostFindings, HostRow};
use assay_study::results::plan::Arm;

/// This many hosts, the last with half the rate of the others; each trial is faster than the one before.
pub(super) fn of(ranks: u32, trials: u32) -> Evidence {
    let mut evidence = Evidence::bare(fixture("study-two-arms"));
    let arms: [Arm; 2] =
        ["mq-deadline", "none"].map(|level| Arm::from([("scheduler".into(), level.into())]));
    for order in 1..=trials {
        let rate = |rank: u32| {
            let own = if rank + 1 == ranks { 500.0 } else { 1000.0 + f64::from(rank % 4) * 40.0 };
            HostRate { rank, per_s: own * f64::from(order) }
        };
        let arm = arms[(order % 2) as usize].clone();
        let hosts = (0..ranks).map(rate).collect();
        evidence
            .trials
            .push(TrialEvidence { hosts, ..trial(order, arm, if order == 4 { 3 } else { 1 }) });
    }
    let row = |rank: u32| HostRow {
        rank,
        name: format!("node{rank}"),
        targets: vec!["/mnt/x".to_owned()],
        trials,
        relative_rate: None,
        lost: None,
    };
    evidence.findings.environment.hosts = Some(HostFindings {
        started: ranks,
        finished: ranks,
        order_sha256: "ab".repeat(32),
        rejected: None,
        rows: (0..ranks).map(row).collect(),
        ranges: Vec::new(),
        starts_ns: None,
    });
    evidence
}

pub(super) fn evidence() -> Evidence {
    of(4, 6)
}

fn drawn(evidence: &Evidence) -> Option<Figure> {
    all(evidence).into_iter().find(|figure| figure.id == "hosts")
}

#[test]
fn each_host_is_a_series_and_the_slow_one_lies_below_the_others() {
    let figure = drawn(&evidence()).unwrap();
    let names: Vec<&str> = figure.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names[0], "rank 0 (node0)");
    assert_eq!(names.len(), 4);
    for one in &figure.series {
        let points = &one.points;
        assert_eq!(points.len(), 6);
        let is_slow = one.name == "rank 3 (node3)";
        assert!(points.iter().all(|point| (point.value < 0.8) == is_slow), "{points:?}");
        assert_eq!(points[3].look, Look::Crossed, "it was disturbed");
    }
}

#[test]
fn of_many_hosts_the_slowest_are_drawn_and_all_others_as_one() {
    let figure = drawn(&of(64, 200)).unwrap();
    assert_eq!(figure.series.len(), 8);
    let last = &figure.series[7];
    assert_eq!(last.name, "the other 57 hosts");
    assert!(figure.series[..7].iter().any(|one| one.name == "rank 63 (node63)"));
    assert_eq!(last.points.len(), 40);
    assert!(last.points.iter().all(|point| point.interval.is_some()));
    assert_eq!(figure.notes.len(), 2, "{:?}", figure.notes);
    assert!(figure.marks() <= 8 * 40);
}

#[test]
fn one_host_alone_draws_none() {
    let mut evidence = evidence();
    assert!(drawn(&evidence).is_some());
    evidence.findings.environment.hosts = None;
    assert!(drawn(&evidence).is_none());
    let mut evidence = super::recorded();
    assert!(drawn(&evidence).is_none());
    // A fleet whose trials have a single host.
    evidence.findings.environment.hosts = of(1, 1).findings.environment.hosts;
    evidence.trials = of(1, 6).trials;
    assert!(drawn(&evidence).is_none());
}
