//! S3, S5, S6, S8: differences, differences equal to the margin, equal configurations, and disturbed trials.

use super::experiment::{Bound, Count, Experiment, count};
use super::null::false_verdict;
use super::seam::{self, Question};
use super::world::{self, PAIR_SD, World};
use assay_study::findings::{Comparison, Verdict};

const MARGINS: [f64; 3] = [0.02, 0.05, 0.1];
const REPLICATES: [usize; 3] = [3, 6, 10];
/// Gain in S8.
const GAIN: f64 = 0.05;

pub fn experiments() -> Vec<Experiment> {
    let mut all = vec![found()];
    for margin in MARGINS {
        for replicates in REPLICATES {
            all.extend([1.0, -1.0].map(|way| at_the_margin(margin, replicates, way)));
        }
    }
    all.push(equal());
    for replicates in [5, 10] {
        all.extend([false, true].map(|gains| disturbed(replicates, gains)));
    }
    all
}

fn is(found: &Comparison, verdict: Verdict) -> bool {
    found.verdict == Some(verdict)
}

/// Conclusions of the only comparison of a world with two configurations.
fn pair(
    (scenario, purpose, setting): (&'static str, String, String),
    counts: Vec<Count>,
    (world, margin): (World, f64),
    says: fn(&Comparison) -> Vec<bool>,
) -> Experiment {
    let question = Question { margin, ..Question::about(&world) };
    Experiment::new(scenario, purpose, setting, counts, move |chance| {
        let found = seam::findings(&world::run(&world, chance), &question)?;
        Ok(says(question.comparison(&found, 1)?))
    })
}

fn found() -> Experiment {
    let world = World { shift: 2.0 * PAIR_SD, ..World::null(2, 5) };
    let counts = vec![count("better", Bound::at_least(87.0)), count("worse", Bound::at_most(0.0))];
    pair(
        ("S3", "S3".to_owned(), "shift of 2 sd of d, 2 configurations, n = 5".to_owned()),
        counts,
        (world, 0.05),
        |found| vec![is(found, Verdict::Better), is(found, Verdict::Worse)],
    )
}

fn at_the_margin(margin: f64, replicates: usize, way: f64) -> Experiment {
    let world = World { shift: way * margin.ln_1p(), ..World::null(2, replicates) };
    let percent = 100.0 * margin;
    let (key, words) = if way > 0.0 { ("up", "1 + margin") } else { ("down", "1 / (1 + margin)") };
    pair(
        (
            "S5",
            format!("S5-{key}-m{percent:.0}-n{replicates}"),
            format!("ratio {words}, margin {percent:.0}%, 2 configurations, n = {replicates}"),
        ),
        vec![count("equivalent", Bound::at_most(7.2)), count(TOST, Bound::at_most(7.2))],
        (world, margin),
        equivalence,
    )
}

/// The test of equivalence, also if the verdict is better or worse.
const TOST: &str = "TOST: equivalent";

/// Returns whether the verdict is equivalent, and whether the test of equivalence passes. It can pass next to a small
/// difference, which the sentence then states.
fn equivalence(found: &Comparison) -> Vec<bool> {
    let equivalent = is(found, Verdict::Equivalent);
    let small = found.within_margin;
    vec![equivalent, equivalent || small]
}

/// The test of carry-over withholds the verdict in up to 5% of studies (R2d).
fn equal() -> Experiment {
    let counts = vec![
        count("equivalent", Bound::at_least(0.95 * 87.0)),
        count(TOST, Bound::at_least(0.95 * 92.0)),
    ];
    pair(
        ("S6", "S6".to_owned(), "equal, margin of 2 sd of d, 2 configurations, n = 5".to_owned()),
        counts,
        (World::null(2, 5), (2.0 * PAIR_SD).exp_m1()),
        equivalence,
    )
}

/// One trial in ten is disturbed: with equal arms, or with one that gains.
fn disturbed(replicates: usize, gains: bool) -> Experiment {
    let world = World { disturbed: 0.1, ..World::null(2, replicates) };
    let (key, words, world, count) = if gains {
        let world = World { shift: GAIN.ln_1p(), ..world };
        ("gain", "+5%", world, count("better", Bound::at_least(60.0)))
    } else {
        ("null", "null", world, false_verdict(Bound::at_most(7.0)))
    };
    let purpose = format!("S8-{key}-n{replicates}");
    let setting = format!("{words}, 10% disturbed by x1.5, 2 configurations, n = {replicates}");
    let says: fn(&Comparison) -> Vec<bool> = if gains {
        |found| vec![is(found, Verdict::Better)]
    } else {
        |found| vec![seam::differs(found)]
    };
    pair(("S8", purpose, setting), vec![count], (world, 0.05), says)
}
