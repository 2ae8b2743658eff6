//! Ratios of sums: rates over stretches of unequal length.

use crate::stats::sample::{FEWEST_FOR_INTERVAL, finite, t_quantile};

/// A ratio of two sums with its interval from the same pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioOfSums {
    /// Sum of `counted` divided by the sum of `within`.
    pub ratio: f64,
    /// `1 - alpha` interval `[low, high]`, which contains the ratio; `None` below three pairs.
    pub interval: Option<[f64; 2]>,
}

/// Ratio of the sums of two positive quantities (any units) with its `1 - alpha` interval.
///
/// With `d = y - r x` the standard error of the logarithm of `r` is that of the mean of `d` over the mean of `y`; the
/// interval is Student's t on the log scale, so it contains `r` and excludes zero. If neighboring values are
/// correlated, pass sums of batches ([`batch_sums`]). Source: Cochran, "Sampling Techniques", 3rd edition, sections
/// 2.11 and 6.3. `None` for slices of unequal length or without a pair, an alpha outside 0 < alpha < 1, and sums that
/// are not positive or not finite.
pub fn ratio_of_sums(counted: &[f64], within: &[f64], alpha: f64) -> Option<RatioOfSums> {
    let n = counted.len();
    if n == 0 || n != within.len() || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let (numerator, denominator): (f64, f64) = (counted.iter().sum(), within.iter().sum());
    let ratio = numerator / denominator;
    if !(numerator > 0.0 && denominator > 0.0 && ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    let interval = || {
        let squares = counted.iter().zip(within).map(|(y, x)| (y - ratio * x).powi(2));
        let sd = (squares.sum::<f64>() / (n - 1) as f64).sqrt();
        let error = sd / (n as f64).sqrt() / (numerator / n as f64);
        let half = t_quantile(1.0 - alpha / 2.0, (n - 1) as f64)? * error;
        finite([ratio * (-half).exp(), ratio * half.exp()])
    };
    let interval = if n < FEWEST_FOR_INTERVAL { None } else { interval() };
    Some(RatioOfSums { ratio, interval })
}

/// Sums of `batches` nearly equal batches of consecutive values.
///
/// Source: batch means (Law, "Simulation Modeling and Analysis", 9.5). `None` for 0 batches or fewer values than that.
pub fn batch_sums(series: &[f64], batches: usize) -> Option<Vec<f64>> {
    if batches == 0 || series.len() < batches {
        return None;
    }
    let bound = |index: usize| series.len() * index / batches;
    Some((0..batches).map(|index| series[bound(index)..bound(index + 1)].iter().sum()).collect())
}
