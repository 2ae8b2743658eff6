//! S1, S2, S4: arms that do not differ, on benches that are quiet, drift, remember or wander.

use super::experiment::{Bound, Count, Experiment};
use super::seam::{self, Question};
use super::world::{self, Noise, World};
use assay_study::findings::{Check, Verdict};

const ARMS: [usize; 3] = [2, 3, 8];
pub const REPLICATES: [usize; 4] = [3, 5, 6, 10];
/// What the bench loses over a study that drifts.
const DRIFT: f64 = 0.05;
/// What the trial after the carrier loses.
pub const CARRY_OVER: f64 = 0.03;

/// What it loses where that lasts.
const LASTING: f64 = 0.05;

/// A false verdict and how often it may be given.
pub const fn false_verdict(bound: Bound) -> Count {
    Count { what: "any better or worse", bound }
}

pub fn experiments() -> Vec<Experiment> {
    let mut all = Vec::new();
    for law in &LAWS {
        for arms in ARMS {
            all.extend(REPLICATES.map(|replicates| law.experiment(arms, replicates)));
        }
    }
    all.extend(REPLICATES.map(eight_arms));
    all.extend(REPLICATES.map(eight_arms_at_the_margin));
    for arms in [2, 4] {
        all.extend(REPLICATES.map(|replicates| lasting(arms, replicates)));
    }
    all
}

/// What a setting leaves behind lasts: the report says what carry-over it cannot have seen wherever a verdict is
/// wrong (R10).
fn lasting(arms: usize, replicates: usize) -> Experiment {
    let world =
        World { carry_over: (1.0 - LASTING).ln(), lasting: 0.5, ..World::null(arms, replicates) };
    let question = Question::of(arms, world.turns);
    // With three replicates the test says nothing in a few studies; wrong verdicts are rare there.
    let bound = Bound::at_most(if replicates == 3 { 1.0 } else { 0.0 });
    let silent = Count { what: "without a carry-over note", bound };
    Experiment::new(
        "S2",
        format!("S2-lasting-k{arms}-n{replicates}"),
        format!("null, {arms} configurations, n = {replicates}, 5% carry-over, halved per trial"),
        vec![false_verdict(Bound::Free), silent],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let is_wrong = found.comparisons.iter().any(seam::differs);
            let says = |check: &Check| {
                check.name == "carry-over"
                    || ["not detectable", "not check", "indistinguishable", "too few"]
                        .iter()
                        .any(|words| check.text.contains(words))
            };
            Ok(vec![is_wrong, is_wrong && !found.checks.iter().any(says)])
        },
    )
}

struct Law {
    scenario: &'static str,
    /// Names the random numbers.
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
        change: |world| World { noise: Noise::Normal { kept: 0.3 }, ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-ar6",
        words: ", AR(1) 0.6",
        bound: Bound::at_most(9.0),
        change: |world| World { noise: Noise::Normal { kept: 0.6 }, ..world },
    },
    Law {
        scenario: "S2",
        key: "S2-slow",
        words: ", one of ten trials of one configuration 20% slower",
        // A known limit: few trials do not show what is rare.
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

/// Studies without a difference: how many of them say that there is one.
pub fn null(
    scenario: &'static str,
    purpose: String,
    setting: String,
    bound: Bound,
    world: World,
) -> Experiment {
    let question = Question::of(world.arms, world.turns);
    Experiment::new(scenario, purpose, setting, vec![false_verdict(bound)], move |chance| {
        let found = seam::findings(&world::run(&world, chance), &question)?;
        Ok(vec![found.comparisons.iter().any(seam::differs)])
    })
}

const fn any_equivalent() -> Count {
    Count { what: "any equivalent", bound: Bound::Free }
}

/// Seven comparisons at once; what is called equivalent is so.
fn eight_arms(replicates: usize) -> Experiment {
    let world = World::null(8, replicates);
    let question = Question::of(world.arms, world.turns);
    Experiment::new(
        "S4",
        format!("S4-n{replicates}"),
        format!("null, 8 configurations, n = {replicates}, margin 5%"),
        vec![false_verdict(Bound::at_most(7.2)), any_equivalent()],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let equivalent = |verdict| verdict == Some(Verdict::Equivalent);
            let verdicts = || found.comparisons.iter();
            Ok(vec![
                verdicts().any(seam::differs),
                verdicts().any(|found| equivalent(found.verdict)),
            ])
        },
    )
}

/// Seven arms just as far away as the margin: none of them is equivalent.
fn eight_arms_at_the_margin(replicates: usize) -> Experiment {
    let question = Question::of(8, World::null(8, replicates).turns);
    let world = World { shift: question.margin.ln_1p(), ..World::null(8, replicates) };
    Experiment::new(
        "S4",
        format!("S4-margin-n{replicates}"),
        format!("8 configurations, 7 at the margin of 5%, n = {replicates}"),
        vec![any_equivalent()],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let equivalent = |verdict| verdict == Some(Verdict::Equivalent);
            Ok(vec![found.comparisons.iter().any(|found| equivalent(found.verdict))])
        },
    )
}
