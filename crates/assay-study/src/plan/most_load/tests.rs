use super::*;
use crate::file::limit::bracket::judge;
use crate::file::presets;
use crate::plan::{hash, make, tests::survey};
use crate::results::record::Evidence;

/// Operations per second of the server behind the drives here.
const SERVICE: f64 = 5000.0;
/// Reported trials plus search trials.
const MOST_TRIALS: usize = 54;

fn study(limit: &str) -> Study {
    let mut study = presets::find("max-rate").unwrap().unwrap();
    study.question[0].slo = Some(limit.to_owned());
    study
}

fn plan(limit: &str) -> Plan {
    make(&study(limit), vec![survey("a", 100_000)], 7)
}

/// Simulated result of a trial at a rate; `None` for the closed loop.
type Drive = dyn Fn(Option<f64>, &PlannedTrial) -> RateSample;

/// A queue with one server: 1% waits longer than ln 100 divided by the spare service rate. Trials scatter by 2%.
fn queue(rate: Option<f64>, trial: &PlannedTrial) -> RateSample {
    let luck = [1.0, 1.02, 0.98, 1.01, 0.99][trial.order as usize % 5];
    let Some(rate) = rate else {
        return RateSample { percentile_ns: None, done_per_s: Some(SERVICE * luck) };
    };
    let p99_s = if rate < SERVICE { 100.0_f64.ln() / (SERVICE - rate) } else { 4.0 };
    RateSample { percentile_ns: Some(p99_s * 1e9 * luck), done_per_s: Some(rate.min(SERVICE)) }
}

/// Runs at most this many further trials of a plan; returns the reason of an early end.
fn go_on(
    plan: &Plan,
    ran: &mut Vec<(RateTrial, Arm)>,
    most: usize,
    drive: &Drive,
) -> Option<SearchEnd> {
    for trial in plan.trials.iter().skip(ran.len()).take(most) {
        let before: Vec<RateTrial> = ran.iter().map(|(one, _)| one.clone()).collect();
        let turned = match with_rate(plan, &before, trial) {
            Ok(turned) => turned,
            Err(end) => return Some(end),
        };
        let seen = drive(course::rate(&turned.arm), &turned);
        let PlannedTrial { order, replicate, workload, .. } = turned;
        let counts = !turned.is_lead_in();
        ran.push((RateTrial { order, replicate, workload, counts, seen }, turned.arm));
    }
    None
}

fn whole(limit: &str, drive: &Drive) -> (Vec<(RateTrial, Arm)>, Option<SearchEnd>) {
    let mut ran = Vec::new();
    let end = go_on(&plan(limit), &mut ran, usize::MAX, drive);
    (ran, end)
}

/// Reported rates, the lowest first, with their results.
fn reported(ran: &[(RateTrial, Arm)], limit: &str) -> Vec<(f64, Standing)> {
    let limit_ns = limit.parse::<Limit>().unwrap().below_ns() as f64;
    let mut rates: Vec<f64> = Vec::new();
    for rate in ran.iter().filter(|(one, _)| one.counts).filter_map(|(_, arm)| course::rate(arm)) {
        if !rates.contains(&rate) {
            rates.push(rate);
        }
    }
    rates.sort_by(f64::total_cmp);
    let of = |rate: &f64| {
        let own = ran.iter().filter(|(one, arm)| one.counts && course::rate(arm) == Some(*rate));
        let seen: Vec<RateSample> = own.map(|(one, _)| one.seen).collect();
        (*rate, judge(&seen, *rate, limit_ns).standing)
    };
    rates.iter().map(of).collect()
}

fn ends(found: &[(f64, Standing)]) -> [Option<f64>; 2] {
    let standings: Vec<Standing> = found.iter().map(|(_, standing)| *standing).collect();
    let bracket = Bracket::from_outcomes(&standings);
    [bracket.holds, bracket.fails].map(|place| place.map(|place| found[place].0))
}

