//! Day-to-day variation from stored results of the same study on the same target.

use assay_analysis::inference::days::Days;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::file::Study;
use assay_study::findings::Findings;
use assay_study::results::bundle::{self, Stored};
use assay_study::results::foreign;

/// Maximum number of results opened for it, the newest ones.
const MOST_READ: usize = 12;

/// Returns the day-to-day variation of single results; a default if too few results are stored.
pub fn variation(system: &dyn System, compared: &[Findings]) -> Days {
    let others = other_results_of_study(system, compared).unwrap_or_default();
    Days::of_results(&others).unwrap_or_default()
}

/// Returns stored results of the same study and target as the first of these, without these.
fn other_results_of_study(system: &dyn System, compared: &[Findings]) -> Outcome<Vec<Findings>> {
    let Some(first) = compared.first() else { return Ok(Vec::new()) };
    let wanted = bundle::frame(system, &super::find_kept(system, &first.study.id)?)?;
    let is_compared = |id: &str| compared.iter().any(|result| result.study.id == id);
    let directories = super::all_results(system)?.into_iter().filter(|directory| {
        !foreign::is_one(system, directory)
            && bundle::frame(system, directory)
                .is_ok_and(|stored| !is_compared(&stored.id) && is_same_study(&stored, &wanted))
    });
    let newest = directories.take(MOST_READ);
    let findings = newest.filter_map(|directory| super::findings_at(system, &directory).ok());
    Ok(findings.filter(|findings| is_same_target(findings, first)).collect())
}

/// Returns whether two results have the same study, ignoring the seed.
fn is_same_study(left: &Stored, right: &Stored) -> bool {
    let without_seed = |stored: &Stored| Study { seed: None, ..stored.study.clone() };
    without_seed(left) == without_seed(right)
}

/// Returns whether two results have the same targets on the same drives.
fn is_same_target(left: &Findings, right: &Findings) -> bool {
    let (left, right) = (&left.environment.targets, &right.environment.targets);
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            left.name == right.name && left.drive == right.drive && left.serial == right.serial
        })
}
