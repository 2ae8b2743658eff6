//! The oldest Rust that the workspace promises (`rust-version`): it is fetched, and all programs are checked with it.

use std::process::{Command, Stdio};

use super::skips::Skips;
use crate::build::{WRAPPER, beside_builds, root};
use crate::lab::{Done, has};

const VERSION: &str = env!("CARGO_PKG_RUST_VERSION");
/// A folder of its own: what another compiler left is of no use to it, and it must not push that out.
const FOLDER: &str = "oldest";
/// What it is called where it is skipped (crates/assay/tests/expected-skips.txt has it: a network that is down says
/// nothing of a change).
const NAME: &str = "oldest Rust";
/// Variables of the compiler that runs this, which would be asked in its place.
const OF_THIS_ONE: [&str; 5] = ["CARGO", "LD_LIBRARY_PATH", "RUSTC", WRAPPER, "RUSTUP_TOOLCHAIN"];

/// Whether the programs compile with it; skipped, with the reason, where it cannot be had.
pub fn check(skipped: &mut Skips) -> Done<bool> {
    if let Some(reason) = missing() {
        skipped.insert(NAME.to_owned(), reason);
        return Ok(true);
    }
    println!("xtask: cargo check with Rust {VERSION}");
    let words = ["run", VERSION, "cargo", "check", "--locked", "--workspace", "--target-dir"];
    let mut command = rustup(&words);
    // What is kept for the next build of a changed source only takes room here.
    command.arg(beside_builds(FOLDER)).env("CARGO_INCREMENTAL", "0");
    let status = command.status();
    let status = status.map_err(|error| format!("rustup: {error}"))?;
    Ok(status.success())
}

/// Why it is not here, after an attempt to get it.
fn missing() -> Option<String> {
    if is_installed() {
        return None;
    }
    let install = ["toolchain", "install", VERSION, "--profile", "minimal", "--no-self-update"];
    if !has("rustup") {
        return Some(format!("Rust {VERSION} is not here, and rustup, which has it, neither"));
    }
    println!("xtask: rustup {}", install.join(" "));
    // Where it fails, the compiler is still missing, and that is what counts.
    let _ = rustup(&install).status();
    (!is_installed()).then(|| format!("rustup could not fetch Rust {VERSION}"))
}

fn is_installed() -> bool {
    let told = rustup(&["run", VERSION, "rustc", "--version"]).output();
    told.is_ok_and(|told| told.status.success())
}

fn rustup(words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(words).current_dir(root()).stdin(Stdio::null());
    for name in OF_THIS_ONE {
        command.env_remove(name);
    }
    command
}
