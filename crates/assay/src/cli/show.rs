//! `assay show`: a stored result as a table or as JSON.

use clap::Args;

use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_report::document::Detail;

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
    let findings = store::findings_at(system, &directory)?;
    if arguments.json {
        output::document(&assay_report::json(&findings));
        return Ok(());
    }
    if arguments.forum {
        output::text(&assay_report::text::forum(&findings));
        return Ok(());
    }
    let detail = if arguments.full { Detail::Full } else { Detail::Usual };
    output::result(system, &findings, detail);
    Ok(())
}
