//! `cargo xtask test`: what must hold before a change lands, in three tiers.

mod beside;
mod cost;
mod format;
pub mod guest;
pub mod skips;
pub mod targets;
mod tests;

use std::io::Write;
use std::path::PathBuf;

use crate::build::{cargo, release_binary};
use crate::lab::{Done, Scratch, is_root};
use crate::options::Options;
use crate::{browser, packages, pages, tree};
use beside::Beside;
use cost::{Cost, Row};
use skips::Skips;
use tests::Count;

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Units and the command line; no root, no package, no release build.
    Fast,
    /// What must hold before a change lands.
    All,
    /// The same with every count in full.
    Long,
}

const TIERS: [(&str, Tier); 3] = [("fast", Tier::Fast), ("all", Tier::All), ("long", Tier::Long)];

/// One step: its name, the smallest tier that takes it, what it does.
struct Step {
    name: &'static str,
    from: Tier,
    is_lint: bool,
    take: fn(&mut Bench) -> Done<bool>,
}

const STEPS: [Step; 11] = [
    Step { name: "format", from: Tier::Fast, is_lint: true, take: |_| format::check() },
    Step { name: "generated pages", from: Tier::Fast, is_lint: true, take: fresh_pages },
    Step { name: "packages", from: Tier::All, is_lint: true, take: |_| tree::check() },
    Step { name: "clippy", from: Tier::All, is_lint: true, take: clippy },
    Step { name: "tests", from: Tier::Fast, is_lint: false, take: Bench::tests },
    Step { name: "machine tests", from: Tier::All, is_lint: false, take: Bench::machine_tests },
    Step { name: "simulated studies", from: Tier::All, is_lint: false, take: Bench::simulate },
    Step { name: "other machines", from: Tier::All, is_lint: false, take: Bench::other_machines },
    Step { name: "browser", from: Tier::All, is_lint: false, take: Bench::browser },
    Step { name: "lab", from: Tier::All, is_lint: false, take: Bench::lab },
    Step { name: "skips", from: Tier::All, is_lint: false, take: Bench::judge_skips },
];

/// What the steps share.
struct Bench {
    tier: Tier,
    /// The file to which tests append why they skip.
    listed: PathBuf,
    count: Count,
    skipped: Skips,
    /// The simulated studies, once they have begun.
    simulated: Option<Beside>,
    /// What is compiled for other machines, once that has begun.
    compiled: Vec<Beside>,
}

/// Takes all steps of a tier, also after one failed, and sums up.
pub fn run(options: &Options) -> Done<bool> {
    let given = TIERS.iter().filter(|(name, _)| options.has(name)).collect::<Vec<_>>();
    let &(name, tier) = match given[..] {
        [] => &TIERS[1],
        [one] => one,
        _ => return Err("one of fast, all and long".to_owned()),
    };
    let lints = !options.has("--no-lints");
    let steps: Vec<&Step> =
        STEPS.iter().filter(|step| step.from <= tier && (lints || !step.is_lint)).collect();
    let rows = cost::rows(name)?;
    announce(name, &steps, &rows);
    if tier > Tier::Fast {
        packages::install();
    }
    let scratch = Scratch::new("suite")?;
    let listed = scratch.path().join("skips");
    std::fs::write(&listed, "").map_err(|error| format!("{}: {error}", listed.display()))?;
    let (count, skipped) = (Count::default(), Skips::new());
    let mut bench = Bench { tier, listed, count, skipped, simulated: None, compiled: Vec::new() };
    let whole = Cost::begin();
    let mut lines = Vec::new();
    let mut well = true;
    for step in steps {
        let (line, ended_well) = taken(step, &mut bench, rows.get(step.name));
        well &= ended_well;
        lines.push(line);
    }
    println!("\n{}", lines.join("\n"));
    println!("xtask: test {name}: {}", whole.told(None));
    println!("xtask: {}", if well { "everything holds" } else { "FAILED" });
    println!("xtask: {}", bench.count.told(bench.skipped.len()));
    Ok(well)
}

fn announce(tier: &str, steps: &[&Step], rows: &cost::Rows) {
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let seconds: u64 = names.iter().filter_map(|name| rows.get(*name)).map(|row| row.seconds).sum();
    println!("xtask: test {tier}: {}", names.join(", "));
    println!("xtask: some {} min on two cores with nothing beside", seconds.div_ceil(60));
}

