//! Tests that are dear: whoever writes leaves out those of a second of processors and more, and `all` takes a fourth
//! of these, and of those of half a second, at a time.

use std::collections::BTreeSet;
use std::fs;

use super::format::rust_files;
use super::parts;
use crate::build::root;
use crate::lab::Done;
use crate::lab::needs;

/// A test that takes a second or more and needs nothing else is marked so at its place, with its seconds between them:
/// a plain `cargo test` calls it ignored.
const MARK: (&str, &str) = ("#[ignore = \"needs ", " s: cargo xtask test\"]");
/// Others, with their milliseconds.
const LIST: &str = include_str!("dear.txt");
/// A run of `all` takes a fourth of them, by the half of the day.
const TURNS: u64 = 4;

/// Dear tests of some that there are, with their milliseconds.
pub struct Dear {
    tests: Vec<(u64, String)>,
    marked: BTreeSet<String>,
    /// What is listed or marked and names no test, or has a name that is a part of another one's, which would be left
    /// out with it.
    pub unclear: Vec<String>,
}

impl Dear {
    /// Those among these names, of which the second are ignored where nobody asks for them.
    pub fn among(names: &[String], ignored: &[String]) -> Done<Self> {
        Ok(Self::of(&listed(), &marked()?, names, ignored))
    }

    fn of(
        listed: &[(u64, String)],
        marked: &[(u64, String)],
        names: &[String],
        ignored: &[String],
    ) -> Self {
        let (mut tests, mut unclear) = (Vec::new(), Vec::new());
        let listed =
            listed.iter().map(|(cost, name)| (cost, name, is_clear(name, names).then_some(name)));
        let of_mark = |function: &String| {
            let one = only(ignored.iter().filter(|name| last(name) == function))?;
            is_clear(one, names).then_some(one)
        };
        let marked: Vec<_> =
            marked.iter().map(|(cost, function)| (cost, function, of_mark(function))).collect();
        for (cost, said, name) in listed.chain(marked.iter().copied()) {
            match name {
                Some(name) => tests.push((*cost, name.clone())),
                None => unclear.push(said.clone()),
            }
        }
        let marked = marked.into_iter().filter_map(|(_, _, name)| name.cloned()).collect();
        Self { tests, marked, unclear }
    }

    /// Those that have their turn another time. One whose counts are wanted in full now has it now.
    pub fn of_another_turn(&self) -> Vec<String> {
        self.of_turn(turn_at(parts::since()), parts::now())
    }

    fn of_turn(&self, turn: u64, part: u64) -> Vec<String> {
        let tests = self.tests.iter().map(|(cost, name)| (*cost, name.as_str()));
        let mut others = parts::of_other_days(tests.collect(), TURNS, turn);
        others.retain(|name| needs::part(name) != part);
        others
    }

    /// Those that are marked at their place.
    pub fn marked(&self) -> impl Iterator<Item = &String> {
        self.marked.iter()
    }
}

/// Whether there is one test of a name, and no other whose name has it within.
fn is_clear(name: &str, names: &[String]) -> bool {
    only(names.iter().filter(|known| known.contains(name))).is_some_and(|only| only == name)
}

fn only<T>(mut some: impl Iterator<Item = T>) -> Option<T> {
    let one = some.next();
    some.next().map_or(one, |_| None)
}

/// The function of a test.
pub fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// All turns come within two days where there are runs before noon and after it, within four where there is one a day.
fn turn_at(time_s: u64) -> u64 {
    let is_after_noon = time_s % parts::DAY_S >= parts::DAY_S / 2;
    (time_s / parts::DAY_S + u64::from(is_after_noon) * TURNS / 2) % TURNS
}

fn listed() -> Vec<(u64, String)> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(cost, name)| Some((cost.parse().ok()?, name.to_owned()))).collect()
}

/// Functions of this tree that are marked, with their milliseconds.
pub fn marked() -> Done<Vec<(u64, String)>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root().join(folder), &mut files)?;
    }
    let mut marked = Vec::new();
    for file in files {
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        marked.extend(marked_in(&text));
    }
    Ok(marked)
}

