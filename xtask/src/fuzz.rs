//! `cargo xtask fuzz`: damaged texts of others, many of them, for each reader.

#[path = "../../crates/assay/tests/fuzz/readers.rs"]
#[allow(clippy::unwrap_used, reason = "the list is that of a test")]
mod readers;

use std::fmt::Write;
use std::fs;
use std::time::Instant;

use crate::lab::Done;
use crate::lab::fuzz::{self, HANGS, LONGEST, Ran, Reader, SLOW};
use crate::options::Options;
use crate::{bench, build, facts};
use readers::readers;

pub const COUNT: usize = 1_000_000;
pub const SEED: usize = 20_261_122;
/// Where inputs that do harm are kept.
const KEPT: &str = "target/fuzz-findings";
/// Memory that this process may come to need, whatever it is given to read.
const MOST_BYTES: u64 = 1 << 30;

struct FuzzRow {
    reader: Reader,
    seeds: usize,
    ran: Ran,
    seconds: f64,
}

pub fn run(options: &Options) -> Done<bool> {
    let mut chosen = readers();
    let names: Vec<String> = chosen.iter().map(|reader| reader.name.clone()).collect();
    chosen.retain(|reader| options.text("--only").is_none_or(|only| is_of(&reader.name, only)));
    if chosen.is_empty() {
        return Err(format!("--only: use one of {}", names.join(", ")));
    }
    let (count, seed) = (options.number("--count"), options.number("--seed"));
    let head = facts::lines();
    let mut rows = Vec::new();
    let parts = chosen.len();
    for (index, reader) in chosen.into_iter().enumerate() {
        // What does not divide falls to the first ones.
        let share = count / parts + usize::from(index < count % parts);
        let began = Instant::now();
        let ran = fuzz::run(&reader, share as u64, seed as u64)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{}", line(&reader, &ran, seconds));
        keep(&reader, &ran, seed)?;
        let seeds = (reader.seeds)().len();
        rows.push(FuzzRow { reader, seeds, ran, seconds });
    }
    let peak = peak_bytes();
    let only = options.text("--only").map(|only| format!("--only {only} "));
    let call = format!("{}--count {count} --seed {seed}", only.unwrap_or_default());
    let page = page(&head, &call, &rows, peak);
    // A part has a page of its own beside that of all.
    let name = options.text("--only").map(|only| format!("fuzz-{}.md", only.replace('/', "-")));
    println!();
    bench::keep(options, name.as_deref().unwrap_or("fuzz.md"), &page)?;
    Ok(rows.iter().all(|row| row.ran.findings.is_empty()) && peak <= MOST_BYTES)
}

/// Whether a reader is the one that is wanted, or one of the group.
fn is_of(name: &str, only: &str) -> bool {
    name == only || name.split_once('/').is_some_and(|(group, _)| group == only)
}

fn line(reader: &Reader, ran: &Ran, seconds: f64) -> String {
    let (name, all, found) = (&reader.name, ran.executions, ran.findings.len());
    format!("{name}: {all} in {seconds:.0} s, {} accepted, {found} failed", ran.accepted)
}

/// Keeps what did harm, and says how it is made again.
fn keep(reader: &Reader, ran: &Ran, seed: usize) -> Done<()> {
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

fn page(head: &[String], call: &str, rows: &[FuzzRow], peak: u64) -> String {
    let mut page = format!(
        "# Damaged input files\n\n\
         `cargo run --profile fuzz --package xtask -- fuzz {call}`: well-formed fixtures with one to eight changes each (flipped bits, repeated or removed ranges, spliced files, numbers replaced\n\
         by boundary values, words replaced by control characters and other words, repeated, removed and\n\
         swapped lines, thousands of opening brackets), at most {} KiB long. The reader of the program reads\n\
         each input. An input fails if the reader panics (overflow panics in this build), takes more than\n\
         {} s, or hangs ({} s); the process may use at most 1 GiB. `bundle` also computes findings and\n\
         evidence, `csv` verdicts; `study`, `import/...` and `jobs` are stored and read again; `journal` is\n\
         undone on a machine in memory; `edid` has a correct checksum; `recording` is also counted, shown,\n\
         planned and replayed.\n\n{}\n\n",
        LONGEST >> 10,
        SLOW.as_secs(),
        HANGS.as_secs(),
        head.join("\n")
    );
    page.push_str(&bench::table(
        "reader | reads with | fixtures | inputs | accepted | failed | slowest | longest | time",
    ));
    for FuzzRow { reader, seeds, ran, seconds } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | `{}` | {seeds} | {} | {} | {} | {:.0} ms | {} KiB | {seconds:.0} s |",
            reader.name,
            reader.reads,
            ran.executions,
            ran.accepted,
            ran.findings.len(),
            ran.slowest.as_secs_f64() * 1e3,
            ran.longest >> 10,
        );
    }
    let all: u64 = rows.iter().map(|row| row.ran.executions).sum();
    let harm: usize = rows.iter().map(|row| row.ran.findings.len()).sum();
    let _ = writeln!(
        page,
        "\nTotal: {all} inputs, of which {harm} failed. The process used at most {} MiB.",
        peak >> 20
    );
    page
}
