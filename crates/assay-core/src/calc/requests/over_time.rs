//! Amounts over the time of a recording, in few equal steps however long it takes.

use serde::{Deserialize, Serialize};

/// Maximum number of steps. A longer recording doubles the length of each step, so at least half of them are in use.
pub const MOST_STEPS: usize = 80;
const FIRST_STEP_NS: u64 = 1_000_000;

/// How two amounts of one step become one.
type Join = fn(u64, u64) -> u64;

/// An amount for each of some equal steps of time, from the beginning on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverTime {
    pub step_ns: u64,
    /// Amount per step, up to the last nonzero one.
    pub amounts: Vec<u64>,
}

impl Default for OverTime {
    fn default() -> Self {
        Self { step_ns: FIRST_STEP_NS, amounts: Vec::new() }
    }
}

impl OverTime {
    pub fn add(&mut self, at_ns: u64, amount: u64) {
        self.join_at(at_ns, amount, u64::saturating_add);
    }

    /// Keeps the greatest amount of the step of a moment.
    pub fn keep_most(&mut self, at_ns: u64, amount: u64) {
        self.join_at(at_ns, amount, u64::max);
    }

    pub fn sum(&self) -> u64 {
        self.amounts.iter().fold(0, |sum, amount| sum.saturating_add(*amount))
    }

    /// Adds the amounts up in steps of at least this length.
    #[must_use]
    pub fn sums_of(self, step_ns: u64) -> Self {
        self.widened_to(step_ns, u64::saturating_add)
    }

    /// Takes the maximum of the amounts in steps of at least this length.
    #[must_use]
    pub fn mosts_of(self, step_ns: u64) -> Self {
        self.widened_to(step_ns, u64::max)
    }

    fn widened_to(mut self, step_ns: u64, join: Join) -> Self {
        while self.step_ns < step_ns {
            self.widen(join);
        }
        self
    }

    /// Joins an amount to that of the step of a time; widens all steps while there are too many.
    fn join_at(&mut self, at_ns: u64, amount: u64, join: Join) {
        while at_ns / self.step_ns.max(1) >= MOST_STEPS as u64 {
            self.widen(join);
        }
        let step = (at_ns / self.step_ns.max(1)) as usize;
        if step >= self.amounts.len() {
            self.amounts.resize(step + 1, 0);
        }
        self.amounts[step] = join(self.amounts[step], amount);
    }

    /// Doubles the length of a step.
    fn widen(&mut self, join: Join) {
        self.step_ns = self.step_ns.saturating_mul(2).max(1);
        let join_pair = |pair: &[u64]| pair.iter().copied().reduce(join).unwrap_or_default();
        self.amounts = self.amounts.chunks(2).map(join_pair).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn however_long_it_takes_there_are_few_steps_and_nothing_is_lost() {
        let mut own = OverTime::default();
        for at in 0..100_000 {
            own.add(at * MS, 1);
            assert!(own.amounts.len() <= MOST_STEPS);
        }
        assert_eq!((own.sum(), own.step_ns), (100_000, 2048 * MS));
        assert_eq!((own.amounts.len(), own.amounts[0]), (49, 2048));
        own.add(u64::MAX, 7);
        assert_eq!((own.sum(), own.amounts[0]), (100_007, 100_000));
    }

    #[test]
    fn what_is_short_has_short_steps_and_the_most_stays_the_most() {
        let mut own = OverTime::default();
        own.keep_most(0, 5);
        own.keep_most(MS / 2, 3);
        own.keep_most(3 * MS, 9);
        assert_eq!((own.step_ns, &own.amounts[..]), (MS, &[5, 0, 0, 9][..]));
        let wide = own.clone().mosts_of(4 * MS);
        assert_eq!((wide.step_ns, &wide.amounts[..]), (4 * MS, &[9][..]));
        assert_eq!(own.clone().sums_of(4 * MS).amounts, [14]);
        assert_eq!(own.clone().sums_of(0), own);
    }

    #[test]
    fn steps_of_no_length_do_no_harm() {
        let mut own = OverTime { step_ns: 0, amounts: vec![1, 2, 3] };
        own.add(1, 1);
        assert_eq!(own.sum(), 7);
        let none = OverTime { step_ns: 0, amounts: Vec::new() };
        assert_eq!(none.sums_of(u64::MAX).step_ns, u64::MAX);
    }
}
