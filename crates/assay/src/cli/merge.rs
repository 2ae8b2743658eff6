//! `assay merge`: one result of those that hosts of a fleet kept, copied by hand.

use clap::Args;

use super::{output, running};
use crate::store;
use assay_base::failure::{Failure, Outcome};
use assay_study::results::headline;
use assay_system::system::{System, identity};

/// One result of those that the hosts of a fleet kept
///
/// Where rank 0 was lost, or nothing could be gathered: copy the result of each host here (assay export
/// --format bundle, assay import) and name them. Rates are summed over the window that all share, histograms
/// are added bucket by bucket, and percentiles come from the sum. A rank whose result is missing is named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay merge n0/20261126-101500-1f2e n1/20261126-101500-77ab
  assay merge 20261126-1015-1 20261126-1015-7")]
pub struct Arguments {
    /// Results of hosts of one fleet: ids, beginnings of ids, or paths of bundles
    #[arg(value_name = "ID|PATH", required = true)]
    results: Vec<String>,
    #[command(flatten)]
    how: running::Printing,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let found = arguments.results.iter().map(|wanted| store::find(system, Some(wanted)));
    let directories = found.collect::<Outcome<Vec<_>>>()?;
    let results = identity::results_directory(system)?;
    let directory = store::merge::merge(system, &directories, &results)?;
    let findings = store::findings_at(system, &directory)?;
    // Where it cannot be kept, a list has a line less.
    let _ = headline::keep(system, &directory, &assay_report::document::headline(&findings));
    running::tell(system, &findings, true, arguments.how);
    let lost = findings.hosts.as_ref().map_or(0, |hosts| hosts.began.saturating_sub(hosts.left));
    if lost > 0 {
        return Err(Failure::partial(format!(
            "of {lost} hosts not all trials are here: the numbers say which"
        )));
    }
    if !arguments.how.quiet && !arguments.how.json {
        output::message(&format!("made of {} results", directories.len()));
    }
    Ok(())
}
