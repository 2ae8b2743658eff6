//! `assay show`: a stored result as a table or as JSON.

use clap::Args;

use super::output;
use crate::store;
use assay_base::failure::Outcome;
use assay_report::document::Detail;
use assay_system::system::System;

/// Show a result (default: the latest)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay show                  show the latest result
  assay show 20261120-1031    show the result with this ID prefix
  assay show --full           show all comparisons, metrics, devices and probes
  assay show --forum          print narrow text to paste into a forum
  assay show --json           print findings for scripts")]
pub struct Arguments {
    /// Result ID, unique prefix or bundle [default: the latest]
    #[arg(value_name = "ID|PATH")]
    result: Option<String>,
    /// Show all comparisons, metrics, devices and probe costs
    #[arg(long)]
    full: bool,
    /// Print narrow text for a forum or email
    #[arg(long, conflicts_with_all = ["full", "json"])]
    forum: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())?;
    let findings = store::findings_at(system, &directory)?;
    if arguments.json {
        output::document(&assay_report::json(&findings));
        return Ok(());
    }
    if arguments.forum {
        let document = assay_report::document::forum(&findings);
        output::text(&assay_report::text::render(
            &document,
            assay_report::document::FORUM_COLUMNS,
            false,
        ));
        return Ok(());
    }
    let detail = if arguments.full { Detail::Full } else { Detail::Usual };
    let document = assay_report::document::with(&findings, detail);
    output::painted(&assay_report::text::render(
        &document,
        output::columns(system),
        output::colour(system),
    ));
    Ok(())
}
