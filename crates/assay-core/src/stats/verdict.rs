//! The four verdicts (rule R6).

use crate::stats::equivalence::{inside, margin_on_log_scale};

/// Result of a comparison with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatVerdict {
    /// The ratio differs from 1 in the wanted direction.
    Better,
    /// The ratio differs from 1 in the unwanted direction.
    Worse,
    /// The ratio is within the margin and not significantly different from 1.
    Equivalent,
    Inconclusive,
}

/// A verdict, and whether a difference that was found is a small one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: StatVerdict,
    /// Better or worse, "but by less than the margin": the equivalence interval is inside it.
    pub within_margin: bool,
}

/// Verdict of one comparison from its two intervals of the log ratio, `[low, high]` each.
///
/// `interval` is the simultaneous interval, `equivalence_interval` the one of the two one-sided tests
/// ([`crate::stats::equivalence`], adjusted alike), `margin` a share (0.05 means 5%). Source: R6, amended so that
/// figure and verdict agree: better or worse if `interval` excludes 0, else equivalent if `equivalence_interval` is
/// strictly within ln(1 + margin) of 0, else inconclusive. An end that is NaN or a margin that is not positive is
/// inconclusive.
pub fn judge(
    interval: [f64; 2],
    equivalence_interval: [f64; 2],
    margin: f64,
    higher_is_better: bool,
) -> Judgement {
    let is_within =
        margin_on_log_scale(margin).is_some_and(|bound| inside(equivalence_interval, bound));
    let is_above = interval.iter().all(|end| *end > 0.0);
    let is_below = interval.iter().all(|end| *end < 0.0);
    let is_different = is_above || is_below;
    let verdict = if is_different && is_above == higher_is_better {
        StatVerdict::Better
    } else if is_different {
        StatVerdict::Worse
    } else if is_within {
        StatVerdict::Equivalent
    } else {
        StatVerdict::Inconclusive
    };
    Judgement { verdict, within_margin: is_within && is_different }
}
