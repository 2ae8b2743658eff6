//! A simulated machine: the values that it measures in each trial of a plan.

use std::cell::RefCell;
use std::collections::HashMap;

use assay_core::draws::Draws;
use assay_study::file::{LeadIn, Order};
use assay_study::plan::order::{self, Rules, Turn};

use super::chance::Chance;

/// Standard deviation of a trial, on the logarithmic scale.
pub const TRIAL_SD: f64 = 0.02;
/// Standard deviation of a difference between two independent trials.
pub const PAIR_SD: f64 = TRIAL_SD * std::f64::consts::SQRT_2;
/// The configuration with a carry-over effect on the next trial.
const CARRIER: usize = 1;
/// Value of a trial without any effect.
const LEVEL: f64 = 1000.0;
const DISTURBANCE: f64 = 1.5;
/// Slowdown of a rare slow trial of the carrier, on the logarithmic scale.
const SLOW: f64 = 0.2;

/// A simulated machine and the study on it. Effects are logarithms of ratios.
#[derive(Clone, Debug)]
pub struct World {
    pub arms: usize,
    pub replicates: usize,
    pub order: Order,
    /// Share of its deviation that a trial passes on to the next one.
    pub kept: f64,
    /// All configurations but the baseline, relative to the baseline.
    pub shift: f64,
    /// The end of the study relative to its beginning.
    pub drift: f64,
    /// A trial after the carrier relative to other trials.
    pub carry_over: f64,
    /// Share of the carry-over that remains after each further trial.
    pub lasting: f64,
    /// A periodic disturbance with a random phase.
    pub returning: Option<Returning>,
    /// Share of the carrier's trials that are slow; its other trials are faster, so the means are equal.
    pub slow: f64,
    /// Share of trials that are disturbed and marked as such.
    pub disturbed: f64,
}

impl World {
    /// Equal configurations in random order, with nothing but noise.
    pub fn null(arms: usize, replicates: usize) -> Self {
        Self {
            arms,
            replicates,
            order: Order::Random,
            kept: 0.0,
            shift: 0.0,
            drift: 0.0,
            carry_over: 0.0,
            lasting: 0.0,
            returning: None,
            slow: 0.0,
            disturbed: 0.0,
        }
    }
}

/// A periodic disturbance. Its period is in trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returning {
    Sine(f64),
    /// One trial per period is slow.
    Slow(f64),
    /// Two trials are slow and two are not.
    TwoAndTwo,
}

impl Returning {
    /// Amplitude in standard deviations of a trial.
    pub const AMPLITUDE: f64 = 5.0;

    /// Returns the effect on a trial in whose middle `passed` trials have passed.
    fn at(self, passed: f64, phase: f64) -> f64 {
        let turn = |period: f64| (passed / period + phase).fract();
        let share = match self {
            Self::Sine(period) => (turn(period) * std::f64::consts::TAU).sin(),
            Self::Slow(period) => -f64::from(u8::from(turn(period) < 1.0 / period)),
            Self::TwoAndTwo => -f64::from(u8::from(turn(4.0) < 0.5)),
        };
        Self::AMPLITUDE * TRIAL_SD * share
    }
}

/// One trial of a simulated study.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// From 1.
    pub replicate: u32,
    /// Position in time, including lead-ins.
    pub order: u32,
    pub lead_in: bool,
    pub arm: usize,
    pub value: f64,
    pub disturbed: bool,
}

/// Runs a study, including lead-ins, in the order of the product's plan.
pub fn run(world: &World, chance: &mut Chance) -> Vec<Trial> {
    let turns = planned(world, chance.bits() % PLANS);
    let noise = noise(world.kept, turns.len(), chance);
    let phase = world.returning.map_or(0.0, |_| chance.uniform());
    let middles = middles(&turns);
    let last = middles.last().copied().unwrap_or(1.0);
    let mut carried = 0.0;
    let mut trials = Vec::with_capacity(turns.len());
    for (order, ((turn, noise), middle)) in turns.into_iter().zip(noise).zip(middles).enumerate() {
        let Turn { replicate, item: arm, lead_in } = turn;
        let disturbed = !lead_in && world.disturbed > 0.0 && chance.uniform() < world.disturbed;
        let mut level = noise + world.drift * middle / last;
        level += if arm > 0 { world.shift } else { 0.0 };
        level += carried;
        level += world.returning.map_or(0.0, |returning| returning.at(middle, phase));
        if arm == CARRIER && world.slow > 0.0 {
            let is_slow = chance.uniform() < world.slow;
            level += SLOW * (world.slow - f64::from(u8::from(is_slow)));
        }
        let factor = if disturbed { DISTURBANCE } else { 1.0 };
        let value = LEVEL * level.exp() * factor;
        trials.push(Trial { replicate, order: order as u32, lead_in, arm, value, disturbed });
        carried *= world.lasting.powf(if lead_in { 0.5 } else { 1.0 });
        carried += if arm == CARRIER { world.carry_over } else { 0.0 };
    }
    trials
}

