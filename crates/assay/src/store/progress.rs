//! A study as it goes on, for those who watch: what has run, what runs, how long it may take. Reads
//! only what was added since the last look, and nothing that the measurement needs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use assay_analysis::inference;
use assay_core::failure::Outcome;
use assay_core::quantity::metric::Of;
use assay_machine::system::{Caching, FileKind, System};
use assay_study::plan::pace::Pace;
use assay_study::plan::{race, repeats};
use assay_study::results::bundle;
use assay_study::results::environment::Environment;
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::plan::{Plan, PlannedTrial, arm_words};
use assay_study::results::record::{Status, Trial, TrialRecord};
use assay_workloads::metrics;

/// Bytes of trials that are read at once; more for a line that is longer.
const PART_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub title: String,
    pub running: bool,
    /// Trials that have run, the lead-in and repeats included.
    pub done: usize,
    /// Trials in all, as far as is known.
    pub planned: usize,
    /// Seconds that the trials left are expected to take while it runs.
    pub left_s: Option<u64>,
    pub now: Option<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Default)]
struct Ahead {
    trials: usize,
    expected_ns: u64,
    /// The one that runs, in words.
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
pub struct Watched {
    directory: PathBuf,
    title: String,
    plan: Plan,
    environment: Environment,
    ran: Vec<repeats::Ran>,
    /// The same as a race knows them, where it is one.
    runs: Vec<race::Run>,
    pace: Pace,
    disturbed: Odd,
    failed: Odd,
    ahead: Ahead,
    read_bytes: u64,
    damaged: Option<String>,
    log: Vec<Entry>,
    log_bytes: u64,
}

impl Watched {
    pub fn new(system: &dyn System, directory: &Path) -> Outcome<Self> {
        let known = bundle::frame(system, directory)?;
        let mut watched = Self {
            directory: directory.to_owned(),
            title: known.label.title.unwrap_or(known.study.title),
            plan: known.plan,
            environment: known.environment,
            ran: Vec::new(),
            runs: Vec::new(),
            pace: Pace::default(),
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

    /// Whether it runs nothing, such as the recording of the page that asks.
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
        let log = system.status(&self.directory.join("log.jsonl")).map(|found| found.size_bytes);
        if log.as_ref().is_ok_and(|bytes| *bytes != self.log_bytes) {
            self.log = bundle::log(system, &self.directory);
            self.log_bytes = log.unwrap_or_default();
        }
    }

    fn look_at_trials(&mut self, system: &dyn System) {
        loop {
            match self.news(system) {
                Ok(text) if text.is_empty() => return,
                Ok(text) => self.take(system, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(error) => {
                    self.damaged = Some(format!("cannot read trials.jsonl: {error}"));
                    return;
                }
            }
        }
    }

    pub fn progress(&self, system: &dyn System) -> Progress {
        let running = bundle::is_running(system, &self.directory);
        Progress {
            title: self.title.clone(),
            running,
            done: self.ran.len(),
            planned: self.ran.len() + self.ahead.trials,
            left_s: running.then_some(self.ahead.expected_ns.div_ceil(1_000_000_000)),
            now: self.ahead.first.clone().filter(|_| running),
            warnings: self.warnings(),
        }
    }

    /// Why it ended, where it did: nothing more where that was with its last trial.
    fn end(&self) -> Option<&str> {
        let ended = self.log.iter().rev().find(|entry| entry.event == ENDED);
        ended.map(|entry| entry.text.as_str())
    }

    fn look_ahead(&self) -> Ahead {
        if race::is_one(&self.plan) {
            return self.look_ahead_in_race();
        }
        let again = self.ran.iter().filter(|record| record.repeats.is_some()).count();
        let early = self.end().is_some_and(|why| !why.is_empty());
        let first = if early { usize::MAX } else { self.ran.len() - again };
        let planned = self.plan.trials.iter().skip(first);
        let repeated = repeats::repeats(&self.plan, &self.ran);
        let repeated = repeated.iter().skip(again).map(|(planned, _)| planned);
        let left: Vec<&PlannedTrial> = planned.chain(repeated).collect();
        let expected = left.iter().map(|planned| self.pace.expected_ns(&self.plan, planned));
        Ahead {
            trials: left.len(),
            expected_ns: expected.fold(0, u64::saturating_add),
            first: left.first().map(|planned| self.words(planned)),
        }
    }

    /// What of a replicate of a race comes, and what comes later at most.
    fn look_ahead_in_race(&self) -> Ahead {
        let early = self.end().is_some_and(|why| !why.is_empty());
        let Some(at) = race::race(&self.plan, &self.runs).filter(|_| !early) else {
            return Ahead::default();
        };
        let next = at.next.iter().map(|(planned, _)| planned);
        let own = next.map(|planned| self.pace.expected_ns(&self.plan, planned));
        let own_ns = own.fold(0, u64::saturating_add);
        Ahead {
            trials: at.next.len(),
            expected_ns: own_ns.saturating_add(at.later_ns(&self.plan, own_ns)),
            first: at.next.first().map(|(planned, _)| self.words(planned)),
        }
    }

    /// Some of `trials.jsonl` that was not read yet.
    fn news(&mut self, system: &dyn System) -> io::Result<String> {
        let path = self.directory.join("trials.jsonl");
        let found = system.status(&path)?;
        if found.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        if found.size_bytes < self.read_bytes {
            // Cut off, and so another file than the one that was read.
            self.read_bytes = 0;
            (self.disturbed, self.failed) = (Odd::default(), Odd::default());
            self.ran.clear();
            self.runs.clear();
            self.pace = Pace::default();
        }
        let new = found.size_bytes - self.read_bytes;
        if new == 0 {
            return Ok(String::new());
        }
        let file = system.open_for_reading(&path, Caching::Buffered)?;
        let mut part = PART_BYTES;
        loop {
            let text = self.whole_lines(system, &file, new.min(part))?;
            if !text.is_empty() || new <= part {
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

    /// The lines that end within so many bytes. The last one may be half written: it is read when
    /// it is whole.
    fn whole_lines(&self, system: &dyn System, file: &File, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most as usize];
        let mut there = 0;
        while there < bytes.len() {
            let at = self.read_bytes + there as u64;
            match system.read_at(file, at, &mut bytes[there..])? {
                0 => break,
                count => there += count,
            }
        }
        bytes.truncate(there);
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        Ok(bytes)
    }

    fn take(&mut self, system: &dyn System, text: &str) {
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

    fn add(&mut self, system: &dyn System, record: &TrialRecord) {
        self.ran.push(repeats::Ran::from(record));
        self.pace.learn(&self.plan, record);
        match record.status {
            Status::Disturbed => self.disturbed.add(record.reason.as_ref()),
            Status::Failed => self.failed.add(record.reason.as_ref()),
            Status::Ok | Status::Warmup => {}
        }
        if race::is_one(&self.plan) {
            let log = self.trial(system, record.clone()).ok();
            let log = log.and_then(|one| inference::race_log(&self.plan, &self.environment, &one));
            self.runs.push(race::Run::of(record, log));
        }
    }

    /// A trial with its latencies, where its value is one of them.
    fn trial(&self, system: &dyn System, record: TrialRecord) -> Outcome<Trial> {
        let workload = self.plan.workloads.get(record.workload);
        let own = || workload.map(|workload| workload.work.primary(&|_| false));
        let primary = self.plan.design.primary.as_deref().or_else(own);
        let latencies =
            primary.and_then(metrics::find).is_some_and(|metric| metric.of == Of::Latencies);
        if latencies {
            bundle::trial(system, &self.directory, record)
        } else {
            Ok(Trial { record, latency_ns: std::collections::BTreeMap::new() })
        }
    }

    fn words(&self, planned: &PlannedTrial) -> String {
        let workload = &self.plan.workloads[planned.workload];
        let arm = levels(&workload.arm, workload.control);
        let arm = if arm.is_empty() { arm } else { format!(" with {arm}") };
        let target = &self.plan.surveys[workload.target].target;
        format!("{}{arm} on {target}, {}", workload.name, planned.turn())
    }

    fn warnings(&self) -> Vec<String> {
        let all = self.ran.len();
        let found = [
            self.disturbed.sentence("were disturbed", all),
            self.failed.sentence("failed", all),
            self.damaged.clone(),
        ];
        found.into_iter().flatten().collect()
    }
}

fn levels(arm: &assay_study::results::plan::Arm, control: bool) -> String {
    let words = arm_words(arm);
    if control { format!("{words} (control)").trim().to_owned() } else { words }
}
