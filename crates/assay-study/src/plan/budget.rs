//! Time: trials share the rest of the budget, and a slow device gets a queue depth that drains in time.

use std::collections::{BTreeMap, BTreeSet};

use super::order;
use crate::file::{Fresh, LeadIn, Study};
use crate::results::plan::{Plan, PlannedTrial, PlannedWorkload, Survey};

pub const FILL_SHARE: u64 = 5;
/// Budget of a study that names none, for one target.
pub const DEFAULT_BUDGET_NS: u64 = 60_000_000_000;

const MILLISECOND: u64 = 1_000_000;
/// Rest before a trial: one in this many of its time, within bounds.
const GAP_SHARE: u64 = 16;
const SHORTEST_GAP_NS: u64 = 20 * MILLISECOND;
const LONGEST_GAP_NS: u64 = 150 * MILLISECOND;
/// A trial is not cut below this, however small the budget.
const SHORTEST_TRIAL_NS: u64 = 60 * MILLISECOND;
/// Starting, stopping, syncing and storing one trial.
const OVERHEAD_NS: u64 = 40 * MILLISECOND;
/// Uncounted ramp of a trial: one part in this many.
const RAMP_SHARE: u64 = 16;
const NEVER_NS: u64 = i64::MAX as u64;
/// Maximum number of replicates that share the budget if the study may stop after any of them.
pub(super) const MOST_SHARING: u32 = 100;

/// Percent of the budget after which no further trial is started.
const DEADLINE_PERCENT: u64 = 140;

pub struct Timed {
    pub workloads: Vec<PlannedWorkload>,
    pub gap_ns: u64,
    /// A replicate that would end past this by half its length is not started.
    pub budget_ns: Option<u64>,
    /// No trial starts later than this after the study's start.
    pub deadline_ns: u64,
}

pub fn whole_ns(study: &Study, targets: usize) -> u64 {
    study.budget.map_or(DEFAULT_BUDGET_NS, |budget| budget.0) * targets.max(1) as u64
}

/// Expected nanoseconds of a planned trial, including rest and preparation.
pub fn expected_ns(plan: &Plan, planned: &PlannedTrial) -> u64 {
    let workload = plan.work_of(planned);
    let survey = &plan.surveys[workload.target];
    let operation_ns = survey.pilot.operation_ns(&workload);
    // A pass over a whole target has no pending operations at its end.
    let is_pass = workload.work.expected_ns(operation_ns).is_some();
    let pending_ns = if is_pass { 0 } else { operation_ns };
    let trial_ns = run_ns(&workload, survey);
    let parts = [plan.gap_ns, made_ns(plan, planned), trial_ns, pending_ns, OVERHEAD_NS];
    parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part))
}

/// Nanoseconds to create layers and area before a planned trial, as measured in the survey.
pub fn made_ns(plan: &Plan, planned: &PlannedTrial) -> u64 {
    let survey = &plan.surveys[plan.workloads[planned.workload].target];
    let remade = plan.is_remade_before(planned.order as usize);
    if remade { cost_of_making(survey) } else { 0 }
}

fn cost_of_making(survey: &Survey) -> u64 {
    survey.made_ns.saturating_add(survey.area.fill_ns)
}

/// Nanoseconds of a workload, including ramp; by the pilot's pace if operations are counted.
fn run_ns(workload: &PlannedWorkload, survey: &Survey) -> u64 {
    let most = workload.ramp_ns.saturating_add(workload.time_ns);
    if let Some(expected) = workload.expected_ns(survey.pilot.operation_ns(workload), most) {
        return expected;
    }
    let operation_ns = survey.pilot.operation_ns(workload);
    match workload.work.operations() {
        Some(count) if operation_ns > 0 => count.saturating_mul(operation_ns).min(most),
        _ => most,
    }
}

pub struct Turns<'a> {
    pub rules: order::Rules,
    pub groups: &'a [Vec<usize>],
    pub replicates: u32,
}

impl Turns<'_> {
    fn lead_ins(&self, replicates: u64) -> u64 {
        self.rules.lead_ins(self.groups.len(), replicates)
    }

    /// Cost of warm-ups, in trials of the mean length, because the workload of a warm-up is random.
    fn lead_ins_as_trials(&self, replicates: u64) -> f64 {
        let whole = self.lead_ins(replicates) as f64;
        if self.rules.lead_in == LeadIn::Half { whole / 2.0 } else { whole }
    }
}

/// Sets the times of the workloads without one, the rest between trials, and the end of the study.
pub fn timed(
    study: &Study,
    surveys: &[Survey],
    mut workloads: Vec<PlannedWorkload>,
    turns: &Turns<'_>,
) -> Timed {
    // File systems of a factor share one target.
    let targets: BTreeSet<&str> = surveys.iter().map(|survey| survey.target.as_str()).collect();
    let total_ns = whole_ns(study, targets.len());
    let replicates = u64::from(turns.replicates);
    let fixed_ns = workloads_ns(surveys, &workloads, replicates, turns)
        + made_in_replicates_ns(study, surveys, &workloads, replicates, turns);
    let left_ns = total_ns.saturating_sub(fixed_ns);
    // The rest depends on the shortest trial, and a trial on the rests: starts from the longest rest.
    let least_ns = share_ns(surveys, &workloads, replicates, turns, left_ns, LONGEST_GAP_NS);
    let gap_ns = gap_ns(surveys, &workloads, least_ns);
    let each_ns = share_ns(surveys, &workloads, replicates, turns, left_ns, gap_ns);
    let slowest = slowest_operations_ns(surveys, &workloads);
    for workload in &mut workloads {
        if workload.time_ns == 0 {
            // Counted operations count from the first one on.
            let ramp = if workload.work.operations().is_some() { 0 } else { each_ns / RAMP_SHARE };
            workload.ramp_ns = ramp;
            workload.time_ns = each_ns - workload.ramp_ns;
        }
        let operation = operation_ns(workload, surveys);
        limit_depth(workload, slowest.get(&workload.name).copied().unwrap_or(operation));
    }
    // A study without verdicts ends with its time; the others end with a replicate (R8).
    let budget_ns = study.budget.filter(|_| study.margin.is_some()).map(|_| total_ns);
    Timed { workloads, gap_ns, budget_ns, deadline_ns: deadline_ns(study, fixed_ns, total_ns) }
}

