//! The simulation suite S1 to S18 (`cargo xtask simulate`). Studies whose truth is known go through
//! the product as tables that were brought along; what it says of them is counted.
//!
//! Seeds stand here and were chosen before the first run. A bound that fails is a finding: it is
//! analysed, and no seed is changed for it.
//!
//! A program of its own, above what decides and nothing else: it alone is built with optimisation for its
//! studies, and not all that measures and shows.
//!
//! Here belongs an experiment: a world whose truth is known, what is asked of it, and the bound that must hold. What is
//! counted does not: that is the product, through the same door as tables that were brought along, and for races through
//! the plan and rule that the runner asks.
//!
//! The types to know: `world::World`, `world::Trial`, `seam::Question`, `experiment::Experiment`,
//! `experiment::Row`.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a chore, not the product")]

mod chance;
mod cost;
mod days;
mod effects;
mod experiment;
mod extras;
mod gates;
mod grids;
mod invariance;
mod looks;
mod most_load;
mod null;
mod races;
mod responses;
mod returning;
mod screens;
mod seam;
mod table;
mod two_arms;
mod world;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use assay_lab::{Done, facts};

use experiment::{Experiment, Row};

const SEED: u32 = 20_261_120;
/// Studies of each setting where nothing is said: what the bounds were chosen for.
const STUDIES: u32 = 4000;

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("simulate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What may be said: `--studies N --seed S --only S3 --page FILE`.
type Options = BTreeMap<String, String>;

fn options() -> Done<Options> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let known = ["--studies", "--seed", "--only", "--page"];
    let pair = |pair: &[String]| match pair {
        [name, value] if known.contains(&name.as_str()) => Ok((name.clone(), value.clone())),
        other => {
            Err(format!("{}: unknown; use {}, each with a value", other.join(" "), known.join(" ")))
        }
    };
    words.chunks(2).map(pair).collect()
}

fn number(options: &Options, name: &str, usual: u32) -> Done<u32> {
    let given = options.get(name).map(|text| text.parse::<u32>());
    let number = given.transpose().map_err(|error| format!("{name}: {error}"))?.unwrap_or(usual);
    if number > 0 { Ok(number) } else { Err(format!("{name} needs a number above 0")) }
}

/// Runs the suite, or one scenario of it, and judges it.
fn run(options: &Options) -> Done<bool> {
    let studies = number(options, "--studies", STUDIES)?;
    let seed = number(options, "--seed", SEED)?;
    let head = facts::lines();
    let start = Instant::now();
    let mut chosen = chosen(options.get("--only").map(String::as_str))?;
    chosen.retain(|one| one.daily || studies >= STUDIES);
    println!("{}", table::head());
    let mut rows: Vec<Row> = Vec::new();
    for experiment in &chosen {
        let found = experiment.run(seed, studies)?;
        for row in &found {
            println!("{}", table::line(row));
        }
        rows.extend(found);
    }
    let mut told = vec![table::KNOWN_ANSWERS.to_owned()];
    told.extend(cost::lines(seed)?);
    let failed = rows.iter().filter(|row| !row.holds()).count();
    told.push(format!(
        "{failed} of {} bounds failed",
        rows.iter().filter(|row| row.is_bound()).count()
    ));
    told.push(format!("time: {:.0} s", start.elapsed().as_secs_f64()));
    println!("\n{}", told.join("\n"));
    if let Some(page) = options.get("--page") {
        let command = format!("cargo xtask simulate --studies {studies} --seed {seed}");
        let text = table::page(&command, &head, &rows, &told);
        std::fs::write(page, text).map_err(|error| format!("{page}: {error}"))?;
    }
    Ok(failed == 0)
}

fn all() -> Vec<Experiment> {
    let mut all = null::experiments();
    all.extend(returning::experiments());
    all.extend(effects::experiments());
    all.extend(looks::experiments());
    all.push(invariance::experiment());
    all.extend(grids::experiments());
    all.extend(days::experiments());
    all.extend(most_load::experiments());
    all.extend(two_arms::experiments());
    all.extend(gates::experiments());
    all.extend(races::experiments());
    all.extend(screens::experiments());
    all.push(responses::experiment());
    // By scenario, those of the suite first; the sort keeps the order within one.
    all.sort_by_key(|one| (!one.scenario.starts_with('S'), place(one.scenario)));
    all.extend(extras::experiments());
    all
}

fn place(scenario: &str) -> u32 {
    scenario[1..].parse().unwrap_or(u32::MAX)
}

fn chosen(only: Option<&str>) -> Done<Vec<Experiment>> {
    let all = all();
    let Some(only) = only else { return Ok(all) };
    let names: Vec<&str> = all.iter().map(|one| one.scenario).collect();
    if !names.contains(&only) {
        let mut names = names;
        names.dedup();
        return Err(format!("--only {only}: unknown; use one of {}", names.join(" ")));
    }
    Ok(all.into_iter().filter(|one| one.scenario == only).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of a purpose that the generator takes.
    const LONGEST: usize = 24;

    #[test]
    fn no_two_experiments_share_their_random_numbers() {
        let mut purposes: Vec<String> = all().into_iter().map(|one| one.purpose).collect();
        assert!(purposes.iter().all(|purpose| purpose.len() <= LONGEST));
        let count = purposes.len();
        purposes.sort();
        purposes.dedup();
        assert_eq!(purposes.len(), count);
    }

    #[test]
    fn a_number_is_one_or_is_named() {
        let given = |value: &str| Options::from([("--seed".to_owned(), value.to_owned())]);
        assert_eq!(number(&given("7"), "--seed", 1), Ok(7));
        assert_eq!(number(&given("7"), "--studies", 1), Ok(1));
        assert!(number(&given("x"), "--seed", 1).is_err_and(|error| error.starts_with("--seed")));
        assert!(number(&given("0"), "--seed", 1).is_err());
    }

    #[test]
    fn one_scenario_can_be_chosen() {
        assert!(chosen(Some("S3")).is_ok_and(|chosen| chosen.len() == 1));
        assert!(chosen(Some("S99")).is_err_and(|error| error.contains("S10")));
    }

    /// Studies per setting in each test run; `cargo xtask simulate` runs thousands at night.
    const FEW: u32 = 6;

    #[test]
    fn few_studies_of_each_experiment_keep_its_bounds() {
        let mut broken = Vec::new();
        for mut experiment in all() {
            experiment.least = 1;
            let rows = experiment.run(SEED, FEW).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rows.len(), experiment.counts.len(), "{}", experiment.purpose);
            broken.extend(rows.iter().filter(|row| !row.may_hold()).map(table::line));
        }
        assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    }
}
