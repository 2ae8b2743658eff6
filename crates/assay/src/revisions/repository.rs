//! A repository of the user, which is only read.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_core::outside;
use assay_machine::system::System;
use assay_machine::system::identity::Caller;
use serde::{Deserialize, Serialize};

use super::Error;
use super::git::{LONG, ProgramRunner, SHORT, error_lines, has_failed};
use assay_runner::real::Real;

static MACHINE: Real = Real::new();

/// Format of a commit: its ID and, after a tab, its subject.
const FORMAT: &str = "--format=%H%x09%s";
pub(super) const MODULES: &str = "modules";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Complete ID, 40 or 64 hexadecimal digits.
    pub id: String,
    pub subject: String,
}

#[derive(Clone, Debug)]
pub struct Repository<'s> {
    pub(super) runner: ProgramRunner<'s>,
    /// Path of its work tree, or of a bare repository.
    path: PathBuf,
    has_files: bool,
    /// Directories that may contain the user's repositories of submodules.
    pub(super) modules: Vec<PathBuf>,
}

impl Repository<'static> {
    /// Opens the repository that contains a directory of this machine. Fails like [`Repository::open_on`].
    pub fn open(directory: &Path) -> Result<Self, Error> {
        Self::open_on(&MACHINE, directory)
    }
}

impl<'s> Repository<'s> {
    /// Opens the repository of a directory of any machine. Fails if git finds no repository, or is not installed.
    pub fn open_on(system: &'s dyn System, directory: &Path) -> Result<Self, Error> {
        let runner = ProgramRunner::new(system);
        let no_repository = |why: &dyn std::fmt::Display| {
            let directory = directory.display();
            Error::Mistake(format!("{directory} is not in a git repository: {why}"))
        };
        let place = system.canonical(directory).map_err(|error| no_repository(&error))?;
        let query =
            ["rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
        let executed = runner.git(&place, &query, SHORT)?;
        if has_failed(&executed) {
            return Err(no_repository(&error_lines(&executed)));
        }
        // One line per question.
        let text = executed.heard.text();
        let mut lines = text.lines();
        let has_files = lines.next() == Some("true");
        let git_directory = PathBuf::from(lines.next().unwrap_or_default());
        // This path may be relative to the directory.
        let common = place.join(lines.next().unwrap_or_default());
        let common = system.canonical(&common).map_err(|error| no_repository(&error))?;
        let path = if has_files {
            let top = runner.git_output(&place, &["rev-parse", "--show-toplevel"], SHORT)?;
            PathBuf::from(top.trim_end_matches('\n'))
        } else {
            common.clone()
        };
        // A linked work tree has a git directory of its own.
        let modules = vec![git_directory.join(MODULES), common.join(MODULES)];
        Ok(Self { runner, path, has_files, modules })
    }

    /// Runs git as this user instead of the caller of sudo; `None` is the user of this process.
    #[must_use]
    pub fn run_by(mut self, caller: Option<Caller>) -> Self {
        self.runner.caller = caller;
        self
    }

    #[must_use]
    pub fn stopped_by(mut self, stop: &'s AtomicBool) -> Self {
        self.runner.stop = stop;
        self
    }

    /// Returns the top of its work tree, or the path of a bare repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resolves a revision to a commit: a branch, a tag, `HEAD~3`.
    pub fn resolve(&self, rev: &str) -> Result<Commit, Error> {
        let no_commit = |why: &str| {
            let (rev, path) = (outside::spelled(rev), self.path.display());
            Error::Mistake(format!("{rev} is not a commit of {path}: {why}"))
        };
        // Git would read it as an option, and no name starts this way.
        if rev.is_empty() || rev.starts_with('-') {
            return Err(no_commit("give a branch, a tag or a commit"));
        }
        let commit = format!("{rev}^{{commit}}");
        let executed = self.runner.git(&self.path, &["rev-parse", "--verify", &commit], SHORT)?;
        if has_failed(&executed) {
            return Err(no_commit(&error_lines(&executed)));
        }
        let id = executed.heard.text().trim().to_owned();
        let query = ["rev-list", "--max-count=1", FORMAT, &id];
        let text = self.runner.git_output(&self.path, &query, LONG)?;
        // Git prints a line without a tab first.
        let Some((id, subject)) = text.lines().find_map(|line| line.split_once('\t')) else {
            return Err(no_commit("git does not list the commit"));
        };
        Ok(Commit { id: id.to_owned(), subject: outside::spelled(subject).into_owned() })
    }

    /// Returns whether tracked files differ from the checked-out commit.
    pub fn has_changes(&self) -> Result<bool, Error> {
        if !self.has_files {
            return Ok(false);
        }
        let query = ["status", "--porcelain", "--untracked-files=no"];
        self.runner.git_output(&self.path, &query, LONG).map(|text| !text.is_empty())
    }
}
