//! A tree of files as the working directory of a command's lines, created for each trial and removed afterwards.

use std::path::{Path, PathBuf};

use assay_core::quantity::units::show;
use assay_machine::system::System;
use serde::{Deserialize, Serialize};

pub use assay_core::calc::source_tree::{TreeFile, files};

pub const NAME: &str = "assay-tree";
/// A file that names its creator: no other directory of that name is ever removed.
pub const MARK: &str = ".made-by-assay";

/// Reads every file of it, like the lines that feed compilers: nothing then waits for the drive.
pub(super) const PRIME: &str = "find . -type f -exec cat {} + > /dev/null";

/// Copied files reach the drive before the measurement.
const SYNC: &str = "{ sync -f . 2> /dev/null || sync; }";

/// A build needs this many times the space of its source.
const BUILT_TIMES: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceTree {
    Generated {
        /// The files, without the main program and headers.
        c_files: u64,
        bytes: u64,
        lines: u64,
    },
    /// A copy of a user's directory, which is only read.
    Copied { source: String },
}

impl SourceTree {
    pub(super) fn generated(c_files: u64) -> Self {
        let files = files(c_files);
        let bytes = files.iter().map(|(_, text)| text.len() as u64).sum();
        let lines = files.iter().map(|(_, text)| text.lines().count() as u64).sum();
        Self::Generated { c_files, bytes, lines }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Generated { c_files, bytes, lines } => format!(
                "a generated tree of {} C files ({}, {} lines)",
                show::count(*c_files),
                show::bytes(*bytes),
                show::count(*lines)
            ),
            Self::Copied { source } => format!("a copy of {source}"),
        }
    }

    /// The lines that create it in the target, run with the user of the command.
    pub(super) fn creation_lines(&self, program: &str) -> Vec<String> {
        let program = shell_words::quote(program);
        match self {
            Self::Generated { c_files, .. } => {
                vec![format!("{program} tree {NAME} --c-files {c_files}")]
            }
            Self::Copied { source } => {
                let source = shell_words::quote(source);
                vec![
                    format!("{program} tree {NAME}"),
                    format!("cp -a {source}/. {NAME}/ && {SYNC}"),
                ]
            }
        }
    }

    /// Returns a message if a generated tree and its build need more space than is free.
    pub(super) fn space_shortage(&self, system: &dyn System, target: &Path) -> Option<String> {
        let Self::Generated { bytes, .. } = self else { return None };
        let space = system.space(target).ok()?;
        let needed = bytes.saturating_mul(BUILT_TIMES);
        (space.available_bytes < needed).then(|| {
            format!(
                "not enough space for {} and its build products: about {} needed, {} free in {}",
                self.words(),
                show::bytes(needed),
                show::bytes(space.available_bytes),
                target.display()
            )
        })
    }
}

pub(super) fn place(target: &Path) -> PathBuf {
    target.join(NAME)
}

pub(super) fn removal_line() -> String {
    format!("rm -rf {NAME}")
}

/// Whether a tree of an earlier trial exists; fails if Assay did not create the directory.
pub(super) fn check_left(system: &dyn System, target: &Path) -> Result<bool, String> {
    let place = place(target);
    if system.status(&place).is_err() {
        return Ok(false);
    }
    if system.status(&place.join(MARK)).is_ok() {
        return Ok(true);
    }
    Err(format!("{} already exists and was not created by Assay; move it away", place.display()))
}
