//! Results with what is to be known of them where places are compared.

use assay_analysis::inference::places::Brought;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::results::bundle;

/// A result by what the user types, with the name that the user gave its place.
///
/// # Errors
/// The mistakes of [`super::find`], and what is wrong with the result.
pub fn brought(system: &dyn System, word: &str) -> Outcome<Brought> {
    let directory = super::find(system, Some(word))?;
    let findings = super::findings_at(system, &directory)?;
    super::comparable(&findings)?;
    Ok(Brought { findings, label: bundle::label(system, &directory).place })
}
