//! Estimates the token bucket of a volume from its throughput under full load and after idle times.
//!
//! A volume with a token bucket runs at its burst rate until its credits run out, then at its baseline rate; credits
//! refill at a constant rate. Operations above the baseline rate are the credits, wherever in a second the drop occurs;
//! after an idle time, the excess is the refill. One block size does not reveal whether the volume counts operations or
//! bytes.

use crate::stats::{batch_sums, correlated_changes, t_quantile};
use serde::{Deserialize, Serialize};

/// Maximum p of a change; low, as for sustained writes, because rare pauses are not normally distributed.
const SURE: f64 = 1e-4;
/// Smallest ratio of two rates that counts as a change.
const STEP: f64 = 1.25;
/// Batches for the error of a rate (R9 d), and minimum seconds per batch.
const BATCHES: usize = 10;
const IN_A_BATCH: usize = 2;
/// Batches below which a rate has no error.
const FEWEST_BATCHES: usize = 3;
const ALPHA: f64 = 0.05;
/// If a rest refills more than this share of the credits, the refill may have been cut off by the full bucket.
const NEARLY_FULL: f64 = 0.85;

/// A number with its 95% CI.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    pub value: f64,
    pub ci95: [f64; 2],
}

/// An idle time and the load after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AfterRest {
    pub rest_s: f64,
    /// Operations of each second after it.
    pub operations: Vec<f64>,
}

/// Burst credits, burst rate and baseline rate of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// Operations per second while there was credit.
    pub burst_per_s: Estimate,
    /// Seconds at the burst rate until the credits run out.
    pub burst_s: Estimate,
    /// Operations per second after the credits have run out.
    pub baseline_per_s: Estimate,
    /// Burst credits, in operations above the baseline rate.
    pub credits: Estimate,
    /// Credits per second that return during idle time, in operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_per_s: Option<Estimate>,
    /// Seconds of idle time that refill all credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_s: Option<Estimate>,
}

/// Throughput under sustained load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// The rate did not drop.
    Held {
        /// Operations per second.
        per_s: Estimate,
        /// Length of the load, seconds.
        seconds: f64,
    },
    /// The rate dropped and stayed below.
    Fell(Bucket),
}

/// A rate with its standard error and its degrees of freedom.
#[derive(Clone, Copy, Debug)]
struct RateEstimate {
    mean: f64,
    error: f64,
    freedom: f64,
    seconds: f64,
}

impl RateEstimate {
    /// Computes the rate from batches of consecutive seconds; `None` for too few batches.
    fn from_seconds(seconds: &[f64]) -> Option<Self> {
        let batches = (seconds.len() / IN_A_BATCH).min(BATCHES);
        if batches < FEWEST_BATCHES {
            return None;
        }
        let sums = batch_sums(seconds, batches)?;
        let lengths = batch_sums(&vec![1.0; seconds.len()], batches)?;
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let squares = sums.iter().zip(&lengths).map(|(sum, length)| (sum / length - mean).powi(2));
        let freedom = (batches - 1) as f64;
        let sd = (squares.sum::<f64>() / freedom).sqrt();
        let error = sd / (batches as f64).sqrt();
        let rate = Self { mean, error, freedom, seconds: seconds.len() as f64 };
        (mean.is_finite() && error.is_finite()).then_some(rate)
    }

    fn estimate(&self) -> Option<Estimate> {
        estimate(self.mean, self.error, self.freedom)
    }

    /// Variance of the operations within one second.
    fn variance_of_second(&self) -> f64 {
        self.seconds * self.error.powi(2)
    }
}

/// Returns the value with its interval; `None` if either is not finite. The lower end is at least 0.
fn estimate(value: f64, error: f64, freedom: f64) -> Option<Estimate> {
    let half = t_quantile(1.0 - ALPHA / 2.0, freedom)? * error;
    let ci95 = [(value - half).max(0.0).min(value), value + half];
    (value.is_finite() && half.is_finite()).then_some(Estimate { value, ci95 })
}

/// An uninterrupted load, split at its permanent drop.
struct LoadChange {
    burst: RateEstimate,
    base: RateEstimate,
    /// Seconds until the last level begins.
    until: usize,
    /// Operations of these seconds.
    operations: f64,
}

/// Estimates the course of a load and the refill after rests; `None` if there are too few seconds for a rate.
pub fn course(first: &[f64], rests: &[AfterRest]) -> Option<Course> {
    let Some(load) = find_drop(first) else {
        let per_s = RateEstimate::from_seconds(first)?.estimate()?;
        return Some(Course::Held { per_s, seconds: first.len() as f64 });
    };
    estimate_bucket(&load, rests).map(Course::Fell)
}

