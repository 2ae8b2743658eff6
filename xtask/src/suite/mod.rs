//! `cargo xtask test`: what must hold before a change lands, in three tiers.
//!
//! Each step is a process of its own (`--step NAME` is one of them alone): so its processor seconds are its
//! own, and what only computes can go on at the lowest priority beside what mostly waits.

mod audit;
mod budget;
mod cost;
pub mod dear;
mod failures;
pub mod format;
pub mod guest;
mod lanes;
mod oldest;
mod parts;
pub mod skips;
pub mod targets;
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::build::{built_binary, cargo};
use crate::lab::{Done, Scratch, is_root, needs};
use crate::options::Options;
use crate::programs::{self, Test};
use crate::{browser, carried, engine, packages, pages, simulate, tree};
use dear::Dear;
use skips::Skips;
use tests::{Count, Way};

/// The module of the machine tests that come one after the other.
const ALONE: &str = "alone::";
/// How many of the others of one program run at a time: many wait.
const BESIDE_EACH_OTHER: [&str; 2] = ["--test-threads", "3"];

/// How many programs of tests run at a time: at the end of each its last tests wait.
const AT_A_TIME: usize = 2;

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Units and the command line; no root, no package.
    Fast,
    /// What must hold before a change lands.
    All,
    /// The same with every count in full.
    Long,
}

const TIERS: [(&str, Tier); 3] = [("fast", Tier::Fast), ("all", Tier::All), ("long", Tier::Long)];

/// When a step has its turn: the steps of a lane come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Before the others, all at once.
    First,
    /// It changes settings, measures, and so mostly waits.
    Alone,
    /// It runs tests that keep to what is their own, beside that: most wait as long as they compute.
    Measures,
    /// It computes, beside both, at the lowest priority. Cargo builds for one at a time, so what is compiled for
    /// this machine's tests comes when those of the other lanes run.
    Computes,
    /// It boots guests, which measure: at the lowest priority they would measure nothing on a busy machine. Then the tests
    /// that need nothing of the machine, beside those of the machine that still wait for something.
    Boots,
    /// When all else is over.
    Last,
}

/// One step: its name, the smallest tier that takes it, what it does.
struct Step {
    name: &'static str,
    from: Tier,
    is_lint: bool,
    lane: Lane,
    /// Where not every run of `all` takes it: the parts that do.
    parts: &'static [u64],
    take: fn(&Bench) -> Done<bool>,
}

/// In each run.
const EACH: &[u64] = &[];

/// The step that every other one may need.
const INSTALL: &str = "install";

