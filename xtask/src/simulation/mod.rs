//! The simulation suite S1 to S18 (`cargo xtask simulate`): the product imports tables of studies with known truth, and
//! the suite counts its conclusions. Races use the plan and the rule of the runner. S9, the known answers, are tests of
//! `assay_core::stats`.
//!
//! Seeds and bounds were chosen before the first run. If a bound fails, analyze the cause; do not change the seed.
//!
//! The types to know: `world::World`, `world::Trial`, `seam::Question`, `experiment::Experiment`,
//! `experiment::ExperimentRow`.

mod chance;
mod days;
mod effects;
mod experiment;
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
mod two_arms;
mod world;

use std::time::Instant;

use clap::Args;

use crate::build::run_optimized;
use crate::lab::Done;
use experiment::Experiment;

const SEED: u32 = 20_261_120;
/// Studies of each setting by default: the bounds were chosen for this number.
const STUDIES: u32 = 4000;

#[derive(Args)]
pub struct SimulationOptions {
    /// Studies per setting
    #[arg(long, default_value_t = STUDIES)]
    studies: u32,
    #[arg(long, default_value_t = SEED)]
    seed: u32,
    /// Run only one scenario, such as S3
    #[arg(long, value_name = "SCENARIO")]
    only: Option<String>,
}

/// Runs the suite, or one scenario of it, and judges it. Builds this program with optimization first if necessary.
pub fn run(options: &SimulationOptions) -> Done<bool> {
    if cfg!(debug_assertions) {
        return run_optimized();
    }
    let SimulationOptions { studies, seed, .. } = *options;
    crate::print_machine();
    let start = Instant::now();
    let mut chosen = chosen(options.only.as_deref())?;
    chosen.retain(|one| one.daily || studies >= STUDIES);
    println!(
        "{:4}  {:57}  {:33} {:>7} {:>8}  bounds",
        "", "setting", "counted", "studies", "rate %"
    );
    let (mut bounds, mut failed) = (0, 0);
    for experiment in &chosen {
        for row in experiment.run(seed, studies)? {
            println!("{row}");
            bounds += u32::from(row.is_bound());
            failed += u32::from(!row.holds());
        }
    }
    println!("\n{failed} of {bounds} bounds failed in {:.0} s", start.elapsed().as_secs_f64());
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
    // The sort keeps the order within a scenario.
    all.sort_by_key(|one| place(one.scenario));
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
    use std::thread;

    use super::*;

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
        let mut experiments = all();
        for experiment in &mut experiments {
            experiment.least = 1;
        }
        let broken_of = |half: usize| {
            let mut broken = Vec::new();
            for experiment in experiments.iter().skip(half).step_by(2) {
                let rows = experiment.run(SEED, FEW).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(rows.len(), experiment.counts.len(), "{}", experiment.purpose);
                broken.extend(rows.iter().filter(|row| !row.may_hold()).map(ToString::to_string));
            }
            broken
        };
        let broken: Vec<String> = thread::scope(|scope| {
            let other = scope.spawn(|| broken_of(1));
            let first = broken_of(0);
            [first, other.join().unwrap_or_else(|_| panic!("the other half panicked"))].concat()
        });
        assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    }
}
