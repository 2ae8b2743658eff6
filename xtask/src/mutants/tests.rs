//! The tests of the copy: which changes each of them reaches, and whether it notices one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::run::{self, Ended, Stop};
use super::tree;
use crate::lab::Done;
use crate::programs::{self, Program};
use crate::suite::dear;

/// Programs at a time.
const WORKERS: usize = 2;
/// A test that is ended with a change: after the larger one of this and a multiple of its own time.
const SHORTEST: f64 = 20.0;
const MULTIPLE: f64 = 5.0;
/// Without any change; some walk over each death of a machine.
const LONGEST: f64 = 600.0;
/// Tests of one program that run after one another in one process.
const TOGETHER: usize = 16;
const TOGETHER_SECONDS: f64 = 2.0;
/// How often it is told what is left.
const TELL: Duration = Duration::from_secs(20);

/// A test, with what it needs and reaches without any change.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: usize,
    pub name: String,
    pub seconds: f64,
    pub reached: BTreeSet<usize>,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Noticed(String),
    Survived,
    /// No test comes there.
    ReachedByNone,
}

/// Where tests are run.
pub struct Bench<'a> {
    pub programs: &'a [Program],
    /// Beginnings of names, with commas between them: those tests are not run.
    pub without: &'a str,
    /// What the chore keeps.
    pub work: &'a Path,
    /// Temporary files of the tests.
    pub temporary: &'a Path,
    pub stop: &'a Stop,
}

impl Bench<'_> {
    fn command(&self, program: usize) -> Command {
        let mut command = self.programs[program].command();
        command.env("TMPDIR", self.temporary).env_remove(tree::ON).env_remove(tree::REACHED);
        command
    }

    fn file(&self, name: &str, worker: usize) -> PathBuf {
        self.work.join(format!("{name}-{worker}"))
    }

    /// The names of all tests that need nothing but time.
    fn names(&self) -> Done<Vec<(usize, String)>> {
        let marks = dear::marks()?;
        let is_slow =
            |name: &str| marks.iter().any(|mark| mark.needs_time_alone && mark.is_of(name));
        let mut names = Vec::new();
        for program in 0..self.programs.len() {
            let list = |more: &[&str]| -> Done<BTreeSet<String>> {
                let mut command = self.command(program);
                command.args(programs::LISTED).args(more);
                let limit = Duration::from_secs(60);
                let ended = run::run(&mut command, &self.file("out", 0), limit, self.stop)?;
                Ok(programs::named(&ended.text))
            };
            let mut ignored = list(&["--ignored"])?;
            ignored.retain(|name| !is_slow(name));
            names.extend(list(&[])?.difference(&ignored).map(|name| (program, name.clone())));
        }
        names.retain(|(_, name)| !begins(name, self.without));
        Ok(names)
    }

    /// Runs each test once by itself; those that fail in the copy are told and left out.
    pub fn map(&self) -> Done<Vec<Test>> {
        let names = self.names()?;
        println!("xtask: {} tests, each by itself, for what it reaches", names.len());
        let taken = Self::in_turns(names.len(), "tests", |number, worker| {
            let (program, name) = &names[number];
            self.reach(*program, name, worker)
        })?;
        let (tests, failed): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(well, _)| *well);
        for (_, test) in &failed {
            println!("xtask: left out, fails in the copy: {}", test.name);
        }
        let mut tests: Vec<Test> = tests.into_iter().map(|(_, test)| test).collect();
        tests.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        Ok(tests)
    }

    fn reach(&self, program: usize, name: &str, worker: usize) -> Done<(bool, Test)> {
        let list = self.file("reached", worker);
        fs::write(&list, "").map_err(|error| format!("{}: {error}", list.display()))?;
        let mut command = self.command(program);
        command
            .args(["--include-ignored", "--exact", name, "--test-threads", "1"])
            .env(tree::REACHED, &list);
        let limit = Duration::from_secs_f64(LONGEST);
        let ended = run::run(&mut command, &self.file("out", worker), limit, self.stop)?;
        let text = fs::read_to_string(&list).unwrap_or_default();
        let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
        let (name, seconds) = (name.to_owned(), ended.seconds);
        Ok((ended.well, Test { program, name, seconds, reached }))
    }

    /// What becomes of each of these changes, told as it comes; the tests are sorted, short ones first.
    pub fn fates(
        &self,
        mutants: &[usize],
        tests: &[Test],
        tell: impl Fn(usize, &Fate) + Sync,
    ) -> Done<Vec<Fate>> {
        Self::in_turns(mutants.len(), "changes", |number, worker| {
            let fate = self.fate(mutants[number], tests, worker)?;
            tell(mutants[number], &fate);
            Ok(fate)
        })
    }

    fn fate(&self, mutant: usize, tests: &[Test], worker: usize) -> Done<Fate> {
        let reaching: Vec<&Test> =
            tests.iter().filter(|test| test.reached.contains(&mutant)).collect();
        if reaching.is_empty() {
            return Ok(Fate::ReachedByNone);
        }
        for together in groups(&reaching) {
            let ended = self.with(mutant, &together, 1.0, worker)?;
            if ended.over {
                // On a busy machine that may be chance, too.
                let again = self.with(mutant, &together, 2.0, worker)?;
                if !again.well {
                    return Ok(Fate::Noticed(format!("{} (over its time)", shown(&together))));
                }
                continue;
            }
            if ended.well {
                continue;
            }
            // Once more, each that failed by itself: another reason would be chance.
            for &test in &together {
                let own = self.with(mutant, &[test], 1.0, worker)?;
                if !own.well {
                    return Ok(Fate::Noticed(test.name.clone()));
                }
            }
        }
        Ok(Fate::Survived)
    }

    fn with(&self, mutant: usize, tests: &[&Test], patience: f64, worker: usize) -> Done<Ended> {
        let mut command = self.command(tests[0].program);
        command
            .args(["--include-ignored", "--exact", "--test-threads", "1"])
            .env(tree::ON, mutant.to_string());
        command.args(tests.iter().map(|test| &test.name));
        let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
        let limit = Duration::from_secs_f64(patience * (MULTIPLE * seconds).max(SHORTEST));
        run::run(&mut command, &self.file("out", worker), limit, self.stop)
    }

    /// Takes all numbers, two at a time, and tells now and then what is left.
    fn in_turns<T: Send>(
        count: usize,
        of: &str,
        take: impl Fn(usize, usize) -> Done<T> + Sync,
    ) -> Done<Vec<T>> {
        let next = AtomicUsize::new(0);
        let taken: Mutex<BTreeMap<usize, Done<T>>> = Mutex::new(BTreeMap::new());
        let (began, told) = (Instant::now(), Mutex::new(Instant::now()));
        let work = |worker: usize| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                let one = take(number, worker);
                let failed = one.is_err();
                let mut taken = taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                taken.insert(number, one);
                let done = taken.len();
                drop(taken);
                if failed {
                    next.store(count, Ordering::Relaxed);
                }
                let mut told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if told.elapsed() > TELL {
                    *told = Instant::now();
                    println!("xtask: {}", left(of, done, count, began.elapsed()));
                }
            }
        };
        std::thread::scope(|scope| {
            for worker in 1..WORKERS {
                let work = &work;
                scope.spawn(move || work(worker));
            }
            work(0);
        });
        let taken = taken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        taken.into_values().collect()
    }
}

