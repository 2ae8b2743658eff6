//! `assay show`: a stored result as a table or as JSON.

use std::path::Path;

use clap::Args;

use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::system::{System, identity};
use assay_report::document::Detail;
use assay_study::results::cache::{self, Cache};
use assay_study::results::imported::{self, SCREEN};

/// Show a result (default: the latest)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay show                  show the latest result
  assay show 20261120-1031    show the result with this ID
  assay show --full           show all comparisons, metrics, devices and probes
  assay show --forum          print narrow text to paste into a forum
  assay show --json           print findings for scripts")]
pub struct ShowArguments {
    #[arg(value_name = "ID|PATH", help = format!("{}{}", super::ID_OR_BUNDLE, super::LATEST))]
    result: Option<String>,
    /// Show all comparisons, metrics, devices and probe costs
    #[arg(long)]
    full: bool,
    /// Print narrow text without host name, serial number and paths
    ///
    /// For a forum or email. The text contains the commands of a study of commands as you typed them.
    #[arg(long, conflicts_with_all = ["full", "json"])]
    forum: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &ShowArguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())?;
    let findings = || store::findings_at(system, &directory);
    if arguments.json {
        output::document(&assay_report::json(&findings()?));
    } else if arguments.forum {
        output::text(&assay_report::text::forum(&findings()?));
    } else {
        let detail = if arguments.full { Detail::Full } else { Detail::Usual };
        let make = || Ok(output::screen(system, &findings()?, detail));
        output::painted(&stored(system, &directory, detail, make)?);
    }
    Ok(())
}

/// What a terminal shows of a result. Reading a large table takes seconds, so Assay stores this text with an import.
pub(super) fn stored(
    system: &dyn System,
    directory: &Path,
    detail: Detail,
    make: impl FnOnce() -> Outcome<String>,
) -> Outcome<String> {
    // Assay writes nothing next to files at other paths.
    let is_stored = identity::results_directory(system).is_ok_and(|it| directory.starts_with(it));
    if !is_stored || !imported::is_one(system, directory) {
        return make();
    }
    let mut cache = Cache::open(system, &directory.join(SCREEN));
    let how = format!("{detail:?} {} {}", output::columns(system), output::colour(system));
    cache.add(how, cache::stamp_below(system, directory, SCREEN), make)?;
    Ok(cache.keep().collect())
}
