//! Runs the trials of a study in one loop, stores each trial before the next starts, and restores the machine.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::bed::TestBed;
use super::event::{Context, Event};
use super::fleet::{self, RunningFleet, StartBarrier};
use super::others::Others;
use super::request::{Consented, Looks};
use super::schedule::{ScheduleStep, TrialSchedule};
use super::setting::TrialContext;
use super::writer::{ResultWriter, Unkept};
use super::{changes, cuts, surroundings, trial};
use assay_core::failure::Failure;
use assay_machine::probes::Probes;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, beside};
use assay_study::file::Study;
use assay_study::plan;
use assay_study::plan::design::Demands;
use assay_study::plan::pace::TrialPace;
use assay_study::plan::repeats::RanTrial;
use assay_study::results::bundle::Bundle;
use assay_study::results::course;
use assay_study::results::environment::Environment;
use assay_study::results::log::ENDED;
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::{OUT_OF_TIME, Trial, TrialTimes};

pub struct Conductor<'a> {
    pub system: &'a dyn System,
    pub id: String,
    pub study: Study,
    pub demands: &'a Demands,
    pub plan: Plan,
    pub environment: Environment,
    pub bed: TestBed<'a>,
    pub writer: ResultWriter<'a>,
    pub trials: Vec<Trial>,
    pub consented: &'a Consented,
    pub looks: Looks<'a>,
    /// Start of the study, minus the time of earlier sessions.
    pub began_ns: u64,
    /// The other hosts of a fleet, for which each trial waits.
    pub fleet: Option<RefCell<RunningFleet<'a>>>,
    pub progress: TrialProgress,
}

#[derive(Default)]
pub struct TrialProgress {
    probes: Probes,
    pace: TrialPace,
    /// End of the time covered by the records of trials, on the monotonic clock.
    covered_ns: u64,
    readings_ns: u64,
    pub(super) others: Others,
    beside: BTreeSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    Early(String),
    Interrupted,
    Gone(String),
}

pub struct Finished {
    pub id: String,
    /// Directory of the bundle, if it is complete; none for a study stopped before its first trial.
    pub directory: Option<PathBuf>,
    /// Loss of a bundle that could not be written completely.
    pub unkept: Option<Unkept>,
    pub study: Study,
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<Trial>,
    /// Whether it can be resumed: a signal ended it, or a device disappeared.
    pub interrupted: bool,
    pub resume_options: String,
    pub gone: Option<String>,
    pub ended: Option<String>,
    pub left: Option<Failure>,
}

