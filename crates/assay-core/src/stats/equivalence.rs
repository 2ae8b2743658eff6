//! Two one-sided tests: is a difference smaller than the margin (rule R6)?

use crate::stats::sample::{Sample, upper_tail};

/// Answer of the two one-sided tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence {
    /// The larger of the two one-sided p values.
    pub p: f64,
    /// `1 - 2 alpha` interval `[low, high]` of the mean log ratio.
    pub interval: [f64; 2],
    /// Whether the interval lies strictly inside the margin; the same as p < alpha.
    pub holds: bool,
}

/// Two one-sided tests that a ratio lies within `1 / (1 + margin)` to `1 + margin`.
///
/// `differences` are log ratios (of [`crate::stats::log_ratios`]); `margin` is a share: 0.05 means 5%,
/// hence the bounds -ln 1.05 and ln 1.05. Source: R6; Schuirmann, Journal of Pharmacokinetics and
/// Biopharmaceutics 15 (1987); statsmodels `ttost_paired`. None below three values, for a margin
/// that is not positive and finite, for an alpha outside 0 < alpha < 0.5, and where a result is
/// not finite.
pub fn tost(differences: &Sample, margin: f64, alpha: f64) -> Option<Equivalence> {
    let bound = margin_on_log_scale(margin)?;
    let interval = differences.interval(2.0 * alpha)?;
    let p = one_sided(differences, bound - differences.mean.abs())?;
    Some(Equivalence { p, interval, holds: inside(interval, bound) })
}

/// p for the nearer bound, which has the larger one; `room` is the distance to it.
fn one_sided(differences: &Sample, room: f64) -> Option<f64> {
    let error = differences.standard_error()?;
    if error == 0.0 {
        return Some(if room > 0.0 { 0.0 } else { 1.0 });
    }
    upper_tail((room / error).clamp(f64::MIN, f64::MAX), differences.degrees_of_freedom()?)
}

/// ln(1 + margin) of a margin that is positive and finite.
pub(crate) fn margin_on_log_scale(margin: f64) -> Option<f64> {
    (margin > 0.0 && margin.is_finite()).then(|| margin.ln_1p())
}

/// Whether an interval lies strictly between `-bound` and `bound`.
pub(crate) fn inside(interval: [f64; 2], bound: f64) -> bool {
    -bound < interval[0] && interval[1] < bound
}
