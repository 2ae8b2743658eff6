//! Runs git and builds: as the user who runs the study's commands, without prompts, and without locks in a repository
//! that is only read.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::digest::hexadecimal;
use assay_core::outside;
use assay_machine::system::execute::{self, Ending};
use assay_machine::system::identity::{self, Caller};
use assay_machine::system::{Executed, Execution, System};

use super::Error;

/// Maximum size of git's output.
pub(super) const SHORT: u64 = 64 << 10;
/// The same for a list of commits or files.
pub(super) const LONG: u64 = 16 << 20;
/// Words before each git command: no background processes, no hooks.
const GIT: [&str; 11] = [
    "git",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "advice.detachedHead=false",
];
/// Does not refresh the index or ask for a password.
const ENVIRONMENT: [(&str, &str); 2] = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0")];
/// Passed variables of the user's git configuration, in addition to the common ones. Excludes those that name a
/// repository, which a hook would set.
const PASSED: [&str; 6] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "SSH_AUTH_SOCK",
    "SUDO_UID",
    "XDG_CONFIG_HOME",
];
const LAST_LINES: usize = 6;

static NEVER: AtomicBool = AtomicBool::new(false);

/// How to run programs: the machine, the user, and the stop flag.
#[derive(Clone, Copy)]
pub(super) struct ProgramRunner<'s> {
    pub(super) system: &'s dyn System,
    pub(super) caller: Option<Caller>,
    pub(super) stop: &'s AtomicBool,
}

impl fmt::Debug for ProgramRunner<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProgramRunner")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

impl<'s> ProgramRunner<'s> {
    pub(super) fn new(system: &'s dyn System) -> Self {
        Self { system, caller: identity::caller(system), stop: &NEVER }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a program with the named variables passed, too, and returns the last `heard_bytes` of its output.
    pub(super) fn execute(
        &self,
        directory: &Path,
        words: &[String],
        environment: &[(String, String)],
        passed_names: &[String],
        heard_bytes: u64,
    ) -> Result<Executed, Error> {
        if self.is_stopped() {
            return Err(Error::Stopped);
        }
        let passed = execute::passed(self.system, passed_names);
        let execution = Execution {
            words,
            directory,
            passed: &passed,
            environment,
            caller: self.caller,
            input: None,
            timeout: None,
            stop: self.stop,
            memory: None,
            heard_bytes,
            hashed: true,
            counted: false,
        };
        let executed = self.system.execute(&execution);
        let executed = executed.map_err(|error| Error::Refused(error.to_string()))?;
        match executed.ending {
            Ending::Stopped => Err(Error::Stopped),
            _ => Ok(executed),
        }
    }

    /// Runs git in a directory; the caller checks the exit code.
    pub(super) fn git(&self, at: &Path, words: &[&str], most: u64) -> Result<Executed, Error> {
        let words: Vec<String> = GIT.iter().chain(words).map(|&word| word.to_owned()).collect();
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.execute(at, &words, &environment, &PASSED.map(str::to_owned), most)
    }

    /// Returns git's output in a directory; fails if git fails, or prints more than `most` bytes.
    pub(super) fn git_output(&self, at: &Path, words: &[&str], most: u64) -> Result<String, Error> {
        let executed = self.git_checked(at, words, most)?;
        if executed.heard.bytes > most {
            return Err(Error::Refused(format!(
                "git {} printed more than {most} bytes in {}; Assay ignores the output",
                subcommand(words),
                at.display()
            )));
        }
        Ok(executed.heard.text().into_owned())
    }

    /// Returns a hash of git's output in a directory, of any length.
    pub(super) fn git_output_hash(&self, at: &Path, words: &[&str]) -> Result<String, Error> {
        let executed = self.git_checked(at, words, 0)?;
        Ok(executed.heard.sha256.as_ref().map(hexadecimal).unwrap_or_default())
    }

    /// Runs git in a directory, and fails if git fails.
    fn git_checked(&self, at: &Path, words: &[&str], most: u64) -> Result<Executed, Error> {
        let executed = self.git(at, words, most)?;
        if has_failed(&executed) {
            return Err(Error::Refused(format!(
                "cannot run git {} in {}: {}",
                subcommand(words),
                at.display(),
                error_lines(&executed)
            )));
        }
        Ok(executed)
    }
}

fn subcommand<'w>(words: &[&'w str]) -> &'w str {
    words.first().copied().unwrap_or_default()
}

pub(super) fn has_failed(executed: &Executed) -> bool {
    failure_of(executed).is_some()
}

/// Returns how a program failed, as a verb phrase; `None` if it succeeded.
pub(super) fn failure_of(executed: &Executed) -> Option<String> {
    match executed.ending {
        Ending::Exited(0) => None,
        Ending::Exited(code) => Some(format!("ended with exit code {code}")),
        Ending::Signalled(signal) => Some(format!("was killed by signal {signal}")),
        Ending::TimedOut | Ending::Stopped => Some("was ended".to_owned()),
    }
}

/// Returns the last lines of a program's standard error, or else how it failed.
pub(super) fn error_lines(executed: &Executed) -> String {
    let lines = executed.complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(|line| outside::spelled(line).into_owned()).collect();
    if lines.is_empty() {
        return failure_of(executed).unwrap_or_default();
    }
    lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
}
