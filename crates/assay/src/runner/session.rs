//! The trials of a plan, one after the other, each one stored before the next starts: until the
//! last one, or as soon as the stopping rule says.

use super::event::{Context, Event};
use super::stage::Stage;
use super::start::Unkept;
use super::trial::{self, Setting};
use crate::failure::Outcome;
use crate::plan::pace::Pace;
use crate::plan::repeats;
use crate::plan::repeats::Ran;
use crate::probes::block_latency::Tracer;
use crate::results::bundle::Bundle;
use crate::results::design::Stopping;
use crate::results::environment::Environment;
use crate::results::log::{ENDED, Entry};
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::{Spent, Trial};
use crate::study::Study;
use crate::system::System;
use crate::system::site::TargetKind;

/// What a judge makes of the trials so far: whether that is enough, and why.
pub type Judge<'a> = dyn Fn(&Plan, &Environment, &[Trial]) -> Option<String> + 'a;

/// A study under way.
pub struct Session<'a> {
    /// The machine.
    pub system: &'a dyn System,
    /// When it began, or would have had it not been interrupted.
    pub began_ns: u64,
    /// What was asked.
    pub study: &'a Study,
    /// What is run.
    pub plan: &'a Plan,
    /// Where.
    pub environment: &'a Environment,
    /// What trials stand on.
    pub stage: Stage<'a>,
    /// Looks at requests by class, where the study asks for it.
    pub tracer: Tracer,
    /// Where it is kept, as long as that is possible.
    pub bundle: Option<Bundle<'a>>,
    /// From when on it was not.
    pub unkept: Option<Unkept>,
    /// Says at the end of a replicate whether that is enough.
    pub judge: Option<&'a Judge<'a>>,
    /// How long trials take, as they have so far.
    pub pace: Pace,
    /// Up to when the time is told by trials.
    pub told_ns: u64,
    /// What the readings before the last trial took.
    pub readings_ns: u64,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With the last trial of its plan.
    Complete,
    /// At the end of a replicate, for a reason.
    Early(String),
    /// By the user.
    Interrupted,
}

