//! `cargo run -p xtask --features schema -- schemas`: the JSON Schemas under docs/reference/schemas, generated from the
//! types of the documents.

use std::fs;

use crate::build::root;
use crate::lab::Done;

/// Writes the schemas, or reports which ones are stale.
pub fn run(check: bool) -> Done<bool> {
    let mut is_current = true;
    for (name, text) in assay::cli::generated_schemas() {
        let path = root().join("docs/reference/schemas").join(name);
        if !check {
            fs::write(&path, text).map_err(|error| format!("{name}: {error}"))?;
        } else if fs::read_to_string(&path).ok() != Some(text) {
            println!("{name} is stale; run cargo run -p xtask --features schema -- schemas");
            is_current = false;
        }
    }
    Ok(is_current)
}
