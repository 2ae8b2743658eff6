//! Determines the next trial from the plan and all earlier trials: a resumed study continues identically.

use std::collections::VecDeque;

use super::conductor::{Conductor, End};
use super::cuts;
use super::event::{Context, Event};
use assay_core::quantity::units::show;
use assay_machine::system::site::TargetKind;
use assay_study::file::limit::bracket::RateSample;
use assay_study::plan::most_load;
use assay_study::plan::race::{self, Over, Race, Run};
use assay_study::plan::repeats::{self, RanTrial};
use assay_study::results::course;
use assay_study::results::design::Stopping;
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::{Repeats, Trial};

pub struct ScheduleStep {
    pub planned: PlannedTrial,
    pub repeats: Option<Repeats>,
    pub index: usize,
    /// Expected nanoseconds of this trial and all later ones.
    pub remaining_ns: u64,
}

pub enum TrialSchedule {
    /// The plan in its order. In a load search, earlier trials set the load of the next one.
    Fixed {
        next: usize,
    },
    /// Repeats of disturbed trials (R11b), and the end of a plan that ended early.
    Repeats {
        queue: VecDeque<(PlannedTrial, Repeats)>,
        ended: Option<End>,
    },
    Race(RaceSchedule),
    Follow,
}

#[derive(Default)]
pub struct RaceSchedule {
    runs: Vec<Run>,
    is_resumed: bool,
    /// Remaining trials of the replicate, each with its expected nanoseconds.
    queue: VecDeque<(race::Next, u64)>,
    /// Expected nanoseconds of the queue, and of all later replicates at most.
    left_ns: u64,
    later_ns: u64,
}

impl TrialSchedule {
    /// Selects the schedule of a study, and reports the expected time.
    pub fn start(conductor: &mut Conductor<'_>, context: &mut Context<'_>) -> Self {
        let Conductor { plan, trials, .. } = &*conductor;
        if race::is_one(plan) {
            let is_resumed = !trials.is_empty();
            conductor.first_look(context);
            return Self::Race(RaceSchedule { is_resumed, ..RaceSchedule::default() });
        }
        let done = trials.iter().filter(|trial| trial.repeats.is_none()).count();
        let left = &plan.trials[done.min(plan.trials.len())..];
        let expected_ns = conductor.within_budget(conductor.left_ns(left));
        let warm_ups = plan.trials.iter().filter(|trial| trial.is_lead_in()).count();
        (context.tell)(Event::Planned { trials: plan.trials.len(), warm_ups, done, expected_ns });
        if conductor.follows() {
            return Self::Follow;
        }
        conductor.first_look(context);
        conductor.lead_in_again(context);
        Self::Fixed { next: done }
    }

    /// Returns the next trial, or the end of the study.
    pub fn next(
        &mut self,
        conductor: &mut Conductor<'_>,
        context: &mut Context<'_>,
    ) -> Result<ScheduleStep, End> {
        match self {
            Self::Fixed { next } => {
                let index = *next;
                *next += 1;
                let ended = match conductor.planned_step(index)? {
                    PlannedStep::Trial(step) => return Ok(step),
                    PlannedStep::EndsEarly(end) => Some(end),
                    PlannedStep::PlanComplete => None,
                };
                let queue = conductor.repeats_of_disturbed(context);
                *self = Self::Repeats { queue, ended };
                self.next(conductor, context)
            }
            Self::Repeats { queue, ended } => {
                let remaining_ns = conductor.left_ns(queue.iter().map(|(planned, _)| planned));
                if !queue.is_empty() && conductor.is_out_of_budget() {
                    conductor.log(
                        "repeats",
                        "the time budget ended before all disturbed trials were repeated",
                    );
                    queue.clear();
                }
                let Some((planned, repeats)) = queue.pop_front() else {
                    return Err(ended.take().unwrap_or_else(|| conductor.end_of_plan()));
                };
                let index = conductor.trials.len();
                Ok(ScheduleStep { planned, repeats: Some(repeats), index, remaining_ns })
            }
            Self::Race(race) => race.next(conductor, context),
            Self::Follow => {
                let Some(fleet) = &conductor.fleet else { return Err(End::Complete) };
                let next = fleet.borrow_mut().next(&conductor.plan).map_err(|end| match end {
                    End::Early(why) => conductor.end_early(why),
                    end => end,
                })?;
                let index = next.planned.order as usize;
                let remaining_ns = conductor.left_ns(conductor.plan.trials.iter().skip(index));
                let (planned, repeats) = (next.planned, next.repeats);
                Ok(ScheduleStep { planned, repeats, index, remaining_ns })
            }
        }
    }
}

