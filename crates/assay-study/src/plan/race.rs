//! A race (R15): many arms, one winner, a stated risk. Plan and trials alone decide, so a resumed race decides alike.

mod course;
mod rule;
pub mod screen;
#[cfg(test)]
mod screen_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use assay_workloads::production;

use super::arms::matches;
use crate::file::race as limits;
use crate::results::design::Stopping;
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::{Repeats, Status, Trial};

pub use rule::{FIRST_LOOK, Left, Logs, Over, RaceRules, RaceState, Why, standing};
pub use screen::ScreenResult;

pub const MOST_REPLICATES: u32 = limits::REPLICATES;

/// Replicates for dividing a budget: most arms leave early.
pub fn usual_replicates(is_screened: bool) -> u32 {
    if is_screened { 2 } else { 6 }
}

pub fn is_one(plan: &Plan) -> bool {
    matches!(plan.design.stopping, Stopping::Race { .. })
}

/// Returns the rules of a race; `None` for other plans. Each workload of the plan is an arm.
pub fn rules(plan: &Plan) -> Option<RaceRules> {
    let Stopping::Race { closeness, screen } = plan.design.stopping else { return None };
    Some(RaceRules {
        arms: plan.workloads.len(),
        baseline: baseline(plan).unwrap_or(0),
        closeness,
        // Imported results may contain any number.
        replicates: plan.replicates.saturating_sub(screen).min(limits::MOST),
    })
}

fn baseline(plan: &Plan) -> Option<usize> {
    plan.workloads.iter().position(|planned| matches(&planned.arm, &plan.design.baseline))
}

/// Returns why a plan cannot be a race: it needs two arms and a metric of the workload.
pub fn mistake(plan: &Plan) -> Option<String> {
    if !is_one(plan) {
        return None;
    }
    if plan.workloads.len() < 2 {
        return Some("a race needs at least two configurations; add levels with --set".to_owned());
    }
    if let Some(why) = unscreenable(plan) {
        return Some(why);
    }
    let varies = |name: &str| plan.design.factors.iter().any(|factor| factor.name == name);
    let mut metrics = plan.workloads.iter().map(|planned| planned.work.primary(&varies));
    let first = metrics.next().filter(|_| plan.design.primary.is_none())?;
    let other = metrics.find(|metric| *metric != first)?;
    Some(format!(
        "a race needs one metric, but the workloads use {first} and {other}; set primary_metric"
    ))
}

