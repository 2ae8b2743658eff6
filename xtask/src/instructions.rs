//! `cargo xtask instructions`: instructions per operation of the null engine, counted by callgrind. Unlike a time, the
//! count is the same on a busy machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{EngineKind, Job, Mix, Pattern, Target};

use crate::build::run_optimized;
use crate::lab::{Done, Scratch, has};

/// Instructions of an operation of the null engine at a depth of 128: above that the chore fails. It had 243 when
/// this stood first; the limit goes down with it and never up.
const MOST_INSTRUCTIONS: f64 = 160.0;
/// Operations of the shorter of two runs, of which the difference counts.
const COUNTED: u64 = 200_000;
const COUNTER: &str = "valgrind";
const AREA_BYTES: u64 = 256 << 20;

/// Counts, or only runs this number of operations to be counted.
pub fn run(operations: Option<u64>) -> Done<bool> {
    if let Some(operations) = operations {
        return null(operations).map(|()| true);
    }
    if cfg!(debug_assertions) {
        return run_optimized();
    }
    if !has(COUNTER) {
        println!("SKIP instructions: {COUNTER} is not in PATH");
        return Ok(true);
    }
    let each = instructions()?;
    println!(
        "null engine, depth 128: {each:.0} instructions per operation (limit {MOST_INSTRUCTIONS:.0})"
    );
    // Below one instruction per operation, nothing ran.
    Ok((1.0..=MOST_INSTRUCTIONS).contains(&each))
}

/// So many operations of the engine that does nothing.
fn null(operations: u64) -> Done<()> {
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

/// Instructions of an operation of the null engine, by callgrind: of twice as many operations less once, so that
/// what starts and ends the program is in neither.
fn instructions() -> Done<f64> {
    let [once, twice] = [COUNTED, 2 * COUNTED].map(collected);
    Ok((twice? - once?) / COUNTED as f64)
}

/// Instructions of this very program that runs so many operations.
fn collected(operations: u64) -> Done<f64> {
    let scratch = Scratch::new("callgrind")?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let file: PathBuf = scratch.path().join("out");
    let run = Command::new(COUNTER)
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&program)
        .args(["instructions", "--operations", &operations.to_string()])
        .output()
        .map_err(|error| format!("{COUNTER}: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return Err(format!("below {COUNTER}: {}: {text}", run.status));
    }
    count_of(&text).ok_or_else(|| format!("callgrind printed no count: {text}"))
}

/// `==123== Collected : 4567890`.
fn count_of(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_from_what_callgrind_says() {
        let text = "==9== Events    : Ir\n==9== Collected : 48612345\n==9==\n";
        assert_eq!(count_of(text), Some(48_612_345.0));
        assert_eq!(count_of("==9== nothing"), None);
    }
}