fn trials_of(ran: &[(RateTrial, Arm)]) -> usize {
    let searched = |one: &RateTrial| one.replicate == 0 && one.order > 0;
    ran.iter().filter(|(one, _)| one.counts || searched(one)).count()
}

#[test]
fn everything_is_drawn_before_the_first_trial() {
    let one = plan("p99 < 2 ms");
    assert_eq!(one, plan("p99 < 2 ms"));
    assert_eq!(one.sha256, hash(&one));
    assert_ne!(one.sha256, plan("p99 < 4 ms").sha256, "the limit is part of the plan");
    assert_eq!(one.workloads.len(), STEPS);
    assert_eq!(one.design.primary.as_deref(), Some("response_p99_ns"));
    assert_eq!((one.design.margin, one.design.repeats), (None, 0));
    let searching = one.trials.iter().filter(|trial| trial.replicate == 0);
    assert!(searching.clone().all(|trial| trial.is_lead_in() && !trial.lead_in));
    assert_eq!(searching.count(), 1 + SEARCHES as usize);
    let counted = |step: usize| {
        let own = one.trials.iter().filter(|trial| trial.workload == step);
        own.filter(|trial| !trial.is_lead_in()).count()
    };
    assert!((0..STEPS).all(|step| counted(step) == 6));
    // Each replicate of the first steps has its lead-in, and each further step one.
    let lead_ins = one.trials.iter().filter(|trial| trial.lead_in).count();
    assert_eq!(lead_ins, 6 + course::MORE);
    assert!(one.trials.windows(2).all(|pair| pair[0].order + 1 == pair[1].order));
    let mut seeds: Vec<u64> = one.trials.iter().map(|trial| trial.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), one.trials.len());
    assert_eq!(SEARCHES as usize + STEPS * 6, MOST_TRIALS);
}

#[test]
fn a_known_limit_is_found_from_both_sides() {
    for (limit, truth) in [
        ("p99 < 2 ms", SERVICE - 100.0_f64.ln() / 0.002),
        ("p99 < 4 ms", SERVICE - 100.0_f64.ln() / 0.004),
        ("p99 < 10 ms", SERVICE - 100.0_f64.ln() / 0.010),
    ] {
        let (ran, end) = whole(limit, &queue);
        assert!(matches!(end, Some(SearchEnd::Whole { .. })), "{limit}: {end:?}");
        let [holds, fails] = ends(&reported(&ran, limit)).map(Option::unwrap);
        assert!(holds < truth && truth < fails, "{limit}: {holds} {truth} {fails}");
        assert!(fails / holds < 1.5, "{limit}: {holds} {fails}");
        assert!(trials_of(&ran) <= MOST_TRIALS, "{limit}");
    }
}

#[test]
fn a_course_that_was_interrupted_anywhere_goes_on_as_it_would_have() {
    let limit = "p99 < 4 ms";
    let (ran, end) = whole(limit, &queue);
    for cut in 0..ran.len() {
        let mut again = Vec::new();
        assert_eq!(go_on(&plan(limit), &mut again, cut, &queue), None);
        let ended = go_on(&plan(limit), &mut again, usize::MAX, &queue);
        assert_eq!((&again, &ended), (&ran, &end), "after {cut} trials");
    }
}

#[test]
fn where_nothing_holds_lower_rates_are_tried_and_then_it_ends() {
    let slow = |rate: Option<f64>, trial: &PlannedTrial| {
        let percentile_ns = rate.map(|_| 1e9);
        RateSample { percentile_ns, ..queue(rate, trial) }
    };
    let (ran, end) = whole("p99 < 2 ms", &slow);
    assert_eq!((end, trials_of(&ran)), (None, MOST_TRIALS));
    let found = reported(&ran, "p99 < 2 ms");
    assert_eq!(found.len(), STEPS);
    assert_eq!(ends(&found), [None, Some(found[0].0)]);
    assert!(found[0].0 < SERVICE / 32.0);
}