/// Rest before each trial: long enough to detect other traffic, short compared with the shortest trial; `untimed_ns` is
/// the time of trials without a fixed one.
fn gap_ns(surveys: &[Survey], workloads: &[PlannedWorkload], untimed_ns: u64) -> u64 {
    let gap_of = |workload: &PlannedWorkload| match workload.time_ns {
        0 => untimed_ns,
        _ => run_ns(workload, &surveys[workload.target]),
    };
    let shortest = workloads.iter().map(gap_of).min().unwrap_or(untimed_ns);
    (shortest / GAP_SHARE).clamp(SHORTEST_GAP_NS, LONGEST_GAP_NS)
}

/// Nanoseconds to create the layers of all visited groups, in all replicates.
fn made_in_replicates_ns(
    study: &Study,
    surveys: &[Survey],
    workloads: &[PlannedWorkload],
    replicates: u64,
    turns: &Turns<'_>,
) -> u64 {
    let visited = turns.groups.iter().filter_map(|group| group.first());
    let layered = visited.map(|index| &surveys[workloads[*index].target]);
    let made = layered.filter(|survey| !survey.under.is_empty()).map(cost_of_making).sum::<u64>();
    if study.recreate_per == Fresh::Replicate { made.saturating_mul(replicates) } else { made }
}

/// Time of a trial without a fixed time: an equal share of `left_ns` minus filling, pilots, rests and last operations.
fn share_ns(
    surveys: &[Survey],
    workloads: &[PlannedWorkload],
    replicates: u64,
    turns: &Turns<'_>,
    left_ns: u64,
    gap_ns: u64,
) -> u64 {
    let untimed = workloads.iter().filter(|workload| workload.time_ns == 0).count() as f64;
    let trials = workloads.len() as u64 * replicates + turns.lead_ins(replicates);
    let spent: u64 = surveys
        .iter()
        .map(|survey| survey.area.fill_ns + survey.pilot.operation_ns.values().sum::<u64>())
        .sum();
    // Pending operations complete after the time is up.
    let waits: u64 =
        workloads.iter().map(|workload| operation_ns(workload, surveys) * replicates).sum();
    let rests = trials * (gap_ns + OVERHEAD_NS);
    // The workload of a warm-up is random: it takes a share with this probability.
    let untimed_share = untimed / workloads.len().max(1) as f64;
    let shares = untimed * replicates as f64 + untimed_share * turns.lead_ins_as_trials(replicates);
    let share = left_ns.saturating_sub(spent + waits + rests) as f64 / shares.max(1.0);
    (share as u64).max(SHORTEST_TRIAL_NS)
}

fn operation_ns(workload: &PlannedWorkload, surveys: &[Survey]) -> u64 {
    surveys[workload.target].pilot.operation_ns(workload)
}

/// Nanoseconds per operation of each workload in its slowest arm, to give all arms one depth.
fn slowest_operations_ns(
    surveys: &[Survey],
    workloads: &[PlannedWorkload],
) -> BTreeMap<String, u64> {
    let mut slowest: BTreeMap<String, u64> = BTreeMap::new();
    for workload in workloads {
        let touched = workload.work.touches();
        if touched.reads || touched.writes.is_some() || workload.work.operations().is_some() {
            let known = slowest.entry(workload.name.clone()).or_default();
            *known = operation_ns(workload, surveys).max(*known);
        }
    }
    slowest
}

/// Lowers the queue depth if operations in flight could not drain within the trial time.
fn limit_depth(workload: &mut PlannedWorkload, operation_ns: u64) {
    let trial_ns = workload.ramp_ns + workload.time_ns;
    let is_level = |factor: &str| workload.arm.contains_key(factor);
    if let Some(text) = workload.work.drain_within(operation_ns, trial_ns, &is_level) {
        workload.note = super::join(workload.note.take(), Some(text));
    }
}

/// Nanoseconds of all trials and warm-ups, without rests.
fn workloads_ns(
    surveys: &[Survey],
    workloads: &[PlannedWorkload],
    replicates: u64,
    turns: &Turns<'_>,
) -> u64 {
    let once: u64 =
        workloads.iter().map(|workload| run_ns(workload, &surveys[workload.target])).sum();
    let mean = once as f64 / workloads.len().max(1) as f64;
    once * replicates + (mean * turns.lead_ins_as_trials(replicates)) as u64
}

/// A check ends at its time limit; a study with verdicts completes a replicate after its budget.
fn deadline_ns(study: &Study, fixed_ns: u64, whole: u64) -> u64 {
    if study.margin.is_some() {
        return NEVER_NS;
    }
    let budget = whole / 100 * DEADLINE_PERCENT;
    if study.budget.is_some() { budget.max(2 * fixed_ns) } else { budget + 2 * fixed_ns }
}
