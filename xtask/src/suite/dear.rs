//! Tests that are dear: whoever writes leaves out those that need nothing but half a second of processors or more, and
//! `all` takes a sixth of these, and of those of the machine that take a second, at a time.

use std::collections::BTreeSet;
use std::fs;

use super::format::rust_files;
use super::parts;
use crate::build::root;
use crate::lab::Done;
use crate::lab::needs;
use crate::programs::Test;

/// A test that is dear is marked so at its place: what it needs ends with its seconds of processors, rounded up. One
/// that needs nothing else a plain `cargo test` calls ignored, too.
const MARK: (&str, &str) = ("\"needs ", " s: cargo xtask test\"");
/// A run of `all` takes a sixth of them, by the half of the day: all within three days where there are runs before noon and
/// after it, within six where there is one a day.
const TURNS: u64 = 6;

/// A function of this tree that is marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    function: String,
    cost_s: u64,
    pub needs_time_alone: bool,
}

impl Mark {
    /// Whether a test is a function of this name.
    pub fn is_of(&self, test: &str) -> bool {
        test.rsplit("::").next() == Some(&self.function)
    }
}

/// Dear tests of some that there are.
pub struct Dear<'t> {
    tests: Vec<(Mark, &'t str)>,
    /// Functions that are marked and no test, or several, of which one would be left out with the other.
    pub unclear: Vec<String>,
}

impl<'t> Dear<'t> {
    /// Those among these.
    pub fn among(tests: &'t [Test]) -> Done<Self> {
        Ok(Self::of(marks()?, tests))
    }

    fn of(marks: Vec<Mark>, tests: &'t [Test]) -> Self {
        let (mut dear, mut unclear) = (Vec::new(), Vec::new());
        let is_one = |name: &&str| only(tests.iter().filter(|test| test.name == *name)).is_some();
        for mark in marks {
            let named = tests.iter().filter(|test| test.is_ignored && mark.is_of(&test.name));
            match only(named).map(|test| test.name.as_str()).filter(is_one) {
                Some(name) => dear.push((mark, name)),
                None => unclear.push(mark.function),
            }
        }
        Self { tests: dear, unclear }
    }

    /// Those that have their turn another time. One whose counts are wanted in full now has it now.
    pub fn of_another_turn(&self) -> BTreeSet<String> {
        self.of_turn(parts::turn_at(parts::since(), TURNS), parts::now())
    }

    fn of_turn(&self, turn: u64, part: u64) -> BTreeSet<String> {
        let tests = self.tests.iter().map(|(mark, name)| (mark.cost_s, *name));
        let others = parts::of_other_days(tests.collect(), TURNS, turn).into_iter();
        others.filter(|name| needs::part(name) != part).collect()
    }

    /// Whether a test is ignored for its seconds alone.
    pub fn needs_time_alone(&self, test: &str) -> bool {
        self.tests.iter().any(|(mark, name)| mark.needs_time_alone && *name == test)
    }
}

fn only<T>(mut some: impl Iterator<Item = T>) -> Option<T> {
    let one = some.next();
    some.next().map_or(one, |_| None)
}

/// Functions of this tree that are marked.
pub fn marks() -> Done<Vec<Mark>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root().join(folder), &mut files)?;
    }
    let mut marks = Vec::new();
    for file in files {
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        marks.extend(marks_in(&text));
    }
    Ok(marks)
}

fn marks_in(text: &str) -> Vec<Mark> {
    let marks = text.match_indices(MARK.0).filter_map(|(at, begin)| {
        let (said, below) = text[at + begin.len()..].split_once(MARK.1)?;
        let (needs, seconds) = said.rsplit_once(", ").unwrap_or(("", said));
        let cost_s = seconds.parse().ok().filter(|_| !said.contains('"'))?;
        let function = below.split_once("fn ")?.1.split('(').next()?.to_owned();
        Some(Mark { function, cost_s, needs_time_alone: needs.is_empty() })
    });
    marks.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    fn mark(function: &str, cost_s: u64, needs_time_alone: bool) -> Mark {
        Mark { function: function.to_owned(), cost_s, needs_time_alone }
    }

    fn test(name: &str, is_ignored: bool) -> Test {
        Test { program: 0, name: name.to_owned(), is_ignored }
    }

    #[test]
    fn a_mark_names_its_function_and_seconds_and_other_needs_are_none() {
        let (begin, end) = MARK;
        let text = format!(
            "#[test]\n#[ignore = {begin}root: cargo xtask test\"]\nfn other() {{\n\
             #[test]\n#[ignore = {begin}5{end}]\nfn slow() {{\n    #[test]\n    #[ignore =\n{begin}root and git, 12{end}]\n    #[expect(x)]\n    fn slower() {{\n\
             #[test]\n#[ignore = {begin}root, 3 s: cargo xtask test long\"]\nfn long() {{\n#[ignore = {begin}some{end}]\nfn x() {{\n"
        );
        assert_eq!(marks_in(&text), [mark("slow", 5, true), mark("slower", 12, false)]);
    }

    #[test]
    fn each_dear_test_has_one_turn_of_six_and_that_of_its_counts() {
        let tests: Vec<Test> =
            (0..32).map(|number| test(&format!("t::t{number:02}"), true)).collect();
        let marks = (0..32).map(|number| mark(&format!("t{number:02}"), number, number % 2 == 0));
        let dear = Dear::of(marks.collect(), &tests);
        assert_eq!(dear.unclear, Vec::<String>::new());
        assert!(dear.needs_time_alone("t::t00") && !dear.needs_time_alone("t::t01"));
        assert!(!dear.needs_time_alone("t00"));
        let mut times = vec![0; tests.len()];
        for turn in 0..TURNS {
            let others = dear.of_turn(turn, needs::PARTS);
            assert!((26..=27).contains(&others.len()), "{}", others.len());
            for (times, test) in times.iter_mut().zip(&tests) {
                *times += usize::from(!others.contains(&test.name));
            }
        }
        assert!(times.iter().all(|times| *times == 1), "{times:?}");
        let of_part = |test: &Test| !dear.of_turn(0, needs::part(&test.name)).contains(&test.name);
        assert!(tests.iter().all(of_part));
        let turns = |hours: [u64; 6]| hours.map(|hour| parts::turn_at(hour * 3600, TURNS));
        assert_eq!(turns([3, 15, 27, 39, 51, 63]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(turns([15, 39, 63, 87, 111, 135]), [3, 4, 5, 0, 1, 2], "one run a day");
    }

    #[test]
    fn a_mark_of_no_test_or_of_several_is_unclear() {
        let unclear = |functions: &[&str], tests: &[Test]| {
            let marks = functions.iter().map(|function| mark(function, 1, true)).collect();
            Dear::of(marks, tests).unclear
        };
        let tests = [test("a::one", false), test("b::two", true), test("c::two", false)];
        assert_eq!(unclear(&["two"], &tests), Vec::<String>::new(), "one of them is ignored");
        assert_eq!(unclear(&["one", "three"], &tests), ["one", "three"]);
        let both = [test("b::two", true), test("c::two", true)];
        assert_eq!(unclear(&["two"], &both), ["two"]);
        let of_two_programs = [test("b::two", true), test("b::two", false)];
        assert_eq!(unclear(&["two"], &of_two_programs), ["two"], "one name of two programs");
    }
}
