//! Looking more than once (rule R8).

/// Weight of the mixture in R8's confidence sequence, tuned for looks from a few replicates on.
pub const MIXTURE_G: f64 = 0.2;

/// Alpha of each of `looks` declared interim analyses, for a total of `alpha`.
///
/// Source: R8 (Bonferroni's inequality). Zero counts as one.
pub fn look_alpha(alpha: f64, looks: usize) -> f64 {
    alpha / looks.max(1) as f64
}

/// Half-width of the confidence sequence of a mean after `n` values, in units of their standard deviation (n - 1): it
/// covers the mean at all n at once with probability `1 - alpha`.
///
/// With V the sum of (x - mu)^2, S that of x - mu and the effect mu / sigma mixed over N(0, 1 / g), the scale-invariant
/// likelihood ratio is M_n = sqrt(g / (n + g)) (V / (V - S^2 / (n + g)))^(n/2). If mu is the true mean, M_n is a
/// martingale of mean 1, so M_n ever reaches 1 / alpha with probability at most alpha (Ville's inequality). Solving M_n
/// < 1 / alpha for mu, with r = 1 + n / g and A = (sqrt r / alpha)^(2/n), gives sqrt((n - 1) (A - 1) / (1 - A / r) /
/// n).
///
/// Source: R8; Lai, Annals of Statistics 4 (1976); Wang and Ramdas, arXiv 2310.03722. `None` if the sequence is still
/// infinite (A >= r; at g = 0.2 and alpha = 0.05 below four values), below two values, for an alpha outside 0 to 1 and
/// for a g that is not positive and finite.
pub fn confidence_sequence_half_width(n: usize, alpha: f64, g: f64) -> Option<f64> {
    if n < 2 || !(alpha > 0.0 && alpha < 1.0 && g > 0.0 && g.is_finite()) {
        return None;
    }
    let count = n as f64;
    let r = 1.0 + count / g;
    let a = (2.0 / count * (0.5 * r.ln() - alpha.ln())).exp();
    let half = ((count - 1.0) * (a - 1.0) / (1.0 - a / r) / count).sqrt();
    (a < r && half.is_finite()).then_some(half)
}
