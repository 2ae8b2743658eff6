//! S1, S2, S4: equal configurations on machines with noise, drift, carry-over or autocorrelation.

use super::experiment::{Bound, Count, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, World};
use assay_study::findings::{Check, Verdict};

const ARMS: [usize; 3] = [2, 3, 8];
const REPLICATES: [usize; 4] = [3, 5, 6, 10];
/// Losses over a study with drift, after the carrier, and after the carrier if the effect lasts.
const DRIFT: f64 = 0.05;
const CARRY_OVER: f64 = 0.03;
const LASTING: f64 = 0.05;

pub const fn false_verdict(bound: Bound) -> Count {
    count("any better or worse", bound)
}

pub fn experiments() -> Vec<Experiment> {
    let mut all = Vec::new();
    for law in &LAWS {
        for arms in ARMS {
            all.extend(REPLICATES.map(|replicates| law.experiment(arms, replicates)));
        }
    }
    all.extend(REPLICATES.map(|replicates| eight_arms(replicates, false)));
    all.extend(REPLICATES.map(|replicates| eight_arms(replicates, true)));
    for arms in [2, 4] {
        all.extend(REPLICATES.map(|replicates| lasting(arms, replicates)));
    }
    all
}

/// A lasting carry-over effect: if a verdict is wrong, the report states the carry-over that it cannot detect (R10).
fn lasting(arms: usize, replicates: usize) -> Experiment {
    let world =
        World { carry_over: (1.0 - LASTING).ln(), lasting: 0.5, ..World::null(arms, replicates) };
    let question = Question::about(&world);
    // With three replicates, the test gives no note in a few studies; wrong verdicts are rare there.
    let bound = Bound::at_most(if replicates == 3 { 1.0 } else { 0.0 });
    let silent = count("without a carry-over note", bound);
    Experiment::new(
        "S2",
        format!("S2-lasting-k{arms}-n{replicates}"),
        format!("null, {arms} configurations, n = {replicates}, 5% carry-over, halved per trial"),
        vec![false_verdict(Bound::Free), silent],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let is_wrong = found.comparisons.iter().any(seam::differs);
            let warns = |check: &Check| {
                check.name == "carry-over"
                    || ["not detectable", "not check", "indistinguishable", "too few"]
                        .iter()
                        .any(|words| check.text.contains(words))
            };
            Ok(vec![is_wrong, is_wrong && !found.checks.iter().any(warns)])
        },
    )
}

struct Law {
    scenario: &'static str,
    /// Prefix of the purpose, which seeds the random numbers.
    key: &'static str,
    words: &'static str,
    bound: Bound,
    change: fn(World) -> World,
}

const LAWS: [Law; 6] = [
    Law {
        scenario: "S1",
        key: "S1",
        words: "",
        bound: Bound::Within(3.0, 7.2),
        change: |world| world,
    },
    Law {
        scenario: "S2",
        key: "S2-drift",
        words: ", 5% drift",
        bound: Bound::Within(3.0, 7.2),
        change: |world| World { drift: (1.0 - DRIFT).ln(), ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-carry",
        words: ", 3% carry-over",
        bound: Bound::Within(0.5, 7.2),
        change: |world| World { carry_over: (1.0 - CARRY_OVER).ln(), ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-ar3",
        words: ", AR(1) 0.3",
        bound: Bound::at_most(9.0),
        change: |world| World { kept: 0.3, ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-ar6",
        words: ", AR(1) 0.6",
        bound: Bound::at_most(9.0),
        change: |world| World { kept: 0.6, ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-slow",
        words: ", one of ten trials of one configuration 20% slower",
        // A known limit: few trials do not contain rare events.
        bound: Bound::Free,
        change: |world| World { slow: 0.1, ..world },
    },
];

impl Law {
    fn experiment(&self, arms: usize, replicates: usize) -> Experiment {
        let world = (self.change)(World::null(arms, replicates));
        null(
            self.scenario,
            format!("{}-k{arms}-n{replicates}", self.key),
            format!("null, {arms} configurations, n = {replicates}{}", self.words),
            self.bound,
            world,
        )
    }
}

/// Studies of equal configurations: counts false verdicts.
pub fn null(
    scenario: &'static str,
    purpose: String,
    setting: String,
    bound: Bound,
    world: World,
) -> Experiment {
    let question = Question::about(&world);
    Experiment::new(scenario, purpose, setting, vec![false_verdict(bound)], move |chance| {
        let found = seam::findings(&world::run(&world, chance), &question)?;
        Ok(vec![found.comparisons.iter().any(seam::differs)])
    })
}

/// Seven comparisons with equal configurations, or with a difference equal to the margin, where none is equivalent.
fn eight_arms(replicates: usize, is_at_margin: bool) -> Experiment {
    let null = World::null(8, replicates);
    let question = Question::about(&null);
    let any_equivalent = count("any equivalent", Bound::Free);
    let (world, purpose, setting, counts) = if is_at_margin {
        (
            World { shift: question.margin.ln_1p(), ..null },
            format!("S4-margin-n{replicates}"),
            format!("8 configurations, 7 at the margin of 5%, n = {replicates}"),
            vec![any_equivalent],
        )
    } else {
        (
            null,
            format!("S4-n{replicates}"),
            format!("null, 8 configurations, n = {replicates}, margin 5%"),
            vec![any_equivalent, false_verdict(Bound::at_most(7.2))],
        )
    };
    Experiment::new("S4", purpose, setting, counts, move |chance| {
        let found = seam::findings(&world::run(&world, chance), &question)?;
        let mut verdicts = found.comparisons.iter().map(|found| found.verdict);
        let is_equivalent = verdicts.any(|verdict| verdict == Some(Verdict::Equivalent));
        Ok(vec![is_equivalent, found.comparisons.iter().any(seam::differs)])
    })
}
