//! `assay add`: a result that somebody else measured.

use std::path::PathBuf;

use clap::Args;

use super::output;
use crate::store::parcel;
use assay_core::failure::{Failure, Outcome};
use assay_core::system::System;

/// Add results that others handed on as files
///
/// They are marked as foreign: shown, compared and collected, and never applied, confirmed or gone on
/// with. One of them never takes the name of a result of yours, and is never the newest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay add card.assay              then it is in assay list
  assay compare 20261120 20261119-0902-foreign")]
pub struct Arguments {
    /// Files that assay bundle wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Runs the command: each file for itself.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let mut failed: Vec<Failure> = Vec::new();
    for file in &arguments.files {
        match parcel::add(system, file) {
            Ok(added) => {
                output::text(&added.id);
                let how = if added.was_there { "was there already" } else { "added as foreign" };
                output::message(&format!("{}: {how}, {}", file.display(), added.id));
            }
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
