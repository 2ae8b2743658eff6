//! S17: a screen before a race (R15): whether it drops levels of the best configuration, how close the winner is to the
//! best, and the number of trials. The screen ignores interactions; some experiments count what this costs.

use std::collections::BTreeMap;

use assay_study::file::{Study, text};
use assay_study::plan;
use assay_study::results::plan::{Plan, PlannedWorkload};
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Experiment, count};
use super::races::{self, Case, Noisy, Truth, WITHIN};

/// Levels of three factors; only their names matter.
const COPIES: usize = 8;
const SIZES: usize = 5;
const THREADS: usize = 5;
const ARMS: usize = COPIES * SIZES * THREADS;
/// Trials per configuration that the count of used trials refers to.
const MOST_TAKEN: f64 = 4.0;

/// True values of a grid: standard deviations of the effects of levels, and of the interaction of each configuration.
#[derive(Clone, Copy)]
struct Grid {
    level_sd: f64,
    interaction_sd: f64,
}

const ADDS_UP: Grid = Grid { level_sd: 0.06, interaction_sd: 0.0 };

impl Grid {
    fn truths(self, plan: &Plan, chance: &mut Chance) -> Vec<f64> {
        let mut effects: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for factor in &plan.design.factors {
            for level in &factor.levels {
                effects.insert(
                    (factor.name.as_str(), level.as_str()),
                    self.level_sd * chance.normal(),
                );
            }
        }
        let effect = |(factor, level): (&String, &String)| {
            effects.get(&(factor.as_str(), level.as_str())).copied().unwrap_or(0.0)
        };
        let sum = |own: &PlannedWorkload| own.arm.iter().map(effect).sum::<f64>();
        let sums: Vec<f64> = plan.workloads.iter().map(sum).collect();
        sums.into_iter().map(|sum| sum + self.interaction_sd * chance.normal()).collect()
    }
}

/// A race among 200 configurations that begins with a screen.
fn study() -> Done<Study> {
    let copies: Vec<String> = (0..COPIES).map(|copy| format!("\"c{copy}\"")).collect();
    let sizes: Vec<String> = (1..=SIZES).map(|size| format!("\"{} KiB\"", 4 * size)).collect();
    let threads: Vec<String> = (1..=THREADS).map(|count| count.to_string()).collect();
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"race\"\nreplicates = 20\nmargin = \"2%\"\n\
         stop = {{ rule = \"best\", screen = true }}\nprimary_metric = \"iops\"\n[factors]\naa_copy = [{}]\nblock_size = [{}]\n\
         threads = [{}]\n[[workload]]\nname = \"work\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"1 s\" }}\n",
        copies.join(", "),
        sizes.join(", "),
        threads.join(", ")
    );
    text::parse("simulated", &text).map_err(|failure| failure.message)
}

const LOST: &str = "a level of the best remains";
const TAKEN: &str = "of 4 trials per configuration used";
const TOLD_APART: &str = "baseline differs from the winner";
const LEFT: &str = "a level remains";

pub fn experiments() -> Vec<Experiment> {
    let plain = Case::new(ARMS, Truth::Equal);
    let rough = Case { rough: true, ..plain };
    let third = Case { noisy: Noisy::Third, ..plain };
    let interacting = |interaction_sd| Grid { interaction_sd, ..ADDS_UP };
    // A race without a screen needs 3.5 trials per configuration.
    let mut all = vec![
        found("S17-adds-up", "effects add up", (plain, ADDS_UP), (Some(97.0), Some(40.0))),
        found(
            "S17-third",
            "effects add up, a third of the settings three times as noisy",
            (third, ADDS_UP),
            (Some(93.0), None),
        ),
        found(
            "S17-rough",
            "effects add up; drift, carry-over, a sine, 5% failed, 10% disturbed",
            (rough, ADDS_UP),
            (Some(93.0), None),
        ),
        found(
            "S17-some",
            "interactions with an sd of 1%",
            (plain, interacting(0.01)),
            (None, None),
        ),
        found(
            "S17-many",
            "interactions with an sd of 3%",
            (plain, interacting(0.03)),
            (None, None),
        ),
        equals(plain),
    ];
    for one in &mut all {
        one.one_in = 4;
        one.setting = format!("screen and race, 8 x 5 x 5 settings, sd 3%: {}", one.setting);
        one.daily = one.purpose == "S17-rough";
    }
    all
}

/// A race among different configurations; with interactions, there is no bound.
fn found(
    purpose: &str,
    setting: &str,
    (case, grid): (Case, Grid),
    (least, taken): (Option<f64>, Option<f64>),
) -> Experiment {
    let lost = if least.is_some() { Bound::at_most(5.0) } else { Bound::Free };
    let counts = vec![
        count(WITHIN, least.map_or(Bound::Free, Bound::at_least)),
        count(LOST, lost),
        count(TAKEN, taken.map_or(Bound::Free, Bound::at_most)),
    ];
    let study = study();
    Experiment::new("S17", purpose, setting, counts, move |chance| {
        let ended = run_case(case, grid, study.as_ref().map_err(Clone::clone)?, chance)?;
        let left = ended.race.standing.left.get(ended.best).copied().flatten();
        // Whether the race ran a trial that is drawn from this number.
        let is_taken = chance.uniform() * MOST_TAKEN * (ARMS as f64) < ended.trials as f64;
        Ok(vec![ended.is_within(), left.is_some_and(|left| left.after == 0), is_taken])
    })
}

/// A race among equals: no configuration may differ from the baseline.
fn equals(case: Case) -> Experiment {
    let counts = vec![count(TOLD_APART, Bound::at_most(5.0)), count(LEFT, Bound::Free)];
    let study = study();
    let grid = Grid { level_sd: 0.0, interaction_sd: 0.0 };
    Experiment::new("S17", "S17-equal", "all equal", counts, move |chance| {
        let ended = run_case(case, grid, study.as_ref().map_err(Clone::clone)?, chance)?;
        let standing = &ended.race.standing;
        let has_left = standing.left.iter().flatten().any(|left| left.after == 0);
        Ok(vec![standing.baseline_behind.is_some(), has_left])
    })
}

fn run_case(
    case: Case,
    grid: Grid,
    study: &Study,
    chance: &mut Chance,
) -> Done<races::FinishedRace> {
    let plan = plan::make(study, vec![races::survey()], chance.bits());
    let truths = grid.truths(&plan, chance);
    races::run(&case, truths, &plan, chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_screens_and_then_races_the_rest() {
        let study = study().unwrap_or_else(|error| panic!("{error}"));
        let mut chance = Chance::new(1, 0, "test").unwrap_or_else(|error| panic!("{error}"));
        let grid = Grid { level_sd: 0.5, interaction_sd: 0.0 };
        let ended = run_case(Case::new(ARMS, Truth::Equal), grid, &study, &mut chance);
        let ended = ended.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ended.race.standing.leader, Some(ended.best));
        assert!(ended.race.screen.is_some());
        // 96 trials of the screen, and a few of each that is left.
        assert!((96..200).contains(&ended.trials), "{}", ended.trials);
    }
}
