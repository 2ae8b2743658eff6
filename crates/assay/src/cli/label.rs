//! `assay note` and `assay rename`: words that the user adds to a result.

use clap::Args;

use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_core::results::bundle;
use assay_core::system::System;

/// Add a note to a result
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay note 20261120-1031 \"with the new cable\"
  assay note 20261120-1031 --place \"KVM, 2 processors\"   what compare --by place calls it")]
pub struct NoteArguments {
    /// Id, or the beginning of one
    #[arg(value_name = "ID")]
    result: String,
    /// The note
    #[arg(required_unless_present = "place")]
    text: Option<String>,
    /// What the place where it was measured is called; empty for what was found
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
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
    change(system, &arguments.result, |label| {
        label.notes.extend(arguments.text);
        if let Some(name) = arguments.place {
            label.place = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        }
    })
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
