//! Machines other than this one: the program is built and packed for them, and run where it can run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::parts;
use super::skips::Skips;
use crate::build::{WRAPPER, built_binary, cargo, cargo_text, root};
use crate::dist;
use crate::lab::process::Assay;
use crate::lab::{Done, LoopDevice, Scratch, has, is_root};

/// A small board: its program runs in an emulator.
const BOARD: &str = "aarch64-unknown-linux-musl";
/// An old machine: 32 bits, where usize is short and some kernel interfaces have no bindings. Its
/// programs run here, too.
const OLD: &str = "i686-unknown-linux-musl";
/// Machines that not every toolchain has.
const RARE: [&str; 2] = ["armv7-unknown-linux-musleabihf", "riscv64gc-unknown-linux-musl"];
/// The part of the rotation that each is looked at in: all at once took longer than all else.
const TURNS: [(u64, &str); 4] = {
    let [board, old, first, second] = parts::PACKAGES;
    [(board, BOARD), (old, OLD), (first, RARE[0]), (second, RARE[1])]
};
const LIMIT: Duration = Duration::from_secs(90);

/// Crates with parts that a machine of 32 bits does not compile.
const WIDE: [&str; 4] = ["--package", "assay-load", "--package", "assay-sys"];

/// What `.ci/run` has cargo compile the workspace by: clippy looks at all that is compiled with its tests.
const LINTING: &str = ".ci/lint-tests";

/// Whether clippy is content with everything as it compiles for this machine. Where it has looked at the tests, and at all that
/// is compiled with them, cargo tells again what it said.
pub fn lint() -> Done<bool> {
    if std::env::var_os(WRAPPER).is_some_and(|wrapper| Path::new(&wrapper) == root().join(LINTING))
    {
        return lint_built();
    }
    clippy(&["--workspace"])
}

/// The same of everything as it compiles for the old machine, on which most differs from this one, and of what that does
/// not compile.
pub fn lint_old(skipped: &mut Skips) -> Done<bool> {
    if let Some(reason) = missing(OLD) {
        skipped.insert(format!("other machines, {OLD}"), reason);
        return Ok(true);
    }
    Ok(clippy(&["--workspace", "--target", OLD])? & clippy(&WIDE)?)
}

/// Whether nothing was said while the tests were built.
fn lint_built() -> Done<bool> {
    let words = ["test", "--workspace", "--no-run", "--message-format", "json"];
    let said = said(&cargo_text(&words)?);
    for text in &said {
        println!("{text}");
    }
    println!("xtask: clippy, while the tests were built: {} findings", said.len());
    Ok(said.is_empty())
}

/// Findings in what cargo tells as JSON, each once: a library is compiled with its tests and without.
fn said(told: &str) -> BTreeSet<String> {
    let messages = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_compiler = messages.filter(|message| message["reason"] == "compiler-message");
    let findings = of_compiler.filter(|message| {
        ["warning", "error"].iter().any(|level| message["message"]["level"] == *level)
    });
    let text = |message: Value| message["message"]["rendered"].as_str().map(str::to_owned);
    // A sum of findings has no place in a source.
    let findings =
        findings.filter(|message| message["message"]["spans"] != Value::Array(Vec::new()));
    findings.filter_map(text).collect()
}

fn clippy(what: &[&str]) -> Done<bool> {
    let words = [&["clippy", "--all-targets"], what, &["--", "--deny", "warnings"]].concat();
    let status = cargo(&words).env_remove(WRAPPER).status();
    Ok(status.map_err(|error| format!("cargo: {error}"))?.success())
}

/// Looks at all of them, or at those whose turn it is where some have it.
pub fn check(all: bool, skipped: &mut Skips) -> Done<bool> {
    let has_turn =
        |(part, target): &(u64, &'static str)| (*part == parts::now()).then_some(*target);
    let mut targets: Vec<&str> = TURNS.iter().filter_map(has_turn).collect();
    if all || targets.is_empty() {
        targets = TURNS.iter().map(|(_, target)| *target).collect();
    }
    let mut well = true;
    for target in targets {
        println!("xtask: packages for {target}");
        well &= look_at(target, skipped)?;
    }
    Ok(well)
}

/// Builds and packs for a machine and tries what runs; skips one that is not installed and cannot be added. Of the rare
/// ones it says whether the program compiles.
fn look_at(target: &str, skipped: &mut Skips) -> Done<bool> {
    if let Some(reason) = missing(target) {
        skipped.insert(format!("other machines, {target}"), reason);
        return Ok(true);
    }
    if RARE.contains(&target) {
        return compiles(target);
    }
    if let Some(reason) = dist::untried(target) {
        skipped.insert(format!("other machines, run {target}"), reason);
        return compiles(target);
    }
    let binary = built_binary(&["--target", target])?;
    let well = dist::try_packages(target, &binary)?;
    Ok(well & (target != OLD || try_old(&binary, skipped)?))
}

/// Has the program of the old machine do its work, here and in roots without Rust.
fn try_old(binary: &Path, skipped: &mut Skips) -> Done<bool> {
    let mut well = true;
    match untried() {
        Some(reason) => {
            skipped.insert(format!("other machines, work of {OLD}"), reason.to_owned());
        }
        None => well &= run_old(binary)?,
    }
    match untried().map(str::to_owned).or_else(dist::untried_roots) {
        Some(reason) => {
            skipped.insert(format!("other machines, roots of {OLD}"), reason);
        }
        None => well &= dist::try_roots(OLD, binary)?,
    }
    Ok(well)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_once_and_what_is_none_not_at_all() {
        let message = |level: &str, spans: &str, text: &str| {
            format!(
                r#"{{"reason":"compiler-message","message":{{"level":"{level}","spans":{spans},"rendered":"{text}"}}}}"#
            )
        };
        let told = [
            message("warning", "[{}]", "useless"),
            message("warning", "[{}]", "useless"),
            message("error", "[{}]", "denied"),
            message("warning", "[]", "2 warnings emitted"),
            message("note", "[{}]", "by the way"),
            r#"{"reason":"compiler-artifact","fresh":true}"#.to_owned(),
            "not JSON".to_owned(),
        ];
        assert_eq!(said(&told.join("\n")), ["denied", "useless"].map(str::to_owned).into());
        assert_eq!(said(&told[5]), BTreeSet::new());
    }
}