impl RaceSchedule {
    /// Returns the next trial of the replicate, or starts the next replicate; fails with the end of the study.
    fn next(
        &mut self,
        conductor: &mut Conductor<'_>,
        context: &mut Context<'_>,
    ) -> Result<ScheduleStep, End> {
        let Conductor { plan, environment, looks, trials, .. } = &*conductor;
        for trial in &trials[self.runs.len()..] {
            let log = looks.log.and_then(|log| log(plan, environment, trial));
            self.runs.push(Run::new(trial, log));
        }
        if self.queue.is_empty() {
            self.start_replicate(conductor, context)?;
        }
        conductor.check_harm()?;
        let remaining_ns = conductor.within_budget(self.left_ns.saturating_add(self.later_ns));
        let Some(((planned, repeats), expected_ns)) = self.queue.pop_front() else {
            return Err(End::Complete);
        };
        self.left_ns = self.left_ns.saturating_sub(expected_ns);
        Ok(ScheduleStep { planned, repeats, index: conductor.trials.len(), remaining_ns })
    }

    /// Queues the trials of the next replicate, or the repeats of disturbed ones, unless the race or its budget ended.
    fn start_replicate(
        &mut self,
        conductor: &mut Conductor<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let Some(race) = race::race(&conductor.plan, &self.runs) else { return Err(End::Complete) };
        if let Some(over) = race.standing.over {
            return Err(conductor.end_early(over_words(over, &race, &conductor.plan)));
        }
        let is_between_replicates = race.begins && race.complete > 0;
        if is_between_replicates {
            let expected_ns = conductor.left_ns(race.next.iter().map(|(planned, _)| planned));
            if let Some(reason) = conductor.over_budget(expected_ns, race.complete) {
                return Err(conductor.end_early(reason));
            }
        }
        let Some((first, _)) = race.next.first() else { return Err(End::Complete) };
        if std::mem::take(&mut self.is_resumed) {
            conductor.lead_in_of_last(first, context);
        }
        let queue = race.next.iter().map(|next| (next.clone(), conductor.expected_ns(&next.0)));
        self.queue = queue.collect();
        self.left_ns = conductor.left_ns(race.next.iter().map(|(planned, _)| planned));
        self.later_ns = race.later_ns(&conductor.plan, self.left_ns);
        let most_ns = self.left_ns.saturating_add(self.later_ns);
        (context.tell)(Event::Racing {
            text: standing_words(&race, &conductor.plan),
            trials: race.next.len(),
            done: conductor.trials.len(),
            expected_ns: self.left_ns,
            most_ns: conductor.within_budget(most_ns),
        });
        Ok(())
    }
}

/// The next trial of a plan in its order, or why repeats of disturbed trials follow.
enum PlannedStep {
    Trial(ScheduleStep),
    EndsEarly(End),
    PlanComplete,
}

