//! The runs of one trial: prepare, empty the cache, run, clean up, until the trial's time is over.

mod taken;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::draws::Draws;
use assay_core::outside;
use assay_core::quantity::Time;
use assay_core::quantity::units::show;
use assay_machine::system::execute::{self, Ending};
use assay_machine::system::{Executed, Execution};

use super::line::{self, Levels};
use super::planned::CommandPlan;
use super::tally::CommandTally;
use super::tree::{self, SourceTree};
use crate::command::readings::OutputReader;
use crate::emptied;
use crate::measured::RunResult;
use crate::place::{Run, own_program};

const FIRST_STARTS: u64 = 5;
const MOST_STARTS: u64 = 50;
/// Divisor: shell-only starts take at most this fraction of the runs' time, except the first ones.
const STARTS_SHARE: u64 = 10;
/// A variable of random length for each run: the size of the environment affects its time.
const PADDING: &str = "ASSAY_PADDING";
const MOST_PADDING_BYTES: u64 = 4096;
/// Number of lines to report of a program's error output.
const LAST_LINES: usize = 6;
/// With less free space, nothing can be built.
const NO_ROOM_BYTES: u64 = 1 << 20;
/// Time limit of a cleanup after a stop request.
const LAST_CLEANUP: Duration = Duration::from_secs(10);

/// Command lines per trial or per study, with their names in messages.
const TRIAL_SETUP: &str = "trial_setup";
const SETUP: &str = "setup";

#[derive(Clone, Copy)]
struct RunOptions<'s> {
    timeout: Option<Duration>,
    stop: &'s AtomicBool,
    heard_bytes: u64,
    hashed: bool,
    counted: bool,
    /// Always through the shell.
    shell: bool,
}

impl<'s> RunOptions<'s> {
    fn silent(timeout: Option<Duration>, stop: &'s AtomicBool) -> Self {
        Self { timeout, stop, heard_bytes: 0, hashed: false, counted: false, shell: false }
    }

    fn counted(self) -> Self {
        Self { counted: true, ..self }
    }
}

enum Break {
    Stopped,
    Failed(String),
}

impl Break {
    fn prefix(self, what: &str) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{what}: {reason}")),
            Self::Stopped => Self::Stopped,
        }
    }
}

/// Whether the user stopped the work; the error is that of a failure.
fn is_stopped(done: Result<(), Break>) -> Result<bool, String> {
    match done {
        Ok(()) => Ok(false),
        Err(Break::Stopped) => Ok(true),
        Err(Break::Failed(reason)) => Err(reason),
    }
}

impl From<String> for Break {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

pub(super) fn run(planned: &CommandPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let mut trial = CommandTrial::new(planned, run)?;
    let stopped = is_stopped(trial.with_tree(CommandTrial::run_trial))?;
    let elapsed_ns = trial.elapsed_ns();
    Ok(trial.tally.into_result(planned, elapsed_ns, stopped))
}

/// Runs the command once, with its setup; returns its nanoseconds, including the start of the shell.
pub(super) fn pilot(planned: &CommandPlan, run: &Run<'_>) -> Result<u64, String> {
    let mut trial = CommandTrial::new(planned, run)?;
    is_stopped(trial.with_tree(CommandTrial::run_first))?;
    Ok(trial.tally.wall_ns().max(1))
}

/// Runs the `setup` line again; returns the line, or `None` without one or if the user stops.
pub(super) fn ready_again(planned: &CommandPlan, run: &Run<'_>) -> Result<Option<String>, String> {
    if planned.setup.is_none() {
        return Ok(None);
    }
    let mut trial = CommandTrial::new(planned, run)?;
    let stopped = is_stopped(trial.with_tree(CommandTrial::set_up_once))?;
    Ok(planned.setup.clone().filter(|_| !stopped))
}

struct CommandTrial<'a> {
    planned: &'a CommandPlan,
    run: &'a Run<'a>,
    padding: Draws,
    began_ns: u64,
    tally: CommandTally,
    readers: Vec<OutputReader>,
    /// Values of the placeholders that only a trial knows.
    levels: Levels,
    is_in_tree: bool,
}

impl<'a> CommandTrial<'a> {
    fn new(planned: &'a CommandPlan, run: &'a Run<'a>) -> Result<Self, String> {
        let mut tally = CommandTally::default();
        tally.detail.variables = execute::passed(run.system, &planned.pass_env);
        let readers = planned.parse.iter().map(OutputReader::new).collect::<Result<_, _>>()?;
        let numbers = [("replicate", run.programs.replicate), ("trial", run.programs.trial)];
        let levels = numbers.map(|(name, number)| (name.to_owned(), number.to_string())).into();
        Ok(Self {
            planned,
            run,
            padding: Draws::new(run.seed, "environment"),
            began_ns: run.system.monotonic_ns(),
            tally,
            readers,
            levels,
            is_in_tree: false,
        })
    }