const STEPS: [Step; 18] = [
    Step {
        name: INSTALL,
        from: Tier::All,
        is_lint: false,
        lane: Lane::First,
        parts: EACH,
        take: |_| {
            packages::install();
            Ok(true)
        },
    },
    Step {
        name: "format",
        from: Tier::Fast,
        is_lint: true,
        lane: Lane::First,
        parts: EACH,
        take: |_| format::check(),
    },
    Step {
        name: "generated pages",
        from: Tier::Fast,
        is_lint: true,
        lane: Lane::Computes,
        parts: EACH,
        take: fresh_pages,
    },
    Step {
        name: "packages",
        from: Tier::All,
        is_lint: true,
        lane: Lane::Computes,
        parts: EACH,
        take: |_| Ok(tree::check()? & carried::check()?),
    },
    Step {
        name: "build tests",
        from: Tier::Fast,
        is_lint: false,
        lane: Lane::First,
        parts: EACH,
        take: |_| quiet(&["test", "--workspace", "--no-run"]),
    },
    Step {
        name: "machine settings",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Alone,
        parts: EACH,
        take: Bench::settings,
    },
    Step {
        name: "machine tests",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Measures,
        parts: EACH,
        take: Bench::machine_tests,
    },
    Step {
        name: "lab",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Boots,
        parts: EACH,
        take: Bench::lab,
    },
    Step {
        name: "tests",
        from: Tier::Fast,
        is_lint: false,
        lane: Lane::Boots,
        parts: EACH,
        take: Bench::tests,
    },
    Step {
        name: "browser",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Computes,
        parts: EACH,
        take: Bench::browser,
    },
    Step {
        name: "instructions",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Computes,
        parts: EACH,
        take: |bench| bench.telling(engine::watch),
    },
    Step {
        name: "simulated studies",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Computes,
        parts: EACH,
        take: Bench::simulate,
    },
    Step {
        name: "packages for them",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Computes,
        parts: &parts::PACKAGES,
        take: |bench| bench.telling(|skipped| targets::check(bench.tier == Tier::Long, skipped)),
    },
    Step {
        name: "oldest Rust",
        from: Tier::All,
        is_lint: true,
        lane: Lane::Computes,
        parts: &parts::OLDEST,
        take: |bench| bench.telling(oldest::check),
    },
    Step {
        name: "audit",
        from: Tier::All,
        is_lint: true,
        lane: Lane::Computes,
        parts: &parts::AUDIT,
        take: |bench| bench.telling(audit::check),
    },
    // Last of their lane: they know how to use processors that others have done with.
    Step {
        name: "clippy i686",
        from: Tier::All,
        is_lint: true,
        lane: Lane::Computes,
        parts: &parts::OLD,
        take: |bench| bench.telling(targets::lint_old),
    },
    Step {
        name: "clippy",
        from: Tier::All,
        is_lint: true,
        lane: Lane::Computes,
        parts: EACH,
        take: |_| targets::lint(),
    },
    Step {
        name: "skips",
        from: Tier::All,
        is_lint: false,
        lane: Lane::Last,
        parts: EACH,
        take: Bench::judge_skips,
    },
];

/// What the steps of a run share: a directory with what they leave for each other.
struct Bench {
    tier: Tier,
    shared: PathBuf,
}

/// Takes all steps of a tier, also after one failed, and sums up; or one step alone.
pub fn run(options: &Options) -> Done<bool> {
    let given = TIERS.iter().filter(|(name, _)| options.has(name)).collect::<Vec<_>>();
    let &(name, tier) = match given[..] {
        [] => &TIERS[1],
        [one] => one,
        _ => return Err("one of fast, all and long".to_owned()),
    };
    let alone = options.text("--step").map(step).transpose()?;
    if let (Some(step), Some(shared)) = (alone, lanes::shared()) {
        return (step.take)(&Bench { tier, shared });
    }
    let lints = !options.has("--no-lints");
    let is_wanted = |step: &&Step| match alone {
        Some(alone) => step.name == alone.name || (step.name == INSTALL && step.is_of(tier)),
        None => step.is_of(tier) && (lints || !step.is_lint),
    };
    let steps: Vec<&Step> = STEPS.iter().filter(is_wanted).collect();
    let rows = budget::rows(name)?;
    announce(name, &steps, &rows);
    let scratch = Scratch::new("suite")?;
    let bench = Bench { tier, shared: scratch.path().to_owned() };
    let whole = lanes::take(name, &steps, &rows, &bench)?;
    if !whole.why.is_empty() {
        println!("\n{}", whole.why.join("\n"));
    }
    println!("\n{}", whole.lines.join("\n"));
    println!("xtask: test {name}: {}", whole.cost.told());
    println!("xtask: {}", if whole.well { "everything holds" } else { "FAILED" });
    println!("xtask: {}", bench.counted().told(bench.skipped().len()));
    Ok(whole.well)
}

impl Step {
    /// Whether a run of a tier takes it now.
    fn is_of(&self, tier: Tier) -> bool {
        let has_its_turn = tier == Tier::Long || self.parts.is_empty();
        self.from <= tier && (has_its_turn || self.parts.contains(&parts::now()))
    }
}

