//! `cargo xtask simulate`: builds the simulation with optimisation and runs it.

use std::process::{Command, Stdio};

use crate::build::{built, cargo, root};
use crate::lab::Done;
use crate::options::Options;

/// Options with a word that are handed on.
pub const WORDS: &[&str] = &["--studies", "--seed", "--only", "--sixth"];

/// What cargo does for it; its own words follow.
pub const CALL: [&str; 5] = ["run", "--release", "--package", "assay-simulation", "--"];

/// Runs the program as tests are built: to optimise what it shares with them costs more than a thousand studies do.
pub fn as_tested(words: &[&str]) -> Done<bool> {
    let program = built("assay-simulation", &["--workspace"])?;
    let status = Command::new(&program).args(words).stdin(Stdio::null()).status();
    Ok(status.map_err(|error| format!("{}: {error}", program.display()))?.success())
}

/// Runs the suite, or one scenario of it.
pub fn run(options: &Options) -> Done<bool> {
    let page = root().join("docs/measurements/simulation.md").display().to_string();
    let given = WORDS.iter().filter_map(|name| Some([*name, options.text(name)?]));
    let mut words: Vec<&str> = given.flatten().collect();
    if options.has("--write") {
        words.extend(["--page", &page]);
    }
    let status = cargo(&[&CALL[..], &words].concat()).status();
    Ok(status.map_err(|error| format!("cargo: {error}"))?.success())
}