    fn work_directory(&self) -> PathBuf {
        match &self.planned.revision {
            Some(revision) => self.run.path.join(&revision.tree),
            None if self.is_in_tree => tree::place(self.run.path),
            None => self.run.path.to_owned(),
        }
    }

    /// Path of its input file: outside a tree that is created for each trial.
    fn input(&self) -> Option<PathBuf> {
        let input = self.planned.input.as_ref()?;
        let commit = self.planned.revision.as_ref().map(|_| self.work_directory());
        Some(commit.unwrap_or_else(|| self.run.path.to_owned()).join(input))
    }

    fn elapsed_ns(&self) -> u64 {
        self.run.system.monotonic_ns().saturating_sub(self.began_ns)
    }

    /// Works in a new tree, and always removes the tree.
    fn with_tree(&mut self, work: fn(&mut Self) -> Result<(), Break>) -> Result<(), Break> {
        let Some(tree) = &self.planned.tree else { return work(self) };
        let created = self.create_tree(tree);
        self.is_in_tree = created.is_ok();
        let done = created.and_then(|()| work(self)).map_err(|why| self.explain_full_disk(why));
        self.is_in_tree = false;
        let removed = self.remove_tree(matches!(done, Err(Break::Stopped)));
        done.and(removed)
    }

    /// Creates the source tree in place of one that an earlier trial left.
    fn create_tree(&mut self, tree: &SourceTree) -> Result<(), Break> {
        let (system, path) = (self.run.system, self.run.path);
        if tree::check_left(system, path)? {
            self.run_aside("removing the tree:", &tree::removal_line(), None, self.run.stop)?;
        }
        if let Some(reason) = tree.space_shortage(system, path) {
            return Err(Break::Failed(reason));
        }
        for line in tree.creation_lines(&own_program(system)?) {
            self.run_aside("creating the tree:", &line, None, self.run.stop)?;
        }
        Ok(())
    }

    /// Removes the tree, even a partial one, but no other directory of that name.
    fn remove_tree(&mut self, stopped: bool) -> Result<(), Break> {
        if !tree::check_left(self.run.system, self.run.path).unwrap_or(false) {
            return Ok(());
        }
        self.run_cleanup("removing the tree:", &tree::removal_line(), stopped)
    }

    /// Adds the free space to a failure reason if there is almost none.
    fn explain_full_disk(&self, why: Break) -> Break {
        let Ok(space) = self.run.system.space(self.run.path) else { return why };
        if space.available_bytes >= NO_ROOM_BYTES {
            return why;
        }
        let free = show::bytes(space.available_bytes);
        why.prefix(&format!("{} is full ({free} free)", self.run.path.display()))
    }

    fn run_first(&mut self) -> Result<(), Break> {
        self.set_up_once()?;
        self.set_up()?;
        self.run_once()
    }

    fn set_up_once(&mut self) -> Result<(), Break> {
        let Some(text) = &self.planned.setup else { return Ok(()) };
        self.run_aside(SETUP, text, None, self.run.stop)
    }

    fn set_up(&mut self) -> Result<(), Break> {
        let Some(text) = &self.planned.trial_setup else { return Ok(()) };
        self.run_aside(TRIAL_SETUP, text, None, self.run.stop)
    }

    /// Repeats the command until the time or its number of runs is reached, and times the bare shell in between.
    fn run_trial(&mut self) -> Result<(), Break> {
        self.set_up()?;
        while self.planned.shell && self.tally.shell.count < FIRST_STARTS {
            self.start_shell()?;
        }
        loop {
            self.run_once()?;
            if self.planned.runs_per_trial == Some(self.tally.runs())
                || self.elapsed_ns() >= self.run.time_ns
            {
                return Ok(());
            }
            if self.planned.shell && self.is_start_due() {
                self.start_shell()?;
            }
        }
    }

    fn is_start_due(&self) -> bool {
        let shell = &self.tally.shell;
        shell.count < MOST_STARTS
            && shell.sum_ns.saturating_mul(STARTS_SHARE) < self.tally.wall_ns()
    }

    /// Measures a start of the shell alone, which is subtracted from each run.
    fn start_shell(&mut self) -> Result<(), Break> {
        let executed = self.execute("", &RunOptions::silent(None, self.run.stop).counted())?;
        check_exit(&executed, "the empty shell command", false, None)?;
        self.tally.shell.add(&executed);
        self.tally.add_aside(&executed);
        Ok(())
    }

    /// Prepares, runs and cleans up, even if the run failed.
    fn run_once(&mut self) -> Result<(), Break> {
        // Before the preparation, there is nothing to clean up.
        if self.run.stop.load(Ordering::Relaxed) {
            return Err(Break::Stopped);
        }
        let count = self.tally.runs() + 1;
        let done = self.prepare().and_then(|()| self.run_measured(count));
        let Some(text) = &self.planned.conclude else { return done };
        let concluded = self.run_cleanup("conclude", text, matches!(done, Err(Break::Stopped)));
        done.and(concluded)
    }

