//! `cargo xtask test`: everything that must hold before a change lands.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::build::cargo;
use crate::lab::{Done, Scratch, is_root};
use crate::options::Options;
use crate::{browser, packages, pages, skips, tree};

const CLIPPY: [&str; 7] =
    ["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"];

/// The statistics on studies whose truth is known, as often as the bounds were chosen for; without
/// optimisation that would take ten times as long.
const SIMULATE: [&str; 9] =
    ["run", "--release", "--quiet", "--package", "xtask", "--", "simulate", "--studies", "4000"];

/// Runs all steps, also after one failed, and sums up.
pub fn run(options: &Options) -> Done<bool> {
    let mut steps = Steps::default();
    packages::install();
    if !options.has("--no-lints") {
        steps.take("cargo fmt --check", || quiet(&["fmt", "--all", "--check"]));
        steps.take("cargo clippy", || quiet(&CLIPPY));
        steps.take("packages of the default tree", tree::check);
        steps.take("generated pages", || pages::stale().map(|stale| stale.is_empty()));
    }
    let scratch = Scratch::new("suite")?;
    let listed = scratch.path().join("skips");
    let mut skipped = skips::Skips::new();
    steps.take("cargo test", || {
        let (passed, told) = tests(&listed, options.has("--long"))?;
        skipped = skips::read(&skips::text(&listed));
        skipped.extend(skips::printed(&told));
        Ok(passed)
    });
    steps.take("simulated studies", || quiet(&SIMULATE));
    steps.take("pages in a browser", || browser::run(options));
    let strict = is_root() && std::env::var_os("CI").is_some();
    steps.take("skipped tests", || {
        for (name, reason) in &skipped {
            println!("xtask: skipped {name}: {reason}");
        }
        println!("xtask: {} skipped", skipped.len());
        Ok(skips::judge(&skipped, &skips::expected(), strict))
    });
    Ok(steps.sum_up())
}

fn quiet(arguments: &[&str]) -> Done<bool> {
    let status = cargo(arguments).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// Runs all tests, those on the real machine included; returns what went to standard error too.
fn tests(listed: &Path, long: bool) -> Done<(bool, String)> {
    fs::write(listed, "").map_err(|error| format!("{}: {error}", listed.display()))?;
    let more: &[&str] = if long { &["--", "--include-ignored"] } else { &[] };
    let mut child = cargo(&[&["test", "--workspace", "--no-fail-fast"], more].concat())
        .env("ASSAY_MACHINE_TESTS", "1")
        .env("ASSAY_SKIPS", listed)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo test: {error}"))?;
    let mut told = String::new();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            told.push_str(&line);
            told.push('\n');
        }
    }
    let status = child.wait().map_err(|error| format!("cargo test: {error}"))?;
    Ok((status.success(), told))
}

#[derive(Default)]
struct Steps {
    lines: Vec<String>,
    failed: bool,
}

impl Steps {
    fn take(&mut self, name: &str, step: impl FnOnce() -> Done<bool>) {
        println!("xtask: {name} ...");
        // A step's own output must not overtake this line.
        let _ = std::io::stdout().flush();
        let start = Instant::now();
        let word = match step() {
            Ok(true) => "ok".to_owned(),
            Ok(false) => "FAILED".to_owned(),
            Err(error) => format!("FAILED: {error}"),
        };
        self.failed |= word != "ok";
        let line = format!("xtask: {name}: {word} ({:.1} s)", start.elapsed().as_secs_f64());
        println!("{line}");
        self.lines.push(line);
    }

    fn sum_up(&self) -> bool {
        println!("\n{}", self.lines.join("\n"));
        println!("xtask: {}", if self.failed { "FAILED" } else { "everything holds" });
        !self.failed
    }
}
