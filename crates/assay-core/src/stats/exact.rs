//! Exact tests: binomial tails, sign flips of paired differences (rule R4), failure counts (rule R11).

use statrs::distribution::{Beta, Binomial, ContinuousCDF, Discrete, DiscreteCDF, Hypergeometric};

use crate::stats::sample::finite;

/// Most differences for which the sign flips are enumerated.
const MOST_FLIPPED: usize = 20;

/// Sums that differ by less than this share of the sum of all sizes count as tied.
const TIED: f64 = 1e-12;

/// Probabilities that differ by less than this share count as equal (R's `fisher.test`).
const EQUALLY_LIKELY: f64 = 1e-7;

/// Probability of at least `hits` in `n` independent trials with this probability.
///
/// Source: the upper tail of the binomial distribution, `scipy.stats.binom.sf(hits - 1, n, p)`. 1 for no hits, 0 for
/// more hits than trials; `None` for a probability outside 0 to 1.
pub fn binomial_at_least(hits: u64, n: u64, probability: f64) -> Option<f64> {
    let binomial = Binomial::new(probability, n).ok()?;
    Some(match hits {
        0 => 1.0,
        _ if hits > n => 0.0,
        _ => binomial.sf(hits - 1),
    })
}

/// Two-sided `1 - alpha` interval `[low, high]` of the probability of a hit, after `hits` in `n` tries.
///
/// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
/// Biometrika 26 (1934): the quantiles of beta distributions; R's `binom.test`. The coverage is at least `1 - alpha`,
/// also if the probability varies between trials (Hoeffding, Annals of Mathematical Statistics 27, 1956). `None`
/// without a trial, for more hits than trials, and outside 0 < alpha < 1.
pub fn binomial_interval(hits: u64, n: u64, alpha: f64) -> Option<[f64; 2]> {
    if n == 0 || hits > n || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let (hit, missed) = (hits as f64, (n - hits) as f64);
    let quantile = |a: f64, b: f64, p: f64| Some(Beta::new(a, b).ok()?.inverse_cdf(p));
    let low = if hits == 0 { Some(0.0) } else { quantile(hit, missed + 1.0, alpha / 2.0) };
    let high = if hits == n { Some(1.0) } else { quantile(hit + 1.0, missed, 1.0 - alpha / 2.0) };
    finite([low?, high?])
}

/// Exact two-sided p that `differences` (any one unit) are symmetric about 0.
///
/// The share of all 2^n choices of signs whose sum is at least as far from 0 as the one observed;
/// it cannot be below 2 / 2^n. Source: R4's second opinion; Fisher, "The Design of Experiments",
/// section 21; scipy `permutation_test(permutation_type="samples")`. `None` for no difference, for
/// more than 20, and for a value that is not finite.
pub fn sign_flip(differences: &[f64]) -> Option<f64> {
    let n = differences.len();
    if n == 0 || n > MOST_FLIPPED {
        return None;
    }
    let size: f64 = differences.iter().map(|value| value.abs()).sum();
    if !size.is_finite() {
        return None;
    }
    let least = differences.iter().sum::<f64>().abs() - TIED * size;
    let (left, right) = differences.split_at(n / 2);
    let mut sums = signed_sums(right);
    sums.sort_unstable_by(f64::total_cmp);
    // Every sum is one of the left half plus one of the right, which are found by bisection.
    let extreme: usize =
        signed_sums(left).iter().map(|sum| count_extreme(&sums, *sum, least)).sum();
    Some(extreme as f64 / (1_u64 << n) as f64)
}

/// How many of `sorted` have `|sum + value| >= least`.
fn count_extreme(sorted: &[f64], sum: f64, least: f64) -> usize {
    // If `least` is not positive, every value counts, exactly once.
    if least <= 0.0 {
        return sorted.len();
    }
    let not_above = sorted.partition_point(|value| sum + value < least);
    let below = sorted.partition_point(|value| sum + value <= -least);
    sorted.len() - not_above + below
}

/// The sums of all 2^n choices of signs.
fn signed_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in values {
        sums = sums.iter().flat_map(|sum| [sum + value, sum - value]).collect();
    }
    sums
}

/// Fisher's exact two-sided p that two failure rates are alike: `failed1` of `total1` and `failed2` of `total2`.
///
/// The probability, given the margins, of all tables that are no likelier than the one observed. Source: R11; Fisher,
/// "Statistical Methods for Research Workers", section 21.02; scipy `fisher_exact`. It is 1 if a side has no trial, and
/// for impossible counts (more failed than started).
pub fn fisher_exact(failed1: u64, total1: u64, failed2: u64, total2: u64) -> f64 {
    let (Some(failed), Some(total)) = (failed1.checked_add(failed2), total1.checked_add(total2))
    else {
        return 1.0;
    };
    if failed1 > total1 || failed2 > total2 {
        return 1.0;
    }
    let Ok(table) = Hypergeometric::new(total, failed, total1) else { return 1.0 };
    let limit = table.ln_pmf(failed1) + EQUALLY_LIKELY;
    let range = failed.saturating_sub(total2)..=failed.min(total1);
    // The plain probabilities would divide one overflown binomial coefficient by another.
    let log_p = range.map(|count| table.ln_pmf(count)).filter(|log_p| *log_p <= limit);
    log_p.map(f64::exp).sum::<f64>().clamp(0.0, 1.0)
}