fn step(name: &str) -> Done<&'static Step> {
    let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    let found = STEPS.iter().find(|step| step.name == name);
    found.ok_or_else(|| format!("--step {name}: there is {}", known.join(", ")))
}

fn announce(tier: &str, steps: &[&Step], rows: &budget::Rows) {
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let of = |lane: Lane| -> u64 {
        let own = steps.iter().filter(|step| step.lane == lane);
        own.filter_map(|step| rows.get(step.name)).map(|row| row.wall_s).sum()
    };
    let beside = lanes::BESIDE.map(of).into_iter().max().unwrap_or_default();
    let first = steps.iter().filter(|step| step.lane == Lane::First);
    let first = first.filter_map(|step| rows.get(step.name)).map(|row| row.wall_s).max();
    let seconds = first.unwrap_or_default() + beside + of(Lane::Last);
    println!("xtask: test {tier}: {}", names.join(", "));
    println!("xtask: some {} min on two cores with nothing beside", seconds.div_ceil(60));
}

fn quiet(arguments: &[&str]) -> Done<bool> {
    let status = cargo(arguments).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

fn fresh_pages(_: &Bench) -> Done<bool> {
    pages::stale().map(|stale| stale.is_empty())
}

/// Adds lines to a file that steps share.
fn append(list: &Path, lines: &str) -> Done<()> {
    let file = OpenOptions::new().append(true).create(true).open(list);
    let added = file.and_then(|mut file| file.write_all(lines.as_bytes()));
    added.map_err(|error| format!("{}: {error}", list.display()))
}

impl Bench {
    /// The file to which tests append why they skip.
    fn listed(&self) -> PathBuf {
        self.shared.join("skips")
    }

    /// The file of tests that had their turn.
    fn ran(&self) -> PathBuf {
        self.shared.join("ran")
    }

    fn skipped(&self) -> Skips {
        skips::listed(&self.listed())
    }

    /// What tests of all steps so far came to.
    fn counted(&self) -> Count {
        Count::read_from(&self.shared.join("counts"))
    }

    /// Has a step that skips things tell them as tests do.
    fn telling(&self, take: impl FnOnce(&mut Skips) -> Done<bool>) -> Done<bool> {
        let mut skipped = Skips::new();
        let well = take(&mut skipped);
        skips::tell(&skipped, &self.listed())?;
        well
    }

    /// What needs nothing of the machine: at most time.
    fn tests(&self) -> Done<bool> {
        self.run_tests(AT_A_TIME, &BESIDE_EACH_OTHER, |_, needs_more| !needs_more)
    }

    /// What needs root, a program or a kernel of some kind: each test says so where it cannot run.
    fn machine_tests(&self) -> Done<bool> {
        let is_wanted = |name: &str, needs_more| needs_more && !name.contains(ALONE);
        self.run_tests(AT_A_TIME, &BESIDE_EACH_OTHER, is_wanted)
    }

    /// Those of the same that come one after the other.
    fn settings(&self) -> Done<bool> {
        let is_wanted = |name: &str, needs_more| needs_more && name.contains(ALONE);
        self.run_tests(1, &["--test-threads", "1"], is_wanted)
    }

    /// Of the tests that have their turn, those that are wanted by their names and by whether they need more than time.
    fn run_tests(
        &self,
        programs_at_a_time: usize,
        words: &[&str],
        is_wanted: impl Fn(&str, bool) -> bool,
    ) -> Done<bool> {
        let (programs, tests) = programs::of_tree()?;
        let dear = Dear::among(&tests)?;
        if !dear.unclear.is_empty() {
            println!("xtask: marked as dear, and no test or several: {}", dear.unclear.join(", "));
        }
        let later = self.later(&tests, &dear);
        let needs_more = |test: &Test| test.is_ignored && !dear.needs_time_alone(&test.name);
        let now = tests.iter().filter(|test| is_wanted(&test.name, needs_more(test)));
        let now: Vec<&Test> = now.filter(|test| !later.contains(&test.name)).collect();
        let counts =
            if self.tier == Tier::Long { needs::IN_FULL.to_owned() } else { parts::counts() };
        let list = &self.listed();
        let way = Way { programs_at_a_time, words, counts: &counts, list };
        let count = tests::run(&programs, &now, &way)?;
        count.add_to(&self.shared.join("counts"))?;
        let names: Vec<&str> = now.iter().map(|test| test.name.as_str()).collect();
        append(&self.ran(), &(names.join("\n") + "\n"))?;
        Ok(count.well && dear.unclear.is_empty())
    }

    /// What has its turn another time.
    fn later(&self, tests: &[Test], dear: &Dear) -> BTreeSet<String> {
        if self.tier == Tier::Long {
            return BTreeSet::new();
        }
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let mut later = dear.of_another_turn();
        later.extend(parts::others(&names));
        later
    }

    /// As often as the bounds were chosen for, in full; else every sixth experiment, the others with other commits.
    fn simulate(&self) -> Done<bool> {
        let words = match self.tier {
            Tier::Long => &["--studies", "4000"][..],
            _ => &["--studies", "1000", "--sixth", parts::sixth()][..],
        };
        if self.tier == Tier::Long {
            return quiet(&[&simulate::CALL[..], words].concat());
        }
        simulate::as_tested(words)
    }

    fn browser(&self) -> Done<bool> {
        if let Some(reason) = browser::missing() {
            let skipped = Skips::from([("browser".to_owned(), reason)]);
            return skips::tell(&skipped, &self.listed()).map(|()| true);
        }
        browser::try_on(&built_binary(&[])?)
    }

    /// The program in a guest, by turns at work and over drives that lose their power, and one subject a day of those that
    /// take a kernel of their own.
    fn lab(&self) -> Done<bool> {
        let all = &guest::checks::ALL;
        let (wanted, scripts) = if self.tier == Tier::Long {
            (Some(&guest::IN_FULL), &all[..])
        } else {
            let script = parts::of_now(all).map(std::slice::from_ref);
            (parts::of_now(&guest::TURNS), script.unwrap_or_default())
        };
        let wanted = *wanted.ok_or("a guest has nothing to do")?;
        let named: Vec<&str> = scripts.iter().map(|(name, _)| *name).collect();
        println!("xtask: lab: {}", named.join(", "));
        self.telling(|skipped| guest::check(|| built_binary(&[]), (wanted, scripts), skipped))
    }

    /// Where everything can be had, a test that skips protects nothing.
    #[expect(clippy::unnecessary_wraps, reason = "a step like the others")]
    fn judge_skips(&self) -> Done<bool> {
        let skipped = self.skipped();
        for (name, reason) in &skipped {
            println!("xtask: skipped {name}: {reason}");
        }
        let strict = is_root() && std::env::var_os("CI").is_some();
        let ran = fs::read_to_string(self.ran()).unwrap_or_default();
        let ran = ran.lines().map(str::to_owned).collect();
        Ok(skips::judge(&skipped, &skips::expected(), &ran, strict))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    #[test]
    fn every_step_has_a_row_in_each_tier_that_takes_it_and_no_other() {
        for (name, tier) in TIERS {
            let rows = budget::rows(name).unwrap();
            let mut taken: Vec<&str> =
                STEPS.iter().filter(|step| step.from <= tier).map(|step| step.name).collect();
            taken.sort_unstable();
            let known: Vec<&str> = rows.keys().map(String::as_str).collect();
            assert_eq!(known, taken, "docs/testing.md, {name}");
        }
    }

    #[test]
    fn a_step_is_found_by_its_name_and_others_are_named() {
        assert_eq!(step("machine tests").unwrap().lane, Lane::Measures);
        assert!(step("machine").err().unwrap().contains("machine settings, machine tests"));
    }
}
