//! Plans and records of older versions, brought to the form of this one when they are read.
//!
//! A plan names its format; the records beside it are of the same. Nothing is ever written back: a
//! study goes on only in the format in which it began.

mod evidence;
mod work;

use std::path::Path;

use assay_base::failure::{Failure, Outcome};
use assay_base::json::from_value;
use serde_json::Value;

use super::cut;
use super::plan::{FORMAT, Plan};
use super::record::TrialRecord;

/// The format before this one.
const FIRST: &str = "assay-plan/1";

/// Refuses plans of formats that this version does not read.
pub fn known(path: &Path, format: &str) -> Outcome<()> {
    if [FIRST, FORMAT].contains(&format) {
        return Ok(());
    }
    Err(Failure::mistake(format!(
        "{} has format {format}; this version of assay reads {FIRST} and {FORMAT}: use the version that wrote it, or a newer one",
        path.display()
    )))
}

/// A plan of a known format. Its field `format` stays: it tells what its records are.
pub fn plan(text: &str, format: &str) -> serde_json::Result<Plan> {
    if format == FORMAT {
        return cut::json(text);
    }
    let mut plan: Value = cut::json(text)?;
    work::plan_from_first(&mut plan);
    from_value(&plan)
}

/// A record beside a plan of a known format.
pub fn record(line: &str, format: &str) -> serde_json::Result<TrialRecord> {
    if format == FORMAT {
        return cut::json(line);
    }
    let mut record: Value = cut::json(line)?;
    work::record_from_first(&mut record);
    if let Some(evidence) = record.get_mut("evidence") {
        evidence::from_first(evidence);
    }
    from_value(&record)
}
