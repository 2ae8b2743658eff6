//! Commits of a repository of the user's, each in a tree of our own that is built once and kept.
//!
//! The repository is only read: `git worktree add` would write into it, so that a tree is a clone that borrows
//! its objects. A tree is built where it stays, because builds write their own place into what they make; the
//! mark that is written last says that it is whole.

mod git;
mod repository;
mod submodules;
#[cfg(test)]
mod tests;
mod trees;

use std::fmt;

use assay_core::failure::Failure;

pub use repository::{Commit, Repository};
pub use trees::{Lying, Removal, Tree, Trees, directory, kept, remove, unfinished};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What was named is no repository, or no commit of it.
    Mistake(String),
    Refused(String),
    DoesNotBuild {
        commit: Commit,
        build: String,
        /// How that ended: `ended with exit code 2`.
        ending: String,
        /// The last lines of what it said.
        lines: Vec<String>,
    },
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(text) | Self::Refused(text) => formatter.write_str(text),
            Self::DoesNotBuild { commit, build, ending, lines } => {
                let Commit { id, subject } = commit;
                write!(formatter, "commit {id} ({subject}) does not build: `{build}` {ending}")?;
                if lines.is_empty() {
                    return formatter.write_str(", without output");
                }
                write!(formatter, "; its last output:\n{}", lines.join("\n"))
            }
            Self::Stopped => formatter
                .write_str("interrupted while creating revision trees; complete ones remain"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let told = error.to_string();
        match error {
            Error::Mistake(_) => Self::mistake(told),
            Error::Refused(_) => Self::refused(told),
            Error::DoesNotBuild { .. } => Self::broken(told),
            Error::Stopped => Self::interrupted(told),
        }
    }
}
