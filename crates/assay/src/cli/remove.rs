//! `assay remove`: takes results away.

use clap::Args;

use super::output;
use crate::store;
use assay_base::failure::{Failure, Outcome};
use assay_system::system::System;

/// Remove results; there is no way back
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  assay remove 20261120-103107-a3f9")]
pub struct Arguments {
    /// Ids, or beginnings that fit one result only
    #[arg(value_name = "ID", required = true)]
    results: Vec<String>,
}

/// Runs the command: every id is looked up before anything is removed.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let found: Outcome<Vec<_>> =
        arguments.results.iter().map(|id| store::find_kept(system, id)).collect();
    for directory in found? {
        system.remove_directory(&directory).map_err(|error| {
            Failure::refused(format!("{} cannot be removed: {error}", directory.display()))
        })?;
        output::message(&format!("{} removed", directory.display()));
    }
    Ok(())
}
