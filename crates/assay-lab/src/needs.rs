//! What a test needs of the machine, and how it says that it cannot run here.
//!
//! A test that needs something is marked `#[ignore = "needs ...: cargo xtask test"]`, so that a plain
//! `cargo test` never calls it passed. `cargo xtask test` runs it; what is still missing is said here,
//! and shown there as skipped.

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;

use crate::volume::Filesystem;
use crate::{has, is_root};

/// The file to which reasons are appended, one line a test.
pub const LIST: &str = "ASSAY_SKIPS";
/// What counts in full: [`IN_FULL`] for everything, or [`PART`] with a number for one part of it.
pub const COUNTS: &str = "ASSAY_COUNTS";
/// Every count (`cargo xtask test long`).
pub const IN_FULL: &str = "in-full";
/// What a name falls to that [`part`] gives this number.
pub const PART: &str = "part-";
/// The seed of a commit.
pub const SEED: &str = "ASSAY_SEED";
/// Parts of what counts in full; one for each half of the days of a week.
pub const PARTS: u64 = 14;

/// What a test needs.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Devices and mounts of our own.
    Root,
    Program(&'static str),
    /// A file system that can be made here.
    Volume(Filesystem),
    /// A file or directory of the kernel.
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

/// Whether all of it is there; says what is not.
pub fn have(needs: &[Need]) -> bool {
    let missing = needs.iter().find_map(|need| need.missing());
    if let Some(reason) = &missing {
        skip(reason);
    }
    missing.is_none()
}

/// Says that the running test does nothing (more) here, past the capture of the test harness.
pub fn skip(reason: &str) {
    let line = format!("{}: {}\n", running(), one_line(reason));
    // A reason that cannot be told must not fail a test.
    let _ = std::io::stderr().write_all(format!("SKIP {line}").as_bytes());
    let Some(list) = std::env::var_os(LIST) else { return };
    let list = OpenOptions::new().append(true).create(true).open(list);
    let _ = list.and_then(|mut list| list.write_all(line.as_bytes()));
}

/// Whether others keep the processors: twice as much wants to run as there are of them, for a minute.
pub fn is_crowded() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    is_crowd(&text, processors)
}

fn is_crowd(loadavg: &str, processors: usize) -> bool {
    let load = loadavg.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    load.is_some_and(|load| load > 2.0 * processors as f64)
}

/// Whether the processors are waited for: in most of the last minute something wanted to run and did not, as the
/// product says it of a trial where it knows no more.
pub fn is_pressed() -> bool {
    is_pressure(&std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default())
}

fn is_pressure(text: &str) -> bool {
    let percent = text.split_whitespace().find_map(|word| word.strip_prefix("avg60="));
    percent.and_then(|percent| percent.parse::<f64>().ok()).is_some_and(|percent| percent > 50.0)
}

/// Whether others have the processors, by what the kernel says: who says it again and again elsewhere is wrong.
pub fn is_busy() -> bool {
    is_crowded() || is_pressed()
}

/// A count of a test: the usual one, or the one in full.
pub fn count(usual: u32, in_full: u32) -> u32 {
    if is_in_full() { in_full } else { usual }
}

/// Where to begin among so many: another place with each commit, so that what is tried one in so many times is
/// tried everywhere in time.
pub fn first_of(many: u64) -> u64 {
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse::<u64>().ok());
    seed.unwrap_or_default() % many
}

/// Whether one of a row has its turn: each where counts are wanted in full, else one in so many, others with each
/// commit.
pub fn has_turn(at: u64, many: u64) -> bool {
    is_in_full() || (at + first_of(many)).is_multiple_of(many)
}

/// Numbers below `all`: every one where counts are wanted in full, else one part of so many, another one with
/// each commit.
pub fn part_of(all: u64, parts: u64) -> Range<u64> {
    let parts = if is_in_full() { 1 } else { parts };
    let (many, first) = (all / parts, first_of(parts));
    first * many..(first + 1) * many
}

/// Whether the counts of the running test are wanted in full.
pub fn is_in_full() -> bool {
    std::env::var(COUNTS).is_ok_and(|asked| wants_in_full(&asked, &running()))
}

fn wants_in_full(asked: &str, test: &str) -> bool {
    let of_part = |number: &str| number.parse() == Ok(part(test)) || test.contains("in_full::");
    asked == IN_FULL || asked.strip_prefix(PART).is_some_and(of_part)
}

/// The part that a test falls to by its name (FNV-1a).
pub fn part(test: &str) -> u64 {
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    test.bytes().fold(0xcbf2_9ce4_8422_2325, mixed) % PARTS
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
    fn a_test_counts_in_full_in_one_part_and_when_all_do() {
        let days = |test: &str| {
            (0..PARTS).filter(|day| wants_in_full(&format!("{PART}{day}"), test)).count()
        };
        assert_eq!((days("a::b"), days("c::d")), (1, 1));
        assert_eq!(days("presets::in_full::flash"), PARTS as usize);
        assert!(wants_in_full(IN_FULL, "a::b") && !wants_in_full("", "a::b"));
        let parts = (0..200).map(|number| part(&format!("test{number}")));
        assert_eq!(parts.collect::<std::collections::BTreeSet<_>>().len(), PARTS as usize);
    }

    #[test]
    fn one_in_so_many_has_its_turn_and_where_all_count_each_has() {
        let turns = (0..12).filter(|at| has_turn(*at, 3)).count();
        assert_eq!(turns, if is_in_full() { 12 } else { 4 });
        assert!((0..12).all(|at| has_turn(at, 1)));
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
