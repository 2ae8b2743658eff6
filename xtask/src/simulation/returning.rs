//! S2: periodic disturbances, such as write-back, journal commits and timers of other processes, with random order and
//! with chained order (R2c).

use super::experiment::{Bound, Experiment};
use super::null::null;
use super::world::{Returning, World};
use assay_study::file::Order;

const ARMS: [usize; 4] = [2, 3, 4, 8];
const REPLICATES: [usize; 5] = [3, 4, 5, 6, 10];
/// The bounds were chosen for this number; fewer studies vary too much.
const STUDIES: u32 = 4000;
/// Configurations of the experiments in each test run: the most sensitive ones.
const DAILY: [usize; 2] = [2, 3];

const ALL: [(&str, &str, Returning); 11] = [
    ("sine2", "sine of 2", Returning::Sine(2.0)),
    ("sine3", "sine of 3", Returning::Sine(3.0)),
    ("sine4", "sine of 4", Returning::Sine(4.0)),
    ("sine5", "sine of 5", Returning::Sine(5.0)),
    ("sine6", "sine of 6", Returning::Sine(6.0)),
    ("sine8", "sine of 8", Returning::Sine(8.0)),
    ("sine10", "sine of 10", Returning::Sine(10.0)),
    ("slow2", "every 2nd slow", Returning::Slow(2.0)),
    ("slow3", "every 3rd slow", Returning::Slow(3.0)),
    ("slow4", "every 4th slow", Returning::Slow(4.0)),
    ("pairs", "2 on, 2 off", Returning::TwoAndTwo),
];

pub fn experiments() -> Vec<Experiment> {
    let mut all = Vec::new();
    for arms in ARMS {
        for replicates in REPLICATES {
            for one in &ALL {
                all.push(experiment(one, arms, replicates, Order::Random));
                all.push(experiment(one, arms, replicates, Order::Chained));
            }
        }
    }
    all
}

/// Returns the allowed rate of false verdicts. With three or four replicates, no order is safe. With two configurations,
/// each is first in at least a third of the replicates (R2d). This excludes orders in which the disturbance affects both
/// equally, so that more of the remaining orders coincide with the disturbance.
fn bound(order: Order, arms: usize, replicates: usize) -> Bound {
    match (order, arms, replicates) {
        (Order::Random, 2, 6) => Bound::at_most(10.5),
        (Order::Random, 2, 5) => Bound::at_most(13.0),
        (Order::Random, _, 6..) => Bound::at_most(9.0),
        (Order::Random, _, 5) => Bound::at_most(10.0),
        _ => Bound::Free,
    }
}

fn experiment(
    &(key, words, returning): &(&'static str, &'static str, Returning),
    arms: usize,
    replicates: usize,
    order: Order,
) -> Experiment {
    let world = World { order, returning: Some(returning), ..World::null(arms, replicates) };
    let initial = &order.name()[..1];
    let daily = order == Order::Random && replicates == 6 && DAILY.contains(&arms);
    Experiment {
        most: STUDIES,
        least: STUDIES,
        daily,
        ..null(
            "S2",
            format!("S2-{initial}-{key}-k{arms}-n{replicates}"),
            format!("null, {arms} configurations, n = {replicates}, {words}, {}", order.name()),
            bound(order, arms, replicates),
            world,
        )
    }
}
