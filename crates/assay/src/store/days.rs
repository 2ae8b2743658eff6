//! Day-to-day variation from stored results of the same study on the same target.

use assay_analysis::inference::days::Days;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::file::Study;
use assay_study::findings::Findings;
use assay_study::results::bundle::{self, Stored};
use assay_study::results::foreign;

/// Maximum number of results opened for it, the newest ones.
const MOST: usize = 12;

/// Returns the day-to-day variation of single results; a default if too few results are stored.
pub fn apart(system: &dyn System, compared: &[Findings]) -> Days {
    let known = results_of_same_study(system, compared).unwrap_or_default();
    Days::of_results(&known).unwrap_or_default()
}

/// Returns stored results of the same study and target as the first of these, without these.
fn results_of_same_study(system: &dyn System, compared: &[Findings]) -> Outcome<Vec<Findings>> {
    let Some(first) = compared.first() else { return Ok(Vec::new()) };
    let wanted = bundle::frame(system, &super::find_kept(system, &first.study.id)?)?;
    let is_named = |id: &str| compared.iter().any(|result| result.study.id == id);
    let ours = super::kept(system)?.into_iter().filter(|path| !foreign::is_one(system, path));
    let alike = ours.filter(|directory| {
        bundle::frame(system, directory)
            .is_ok_and(|stored| !is_named(&stored.id) && is_alike(&stored, &wanted))
    });
    let read = alike.take(MOST).filter_map(|directory| super::findings_at(system, &directory).ok());
    Ok(read.filter(|result| is_of_the_same_target(result, first)).collect())
}

/// Returns whether two results have the same study, ignoring the seed.
fn is_alike(left: &Stored, right: &Stored) -> bool {
    let without_seed = |stored: &Stored| Study { seed: None, ..stored.study.clone() };
    without_seed(left) == without_seed(right)
}

fn is_of_the_same_target(left: &Findings, right: &Findings) -> bool {
    let targets = |findings: &Findings| -> Vec<(String, String, Option<String>)> {
        let targets = findings.environment.targets.iter();
        targets.map(|site| (site.name.clone(), site.drive.clone(), site.serial.clone())).collect()
    };
    targets(left) == targets(right)
}
