//! A repository of the user, which is only read.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_core::outside;
use assay_machine::system::System;
use assay_machine::system::identity::Caller;
use serde::{Deserialize, Serialize};

use super::Error;
use super::git::{Hands, LONG, SHORT, complaint, ended};
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
    pub(super) hands: Hands<'s>,
    /// Path of its work tree, or of a bare repository.
    path: PathBuf,
    has_files: bool,
    /// Directories with the user's repositories of submodules.
    pub(super) modules: Vec<PathBuf>,
}

impl Repository<'static> {
    /// Opens the repository that contains a directory of this machine.
    ///
    /// # Errors
    /// Fails if git finds no repository, or is not installed.
    pub fn at(directory: &Path) -> Result<Self, Error> {
        Self::on(&MACHINE, directory)
    }
}

impl<'s> Repository<'s> {
    /// Does the same for any machine.
    ///
    /// # Errors
    /// Fails if git finds no repository, or is not installed.
    pub fn on(system: &'s dyn System, directory: &Path) -> Result<Self, Error> {
        let hands = Hands::new(system);
        let no_repository = |why: &dyn std::fmt::Display| {
            let directory = directory.display();
            Error::Mistake(format!("{directory} is not in a git repository: {why}"))
        };
        let place = system.canonical(directory).map_err(|error| no_repository(&error))?;
        let ask = ["rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
        let executed = hands.git(&place, &ask, SHORT)?;
        if ended(&executed).is_some() {
            return Err(no_repository(&complaint(&executed)));
        }
        let text = executed.heard.text();
        let mut lines = text.lines();
        let has_files = lines.next() == Some("true");
        // The second path may be relative to the directory.
        let mut next_path = || place.join(lines.next().unwrap_or_default());
        let (own_git, common) = (next_path(), next_path());
        let common = system.canonical(&common).map_err(|error| no_repository(&error))?;
        let path = if has_files {
            let top = hands.output(&place, &["rev-parse", "--show-toplevel"], SHORT)?;
            PathBuf::from(top.trim_end_matches('\n'))
        } else {
            common.clone()
        };
        let modules = [own_git, common].map(|directory| directory.join(MODULES)).into();
        Ok(Self { hands, path, has_files, modules })
    }

    /// Runs git as this user instead of the caller of sudo; `None` is the user of this process.
    #[must_use]
    pub fn run_by(mut self, caller: Option<Caller>) -> Self {
        self.hands.caller = caller;
        self
    }

    #[must_use]
    pub fn stopped_by(mut self, stop: &'s AtomicBool) -> Self {
        self.hands.stop = stop;
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
        let executed = self.hands.git(&self.path, &["rev-parse", "--verify", &commit], SHORT)?;
        if ended(&executed).is_some() {
            return Err(no_commit(&complaint(&executed)));
        }
        let id = executed.heard.text().trim().to_owned();
        let commits = self.commits_of(&["rev-list", "--max-count=1", FORMAT, &id])?;
        commits.into_iter().next().ok_or_else(|| no_commit("git does not list the commit"))
    }

    /// Returns whether tracked files differ from the commit.
    pub fn is_changed(&self) -> Result<bool, Error> {
        if !self.has_files {
            return Ok(false);
        }
        let ask = ["status", "--porcelain", "--untracked-files=no"];
        self.hands.output(&self.path, &ask, LONG).map(|text| !text.is_empty())
    }

    fn commits_of(&self, words: &[&str]) -> Result<Vec<Commit>, Error> {
        let text = self.hands.output(&self.path, words, LONG)?;
        let commit = |line: &str| {
            // Before each commit comes a line with only its ID.
            let (id, subject) = line.split_once('\t')?;
            Some(Commit { id: id.to_owned(), subject: outside::spelled(subject).into_owned() })
        };
        Ok(text.lines().filter_map(commit).collect())
    }
}