    /// Runs the `prepare` line; then empties the page cache, or reads the tree into it.
    fn prepare(&mut self) -> Result<(), Break> {
        if let Some(text) = &self.planned.prepare {
            self.run_aside("prepare", text, None, self.run.stop)?;
        }
        if self.planned.drop_caches {
            self.tally.add_emptied(emptied::empty(self.run.system)?);
            return Ok(());
        }
        if self.is_in_tree {
            self.run_aside("reading the tree:", tree::PRIME, None, self.run.stop)?;
        }
        Ok(())
    }

    /// Runs the command once, and adds its times and its output to the tally.
    fn run_measured(&mut self, count: u64) -> Result<(), Break> {
        let planned = self.planned;
        let timeout = planned.timeout_ns.map(Duration::from_nanos);
        let before = self.stamps();
        let options = self.with_output(RunOptions::silent(timeout, self.run.stop).counted());
        let executed = self.execute(&planned.run, &options)?;
        let what = format!("run {count} of {}", planned.quoted());
        check_exit(&executed, &what, planned.ignore_failure, timeout)?;
        let output = self.read_output(&executed, &before).map_err(|why| why.prefix(&what))?;
        self.tally.add(&executed);
        self.tally.add_output(output);
        Ok(())
    }

    /// Always runs a line, but with a short limit after a stop request.
    fn run_cleanup(&mut self, name: &str, text: &str, stopped: bool) -> Result<(), Break> {
        let never = AtomicBool::new(false);
        let stop = if stopped { &never } else { self.run.stop };
        self.run_aside(name, text, stopped.then_some(LAST_CLEANUP), stop)
    }

    /// Runs a line that is not measured; errors call it `name`.
    fn run_aside(
        &mut self,
        name: &str,
        text: &str,
        timeout: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<(), Break> {
        let executed = self.execute(text, &RunOptions::silent(timeout, stop))?;
        self.tally.add_aside(&executed);
        check_exit(&executed, &format!("{name} `{text}`"), false, timeout)
    }

    /// Runs a line with the levels of its arm; fails without running it if the user stopped.
    fn execute(&mut self, text: &str, options: &RunOptions<'_>) -> Result<Executed, Break> {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Break::Stopped);
        }
        let text = line::fill(text, &self.levels);
        // Lines that create, read and remove a tree need the shell.
        let shell = options.shell || self.planned.shell || self.planned.tree.is_some();
        let words = line::words(&text, shell)?;
        let place = self.work_directory();
        // The size of the environment affects the time of a run, so it differs between runs.
        let padding = "x".repeat(self.padding.below(MOST_PADDING_BYTES) as usize);
        let input = self.input();
        let mut environment = vec![(PADDING.to_owned(), padding)];
        environment.extend(self.planned.variables.clone());
        let execution = Execution {
            words: &words,
            directory: &place,
            passed: &self.tally.detail.variables,
            environment: &environment,
            caller: self.run.caller,
            input: input.as_deref(),
            timeout: options.timeout,
            stop: options.stop,
            memory: None,
            heard_bytes: options.heard_bytes,
            hashed: options.hashed,
            counted: options.counted,
        };
        let executed = self.run.system.execute(&execution);
        executed.map_err(|error| Break::Failed(format!("`{text}`: {error}")))
    }
}

/// Fails, in the words of `what`, unless the program succeeded or its failure is ignored.
fn check_exit(
    executed: &Executed,
    what: &str,
    ignore_failure: bool,
    timeout: Option<Duration>,
) -> Result<(), Break> {
    let how = match executed.ending {
        Ending::Exited(0) => return Ok(()),
        Ending::Stopped => return Err(Break::Stopped),
        Ending::TimedOut => {
            let limit = timeout.map_or_else(String::new, |limit| {
                format!(" within {}", Time(limit.as_nanos() as u64))
            });
            return Err(Break::Failed(format!(
                "{what} did not finish{limit}; Assay killed it and its child processes"
            )));
        }
        Ending::Exited(_) | Ending::Signalled(_) if ignore_failure => return Ok(()),
        Ending::Exited(code) => format!("exited with code {code}"),
        Ending::Signalled(signal) => format!("was killed by signal {signal}"),
    };
    Err(Break::Failed(format!("{what} {how}{}", complaint_words(&executed.complaint))))
}

/// The last lines of a program's error output, joined to one.
fn complaint_words(complaint: &str) -> String {
    let lines: Vec<&str> =
        complaint.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("; ");
    if last.is_empty() { last } else { format!("; stderr: {}", outside::spelled(&last)) }
}
