//! `cargo xtask live`: settings under a production workload, on a loop device that two fio processes use.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::build;
use crate::lab::{Done, is_root, live, turn};

/// The moments of the kills are drawn from this.
const SEED: u64 = 20_261_123;
/// Maximum number of winners in twenty studies of identical levels.
const MOST_WINNERS: u32 = 3;

type Check = fn(&Path) -> Done<String>;

const CHECKS: [(&str, Check); 4] = [
    ("throttled", live::throttled),
    ("taken-back", live::taken_back),
    ("doubled", live::doubled),
    ("closed-loop", live::closed_loop),
];

#[derive(Args)]
pub struct LiveOptions {
    /// Run only throttled, taken-back, doubled, closed-loop, kills or identical
    #[arg(long, value_name = "CHECK")]
    only: Option<String>,
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Studies of identical levels
    #[arg(long, default_value_t = 20)]
    studies: u32,
    /// Program to test [default: build it]
    #[arg(long)]
    program: Option<PathBuf>,
}

pub fn run(options: LiveOptions) -> Done<bool> {
    let LiveOptions { only, kills, studies, program } = options;
    if !is_root() {
        return Err("needs root to create loop devices".to_owned());
    }
    let program = program.map_or_else(|| build::assay(&[]), Ok)?;
    let is_wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    for (_, check) in CHECKS.iter().filter(|(name, _)| is_wanted(name)) {
        let _turn = turn()?;
        println!("{}", check(&program)?);
    }
    let print = |line: &str| println!("{line}");
    if is_wanted("kills") {
        let _turn = turn()?;
        let longest = live::kill(&program, kills, SEED, print)?;
        println!("{kills} kills: everything restored within {} ms", longest.as_millis());
    }
    if !is_wanted("identical") {
        return Ok(true);
    }
    let winners = live::identical(&program, studies, print)?;
    println!("{winners} of {studies} studies of identical levels found a winner");
    Ok(winners <= MOST_WINNERS)
}
