//! `assay note` and `assay rename`: words that the user adds to a result.

use clap::Args;

use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_core::results::bundle;
use assay_core::system::System;

/// Add a note to a result
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  assay note 20261120-1031 \"with the new cable\"")]
pub struct NoteArguments {
    /// Id, or the beginning of one
    #[arg(value_name = "ID")]
    result: String,
    /// The note
    text: String,
}

/// Give a result another title
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  assay rename 20261120-1031 \"SanDisk card, slot 2\"")]
pub struct RenameArguments {
    /// Id, or the beginning of one
    #[arg(value_name = "ID")]
    result: String,
    /// The title
    title: String,
}

/// Runs `assay note`.
pub fn note(system: &dyn System, arguments: NoteArguments) -> Outcome<()> {
    change(system, &arguments.result, |label| label.notes.push(arguments.text))
}

/// Runs `assay rename`.
pub fn rename(system: &dyn System, arguments: RenameArguments) -> Outcome<()> {
    change(system, &arguments.result, |label| label.title = Some(arguments.title))
}

fn change(system: &dyn System, result: &str, edit: impl FnOnce(&mut bundle::Label)) -> Outcome<()> {
    let directory = store::find(system, Some(result))?;
    let mut label = bundle::label(system, &directory);
    edit(&mut label);
    bundle::set_label(system, &directory, &label)?;
    output::message(&format!("{} changed", directory.display()));
    Ok(())
}
