//! Progress of a running study for observers: finished trials, the current one, and the remaining time. Reads only what
//! was added since the last read, and disturbs no measurement.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use assay_analysis::inference;
use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_core::quantity::metric::Of;
use assay_machine::system::{Caching, FileKind, System};
use assay_runner::run::Event;
use assay_study::plan::pace::TrialPace;
use assay_study::plan::{race, repeats};
use assay_study::results::bundle;
use assay_study::results::environment::Environment;
use assay_study::results::log::{ENDED, LogEntry};
use assay_study::results::plan::{Plan, PlannedTrial, arm_words};
use assay_study::results::record::{Status, Trial};
use assay_workloads::metrics;

/// Bytes of trials read at once; more for a longer line.
const PART_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 16 << 20;

/// A running study, of this process or another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudyProgress {
    pub title: String,
    pub running: bool,
    /// Finished trials, including warm-up and repeats.
    pub done: usize,
    /// Total number of trials, as far as known; 0 before the study is planned.
    pub planned: usize,
    /// Expected time of the remaining trials in seconds, while it runs.
    pub left_s: Option<u64>,
    /// Expected time of all trials in seconds, until they are planned.
    pub trials_s: Option<u64>,
    /// Current activity.
    pub now: String,
    /// Warnings, the latest last.
    pub warnings: Vec<String>,
    /// Whether this process runs the study.
    pub is_own: bool,
}

impl StudyProgress {
    pub fn of_this_process(title: &str) -> Self {
        let now = "checking the target".to_owned();
        Self { title: title.to_owned(), now, is_own: true, ..Self::default() }
    }

    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => self.warnings.push(text.clone()),
            Event::Filling { done_bytes, of_bytes, remaining_ns, .. } => {
                // Before the first trial; the time of a later fill is part of a trial.
                if let Some(trials_s) = self.trials_s {
                    self.left_s = Some(trials_s + seconds(*remaining_ns));
                }
                let done_whole_mib = Bytes(done_bytes >> 20 << 20);
                self.now = format!("filling test area {done_whole_mib} of {}", Bytes(*of_bytes));
            }
            Event::Estimated { expected_ns } => {
                self.trials_s = Some(seconds(*expected_ns)).filter(|trials_s| *trials_s > 0);
                self.left_s = self.trials_s;
            }
            Event::Foreseen { text } => text.clone_into(&mut self.now),
            Event::Waiting { text, .. } => self.now = format!("waiting: {text}"),
            Event::Making { what } => self.now = format!("preparing {what}"),
            Event::Pilot { target } => self.now = format!("pilot trial on {target}"),
            Event::Planned { trials, done, expected_ns, .. } => {
                self.planned = *trials;
                self.done = *done;
                self.trials_s = None;
                self.left_s = Some(seconds(*expected_ns));
            }
            Event::Repeating { trials, expected_ns, .. } => {
                self.planned = self.done + trials;
                self.left_s = Some(seconds(*expected_ns));
                "repeating disturbed trials".clone_into(&mut self.now);
            }
            Event::Racing { text, trials, done, most_ns, .. } => {
                self.planned = done + trials;
                self.done = *done;
                self.trials_s = None;
                self.left_s = Some(seconds(*most_ns));
                text.clone_into(&mut self.now);
            }
            Event::TrialStarted { index, workload, remaining_ns, .. } => {
                self.done = *index;
                let trial = index + 1;
                self.left_s = Some(seconds(*remaining_ns));
                self.now = format!("{workload}, trial {trial} of {}", self.planned.max(trial));
            }
            Event::TrialEnded { index, result } => {
                self.done = (*index + 1).max(self.done);
                if let Err(reason) = result {
                    self.warnings.push(format!("trial {index} failed: {reason}"));
                }
            }
        }
    }
}

fn seconds(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000)
}

#[derive(Debug, Default)]
struct RemainingTrials {
    count: usize,
    expected_ns: u64,
    /// Description of the first one, which runs now.
    first: Option<String>,
}

#[derive(Debug, Default)]
struct FaultyTrials {
    count: usize,
    last_reason: Option<String>,
}

impl FaultyTrials {
    fn add(&mut self, reason: Option<&String>) {
        self.count += 1;
        self.last_reason = reason.cloned();
    }

    /// Returns a warning with a verb phrase for what happened to the trials; `None` without such trials.
    fn warning(&self, verb_phrase: &str, all_trials: usize) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let last = self.last_reason.as_deref().unwrap_or("no reason was recorded");
        Some(format!("{} of {all_trials} trials {verb_phrase}; the last: {last}", self.count))
    }
}

#[derive(Debug)]
pub struct WatchedStudy {
    directory: PathBuf,
    title: String,
    plan: Plan,
    environment: Environment,
    ran: Vec<repeats::RanTrial>,
    /// The same trials in a race's form, if it is a race.
    runs: Vec<race::Run>,
    pace: TrialPace,
    disturbed: FaultyTrials,
    failed: FaultyTrials,
    remaining: RemainingTrials,
    /// Bytes of `trials.jsonl` that were read.
    read_bytes: u64,
    /// Warning about unreadable trials.
    damage: Option<String>,
    log: Vec<LogEntry>,
    log_bytes: u64,
}

