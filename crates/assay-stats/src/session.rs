//! Two sides of one session each (R13d): trials of a session share what is peculiar to it, so that the
//! spread between sessions is a part of the error that no number of trials makes smaller.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::sample::{Sample, finite};
use crate::welch::variance_of_mean;

/// Quantile of the standard normal distribution.
///
/// Source: statrs. None outside 0 < probability < 1.
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
}

/// The difference `second.mean - first.mean` where sessions add so much variance to it.
///
/// Source: R13d. None when a sample has fewer than two values, and where a result is not finite.
pub fn between_sessions(
    first: &Sample,
    second: &Sample,
    session_variance: f64,
) -> Option<BetweenSessions> {
    let variance = variance_of_mean(first)? + variance_of_mean(second)? + session_variance;
    let difference = second.mean - first.mean;
    (variance.is_finite() && variance >= 0.0 && difference.is_finite())
        .then(|| BetweenSessions { difference, standard_error: variance.sqrt() })
}

impl BetweenSessions {
    /// Two-sided `1 - alpha` interval of the difference, by the normal distribution.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = normal_quantile(1.0 - alpha / 2.0)? * self.standard_error;
        finite([self.difference - half, self.difference + half])
    }

    /// How far the difference must be from a value to be told from it by a one-sided test at `alpha`.
    pub fn reach(&self, alpha: f64) -> Option<f64> {
        Some(normal_quantile(1.0 - alpha)? * self.standard_error)
    }

    /// The true difference that such a test finds with a power.
    pub fn found(&self, alpha: f64, power: f64) -> Option<f64> {
        Some(self.reach(alpha)? + normal_quantile(power)? * self.standard_error)
    }

    /// Two-sided p of no difference.
    pub fn p(&self) -> Option<f64> {
        if self.standard_error == 0.0 {
            return Some(if self.difference == 0.0 { 1.0 } else { 0.0 });
        }
        let z = (self.difference / self.standard_error).abs();
        Some(2.0 * Normal::new(0.0, 1.0).ok()?.sf(z))
    }
}
