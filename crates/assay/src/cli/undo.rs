//! `assay advise undo`: reverts what `assay advise apply` made permanent.

use clap::Args;
use serde::Serialize;

use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_machine::system::journal::{Report, Unfinished};
use assay_runner::run::apply;

/// Undo what assay advise apply made permanent
///
/// Assay removes the files and restores each setting. If someone has changed a file since then, Assay reports the file
/// and does not change it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay advise undo                          undo the last applied changes
  assay advise undo 20261120-1031 --dry-run  show what would be undone")]
pub struct UndoArguments {
    #[arg(value_name = "ID", help = format!("{} [default: the last applied]", super::ID))]
    result: Option<String>,
    /// Show what would be undone; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &UndoArguments) -> Outcome<()> {
    let applied = apply::standing(system)?;
    let Some(wanted) = find(&applied, arguments.result.as_deref())? else {
        print_report(arguments, "", &Report::default());
        return Ok(());
    };
    let report = if arguments.dry_run {
        apply::check_unedited(system, wanted)?;
        let lines = wanted.undos().iter().rev().map(ToString::to_string).collect();
        Report { done: lines, ..Report::default() }
    } else {
        apply::undo(system, wanted)?
    };
    print_report(arguments, &wanted.id, &report);
    Ok(())
}

/// Returns the applied result; `None` if nothing is applied and none is named.
fn find<'a>(applied: &'a [Unfinished], wanted: Option<&str>) -> Outcome<Option<&'a Unfinished>> {
    let Some(wanted) = wanted else { return Ok(applied.last()) };
    let matching: Vec<&Unfinished> =
        applied.iter().filter(|result| store::is_short_for(wanted, &result.id)).collect();
    match matching.as_slice() {
        [result] if !wanted.is_empty() => Ok(Some(result)),
        [_, _, ..] => {
            let count = matching.len();
            Err(mistake!("`{wanted}` matches {count} applied results; use more of the ID"))
        }
        _ => Err(mistake!("no applied result matches `{wanted}`")),
    }
}

/// Reverted changes of `assay advise apply`.
#[derive(Serialize)]
struct UndoDocument<'a> {
    format: &'static str,
    id: &'a str,
    dry_run: bool,
    done: &'a [String],
    nothing: &'a [String],
}

fn print_report(arguments: &UndoArguments, id: &str, report: &Report) {
    if arguments.json {
        output::json(&UndoDocument {
            format: "assay-undo/1",
            id,
            dry_run: arguments.dry_run,
            done: &report.done,
            nothing: &report.nothing,
        });
        return;
    }
    let word = if arguments.dry_run { "to undo" } else { "undone" };
    let lines = report.done.iter().map(|line| format!("{word}: {line}\n"));
    let text: String =
        lines.chain(report.nothing.iter().map(|line| format!("nothing to do: {line}\n"))).collect();
    let no_changes = "no applied changes found; run with sudo to see root's changes";
    output::text(if text.is_empty() { no_changes } else { &text });
}
