//! A bench with a known law: what it measures when a plan is run on it.

use std::cell::RefCell;
use std::collections::HashMap;

use assay::plan::draws::Draws;
use assay::plan::order;
use assay::study::Order;

use super::chance::Chance;

/// Standard deviation of a trial, on the logarithmic scale.
pub const TRIAL_SD: f64 = 0.02;
/// The same of a difference between two independent trials.
pub const PAIR_SD: f64 = TRIAL_SD * std::f64::consts::SQRT_2;
/// The arm that leaves something behind for the trial after it.
pub const CARRIER: usize = 1;
/// What a trial measures where nothing happens.
const LEVEL: f64 = 1000.0;
/// What a disturbance makes of a trial.
const DISTURBANCE: f64 = 1.5;

/// How the turns of the arms come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// By the product's own plan.
    Planned(Order),
    /// In one and the same order in every replicate.
    Same,
}

/// How trials scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Normal; each trial keeps this share of the deviation of the one before it.
    Normal { kept: f64 },
    /// Pairs whose differences follow Student's t with three degrees of freedom.
    HeavyPairs,
}

/// The law of a bench and the study that is run on it. Changes are logarithms of ratios.
#[derive(Clone, Debug)]
pub struct World {
    pub arms: usize,
    pub replicates: usize,
    pub turns: Turns,
    pub noise: Noise,
    /// All arms but the baseline against it.
    pub shift: f64,
    /// The end of the study against its beginning.
    pub drift: f64,
    /// A trial that follows the carrier against one that does not.
    pub carry_over: f64,
    /// Every second trial against its neighbours.
    pub slot: f64,
    /// Share of trials that are disturbed, and known to be.
    pub disturbed: f64,
}

impl World {
    /// Equal arms, planned as usual, with nothing but noise.
    pub fn null(arms: usize, replicates: usize) -> Self {
        Self {
            arms,
            replicates,
            turns: Turns::Planned(Order::Chained),
            noise: Noise::Normal { kept: 0.0 },
            shift: 0.0,
            drift: 0.0,
            carry_over: 0.0,
            slot: 0.0,
            disturbed: 0.0,
        }
    }
}

/// One trial of a simulated study.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// From 1; 0 is the lead-in.
    pub replicate: u32,
    /// Position in time; 0 is the lead-in.
    pub order: u32,
    pub arm: usize,
    pub value: f64,
    pub disturbed: bool,
}

/// Runs a study, lead-in first, as the product would.
pub fn run(world: &World, chance: &mut Chance) -> Vec<Trial> {
    let sequence = sequence(world, chance.bits());
    // The lead-in runs the first arm, as in a plan.
    let lead_in = sequence.first().map(|&(_, arm)| (0, arm));
    let turns: Vec<(u32, usize)> = lead_in.into_iter().chain(sequence).collect();
    let noise = noise(world, &turns, chance);
    let last = (turns.len() - 1) as f64;
    let mut before = None;
    let mut trials = Vec::with_capacity(turns.len());
    for (order, ((replicate, arm), noise)) in turns.into_iter().zip(noise).enumerate() {
        let disturbed =
            replicate > 0 && world.disturbed > 0.0 && chance.uniform() < world.disturbed;
        let mut level = noise + world.drift * order as f64 / last;
        level += if arm > 0 { world.shift } else { 0.0 };
        level += if before == Some(CARRIER) { world.carry_over } else { 0.0 };
        level += if order % 2 == 1 { world.slot } else { 0.0 };
        let factor = if disturbed { DISTURBANCE } else { 1.0 };
        let value = LEVEL * level.exp() * factor;
        trials.push(Trial { replicate, order: order as u32, arm, value, disturbed });
        before = Some(arm);
    }
    trials
}

/// Plans of one kind: drawing one costs more than judging a study, and a thousand differ enough.
const PLANS: u64 = 1000;

