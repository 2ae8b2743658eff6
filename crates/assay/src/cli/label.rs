//! `assay note`: words that the user adds to a result, and labels of boots.

use clap::Args;

use super::output;
use crate::store;
use assay_base::failure::{Failure, Outcome};
use assay_study::results::bundle;
use assay_system::system::System;

/// Notes, a title or a place for a result; labels for boots
///
/// Boots have no results of their own but can be labelled, for assay run boot --by label: boot is the
/// one that runs, boot:-1 the one before it, boot:-9..-4 several; an empty label takes it away.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay note 20261120-1031 \"with the new cable\"
  assay note 20261120-1031 --title \"SanDisk card, slot 2\"
  assay note 20261120-1031 --place \"KVM, 2 processors\"   what compare --by place calls it
  assay note boot:-9..-4 \"old disk\"
  assay note boot \"new disk\"")]
pub struct NoteArguments {
    /// Id, or the beginning of one; or boot, boot:-1, boot:-9..-4, boot:ID
    #[arg(value_name = "ID")]
    result: String,
    /// The note
    #[arg(required_unless_present_any = ["place", "title"])]
    text: Option<String>,
    /// Another title for the result
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What the place where it was measured is called; empty for what was found
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
}

/// Give a result another title
#[derive(Debug, Args)]
#[command(after_help = "It is assay note ID --title TEXT now.")]
pub struct RenameArguments {
    /// Id, or the beginning of one
    #[arg(value_name = "ID")]
    result: String,
    /// The title
    title: String,
}

/// Runs `assay note`.
pub fn note(system: &dyn System, arguments: NoteArguments) -> Outcome<()> {
    if let Some(rest) = arguments.result.strip_prefix("boot") {
        let which = rest.strip_prefix(':');
        if rest.is_empty() || which.is_some() {
            let more = arguments.place.is_some() || arguments.title.is_some();
            let Some(text) = arguments.text.filter(|_| !more) else {
                return Err(Failure::mistake("a boot has a label, but no --place and no --title"));
            };
            return super::boots::note(system, which, &text);
        }
    }
    change(system, &arguments.result, |label| {
        label.notes.extend(arguments.text);
        if arguments.title.is_some() {
            label.title = arguments.title;
        }
        if let Some(name) = arguments.place {
            label.place = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        }
    })
}

/// Runs `assay rename`, the older name of `assay note --title`.
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
