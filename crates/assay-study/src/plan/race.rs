//! A race (R15): many arms, one winner, a stated risk. The plan has every replicate of every arm; those of
//! arms that have left are not run. Who leaves, why, whether it is over and what runs next is a pure function
//! of the plan and of the trials that have run, so a race that is resumed takes the same decisions.

mod course;
mod harm;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use assay_kinds::work::observe;

use super::arms::matches;
use crate::results::design::Stopping;
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::{Repeats, Status, TrialRecord};
use crate::study::race as limits;

pub use rule::{FIRST_LOOK, Left, Logs, Over, Rules, Standing, Why, standing};

/// Replicates at most of a race where none are named.
pub const MOST_REPLICATES: u32 = limits::REPLICATES;

/// Replicates by which a budget is divided into trials: most arms leave long before the last.
pub const USUAL_REPLICATES: u32 = 6;

/// Whether the study of a plan is a race.
pub fn is_one(plan: &Plan) -> bool {
    matches!(plan.design.stopping, Stopping::Race { .. })
}

/// What a plan asks of its race; none where it is no race. An arm is a workload of the plan: a race has one
/// kind of work.
pub fn rules(plan: &Plan) -> Option<Rules> {
    let Stopping::Race { closeness } = plan.design.stopping else { return None };
    let is_baseline = |arm: &_| matches(arm, &plan.design.baseline);
    let baseline = plan.workloads.iter().position(|own| is_baseline(&own.arm));
    Some(Rules {
        arms: plan.workloads.len(),
        baseline: baseline.unwrap_or(0),
        closeness,
        // A result of others may say anything.
        replicates: plan.replicates.min(limits::MOST),
    })
}

/// Why a plan makes no race, where it is to be one: nobody runs alone, nor for a number of his own.
pub fn mistake(plan: &Plan) -> Option<String> {
    if !is_one(plan) {
        return None;
    }
    if plan.workloads.len() < 2 {
        return Some("a race needs two settings or more: add levels with --set".to_owned());
    }
    let varies = |name: &str| plan.design.factors.iter().any(|factor| factor.name == name);
    let mut metrics = plan.workloads.iter().map(|own| own.work.primary(&varies));
    let first = metrics.next().filter(|_| plan.design.primary.is_none())?;
    let other = metrics.find(|own| *own != first)?;
    Some(format!(
        "a race is won by one number, and its settings are compared by {first} and by {other}: name one with \
         --primary"
    ))
}

/// What a race knows of a trial that has run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Position in the plan.
    pub order: u32,
    pub replicate: u32,
    /// Index into `Plan::workloads`: the arm.
    pub arm: usize,
    pub status: Status,
    pub repeats: Option<Repeats>,
    /// Logarithm of its value, the higher the better; none where it has no value.
    pub log: Option<f64>,
    /// Whether it was rolled back because it harmed others' work.
    pub harmed: bool,
}

impl Run {
    /// What a race knows of a record whose value is known.
    pub fn of(record: &TrialRecord, log: Option<f64>) -> Self {
        let TrialRecord { order, replicate, workload, status, repeats, .. } = *record;
        let watched = record.measured.as_ref().and_then(observe::Detail::of);
        let harmed = watched.is_some_and(|detail| detail.harm.is_some());
        Self { order, replicate, arm: workload, status, repeats, log, harmed }
    }

    /// The replicate to which its value belongs: that of the trial that it repeats.
    fn belongs(&self) -> u32 {
        self.repeats.map_or(self.replicate, |of| of.replicate)
    }
}

/// A trial to come, with the one that it repeats.
pub type Next = (PlannedTrial, Option<Repeats>);

/// A race so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// After the last complete replicate.
    pub standing: Standing,
    /// What of the replicate that comes, or that is under way, has not run; of one whose trials have all run,
    /// what is run again. None where it is over.
    pub next: Vec<Next>,
    /// Whether nothing of that replicate has run.
    pub begins: bool,
    /// The values of all complete replicates.
    pub logs: Logs,
}

impl Race {
    /// Nanoseconds that replicates after the one that comes take at most: where nothing more leaves, and
    /// trials take as long as those that come now, which take `next_ns` together.
    pub fn later_ns(&self, plan: &Plan, next_ns: u64) -> u64 {
        let this = self.standing.replicates.saturating_add(1);
        let later = u64::from(plan.replicates.saturating_sub(this));
        let each_ns = next_ns / self.next.len().max(1) as u64;
        each_ns.saturating_mul(self.standing.running().count() as u64).saturating_mul(later)
    }
}

/// A race so far, by its plan and what has run; none where the plan is of no race.
pub fn race(plan: &Plan, runs: &[Run]) -> Option<Race> {
    let rules = rules(plan)?;
    let done: BTreeSet<u32> = runs.iter().map(|run| run.order).collect();
    let mut logs = Logs::new(rules.arms);
    let by_replicate = by_replicate(runs);
    let mut now = Standing::new(&rules);
    for replicate in course::replicates(plan) {
        let number = replicate.first().map(|trial| trial.replicate);
        let Some(number) = number.filter(|number| *number <= rules.replicates) else { break };
        let own = by_replicate.get(&number).map_or(&[][..], Vec::as_slice);
        let first = course::left_of(plan, replicate, &now);
        let again = course::repeats(plan, &first, own);
        let all = first.into_iter().map(|trial| (trial, None));
        let repeats = again.into_iter().map(|(trial, of)| (trial, Some(of)));
        let is_left = |(trial, _): &Next| !done.contains(&trial.order);
        let mut next: Vec<Next> = all.filter(is_left).collect();
        if next.is_empty() {
            next = repeats.filter(is_left).collect();
        }
        if !next.is_empty() {
            return Some(Race { standing: now, next, begins: own.is_empty(), logs });
        }
        for run in own {
            logs.take(run.belongs(), run.arm, counted(run));
        }
        harm::leave(own, number, rules.baseline, &mut now);
        now = rule::look(&rules, &logs, number, now);
        if now.over.is_some() {
            break;
        }
    }
    Some(Race { standing: now, next: Vec::new(), begins: false, logs })
}

/// The value by which a trial counts: disturbed ones drop their pair (R11), and their repeats stand for them.
fn counted(run: &Run) -> Option<f64> {
    run.log.filter(|log| run.status == Status::Ok && log.is_finite())
}

/// What has run by the replicate to which it belongs, lead-ins included.
fn by_replicate(runs: &[Run]) -> BTreeMap<u32, Vec<Run>> {
    let mut found: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    for run in runs {
        found.entry(run.belongs()).or_default().push(*run);
    }
    found
}