#[test]
fn where_everything_holds_higher_rates_are_tried_and_then_it_ends() {
    let quick = |rate: Option<f64>, _: &PlannedTrial| RateSample {
        percentile_ns: rate.map(|_| 1e3),
        done_per_s: rate.or(Some(SERVICE)),
    };
    let (ran, end) = whole("p99 < 2 ms", &quick);
    assert_eq!((end, trials_of(&ran)), (None, MOST_TRIALS));
    let found = reported(&ran, "p99 < 2 ms");
    assert_eq!(ends(&found), [Some(found[STEPS - 1].0), None]);
    assert!(found[STEPS - 1].0 > SERVICE);
}

#[test]
fn a_rate_at_which_operations_could_not_be_issued_on_time_fails() {
    // Late operations never start: at most 3,000 per second.
    let narrow = |rate: Option<f64>, _: &PlannedTrial| RateSample {
        percentile_ns: rate.map(|_| 1e3),
        done_per_s: Some(rate.unwrap_or(3000.0).min(3000.0)),
    };
    let (ran, end) = whole("p99 < 2 ms", &narrow);
    assert!(matches!(end, Some(SearchEnd::Whole { .. })), "{end:?}");
    let [holds, fails] = ends(&reported(&ran, "p99 < 2 ms")).map(Option::unwrap);
    assert!(holds <= 3000.0 / 0.8 && fails >= 3000.0 / 0.8, "{holds} {fails}");
}

#[test]
fn trials_that_fail_or_are_disturbed_decide_nothing() {
    // Every trial of the second step fails: it is neither on the one side nor on the other.
    let broken = |rate: Option<f64>, trial: &PlannedTrial| {
        let fails = trial.workload == 1 && trial.replicate > 0;
        if fails { RateSample::default() } else { queue(rate, trial) }
    };
    let (ran, _) = whole("p99 < 4 ms", &broken);
    let found = reported(&ran, "p99 < 4 ms");
    assert!(found.iter().any(|(_, standing)| *standing == Standing::Inconclusive), "{found:?}");
    let disturbed = RateTrial::new(&record(3, Status::Disturbed), RateSample::default());
    assert!(
        !disturbed.counts && RateTrial::new(&record(3, Status::Ok), RateSample::default()).counts
    );
    assert!(!RateTrial::new(&record(3, Status::Warmup), RateSample::default()).counts);
}

#[test]
fn trials_are_long_beside_their_limit_in_a_quick_look_too() {
    let seconds = |limit: &str| {
        let short = quick(study(limit).quick(), Quick { replicates: None });
        assert_eq!(short.replicates, 6);
        short.workload[0].work.time().unwrap().0 as f64 / 1e9
    };
    assert_eq!(seconds("p99 < 2 ms"), 1.0);
    assert_eq!(seconds("p99 < 200 ms"), 4.0);
    assert_eq!(shortest_ns("p99 < 200 ms".parse().unwrap()), 4_000_000_000);
}

#[test]
fn starts_at_random_distances_need_more_of_them() {
    let at_random = |at_random: bool| {
        Aim { limit: "p50 < 2 ms".parse().unwrap(), time_ns: 4_000_000_000, at_random }.slowest()
    };
    assert_eq!((at_random(false), at_random(true)), (5.0, 100.0));
}

#[test]
fn without_a_rate_of_the_closed_loop_it_ends_at_once() {
    let (ran, end) = whole("p99 < 2 ms", &|_, _| RateSample::default());
    assert_eq!((ran.len(), end.as_ref()), (1, Some(&SearchEnd::NoRate)));
    assert!(end.unwrap().to_string().contains("no rate to start from"));
    // A floppy disk: no trial of it has the thousand operations that a p99 needs.
    let floppy = |rate: Option<f64>, _: &PlannedTrial| RateSample {
        percentile_ns: rate.map(|_| 1e3),
        done_per_s: rate.or(Some(12.0)),
    };
    let (ran, end) = whole("p99 < 2 ms", &floppy);
    assert_eq!(ran.len(), 1);
    assert!(end.unwrap().to_string().contains("too few to estimate p99"));
}

