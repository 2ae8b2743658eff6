//! `cargo xtask kills` and `signals`: studies that change the machine, killed or ended by signals at random moments. At
//! the first violation, the chore ends with an error.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::build;
use crate::lab::kills::hands::impatient;
use crate::lab::kills::{self, Kills};
use crate::lab::{Done, is_root};

/// The moments are drawn from these.
const KILLS_SEED: u64 = 20_261_120;
const SIGNALS_SEED: u64 = 20_261_122;

/// Kills this number of runs of a program, the moments drawn from a seed, and reports each.
type Kill = fn(&Path, u32, u64, &mut dyn FnMut(&str)) -> Done<Kills>;

/// Each module of `assay_testkit::kills` describes its studies and the restored state.
const SUBJECTS: [(&str, Kill); 5] = [
    ("settings", kills::kill),
    ("memory", kills::memory::kill),
    ("network", kills::network::kill),
    ("stacks", kills::stacks::kill),
    ("names", kills::stacks::kill_named_again),
];

#[derive(Args)]
pub struct KillsOptions {
    /// Subject: settings, memory, network, stacks or names
    #[arg(long, value_name = "SUBJECT", default_value = SUBJECTS[0].0)]
    only: String,
    #[arg(long, default_value_t = 200)]
    count: u32,
    /// Program to test [default: a release build]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Kills and recovers, and prints what it observed.
pub fn run(options: &KillsOptions) -> Done<bool> {
    let KillsOptions { only, count, program } = options;
    let subject = SUBJECTS.iter().find(|(name, _)| name == only);
    let (_, kill) = subject.ok_or_else(|| {
        let names = SUBJECTS.map(|(name, _)| name).join(", ");
        format!("--only {only}: unknown; use one of {names}")
    })?;
    let program = start(program.as_deref())?;
    let kills = kill(&program, *count, KILLS_SEED, &mut |line: &str| println!("{line}"))?;
    print_counts(&[
        ("runs killed before their end", Some(kills.killed)),
        ("runs that ended before the kill", Some(kills.ended)),
        ("kills after which something had to be restored", Some(kills.put_back)),
        ("restored items", Some(kills.things)),
        ("finished trials, all still stored", kills.trials),
        ("studies resumed and completed", kills.resumed),
    ]);
    Ok(true)
}

/// Ends studies with signals, and prints what it observed.
pub fn run_signals(count: u32) -> Done<bool> {
    let program = start(None)?;
    let endings = impatient(&program, count, SIGNALS_SEED, &mut |line: &str| println!("{line}"))?;
    print_counts(&[
        ("ended before the first signal", Some(endings.by_itself)),
        ("signaled after the last trial, complete result", Some(endings.too_late)),
        ("signaled, everything restored at exit", Some(endings.asked)),
        ("ended at once by a third signal, restored by `assay restore`", Some(endings.at_once)),
        ("killed, restored by `assay restore`", Some(endings.killed)),
        ("of the last two, runs with something to restore", Some(endings.put_back)),
    ]);
    Ok(true)
}

fn start(program: Option<&Path>) -> Done<PathBuf> {
    if !is_root() {
        return Err("needs root to create loop devices".to_owned());
    }
    crate::print_machine();
    build::program(program)
}

fn print_counts(rows: &[(&str, Option<u32>)]) {
    for (what, count) in rows {
        if let Some(count) = count {
            println!("{what}: {count}");
        }
    }
}
