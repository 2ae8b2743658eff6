//! Two one-sided tests: is a difference smaller than the margin (rule R6)? At level `alpha` it is if the `1 - 2 alpha`
//! interval of the mean log ratio is within the margin. Source: Schuirmann, Journal of Pharmacokinetics and
//! Biopharmaceutics 15 (1987); statsmodels `ttost_paired`.

/// ln(1 + margin) of a margin that is positive and finite.
pub(crate) fn margin_on_log_scale(margin: f64) -> Option<f64> {
    (margin > 0.0 && margin.is_finite()).then(|| margin.ln_1p())
}

/// Returns whether an interval is strictly between `-bound` and `bound`.
pub(crate) fn inside(interval: [f64; 2], bound: f64) -> bool {
    -bound < interval[0] && interval[1] < bound
}