fn marked_in(text: &str) -> Vec<(u64, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let seconds = |line: &str| -> Option<u64> {
        line.strip_prefix(MARK.0)?.strip_suffix(MARK.1)?.parse().ok()
    };
    let marks = lines.iter().enumerate().filter_map(|(at, line)| Some((at, seconds(line)?)));
    let function = |at: usize| {
        let below = lines[at..].iter().find_map(|line| line.strip_prefix("fn "))?;
        below.split('(').next().map(str::to_owned)
    };
    marks.filter_map(|(at, seconds)| Some((seconds * 1000, function(at)?))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_mark_names_its_function_and_seconds_and_other_needs_are_none() {
        let (begin, end) = MARK;
        let text = format!(
            "#[test]\n{begin}5{end}\nfn slow() {{\n    #[test]\n    {begin}12{end}\n    #[expect(x)]\n    fn slower() {{\n\
             #[test]\n{begin}root{end}\nfn other() {{\n#[test]\n{begin}half a minute: cargo xtask test long\"]\nfn long() {{\n"
        );
        let expected = [(5000, "slow"), (12_000, "slower")];
        assert_eq!(marked_in(&text), expected.map(|(cost, name)| (cost, name.to_owned())));
    }

    #[test]
    fn each_dear_test_has_one_turn_of_four_and_that_of_its_counts() {
        let names: Vec<String> = (0..32).map(|number| format!("tests::t{number:02}")).collect();
        let (listed, marked) = names.split_at(16);
        let listed = listed.iter().zip(1..).map(|(name, cost)| (cost, name.clone()));
        let with_marks = marked.iter().zip(17..).map(|(name, cost)| (cost, last(name).to_owned()));
        let (listed, with_marks): (Vec<_>, Vec<_>) = (listed.collect(), with_marks.collect());
        let dear = Dear::of(&listed, &with_marks, &names, marked);
        assert_eq!(dear.unclear, Vec::<String>::new());
        assert_eq!(dear.marked().cloned().collect::<Vec<_>>(), marked);
        let mut times = vec![0; names.len()];
        for turn in 0..TURNS {
            let others = dear.of_turn(turn, needs::PARTS);
            assert_eq!(others.len(), 24);
            for (times, name) in times.iter_mut().zip(&names) {
                *times += usize::from(!others.contains(name));
            }
        }
        assert!(times.iter().all(|times| *times == 1), "{times:?}");
        let of_part = |name: &String| !dear.of_turn(0, needs::part(name)).contains(name);
        assert!(names.iter().all(of_part));
        let turns = |hours: [u64; 4]| hours.map(|hour| turn_at(hour * 3600));
        assert_eq!(turns([3, 15, 27, 39]), [0, 2, 1, 3]);
        assert_eq!(turns([15, 39, 63, 87]), [2, 3, 0, 1], "one run a day");
    }

    #[test]
    fn a_dear_test_that_there_is_not_or_that_is_like_another_is_unclear() {
        let unclear = |listed: &[&str], marked: &[&str], names: &[&str], ignored: &[&str]| {
            let dear = |names: &[&str]| -> Vec<(u64, String)> {
                owned(names).into_iter().map(|name| (1, name)).collect()
            };
            let dear = Dear::of(&dear(listed), &dear(marked), &owned(names), &owned(ignored));
            (dear.unclear, dear.tests.len())
        };
        let (names, ignored) = (["a::one", "b::two", "c::two"], ["b::two"]);
        assert_eq!(unclear(&["a::one"], &["two"], &names, &ignored), (vec![], 2));
        assert_eq!(unclear(&["a::two"], &["three"], &names, &ignored).0, ["a::two", "three"]);
        assert_eq!(unclear(&[], &["one"], &names, &ignored).0, ["one"], "not ignored");
        assert_eq!(unclear(&[], &["two"], &names, &["b::two", "c::two"]).0, ["two"]);
        let like = ["a::one", "a::one_more", "b::two"];
        assert_eq!(unclear(&["a::one"], &["two"], &like, &ignored), (owned(&["a::one"]), 1));
    }
}
