//! `assay compare`: results of different days or machines.

use clap::Args;

use super::output;
use crate::failure::{Failure, Outcome};
use crate::quantity::Better;
use crate::quantity::Percent;
use crate::quantity::units::show;
use crate::report;
use crate::results::Findings;
use crate::results::findings::{Comparison, Verdict};
use crate::shelf;
use crate::system::System;

/// Compare results of different days or machines with the first one
///
/// What differs around the results is told first. Where both ran the same baseline, arms are
/// compared by their ratio to it; else the plain numbers are, and a change of the machine, the
/// kernel or the weather looks like a difference: the words are weaker, and nothing is called
/// equivalent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay compare 20261120-1031 20261121-0915              then and now
  assay compare 20261120-1031 20261121-0915 --gate 5%    exit code 1 when worse by more")]
pub struct Arguments {
    /// Ids, the beginnings of some, or paths of bundles: the first one is the baseline
    #[arg(value_name = "ID", num_args = 2.., required = true)]
    results: Vec<String>,
    /// Fail with exit code 1 where a later result is worse, and by more than this
    #[arg(long, value_name = "SHARE")]
    gate: Option<String>,
    /// One JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let gate = arguments.gate.as_deref().map(share).transpose()?;
    let read = |word: &String| shelf::findings_at(system, &shelf::find(system, Some(word))?);
    let read: Vec<Findings> = arguments.results.iter().map(read).collect::<Outcome<_>>()?;
    let found = shelf::compared(&read)?;
    if arguments.json {
        output::document(&report::json(&found));
    } else {
        let document = report::document::make(&found);
        let (columns, colour) = (output::columns(system), output::colour(system));
        output::painted(&report::text::render(&document, columns, colour));
    }
    gate.map_or(Ok(()), |gate| passes(&found, gate))
}

fn share(text: &str) -> Outcome<f64> {
    let share: Percent =
        text.parse().map_err(|error| Failure::mistake(format!("--gate: {error}")))?;
    Ok(share.fraction())
}

/// Fails where a verdict is worse and the estimate is worse by more than the gate.
fn passes(found: &Findings, gate: f64) -> Outcome<()> {
    let worse_by = |one: &Comparison| -> f64 {
        let ratio = one.ratio.unwrap_or(1.0);
        match one.better {
            Better::Higher => 1.0 - ratio,
            Better::Lower => ratio - 1.0,
        }
    };
    let fails: Vec<String> = found
        .comparisons
        .iter()
        .filter(|one| one.primary && one.verdict == Some(Verdict::Worse) && worse_by(one) > gate)
        .map(|one| format!("{} by {}", one.workload, show::percent(100.0 * worse_by(one))))
        .collect();
    if fails.is_empty() {
        return Ok(());
    }
    Err(Failure::gate(format!(
        "the gate of {} failed: worse in {}",
        show::percent(100.0 * gate),
        fails.join(", ")
    )))
}
