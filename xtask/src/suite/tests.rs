//! Running tests: what passed, what failed, and what only seems to have passed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, pipe};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{append, parts, skips};
use crate::lab::{Done, needs};
use crate::programs::{Program, Test};

/// What came out of some runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    passed: u64,
    failed: u64,
    /// Whether each program ended well; one that could not be built has no tests.
    pub well: bool,
}

impl Count {
    /// Adds it to those of other steps: a line each.
    pub fn add_to(&self, list: &Path) -> Done<()> {
        append(list, &format!("{} {}\n", self.passed, self.failed))
    }

    /// The sum of those that were added.
    pub fn read_from(list: &Path) -> Self {
        let text = fs::read_to_string(list).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let number = |word: &str| word.parse::<u64>().unwrap_or_default();
        pairs.fold(Self::default(), |mut sum, (passed, failed)| {
            sum.add(&Self { passed: number(passed), failed: number(failed), well: true });
            sum
        })
    }

    fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
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

/// How tests are run.
pub struct Way<'w> {
    pub programs_at_a_time: usize,
    /// Words for each of them.
    pub words: &'w [&'w str],
    /// What counts in full.
    pub counts: &'w str,
    /// Where tests tell why they skip.
    pub list: &'w Path,
}

/// Runs these tests, the program that has most of them first. What programs say that run beside each other is told
/// when they end: else nobody knew whose line it is. A program that runs fewer than these did not end well.
pub fn run(programs: &[Program], tests: &[&Test], way: &Way) -> Done<Count> {
    if tests.is_empty() {
        return Err("there is no test".to_owned());
    }
    let mut by_program = BTreeMap::<usize, Vec<&str>>::new();
    for test in tests {
        by_program.entry(test.program).or_default().push(&test.name);
    }
    let mut order: Vec<_> = by_program.into_iter().collect();
    order.sort_by_key(|(_, names)| Reverse(names.len()));
    let left = Mutex::new(order.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Done<(Count, Vec<String>)> {
        let (mut count, mut failed) = (Count::default(), Vec::new());
        while let Some((at, names)) = next() {
            let program = &programs[at];
            let (own, status) = way.take(program, &names)?;
            count.add(&own);
            if !status.success() {
                failed.push(format!("{}: {status}", program.name));
            } else if own.passed != names.len() as u64 {
                let passed = own.passed;
                failed.push(format!("{}: {passed} of {} tests ran", program.name, names.len()));
            }
        }
        Ok((count, failed))
    };
    let ended: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..way.programs_at_a_time).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut sum = Count { well: true, ..Count::default() };
    for worker in ended {
        let (count, failed) =
            worker.map_err(|_| "a thread that runs tests failed".to_owned())??;
        sum.add(&count);
        sum.well &= failed.is_empty();
        for program in failed {
            println!("xtask: {program}");
        }
    }
    Ok(sum)
}

impl Way<'_> {
    /// Runs these tests of a program: what passed and failed, and how it ended.
    fn take(&self, program: &Program, names: &[&str]) -> Done<(Count, ExitStatus)> {
        let fail = |error: std::io::Error| format!("{}: {error}", program.path.display());
        let (said, to) = pipe().map_err(fail)?;
        let mut command = program.command();
        command.args(["--include-ignored", "--exact"]).args(self.words).args(names);
        command.env(needs::LIST, self.list).env(needs::COUNTS, self.counts);
        command.env(needs::SEED, parts::seed().to_string());
        command.stdout(to.try_clone().map_err(fail)?).stderr(to);
        let mut child = command.spawn().map_err(fail)?;
        // Its ends of the pipe are the program's alone now: what it said ends with it.
        drop(command);
        let mut count = Count::default();
        let is_alone = self.programs_at_a_time == 1;
        let mut told = vec![format!("xtask: {}, {} tests", program.name, names.len())];
        for line in BufReader::new(said).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            count.read(&line);
            told.push(honest(&line, self.list));
            if is_alone {
                println!("{}", told.join("\n"));
                told.clear();
            }
        }
        if !told.is_empty() {
            println!("{}", told.join("\n"));
        }
        child.wait().map(|status| (count, status)).map_err(fail)
    }
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

    /// Has this program run tests of its own.
    #[test]
    fn a_test_that_is_named_runs_and_one_that_there_is_not_fails_the_step() {
        let scratch = Scratch::new("named").unwrap();
        let programs = [Program {
            name: "own".to_owned(),
            path: std::env::current_exe().unwrap(),
            folder: scratch.path().to_owned(),
        }];
        let list = &scratch.path().join("list");
        let way = Way { programs_at_a_time: 2, words: &[], counts: "", list };
        let named = |name: &str| Test { program: 0, name: name.to_owned(), is_ignored: false };
        let module = module_path!().split_once("::").unwrap().1;
        let there = named(&format!("{module}::results_are_summed"));
        let absent = named("own_tests::nobody");
        let count = run(&programs, &[&there], &way).unwrap();
        assert_eq!((count.well, count.told(0)), (true, "1 passed, 0 failed, 0 skipped".to_owned()));
        let count = run(&programs, &[&there, &absent], &way).unwrap();
        assert_eq!((count.well, count.passed), (false, 1));
        assert!(run(&programs, &[], &way).is_err());
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