impl WatchedStudy {
    pub fn new(system: &dyn System, directory: &Path) -> Outcome<Self> {
        let known = bundle::frame(system, directory)?;
        let mut watched = Self {
            directory: directory.to_owned(),
            title: known.label.title.unwrap_or(known.study.title),
            plan: known.plan,
            environment: known.environment,
            ran: Vec::new(),
            runs: Vec::new(),
            pace: TrialPace::default(),
            disturbed: FaultyTrials::default(),
            failed: FaultyTrials::default(),
            remaining: RemainingTrials::default(),
            read_bytes: 0,
            damage: None,
            log: Vec::new(),
            log_bytes: 0,
        };
        watched.update(system);
        Ok(watched)
    }

    /// Returns whether it runs nothing, such as the recording of this page.
    pub fn is_recording(&self) -> bool {
        self.plan.is_only_watched()
    }

    /// Reads what the study wrote since the last call.
    pub fn update(&mut self, system: &dyn System) {
        let before = (self.ran.len(), self.log.len());
        self.update_log(system);
        self.update_trials(system);
        // The count of a new instance is 0, too.
        if before != (self.ran.len(), self.log.len()) || self.remaining.count == 0 {
            self.remaining = self.remaining_trials();
        }
    }

    fn update_log(&mut self, system: &dyn System) {
        if let Ok(status) = system.status(&self.directory.join("log.jsonl"))
            && status.size_bytes != self.log_bytes
        {
            self.log = bundle::log(system, &self.directory);
            self.log_bytes = status.size_bytes;
        }
    }

    fn update_trials(&mut self, system: &dyn System) {
        loop {
            match self.read_lines(system) {
                Ok(text) if text.is_empty() => return,
                Ok(text) => self.add_lines(system, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(error) => {
                    self.damage = Some(format!("cannot read trials.jsonl: {error}"));
                    return;
                }
            }
        }
    }

    pub fn progress(&self, system: &dyn System) -> StudyProgress {
        let running = bundle::is_running(system, &self.directory);
        StudyProgress {
            title: self.title.clone(),
            running,
            done: self.ran.len(),
            planned: self.ran.len() + self.remaining.count,
            left_s: running.then_some(seconds(self.remaining.expected_ns)),
            now: self.remaining.first.clone().filter(|_| running).unwrap_or_default(),
            warnings: self.warnings(),
            ..StudyProgress::default()
        }
    }

    /// Returns whether the log contains a reason why the study ended; the reason is empty after the last trial.
    fn has_ended_early(&self) -> bool {
        let ended = self.log.iter().rev().find(|entry| entry.event == ENDED);
        ended.is_some_and(|entry| !entry.text.is_empty())
    }

    fn remaining_trials(&self) -> RemainingTrials {
        if race::is_one(&self.plan) {
            return self.remaining_of_race();
        }
        // Repeats are not in the plan, and run after its trials.
        let repeated_count = self.ran.iter().filter(|trial| trial.repeats.is_some()).count();
        let mut remaining: Vec<&PlannedTrial> = Vec::new();
        if !self.has_ended_early() {
            remaining.extend(self.plan.trials.iter().skip(self.ran.len() - repeated_count));
        }
        let repeats = repeats::repeats(&self.plan, &self.ran);
        remaining.extend(repeats.iter().skip(repeated_count).map(|(planned, _)| planned));
        RemainingTrials {
            count: remaining.len(),
            expected_ns: self.expected_ns(remaining.iter().copied()),
            first: remaining.first().map(|planned| self.describe(planned)),
        }
    }

    /// Returns the trials left in this replicate of a race, and the maximum time including later ones.
    fn remaining_of_race(&self) -> RemainingTrials {
        let state = race::race(&self.plan, &self.runs);
        let Some(state) = state.filter(|_| !self.has_ended_early()) else {
            return RemainingTrials::default();
        };
        let next_ns = self.expected_ns(state.next.iter().map(|(planned, _)| planned));
        RemainingTrials {
            count: state.next.len(),
            expected_ns: next_ns.saturating_add(state.later_ns(&self.plan, next_ns)),
            first: state.next.first().map(|(planned, _)| self.describe(planned)),
        }
    }

    fn expected_ns<'t>(&self, trials: impl Iterator<Item = &'t PlannedTrial>) -> u64 {
        let expected = trials.map(|planned| self.pace.expected_ns(&self.plan, planned));
        expected.fold(0, u64::saturating_add)
    }

