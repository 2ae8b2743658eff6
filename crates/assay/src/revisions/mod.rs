//! Commits of the user's repository, each in a separate tree that is built once and stored.
//!
//! The repository is only read: a tree is a clone that borrows its objects, because `git worktree add` would write to
//! the repository. A tree is built in its final place, because builds embed paths; a mark written last shows that it is
//! complete.

mod git;
mod repository;
mod submodules;
#[cfg(test)]
mod tests;
mod trees;

use std::fmt;

use assay_core::failure::Failure;

pub use repository::{Commit, Repository};
pub use trees::{
    CommitTree, Removal, StoredTree, Trees, complete_trees, directory, incomplete_trees, remove,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The directory contains no repository, or the revision is unknown.
    Mistake(String),
    Refused(String),
    DoesNotBuild {
        commit: Commit,
        build: String,
        /// Exit status: `ended with exit code 2`.
        ending: String,
        /// Last lines of its output.
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
        let text = error.to_string();
        match error {
            Error::Mistake(_) => Self::mistake(text),
            Error::Refused(_) => Self::refused(text),
            Error::DoesNotBuild { .. } => Self::broken(text),
            Error::Stopped => Self::interrupted(text),
        }
    }
}
