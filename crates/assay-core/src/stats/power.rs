//! Replicates that a study needs, and its minimum detectable difference (rules R4 and R6).
//!
//! Shifts and margins are in standard deviations of the paired log differences. All functions integrate over u = ln(s /
//! sigma), where s is the observed standard deviation: given s, the mean is normal, and the density of u is smooth and
//! falls off fast on both sides.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::erfc;

use crate::stats::equivalence::margin_on_log_scale;
use crate::stats::sample::{FEWEST_FOR_INTERVAL, two_sided_quantile};

/// Power that a study is planned for.
const WANTED_POWER: f64 = 0.8;

/// Confidence of the upper bound of a standard deviation that a plan starts from (R6).
const SD_CONFIDENCE: f64 = 0.8;
const MOST_REPLICATES: usize = 10_000;

/// Points where the logarithm of the density is this far below its peak are left out.
const NEGLIGIBLE: f64 = 34.0;

/// Power of the two-sided paired (one-sample) t test with `n` replicates at level `alpha`, where
/// the true mean is `shift_in_sd` standard deviations of the differences from 0.
///
/// Counts rejections in both tails, so it is `alpha` at no shift. Source: R4; the noncentral t distribution with n - 1
/// degrees of freedom and noncentrality sqrt(n) shift (Johnson, Kotz and Balakrishnan, "Continuous Univariate
/// Distributions" 2, chapter 31), by the trapezoidal rule over the observed standard deviation. `None` below two
/// replicates, for a shift that is not finite and for an alpha outside 0 to 1.
pub fn t_test_power(n: usize, shift_in_sd: f64, alpha: f64) -> Option<f64> {
    if !shift_in_sd.is_finite() {
        return None;
    }
    Some(power_beyond(n, shift_in_sd, critical(n, alpha)?))
}

/// Quantile that a two-sided t test with `n` values has to exceed.
fn critical(n: usize, alpha: f64) -> Option<f64> {
    if n >= 2 { two_sided_quantile(alpha, (n - 1) as f64) } else { None }
}

/// Probability that |t| exceeds `critical`: integrates over u, the logarithm of the observed over the true deviation.
fn power_beyond(n: usize, shift_in_sd: f64, critical: f64) -> f64 {
    let freedom = (n - 1) as f64;
    let noncentrality = (n as f64).sqrt() * shift_in_sd.abs();
    // Fine enough for the narrower of the density and the step of the conditional probability: the
    // error of the trapezoidal rule on smooth functions vanishes exponentially below that.
    let step = (0.5 / (2.0 * freedom + noncentrality.min(200.0).powi(2)).sqrt()).min(0.15);
    let (mut weights, mut rejected) = (0.0, 0.0);
    // Adds a point of the integral; false once the density is negligible.
    let mut add = |u: f64| {
        let log_density = freedom * (u - (2.0 * u).exp_m1() / 2.0);
        if log_density < -NEGLIGIBLE {
            return false;
        }
        let (weight, reach) = (log_density.exp(), critical * u.exp());
        weights += weight;
        rejected +=
            weight * (normal_cdf(noncentrality - reach) + normal_cdf(-noncentrality - reach));
        true
    };
    let mut point = 0;
    while add(f64::from(point) * step) {
        point += 1;
    }
    point = -1;
    while add(f64::from(point) * step) {
        point -= 1;
    }
    (rejected / weights).clamp(0.0, 1.0)
}
fn normal_cdf(z: f64) -> f64 {
    if z < -9.0 { 0.0 } else { 0.5 * erfc(-z / std::f64::consts::SQRT_2) }
}

/// Smallest shift, in standard deviations of the differences, that the two-sided t test with `n`
/// replicates at level `alpha` finds with probability `power`.
///
/// Source: R4's last column; inverts [`t_test_power`] to 1e-9. `None` below two replicates, for an alpha outside 0 to
/// 1, for a power that is not between alpha and 1, and for a shift of a million standard deviations or more.
pub fn smallest_detectable_shift(n: usize, alpha: f64, power: f64) -> Option<f64> {
    let critical = critical(n, alpha)?;
    if !(power > alpha && power < 1.0) {
        return None;
    }
    let is_too_small = |shift: f64| power_beyond(n, shift, critical) < power;
    let (mut low, mut high) = (0.0, 4.0 / (n as f64).sqrt());
    while is_too_small(high) {
        (low, high) = (high, 2.0 * high);
        if high > 1e6 {
            return None;
        }
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if is_too_small(middle) { low = middle } else { high = middle }
    }
    Some(high)
}

/// Fewest replicates, from 3 to 10,000, with which the two-sided t test at level `alpha` finds a
/// shift of `shift_in_sd` standard deviations of the differences with probability `power`.
///
/// Source: R6; inverts [`t_test_power`] (statsmodels `TTestPower`). `None` if 10,000 are too few,
/// for a shift that is 0 or not finite, and for an alpha or power outside 0 to 1.
pub fn replicates_for(shift_in_sd: f64, alpha: f64, power: f64) -> Option<usize> {
    if !(shift_in_sd.is_finite() && shift_in_sd != 0.0 && power > 0.0 && power < 1.0) {
        return None;
    }
    let is_enough = |n: usize| t_test_power(n, shift_in_sd, alpha).map(|found| found >= power);
    let (mut low, mut high) = (FEWEST_FOR_INTERVAL, FEWEST_FOR_INTERVAL);
    while !is_enough(high)? {
        if high == MOST_REPLICATES {
            return None;
        }
        (low, high) = (high + 1, (2 * high).min(MOST_REPLICATES));
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle)? { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// Factor from the standard deviation of `n` values to an upper bound of the true one, with one-sided `confidence`:
/// sqrt((n - 1) / q), q the `1 - confidence` quantile of chi-squared with n - 1 degrees of freedom.
///
/// Source: R6 (which takes 0.8); NIST/SEMATECH e-Handbook, 1.3.5.8. `None` below two values, and outside 0 to 1.
pub fn upper_sd_factor(n: usize, confidence: f64) -> Option<f64> {
    if n < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let freedom = (n - 1) as f64;
    let quantile = ChiSquared::new(freedom).ok()?.inverse_cdf(1.0 - confidence);
    let factor = (freedom / quantile).sqrt();
    factor.is_finite().then_some(factor)
}

/// About how many replicates would resolve a difference of `margin` (a share: 0.05 means 5%),
/// after `n` of them have shown the standard deviation `sd` of the log differences.
///
/// 80% power at level `alpha` for ln(1 + margin), with the upper 80% bound of the standard
/// deviation, because one seen in few replicates is as likely too small. Source: R6. A `sd` of 0
/// gives the minimum of 3. `None` below two replicates, for a negative `sd`, for a margin that is
/// not positive and finite, and where 10,000 replicates are too few.
pub fn replicates_to_resolve(sd: f64, n: usize, margin: f64, alpha: f64) -> Option<usize> {
    let bound = margin_on_log_scale(margin)?;
    let factor = upper_sd_factor(n, SD_CONFIDENCE)?;
    if !(sd.is_finite() && sd >= 0.0 && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    if sd == 0.0 {
        return Some(FEWEST_FOR_INTERVAL);
    }
    // A shift beyond this needs only the minimum number of replicates.
    replicates_for((bound / (sd * factor)).min(1e6), alpha, WANTED_POWER)
}
