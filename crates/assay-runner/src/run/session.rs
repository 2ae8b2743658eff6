//! The trials of a plan, one after the other, each one stored before the next starts: until the
//! last one, or as soon as the stopping rule says.

mod race;
mod together;

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::bed::TestBed;
use super::cuts;
use super::event::{Context, Event};
use super::finished::Unkept;
use super::fleet::Fleet;
use super::fleet::Gate;
use super::others::Others;
use super::request::{Judge, LogOf};
use super::setting::Setting;
use super::trial;
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::probes::Probes;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, beside};
use assay_study::file::Prepare;
use assay_study::plan;
use assay_study::plan::pace::Pace;
use assay_study::plan::repeats;
use assay_study::plan::repeats::Ran;
use assay_study::results::bundle::Bundle;
use assay_study::results::course;
use assay_study::results::design::Stopping;
use assay_study::results::environment::Environment;
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::{Spent, Trial};

pub struct Session<'a, 'f> {
    pub system: &'a dyn System,
    /// When it began, or would have had it not been interrupted.
    pub began_ns: u64,
    /// The state that a target is to be in before a trial.
    pub prepare: &'a Prepare,
    pub plan: &'a Plan,
    pub environment: &'a Environment,
    pub bed: TestBed<'a>,
    /// Looks at requests by class, where the study asks for it.
    pub probes: Probes,
    /// Where it is kept, as long as that is possible.
    pub bundle: Option<Bundle<'a>>,
    /// From when on it was not.
    pub unkept: Option<Unkept>,
    /// Says at the end of a replicate whether that is enough.
    pub judge: Option<&'a Judge<'a>>,
    /// Reads off a trial what it counts by in a race.
    pub log_of: Option<LogOf>,
    /// How long trials take, as they have so far.
    pub pace: Pace,
    /// Up to when the time is told by trials.
    pub told_ns: u64,
    /// What the readings before the last trial took.
    pub readings_ns: u64,
    /// What is known of others' work, where that is looked at.
    pub others: Others,
    /// Processes that ran a study beside this one.
    pub beside: BTreeSet<u32>,
    /// Reads what the course of the study follows from.
    pub read: Option<super::request::NumberOf>,
    /// The other hosts, where several run it together.
    pub fleet: Option<RefCell<Fleet<'f>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With the last trial of its plan.
    Complete,
    /// At the end of a replicate, for a reason.
    Early(String),
    Interrupted,
    /// Because a device that it stands on is not there any more.
    Gone(String),
}

impl Session<'_, '_> {
    /// Runs what the plan has left after `trials`, then repeats what was disturbed.
    pub fn run(&mut self, trials: &mut Vec<Trial>, context: &mut Context<'_>) -> End {
        if plan::race::is_one(self.plan) {
            return self.race(trials, context);
        }
        let done = trials.iter().filter(|trial| trial.record.repeats.is_none()).count();
        let left = &self.plan.trials[done.min(self.plan.trials.len())..];
        let expected_ns = self.within_budget(self.left_ns(left));
        let planned = &self.plan.trials;
        let warm_ups = planned.iter().filter(|trial| trial.is_lead_in()).count();
        (context.tell)(Event::Planned { trials: planned.len(), warm_ups, done, expected_ns });
        if self.follows() {
            return self.follow(trials, context);
        }
        if let Err(reason) = self.first_look(trials, context) {
            (context.tell)(Event::Warning(format!("Assay cannot roll back levels: {reason}")));
        }
        self.lead_in_again(trials, context);
        for (index, planned) in self.plan.trials.iter().enumerate().skip(done) {
            let planned = &match self.turned(planned, trials) {
                Ok(turned) => turned,
                Err(reason) => {
                    self.log(ENDED, &reason);
                    return End::Early(reason);
                }
            };
            if let Some(reason) = self.ends_before(index, trials) {
                // Decided now: what is repeated afterwards must not decide it again.
                self.log(ENDED, &reason);
                let gate = self.plan.design.gate.as_ref();
                if gate.is_some_and(|gate| gate.until_decided) {
                    // What is decided needs nothing more, and more might leave it open again.
                    return End::Early(reason);
                }
                return self.repeat_disturbed(trials, context).unwrap_or(End::Early(reason));
            }
            if let Some(reason) = self.others.is_over(self.plan) {
                self.log(ENDED, &reason);
                return End::Early(reason);
            }
            let remaining_ns = self.within_budget(self.left_ns(&self.plan.trials[index..]));
            (context.tell)(self.starting(index, planned, remaining_ns));
            if let Some(end) = self.step(planned, None, trials, context) {
                return end;
            }
        }
        if let Some(end) = self.repeat_disturbed(trials, context) {
            return end;
        }
        let Some(reason) = self.unspent() else { return End::Complete };
        self.log(ENDED, &reason);
        End::Early(reason)
    }

