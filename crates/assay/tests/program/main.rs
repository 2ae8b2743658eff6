//! The program from the user's view, and the library below it on a simulated or fake machine: no root, no packages, no
//! network.
//!
//! One binary: it links once, and waiting tests leave the CPUs to others.

#![allow(clippy::disallowed_methods, reason = "these tests start the program and read their cases")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod acting;
mod advice;
mod articles;
mod boots;
mod bundles;
mod busy;
mod calc;
mod capacity;
mod ci;
mod cli;
mod collection;
mod commands;
mod compile;
mod durability;
mod endless;
mod exit_codes;
mod export;
mod fio_examples;
mod fio_jobs;
mod fitness;
mod fleet;
mod fleet_faults;
mod foreign;
mod front_door;
mod gates;
mod hostile;
mod import;
mod import_command;
mod importers;
mod most_load;
mod open_loop;
mod own_command;
mod own_numbers;
mod own_words;
mod papers;
mod parcels;
mod peer;
mod places;
mod plug;
mod races;
mod recordings;
mod replay;
mod resume;
mod revisions;
mod same_output;
mod screens;
mod site;
mod stability;
mod stacks;
mod strangers;
mod studies;
mod study_commands;
mod verify;

use std::fs::File;
use std::path::Path;
use std::process::Command;

use assay_testkit::home::Home;

/// A drive that every machine has.
const DRIVE: &str = "simulated:lognormal,mean=100us,p99=400us,servers=4";
/// A study of it: seven trials, and depth 8 is better.
const DEPTH: &str = include_str!("../../../assay-testkit/src/depth.toml");

/// Waits for a test's turn to measure in memory, because two studies in one place refuse each other. `.ci/run` runs
/// these tests as two users at once: the second can only read the first one's file.
fn turn() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("turn");
    let turn = File::create(&path).or_else(|_| File::open(&path)).unwrap();
    turn.lock().unwrap();
    turn
}

fn home(test: &str) -> Home {
    Home::new(env!("CARGO_BIN_EXE_assay"), test)
}

/// Returns the output of another program in this folder; fails if the program fails.
fn printed_by(folder: &Path, program: &str, words: &[&str]) -> String {
    let ran = Command::new(program)
        .args(words)
        .current_dir(folder)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program} {words:?}: {told}");
    String::from_utf8(ran.stdout).unwrap()
}

fn git(folder: &Path, words: &[&str]) -> String {
    let ended = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "git {words:?}: {told}");
    told
}
