//! `assay collection`: many results of many people as one table.

mod add;
mod build;
mod export;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output;
use crate::store::collection::Index;
use assay_base::failure::Outcome;
use assay_system::system::System;

/// Maintain a table of many drives
///
/// A collection is a folder of small files, one a row, that git merges without conflicts: a community
/// keeps one by pull requests. Whose device and machine it was is left out unless that is asked for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection add 20261120-1031 --device \"SanDisk 32 GB\" --rated A1
  assay collection build -o cards.html              one page that sorts and filters
  assay collection export -o cards.csv
  assay collection export --format markdown -o cards.md

The first rows are those that the source articles print, marked as published.
A folder of one's own is named with --dir; without it, it lies beside the results.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Folder of the collection
    #[arg(long = "dir", value_name = "DIR", global = true)]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Arguments),
    Build(build::Arguments),
    Export(export::Arguments),
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let folder = crate::store::collection::folder(system, arguments.folder.as_deref())?;
    match &arguments.command {
        Command::Add(own) => add::run(system, &folder, own),
        Command::Build(own) => build::run(system, &folder, own),
        Command::Export(own) => export::run(system, &folder, own),
    }
}

/// Names what is no row.
fn tell_refused(index: &Index) {
    for one in &index.refused {
        output::message(&format!("{} was left out: {}", one.file, one.why));
    }
    let more = index.refused_in_all - index.refused.len();
    if more > 0 {
        output::message(&format!("{more} more files are no rows and were left out"));
    }
}