impl Session<'_> {
    /// Runs what the plan has left after `trials`, then repeats what was disturbed.
    pub fn run(&mut self, trials: &mut Vec<Trial>, context: &mut Context<'_>) -> End {
        let done = trials.iter().filter(|trial| trial.record.repeats.is_none()).count();
        let left = &self.plan.trials[done.min(self.plan.trials.len())..];
        let expected_ns = self.left_ns(left);
        (context.tell)(Event::Planned { trials: self.plan.trials.len(), done, expected_ns });
        self.lead_in_again(trials, context);
        for (index, planned) in self.plan.trials.iter().enumerate().skip(done) {
            if let Some(reason) = self.ends_before(index, trials) {
                // Decided now: what is repeated afterwards must not decide it again.
                self.log(ENDED, &reason);
                return self.repeat_disturbed(trials, context).unwrap_or(End::Early(reason));
            }
            (context.tell)(self.starting(index, planned));
            if !self.step(planned, None, trials, context) {
                return End::Interrupted;
            }
        }
        self.repeat_disturbed(trials, context).unwrap_or(End::Complete)
    }

    /// Puts the machine back.
    ///
    /// # Errors
    /// Not restored: what could not be put back.
    pub fn strike(self) -> Outcome<()> {
        self.stage.strike().map(|_| ())
    }

    /// Counts the time of earlier sessions: as it was told, or else as it was expected to be.
    pub fn count_spent(&mut self, trials: &[Trial]) {
        let records = || trials.iter().map(|trial| &trial.record);
        let told = records().filter_map(|record| record.spent);
        let told: u64 = told.map(|spent| spent.before_ns + spent.trial_ns).sum();
        let silent = records().filter(|record| record.spent.is_none());
        let planned = silent.filter_map(|record| self.plan.trials.get(record.order as usize));
        let expected: u64 = planned.map(|trial| self.expected_ns(trial)).sum();
        self.began_ns = self.began_ns.saturating_sub(told + expected);
        self.pace = Pace::of(self.plan, records());
    }

    /// Runs and keeps one trial; false when the user asked to stop.
    fn step(
        &mut self,
        planned: &PlannedTrial,
        repeats: Option<crate::results::findings::Repeats>,
        trials: &mut Vec<Trial>,
        context: &mut Context<'_>,
    ) -> bool {
        if context.is_stopped() {
            return false;
        }
        let mut done = self.run_one(planned, context);
        if done.stopped {
            return false;
        }
        done.trial.record.repeats = repeats;
        self.pace.learn(self.plan, &done.trial.record);
        let index = planned.order as usize;
        (context.tell)(Event::TrialEnded { index, result: result_of(&done.trial) });
        self.keep(&mut done, trials.len(), context);
        trials.push(done.trial);
        true
    }

    /// Runs again what was disturbed, as far as the design allows (R11b). None when it went well.
    fn repeat_disturbed(
        &mut self,
        trials: &mut Vec<Trial>,
        context: &mut Context<'_>,
    ) -> Option<End> {
        let ran: Vec<Ran> = trials.iter().map(|trial| Ran::from(&trial.record)).collect();
        let wanted = repeats::repeats(self.plan, &ran);
        let done = ran.iter().filter(|record| record.repeats.is_some()).count();
        if done < wanted.len() {
            let expected_ns = self.left_ns(wanted[done..].iter().map(|(planned, _)| planned));
            (context.tell)(Event::Repeating { trials: wanted.len() - done, expected_ns });
        }
        for (planned, repeated) in &wanted[done.min(wanted.len())..] {
            if self.is_over() || self.plan.budget_ns.is_some_and(|most| self.elapsed_ns() > most) {
                self.log("repeats", "the time was over before all that was disturbed ran again");
                return None;
            }
            if !self.step(planned, Some(*repeated), trials, context) {
                return Some(End::Interrupted);
            }
        }
        None
    }

    /// Why the study ends before a trial: only where one replicate ends and the next begins.
    fn ends_before(&self, index: usize, trials: &[Trial]) -> Option<String> {
        let finished = self.plan.trials[..index].last()?.replicate;
        let next = self.plan.trials[index].replicate;
        if finished == 0 || finished == next || !self.plan.design.order.is_by_replicate() {
            return None;
        }
        self.budget_is_spent(index, finished).or_else(|| {
            let looks = match &self.plan.design.stopping {
                Stopping::Fixed => false,
                Stopping::Looks { at, .. } => at.contains(&finished),
                Stopping::Open { .. } => true,
            };
            let judge = self.judge.filter(|_| looks)?;
            judge(self.plan, self.environment, trials)
        })
    }

    /// A budget ends with the replicate that is nearest to it.
    fn budget_is_spent(&self, index: usize, finished: u32) -> Option<String> {
        let budget_ns = self.plan.budget_ns?;
        let next = finished + 1;
        let replicate =
            self.plan.trials[index..].iter().take_while(|trial| trial.replicate == next);
        let expected = self.left_ns(replicate);
        (self.elapsed_ns() + expected / 2 > budget_ns).then(|| {
            format!(
                "the time budget of {} ended it after replicate {finished} of {}",
                crate::quantity::units::show::duration(budget_ns as f64),
                self.plan.replicates
            )
        })
    }

    /// After an interruption the trial before it is run once more as a lead-in and not kept, so that
    /// the next one finds the device as it would have (R2c). Where the next one is a lead-in, that
    /// serves.
    fn lead_in_again(&mut self, trials: &[Trial], context: &mut Context<'_>) {
        let ran: Vec<Ran> = trials.iter().map(|trial| Ran::from(&trial.record)).collect();
        let repeats = repeats::repeats(self.plan, &ran);
        // A study that ended early has repeats after less than its whole plan.
        let first = ran.iter().filter(|record| record.repeats.is_none()).count();
        let planned = if first < ran.len() { first } else { self.plan.trials.len() };
        let planned = self.plan.trials.iter().take(planned);
        let all = planned.chain(repeats.iter().map(|(planned, _)| planned));
        let mut next = all.skip(ran.len().saturating_sub(1));
        let (Some(before), Some(next)) = (next.next(), next.next()) else { return };
        let target = self.plan.workloads[before.workload].target;
        let simulated = self.environment.sites[target].kind == TargetKind::Simulated;
        if trials.is_empty() || next.is_lead_in() || simulated {
            return;
        }
        let planned = &PlannedTrial { lead_in: true, ..before.clone() };
        let done = self.run_one(planned, context);
        let operations = result_of(&done.trial).map_or_else(|why| why, |count| count.to_string());
        self.log(
            "lead-in",
            &format!(
                "trial {} was run once more as a lead-in and left out: {operations} operations",
                planned.order
            ),
        );
    }

    /// Adds a line to the log, which is for people: a study goes on without it.
    fn log(&self, event: &str, text: &str) {
        if let Some(bundle) = &self.bundle {
            let _ = bundle.log(&Entry::new(self.system, event, text));
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.system.monotonic_ns().saturating_sub(self.began_ns)
    }

    fn is_over(&self) -> bool {
        self.elapsed_ns() > self.plan.deadline_ns
    }

    fn run_one(&mut self, planned: &PlannedTrial, context: &mut Context<'_>) -> trial::Done {
        if self.is_over() {
            let trial = trial::not_run(self.system, planned, "the time was over before this trial");
            return trial::Done::without_numbers(trial, false);
        }
        if let Err(reason) = self.stage.bring(context, self.study, self.plan, planned) {
            return self.lost(planned, &reason, context);
        }
        let target = self.plan.workloads[planned.workload].target;
        let Some((site, surveyed)) = self.stage.at(target) else {
            return self.lost(planned, "its target is not open", context);
        };
        let prepare = &self.study.prepare;
        let (system, plan, readings_ns) = (self.system, self.plan, self.readings_ns);
        let setting = Setting { system, plan, site, surveyed, prepare, readings_ns };
        let began_ns = self.system.monotonic_ns();
        let mut done = trial::run(&setting, planned, &mut self.tracer, context.stop);
        let ended_ns = self.system.monotonic_ns();
        // What is simulated passes in no time.
        done.trial.record.spent = (site.kind != TargetKind::Simulated).then(|| Spent {
            before_ns: began_ns.saturating_sub(self.told_ns),
            trial_ns: ended_ns.saturating_sub(began_ns),
        });
        (self.told_ns, self.readings_ns) = (ended_ns, done.readings_ns);
        if let Some(how) = self.stage.strayed(self.plan, planned) {
            let record = &mut done.trial.record;
            (record.status, record.reason) = trial::failed(planned, &how);
            record.counted = None;
        }
        done
    }

    /// A trial whose arm could not be brought about; what the user stopped meanwhile does not count.
    fn lost(&self, planned: &PlannedTrial, reason: &str, context: &Context<'_>) -> trial::Done {
        let trial = trial::not_run(self.system, planned, reason);
        trial::Done::without_numbers(trial, context.is_stopped())
    }

    /// Stores a trial after as many `others`; where that fails, the rest of the run is kept in memory
    /// alone.
    fn keep(&mut self, done: &mut trial::Done, others: usize, context: &mut Context<'_>) {
        let Some(bundle) = &self.bundle else { return };
        if let Err(error) = bundle.append(&mut done.trial.record, &done.histograms, &done.series) {
            let unkept = Unkept::after(others, bundle.directory(), &error);
            (context.tell)(unkept.warning());
            (self.unkept, self.bundle) = (Some(unkept), None);
        }
    }

    fn starting(&self, index: usize, planned: &PlannedTrial) -> Event {
        let workload = &self.plan.workloads[planned.workload];
        Event::TrialStarted {
            index,
            workload: workload.name.clone(),
            target: self.plan.surveys[workload.target].target.clone(),
            turn: planned.turn(),
            remaining_ns: self.left_ns(&self.plan.trials[index..]),
        }
    }

    fn expected_ns(&self, planned: &PlannedTrial) -> u64 {
        self.pace.expected_ns(self.plan, planned)
    }

    /// Nanoseconds that trials to come are expected to take.
    fn left_ns<'t>(&self, left: impl IntoIterator<Item = &'t PlannedTrial>) -> u64 {
        let each = left.into_iter().map(|planned| self.expected_ns(planned));
        each.fold(0, u64::saturating_add)
    }
}

fn result_of(trial: &Trial) -> Result<u64, String> {
    match &trial.record.counted {
        Some(counted) => Ok(counted.operations()),
        None => Err(trial.record.reason.clone().unwrap_or_default()),
    }
}