fn unscreenable(plan: &Plan) -> Option<String> {
    if plan.design.stopping.passes() == 0 {
        return None;
    }
    if plan.design.varied().count() < 2 {
        return Some(
            "a screen needs at least two factors, but this study varies only one; remove stop.screen"
                .to_owned(),
        );
    }
    let (count, most) = (plan.workloads.len(), limits::MOST_UNSCREENED);
    (count <= most).then(|| {
        format!(
            "a screen is for more than {most} configurations, but this study has only {count}; remove stop.screen"
        )
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub order: u32,
    pub replicate: u32,
    pub arm: usize,
    pub status: Status,
    pub repeats: Option<Repeats>,
    /// Logarithm of its value, the higher the better; `None` without a value.
    pub log: Option<f64>,
    pub harmed: bool,
}

impl Run {
    pub fn new(record: &Trial, log: Option<f64>) -> Self {
        let Trial { order, replicate, workload, status, repeats, .. } = *record;
        let watched = record.measured.as_ref().and_then(production::ProductionDetail::of);
        let harmed = watched.is_some_and(|detail| detail.harm.is_some());
        Self { order, replicate, arm: workload, status, repeats, log, harmed }
    }

    fn is_lead_in(&self) -> bool {
        self.status == Status::Warmup
    }

    /// The replicate to which its value belongs: that of the trial that it repeats.
    fn belongs(&self) -> u32 {
        self.repeats.map_or(self.replicate, |of| of.replicate)
    }
}

pub type Next = (PlannedTrial, Option<Repeats>);

#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// After the last complete replicate; who did harm since then has left, too.
    pub standing: RaceState,
    pub screen: Option<ScreenResult>,
    /// Complete replicates of the plan, including the passes of a screen.
    pub complete: u32,
    /// Trials left in the current or next replicate, then its repeats. Empty at the end.
    pub next: Vec<Next>,
    pub begins: bool,
    pub logs: Logs,
}

impl Race {
    /// Maximum nanoseconds after the next replicate, whose trials take `next_ns`, if no arm leaves.
    pub fn later_ns(&self, plan: &Plan, next_ns: u64) -> u64 {
        let passes = plan.design.stopping.passes();
        let this = self.complete.saturating_add(1);
        let of_passes = |trial: &&PlannedTrial| (this + 1..=passes).contains(&trial.replicate);
        let screening =
            if this < passes { plan.trials.iter().filter(of_passes).count() } else { 0 };
        let later = u64::from(plan.replicates.saturating_sub(this.max(passes)));
        let each_ns = next_ns / self.next.len().max(1) as u64;
        let racing = later.saturating_mul(self.standing.running().count() as u64);
        each_ns.saturating_mul(racing.saturating_add(screening as u64))
    }

    pub fn pass(&self, plan: &Plan) -> Option<(u32, u32)> {
        let passes = plan.design.stopping.passes();
        (self.complete < passes).then(|| (self.complete + 1, passes))
    }

    /// After the last pass of a screen, drops the arms with dropped levels; before, does nothing.
    fn end_pass(&mut self, plan: &Plan, rules: &RaceRules, runs: &BTreeMap<u32, Vec<Run>>) {
        let passes = plan.design.stopping.passes();
        if passes == 0 || self.complete < passes {
            return;
        }
        let of_screen = runs.range(..=passes).map(|(pass, runs)| (*pass, runs.clone())).collect();
        let found = ScreenResult::new(plan, &of_screen);
        found.drop_arms(plan, rules.baseline, &mut self.standing);
        self.screen = Some(found);
    }
}

/// Derives the state of a race from its trials so far; `None` for a plan that is not a race.
pub fn race(plan: &Plan, runs: &[Run]) -> Option<Race> {
    let rules = rules(plan)?;
    let done: BTreeSet<u32> = runs.iter().map(|run| run.order).collect();
    let passes = plan.design.stopping.passes();
    let by_replicate = by_replicate(runs);
    let mut state = Race {
        standing: RaceState::new(&rules),
        screen: None,
        complete: 0,
        next: Vec::new(),
        begins: false,
        logs: Logs::new(rules.arms),
    };
    for replicate in course::replicates(plan) {
        let number = replicate.first().map(|trial| trial.replicate);
        let most = rules.replicates.saturating_add(passes);
        let Some(number) = number.filter(|number| *number <= most) else { break };
        let runs_here = by_replicate.get(&number).map_or(&[][..], Vec::as_slice);
        let planned = course::remaining(plan, replicate, &state.standing);
        let next = next_trials(plan, planned, runs_here, &done);
        if !next.is_empty() {
            // The study may end here, and an arm that did harm must not win.
            let after = number.saturating_sub(passes);
            drop_harmful(runs_here, after, rules.baseline, &mut state.standing);
            rule::replace_dropped_leader(&state.logs, &mut state.standing);
            return Some(Race { next, begins: runs_here.is_empty(), ..state });
        }
        state.complete = number;
        let Some(raced) = number.checked_sub(passes).filter(|raced| *raced > 0) else {
            // A pass of the screen.
            drop_harmful(runs_here, 0, rules.baseline, &mut state.standing);
            state.end_pass(plan, &rules, &by_replicate);
            continue;
        };
        for run in runs_here {
            state.logs.set(raced, run.arm, counted(run));
        }
        drop_harmful(runs_here, raced, rules.baseline, &mut state.standing);
        state.standing = rule::judge(&rules, &state.logs, raced, state.standing);
        if state.standing.over.is_some() {
            break;
        }
    }
    Some(state)
}

/// Value of a counting trial: a disturbed trial drops its pair (R11), and its repeat replaces it.
fn counted(run: &Run) -> Option<f64> {
    run.log.filter(|log| run.status == Status::Ok && log.is_finite())
}

/// Drops arms that harmed the production workload, which Assay rolled back; the caller handles a harmful baseline.
fn drop_harmful(runs: &[Run], after: u32, baseline: usize, race: &mut RaceState) {
    for run in runs.iter().filter(|run| run.harmed && run.arm != baseline) {
        if let Some(slot) = race.left.get_mut(run.arm) {
            slot.get_or_insert(Left { after, why: Why::Harmed });
        }
    }
}

/// The planned trials of a replicate that did not run yet, or after those, the repeats that did not run yet.
fn next_trials(
    plan: &Plan,
    planned: Vec<PlannedTrial>,
    runs: &[Run],
    done: &BTreeSet<u32>,
) -> Vec<Next> {
    let repeats = course::repeats(plan, &planned, runs);
    let mut next: Vec<Next> = planned.into_iter().map(|trial| (trial, None)).collect();
    next.retain(|(trial, _)| !done.contains(&trial.order));
    if next.is_empty() {
        next.extend(repeats.into_iter().map(|(trial, of)| (trial, Some(of))));
        next.retain(|(trial, _)| !done.contains(&trial.order));
    }
    next
}

fn by_replicate(runs: &[Run]) -> BTreeMap<u32, Vec<Run>> {
    let mut found: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    for run in runs {
        found.entry(run.belongs()).or_default().push(*run);
    }
    // A fixed order of the trials makes sums reproducible to the last digit.
    for of_replicate in found.values_mut() {
        of_replicate.sort_by_key(|run| run.order);
    }
    found
}