impl Conductor<'_> {
    /// Returns the step at `index` of the plan, or the end of the study without repeats.
    fn planned_step(&self, index: usize) -> Result<PlannedStep, End> {
        let plan = &self.plan;
        let Some(planned) = plan.trials.get(index) else { return Ok(PlannedStep::PlanComplete) };
        let planned = self.with_load(planned, &self.trials);
        let planned = planned.map_err(|reason| self.end_early(reason))?;
        if let Some(reason) = self.ends_before(index) {
            let end = self.end_early(reason);
            // A decided study needs no more trials, which might undo the decision.
            let is_decided = plan.design.gate.as_ref().is_some_and(|gate| gate.until_decided);
            return if is_decided { Err(end) } else { Ok(PlannedStep::EndsEarly(end)) };
        }
        self.check_harm()?;
        let remaining_ns = self.within_budget(self.left_ns(&plan.trials[index..]));
        Ok(PlannedStep::Trial(ScheduleStep { planned, repeats: None, index, remaining_ns }))
    }

    /// In a load search, returns the trial with the load that follows from `trials`; fails with the end of the search.
    fn with_load(&self, planned: &PlannedTrial, trials: &[Trial]) -> Result<PlannedTrial, String> {
        let asked = most_load::asked(&self.plan.design).filter(|_| course::is_of(&self.plan));
        let Some((_, limit)) = asked else { return Ok(planned.clone()) };
        let mut ran = Vec::with_capacity(trials.len());
        for trial in trials {
            // A failed trial has no number.
            let value_of =
                |metric: &str| self.looks.read?(&self.plan, &self.environment, trial, metric).ok();
            let sample = RateSample {
                percentile_ns: value_of(limit.metric()),
                done_per_s: value_of(most_load::RATE_METRIC),
            };
            ran.push(most_load::RateTrial::new(trial, sample));
        }
        most_load::with_rate(&self.plan, &ran, planned).map_err(|end| end.to_string())
    }

    fn check_harm(&self) -> Result<(), End> {
        let reason = self.progress.others.end_reason(&self.plan);
        reason.map_or(Ok(()), |reason| Err(self.end_early(reason)))
    }

    /// Returns the missing repeats of disturbed trials, as many as the design allows (rule R11b of the method).
    fn repeats_of_disturbed(&self, context: &mut Context<'_>) -> VecDeque<(PlannedTrial, Repeats)> {
        let ran = self.deciding_trials();
        let done = ran.iter().filter(|record| record.repeats.is_some()).count();
        let wanted = repeats::repeats(&self.plan, &ran).into_iter().skip(done);
        let queue: VecDeque<_> = wanted.collect();
        if !queue.is_empty() {
            let left = || queue.iter().map(|(planned, _)| planned);
            let warm_ups = left().filter(|planned| planned.is_lead_in()).count();
            let (trials, expected_ns) = (queue.len(), self.left_ns(left()));
            (context.tell)(Event::Repeating { trials, warm_ups, expected_ns });
        }
        queue
    }

    /// Returns the end after all trials: complete, or early if a study without a fixed end has budget left.
    fn end_of_plan(&self) -> End {
        let left_ns = match (&self.plan.design.stopping, self.plan.budget_ns) {
            (Stopping::Open { .. }, Some(budget_ns)) => budget_ns.saturating_sub(self.elapsed_ns()),
            _ => 0,
        };
        if left_ns == 0 {
            return End::Complete;
        }
        let budget_ns = self.plan.budget_ns.unwrap_or_default();
        let [budget, left] = [budget_ns, left_ns].map(|ns| show::duration(ns as f64));
        self.end_early(format!(
            "the study ended after all {} replicates with {left} of the time budget ({budget}) left; to use the \
             remaining time, increase --replicates",
            self.plan.replicates
        ))
    }

    fn is_out_of_budget(&self) -> bool {
        self.is_over() || self.plan.budget_ns.is_some_and(|most| self.elapsed_ns() > most)
    }

    /// Returns why the study ends before a trial; `None` within a replicate. Asks the interim analysis if one is due.
    fn ends_before(&self, index: usize) -> Option<String> {
        let plan = &self.plan;
        let finished = plan.trials[..index].last()?.replicate;
        let next = plan.trials[index].replicate;
        if finished == 0 || finished == next || !plan.design.order.is_by_replicate() {
            return None;
        }
        // A budget ends with the nearest replicate.
        let replicate =
            plan.trials[index..].iter().take_while(|trial| trial.replicate == finished + 1);
        if let Some(reason) = self.over_budget(self.left_ns(replicate), finished) {
            return Some(reason);
        }
        let is_due = match &plan.design.stopping {
            Stopping::Fixed | Stopping::Race { .. } => false,
            Stopping::Looks { at, .. } => at.contains(&finished),
            Stopping::Open { .. } => true,
        };
        let interim = self.looks.interim.filter(|_| is_due)?;
        interim(plan, &self.environment, &self.trials)
    }

    /// Why a replicate of this length does not start; `None` if at least half of it fits, and without a budget.
    fn over_budget(&self, expected_ns: u64, finished: u32) -> Option<String> {
        let budget_ns = self.plan.budget_ns?;
        if self.elapsed_ns().saturating_add(expected_ns / 2) <= budget_ns {
            return None;
        }
        let passes = self.plan.design.stopping.passes();
        let after = if finished > passes || passes == 0 {
            let replicates = self.plan.replicates.saturating_sub(passes);
            format!("replicate {} of {replicates}", finished - passes)
        } else {
            format!("screening pass {finished} of {passes}")
        };
        let budget = show::duration(budget_ns as f64);
        Some(format!("the time budget of {budget} ended the study after {after}"))
    }

    /// Returns the expected time, limited to the rest of a budget.
    fn within_budget(&self, expected_ns: u64) -> u64 {
        let Some(budget_ns) = self.plan.budget_ns else { return expected_ns };
        expected_ns.min(budget_ns.saturating_sub(self.elapsed_ns()))
    }

    fn left_ns<'t>(&self, left: impl IntoIterator<Item = &'t PlannedTrial>) -> u64 {
        let each = left.into_iter().map(|planned| self.expected_ns(planned));
        each.fold(0, u64::saturating_add)
    }

    /// After an interruption, repeats the previous trial as a warm-up that is not stored, unless a warm-up is next.
    fn lead_in_again(&mut self, context: &mut Context<'_>) {
        let trials = &self.trials;
        let ran: Vec<RanTrial> = trials.iter().map(RanTrial::from).collect();
        let repeats = repeats::repeats(&self.plan, &ran);
        // A study that ended early has repeats after a part of its plan.
        let done = ran.iter().filter(|record| record.repeats.is_none()).count();
        let has_repeats = done < ran.len();
        let planned_trials = if has_repeats { done } else { self.plan.trials.len() };
        let planned = self.plan.trials.iter().take(planned_trials);
        let sequence = planned.chain(repeats.iter().map(|(planned, _)| planned));
        let mut rest = sequence.skip(ran.len().saturating_sub(1));
        let (Some(last), Some(next)) = (rest.next(), rest.next()) else {
            return;
        };
        let earlier = &trials[..trials.len().saturating_sub(1)];
        let Ok(last) = self.with_load(last, earlier) else { return };
        // Do not prompt the user again without need, and judge the data after a power cut before writing anything.
        let is_needless = trials.is_empty() || next.is_lead_in() || cuts::has_cuts(&self.plan);
        if !is_needless && !self.is_simulated(last.workload) {
            self.run_lead_in(&PlannedTrial { lead_in: true, ..last }, context);
        }
    }

    /// Repeats the last stored trial as a warm-up in a race, whose trials depend on earlier ones, not only on the plan.
    fn lead_in_of_last(&mut self, next: &PlannedTrial, context: &mut Context<'_>) {
        let Some(record) = self.trials.last() else { return };
        if next.is_lead_in() || self.is_simulated(record.workload) {
            return;
        }
        let before = PlannedTrial {
            order: record.order,
            host: record.host,
            replicate: record.replicate,
            lead_in: true,
            workload: record.workload,
            arm: record.arm.clone(),
            seed: self.plan.seed ^ u64::from(record.order),
        };
        self.run_lead_in(&before, context);
    }

    fn is_simulated(&self, workload: usize) -> bool {
        let target = self.plan.workloads[workload].target;
        self.environment.sites[target].kind == TargetKind::Simulated
    }
}

