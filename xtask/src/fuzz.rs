//! `cargo xtask fuzz`: many damaged files for each reader.

#[path = "../../crates/assay/tests/fuzz/readers.rs"]
#[allow(clippy::unwrap_used, reason = "the list is that of a test")]
mod readers;

use std::fs;
use std::time::Instant;

use clap::Args;

use crate::build;
use crate::lab::Done;
use crate::lab::fuzz::{self, Finding, Ran};
use readers::readers;

const FOLDER: &str = "target/fuzz-findings";
const MOST_BYTES: u64 = 1 << 30;

#[derive(Args)]
pub struct FuzzOptions {
    /// Damaged files, over all readers
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// Run only one reader or one group of readers, such as csv or import
    #[arg(long, value_name = "READER")]
    only: Option<String>,
    #[arg(long, default_value_t = 20_261_122)]
    seed: u64,
}

pub fn run(options: &FuzzOptions) -> Done<bool> {
    let FuzzOptions { count, only, seed } = options;
    let mut chosen = readers();
    let names: Vec<String> = chosen.iter().map(|reader| reader.name.clone()).collect();
    chosen.retain(|reader| only.as_ref().is_none_or(|only| is_selected(&reader.name, only)));
    if chosen.is_empty() {
        return Err(format!("--only: use one of {}", names.join(", ")));
    }
    crate::print_machine();
    let (parts, mut failed) = (chosen.len() as u64, 0);
    for (index, reader) in (0..).zip(chosen) {
        // The first readers get the remainder.
        let share = count / parts + u64::from(index < count % parts);
        let began = Instant::now();
        let ran = fuzz::run(&reader, share, *seed)?;
        let (name, Ran { executions, accepted, longest, findings, .. }) = (&reader.name, &ran);
        println!(
            "{name}: {executions} in {} s, {accepted} accepted, {} failed; slowest {} ms, longest {} KiB",
            began.elapsed().as_secs(),
            findings.len(),
            ran.slowest.as_millis(),
            longest >> 10,
        );
        store_findings(name, findings, *seed)?;
        failed += findings.len();
    }
    let peak = peak_bytes();
    println!("{count} inputs, {failed} failed; at most {} MiB of memory", peak >> 20);
    Ok(failed == 0 && peak <= MOST_BYTES)
}

/// Whether `only` names a reader or its group.
fn is_selected(name: &str, only: &str) -> bool {
    name == only || name.split_once('/').is_some_and(|(group, _)| group == only)
}

/// Stores inputs that failed, and prints them.
fn store_findings(reader: &str, findings: &[Finding], seed: u64) -> Done<()> {
    let folder = build::root().join(FOLDER);
    for found in findings {
        let name = reader.replace('/', "-");
        let path = folder.join(format!("{name}-{seed}-{}", found.number));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&path, &found.input))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let start: String = String::from_utf8_lossy(&found.input).chars().take(300).collect();
        println!("{reader}: input {}: {}", found.number, found.what);
        println!("    stored in {}: {}", path.display(), start.escape_debug());
    }
    Ok(())
}

/// Returns the peak memory of this process.
fn peak_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}
