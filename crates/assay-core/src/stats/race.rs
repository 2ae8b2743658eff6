//! Statistics of a race of many arms (R15): a moderated variance, and a confidence sequence for all interim analyses.

/// Prior degrees of freedom of the mean variance over all arms.
const PRIOR_FREEDOM: f64 = 6.0;

/// The variance of the paired differences of one arm, moderated by the mean over all arms (the form of limma:
/// Smyth 2004): `(6 mean + (n - 1) own) / (n + 5)`.
pub fn moderated_variance(own: f64, n: usize, mean: f64) -> f64 {
    let own_freedom = n.saturating_sub(1) as f64;
    (PRIOR_FREEDOM * mean + own_freedom * own) / (PRIOR_FREEDOM + own_freedom)
}

/// Half-width of the confidence sequence of a mean of `n` values with this variance: a normal mixture (Robbins 1970)
/// that covers the mean at every `n` at once with probability `1 - alpha`. `None` without values, or outside 0 to 1.
pub fn normal_mixture_half_width(variance: f64, n: usize, alpha: f64) -> Option<f64> {
    if n == 0 || !(alpha > 0.0 && alpha < 1.0) || !(variance >= 0.0 && variance.is_finite()) {
        return None;
    }
    let n = n as f64;
    let logarithms = (n / 2.0 + 1.0).ln() - 2.0 * alpha.ln();
    Some((variance * (n + 2.0) / (n * n) * logarithms).sqrt())
}