/// Whether a name begins with one of those that have commas between them.
fn begins(name: &str, with: &str) -> bool {
    with.split(',').any(|own| !own.is_empty() && name.starts_with(own))
}

fn left(of: &str, done: usize, count: usize, passed: Duration) -> String {
    let left = passed.as_secs_f64() / done.max(1) as f64 * (count - done.min(count)) as f64;
    format!("{done} of {count} {of}, some {:.0} min left", (left / 60.0).ceil())
}

fn shown(tests: &[&Test]) -> String {
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).take(2).collect();
    let more = if tests.len() > names.len() { " and others" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Tests of one program that are short are run by one process; the order stays, short ones first.
fn groups<'a>(tests: &[&'a Test]) -> Vec<Vec<&'a Test>> {
    let mut groups: Vec<(Vec<&Test>, f64)> = Vec::new();
    let mut open: BTreeMap<usize, usize> = BTreeMap::new();
    for &test in tests {
        let at = open.get(&test.program).copied().filter(|&at| {
            let (group, seconds) = &groups[at];
            group.len() < TOGETHER && seconds + test.seconds <= TOGETHER_SECONDS
        });
        if let Some(at) = at {
            groups[at].0.push(test);
            groups[at].1 += test.seconds;
        } else {
            open.insert(test.program, groups.len());
            groups.push((vec![test], test.seconds));
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

#[cfg(test)]
mod own_tests {
    use super::*;

    fn test(program: usize, name: &str, seconds: f64) -> Test {
        Test { program, name: name.to_owned(), seconds, reached: BTreeSet::new() }
    }

    fn told(tests: &[Test]) -> Vec<String> {
        let all: Vec<&Test> = tests.iter().collect();
        let names = |group: &Vec<&Test>| group.iter().map(|test| test.name.as_str()).collect();
        groups(&all).iter().map(names).collect()
    }

    #[test]
    fn short_tests_of_a_program_run_together() {
        let tests = [test(0, "a", 0.1), test(1, "b", 0.1), test(0, "c", 1.0), test(0, "d", 1.5)];
        assert_eq!(told(&tests), ["ac", "b", "d"]);
        assert_eq!(told(&[test(0, "a", 9.0), test(0, "b", 9.0)]), ["a", "b"]);
        let many: Vec<Test> = (0..20).map(|_| test(0, "x", 0.0)).collect();
        assert_eq!(told(&many).iter().map(String::len).collect::<Vec<_>>(), [16, 4]);
        assert!(told(&[]).is_empty());
    }

    #[test]
    fn tests_are_left_out_by_the_beginnings_of_their_names() {
        let left_out = |name: &str| begins(name, "commands::,compile::a");
        assert!(left_out("commands::x") && left_out("compile::ab"));
        assert!(!left_out("compile::b") && !left_out("cli::commands::x"));
        assert!(!begins("commands::x", "") && !begins("commands::x", ","));
    }

    #[test]
    fn what_is_left_is_told() {
        let told = left("tests", 10, 40, Duration::from_secs(60));
        assert_eq!(told, "10 of 40 tests, some 3 min left");
        assert_eq!(
            left("tests", 40, 40, Duration::from_secs(60)),
            "40 of 40 tests, some 0 min left"
        );
    }

    #[test]
    fn a_group_is_named_by_its_first() {
        let tests = [test(0, "a", 0.0), test(0, "b", 0.0), test(0, "c", 0.0)];
        let all: Vec<&Test> = tests.iter().collect();
        assert_eq!(shown(&all), "a, b and others");
        assert_eq!(shown(&all[..2]), "a, b");
    }
}
