//! `cargo xtask kills` and `signals`: studies that change the machine, killed or ended by signals at random moments. At
//! the first violation, the chore ends with an error.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::build;
use crate::lab::kills::hands::impatient;
use crate::lab::kills::{KillPlan, kill};
use crate::lab::{Done, is_root};

/// The moments are drawn from these.
const KILLS_SEED: u64 = 20_261_120;
const SIGNALS_SEED: u64 = 20_261_122;

#[derive(Args)]
pub struct KillsOptions {
    /// Suites to run; an unknown name lists all
    #[arg(long, value_name = "SUITE", default_values = ["settings", "race", "durability", "fleet", "stacks"])]
    only: Vec<String>,
    /// Kills per suite
    #[arg(long, default_value_t = 50)]
    count: u32,
    /// Program to test [default: a release build]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Kills and recovers, and prints the rows of docs/data/kills.csv.
pub fn run(options: &KillsOptions) -> Done<bool> {
    let KillsOptions { only, count, program } = options;
    let program = start(program.as_deref())?;
    for suite in only {
        let log = &mut |line: &str| println!("{line}");
        let plan = KillPlan { program: &program, count: *count, seed: KILLS_SEED, log };
        let kills = kill(suite, plan)?;
        print_counts(
            suite,
            &[
                ("runs killed before their end", kills.killed),
                ("runs that ended before the kill", kills.ended),
                ("kills after which something had to be restored", kills.restored),
                ("restored items", kills.items),
                ("\"finished trials, all still stored\"", kills.trials),
                ("studies resumed and completed", kills.resumed),
            ],
        );
    }
    Ok(true)
}

/// Ends studies with signals, and prints what it observed.
pub fn run_signals(count: u32) -> Done<bool> {
    let program = start(None)?;
    let endings = impatient(&program, count, SIGNALS_SEED, &mut |line: &str| println!("{line}"))?;
    print_counts(
        "signals",
        &[
            ("ended before the first signal", endings.by_itself),
            ("\"signaled after the last trial, complete result\"", endings.too_late),
            ("\"signaled, everything restored at exit\"", endings.asked),
            ("\"ended at once by a third signal, restored by assay restore\"", endings.at_once),
            ("\"killed, restored by assay restore\"", endings.killed),
            ("\"of the last two, runs with something to restore\"", endings.restored),
        ],
    );
    Ok(true)
}

fn start(program: Option<&Path>) -> Done<PathBuf> {
    if !is_root() {
        return Err("needs root to create loop devices".to_owned());
    }
    crate::print_machine();
    build::program(program)
}

fn print_counts(suite: &str, rows: &[(&str, u32)]) {
    for (outcome, count) in rows {
        println!("{suite},{outcome},{count}");
    }
}
