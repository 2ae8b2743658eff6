//! Machines other than this one: the program is built and packed for them, and run where it can run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::parts;
use super::skips::Skips;
use crate::build::{built_binary, cargo};
use crate::dist;
use crate::lab::process::Assay;
use crate::lab::{Done, LoopDevice, Scratch, has, is_root};

/// A small board: its program runs in an emulator.
const BOARD: &str = "aarch64-unknown-linux-musl";
/// An old machine: 32 bits, where usize is short and some kernel interfaces have no bindings. Its
/// programs run here, too.
const OLD: &str = "i686-unknown-linux-musl";
/// Machines that not every toolchain has: one of them is looked at each time, which one says the commit.
const RARE: [&str; 2] = ["armv7-unknown-linux-musleabihf", "riscv64gc-unknown-linux-musl"];
const LIMIT: Duration = Duration::from_secs(90);

/// Crates with parts that a machine of 32 bits does not compile.
const WIDE: [&str; 4] = ["--package", "assay-load", "--package", "assay-sys"];

/// Whether clippy is content with everything as it compiles for the old machine, on which most differs from this
/// one, and with what that does not compile; or, where its target cannot be had, with everything on this one.
pub fn lint(skipped: &mut Skips) -> Done<bool> {
    if let Some(reason) = missing(OLD) {
        skipped.insert(format!("other machines, {OLD}"), reason);
        return clippy(&["--workspace"]);
    }
    Ok(clippy(&["--workspace", "--target", OLD])? & clippy(&WIDE)?)
}

fn clippy(what: &[&str]) -> Done<bool> {
    let words = [&["clippy", "--all-targets"], what, &["--", "--deny", "warnings"]].concat();
    let status = cargo(&words).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// Builds and packs for both and tries what runs; skips one that is not installed and cannot be added. Of the rare
/// ones it says whether the program compiles.
pub fn check(skipped: &mut Skips) -> Done<bool> {
    let mut well = true;
    for target in [BOARD, OLD] {
        if let Some(reason) = missing(target) {
            skipped.insert(format!("other machines, {target}"), reason);
            continue;
        }
        if let Some(reason) = dist::untried(target) {
            skipped.insert(format!("other machines, run {target}"), reason);
            well &= compiles(target)?;
            continue;
        }
        let binary = built_binary(&["--target", target])?;
        well &= dist::try_packages(target, &binary)?;
        if target != OLD {
            continue;
        }
        match untried() {
            Some(reason) => {
                skipped.insert(format!("other machines, work of {OLD}"), reason.to_owned());
            }
            None => well &= run_old(&binary)?,
        }
        match untried().map(str::to_owned).or_else(dist::untried_roots) {
            Some(reason) => {
                skipped.insert(format!("other machines, roots of {OLD}"), reason);
            }
            None => well &= dist::try_roots(target, &binary)?,
        }
    }
    let rare = RARE[(parts::seed() % RARE.len() as u64) as usize];
    if let Some(reason) = missing(rare) {
        skipped.insert(format!("other machines, {rare}"), reason);
        return Ok(well);
    }
    Ok(compiles(rare)? && well)
}

/// Why there is no standard library for a target, after an attempt to get it.
pub fn missing(target: &str) -> Option<String> {
    if is_installed(target) {
        return None;
    }
    if has("rustup") {
        println!("xtask: rustup target add {target}");
        // Where it fails, the library is still missing, and that is what counts.
        let _ =
            Command::new("rustup").args(["target", "add", target]).stdin(Stdio::null()).status();
    }
    let advice = format!("the target is not installed: rustup target add {target}");
    (!is_installed(target)).then_some(advice)
}

fn is_installed(target: &str) -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told =
        Command::new(compiler).args(["--print", "target-libdir", "--target", target]).output();
    told.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir())
}

fn compiles(target: &str) -> Done<bool> {
    let words = ["check", "--package", "assay", "--target", target];
    let status = cargo(&words).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// Why the program of the old machine cannot be tried here.
fn untried() -> Option<&'static str> {
    match (std::env::consts::ARCH, is_root()) {
        ("x86_64", true) => None,
        ("x86_64", false) => Some("needs root for a loop device of its own"),
        _ => Some("its programs do not run on this machine"),
    }
}

/// Has the program of the old machine, built without optimisation, do its main work.
fn run_old(binary: &Path) -> Done<bool> {
    let scratch = Scratch::new("old")?;
    let device = LoopDevice::new(scratch.path().join("image"), 64)?;
    let assay = Assay::new(binary, &scratch.folder("home", 0o755, None)?);
    let id = format!("{}:64MiB", device.name());
    let mut well = true;
    for words in [
        vec!["check", device.device(), "--quick", "--destroy", &id, "--json"],
        vec!["doctor"],
        vec!["watch", device.device(), "--for", "3s"],
    ] {
        let ended = assay.run(&words, LIMIT)?;
        let shown = words.join(" ");
        println!(
            "xtask: {OLD}: assay {shown}: exit {} after {:.1} s",
            ended.code,
            ended.time.as_secs_f64()
        );
        if ended.code != 0 || ended.stdout.is_empty() {
            println!("{}{}", ended.stdout, ended.stderr);
            well = false;
        }
    }
    Ok(well)
}
