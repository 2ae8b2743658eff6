use super::*;
use crate::file::text;
use crate::plan::{self, tests::survey};
use assay_core::draws::Draws;

fn rules(arms: usize, closeness: f64) -> RaceRules {
    RaceRules { arms, baseline: 0, closeness, replicates: 20 }
}

fn logs(arms: &[&[f64]]) -> Logs {
    let mut logs = Logs::new(arms.len());
    for (arm, values) in arms.iter().enumerate() {
        for (replicate, value) in (1..).zip(*values) {
            logs.set(replicate, arm, Some(*value));
        }
    }
    logs
}

const BASE: &[f64] = &[0.0, 0.01, -0.01];
const LEADER: &[f64] = &[0.50, 0.51, 0.49];
const NEAR: &[f64] = &[0.48, 0.51, 0.48];

/// By hand, three arms at 5%: the differences from the leader are -0.5 three times, and -0.02, 0, -0.01, with variances
/// 0 and 0.0001, mean 0.00005. Moderated they are 0.0000375 and 0.0000625, the half-widths 0.013145 and 0.016970: -0.5
/// + 0.0131 is below 0, -0.01 + 0.0170 = 0.00697 is not.
#[test]
fn a_worked_example_comes_out_as_by_hand() {
    let logs = logs(&[BASE, LEADER, NEAR]);
    let found = standing(&rules(3, 0.005), &logs, 3);
    assert_eq!((found.leader, found.over, found.replicates), (Some(1), None, 3));
    assert_eq!(found.left, [None, None, None]);
    let behind = found.baseline_behind.unwrap();
    let Why::Behind { leader, by, width } = behind.why else { panic!("{behind:?}") };
    assert_eq!((behind.after, leader), (3, 1));
    assert!((by + 0.5).abs() < 1e-12 && (width - 0.013_145).abs() < 1e-6, "{by} {width}");
    // ln 1.007 is 0.006976, ln 1.0069 is 0.006876: the one is enough and the other is not.
    assert_eq!(standing(&rules(3, 0.0069), &logs, 3).over, None);
    assert_eq!(standing(&rules(3, 0.007), &logs, 3).over, Some(Over::Close));
}

#[test]
fn nothing_leaves_before_the_third_replicate() {
    let logs = logs(&[BASE, LEADER, &[-5.0, -5.0, -5.0]]);
    for replicates in 1..FIRST_LOOK {
        let found = standing(&rules(3, 0.02), &logs, replicates);
        assert_eq!((found.leader, found.over), (None, None));
        assert!(found.left.iter().all(Option::is_none));
    }
    let found = standing(&rules(3, 0.02), &logs, FIRST_LOOK);
    assert_eq!(found.left[2].map(|left| left.after), Some(FIRST_LOOK));
    assert_eq!(found.over, Some(Over::One), "the baseline would have left, too");
}

#[test]
fn the_baseline_never_leaves_and_may_win() {
    let behind = standing(&rules(2, 0.02), &logs(&[&[-9.0, -9.0, -9.0], LEADER]), 3);
    assert!(behind.is_in(0) && behind.baseline_behind.is_some());
    let ahead = standing(&rules(2, 0.02), &logs(&[&[9.0, 9.0, 9.0], LEADER]), 3);
    assert_eq!((ahead.leader, ahead.over), (Some(0), Some(Over::One)));
    assert!(ahead.baseline_behind.is_none() && ahead.left[1].is_some());
}

#[test]
fn equal_arms_stay_until_the_last_replicate() {
    let mut draws = Draws::new(1, "a test");
    let mut noise = || (draws.below(1000) as f64 / 1000.0 - 0.5) * 0.1;
    let arms: Vec<Vec<f64>> = (0..5).map(|_| (0..20).map(|_| noise()).collect()).collect();
    let arms: Vec<&[f64]> = arms.iter().map(Vec::as_slice).collect();
    let found = standing(&rules(5, 0.001), &logs(&arms), 20);
    assert_eq!((found.over, found.replicates), (Some(Over::Replicates), 20));
    assert_eq!(found.running().count(), 5);
}

