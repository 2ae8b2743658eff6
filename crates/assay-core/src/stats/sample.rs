//! Mean and scatter of one sample, with Student's t interval and test (rules R3 and R4).
//!
//! All that a t statistic compares starts from a [`Sample`]; ratios from the sample of [`log_ratios`].

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest values for which an interval is given (R4).
pub const FEWEST_FOR_INTERVAL: usize = 3;

/// Size, mean and scatter of one sample, in the unit of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub n: usize,
    pub mean: f64,
    /// Standard deviation with the divisor n - 1; `None` below two values.
    pub sd: Option<f64>,
}

impl Sample {
    /// Mean and standard deviation of `values`, in their unit.
    ///
    /// Source: the corrected two-pass algorithm (Chan, Golub and LeVeque, "Algorithms for
    /// Computing the Sample Variance", The American Statistician 37, 1983). `None` for an empty
    /// sample, for a value that is not finite, and where the sums leave the range of numbers.
    pub fn of(values: &[f64]) -> Option<Sample> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let rough = values.iter().sum::<f64>() / n as f64;
        let mean = rough + values.iter().map(|value| value - rough).sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        (mean.is_finite() && squares.is_finite()).then_some(Sample { n, mean, sd })
    }

    /// Two-sided `1 - alpha` interval `[low, high]` of the mean, in the unit of the values.
    ///
    /// Source: R4; Student's one-sample t. `None` below [`FEWEST_FOR_INTERVAL`] values, for an alpha
    /// outside 0 < alpha < 1, and where an end is not finite.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        self.interval_with(two_sided_quantile(alpha, self.degrees_of_freedom()?)?)
    }

    /// The interval of [`Sample::interval`] for a given quantile `t`: mean -+ t sd / sqrt n.
    ///
    /// Callers with many samples of one size compute `t_quantile(1 - alpha / 2, n - 1)` once. Source: R4. `None` below
    /// [`FEWEST_FOR_INTERVAL`] values, for a negative `t`, and if an end is not finite.
    pub fn interval_with(&self, t: f64) -> Option<[f64; 2]> {
        if self.n < FEWEST_FOR_INTERVAL || t < 0.0 {
            return None;
        }
        let half = t * self.standard_error()?;
        finite([self.mean - half, self.mean + half])
    }

    /// Two-sided p of Student's t test that the mean is `null` (in the unit of the values).
    ///
    /// Source: R4 (scipy `ttest_1samp`). A sample without scatter has p 1 at its mean and 0
    /// elsewhere. `None` below [`FEWEST_FOR_INTERVAL`] values and for a `null` that is not finite.
    pub fn p_value(&self, null: f64) -> Option<f64> {
        two_sided_p(self.mean - null, self.standard_error()?, self.degrees_of_freedom()?)
    }

    /// Degrees of freedom of the t statistics; `None` below [`FEWEST_FOR_INTERVAL`] values.
    pub(crate) fn degrees_of_freedom(&self) -> Option<f64> {
        (self.n >= FEWEST_FOR_INTERVAL).then(|| (self.n - 1) as f64)
    }

    /// Standard error of the mean; `None` below two values.
    pub(crate) fn standard_error(&self) -> Option<f64> {
        Some(self.sd? / (self.n as f64).sqrt())
    }
}

/// Logarithms of the ratios `arm / baseline`, pair by pair: `ln arm[i] - ln baseline[i]`.
///
/// Both slices are values of one unit, which cancels. Source: R3. `None` for slices of unequal
/// length and for a value that has no logarithm (zero, negative, not finite).
pub fn log_ratios(baseline: &[f64], arm: &[f64]) -> Option<Vec<f64>> {
    if baseline.len() != arm.len() {
        return None;
    }
    baseline
        .iter()
        .zip(arm)
        .map(|(base, other)| Some(logarithm(*other)? - logarithm(*base)?))
        .collect()
}

/// Quantile of Student's t distribution with `df` degrees of freedom (any positive number).
///
/// Source: statrs, inverse of the incomplete beta function. `None` outside 0 < probability < 1, for
/// a `df` that is not positive and finite, and where the quantile is not finite.
pub fn t_quantile(probability: f64, df: f64) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0 && df.is_finite()) {
        return None;
    }
    let quantile = StudentsT::new(0.0, 1.0, df).ok()?.inverse_cdf(probability);
    quantile.is_finite().then_some(quantile)
}

/// Quantile that |t| exceeds with probability `alpha`; `None` outside 0 < alpha < 1.
pub(crate) fn two_sided_quantile(alpha: f64, df: f64) -> Option<f64> {
    // Taken from the lower tail, where small probabilities keep their digits.
    if alpha < 1.0 { Some(-t_quantile(alpha / 2.0, df)?) } else { None }
}

/// Natural logarithm of a value that has one.
pub(crate) fn logarithm(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

/// `P(T > t)` for Student's t.
pub(crate) fn upper_tail(t: f64, df: f64) -> Option<f64> {
    let p = StudentsT::new(0.0, 1.0, df).ok()?.sf(t);
    p.is_finite().then_some(p)
}

/// Two-sided p of `distance / error`; without error it is 1 at no distance and 0 elsewhere.
pub(crate) fn two_sided_p(distance: f64, error: f64, df: f64) -> Option<f64> {
    if !distance.is_finite() || !error.is_finite() {
        return None;
    }
    if distance == 0.0 {
        return Some(1.0);
    }
    // An error that underflows against the distance leaves no doubt either.
    let t = (distance / error).abs();
    if t.is_infinite() { Some(0.0) } else { Some((2.0 * upper_tail(t, df)?).min(1.0)) }
}

pub(crate) fn finite(ends: [f64; 2]) -> Option<[f64; 2]> {
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}
