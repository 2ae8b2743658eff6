//! Random numbers of the simulated studies: the product's generator, and distributions computed here, so that no library
//! can change the numbers.

use assay_core::draws::Draws;
use statrs::distribution::{ContinuousCDF, Normal};

use assay_testkit::Done;

pub struct Chance {
    draws: Draws,
    normal: Normal,
}

impl Chance {
    /// Creates the generator of study `number` of an experiment; seeds, numbers and purposes are independent.
    pub fn new(seed: u32, number: u32, purpose: &str) -> Done<Self> {
        let normal = Normal::new(0.0, 1.0).map_err(|error| error.to_string())?;
        let seed = u64::from(seed) << 32 | u64::from(number);
        Ok(Self { draws: Draws::new(seed, purpose), normal })
    }

    /// 64 bits, such as the seed of a study.
    pub fn bits(&mut self) -> u64 {
        self.draws.bits()
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.draws.shuffle(items);
    }

    /// Uniform between 0 and 1, excluding both.
    pub fn uniform(&mut self) -> f64 {
        // 53 bits fit a double; the half excludes both ends.
        ((self.draws.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let uniform = self.uniform();
        self.normal.inverse_cdf(uniform)
    }

    /// Student's t with three degrees of freedom: heavy tails with a finite variance.
    pub fn student3(&mut self) -> f64 {
        let middle = self.normal();
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        middle / (squares / 3.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_the_right_moments() {
        let mut chance = Chance::new(1, 0, "test").unwrap_or_else(|error| panic!("{error}"));
        let drawn: Vec<f64> = (0..100_000).map(|_| chance.normal()).collect();
        let moment = |power: i32| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / 1e5;
        assert!(moment(1).abs() < 0.015, "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.02, "{}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.15, "{}", moment(4));
    }

    #[test]
    fn studies_draw_for_themselves() {
        let first = |seed, number, purpose| {
            Chance::new(seed, number, purpose).map(|mut chance| chance.bits()).unwrap_or_default()
        };
        assert_eq!(first(1, 2, "a"), first(1, 2, "a"));
        assert_ne!(first(1, 2, "a"), first(1, 3, "a"));
        assert_ne!(first(1, 2, "a"), first(2, 2, "a"));
        assert_ne!(first(1, 2, "a"), first(1, 2, "b"));
    }
}
