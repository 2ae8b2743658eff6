//! Two samples that are not paired: Welch's t test (rule R13).

use crate::stats::sample::{Sample, finite, two_sided_p, two_sided_quantile};

/// Difference of two means, in the unit of the values, with its standard error and degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of the second sample minus mean of the first.
    pub difference: f64,
    pub standard_error: f64,
    /// Degrees of freedom after Welch and Satterthwaite; rarely a whole number.
    pub degrees_of_freedom: f64,
    /// Two-sided p of no difference.
    pub p: f64,
}

impl Welch {
    /// Two-sided `1 - alpha` interval `[low, high]` of the difference, in the unit of the values.
    ///
    /// Source: as [`welch`]. `None` outside 0 < alpha < 1 and where an end is not finite.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = two_sided_quantile(alpha, self.degrees_of_freedom)? * self.standard_error;
        finite([self.difference - half, self.difference + half])
    }
}

/// Welch's test of `second.mean - first.mean` for two independent samples of one unit.
///
/// Source: R13; Welch, Biometrika 34 (1947), with the degrees of freedom of Satterthwaite (1946);
/// scipy `ttest_ind(equal_var=False)`. `None` when either sample has fewer than two values, when
/// neither scatters, and where a result is not finite.
pub fn welch(first: &Sample, second: &Sample) -> Option<Welch> {
    let parts = [variance_of_mean(first)?, variance_of_mean(second)?];
    let total = parts[0] + parts[1];
    let freedom = total.powi(2)
        / (parts[0].powi(2) / (first.n - 1) as f64 + parts[1].powi(2) / (second.n - 1) as f64);
    if !(total.is_finite() && freedom.is_finite()) {
        return None;
    }
    let difference = second.mean - first.mean;
    let p = two_sided_p(difference, total.sqrt(), freedom)?;
    Some(Welch { difference, standard_error: total.sqrt(), degrees_of_freedom: freedom, p })
}

pub(crate) fn variance_of_mean(sample: &Sample) -> Option<f64> {
    (sample.n >= 2).then(|| Some(sample.sd?.powi(2) / sample.n as f64))?
}
