//! Requirements of tests, and how a test reports that it cannot run here.
//!
//! A test without its requirements prints `SKIP name: reason` to standard error, past the capture of the test harness,
//! and returns. Tests marked `#[ignore = "nightly: ..."]` run in `.ci/nightly` only.

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;

use crate::volume::Filesystem;
use crate::{has, is_root};

/// The file to which reasons are appended, one line a test.
pub const LIST: &str = "ASSAY_SKIPS";
/// Set to [`IN_FULL`], tests run all of their cases instead of a sample (`.ci/nightly`).
pub const COUNTS: &str = "ASSAY_COUNTS";
pub const IN_FULL: &str = "in-full";

#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Creating devices and mounts.
    Root,
    Program(&'static str),
    Volume(Filesystem),
    Path(&'static str),
}

impl Need {
    fn missing(self) -> Option<String> {
        match self {
            Self::Root => (!is_root()).then(|| "needs root".to_owned()),
            Self::Program(name) => (!has(name)).then(|| format!("needs the program {name}")),
            Self::Volume(kind) => kind.missing(),
            Self::Path(path) => {
                (!std::path::Path::new(path).exists()).then(|| format!("needs {path}"))
            }
        }
    }
}

/// Returns whether all requirements are met; prints the missing ones.
pub fn have(needs: &[Need]) -> bool {
    let missing = needs.iter().find_map(|need| need.missing());
    if let Some(reason) = &missing {
        skip(reason);
    }
    missing.is_none()
}

/// Reports that the running test is skipped, past the capture of the test harness.
pub fn skip(reason: &str) {
    let line = format!("{}: {}\n", running(), one_line(reason));
    // A failed print must not fail the test.
    let _ = std::io::stderr().write_all(format!("SKIP {line}").as_bytes());
    let Some(list) = std::env::var_os(LIST) else { return };
    let list = OpenOptions::new().append(true).create(true).open(list);
    let _ = list.and_then(|mut list| list.write_all(line.as_bytes()));
}

/// Returns whether twice as many threads as CPUs are runnable, over a minute.
pub fn is_crowded() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    is_crowd(&text, processors)
}

fn is_crowd(loadavg: &str, processors: usize) -> bool {
    let load = loadavg.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    load.is_some_and(|load| load > 2.0 * processors as f64)
}

/// Returns whether something waited for a CPU during most of the last minute.
pub fn is_pressed() -> bool {
    is_pressure(&std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default())
}

fn is_pressure(text: &str) -> bool {
    let percent = text.split_whitespace().find_map(|word| word.strip_prefix("avg60="));
    percent.and_then(|percent| percent.parse::<f64>().ok()).is_some_and(|percent| percent > 50.0)
}

/// Returns whether other processes use the CPUs.
pub fn is_busy() -> bool {
    is_crowded() || is_pressed()
}

/// The usual count of a test, or its full count.
pub fn count(usual: u32, full: u32) -> u32 {
    if is_in_full() { full } else { usual }
}

/// Returns whether a test takes the case at this index: every one in full, else one in `one_in`.
pub fn is_sampled(index: u64, one_in: u64) -> bool {
    is_in_full() || index.is_multiple_of(one_in)
}

/// The seeds or widths below `all` for a test: all in full, else the first of `parts` parts.
pub fn sample(all: u64, parts: u64) -> Range<u64> {
    0..if is_in_full() { all } else { all / parts }
}

pub fn is_in_full() -> bool {
    std::env::var(COUNTS).is_ok_and(|counts| counts == IN_FULL)
}

/// The harness runs each test in a thread of its name.
fn running() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

fn one_line(reason: &str) -> String {
    let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_one() {
        assert_eq!(one_line("mount: no\n  such device\n\n"), "mount: no; such device");
    }

    #[test]
    fn one_case_in_three_is_sampled() {
        let sampled = (0..12).filter(|index| is_sampled(*index, 3)).count();
        assert_eq!(sampled, if is_in_full() { 12 } else { 4 });
        assert_eq!(sample(12, 3).count(), sampled);
    }

    #[test]
    fn a_crowd_is_twice_as_much_as_there_are_processors() {
        assert!(
            is_crowd("9.13 11.43 8.49 9/153 2036", 2) && !is_crowd("3.9 11.43 8.49 9/153 2036", 2)
        );
        assert!(!is_crowd("", 2));
    }

    #[test]
    fn pressure_is_most_of_a_minute() {
        let text = |percent: &str| {
            format!(
                "some avg10=90.00 avg60={percent} avg300=90.00 total=20\nfull avg10=0.00 avg60=99.00\n"
            )
        };
        assert!(is_pressure(&text("75.22")) && !is_pressure(&text("12.40")));
        assert!(!is_pressure(""), "a kernel that does not count it");
    }

    #[test]
    fn a_test_knows_its_name() {
        assert!(running().ends_with("a_test_knows_its_name") || running() == "main");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(Need::Path("/").missing(), None);
        assert_eq!(Need::Path("/no/such").missing().as_deref(), Some("needs /no/such"));
        let program = Need::Program("no-such-program").missing();
        assert_eq!(program.as_deref(), Some("needs the program no-such-program"));
    }
}
