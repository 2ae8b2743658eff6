//! Results with what is to be known of them where places are compared.

use assay_core::analysis::places::Brought;
use assay_core::failure::Outcome;
use assay_core::results::{bundle, vouch};
use assay_core::system::System;

/// A result by what the user types, with the name that he gave its place and the state of its seal.
///
/// # Errors
/// The mistakes of [`super::find`], and what is wrong with the result.
pub fn brought(system: &dyn System, word: &str) -> Outcome<Brought> {
    let directory = super::find(system, Some(word))?;
    Ok(Brought {
        findings: super::findings_at(system, &directory)?,
        label: bundle::label(system, &directory).place,
        seal: vouch::sealed(system, &directory),
    })
}
