//! The oldest Rust that the workspace promises (`rust-version`): it is fetched, and all programs are checked with it.

use std::process::{Command, Stdio};

use super::skips::Skips;
use crate::build::root;
use crate::lab::{Done, has};

const VERSION: &str = env!("CARGO_PKG_RUST_VERSION");
/// A folder of its own: what another compiler left is of no use to it, and it must not push that out.
const FOLDER: &str = "target/oldest";
/// Variables of the compiler that runs this, which would be asked in its place.
const OF_THIS_ONE: [&str; 4] = ["CARGO", "LD_LIBRARY_PATH", "RUSTC", "RUSTUP_TOOLCHAIN"];

/// Whether the programs compile with it; skipped, with the reason, where it cannot be had.
pub fn check(skipped: &mut Skips) -> Done<bool> {
    if let Some(reason) = missing() {
        skipped.insert(format!("oldest Rust: {VERSION}"), reason);
        return Ok(true);
    }
    println!("xtask: cargo check with Rust {VERSION}");
    let words = ["run", VERSION, "cargo", "check", "--locked", "--workspace", "--target-dir"];
    let status = rustup(&words).arg(root().join(FOLDER)).status();
    let status = status.map_err(|error| format!("rustup: {error}"))?;
    Ok(status.success())
}

/// Why it is not here, after an attempt to get it.
fn missing() -> Option<String> {
    if is_installed() {
        return None;
    }
    let install = ["toolchain", "install", VERSION, "--profile", "minimal", "--no-self-update"];
    if has("rustup") {
        println!("xtask: rustup {}", install.join(" "));
        // Where it fails, the compiler is still missing, and that is what counts.
        let _ = rustup(&install).status();
    }
    (!is_installed()).then(|| format!("not installed: rustup toolchain install {VERSION}"))
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