#[test]
fn who_has_no_number_leaves_and_who_misses_a_bad_replicate_does_not_lead_by_it() {
    // The second replicate is bad for all; the last arm failed in it.
    let mut logs =
        logs(&[&[0.0, -1.0, 0.0, 0.0], &[0.05, -0.95, 0.05, 0.05], &[0.0; 0], &[0.0; 0]]);
    for replicate in [1, 3, 4] {
        logs.set(replicate, 3, Some(0.01));
    }
    let found = standing(&rules(4, 0.0), &logs, 4);
    assert_eq!(found.leader, Some(1));
    assert_eq!(found.left[2], Some(Left { after: 3, why: Why::Silent }));
    // Two values are too few to leave.
    let mut few = Logs::new(2);
    for replicate in 1..=3 {
        few.set(replicate, 0, Some(0.0));
    }
    few.set(1, 1, Some(-9.0));
    few.set(2, 1, Some(-9.0));
    assert!(standing(&rules(2, 0.0), &few, 3).is_in(1));
}

/// A race among copies, in visits if they share a costly setting.
fn planned(arms: usize, costly: bool) -> Plan {
    let copies: Vec<String> = (0..arms).map(|arm| format!("\"c{arm}\"")).collect();
    let engines = if costly { "engine = [\"psync\", \"io_uring\"]\n" } else { "" };
    let visits = if costly { "hard_to_change = [\"engine\"]\n" } else { "" };
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 12\nmargin = \"2%\"\n\
         stop = {{ rule = \"best\" }}\n{visits}[factors]\naa_copy = [{}]\n{engines}[[workload]]\n\
         name = \"w\"\nio = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }}\n",
        copies.join(", ")
    );
    plan::make(&text::parse("test", &text).unwrap(), vec![survey("here", 1)], 9)
}

/// Simulated result of a trial: arms are 5% apart, each tenth trial is disturbed, each thirtieth fails.
fn ran(trial: &PlannedTrial, repeats: Option<Repeats>) -> Run {
    let mut draws = Draws::new(trial.seed, "a test");
    let noise = (draws.below(1000) as f64 / 1000.0 - 0.5) * 0.02;
    let status = match draws.below(30) {
        _ if trial.is_lead_in() => Status::Warmup,
        0 => Status::Failed,
        1..=3 => Status::Disturbed,
        _ => Status::Ok,
    };
    let log = Some(0.05 * trial.workload as f64 + noise).filter(|_| status.counts());
    let PlannedTrial { order, replicate, workload: arm, .. } = *trial;
    Run { order, replicate, arm, status, repeats, log, harmed: false }
}

fn raced(plan: &Plan) -> (Vec<Run>, Vec<PlannedTrial>, Race) {
    let (mut runs, mut trials) = (Vec::new(), Vec::new());
    loop {
        let at = race(plan, &runs).unwrap();
        if at.next.is_empty() {
            return (runs, trials, at);
        }
        for (trial, repeats) in &at.next {
            runs.push(ran(trial, *repeats));
            trials.push(trial.clone());
        }
    }
}

#[test]
fn a_race_ends_with_the_best_in_fewer_trials_than_all() {
    for costly in [false, true] {
        let plan = planned(12, costly);
        let (runs, _, end) = raced(&plan);
        let winner = end.standing.leader.unwrap();
        assert_eq!(plan.workloads[winner].arm["aa_copy"], "c11");
        assert!(end.standing.over.is_some() && runs.len() < plan.trials.len());
        assert!(end.standing.is_in(0), "the baseline stays");
        // It ran in every replicate.
        let of_baseline = runs.iter().filter(|run| run.arm == 0 && run.repeats.is_none());
        let of_baseline = of_baseline.filter(|run| run.status != Status::Warmup);
        assert_eq!(of_baseline.count(), end.standing.replicates as usize);
    }
}

#[test]
fn whoever_goes_on_at_any_trial_runs_what_would_have_run() {
    for costly in [false, true] {
        let plan = planned(12, costly);
        let (runs, trials, end) = raced(&plan);
        for (at, wanted) in trials.iter().enumerate() {
            let so_far = race(&plan, &runs[..at]).unwrap();
            assert_eq!(so_far.next.first().map(|(trial, _)| trial), Some(wanted), "{at}");
        }
        assert_eq!(race(&plan, &runs).unwrap(), end);
    }
}

