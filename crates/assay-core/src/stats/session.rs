//! Difference of two sides with one session each (R13d). More trials do not reduce the spread between sessions.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::stats::sample::{Sample, finite, t_quantile, two_sided_p};
use crate::stats::welch::variance_of_mean;

/// Above these degrees of freedom, an expansion of t has eight digits, and the search of the library is slow.
const LIKE_NORMAL: f64 = 200.0;

/// Quantile of the standard normal distribution.
///
/// Source: statrs. `None` outside 0 < probability < 1.
pub fn normal_quantile(probability: f64) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return None;
    }
    Some(Normal::new(0.0, 1.0).ok()?.inverse_cdf(probability))
}

/// Difference of two means, each of one session or of few, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenSessions {
    /// Mean of the second sample minus mean of the first.
    pub difference: f64,
    /// Standard error of the difference, sessions included.
    pub standard_error: f64,
    /// Degrees of freedom after Satterthwaite, where the variance between sessions is known and that of trials is
    /// not; infinite where trials do not scatter.
    pub degrees_of_freedom: f64,
}

/// The difference `second.mean - first.mean` where sessions add so much variance to it.
///
/// Source: R13d; Satterthwaite's degrees of freedom as Welch, Biometrika 34 (1947), estimates them (n + 1 and - 2,
/// which few trials bias less than n - 1); a known variance has infinitely many. `None` when a sample has fewer than
/// two values, and where a result is not finite.
pub fn between_sessions(first: &Sample, second: &Sample, variance: f64) -> Option<BetweenSessions> {
    let parts = [variance_of_mean(first)?, variance_of_mean(second)?];
    let total = parts[0] + parts[1] + variance;
    let denominator =
        parts[0].powi(2) / (first.n + 1) as f64 + parts[1].powi(2) / (second.n + 1) as f64;
    // The denominator is zero if trials do not scatter.
    let degrees_of_freedom =
        if denominator > 0.0 { total.powi(2) / denominator - 2.0 } else { f64::INFINITY };
    let difference = second.mean - first.mean;
    let standard_error = total.sqrt();
    (total.is_finite() && total >= 0.0 && difference.is_finite()).then_some(BetweenSessions {
        difference,
        standard_error,
        degrees_of_freedom,
    })
}

impl BetweenSessions {
    /// Two-sided `1 - alpha` interval of the difference.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = self.quantile(1.0 - alpha / 2.0)? * self.standard_error;
        finite([self.difference - half, self.difference + half])
    }

    /// Difference that a one-sided test at `alpha` needs to be significant.
    pub fn reach(&self, alpha: f64) -> Option<f64> {
        Some(self.quantile(1.0 - alpha)? * self.standard_error)
    }

    /// True difference that this test detects with this power.
    pub fn found(&self, alpha: f64, power: f64) -> Option<f64> {
        Some(self.reach(alpha)? + self.quantile(power)? * self.standard_error)
    }

    /// Two-sided p of no difference.
    pub fn p(&self) -> Option<f64> {
        if self.standard_error == 0.0 {
            return Some(if self.difference == 0.0 { 1.0 } else { 0.0 });
        }
        if self.degrees_of_freedom.is_finite() {
            return two_sided_p(self.difference, self.standard_error, self.degrees_of_freedom);
        }
        let z = (self.difference / self.standard_error).abs();
        Some(2.0 * Normal::new(0.0, 1.0).ok()?.sf(z))
    }

    /// Quantile of t; for many degrees of freedom by Cornish and Fisher (Abramowitz and Stegun, 26.7.5).
    fn quantile(&self, probability: f64) -> Option<f64> {
        if self.degrees_of_freedom < LIKE_NORMAL {
            return t_quantile(probability, self.degrees_of_freedom);
        }
        let z = normal_quantile(probability)?;
        let inverse = 1.0 / self.degrees_of_freedom;
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
        Some(z + inverse * (first + inverse * (second + inverse * third)))
    }
}
