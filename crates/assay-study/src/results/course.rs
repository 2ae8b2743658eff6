//! A plan with unknown rates: a search for the highest rate (R16) finds its rates one after the other.
//!
//! The plan fixes all random choices before its first trial: the maximum number of trials, their order and their seeds.
//! Its configurations are steps, `load=step 1`. The rate of a step follows from the plan and the earlier trials
//! (`plan::most_load`), and each record contains it: `arrival_rate=41000/s`. So the plan is hashed as usual, an
//! interrupted study resumes identically, and readers find the rates in the records.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_workloads::{WorkPlan, io};

use super::design::{AskKind, Factor};
use super::plan::{Arm, Plan, PlannedTrial};
use super::record::Trial;

/// Factor name of the steps before their rates are known.
pub const FACTOR: &str = "load";
pub const RATE: &str = "arrival_rate";
/// The setting of the first trial, which shows the highest rate.
pub const CLOSED: &str = "closed loop";
pub const SEARCHES: u32 = 6;
pub const FIRST: usize = 5;
/// Additional steps to find the other side of the limit; R16 allows four, and 54 trials in all.
pub const MORE: usize = 3;
pub const STEPS: usize = FIRST + MORE;

pub fn is_of(plan: &Plan) -> bool {
    plan.design.questions.iter().any(|ask| ask.kind == AskKind::MaxRate)
}

/// Configuration of a step, from 0, with an unknown rate.
pub fn step(step: usize) -> Arm {
    drawn_arm(format!("step {}", step + 1))
}

/// The setting of a trial that searches, from 0; that of the closed loop before it.
pub fn search(search: Option<u32>) -> Arm {
    drawn_arm(search.map_or_else(|| CLOSED.to_owned(), |number| format!("search {}", number + 1)))
}

fn drawn_arm(level: String) -> Arm {
    Arm::from([(FACTOR.to_owned(), level)])
}

/// A rate as a level: a whole number, in three digits.
pub fn level(per_s: f64) -> String {
    let unit = 10_f64.powi(per_s.max(1.0).log10().floor() as i32 - 2).max(1.0);
    format!("{:.0}/s", ((per_s / unit).round() * unit).max(1.0))
}

pub fn per_s(level: &str) -> Option<f64> {
    level.parse::<io::ArrivalRate>().ok().map(|rate| rate.per_s() as f64)
}

pub fn rate(arm: &Arm) -> Option<f64> {
    per_s(arm.get(RATE)?)
}

pub fn at_rate(per_s: f64) -> Arm {
    Arm::from([(RATE.to_owned(), level(per_s))])
}

/// Returns whether a trial was part of the search; reports omit these.
pub fn is_search(record: &Trial) -> bool {
    record.replicate == 0
}

/// The plan of one trial with its rate; unchanged for the closed loop and other studies.
pub fn of_trial<'p>(plan: &'p Plan, trial: &PlannedTrial) -> Result<Cow<'p, Plan>, String> {
    let Some(level) = trial.arm.get(RATE).filter(|_| is_of(plan)) else {
        return Ok(Cow::Borrowed(plan));
    };
    let mut plan_now = plan.clone();
    let workload =
        plan_now.workloads.get_mut(trial.workload).ok_or("the trial is not in this plan")?;
    workload.work = work_at(&workload.work, level)?;
    workload.arm.clone_from(&trial.arm);
    Ok(Cow::Owned(plan_now))
}

fn work_at(work: &WorkPlan, level: &str) -> Result<WorkPlan, String> {
    let WorkPlan::Io(io) = work else { return Err("this workload has no rate".to_owned()) };
    let at = io.at(RATE, level).ok_or("this I/O workload has no rate")?;
    at.map(Into::into)
}

/// The plan as it ran: steps have recorded rates. An ended study has no unused steps.
#[must_use]
pub fn as_run<'r>(
    mut plan: Plan,
    records: impl IntoIterator<Item = (usize, u32, &'r Arm)>,
    ended: bool,
) -> Plan {
    if !is_of(&plan) {
        return plan;
    }
    let mut rates: BTreeMap<usize, Arm> = BTreeMap::new();
    // Search trials use the first step, so it always exists.
    let mut steps = 1;
    for (workload, replicate, arm) in records {
        // Imported records are untrusted: an invalid rate is ignored, but its workload still counts.
        steps = steps.max(workload.saturating_add(1));
        let known = rate(arm).map(at_rate).filter(|_| replicate > 0);
        if let Some(arm_run) = known.filter(|_| workload < plan.workloads.len()) {
            rates.entry(workload).or_insert(arm_run);
        }
    }
    if ended {
        plan.workloads.truncate(steps);
        plan.trials.retain(|trial| trial.workload < steps);
    }
    for (index, workload) in plan.workloads.iter_mut().enumerate() {
        let Some(arm) = rates.get(&index) else { continue };
        if let Ok(work) = work_at(&workload.work, &arm[RATE]) {
            workload.work = work;
        }
        workload.arm.clone_from(arm);
    }
    for trial in plan.trials.iter_mut().filter(|trial| trial.replicate > 0) {
        if let Some(arm) = rates.get(&trial.workload) {
            trial.arm.clone_from(arm);
        }
    }
    if let Some(first) = rates.get(&0) {
        plan.design.baseline.clone_from(first);
        plan.design.factors = vec![Factor { name: RATE.to_owned(), levels: levels(&rates) }];
    }
    plan
}

fn levels(rates: &BTreeMap<usize, Arm>) -> Vec<String> {
    let mut found: Vec<f64> = rates.values().filter_map(rate).collect();
    found.sort_by(f64::total_cmp);
    found.dedup();
    found.into_iter().map(level).collect()
}
