//! Medians, and the percentiles that one trial can resolve (rule R12).

/// Minimum number of observations above a percentile (R12).
const FEWEST_ABOVE: u128 = 10;

/// Denominator of probabilities, so 0.9 means nine tenths and not the nearest binary fraction: `100 * (1 - 0.9)` is
/// 9.999999999999998 in floating point.
const PARTS: u128 = 1_000_000_000;

/// Median, in the unit of the values: the middle one, or the mean of the middle two.
///
/// `None` for an empty sample and for one with a NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        Some(sorted[middle])
    } else {
        Some(f64::midpoint(sorted[middle - 1], sorted[middle]))
    }
}

/// Whether `count` observations are enough to report quantile `q` (0 < q < 1) of one trial: `count * (1 - q) >= 10`.
///
/// Exact at the borders for quantiles of up to nine decimals. False outside 0 < q < 1. Source: R12.
pub fn percentile_is_supported(count: u64, q: f64) -> bool {
    observations_needed(q).is_some_and(|needed| count >= needed)
}

/// Fewest observations with which quantile `q` of one trial is reported: 20 for the median, 1,000
/// for q = 0.99. `None` outside 0 < q < 1. Source: R12.
pub fn observations_needed(q: f64) -> Option<u64> {
    u64::try_from((FEWEST_ABOVE * PARTS).div_ceil(parts_above(q)?)).ok()
}

/// `1 - q` in parts.
fn parts_above(q: f64) -> Option<u128> {
    if !(q > 0.0 && q < 1.0) {
        return None;
    }
    let below = (q * PARTS as f64).round() as u128;
    (below < PARTS).then(|| PARTS - below)
}
