//! The four verdicts (rule R6).

use crate::stats::equivalence::{inside, margin_on_log_scale};

/// What a comparison with the baseline has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The ratio differs from 1 in the wanted direction.
    Better,
    /// The ratio differs from 1 in the unwanted direction.
    Worse,
    /// The ratio is within the margin, and not told from 1.
    Equivalent,
    /// None of the three is shown.
    Inconclusive,
}

/// A verdict, and whether a difference that was found is a small one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Better or worse, "but by less than the margin": the equivalence interval is inside it.
    pub within_margin: bool,
}

/// Verdict of one comparison from its two intervals of the log ratio, `[low, high]` each.
///
/// `interval` is the family interval, `equivalence_interval` that of the two one-sided tests
/// ([`crate::stats::equivalence`], family-adjusted alike), `margin` a share (0.05 means 5%). Source: R6 with the
/// amendment that figure and word never disagree: better or worse wherever `interval` excludes 0,
/// else equivalent where `equivalence_interval` lies strictly within ln(1 + margin) of 0, else
/// inconclusive. An end that is no number and a margin that is not positive show nothing.
pub fn judge(
    interval: [f64; 2],
    equivalence_interval: [f64; 2],
    margin: f64,
    higher_is_better: bool,
) -> Judgement {
    let small =
        margin_on_log_scale(margin).is_some_and(|bound| inside(equivalence_interval, bound));
    let (above, below) =
        (interval[0] > 0.0 && interval[1] > 0.0, interval[0] < 0.0 && interval[1] < 0.0);
    let verdict = match (above, below) {
        (true, _) if higher_is_better => Verdict::Better,
        (_, true) if !higher_is_better => Verdict::Better,
        (false, false) if small => Verdict::Equivalent,
        (false, false) => Verdict::Inconclusive,
        _ => Verdict::Worse,
    };
    Judgement { verdict, within_margin: small && (above || below) }
}
