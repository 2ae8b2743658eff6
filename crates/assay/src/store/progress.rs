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
    pub now: String,
    /// Warnings, the latest last.
    pub warnings: Vec<String>,
    /// Whether it is a study of this process.
    pub is_own: bool,
}

impl StudyProgress {
    pub fn of_this_process(title: &str) -> Self {
        let now = "checking the target".to_owned();
        Self { title: title.to_owned(), now, is_own: true, ..Self::default() }
    }

    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => self.warnings.push(text.clone()),
            Event::Filling { done_bytes, of_bytes, remaining_ns, .. } => {
                // Later fills are part of a trial.
                let trials_s = self.trials_s.map(|trials_s| trials_s + seconds(*remaining_ns));
                self.left_s = trials_s.or(self.left_s);
                let (done, of) = (Bytes(done_bytes >> 20 << 20), Bytes(*of_bytes));
                self.now = format!("filling test area {done} of {of}");
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
                (self.planned, self.done, self.trials_s) = (*trials, *done, None);
                self.left_s = Some(seconds(*expected_ns));
            }
            Event::Repeating { trials, expected_ns, .. } => {
                self.planned = self.done + trials;
                self.left_s = Some(seconds(*expected_ns));
                "repeating disturbed trials".clone_into(&mut self.now);
            }
            Event::Racing { text, trials, done, most_ns, .. } => {
                (self.planned, self.done, self.trials_s) = (done + trials, *done, None);
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
struct Ahead {
    trials: usize,
    expected_ns: u64,
    /// Current trial, in words.
    first: Option<String>,
}

#[derive(Debug, Default)]
struct Odd {
    count: usize,
    last: Option<String>,
}

impl Odd {
    fn add(&mut self, reason: Option<&String>) {
        self.count += 1;
        self.last = reason.cloned();
    }

    fn sentence(&self, words: &str, all: usize) -> Option<String> {
        let last = self.last.as_deref().unwrap_or("no reason was recorded");
        let text = || format!("{} of {all} trials {words}; the last: {last}", self.count);
        (self.count > 0).then(text)
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
    disturbed: Odd,
    failed: Odd,
    ahead: Ahead,
    read_bytes: u64,
    damaged: Option<String>,
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
            disturbed: Odd::default(),
            failed: Odd::default(),
            ahead: Ahead::default(),
            read_bytes: 0,
            damaged: None,
            log: Vec::new(),
            log_bytes: 0,
        };
        watched.look(system);
        Ok(watched)
    }

    /// Returns whether it runs nothing, such as the recording of this page.
    pub fn is_recording(&self) -> bool {
        self.plan.is_only_watched()
    }

    pub fn look(&mut self, system: &dyn System) {
        let before = (self.ran.len(), self.log.len());
        self.look_at_log(system);
        self.look_at_trials(system);
        if before != (self.ran.len(), self.log.len()) || self.ahead.trials == 0 {
            self.ahead = self.look_ahead();
        }
    }

    fn look_at_log(&mut self, system: &dyn System) {
        let log = system.status(&self.directory.join("log.jsonl")).map(|status| status.size_bytes);
        if log.as_ref().is_ok_and(|bytes| *bytes != self.log_bytes) {
            self.log = bundle::log(system, &self.directory);
            self.log_bytes = log.unwrap_or_default();
        }
    }

    fn look_at_trials(&mut self, system: &dyn System) {
        loop {
            match self.unread_lines(system) {
                Ok(text) if text.is_empty() => return,
                Ok(text) => self.add_lines(system, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(error) => {
                    self.damaged = Some(format!("cannot read trials.jsonl: {error}"));
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
            planned: self.ran.len() + self.ahead.trials,
            left_s: running.then_some(self.ahead.expected_ns.div_ceil(1_000_000_000)),
            now: self.ahead.first.clone().filter(|_| running).unwrap_or_default(),
            warnings: self.warnings(),
            ..StudyProgress::default()
        }
    }

    /// Returns why it ended, empty if with its last trial; `None` while it runs.
    fn end(&self) -> Option<&str> {
        let ended = self.log.iter().rev().find(|entry| entry.event == ENDED);
        ended.map(|entry| entry.text.as_str())
    }

    fn look_ahead(&self) -> Ahead {
        if race::is_one(&self.plan) {
            return self.look_ahead_in_race();
        }
        let repeated_count = self.ran.iter().filter(|record| record.repeats.is_some()).count();
        let ended_early = self.end().is_some_and(|why| !why.is_empty());
        let first = if ended_early { usize::MAX } else { self.ran.len() - repeated_count };
        let planned = self.plan.trials.iter().skip(first);
        let repeated = repeats::repeats(&self.plan, &self.ran);
        let repeated = repeated.iter().skip(repeated_count).map(|(planned, _)| planned);
        let left: Vec<&PlannedTrial> = planned.chain(repeated).collect();
        let expected = left.iter().map(|planned| self.pace.expected_ns(&self.plan, planned));
        Ahead {
            trials: left.len(),
            expected_ns: expected.fold(0, u64::saturating_add),
            first: left.first().map(|planned| self.words(planned)),
        }
    }

    /// Returns the trials left in this replicate of a race, and the maximum time including later ones.
    fn look_ahead_in_race(&self) -> Ahead {
        let ended_early = self.end().is_some_and(|why| !why.is_empty());
        let Some(state) = race::race(&self.plan, &self.runs).filter(|_| !ended_early) else {
            return Ahead::default();
        };
        let next = state.next.iter().map(|(planned, _)| planned);
        let expected = next.map(|planned| self.pace.expected_ns(&self.plan, planned));
        let next_ns = expected.fold(0, u64::saturating_add);
        Ahead {
            trials: state.next.len(),
            expected_ns: next_ns.saturating_add(state.later_ns(&self.plan, next_ns)),
            first: state.next.first().map(|(planned, _)| self.words(planned)),
        }
    }

    /// Reads part of `trials.jsonl` that was not read yet.
    fn unread_lines(&mut self, system: &dyn System) -> io::Result<String> {
        let path = self.directory.join("trials.jsonl");
        let status = system.status(&path)?;
        if status.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        if status.size_bytes < self.read_bytes {
            // Truncated: no longer the same file.
            self.read_bytes = 0;
            (self.disturbed, self.failed) = (Odd::default(), Odd::default());
            self.ran.clear();
            self.runs.clear();
            self.pace = TrialPace::default();
        }
        let unread_bytes = status.size_bytes - self.read_bytes;
        if unread_bytes == 0 {
            return Ok(String::new());
        }
        let file = system.open_for_reading(&path, Caching::Buffered)?;
        let mut part = PART_BYTES;
        loop {
            let text = self.complete_lines(system, &file, unread_bytes.min(part))?;
            if !text.is_empty() || unread_bytes <= part {
                self.read_bytes += text.len() as u64;
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            if part >= MOST_BYTES {
                let message = "a line of the file is truncated";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            part *= 4;
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
                Ok(_) => self.damaged = Some("a trial is not in the plan".to_owned()),
                Err(error) => self.damaged = Some(format!("cannot read a trial: {error}")),
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
            let log = self.with_latencies(system, record).ok();
            let log = log.and_then(|it| inference::race_log(&self.plan, &self.environment, &it));
            self.runs.push(race::Run::new(record, log));
        }
    }

    /// Returns a trial with its latencies if its value is one of them.
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

    fn words(&self, planned: &PlannedTrial) -> String {
        let workload = &self.plan.workloads[planned.workload];
        let arm = levels(&workload.arm, workload.control);
        let arm = if arm.is_empty() { arm } else { format!(" with {arm}") };
        let target = &self.plan.surveys[workload.target].target;
        format!("{}{arm} on {target}, {}", workload.name, planned.turn())
    }

    fn warnings(&self) -> Vec<String> {
        let trials = self.ran.len();
        let sentences = [
            self.disturbed.sentence("were disturbed", trials),
            self.failed.sentence("failed", trials),
            self.damaged.clone(),
        ];
        sentences.into_iter().flatten().collect()
    }
}

fn levels(arm: &assay_study::results::plan::Arm, control: bool) -> String {
    let words = arm_words(arm);
    if control { format!("{words} (control)").trim().to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::results::plan::PlanTurn;

    #[test]
    fn the_events_of_a_study_end_in_its_strip() {
        let mut strip = StudyProgress::of_this_process("Depth");
        strip.take(&Event::Planned { trials: 9, warm_ups: 3, done: 0, expected_ns: 9_500_000_000 });
        assert_eq!((strip.done, strip.planned, strip.left_s), (0, 9, Some(10)));
        let (workload, target) = ("read".to_owned(), "/mnt".to_owned());
        strip.take(&Event::TrialStarted {
            index: 4,
            workload,
            target,
            turn: PlanTurn { replicate: 2, lead_in: false },
            remaining_ns: 5_000_000_000,
        });
        assert_eq!((strip.done, strip.now.as_str()), (4, "read, trial 5 of 9"));
        strip.take(&Event::TrialEnded { index: 4, result: Err("gone".to_owned()) });
        assert_eq!((strip.done, strip.left_s), (5, Some(5)));
        assert_eq!(strip.warnings, ["trial 4 failed: gone"]);
    }
}