impl Conductor<'_> {
    /// Runs the remaining trials, restores the machine, and returns the result.
    pub fn run(mut self, context: &mut Context<'_>) -> Finished {
        self.count_spent();
        let end = self.run_trials(context);
        if end == End::Complete {
            // The reason of an early end is already in the log. Without this line the study shows as complete by its
            // trials, or can be resumed.
            self.log(ENDED, "");
        }
        self.finish(end)
    }

    /// The run loop: the schedule names the next trial until the study ends.
    fn run_trials(&mut self, context: &mut Context<'_>) -> End {
        let mut schedule = TrialSchedule::start(self, context);
        loop {
            let step = match schedule.next(self, context) {
                Ok(step) => step,
                Err(end) => return end,
            };
            let workload = &self.plan.workloads[step.planned.workload];
            (context.tell)(Event::TrialStarted {
                index: step.index,
                workload: workload.name.clone(),
                target: self.plan.surveys[workload.target].target.clone(),
                turn: step.planned.turn(),
                remaining_ns: step.remaining_ns,
            });
            if let Some(end) = self.run_step(&step, context) {
                return end;
            }
        }
    }

    /// Runs and stores one trial. Returns an end if the user stopped the study or a device disappeared.
    fn run_step(&mut self, step: &ScheduleStep, context: &mut Context<'_>) -> Option<End> {
        let ScheduleStep { planned, repeats, .. } = step;
        if context.is_stopped() {
            return Some(End::Interrupted);
        }
        if let Some(end) = self.end_if_gone() {
            return Some(end);
        }
        self.note_other_studies(context);
        if let Some(end) = self.announce(step) {
            return Some(end);
        }
        let mut done = self.run_trial(planned, context);
        let has_usable_part =
            done.trial.measured.as_ref().is_some_and(|part| part.detail.keeps_what_it_has());
        if done.stopped && !has_usable_part {
            return Some(End::Interrupted);
        }
        done.trial.repeats = *repeats;
        let fleet = self.fleet.as_ref();
        done.trial.together = fleet.and_then(|fleet| fleet.borrow().together());
        self.progress.others.learn(&self.plan, &done.trial);
        self.progress.pace.learn(&self.plan, &done.trial);
        // A race skips trials of its plan.
        let is_race = plan::race::is_one(&self.plan);
        let index = if is_race { step.index } else { planned.order as usize };
        (context.tell)(Event::TrialEnded { index, result: result_of(&done.trial) });
        let trial::Done { trial, histograms, series, .. } = &mut done;
        if let Some(unkept) = self.writer.append(trial, histograms, series, self.trials.len()) {
            (context.tell)(unkept.warning());
        }
        self.report_to_fleet(step, &done, context);
        self.trials.push(done.trial);
        // Another study may have started during the trial and still run.
        self.note_other_studies(context);
        if done.stopped { Some(End::Interrupted) } else { self.end_if_gone() }
    }

    /// Brings the machine to the configuration of a trial and measures; a trial that cannot run has a reason.
    fn run_trial(&mut self, planned: &PlannedTrial, context: &mut Context<'_>) -> trial::Done {
        if self.is_over() && !self.follows() {
            let trial = trial::not_run(self.system, planned, OUT_OF_TIME);
            return trial::Done::without_numbers(trial, false);
        }
        if let Some(reason) = self.progress.others.drop_reason(&planned.arm) {
            let reason = format!("not run: the level was {reason}");
            return self.skip(planned, &reason, context);
        }
        let plan = match course::of_trial(&self.plan, planned) {
            Ok(plan) => plan,
            Err(reason) => return self.skip(planned, &reason, context),
        };
        let plan: &Plan = &plan;
        if let Err(reason) = self.bed.apply_arm(context, plan, planned) {
            return self.skip(planned, &reason, context);
        }
        let made_ns = self.bed.take_made_ns();
        let target = self.plan.workloads[planned.workload].target;
        let Some((site, surveyed)) = self.bed.surveyed(target) else {
            return self.skip(planned, "the target is not open", context);
        };
        // With the original settings, there is nothing to roll back.
        let limits = self.progress.others.limits(plan, planned).filter(|_| !self.bed.is_as_found());
        let setting = TrialContext {
            system: self.system,
            plan,
            site,
            surveyed,
            demands: self.demands,
            runs_as: context.runs_as,
            readings_ns: self.progress.readings_ns,
            limits: limits.as_ref(),
            keep: self.writer.bundle().map(Bundle::so_far), // stores the trial while it runs
            directory: self.writer.bundle().map(Bundle::directory),
            gate: self.fleet.as_ref().map(|fleet| fleet as &dyn StartBarrier),
        };
        let began_ns = self.system.monotonic_ns();
        let mut done = trial::run(&setting, planned, &mut self.progress.probes, context.stop);
        let is_rolled_back = done.trial.measured.as_ref().and_then(trial::rollback_text).is_some();
        let restored = if is_rolled_back { self.bed.restore_settings() } else { Ok(()) };
        let ended_ns = self.system.monotonic_ns();
        // Simulated trials take no time.
        done.trial.spent = (site.kind != TargetKind::Simulated).then(|| TrialTimes {
            before_ns: began_ns.saturating_sub(self.progress.covered_ns),
            trial_ns: ended_ns.saturating_sub(began_ns),
            made_ns,
        });
        (self.progress.covered_ns, self.progress.readings_ns) = (ended_ns, done.readings_ns);
        if let Err(failure) = restored {
            (context.tell)(Event::Warning(failure.message));
        }
        if is_rolled_back {
            return done;
        }
        if let Some(change) = self.bed.find_change(plan, planned) {
            let trial = &mut done.trial;
            (trial.status, trial.reason) = trial::failure_status(planned, &change);
            trial.measured = None;
            trial.background = None;
        }
        done
    }

    /// A trial without numbers; a failure after a stop request does not count.
    fn skip(&self, planned: &PlannedTrial, reason: &str, context: &Context<'_>) -> trial::Done {
        let trial = trial::not_run(self.system, planned, reason);
        trial::Done::without_numbers(trial, context.is_stopped())
    }

    /// Runs a trial as a warm-up: only the log records it.
    pub(super) fn run_lead_in(&mut self, planned: &PlannedTrial, context: &mut Context<'_>) {
        let done = self.run_trial(planned, context);
        let operations = result_of(&done.trial).map_or_else(|why| why, |count| count.to_string());
        self.log(
            "warmup",
            &format!(
                "Assay repeated trial {} as an excluded warm-up: {operations} operations",
                planned.order
            ),
        );
    }

    /// Learns from earlier trials and, if the study limits the harm to the production workload, observes it unchanged.
    pub(super) fn first_look(&mut self, context: &mut Context<'_>) {
        let TrialProgress { others, probes, .. } = &mut self.progress;
        *others = Others::from_records(&self.plan, &self.trials);
        let first = self.plan.workloads.first();
        let Some(workload) = first.filter(|workload| workload.work.harm().is_some()) else {
            return;
        };
        let looked = match self.bed.surveyed(workload.target) {
            Some((site, surveyed)) => {
                others.first_look(context, &self.plan, site, surveyed, probes)
            }
            None => Err("the target is not open".to_owned()),
        };
        if let Err(reason) = looked {
            (context.tell)(Event::Warning(format!("Assay cannot roll back levels: {reason}")));
        }
    }

    /// Logs and reports each other study that runs on this machine now.
    fn note_other_studies(&mut self, context: &mut Context<'_>) {
        if self.environment.sites.iter().all(|site| site.kind == TargetKind::Simulated) {
            return;
        }
        for process in beside::others(self.system) {
            let fleet = self.fleet.as_ref().map(RefCell::borrow);
            // The result of all hosts lists ranks on the same machine.
            let is_fellow = fleet.is_some_and(|fleet| fleet.is_fellow(process));
            if !is_fellow && self.progress.beside.insert(process) {
                let text = format!(
                    "another study runs on this machine (process {process}), and both studies disturb each other"
                );
                self.log("beside", &text);
                // The result lists all of them.
                if self.progress.beside.len() == 1 {
                    (context.tell)(Event::Warning(text));
                }
            }
        }
    }

    /// Ends the study if a device from its start disappeared: its name may be another device's now.
    fn end_if_gone(&self) -> Option<End> {
        let why = self.bed.gone_device()?;
        self.log("gone", &why);
        Some(End::Gone(why))
    }

    pub(super) fn follows(&self) -> bool {
        self.fleet.as_ref().is_some_and(|fleet| !fleet.borrow().leads())
    }

    /// Announces the trial to the other hosts, if this is rank 0; returns an end if the session is over.
    fn announce(&self, step: &ScheduleStep) -> Option<End> {
        let mut fleet = self.fleet.as_ref()?.borrow_mut();
        if let Some(why) = fleet.over() {
            return Some(self.end_early(why.to_owned()));
        }
        if fleet.leads() && !self.is_over() {
            fleet.announce(&step.planned, step.repeats, self.expected_ns(&step.planned));
        }
        None
    }

    /// Merges the trial of all hosts on rank 0, or sends it there; reports lost hosts.
    fn report_to_fleet(&self, step: &ScheduleStep, done: &trial::Done, context: &mut Context<'_>) {
        let Some(fleet) = &self.fleet else { return };
        let mut fleet = fleet.borrow_mut();
        if fleet.leads() {
            fleet.gather(&self.plan, step, done);
        } else {
            fleet.report(done);
        }
        for text in std::mem::take(&mut fleet.news) {
            self.log("fleet", &text);
            (context.tell)(Event::Warning(text));
        }
    }

    /// The trials that determine repeats: on rank 0, those of all hosts.
    pub(super) fn deciding_trials(&self) -> Vec<RanTrial> {
        let ran = |trials: &[Trial]| trials.iter().map(RanTrial::from).collect();
        match self.fleet.as_ref().map(RefCell::borrow) {
            Some(fleet) if fleet.leads() => ran(fleet.trials()),
            _ => ran(&self.trials),
        }
    }

    /// Counts the time of earlier sessions, as recorded or else as expected, by moving the start of the study back.
    fn count_spent(&mut self) {
        self.progress.covered_ns = self.began_ns;
        let mut spent_ns = 0;
        for trial in &self.trials {
            if let Some(spent) = trial.spent {
                spent_ns += spent.before_ns + spent.trial_ns;
            } else if let Some(planned) = self.plan.trials.get(trial.order as usize) {
                spent_ns += self.expected_ns(planned);
            }
        }
        self.began_ns = self.began_ns.saturating_sub(spent_ns);
        self.progress.pace = TrialPace::from_trials(&self.plan, &self.trials);
    }

    pub(super) fn elapsed_ns(&self) -> u64 {
        self.system.monotonic_ns().saturating_sub(self.began_ns)
    }

    pub(super) fn is_over(&self) -> bool {
        // The user needs time to unplug the machine; each trial has a time limit.
        !cuts::has_cuts(&self.plan) && self.elapsed_ns() > self.plan.deadline_ns
    }

    pub(super) fn expected_ns(&self, planned: &PlannedTrial) -> u64 {
        self.progress.pace.expected_ns(&self.plan, planned)
    }

    /// Adds a line to the log, which is informational: failures are ignored.
    pub(super) fn log(&self, event: &str, text: &str) {
        self.writer.log(self.system, event, text);
    }

    /// Logs why the study ends early, so repeats cannot decide it again.
    pub(super) fn end_early(&self, reason: String) -> End {
        self.log(ENDED, &reason);
        End::Early(reason)
    }

    /// Leaves the fleet, restores the machine, and returns the result; deletes a result without trials.
    fn finish(self, end: End) -> Finished {
        let Self { system, plan, mut environment, mut bed, writer, trials, consented, .. } = self;
        let mut fleet = self.fleet.map(RefCell::into_inner);
        if let Some(fleet) = &mut fleet {
            fleet::end_session(fleet, &end, &plan, &environment, &trials);
        }
        let (mut bundle, unkept) = writer.into_parts();
        let mut directory = bundle.as_ref().map(|bundle| bundle.directory().to_owned());
        let interrupted = matches!(end, End::Interrupted | End::Gone(_));
        if interrupted && trials.is_empty() {
            // Release the lock first: network file systems rename an open file instead of removing it.
            bundle = None;
            directory = remove_empty_result(system, directory);
        }
        let overwritten = changes::overwrites(&plan, self.demands, bed.places());
        let overwritten: Vec<Site> = overwritten.iter().map(|place| place.site.clone()).collect();
        let not_restored = bed.tear_down().err();
        environment.surroundings.studies.extend(self.progress.beside);
        surroundings::after(system, &mut environment, bundle.as_ref());
        let (ended, gone) = match end {
            End::Complete | End::Interrupted => (None, None),
            End::Early(reason) => (Some(reason), None),
            End::Gone(why) => (None, Some(why)),
        };
        let options = || changes::resume_options(system, &overwritten, consented);
        let resume_options = interrupted.then(options).unwrap_or_default();
        let ran = trials.iter().map(|trial| (trial.workload, trial.replicate, &trial.arm));
        let plan = course::as_run(plan, ran, ended.is_some());
        let finished = Finished {
            id: self.id,
            directory,
            unkept,
            study: self.study,
            plan,
            environment,
            trials,
            interrupted,
            resume_options,
            gone,
            ended,
            left: not_restored,
        };
        match fleet {
            Some(fleet) => fleet::finish_fleet(system, fleet, finished),
            None => finished,
        }
    }
}

/// Removes the result of a study stopped before its first trial; returns it if it remains.
fn remove_empty_result(system: &dyn System, directory: Option<PathBuf>) -> Option<PathBuf> {
    let directory = directory?;
    if cuts::is_waiting(system, &directory) {
        return Some(directory);
    }
    system.remove_directory(&directory).err().map(|_| directory)
}

fn result_of(trial: &Trial) -> Result<u64, String> {
    match &trial.measured {
        Some(measured) => Ok(measured.operations()),
        None => Err(trial.reason.clone().unwrap_or_default()),
    }
}