#[test]
fn the_order_of_records_decides_nothing() {
    let plan = planned(12, false);
    let (mut runs, _, end) = raced(&plan);
    Draws::new(3, "a test").shuffle(&mut runs);
    assert_eq!(race(&plan, &runs).unwrap(), end);
}

#[test]
fn every_place_in_a_race_is_taken_once() {
    let plan = planned(12, false);
    let (runs, ..) = raced(&plan);
    let places: BTreeSet<u32> = runs.iter().map(|run| run.order).collect();
    assert_eq!(places.len(), runs.len());
    let again = runs.iter().filter(|run| run.repeats.is_some());
    assert!(again.clone().count() > 0, "nothing was disturbed");
    let behind = |run: &Run| run.order as usize >= plan.trials.len();
    assert!(again.clone().all(behind));
    assert!(again.clone().all(|run| run.replicate > plan.replicates));
}

#[test]
fn each_visit_begins_with_a_lead_in_of_its_own_first_arm() {
    for costly in [false, true] {
        let (_, trials, _) = raced(&planned(12, costly));
        for pair in trials.windows(2) {
            if pair[0].is_lead_in() {
                assert!(!pair[1].is_lead_in(), "a visit of nobody");
                assert_eq!(pair[0].workload, pair[1].workload);
                assert_eq!(pair[0].arm, pair[1].arm);
            }
        }
        assert!(trials[0].is_lead_in());
    }
}

#[test]
fn what_is_disturbed_runs_again_in_its_replicate_and_at_most_a_third() {
    let plan = planned(12, false);
    let first: Vec<PlannedTrial> = course::replicates(&plan).next().unwrap().to_vec();
    let of = |status: Status| -> Vec<Run> {
        let own = first.iter().map(|trial| ran(trial, None));
        own.map(|run| Run { status, ..run }).collect()
    };
    let all = course::repeats(&plan, &first, &of(Status::Disturbed));
    let again: Vec<&PlannedTrial> = all.iter().map(|(trial, _)| trial).collect();
    assert_eq!(again.iter().filter(|trial| !trial.is_lead_in()).count(), 4);
    assert!(again[0].is_lead_in() && again[0].workload == again[1].workload);
    assert!(all.iter().all(|(_, of)| of.replicate == 1));
    assert!(course::repeats(&plan, &first, &of(Status::Failed)).is_empty());
    assert!(course::repeats(&plan, &first, &of(Status::Ok)).is_empty());
    let mut never = plan.clone();
    never.design.repeats = 0;
    assert!(course::repeats(&never, &first, &of(Status::Disturbed)).is_empty());
}

/// The value of a disturbed trial is dropped, and its repeat replaces it.
#[test]
fn a_repeat_stands_for_what_was_disturbed() {
    let plan = planned(3, false);
    let mut runs: Vec<Run> = Vec::new();
    loop {
        let at = race(&plan, &runs).unwrap();
        let Some((trial, repeats)) = at.next.first().cloned() else { break };
        let disturbed = trial.replicate == 1 && trial.workload == 2 && !trial.is_lead_in();
        let run = ran(&trial, repeats);
        let (status, log) = match (trial.is_lead_in(), disturbed) {
            (true, _) => (Status::Warmup, None),
            (_, true) => (Status::Disturbed, Some(99.0)),
            _ => (Status::Ok, Some(1.0)),
        };
        runs.push(Run { status, log, ..run });
        if at.standing.replicates == 2 {
            assert_eq!(at.logs.mean(2), (2, Some(1.0)));
            assert_eq!(at.logs.beside(2, 0, 2), Some(0.0));
        }
    }
    assert_eq!(runs.iter().filter(|run| run.repeats.is_some()).count(), 2, "a lead-in and it");
}

