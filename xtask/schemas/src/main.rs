//! Makes the JSON Schemas of the documents that the program prints, from the types that it writes them from, as they
//! stand in the sources of a tree: a field is in the schema with its words as soon as it is in the type. Prints one
//! JSON object: schemas by the names of their files.
//!
//! What is written by hand stands in [`documents`]: which type a format has. [`sources`] finds types, [`schema`] makes
//! of one what `serde` makes of its values.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

mod attributes;
mod documents;
mod schema;
mod sources;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(root) = std::env::args().nth(1) else {
        eprintln!("assay-schemas ROOT");
        return ExitCode::from(2);
    };
    match documents::all(Path::new(&root)) {
        Ok(all) => {
            println!("{}", serde_json::Value::Object(all));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("assay-schemas: {error}");
            ExitCode::FAILURE
        }
    }
}
