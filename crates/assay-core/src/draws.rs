//! Random draws by a fixed generator and own distributions: a library update must not change the order of a study.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// Draws from ChaCha12, keyed by the study's seed and a purpose.
pub struct Draws(ChaCha12Rng);

impl Draws {
    /// A stream of draws; streams with different purposes are independent.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut key = [0_u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (slot, byte) in key[8..].iter_mut().zip(purpose.bytes()) {
            *slot = byte;
        }
        Self(ChaCha12Rng::from_seed(key))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `bound` (at least 1): draws above the last whole multiple are repeated.
    pub fn below(&mut self, bound: u64) -> u64 {
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.bits();
            if draw < limit {
                return draw % bound;
            }
        }
    }

    /// Puts items in random order (Fisher and Yates; Durstenfeld's form).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_stable() {
        let first: Vec<u64> = (0..3).map(|_| Draws::new(42, "order").bits()).collect();
        assert!(first.windows(2).all(|pair| pair[0] == pair[1]));
        assert_ne!(Draws::new(42, "order").bits(), Draws::new(42, "offsets").bits());
        assert_ne!(Draws::new(42, "order").bits(), Draws::new(43, "order").bits());
    }

    #[test]
    fn bounded_draws_are_even() {
        let mut draws = Draws::new(1, "test");
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[draws.below(7) as usize] += 1;
        }
        // Chi-square with 6 degrees of freedom: 22.5 is the 99.9% point.
        let statistic: f64 =
            seen.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(statistic < 22.5, "chi-square {statistic}");
    }
}