fn over_words(over: Over, race: &Race, plan: &Plan) -> String {
    let after = race.standing.replicates;
    match over {
        Over::One => format!(
            "after replicate {after}, all configurations but one were behind (95% confidence)"
        ),
        Over::Close => {
            let closeness = match plan.design.stopping {
                Stopping::Race { closeness, .. } => closeness,
                _ => 0.0,
            };
            format!(
                "after replicate {after}, no remaining configuration can lead by more than {}",
                show::share(closeness)
            )
        }
        Over::Replicates => format!("all {after} replicates of the race were run"),
    }
}

/// Says which replicate of a race begins, with how many configurations.
fn standing_words(race: &Race, plan: &Plan) -> String {
    let is_again = race.next.iter().any(|(_, repeats)| repeats.is_some());
    if let Some((pass, passes)) = race.pass(plan) {
        let what = if is_again { "repeating disturbed trials" } else { "some of the settings" };
        return format!("screening before the race, pass {pass} of {passes}: {what}");
    }
    let (started, left) = (race.standing.left.len(), race.standing.running().count());
    let next = race.standing.replicates + 1;
    if is_again {
        return format!("race, replicate {next}: repeating disturbed trials");
    }
    if race.standing.replicates < race::FIRST_LOOK && left == started {
        return format!("race, replicate {next}: {started} configurations");
    }
    format!("race, replicate {next}: {left} of {started} configurations remain")
}