    /// What a study that may end at any replicate left of its budget when it had no more of them.
    fn unspent(&self) -> Option<String> {
        let Stopping::Open { .. } = self.plan.design.stopping else { return None };
        let budget_ns = self.plan.budget_ns?;
        let left_ns = budget_ns.checked_sub(self.elapsed_ns()).filter(|left| *left > 0)?;
        let [budget, left] = [budget_ns, left_ns].map(|ns| show::duration(ns as f64));
        Some(format!(
            "the study ended after all {} replicates with {left} of the time budget ({budget}) left; to use the \
             remaining time, increase --replicates",
            self.plan.replicates
        ))
    }

    /// Puts the machine back.
    pub fn tear_down(self) -> Outcome<()> {
        self.bed.tear_down().map(|_| ())
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

    /// Runs and keeps one trial; an end when the user asked to stop, or there is nothing to go on with.
    fn step(
        &mut self,
        planned: &PlannedTrial,
        repeats: Option<assay_study::results::record::Repeats>,
        trials: &mut Vec<Trial>,
        context: &mut Context<'_>,
    ) -> Option<End> {
        if context.is_stopped() {
            return Some(End::Interrupted);
        }
        if let Some(end) = self.gone() {
            return Some(end);
        }
        self.look_beside(context);
        if let Some(end) = self.announce(planned, repeats) {
            return Some(end);
        }
        let mut done = self.run_one(planned, context);
        let counted = done.trial.record.measured.as_ref();
        if done.stopped && !counted.is_some_and(|own| own.detail.keeps_what_it_has()) {
            return Some(End::Interrupted);
        }
        done.trial.record.repeats = repeats;
        let fleet = self.fleet.as_ref();
        done.trial.record.together = fleet.and_then(|fleet| fleet.borrow().together());
        self.others.learn(self.plan, &done.trial.record);
        self.pace.learn(self.plan, &done.trial.record);
        // A race leaves out trials of its plan.
        let is_race = plan::race::is_one(self.plan);
        let index = if is_race { trials.len() } else { planned.order as usize };
        (context.tell)(Event::TrialEnded { index, result: result_of(&done.trial) });
        self.keep(&mut done, trials.len(), context);
        self.hand_on(planned, repeats, &done, context);
        trials.push(done.trial);
        // It may have begun and ended within the trial; whoever is there now was there at its end.
        self.look_beside(context);
        if done.stopped { Some(End::Interrupted) } else { self.gone() }
    }

    /// Sees who runs a study at this moment, too, and says so once of each.
    fn look_beside(&mut self, context: &mut Context<'_>) {
        let real = |site: &Site| site.kind != TargetKind::Simulated;
        if !self.environment.sites.iter().any(real) {
            return;
        }
        let fleet = self.fleet.as_ref().map(RefCell::borrow);
        let is_fellow = |process| fleet.as_ref().is_some_and(|fleet| fleet.is_fellow(process));
        for process in beside::others(self.system) {
            // That ranks share a machine stands in the result of all.
            if !is_fellow(process) && self.beside.insert(process) {
                let text = format!(
                    "another study runs on this machine (process {process}), and both studies disturb each other"
                );
                self.log("beside", &text);
                // The result names all of them.
                if self.beside.len() == 1 {
                    (context.tell)(Event::Warning(text));
                }
            }
        }
    }

    /// Ends where a device that the study began on is not there any more: whatever bears its name now
    /// is somebody else's, and no level is for that.
    fn gone(&self) -> Option<End> {
        let why = self.bed.gone()?;
        self.log("gone", &why);
        Some(End::Gone(why))
    }

    /// Runs again what was disturbed, as far as the design allows (R11b). None when it went well.
    fn repeat_disturbed(
        &mut self,
        trials: &mut Vec<Trial>,
        context: &mut Context<'_>,
    ) -> Option<End> {
        let ran = self.ran_so_far(trials);
        let wanted = repeats::repeats(self.plan, &ran);
        let done = ran.iter().filter(|record| record.repeats.is_some()).count();
        if done < wanted.len() {
            let left = || wanted[done..].iter().map(|(planned, _)| planned);
            let warm_ups = left().filter(|planned| planned.is_lead_in()).count();
            let (trials, expected_ns) = (wanted.len() - done, self.left_ns(left()));
            (context.tell)(Event::Repeating { trials, warm_ups, expected_ns });
        }
        for (index, (planned, repeated)) in wanted.iter().enumerate().skip(done) {
            if self.is_over() || self.plan.budget_ns.is_some_and(|most| self.elapsed_ns() > most) {
                self.log(
                    "repeats",
                    "the time budget ended before all disturbed trials were repeated",
                );
                return None;
            }
            let left = wanted[index..].iter().map(|(planned, _)| planned);
            (context.tell)(self.starting(trials.len(), planned, self.left_ns(left)));
            if let Some(end) = self.step(planned, Some(*repeated), trials, context) {
                return Some(end);
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
                Stopping::Fixed | Stopping::Race { .. } => false,
                Stopping::Looks { at, .. } => at.contains(&finished),
                Stopping::Open { .. } => true,
            };
            let judge = self.judge.filter(|_| looks)?;
            judge(self.plan, self.environment, trials)
        })
    }

