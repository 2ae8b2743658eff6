//! Only for quick studies: divides their time into replicates and trials to minimize the expected interval width.
//!
//! A trial of `t` seconds has variance `between + within / t` and costs `t` plus overhead, so more replicates of
//! shorter trials help until variance within trials and overhead outweigh them (optimal allocation in two stages; W. G.
//! Cochran, Sampling Techniques, 10.6). The degrees of freedom count too: the interval is Student's t.

use std::collections::BTreeSet;

use assay_core::quantity::Time;
use assay_core::stats::t_quantile;
use assay_workloads::io;

use crate::file::{StopRule, Study, Workload};
use crate::plan::{self, budget};
use crate::results::plan::{Plan, Survey};

const MILLISECOND: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000 * MILLISECOND;
/// Time of a quick look for each workload under each arm, within bounds.
const TIME_OF_A_CELL: Time = Time(6_000 * MILLISECOND);
const SHORTEST: Time = Time(15_000 * MILLISECOND);
/// Stays below two minutes with the overhead of the trials.
const LONGEST: Time = Time(105_000 * MILLISECOND);
/// Longer limits, tried in order if the wanted replicates do not fit.
const LONGER: [Time; 2] = [Time(150_000 * MILLISECOND), ALLOWED];
const ALLOWED: Time = Time(300_000 * MILLISECOND);
/// A trial is not cut below this to win a replicate.
const SHORTEST_TRIAL_NS: u64 = 150 * MILLISECOND;
const LONGEST_TRIAL_NS: u64 = 1_000 * MILLISECOND;
/// Open-loop operations that a trial needs for its p99: a thousand, plus the scatter of random arrivals.
const OPERATIONS_FOR_P99: u64 = 1_200;
/// The longest trial that is taken for their sake.
const LONGEST_OPEN_LOOP_NS: u64 = 5_000 * MILLISECOND;
/// Replicates of a quick check: as many as a distribution-free test needs (R4).
const WANTED: u32 = 6;
const FEWEST: u32 = 3;
const MOST: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quick {
    pub replicates: Option<u32>,
}

/// Sets replicates and times of a quick study: the narrowest intervals, else a longer check, else fewer replicates.
pub fn settle(study: Study, quick: Quick, surveys: &[Survey]) -> Study {
    // A pass over a whole target runs once and takes its own time.
    if study.budget.is_some() || study.stop.rule != StopRule::Fixed || study.needs_whole() {
        return study;
    }
    if super::most_load::limit(&study).is_some() {
        return super::most_load::quick(study, quick);
    }
    let time = usual_time(&study);
    let with_replicates = |replicates: u32| divide(&study, replicates, time, surveys);
    if let Some(replicates) = quick.replicates {
        return with_replicates(replicates).0;
    }
    // Phases of a link have fixed lengths: more replicates would take too long.
    if study.loads_links() {
        return with_replicates(FEWEST.min(study.replicates)).0;
    }
    let candidates: Vec<(Study, Plan)> = (WANTED..=MOST).map(with_replicates).collect();
    let fitting = candidates.iter().filter(|(_, plan)| fits(plan, time));
    let width = |plan: &Plan| relative_width(plan).unwrap_or(f64::INFINITY);
    // If the scatter is unknown, the first: the wanted number of replicates.
    let narrowest = fitting.min_by(|(_, plan), (_, other)| width(plan).total_cmp(&width(other)));
    if let Some((study, _)) = narrowest {
        return study.clone();
    }
    // Fewer replicates than wanted decide little, so a longer check is tried first.
    for time in LONGER {
        let (longer, plan) = divide(&study, WANTED, time, surveys);
        if fits(&plan, time) {
            return longer;
        }
    }
    let mut fewest = study.clone();
    for replicates in (FEWEST..WANTED).rev() {
        let (fewer, plan) = divide(&study, replicates, ALLOWED, surveys);
        if fits(&plan, ALLOWED) {
            return fewer;
        }
        fewest = fewer;
    }
    fewest
}

/// Returns whether the trials are long enough and end within the time per target. Warm-ups vary in length.
fn fits(plan: &Plan, time: Time) -> bool {
    let targets: BTreeSet<&str> =
        plan.surveys.iter().map(|survey| survey.target.as_str()).collect();
    // 10% more for the variation of warm-ups.
    let most = (time.0 / 10 * 11).saturating_mul(targets.len() as u64);
    let each = plan.trials.iter().map(|trial| budget::expected_ns(plan, trial));
    shortest_trial_ns(plan) >= SHORTEST_TRIAL_NS && each.fold(0, u64::saturating_add) <= most
}

fn usual_time(study: &Study) -> Time {
    let cells = study.cells() as u64;
    Time((cells * TIME_OF_A_CELL.0).clamp(SHORTEST.0, LONGEST.0))
}

