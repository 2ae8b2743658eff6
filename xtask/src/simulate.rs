//! `cargo xtask simulate`: builds the simulation with optimisation and runs it.

use crate::build::{cargo, root};
use crate::lab::Done;
use crate::options::Options;

/// Options with a word that are handed on.
pub const WORDS: &[&str] = &["--studies", "--seed", "--only"];

/// What cargo does for it; its own words follow.
const CALL: [&str; 5] = ["run", "--release", "--package", "assay-simulation", "--"];

/// Runs the suite, or one scenario of it.
pub fn run(options: &Options) -> Done<bool> {
    let folder = root().join("target/measurements");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let page = folder.join("simulation.md").display().to_string();
    let given = WORDS.iter().filter_map(|name| Some([*name, options.text(name)?]));
    let mut words: Vec<&str> = given.flatten().collect();
    if options.has("--write") {
        words.extend(["--page", &page]);
    }
    let status = cargo(&[&CALL[..], &words].concat()).status();
    Ok(status.map_err(|error| format!("cargo: {error}"))?.success())
}