    /// A budget ends with the replicate that is nearest to it.
    fn budget_is_spent(&self, index: usize, finished: u32) -> Option<String> {
        self.plan.budget_ns?;
        let next = finished + 1;
        let replicate =
            self.plan.trials[index..].iter().take_while(|trial| trial.replicate == next);
        self.is_too_long(self.left_ns(replicate), finished)
    }

    /// Why a replicate that takes so long is not begun.
    fn is_too_long(&self, expected_ns: u64, finished: u32) -> Option<String> {
        let budget_ns = self.plan.budget_ns?;
        (self.elapsed_ns().saturating_add(expected_ns / 2) > budget_ns).then(|| {
            let (passes, all) = (self.plan.design.stopping.passes(), self.plan.replicates);
            let after = if finished > passes || passes == 0 {
                format!("replicate {} of {}", finished - passes, all.saturating_sub(passes))
            } else {
                format!("screening pass {finished} of {passes}")
            };
            format!(
                "the time budget of {} ended the study after {after}",
                show::duration(budget_ns as f64)
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
        let earlier = &trials[..trials.len().saturating_sub(1)];
        let Ok(turned) = self.turned(before, earlier) else { return };
        let before = &turned;
        let target = self.plan.workloads[before.workload].target;
        let simulated = self.environment.sites[target].kind == TargetKind::Simulated;
        // Who was called once is not called again for nothing, and what a cut left is judged before anything is written.
        if trials.is_empty() || next.is_lead_in() || simulated || cuts::outlive(self.plan) {
            return;
        }
        self.run_once_more(&PlannedTrial { lead_in: true, ..before.clone() }, context);
    }

    /// Runs a trial as a lead-in that is not kept.
    fn run_once_more(&mut self, planned: &PlannedTrial, context: &mut Context<'_>) {
        let done = self.run_one(planned, context);
        let operations = result_of(&done.trial).map_or_else(|why| why, |count| count.to_string());
        self.log(
            "warmup",
            &format!(
                "Assay repeated trial {} as an excluded warm-up: {operations} operations",
                planned.order
            ),
        );
    }

    /// Looks at others' work as it is before anything is changed under it; else why that could not be.
    fn first_look(&mut self, trials: &[Trial], context: &mut Context<'_>) -> Result<(), String> {
        self.others = Others::of(self.plan, trials.iter().map(|trial| &trial.record));
        let first = self.plan.workloads.first().filter(|own| own.work.harm().is_some());
        let Some(target) = first.map(|workload| workload.target) else { return Ok(()) };
        let place = self.bed.at(target).ok_or("the target is not open")?;
        self.others.first_look(context, self.plan, place, &mut self.probes)
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
        // Whoever is called takes his time; each trial has a limit of its own.
        !cuts::outlive(self.plan) && self.elapsed_ns() > self.plan.deadline_ns
    }

    fn run_one(&mut self, planned: &PlannedTrial, context: &mut Context<'_>) -> trial::Done {
        if self.is_over() && !self.follows() {
            let trial = trial::not_run(self.system, planned, trial::OUT_OF_TIME);
            return trial::Done::without_numbers(trial, false);
        }
        if let Some(reason) = self.others.dropped(&planned.arm) {
            let reason = format!("not run: the level was {reason}");
            return self.lost(planned, &reason, context);
        }
        let (whole, system) = (self.plan, self.system);
        let plan = match course::of_trial(whole, planned) {
            Ok(plan) => plan,
            Err(reason) => return self.lost(planned, &reason, context),
        };
        let plan: &Plan = &plan;
        if let Err(reason) = self.bed.bring(context, plan, planned) {
            return self.lost(planned, &reason, context);
        }
        let made_ns = self.bed.made_ns();
        let target = self.plan.workloads[planned.workload].target;
        let Some((site, surveyed)) = self.bed.at(target) else {
            return self.lost(planned, "the target is not open", context);
        };
        let prepare = self.prepare;
        let readings_ns = self.readings_ns;
        let runs_as = context.runs_as;
        // What is as it was found is nobody's level: whatever hurts there, taking it back is no help.
        let limits = self.others.limits(plan, planned).filter(|_| !self.bed.is_as_found());
        let limits = limits.as_ref();
        let keep = self.bundle.as_ref().map(Bundle::so_far);
        let directory = self.bundle.as_ref().map(Bundle::directory);
        let gate = self.fleet.as_ref().map(|fleet| fleet as &dyn Gate);
        let setting = Setting {
            system,
            plan,
            site,
            surveyed,
            prepare,
            runs_as,
            readings_ns,
            limits,
            keep,
            directory,
            gate,
        };
        let began_ns = self.system.monotonic_ns();
        let mut done = trial::run(&setting, planned, &mut self.probes, context.stop);
        let hurt = done.trial.record.measured.as_ref().and_then(trial::taken_back).is_some();
        let back = if hurt { self.bed.settings_back() } else { Ok(()) };
        let ended_ns = self.system.monotonic_ns();
        // What is simulated passes in no time.
        done.trial.record.spent = (site.kind != TargetKind::Simulated).then(|| Spent {
            before_ns: began_ns.saturating_sub(self.told_ns),
            trial_ns: ended_ns.saturating_sub(began_ns),
            made_ns,
        });
        (self.told_ns, self.readings_ns) = (ended_ns, done.readings_ns);
        if let Err(failure) = back {
            (context.tell)(Event::Warning(failure.message));
        }
        if hurt {
            return done;
        }
        if let Some(how) = self.bed.strayed(plan, planned) {
            let record = &mut done.trial.record;
            (record.status, record.reason) = trial::failed(planned, &how);
            (record.measured, record.background) = (None, None);
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

    fn starting(&self, index: usize, planned: &PlannedTrial, remaining_ns: u64) -> Event {
        let workload = &self.plan.workloads[planned.workload];
        Event::TrialStarted {
            index,
            workload: workload.name.clone(),
            target: self.plan.surveys[workload.target].target.clone(),
            turn: planned.turn(),
            remaining_ns,
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
    match &trial.record.measured {
        Some(measured) => Ok(measured.operations()),
        None => Err(trial.record.reason.clone().unwrap_or_default()),
    }
}