fn taken(step: &Step, bench: &mut Bench, row: Option<&Row>) -> (String, bool) {
    println!("xtask: {} ...", step.name);
    // A step's own output must not overtake this line.
    let _ = std::io::stdout().flush();
    let cost = Cost::begin();
    let word = match (step.take)(bench) {
        Ok(true) => "ok".to_owned(),
        Ok(false) => "FAILED".to_owned(),
        Err(error) => format!("FAILED: {error}"),
    };
    let line = format!("xtask: {}: {word} ({})", step.name, cost.told(row));
    println!("{line}");
    (line, word == "ok")
}

fn quiet(arguments: &[&str]) -> Done<bool> {
    let status = cargo(arguments).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

fn fresh_pages(_: &mut Bench) -> Done<bool> {
    pages::stale().map(|stale| stale.is_empty())
}

fn clippy(_: &mut Bench) -> Done<bool> {
    quiet(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])
}

/// The simulated studies of a tier: in full as often as the bounds were chosen for. Without
/// optimisation they would take ten times as long.
fn simulate(tier: Tier) -> [&'static str; 8] {
    let studies = if tier == Tier::Long { "4000" } else { "1000" };
    ["run", "--release", "--package", "xtask", "--", "simulate", "--studies", studies]
}

impl Bench {
    /// What needs nothing of the machine.
    fn tests(&mut self) -> Done<bool> {
        self.run_tests(&["--workspace"], &[], || Ok(()))
    }

    /// What must also hold on a small board and on an old machine.
    fn other_machines(&mut self) -> Done<bool> {
        // Where one failed, the check says so again.
        for compiled in self.compiled.drain(..) {
            compiled.end()?;
        }
        targets::check(&mut self.skipped)
    }

    /// What needs root, a program or a kernel of some kind: each test says so where it cannot run.
    fn machine_tests(&mut self) -> Done<bool> {
        self.simulated = Some(Beside::begin(&simulate(self.tier))?);
        let harness: &[&str] = match self.tier {
            Tier::Long => &["--ignored"],
            _ => &["--ignored", "--skip", "in_full::"],
        };
        let mut compiled = Vec::new();
        let what = ["--workspace", "--lib", "--bins", "--tests"];
        let well = self.run_tests(&what, harness, || {
            compiled = targets::begin()?;
            Ok(())
        });
        self.compiled = compiled;
        well
    }

    fn run_tests(
        &mut self,
        what: &[&str],
        harness: &[&str],
        begun: impl FnOnce() -> Done<()>,
    ) -> Done<bool> {
        let words = [&["test", "--no-fail-fast"], what, &["--"], harness].concat();
        let count = tests::run(&words, self.tier == Tier::Long, &self.listed, begun)?;
        self.count.add(&count);
        Ok(count.well)
    }

    /// They began beside the machine tests; here they are waited for.
    fn simulate(&mut self) -> Done<bool> {
        match self.simulated.take() {
            Some(simulated) => simulated.end(),
            None => quiet(&simulate(self.tier)),
        }
    }

    fn browser(&mut self) -> Done<bool> {
        if let Some(reason) = browser::missing() {
            self.skipped.insert("browser".to_owned(), reason);
            return Ok(true);
        }
        browser::run(&Options::default())
    }

    /// The program in a guest; after the browser, for which it was built as people run it.
    fn lab(&mut self) -> Done<bool> {
        guest::check(release_binary, &mut self.skipped)
    }

    /// Where everything can be had, a test that skips protects nothing.
    #[expect(clippy::unnecessary_wraps, reason = "a step like the others")]
    fn judge_skips(&mut self) -> Done<bool> {
        self.skipped.extend(skips::listed(&self.listed));
        for (name, reason) in &self.skipped {
            println!("xtask: skipped {name}: {reason}");
        }
        let strict = is_root() && std::env::var_os("CI").is_some();
        Ok(skips::judge(&self.skipped, &skips::expected(), strict))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    #[test]
    fn every_step_has_a_row_in_each_tier_that_takes_it_and_no_other() {
        for (name, tier) in TIERS {
            let rows = cost::rows(name).unwrap();
            let mut taken: Vec<&str> =
                STEPS.iter().filter(|step| step.from <= tier).map(|step| step.name).collect();
            taken.sort_unstable();
            let known: Vec<&str> = rows.keys().map(String::as_str).collect();
            assert_eq!(known, taken, "docs/testing.md, {name}");
        }
    }
}
