//! The simulation suite S1 to S18 (`cargo xtask simulate`). Studies whose truth is known go through
//! the product as tables that were brought along; what it says of them is counted.
//!
//! Seeds stand here and were chosen before the first run. A bound that fails is a finding: it is
//! analysed, and no seed is changed for it.
//!
//! Here belongs an experiment: a world whose truth is known, what is asked of it, and the bound that must hold. What is
//! counted does not: that is the product, through the same door as tables that were brought along, and for races through
//! the plan and rule that the runner asks.
//!
//! The types to know: `world::World`, `world::Trial`, `seam::Question`, `experiment::Experiment`,
//! `experiment::ExperimentRow`.

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

use std::time::Instant;

use crate::build::{cargo, write_page};
use crate::lab::{Done, facts};
use crate::options::Options;
use experiment::{Experiment, ExperimentRow};

const SEED: u32 = 20_261_120;
/// Studies of each setting by default: the bounds were chosen for this number.
const STUDIES: u32 = 4000;
pub const NUMBERS: &[(&str, usize)] = &[("--studies", STUDIES as usize), ("--seed", SEED as usize)];

/// Runs the suite, or one scenario of it, and judges it. Builds this program with optimization first if necessary.
pub fn run(options: &Options) -> Done<bool> {
    if cfg!(debug_assertions) {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let status = cargo(&["run", "--release", "--package", "xtask", "--"]).args(words).status();
        return Ok(status.map_err(|error| format!("cargo: {error}"))?.success());
    }
    let number = |name: &str| {
        u32::try_from(options.number(name)).map_err(|error| format!("{name}: {error}"))
    };
    let (studies, seed) = (number("--studies")?, number("--seed")?);
    let head = facts::lines();
    let start = Instant::now();
    let mut chosen = chosen(options.text("--only"))?;
    chosen.retain(|one| one.daily || studies >= STUDIES);
    println!("{}", table::head());
    let mut rows: Vec<ExperimentRow> = Vec::new();
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
    if options.has("--write") {
        let command = format!("cargo xtask simulate --studies {studies} --seed {seed}");
        write_page("simulation.md", &table::page(&command, &head, &rows, &told))?;
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