/// Order, arms, replicates and seed of a plan.
type Kind = (&'static str, usize, usize, u64);

/// The product's plan of a kind, drawn once.
fn planned(order: Order, arms: Vec<usize>, replicates: usize, seed: u64) -> Vec<(u32, usize)> {
    thread_local! {
        static KNOWN: RefCell<HashMap<Kind, Vec<(u32, usize)>>> = RefCell::default();
    }
    let kind = (order.name(), arms.len(), replicates, seed);
    let draw = || order::sequence(order, &[arms], replicates, &mut Draws::new(seed, "order"));
    KNOWN.with_borrow_mut(|known| known.entry(kind).or_insert_with(draw).clone())
}

/// Replicate and arm of each trial that counts.
fn sequence(world: &World, seed: u64) -> Vec<(u32, usize)> {
    let arms: Vec<usize> = (0..world.arms).collect();
    match world.turns {
        Turns::Planned(order) => planned(order, arms, world.replicates, seed % PLANS),
        Turns::Same => {
            let replicates = 1..=world.replicates as u32;
            replicates.flat_map(|number| arms.iter().map(move |&arm| (number, arm))).collect()
        }
    }
}

/// Deviation of each trial.
fn noise(world: &World, turns: &[(u32, usize)], chance: &mut Chance) -> Vec<f64> {
    match world.noise {
        Noise::Normal { kept } => {
            let fresh = (1.0 - kept * kept).sqrt();
            let mut state = chance.normal();
            let next = |_| {
                let this = state;
                state = kept * this + fresh * chance.normal();
                TRIAL_SD * this
            };
            turns.iter().map(next).collect()
        }
        Noise::HeavyPairs => {
            // What a replicate has in common cancels; what is left of a pair is the arm's own.
            let common: Vec<f64> = (0..=world.replicates).map(|_| chance.normal()).collect();
            let own = |arm: usize, chance: &mut Chance| {
                if arm == 0 { 0.0 } else { chance.student3() }
            };
            let one = |&(replicate, arm): &(u32, usize)| {
                TRIAL_SD * (common[replicate as usize] + own(arm, chance))
            };
            turns.iter().map(one).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(world: &World) -> Vec<Trial> {
        let mut chance = Chance::new(7, 0, "test").unwrap_or_else(|error| panic!("{error}"));
        run(world, &mut chance)
    }

    #[test]
    fn a_study_begins_with_a_lead_in_of_its_first_arm() {
        let trials = ran(&World::null(3, 4));
        assert_eq!(trials.len(), 13);
        assert_eq!((trials[0].replicate, trials[0].arm), (0, trials[1].arm));
        assert!(trials.iter().zip(0..).all(|(trial, order)| trial.order == order));
        assert_eq!(trials[3].arm, trials[4].arm, "replicates are chained");
    }

    #[test]
    fn the_law_is_what_differs_between_two_worlds() {
        let plain = ran(&World::null(2, 3));
        let of = |world: World| -> Vec<f64> {
            let pairs = ran(&world).into_iter().zip(&plain);
            pairs.map(|(trial, base)| (trial.value / base.value).ln()).collect()
        };
        let close = |left: &[f64], right: &[f64]| {
            left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-12)
        };
        let arm = |index: usize| plain[index].arm as f64;
        let shifted: Vec<f64> = (0..7).map(|index| 0.1 * arm(index)).collect();
        assert!(close(&of(World { shift: 0.1, ..World::null(2, 3) }), &shifted));
        let carried: Vec<f64> =
            (0..7).map(|index| if index > 0 { 0.1 * arm(index - 1) } else { 0.0 }).collect();
        assert!(close(&of(World { carry_over: 0.1, ..World::null(2, 3) }), &carried));
        let drifted: Vec<f64> = (0..7).map(|index| 0.1 * f64::from(index) / 6.0).collect();
        assert!(close(&of(World { drift: 0.1, ..World::null(2, 3) }), &drifted));
    }
}