/// Arm 2 does harm in its first trial: it leaves after that replicate, before any interim analysis, and never runs
/// again. The baseline, which does the same, stays.
#[test]
fn who_harms_leaves_at_once_and_the_baseline_never() {
    let plan = planned(4, false);
    let mut runs: Vec<Run> = Vec::new();
    loop {
        let at = race(&plan, &runs).unwrap();
        if at.next.is_empty() {
            assert!(at.standing.is_in(0));
            break;
        }
        if at.standing.replicates > 0 {
            let left = at.standing.left[2].expect("it harmed");
            assert_eq!((left.after, left.why), (1, Why::Harmed));
            assert!(at.next.iter().all(|(trial, _)| trial.workload != 2));
        }
        for (trial, repeats) in &at.next {
            let harmed = !trial.is_lead_in() && [0, 2].contains(&trial.workload);
            let harms = harmed && trial.replicate == 1;
            let run = ran(trial, *repeats);
            let (status, log) = if harms { (Status::Failed, None) } else { (run.status, run.log) };
            runs.push(Run { status, log, harmed: harms, ..run });
        }
    }
    let of_it = runs.iter().filter(|run| run.arm == 2 && run.status != Status::Warmup);
    assert_eq!(of_it.count(), 1);
}

/// The second arm leads when it does harm: it does not win, even if that replicate is never complete.
#[test]
fn who_leads_and_harms_leads_no_longer() {
    let plan = planned(3, false);
    let run = |trial: &PlannedTrial| {
        let is_even = trial.workload % 2 == trial.replicate as usize % 2;
        let sign = if is_even { 0.1 } else { -0.1 };
        let status = if trial.is_lead_in() { Status::Warmup } else { Status::Ok };
        let log = Some(sign + 0.01 * trial.workload as f64).filter(|_| status.counts());
        let PlannedTrial { order, replicate, workload: arm, .. } = *trial;
        Run { order, replicate, arm, status, repeats: None, log, harmed: false }
    };
    let mut runs: Vec<Run> = Vec::new();
    let mut at = race(&plan, &runs).unwrap();
    while at.standing.replicates < FIRST_LOOK {
        assert_eq!((at.standing.leader, at.standing.over), (None, None));
        runs.extend(at.next.iter().map(|(trial, _)| run(trial)));
        at = race(&plan, &runs).unwrap();
    }
    assert_eq!((at.standing.leader, at.standing.over), (Some(1), None));
    let mut own = at.next.iter().map(|(trial, _)| trial).filter(|trial| !trial.is_lead_in());
    let harming = run(own.find(|trial| trial.workload == 1).unwrap());
    runs.push(Run { status: Status::Failed, log: None, harmed: true, ..harming });
    let after = race(&plan, &runs).unwrap();
    assert_eq!(after.standing.left[1], Some(Left { after: 4, why: Why::Harmed }));
    assert_eq!((after.standing.leader, after.standing.replicates), (Some(2), 3));
    assert_eq!(after.next.len() + 1, at.next.len());
}

#[test]
fn nobody_races_alone_or_for_another_number() {
    let mut plan = planned(3, false);
    assert_eq!(mistake(&plan), None);
    let text = "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 3\n[[workload]]\nname = \"w\"\n\
                io = { pattern = \"random\", mix = \"read\", block_size = \"1 MiB\" }\n";
    let large = plan::make(&text::parse("test", text).unwrap(), vec![survey("here", 1)], 9);
    plan.workloads[1].work = large.workloads[0].work.clone();
    assert!(mistake(&plan).is_some_and(|why| why.contains("use iops and bandwidth")));
    plan.design.primary = Some("iops".to_owned());
    assert_eq!(mistake(&plan), None);
    plan.workloads.truncate(1);
    assert!(mistake(&plan).is_some_and(|why| why.contains("two configurations")));
    plan.design.stopping = Stopping::Fixed;
    assert_eq!(mistake(&plan), None);
}

#[test]
fn a_study_that_is_no_race_has_none() {
    let mut plan = planned(3, false);
    plan.design.stopping = Stopping::Fixed;
    assert_eq!((race(&plan, &[]), rules_of(&plan)), (None, None));
    assert!(!is_one(&plan));
}

fn rules_of(plan: &Plan) -> Option<RaceRules> {
    super::rules(plan)
}