fn record(workload: usize, status: Status) -> Trial {
    let planned = PlannedTrial {
        order: 9,
        host: 0,
        replicate: 1,
        lead_in: false,
        workload,
        arm: course::at_rate(1000.0 + workload as f64 * 100.0),
        seed: 0,
    };
    Trial { status, ..Trial::new(&planned, Evidence::absent("a test")) }
}

#[test]
fn a_plan_as_it_ran_has_the_rates_of_its_records() {
    let records: Vec<Trial> = (0..6).map(|step| record(step, Status::Ok)).collect();
    let ran = || records.iter().map(|one| (one.workload, one.replicate, &one.arm));
    let ended = course::as_run(plan("p99 < 2 ms"), ran(), true);
    assert_eq!(ended.workloads.len(), 6, "two steps were not needed");
    assert!(ended.trials.iter().all(|trial| trial.workload < 6));
    assert_eq!(ended.workloads[2].arm, course::at_rate(1200.0));
    let levels = ["1000/s", "1100/s", "1200/s", "1300/s", "1400/s", "1500/s"];
    assert_eq!(ended.design.factors[0].levels, levels);
    assert_eq!(ended.design.factors[0].name, course::RATE);
    assert_eq!(ended.design.baseline, course::at_rate(1000.0));
    // An unfinished study retains its pending steps; an invalid rate in a record is ignored.
    let mut odd = records.clone();
    odd[5].arm = Arm::from([(course::RATE.to_owned(), "\u{1b}[31mmany".to_owned())]);
    let ran = odd.iter().map(|one| (one.workload, one.replicate, &one.arm));
    let going = course::as_run(plan("p99 < 2 ms"), ran, false);
    assert_eq!(going.workloads.len(), STEPS);
    assert_eq!(going.workloads[5].arm, course::step(5));
    // Every record has a workload, even with an invalid rate.
    let ran = odd.iter().map(|one| (one.workload, one.replicate, &one.arm));
    assert_eq!(course::as_run(plan("p99 < 2 ms"), ran, true).workloads.len(), 6);
    // A study with only search trials retains its first step.
    let none = course::as_run(plan("p99 < 2 ms"), std::iter::empty(), true);
    assert_eq!(none.workloads.len(), 1);
}

#[test]
fn silent_for_every_other_study() {
    let study = presets::find("queue-depth").unwrap().unwrap();
    let plan = make(&study, vec![survey("a", 100_000)], 7);
    assert!(!course::is_of(&plan) && limit(&study).is_none() && asked(&plan.design).is_none());
    for trial in &plan.trials {
        assert_eq!(with_rate(&plan, &[], trial).as_ref(), Ok(trial));
        assert_eq!(*course::of_trial(&plan, trial).unwrap(), plan);
    }
    let records: Vec<Trial> = (0..3).map(|step| record(step, Status::Ok)).collect();
    let ran = records.iter().map(|one| (one.workload, one.replicate, &one.arm));
    assert_eq!(course::as_run(plan.clone(), ran, true), plan);
}

#[test]
fn rates_are_whole_numbers_of_three_digits() {
    for (per_s, level) in [
        (41_234.5, "41200/s"),
        (4999.9, "5000/s"),
        (157.3, "157/s"),
        (62.4, "62/s"),
        (0.2, "1/s"),
        (1_234_567.0, "1230000/s"),
    ] {
        assert_eq!(course::level(per_s), level);
        assert_eq!(
            course::rate(&course::at_rate(per_s)).map(course::level).as_deref(),
            Some(level)
        );
    }
}
