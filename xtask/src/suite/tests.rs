//! Running cargo's tests: what passed, what failed, and what only seems to have passed.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use super::{parts, skips};
use crate::build::{cargo, cargo_text};
use crate::lab::Done;
use crate::lab::needs;

/// What came out of some runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    passed: u64,
    failed: u64,
    /// Whether cargo was content; tests that could not be built are not counted.
    pub well: bool,
}

impl Count {
    /// Adds it to those of other steps: a line each.
    pub fn add_to(&self, list: &Path) -> Done<()> {
        let line = format!("{} {}\n", self.passed, self.failed);
        let file = OpenOptions::new().append(true).create(true).open(list);
        let added = file.and_then(|mut file| file.write_all(line.as_bytes()));
        added.map_err(|error| format!("{}: {error}", list.display()))
    }

    /// The sum of those that were added.
    pub fn read_from(list: &Path) -> Self {
        let text = fs::read_to_string(list).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let number = |word: &str| word.parse::<u64>().unwrap_or_default();
        pairs.fold(Self::default(), |sum, (passed, failed)| Self {
            passed: sum.passed + number(passed),
            failed: sum.failed + number(failed),
            ..sum
        })
    }

    /// One line; what skipped is no pass.
    pub fn told(&self, skipped: usize) -> String {
        let passed = self.passed.saturating_sub(skipped as u64);
        format!("{passed} passed, {} failed, {skipped} skipped", self.failed)
    }

    /// Adds a line like `test result: ok. 3 passed; 1 failed; ...`.
    fn read(&mut self, line: &str) {
        let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for part in counts.split("; ") {
            match part.split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// Names of all tests, or of those that the harness chooses by these words.
pub fn names(what: &[&str], which: &[&str]) -> Done<Vec<String>> {
    let text = cargo_text(&[&["test"], what, &["--", "--list"], which].concat())?;
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Runs cargo with these words; tests are told what counts in full, and tell in the list why they skip.
pub fn run(words: &[&str], counts: &str, list: &Path) -> Done<Count> {
    let mut command = cargo(words);
    command.env(needs::LIST, list).env(needs::COUNTS, counts).stdout(Stdio::piped());
    command.env(needs::SEED, parts::seed().to_string());
    let mut child = command.spawn().map_err(|error| format!("cargo test: {error}"))?;
    let mut count = Count::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            count.read(&line);
            println!("{}", honest(&line, list));
        }
    }
    let status = child.wait().map_err(|error| format!("cargo test: {error}"))?;
    count.well = status.success();
    Ok(count)
}

/// The harness calls a test that returned early ok.
fn honest(line: &str, list: &Path) -> String {
    let name = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... ok"));
    let reason = name.and_then(|name| skips::listed(list).remove(name));
    match (name, reason) {
        (Some(name), Some(reason)) => format!("test {name} ... skipped, {reason}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;
    use crate::lab::Scratch;

    #[test]
    fn results_are_summed() {
        let mut count = Count::default();
        for line in [
            "test result: ok. 70 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.04s",
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s",
            "test a ... ok",
        ] {
            count.read(line);
        }
        assert_eq!(count.told(1), "71 passed, 3 failed, 1 skipped");
        let scratch = Scratch::new("counts").unwrap();
        let list = scratch.path().join("list");
        assert_eq!(Count::read_from(&list), Count::default());
        count.add_to(&list).unwrap();
        count.add_to(&list).unwrap();
        assert_eq!(Count::read_from(&list).told(0), "144 passed, 6 failed, 0 skipped");
    }

    #[test]
    fn a_test_that_skipped_is_not_called_ok() {
        let scratch = Scratch::new("honest").unwrap();
        let list = scratch.path().join("list");
        std::fs::write(&list, "a::b: needs root\n").unwrap();
        assert_eq!(honest("test a::b ... ok", &list), "test a::b ... skipped, needs root");
        assert_eq!(honest("test a::c ... ok", &list), "test a::c ... ok");
        assert_eq!(honest("test a::b ... FAILED", &list), "test a::b ... FAILED");
    }
}