    /// Returns the next complete lines of `trials.jsonl` that were not read yet; empty if there are none.
    fn read_lines(&mut self, system: &dyn System) -> io::Result<String> {
        let path = self.directory.join("trials.jsonl");
        let status = system.status(&path)?;
        if status.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        if status.size_bytes < self.read_bytes {
            // No longer the same file: reads it from the start.
            self.read_bytes = 0;
            self.disturbed = FaultyTrials::default();
            self.failed = FaultyTrials::default();
            self.ran.clear();
            self.runs.clear();
            self.pace = TrialPace::default();
        }
        let unread_bytes = status.size_bytes - self.read_bytes;
        if unread_bytes == 0 {
            return Ok(String::new());
        }
        let file = system.open_for_reading(&path, Caching::Buffered)?;
        let mut limit = PART_BYTES;
        loop {
            let lines = self.complete_lines(system, &file, unread_bytes.min(limit))?;
            if !lines.is_empty() || unread_bytes <= limit {
                self.read_bytes += lines.len() as u64;
                return Ok(String::from_utf8_lossy(&lines).into_owned());
            }
            // The next line is longer than the limit, and is read again with a larger one.
            if limit >= MOST_BYTES {
                let message = "a line of the file is truncated";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            limit *= 4;
        }
    }

    /// Returns the complete lines within a number of bytes. Leaves a partially written last line for the next read.
    fn complete_lines(&self, system: &dyn System, file: &File, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; limit as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            let offset = self.read_bytes + filled as u64;
            match system.read_at(file, offset, &mut bytes[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(complete);
        Ok(bytes)
    }

    fn add_lines(&mut self, system: &dyn System, text: &str) {
        for line in text.lines() {
            match bundle::record(line) {
                Ok(record) if record.workload < self.plan.workloads.len() => {
                    self.add(system, &record);
                }
                Ok(_) => self.damage = Some("a trial is not in the plan".to_owned()),
                Err(error) => self.damage = Some(format!("cannot read a trial: {error}")),
            }
        }
    }

    fn add(&mut self, system: &dyn System, record: &Trial) {
        self.ran.push(repeats::RanTrial::from(record));
        self.pace.learn(&self.plan, record);
        match record.status {
            Status::Disturbed => self.disturbed.add(record.reason.as_ref()),
            Status::Failed => self.failed.add(record.reason.as_ref()),
            Status::Ok | Status::Warmup => {}
        }
        if race::is_one(&self.plan) {
            let trial = self.with_latencies(system, record).ok();
            let log = trial.and_then(|it| inference::race_log(&self.plan, &self.environment, &it));
            self.runs.push(race::Run::new(record, log));
        }
    }

    /// Returns a trial with its latencies if the primary metric needs them.
    fn with_latencies(&self, system: &dyn System, record: &Trial) -> Outcome<Trial> {
        let workload = self.plan.workloads.get(record.workload);
        let default_metric = || workload.map(|workload| workload.work.primary(&|_| false));
        let primary = self.plan.design.primary.as_deref().or_else(default_metric);
        let needs_latencies =
            primary.and_then(metrics::find).is_some_and(|metric| metric.of == Of::Latencies);
        let mut trial = record.clone();
        if needs_latencies {
            bundle::read_latencies(system, &self.directory, &mut trial)?;
        }
        Ok(trial)
    }

    /// Returns workload, settings, target and position of a trial.
    fn describe(&self, planned: &PlannedTrial) -> String {
        let workload = &self.plan.workloads[planned.workload];
        let mut settings = arm_words(&workload.arm);
        if workload.control {
            let separator = if settings.is_empty() { "" } else { " " };
            settings = format!("{settings}{separator}(control)");
        }
        if !settings.is_empty() {
            settings = format!(" with {settings}");
        }
        let target = &self.plan.surveys[workload.target].target;
        format!("{}{settings} on {target}, {}", workload.name, planned.turn())
    }

    fn warnings(&self) -> Vec<String> {
        let disturbed = self.disturbed.warning("were disturbed", self.ran.len());
        let failed = self.failed.warning("failed", self.ran.len());
        [disturbed, failed, self.damage.clone()].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::results::plan::PlanTurn;

    #[test]
    fn the_events_of_a_study_end_in_its_strip() {
        let mut own = StudyProgress::of_this_process("Depth");
        own.apply(&Event::Planned { trials: 9, warm_ups: 3, done: 0, expected_ns: 9_500_000_000 });
        assert_eq!((own.done, own.planned, own.left_s), (0, 9, Some(10)));
        let (workload, target) = ("read".to_owned(), "/mnt".to_owned());
        own.apply(&Event::TrialStarted {
            index: 4,
            workload,
            target,
            turn: PlanTurn { replicate: 2, lead_in: false },
            remaining_ns: 5_000_000_000,
        });
        assert_eq!((own.done, own.now.as_str()), (4, "read, trial 5 of 9"));
        own.apply(&Event::TrialEnded { index: 4, result: Err("gone".to_owned()) });
        assert_eq!((own.done, own.left_s), (5, Some(5)));
        assert_eq!(own.warnings, ["trial 4 failed: gone"]);
    }
}