/// Divides `time` among the trials of a study; returns the study with these replicates and trial lengths, and its plan.
fn divide(study: &Study, replicates: u32, time: Time, surveys: &[Survey]) -> (Study, Plan) {
    let mut study = Study { replicates, budget: Some(time), ..study.clone() };
    let is_timed = |workload: &&mut Workload| workload.work.ends_by_time();
    for workload in study.workload.iter_mut().filter(is_timed) {
        workload.work.set_span(None, None);
    }
    // All orders have the same length.
    let plan = plan::make(&study, surveys.to_vec(), 0);
    for workload in study.workload.iter_mut().filter(is_timed) {
        let in_plan = plan.workloads.iter().find(|planned| planned.name == workload.name);
        let (time_ns, ramp_ns) =
            in_plan.map_or((SHORTEST_TRIAL_NS, 0), |in_plan| (in_plan.time_ns, in_plan.ramp_ns));
        let time_ns = floor_to_ms(time_ns).clamp(SHORTEST_TRIAL_NS, LONGEST_TRIAL_NS);
        let time = Time(time_ns.max(open_loop_ns(&plan, &workload.name)));
        workload.work.set_span(Some(time), Some(Time(floor_to_ms(ramp_ns).max(10 * MILLISECOND))));
    }
    study.budget = None;
    let is_paced = plan.workloads.iter().any(|planned| open_loop_ns(&plan, &planned.name) > 0);
    // Trials of an open loop may now be longer than planned.
    let plan = if is_paced { plan::make(&study, surveys.to_vec(), 0) } else { plan };
    (study, plan)
}

/// Returns the trial length that an open loop needs for a p99; 0 for other workloads.
fn open_loop_ns(plan: &Plan, workload: &str) -> u64 {
    let of_name = plan.workloads.iter().filter(|planned| planned.name == workload);
    let rates = of_name.filter_map(|planned| io::IoPlan::of(&planned.work)?.arrival_rate);
    let needed = rates.map(|rate| {
        let ns = OPERATIONS_FOR_P99 * SECOND_NS / rate.per_s().max(1);
        ns.div_ceil(MILLISECOND) * MILLISECOND
    });
    needed.filter(|needed| *needed <= LONGEST_OPEN_LOOP_NS).max().unwrap_or_default()
}

fn floor_to_ms(ns: u64) -> u64 {
    ns / MILLISECOND * MILLISECOND
}

/// Shortest time of a trial that shares the budget; `u64::MAX` without such trials.
fn shortest_trial_ns(plan: &Plan) -> u64 {
    let shared = plan.workloads.iter().filter(|planned| planned.work.ends_by_time());
    shared.map(|planned| planned.time_ns).min().unwrap_or(u64::MAX)
}