/// Returns the middle of each turn in trials since the middle of the first turn; a lead-in is half a trial.
fn middles(turns: &[Turn]) -> Vec<f64> {
    let halves = |turn: &Turn| if turn.lead_in { 0.25 } else { 0.5 };
    let mut end = -turns.first().map_or(0.0, halves);
    let middle = |turn: &Turn| {
        let middle = end + halves(turn);
        end = middle + halves(turn);
        middle
    };
    turns.iter().map(middle).collect()
}

/// Different plans per kind: a plan takes longer than the analysis of a study.
const PLANS: u64 = 1000;

/// Order, arms, replicates and seed of a plan.
type Kind = (&'static str, usize, usize, u64);

/// Returns the product's plan of a study; each thread draws it once per kind.
fn planned(world: &World, seed: u64) -> Vec<Turn> {
    thread_local! {
        static KNOWN: RefCell<HashMap<Kind, Vec<Turn>>> = RefCell::default();
    }
    let &World { order, arms, replicates, .. } = world;
    let draw = || {
        let rules = Rules { order, lead_in: LeadIn::Half, compared: true };
        order::turns(rules, &[(0..arms).collect()], replicates, &mut Draws::new(seed, "order"))
    };
    let kind = (order.name(), arms, replicates, seed);
    KNOWN.with_borrow_mut(|known| known.entry(kind).or_insert_with(draw).clone())
}

/// Draws normal deviations, each of which passes a share to the next one (AR(1)).
fn noise(kept: f64, trials: usize, chance: &mut Chance) -> Vec<f64> {
    let fresh = (1.0 - kept * kept).sqrt();
    let mut state = chance.normal();
    let mut noise = Vec::with_capacity(trials);
    for _ in 0..trials {
        noise.push(TRIAL_SD * state);
        state = kept * state + fresh * chance.normal();
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(world: &World) -> Vec<Trial> {
        let mut chance = Chance::new(7, 0, "test").unwrap_or_else(|error| panic!("{error}"));
        run(world, &mut chance)
    }

    #[test]
    fn each_replicate_begins_with_a_lead_in_of_its_first_arm() {
        let trials = ran(&World::null(3, 4));
        assert_eq!(trials.len(), 16);
        for replicate in trials.chunks(4) {
            assert!(replicate[0].lead_in && replicate[1..].iter().all(|trial| !trial.lead_in));
            assert_eq!(replicate[0].arm, replicate[1].arm);
        }
        assert!(trials.iter().zip(0..).all(|(trial, order)| trial.order == order));
        let chained = World { order: Order::Chained, ..World::null(3, 4) };
        let trials = ran(&chained);
        assert_eq!(trials.iter().filter(|trial| trial.lead_in).count(), 1);
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
        let shifted: Vec<f64> = (0..9).map(|index| 0.1 * arm(index)).collect();
        assert!(close(&of(World { shift: 0.1, ..World::null(2, 3) }), &shifted));
        let carried: Vec<f64> =
            (0..9).map(|index| if index > 0 { 0.1 * arm(index - 1) } else { 0.0 }).collect();
        assert!(close(&of(World { carry_over: 0.1, ..World::null(2, 3) }), &carried));
        // Lead-ins last half as long: the middles of a replicate are 0, 0.75 and 1.75.
        let middles = [0.0, 0.75, 1.75, 2.5, 3.25, 4.25, 5.0, 5.75, 6.75];
        let drifted = middles.map(|middle| 0.1 * middle / 6.75);
        assert!(close(&of(World { drift: 0.1, ..World::null(2, 3) }), &drifted));
    }

    #[test]
    fn what_returns_does_so_at_its_distance() {
        let at = |returning: Returning, passed: f64| returning.at(passed, 0.0) / TRIAL_SD;
        assert!((at(Returning::Sine(4.0), 1.0) - 5.0).abs() < 1e-9);
        assert!((at(Returning::Sine(4.0), 3.0) + 5.0).abs() < 1e-9);
        let slow = |returning| -> Vec<f64> {
            (0..6).map(|trial| at(returning, f64::from(trial) + 0.25)).collect()
        };
        assert_eq!(slow(Returning::Slow(3.0)), [-5.0, 0.0, 0.0, -5.0, 0.0, 0.0]);
        assert_eq!(slow(Returning::TwoAndTwo), [-5.0, -5.0, 0.0, 0.0, -5.0, -5.0]);
    }
}