/// Returns the load split at its drop; `None` if a later level is not lower than the first by [`STEP`].
fn find_drop(seconds: &[f64]) -> Option<LoadChange> {
    // The logarithm of an idle second would be infinite.
    let logs: Vec<f64> = seconds.iter().map(|one| one.max(0.5).ln()).collect();
    let changes = correlated_changes(&logs, SURE, STEP.ln());
    let (first_change, last_change) = (*changes.first()?, *changes.last()?);
    let mean = |from: usize, to: usize| seconds[from..to].iter().sum::<f64>() / (to - from) as f64;
    let burst_mean = mean(0, first_change);
    let ends = changes.iter().skip(1).copied().chain([seconds.len()]);
    let mut later_means = changes.iter().zip(ends).map(|(from, to)| mean(*from, to));
    if !later_means.all(|later| later * STEP < burst_mean) {
        return None;
    }
    // The second in which the rate drops belongs to neither rate.
    let until = (last_change + 1).min(seconds.len());
    let burst = RateEstimate::from_seconds(&seconds[..first_change.saturating_sub(1)])?;
    let base = RateEstimate::from_seconds(&seconds[until..])?;
    Some(LoadChange { burst, base, until, operations: seconds[..until].iter().sum() })
}

/// Computes the bucket; errors propagate as those of independent estimates.
fn estimate_bucket(load: &LoadChange, rests: &[AfterRest]) -> Option<Bucket> {
    let LoadChange { burst, base, until, operations } = load;
    let (seconds, above_base) = (*until as f64, burst.mean - base.mean);
    if above_base <= 0.0 {
        return None;
    }
    let freedom = burst.freedom.min(base.freedom);
    let credits = operations - base.mean * seconds;
    let credits_error = (seconds * base.error).hypot(seconds * burst.error);
    let burst_s = credits / above_base;
    let relative_error =
        (credits_error / credits).hypot(burst.error.hypot(base.error) / above_base);
    let refill = estimate_refill(load, credits, rests);
    let refill_s = refill.and_then(|(rate, rate_error)| {
        let refill_s = credits / rate;
        let error = refill_s * (credits_error / credits).hypot(rate_error / rate);
        estimate(refill_s, error, freedom)
    });
    Some(Bucket {
        burst_per_s: burst.estimate()?,
        burst_s: estimate(burst_s, burst_s * relative_error, freedom)?,
        baseline_per_s: base.estimate()?,
        credits: estimate(credits, credits_error, freedom)?,
        refill_per_s: refill.and_then(|(rate, error)| estimate(rate, error, freedom)),
        refill_s,
    })
}

/// Credits that return per second of idle time, with the standard error: weighted least squares through the origin,
/// each rest weighted by its variance. Rests that filled the bucket are skipped.
fn estimate_refill(load: &LoadChange, full: f64, rests: &[AfterRest]) -> Option<(f64, f64)> {
    let noise = load.burst.variance_of_second().max(load.base.variance_of_second());
    // A variance of 0 would give an infinite weight; with this minimum, rests without scatter weigh the same.
    let least_variance = (1e-9 * full).powi(2);
    // Per rest: its length in seconds, the returned credits, the seconds of load after it, the weight.
    let mut points: Vec<(f64, f64, f64, f64)> = Vec::new();
    for rest in rests {
        let seconds = rest.operations.len() as f64;
        let credits = rest.operations.iter().sum::<f64>() - load.base.mean * seconds;
        let variance = (seconds * noise).max(least_variance);
        let is_used_up = rest.operations.last().is_some_and(|last| *last < STEP * load.base.mean);
        if rest.rest_s > 0.0 && is_used_up && credits < NEARLY_FULL * full {
            points.push((rest.rest_s, credits, seconds, 1.0 / variance));
        }
    }
    let squares: f64 = points.iter().map(|(rest_s, .., weight)| weight * rest_s.powi(2)).sum();
    if points.is_empty() || squares <= 0.0 {
        return None;
    }
    let products = points.iter().map(|(rest_s, credits, _, weight)| weight * rest_s * credits);
    let rate = products.sum::<f64>() / squares;
    let residual = |rest_s: f64, credits: f64| (credits - rate * rest_s).powi(2);
    let residuals = points.iter().map(|(rest_s, credits, _, w)| w * residual(*rest_s, *credits));
    let freedom = (points.len() - 1).max(1) as f64;
    // Widens the standard error if the rests disagree by more than their scatter.
    let inflation = (residuals.sum::<f64>() / freedom).max(1.0);
    let base_weights = points.iter().map(|(rest_s, _, seconds, weight)| weight * rest_s * seconds);
    let base_weight = base_weights.sum::<f64>() / squares;
    let error = (inflation / squares).sqrt().hypot(base_weight * load.base.error);
    (rate > 0.0 && rate.is_finite() && error.is_finite()).then_some((rate, error))
}