/// Geometric mean over workloads of the expected relative half-width of simultaneous intervals.
fn relative_width(plan: &Plan) -> Option<f64> {
    let replicates = f64::from(plan.replicates);
    let mut logs = Vec::new();
    for survey in &plan.surveys {
        for (name, scatter) in &survey.pilot.scatter {
            let planned = || plan.workloads.iter().filter(|candidate| candidate.name == *name);
            let time_ns = planned().next()?.time_ns;
            let comparisons = planned().count().saturating_sub(1).max(1);
            // Two-sided 95%, divided among the comparisons with the baseline (Bonferroni).
            let critical = t_quantile(1.0 - 0.025 / comparisons as f64, replicates - 1.0)?;
            // A difference of two trials has twice the variance of one.
            let sd = std::f64::consts::SQRT_2 * scatter.sd_log(time_ns);
            logs.push((critical * sd / replicates.sqrt()).ln());
        }
    }
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::presets;
    use crate::plan::tests::survey;
    use crate::results::plan::{Arm, Scatter, pilot_key};
    use assay_workloads::check_option::{by_option, takes_all};

    /// A quick check of a preset, with this pilot result.
    fn settled(preset: &str, scatter: Option<Scatter>, replicates: Option<u32>) -> (Study, Plan) {
        let study = presets::find(preset).unwrap().unwrap().quick().settled();
        let mut survey = survey("a", 50_000);
        survey.area.fill_ns = 0;
        // Recreated file systems dominate the cost of a replicate.
        if study.factors.contains_key("filesystem") {
            survey.under = [("filesystem".to_owned(), "ext4".to_owned())].into();
            survey.made_ns = 1_500_000_000;
        }
        let names = study.workload.iter().map(|work| work.name.clone());
        survey.pilot.scatter = names.filter_map(|name| Some((name, scatter?))).collect();
        let surveys = [survey];
        let study = settle(study, Quick { replicates }, &surveys);
        let plan = plan::make(&study, surveys.to_vec(), 1);
        (study, plan)
    }

    fn seconds(plan: &Plan) -> f64 {
        let each = plan.trials.iter().map(|trial| budget::expected_ns(plan, trial));
        each.sum::<u64>() as f64 / 1e9
    }

    #[test]
    fn the_narrowest_intervals_are_chosen() {
        for (between, within_s) in [(0.01, 1e-6), (1e-6, 0.01), (1e-4, 1e-3)] {
            let scatter = Scatter { between, within_s };
            let (chosen, plan) = settled("queue-depth", Some(scatter), None);
            let own = relative_width(&plan).unwrap();
            for replicates in WANTED..=MOST {
                let (_, other) = settled("queue-depth", Some(scatter), Some(replicates));
                assert!(own <= relative_width(&other).unwrap() + 1e-9, "{replicates}");
            }
            assert!(chosen.workload[0].work.time().unwrap().0 >= SHORTEST_TRIAL_NS);
        }
        assert_eq!(settled("queue-depth", None, None).0.replicates, WANTED);
    }

    #[test]
    fn a_quick_look_takes_the_time_that_it_has() {
        let scatter = Scatter { between: 1e-3, within_s: 1e-4 };
        for (preset, most_s) in
            [("queue-depth", 42.0), ("schedulers", 150.0), ("filesystems", 300.0)]
        {
            let (study, plan) = settled(preset, Some(scatter), None);
            let took = seconds(&plan);
            assert!(took < most_s * 1.05 && took > most_s * 0.5, "{preset}: {took:.0} s");
            assert!(study.replicates >= WANTED, "{preset}: {}", study.replicates);
            assert_eq!(study.budget, None);
        }
    }

    /// Trials compared by p99 are long enough for it, even at the lowest rate, unless the check would take too long.
    #[test]
    fn trials_by_the_clock_are_long_enough_for_their_p99() {
        let trial_ns = |rates: &[&str]| {
            let mut study = presets::find("queue-depth").unwrap().unwrap().quick();
            let levels = rates.iter().map(|rate| (*rate).to_owned()).collect();
            study.factors = [("arrival_rate".to_owned(), levels)].into();
            study.baseline = [("arrival_rate".to_owned(), rates[0].to_owned())].into();
            let mut survey = survey("a", 50_000);
            survey.area.fill_ns = 0;
            let study = settle(study.settled(), Quick { replicates: None }, &[survey]);
            assert!((FEWEST..=MOST).contains(&study.replicates), "{rates:?}: {}", study.replicates);
            study.workload[0].work.time().unwrap().0
        };
        for (rates, least) in [(["500/s", "4000/s"], 2_400), (["4000/s", "600/s"], 2_000)] {
            assert!(trial_ns(&rates) >= least * MILLISECOND, "{rates:?}");
        }
        for rates in [["100000/s", "50000/s"], ["100/s", "4000/s"]] {
            assert!(trial_ns(&rates) <= LONGEST_TRIAL_NS, "{rates:?}");
        }
    }

    /// Workloads with a number of operations may take their limit each time: the plan has as many replicates as fit, or
    /// the useful maximum if all end early.
    #[test]
    fn replicates_that_would_not_end_in_time_are_not_taken() {
        let scatter = Scatter { between: 1e-3, within_s: 1e-4 };
        let replicates = |operation_ns: u64| {
            let study = presets::find("read-ahead").unwrap().unwrap().quick().settled();
            let mut survey = survey("a", 50_000);
            survey.area.fill_ns = 0;
            let names = || study.workload.iter().map(|work| work.name.clone());
            survey.pilot.scatter = names().map(|name| (name, scatter)).collect();
            for level in &study.factors["read_ahead"] {
                let arm: Arm = [("read_ahead".to_owned(), level.clone())].into();
                let keys = names().map(|name| (pilot_key(&name, &arm), operation_ns));
                survey.pilot.operation_ns.extend(keys);
            }
            let surveys = [survey];
            let study = settle(study, Quick { replicates: None }, &surveys);
            let plan = plan::make(&study, surveys.to_vec(), 1);
            assert!(seconds(&plan) <= 330.0, "{operation_ns}: {:.0} s", seconds(&plan));
            study.replicates
        };
        // Never done before the bound of their time, and done at once.
        let (slow, fast) = (replicates(1_000_000_000), replicates(1));
        assert!(slow <= WANTED && fast > WANTED, "{slow}, {fast}");
    }

    #[test]
    fn what_goes_through_all_of_a_target_does_that_once() {
        let whole = by_option().map(|(kind, _)| kind).filter(|kind| takes_all(kind));
        let whole: Vec<&str> = whole.map(|kind| kind.about.name).collect();
        assert!(!whole.is_empty());
        for preset in whole {
            let study = presets::find(preset).unwrap().unwrap().quick().settled();
            let same = settle(study.clone(), Quick { replicates: None }, &[survey("a", 50_000)]);
            assert_eq!(same, study);
            assert_eq!(same.replicates, 1, "{preset}");
            assert!(same.workload[0].work.time().unwrap().0 > LONGEST_TRIAL_NS, "{preset}");
        }
    }

    #[test]
    fn replicates_that_were_named_stay_and_budgets_are_their_owners() {
        assert_eq!(settled("queue-depth", None, Some(4)).0.replicates, 4);
        let check = presets::check().unwrap();
        let same = settle(check.clone(), Quick { replicates: None }, &[survey("a", 50_000)]);
        assert_eq!(same, check);
    }
}
