//! What the protocol's rules say beside its suite: orders compared (R2), a control arm on a bench
//! that favours every second trial (R7), the coverage of the interval (R4).

use super::experiment::{Bound, Count, Experiment};
use super::null::{CARRY_OVER, REPLICATES, false_verdict, null};
use super::seam::{self, Question};
use super::world::{self, CARRIER, Noise, Turns, World};
use assay_study::file::Order;

/// What every second trial gains in R7.
const SLOT: f64 = 0.03;

pub fn experiments() -> Vec<Experiment> {
    let mut all: Vec<Experiment> = CARRIED.iter().flat_map(carried).collect();
    all.extend([5, 10].map(sequential));
    for replicates in [6, 10] {
        all.push(slots("random", replicates, Turns::Planned(Order::Random)));
        all.push(slots("same", replicates, Turns::Same));
    }
    for (replicates, [normal, heavy]) in REPLICATES.into_iter().zip(COVERAGE) {
        let quiet = World::null(2, replicates).noise;
        all.push(coverage("normal", replicates, quiet, normal));
        all.push(coverage("t3", replicates, Noise::HeavyPairs, heavy));
    }
    all
}

/// Arms, replicates, and false verdicts of random replicates without and of chained ones in R2, in
/// percent.
const CARRIED: [(usize, usize, [f64; 2]); 4] =
    [(2, 6, [14.6, 4.6]), (3, 6, [9.9, 2.6]), (4, 8, [8.6, 3.2]), (8, 5, [5.8, 4.3])];

/// The family as the product judges it, and the carrier's comparison alone at 5%, as the design
/// looked at it (without a lead-in, which spares the first replicate).
fn carried(&(arms, replicates, rates): &(usize, usize, [f64; 2])) -> [Experiment; 3] {
    let near = rates.map(Bound::Near);
    let orders = [(Order::Rcbd, near[0]), (Order::Chained, near[1]), (Order::Random, Bound::Free)];
    orders.map(|(order, bound)| {
        let turns = Turns::Planned(order);
        let carry_over = (1.0 - CARRY_OVER).ln();
        let world = World { turns, carry_over, ..World::null(arms, replicates) };
        let question = Question::of(arms, turns);
        let name = order.name();
        let alone = Count { what: "only the carrier differs at 5%", bound };
        Experiment::new(
            "R2",
            format!("R2-{name}-k{arms}-n{replicates}"),
            format!("null, {arms} configurations, n = {replicates}, 3% carry-over, {name}"),
            vec![false_verdict(Bound::Free), alone],
            move |chance| {
                let found = seam::findings(&world::run(&world, chance), &question)?;
                let [low, high] = question.comparison(&found, CARRIER)?.ci95.ok_or("no CI")?;
                Ok(vec![found.comparisons.iter().any(seam::differs), low > 1.0 || high < 1.0])
            },
        )
    })
}

/// One arm after the other on a bench that drifts: nothing may be said.
fn sequential(replicates: usize) -> Experiment {
    let world = World {
        turns: Turns::Planned(Order::Sequential),
        drift: -0.05,
        ..World::null(2, replicates)
    };
    null(
        "R2",
        format!("R2-sequential-n{replicates}"),
        format!("null, 2 configurations, n = {replicates}, 5% drift, sequential"),
        Bound::at_most(0.0),
        world,
    )
}

/// Four arms, the last one a copy of the first. In one fixed order the two always meet the two
/// kinds of slots; in a drawn order the slots are one more noise.
fn slots(key: &str, replicates: usize, turns: Turns) -> Experiment {
    let world = World { turns, slot: SLOT.ln_1p(), ..World::null(4, replicates) };
    let question = Question { control: Some(3), ..Question::of(4, turns) };
    let words = if turns == Turns::Same { "fixed order" } else { "random" };
    Experiment::new(
        "R7",
        format!("R7-{key}-n{replicates}"),
        format!("odd trials +3%, 3 configurations + control, n = {replicates}, {words}"),
        vec![Count { what: "noise floor flagged", bound: Bound::Free }],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let floor = found.effects.noise_floor.ok_or("no noise floor")?;
            Ok(vec![floor.different])
        },
    )
}

/// Coverage in R4 for each of the numbers of replicates, normal and t3, in percent.
const COVERAGE: [[f64; 2]; 4] = [[94.8, 96.2], [94.7, 96.3], [95.1, 96.0], [94.8, 96.0]];

fn coverage(key: &str, replicates: usize, noise: Noise, rate: f64) -> Experiment {
    let world = World { noise, ..World::null(2, replicates) };
    let question = Question::of(2, world.turns);
    Experiment::new(
        "R4",
        format!("R4-{key}-n{replicates}"),
        format!("coverage, differences {key}, n = {replicates}"),
        vec![Count { what: "95% CI contains the true value", bound: Bound::Near(rate) }],
        move |chance| {
            let found = seam::findings(&world::run(&world, chance), &question)?;
            let [low, high] = question.comparison(&found, 1)?.ci95.ok_or("no CI")?;
            Ok(vec![low <= 1.0 && 1.0 <= high])
        },
    )
}
