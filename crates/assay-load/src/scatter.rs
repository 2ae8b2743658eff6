//! A seeded bijection of the numbers below a bound: maps ranks of a distribution to places in an area.

use crate::random::{Purpose, at, key};

/// Three rounds and more look like a random permutation (Luby and Rackoff 1988).
const ROUNDS: usize = 4;

/// A Feistel network over the smallest sufficient power of two, with halves that differ by at most one bit. Results
/// beyond the bound are encrypted again until they are below ("cycle walking", Black and Rogaway 2002): on average
/// fewer than two rounds, because less than half is beyond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    bound: u64,
    keys: [u64; ROUNDS],
    /// Bits of the lower half, and masks of both.
    low_bits: u32,
    low: u64,
    high: u64,
}

impl Permutation {
    /// Permutes `0..bound` (at least 1), equally for all threads of a job, so that they share hot blocks.
    pub(crate) fn new(bound: u64, seed: u64) -> Self {
        let bits = u64::BITS - (bound.max(1) - 1).leading_zeros();
        let low_bits = bits / 2;
        let key = key(seed, 0, Purpose::Scatter);
        Self {
            bound: bound.max(1),
            keys: [0, 1, 2, 3].map(|round| at(key, round)),
            low_bits,
            low: mask(low_bits),
            high: mask(bits - low_bits),
        }
    }

    /// The number that another one below the bound is sent to.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> u64 {
        let mut number = self.permute_once(number);
        while number >= self.bound {
            number = self.permute_once(number);
        }
        number
    }

    /// Permutes all numbers of as many bits (a Feistel network): each half changes by a function of the other.
    #[inline]
    fn permute_once(&self, number: u64) -> u64 {
        let (mut low, mut high) = (number & self.low, number >> self.low_bits);
        for pair in self.keys.chunks_exact(2) {
            high ^= at(pair[0], low) & self.high;
            low ^= at(pair[1], high) & self.low;
        }
        high << self.low_bits | low
    }
}

const fn mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_the_bound_is_met_once() {
        for bound in [1, 2, 3, 4, 5, 63, 64, 65, 100, 1000, 1024, 1025, 65_537] {
            for seed in [0, 1, 42] {
                let scatter = Permutation::new(bound, seed);
                let mut met = vec![false; bound as usize];
                for number in 0..bound {
                    let there = &mut met[scatter.at(number) as usize];
                    assert!(!*there, "{bound} {seed}: {number}");
                    *there = true;
                }
            }
        }
    }

    #[test]
    fn the_largest_bounds_end_below_them() {
        for bound in [(1 << 51) + 1, 1 << 62, u64::MAX] {
            let scatter = Permutation::new(bound, 7);
            let all: Vec<u64> = (0..1000).map(|number| scatter.at(number)).collect();
            assert!(all.iter().all(|number| *number < bound));
            let far = all.iter().filter(|number| **number > bound / 2).count();
            assert!((400..600).contains(&far), "{far}");
        }
    }

    #[test]
    fn neighbours_come_apart_and_seeds_differ() {
        let bound = 1 << 20;
        let (one, other) = (Permutation::new(bound, 1), Permutation::new(bound, 2));
        let near = |pair: &u64| one.at(*pair).abs_diff(one.at(pair + 1)) < 1000;
        // Two random permutations are that close for 0.2% of the numbers.
        assert!((0..1000).filter(near).count() < 12);
        assert!((0..1000).filter(|number| one.at(*number) == other.at(*number)).count() < 3);
    }
}
