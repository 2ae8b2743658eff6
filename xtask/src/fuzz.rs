//! `cargo xtask fuzz`: damaged texts of others, many of them, for each reader.

#[path = "../../crates/assay/tests/fuzz/readers.rs"]
#[allow(clippy::unwrap_used, reason = "the list is that of a test")]
mod readers;

use std::fs;
use std::time::Instant;

use clap::Args;

use crate::build;
use crate::lab::Done;
use crate::lab::fuzz::{self, Ran, Reader};
use readers::readers;

/// Where inputs that do harm are kept.
const KEPT: &str = "target/fuzz-findings";
/// Memory that this process may come to need, whatever it is given to read.
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
    chosen.retain(|reader| only.as_ref().is_none_or(|only| is_of(&reader.name, only)));
    if chosen.is_empty() {
        return Err(format!("--only: use one of {}", names.join(", ")));
    }
    crate::print_machine();
    let (parts, mut failed) = (chosen.len() as u64, 0);
    for (index, reader) in (0..).zip(chosen) {
        // What does not divide falls to the first ones.
        let share = count / parts + u64::from(index < count % parts);
        let began = Instant::now();
        let ran = fuzz::run(&reader, share, *seed)?;
        println!("{}", line(&reader, &ran, began.elapsed().as_secs_f64()));
        keep(&reader, &ran, *seed)?;
        failed += ran.findings.len();
    }
    let peak = peak_bytes();
    println!("{count} inputs, {failed} failed; at most {} MiB of memory", peak >> 20);
    Ok(failed == 0 && peak <= MOST_BYTES)
}

/// Whether a reader is the one that is wanted, or one of the group.
fn is_of(name: &str, only: &str) -> bool {
    name == only || name.split_once('/').is_some_and(|(group, _)| group == only)
}

fn line(reader: &Reader, ran: &Ran, seconds: f64) -> String {
    let Ran { executions, accepted, slowest, longest, findings, .. } = ran;
    format!(
        "{}: {executions} in {seconds:.0} s, {accepted} accepted, {} failed; slowest {} ms, longest {} KiB",
        reader.name,
        findings.len(),
        slowest.as_millis(),
        longest >> 10,
    )
}

/// Keeps what did harm, and says how it is made again.
fn keep(reader: &Reader, ran: &Ran, seed: u64) -> Done<()> {
    let folder = build::root().join(KEPT);
    for found in &ran.findings {
        let name = reader.name.replace('/', "-");
        let path = folder.join(format!("{name}-{seed}-{}", found.number));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&path, &found.input))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let start: String = String::from_utf8_lossy(&found.input).chars().take(300).collect();
        println!("{}: input {}: {}", reader.name, found.number, found.what);
        println!("    stored in {}: {}", path.display(), start.escape_debug());
    }
    Ok(())
}

/// The most memory that this process ever had.
fn peak_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}
