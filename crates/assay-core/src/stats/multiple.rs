//! Several comparisons of one family (rule R5), and tests of all arms at once.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::stats::sample::{finite, logarithm, two_sided_quantile};

/// Ratio of an arm to the baseline with an interval from the variance of the whole table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledRatio {
    /// exp of the mean difference of the logarithms: above 1 where the arm's values are larger.
    pub ratio: f64,
    /// Two-sided interval `[low, high]` of the ratio.
    pub interval: [f64; 2],
}

/// A rank test of several arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Test statistic, chi-squared with arms - 1 degrees of freedom where the arms are alike.
    pub statistic: f64,
    /// Probability of a statistic at least as large where the arms are alike.
    pub p: f64,
}

/// Adjusted p values after Holm, in the order of `p`; each is to be held against the alpha of the
/// family.
///
/// Source: R5; Holm, Scandinavian Journal of Statistics 6 (1979). An entry outside 0 to 1 counts
/// as 1: it is part of the family and shows nothing.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut highest = 0.0_f64;
    adjusted(p, ascending(p).into_iter().enumerate(), |rank, value| {
        highest = highest.max(value * (p.len() - rank) as f64).min(1.0);
        highest
    })
}

/// Adjusted p values after Benjamini and Hochberg, in the order of `p`: false discovery rates.
///
/// Source: R5; Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995). An
/// entry outside 0 to 1 counts as 1.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut lowest = 1.0_f64;
    adjusted(p, ascending(p).into_iter().enumerate().rev(), |rank, value| {
        lowest = lowest.min(value * p.len() as f64 / (rank + 1) as f64);
        lowest
    })
}

/// Alpha of each of so many `comparisons` that keeps the family at `alpha`: their quotient.
///
/// Source: R5 (Bonferroni's inequality). No comparison counts as one.
pub fn bonferroni(alpha: f64, comparisons: usize) -> f64 {
    alpha / comparisons.max(1) as f64
}

/// Walks over `(rank, position)` and puts what `step` makes of each p into its place.
fn adjusted(
    p: &[f64],
    walk: impl Iterator<Item = (usize, usize)>,
    mut step: impl FnMut(usize, f64) -> f64,
) -> Vec<f64> {
    let mut found = vec![1.0; p.len()];
    for (rank, position) in walk {
        found[position] = step(rank, probability(p[position]));
    }
    found
}

/// Positions of the p values from the smallest to the largest.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| probability(p[*left]).total_cmp(&probability(p[*right])));
    order
}

fn probability(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { p } else { 1.0 }
}

/// Ratios of all arms to arm 0 with two-sided `1 - alpha` intervals from one pooled variance.
///
/// `rows[replicate][arm]` holds values of one unit; the answer has an entry for each arm but the
/// baseline. Source: R5's opt-in: on the logarithms, the residual mean square MS of the additive
/// layout replicate + arm has (n - 1)(k - 1) degrees of freedom, and the standard error of a
/// difference is sqrt(2 MS / n) (Montgomery, "Design and Analysis of Experiments", randomised
/// complete block design). One noisier arm makes it wrong for that arm. None below two replicates
/// or arms, for an incomplete table, a value without a logarithm, an alpha outside 0 to 1, and
/// where an end is not finite.
pub fn pooled_ratios(rows: &[Vec<f64>], alpha: f64) -> Option<Vec<PooledRatio>> {
    let (n, k) = shape(rows)?;
    let logs: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| row.iter().map(|value| logarithm(*value)).collect())
        .collect::<Option<_>>()?;
    let arms: Vec<f64> = (0..k).map(|arm| mean(logs.iter().map(|row| row[arm]))).collect();
    let all = mean(arms.iter().copied());
    let residual: f64 = logs
        .iter()
        .map(|row| {
            let level = mean(row.iter().copied()) - all;
            row.iter().zip(&arms).map(|(log, arm)| (log - level - arm).powi(2)).sum::<f64>()
        })
        .sum();
    let freedom = ((n - 1) * (k - 1)) as f64;
    let half = two_sided_quantile(alpha, freedom)? * (2.0 * residual / freedom / n as f64).sqrt();
    arms[1..].iter().map(|arm| pooled_ratio(arm - arms[0], half)).collect()
}

fn pooled_ratio(difference: f64, half: f64) -> Option<PooledRatio> {
    let interval = finite([(difference - half).exp(), (difference + half).exp()])?;
    Some(PooledRatio { ratio: difference.exp(), interval })
}

/// Replicates and arms of a complete table with at least two of each.
fn shape(rows: &[Vec<f64>]) -> Option<(usize, usize)> {
    let (n, k) = (rows.len(), rows.first()?.len());
    (n >= 2 && k >= 2 && rows.iter().all(|row| row.len() == k)).then_some((n, k))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// Friedman's rank test that all arms are alike; `rows[replicate][arm]` in any unit.
///
/// Source: R5; Friedman (1937) with the correction for ties of Hollander and Wolfe,
/// "Nonparametric Statistical Methods"; scipy `friedmanchisquare`. None below two replicates or
/// three arms, for an incomplete table, a value that is not finite, and where all values of every
/// replicate are tied.
pub fn friedman(rows: &[Vec<f64>]) -> Option<RankTest> {
    let (n, k) = shape(rows)?;
    if k < 3 || rows.iter().flatten().any(|value| !value.is_finite()) {
        return None;
    }
    let (mut sums, mut ties) = (vec![0.0; k], 0.0);
    for row in rows {
        ties += add_ranks(row, &mut sums);
    }
    let (n, k) = (n as f64, k as f64);
    let correction = 1.0 - ties / (n * k * (k * k - 1.0));
    if correction <= 1e-12 {
        return None;
    }
    let centre = n * (k + 1.0) / 2.0;
    let squares: f64 = sums.iter().map(|sum| (sum - centre).powi(2)).sum();
    let statistic = 12.0 * squares / (n * k * (k + 1.0)) / correction;
    let p = ChiSquared::new(k - 1.0).ok()?.sf(statistic);
    Some(RankTest { statistic, p })
}

/// Adds the mid ranks of `row` to `sums`; gives the sum of t^3 - t over its groups of t ties.
fn add_ranks(row: &[f64], sums: &mut [f64]) -> f64 {
    let mut ties = 0.0;
    for (value, sum) in row.iter().zip(sums) {
        let below = row.iter().filter(|other| *other < value).count() as f64;
        let equal = row.iter().filter(|other| *other == value).count() as f64;
        *sum += below + f64::midpoint(equal, 1.0);
        // Each of the t members adds its share, so a group adds t (t^2 - 1).
        ties += equal * equal - 1.0;
    }
    ties
}
