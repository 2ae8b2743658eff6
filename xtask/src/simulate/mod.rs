//! `cargo xtask simulate`: the simulation suite S1 to S10. Studies whose truth is known go through
//! the product as tables that were brought along; what it says of them is counted.
//!
//! Seeds stand here and were chosen before the first run. A bound that fails is a finding: it is
//! analysed, and no seed is changed for it.

mod chance;
mod cost;
mod effects;
mod experiment;
mod extras;
mod invariance;
mod looks;
mod null;
mod returning;
mod seam;
mod table;
mod world;

use std::time::Instant;

use crate::lab::Done;
use crate::options::Options;
use crate::{build, facts};

use experiment::{Experiment, Row};

/// The seed of the suite.
pub const SEED: usize = 20_261_120;
/// Studies of each setting where nothing is said: what the bounds were chosen for.
pub const STUDIES: usize = 4000;

/// Runs the suite, or one scenario of it, and judges it.
pub fn run(options: &Options) -> Done<bool> {
    let number =
        |name| u32::try_from(options.number(name)).map_err(|_| format!("{name}: too large"));
    let (seed, studies) = (number("--seed")?, number("--studies")?);
    let head = facts::lines();
    let start = Instant::now();
    let mut chosen = chosen(options.text("--only"))?;
    chosen.retain(|one| one.daily || studies as usize >= STUDIES);
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
    if options.has("--write") {
        let command = format!("cargo xtask simulate --studies {studies} --seed {seed}");
        build::write_page("simulation.md", &table::page(&command, &head, &rows, &told))?;
    }
    Ok(failed == 0)
}

fn all() -> Vec<Experiment> {
    let mut all = null::experiments();
    all.extend(returning::experiments());
    all.extend(effects::experiments());
    all.extend(looks::experiments());
    all.push(invariance::experiment());
    // By scenario, those of the suite first; the sort keeps the order within one.
    all.sort_by_key(|one| (!one.scenario.starts_with('S'), number(one.scenario)));
    all.extend(extras::experiments());
    all
}

fn number(scenario: &str) -> u32 {
    scenario[1..].parse().unwrap_or(u32::MAX)
}

fn chosen(only: Option<&str>) -> Done<Vec<Experiment>> {
    let all = all();
    let Some(only) = only else { return Ok(all) };
    let names: Vec<&str> = all.iter().map(|one| one.scenario).collect();
    if !names.contains(&only) {
        let mut names = names;
        names.dedup();
        return Err(format!("--only {only}: there is {}", names.join(" ")));
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
        assert!(chosen(Some("S11")).is_err_and(|error| error.contains("S10")));
    }

    #[test]
    fn every_experiment_runs() {
        for mut experiment in all() {
            experiment.least = 1;
            let rows = experiment.run(1, 1).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rows.len(), experiment.counts.len(), "{}", experiment.purpose);
        }
    }
}
