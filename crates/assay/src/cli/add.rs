//! Results that somebody else measured: `assay import FILE.assay`, and `assay add` as it was called.

use std::path::{Path, PathBuf};

use clap::Args;

use super::output;
use crate::store::parcel;
use assay_base::failure::{Failure, Outcome};
use assay_system::system::System;

/// Add results that others handed on as files
///
/// They are marked as foreign: shown, compared and collected, and never applied, confirmed or gone on
/// with. One of them never takes the name of a result of yours, and is never the newest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay import card.assay           then it is in assay list
  assay compare 20261120 20261119-0902-foreign")]
pub struct Arguments {
    /// Files that assay export --format bundle wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    bring(system, &arguments.files, |id, file, how| {
        output::text(id);
        output::message(&format!("{}: {how}, {id}", file.display()));
        Ok(())
    })
}

/// Adds files, each for itself, and tells the id of each and how it was added.
///
/// # Errors
/// Those of all files that could not be added.
pub fn bring(
    system: &dyn System,
    files: &[PathBuf],
    mut tell: impl FnMut(&str, &Path, &str) -> Outcome<()>,
) -> Outcome<()> {
    let mut failed: Vec<Failure> = Vec::new();
    for file in files {
        let added = parcel::add(system, file).and_then(|added| {
            let how = if added.was_there { "was there already" } else { "added as foreign" };
            tell(&added.id, file, how)
        });
        match added {
            Ok(()) => {}
            Err(failure) => failed.push(failure),
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        several => {
            let messages: Vec<&str> = several.iter().map(|one| one.message.as_str()).collect();
            Err(Failure { kind: several[0].kind, message: messages.join("\n") })
        }
    }
}
