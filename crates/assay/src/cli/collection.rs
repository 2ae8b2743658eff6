//! `assay collection`: many results of many people as one table.

mod add;
mod build;
mod export;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output;
use crate::store::collection::Index;
use assay_core::failure::Outcome;
use assay_machine::system::System;

/// Maintain a table of many drives
///
/// A collection is a directory of small files, one per row, which git merges without conflicts, so a community can
/// maintain a collection with pull requests. Assay omits the owners of devices and machines by default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection add 20261120-1031 --device \"SanDisk 32 GB\" --rated A1
  assay collection build -o cards.html              one sortable page
  assay collection export -o cards.csv
  assay collection export --format markdown -o cards.md

The first rows come from the source articles and are marked as published.
--dir sets the directory; the default is next to the results.")]
pub struct CollectionArguments {
    #[command(subcommand)]
    command: CollectionCommand,
    /// Use the collection in this directory
    #[arg(long = "dir", value_name = "DIR", global = true)]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum CollectionCommand {
    Add(add::CollectionAddArguments),
    Build(build::CollectionBuildArguments),
    Export(export::CollectionExportArguments),
}

pub fn run(system: &dyn System, arguments: &CollectionArguments) -> Outcome<()> {
    let folder = crate::store::collection::folder(system, arguments.folder.as_deref())?;
    match &arguments.command {
        CollectionCommand::Add(own) => add::run(system, &folder, own),
        CollectionCommand::Build(own) => build::run(system, &folder, own),
        CollectionCommand::Export(own) => export::run(system, &folder, own),
    }
}

fn print_refused(index: &Index) {
    for (file, why) in &index.refused {
        output::message(&format!("skipped {file}: {why}"));
    }
    let more = index.refused_in_all - index.refused.len();
    if more > 0 {
        output::message(&format!("skipped {more} more files that are not rows"));
    }
}
