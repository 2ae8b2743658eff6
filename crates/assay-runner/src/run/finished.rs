//! What a run gives, and how that is kept.

use std::path::{Path, PathBuf};

use super::event::Event;
use assay_core::failure::Failure;
use assay_study::file::Study;
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;

/// A study that was run, or as much of it as was.
pub struct Finished {
    pub id: String,
    /// Where the bundle lies, if all of it could be written; none of a study stopped before its first
    /// trial.
    pub directory: Option<PathBuf>,
    /// What became of a bundle that could not be written to its end.
    pub unkept: Option<Unkept>,
    pub study: Study,
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<Trial>,
    /// Whether it can be gone on with: a signal ended it, or a device that it stands on was gone.
    pub interrupted: bool,
    /// Options with which `assay resume ID` goes on with it: the consents of its user.
    pub resume_options: String,
    pub gone: Option<String>,
    /// Why it ended before its last planned trial, where a rule ended it.
    pub ended: Option<String>,
    /// What could not be put back, if anything.
    pub left: Option<Failure>,
}

/// A bundle that could not be written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// Trials that are in it, from the first on; none where it could not be begun.
    pub trials: usize,
    /// Where it lies, and what the kernel said.
    pub why: String,
}

impl Unkept {
    /// That a directory took the first `trials` trials and no more.
    pub fn after(trials: usize, directory: &Path, error: &std::io::Error) -> Self {
        Self { trials, why: format!("cannot write {}: {error}", directory.display()) }
    }

    /// What is said at that moment; the run goes on.
    pub fn warning(&self) -> Event {
        let what = if self.trials == 0 { "the result is" } else { "the following trials are" };
        Event::Warning(format!("{what} not stored, only shown at the end: {}", self.why))
    }
}
