//! `assay remove`: deletes results and cached builds.

use clap::Args;

use super::output;
use crate::revisions::{self, Removal};
use crate::store;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, identity};

/// Delete results or cached builds (cannot be undone)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay remove 20261120-103107-a3f9
  assay remove --builds                delete cached builds of --rev")]
pub struct RemoveArguments {
    #[arg(value_name = "ID", help = super::ID, required_unless_present = "builds")]
    results: Vec<String>,
    /// Delete the cached builds of --rev
    ///
    /// Assay keeps builds in use, and rebuilds deleted builds on demand.
    #[arg(long)]
    builds: bool,
}

/// Runs the command: every id is looked up before anything is removed.
pub fn run(system: &dyn System, arguments: &RemoveArguments) -> Outcome<()> {
    let directories: Outcome<Vec<_>> =
        arguments.results.iter().map(|id| store::find_kept(system, id)).collect();
    for directory in directories? {
        let removed = system.remove_directory(&directory);
        removed.map_err(|error| refused!("cannot remove {}: {error}", directory.display()))?;
        output::message(&format!("{} removed", directory.display()));
    }
    if arguments.builds { remove_builds(system) } else { Ok(()) }
}

/// Removes the cached builds of revisions that no process uses.
fn remove_builds(system: &dyn System) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let mut remaining = Vec::new();
    let complete = revisions::complete_trees(system, &home);
    for tree in complete.into_iter().chain(revisions::incomplete_trees(system, &home)) {
        let path = tree.path.display();
        match revisions::remove(system, &tree) {
            Removal::Removed => output::message(&format!("{path} removed")),
            Removal::InUse => remaining.push(format!("{path} is in use")),
            Removal::Failed(why) => remaining.push(format!("cannot remove {path}: {why}")),
        }
    }
    match remaining.as_slice() {
        [] => Ok(()),
        [only] => Err(Failure::refused(only.clone())),
        [first, more @ ..] => Err(refused!("{first}; {} more builds were not removed", more.len())),
    }
}
