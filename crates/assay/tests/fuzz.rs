//! Damaged foreign files are read or refused, and never cause a panic. A short run of `cargo xtask fuzz`.

#![allow(clippy::disallowed_methods, reason = "the seeds are files")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "fuzz/readers.rs"]
mod readers;

use assay_testkit::fuzz::{self, Reader};
use assay_testkit::needs::count;
use readers::readers;

const SEED: u64 = 1;

fn reader(name: &str) -> Reader {
    readers().into_iter().find(|reader| reader.name == name).unwrap()
}

fn short_run_of(name: &str) {
    let reader = reader(name);
    // `cargo xtask fuzz` runs a million.
    runs(&reader, count(30, 200).into());
}

/// Runs a reader; a failure prints the command to reproduce it.
fn runs(reader: &Reader, inputs: u64) {
    let name = &reader.name;
    let ran = fuzz::run(reader, inputs, SEED).unwrap();
    if let Some(found) = ran.findings.first() {
        let input = String::from_utf8_lossy(&found.input).escape_debug().to_string();
        let input: String = input.chars().take(2000).collect();
        panic!("{name}, input {} of seed {SEED}: {}\n{input}", found.number, found.what);
    }
    assert_eq!(ran.executions, inputs);
}

#[test]
#[ignore = "nightly: 1 s"]
fn damaged_bundles_are_shown_or_refused() {
    short_run_of("bundle");
}

/// Recordings get more inputs than others, because they decide what is written where. A million inputs need an
/// optimized build, `cargo xtask fuzz --only recording`.
#[test]
#[ignore = "nightly: 2 s"]
fn damaged_recordings_are_played_inside_of_the_area_or_refused() {
    runs(&reader("recording"), count(800, 10_000).into());
}

#[test]
fn damaged_studies_are_read_or_refused() {
    short_run_of("study");
}

#[test]
fn damaged_tables_are_read_or_refused() {
    short_run_of("csv");
}

#[test]
#[ignore = "nightly: 2 s"]
fn damaged_files_of_every_other_tool_are_read_or_refused() {
    for reader in readers().iter().filter(|reader| reader.name.starts_with("import/")) {
        runs(reader, count(30, 200).into());
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn damaged_job_files_are_translated_or_refused() {
    short_run_of("jobs");
}

#[test]
fn damaged_journals_are_followed_or_refused() {
    short_run_of("journal");
}

#[test]
fn damaged_edids_are_read_or_refused() {
    short_run_of("edid");
}

#[test]
fn damaged_logs_of_meters_are_read_or_refused() {
    short_run_of("meter");
}

/// Undamaged seeds are accepted; otherwise the loop would only test refusals.
#[test]
#[ignore = "nightly: 2 s"]
fn each_reader_accepts_some_of_its_seeds() {
    for reader in readers() {
        let seeds = (reader.seeds)();
        let accepted = seeds.iter().filter(|seed| (reader.read)(seed)).count();
        assert!(accepted > 0, "{}: none of {}", reader.name, seeds.len());
    }
}
