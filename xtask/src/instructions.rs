//! `cargo xtask instructions`: instructions per operation of the null engine, counted by callgrind. Unlike a time, the
//! count is the same on a busy machine.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{EngineKind, Job, Mix, Pattern, Target};

use crate::build::run_optimized;
use crate::lab::{Done, has};

/// Limit of instructions per operation at queue depth 128. The first count was 243; decrease the limit with the count,
/// and never increase it.
const MOST_INSTRUCTIONS: f64 = 145.0;
/// Operations of the shorter of two runs.
const COUNTED: u64 = 200_000;
const COUNTER: &str = "valgrind";
const AREA_BYTES: u64 = 256 << 20;

/// Counts, or only runs this number of operations to be counted.
pub fn run(operations: Option<u64>) -> Done<bool> {
    if let Some(operations) = operations {
        return run_null(operations).map(|()| true);
    }
    if cfg!(debug_assertions) {
        return run_optimized();
    }
    if !has(COUNTER) {
        println!("SKIP instructions: {COUNTER} is not in PATH");
        return Ok(true);
    }
    let each = count_per_operation()?;
    println!(
        "null engine, depth 128: {each:.0} instructions per operation (limit {MOST_INSTRUCTIONS:.0})"
    );
    // Below one instruction per operation, nothing ran.
    Ok((1.0..=MOST_INSTRUCTIONS).contains(&each))
}

/// Runs this number of operations of the null engine.
fn run_null(operations: u64) -> Done<()> {
    let job = Job {
        depth: 128,
        time: Duration::from_secs(3600),
        operations: Some(operations),
        ..Job::base(Pattern::Random, Mix::READS, 4096, 0..AREA_BYTES, 1)
    };
    let target = Target { file: None, memory_alignment: 4096 };
    let done = assay_load::run(&job, &EngineKind::Null, &target, &AtomicBool::new(false));
    done.map(drop).map_err(|error| error.to_string())
}

/// Counts instructions per operation: the difference between two runs excludes the start and the end of the program.
fn count_per_operation() -> Done<f64> {
    let [once, twice] = [COUNTED, 2 * COUNTED].map(count);
    Ok((twice? - once?) / COUNTED as f64)
}

/// Counts the instructions of this program if it runs this number of operations.
fn count(operations: u64) -> Done<f64> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new(COUNTER)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&program)
        .args(["instructions", "--operations", &operations.to_string()])
        .output()
        .map_err(|error| format!("{COUNTER}: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return Err(format!("{COUNTER}: {}: {text}", run.status));
    }
    parse_count(&text).ok_or_else(|| format!("callgrind printed no count: {text}"))
}

/// Parses `==123== Collected : 4567890`.
fn parse_count(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_from_what_callgrind_says() {
        let text = "==9== Events    : Ir\n==9== Collected : 48612345\n==9==\n";
        assert_eq!(parse_count(text), Some(48_612_345.0));
        assert_eq!(parse_count("==9== nothing"), None);
    }
}
