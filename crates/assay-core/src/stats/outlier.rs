//! Outliers (rule R11): flagged, never removed.

use crate::stats::order_statistics::median;
use crate::stats::sample::Sample;

/// Modified z scores beyond this are flagged (Iglewicz and Hoaglin).
pub const MODIFIED_Z_LIMIT: f64 = 3.5;

/// Modified z score of each value, in order: 0.6745 (x - median) / MAD, the median distance from the median.
///
/// If more than half of the values are equal, MAD is 0 and the score is (x - median) / (1.253314 MeanAD), with the mean
/// distance from the median, or 0 if MeanAD is 0. Source: R11; Iglewicz and Hoaglin, "How to Detect and Handle
/// Outliers" (ASQC 1993). Empty for an empty sample and for one with a value that is not finite; a score beyond the
/// range of numbers is the largest number.
pub fn modified_z(values: &[f64]) -> Vec<f64> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let Some(centre) = median(values) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let middle = median(&distances).unwrap_or(0.0) / 0.6745;
    let mean = 1.253_314 * distances.iter().sum::<f64>() / values.len() as f64;
    let scale = if middle > 0.0 { middle } else { mean };
    values.iter().map(|value| score(value - centre, scale)).collect()
}

fn score(distance: f64, scale: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { (distance / scale).clamp(f64::MIN, f64::MAX) }
}

/// The sample without each of its values in turn, in their order and unit.
///
/// Source: R11 d. Mean and sum of squares before and after each value are merged pairwise (Chan, Golub and LeVeque
/// 1983), because subtracting one value from the total loses all digits if that value dominates the variance. Empty
/// below two values and if [`Sample::of`] is `None`.
pub fn leave_one_out(values: &[f64]) -> Vec<Sample> {
    if values.len() < 2 || Sample::of(values).is_none() {
        return Vec::new();
    }
    let mut after = moments_before_each(values.iter().rev());
    after.reverse();
    let before = moments_before_each(values.iter());
    before.into_iter().zip(after).map(|(before, after)| before.merged(after).sample()).collect()
}

/// Moments of the values before each value: none before the first.
fn moments_before_each<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<Moments> {
    let mut so_far = Moments::default();
    let mut before = Vec::new();
    for value in values {
        before.push(so_far);
        so_far = so_far.merged(Moments { n: 1, mean: *value, squares: 0.0 });
    }
    before
}

/// Count, mean and sum of squared distances from the mean.
#[derive(Clone, Copy, Default)]
struct Moments {
    n: usize,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Moments of both sets of values together.
    fn merged(self, other: Moments) -> Moments {
        if other.n == 0 {
            return self;
        }
        let n = self.n + other.n;
        let (apart, share) = (other.mean - self.mean, other.n as f64 / n as f64);
        let squares = self.squares + other.squares + apart * apart * self.n as f64 * share;
        Moments { n, mean: self.mean + apart * share, squares }
    }

    fn sample(self) -> Sample {
        let sd = (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt());
        Sample { n: self.n, mean: self.mean, sd }
    }
}
