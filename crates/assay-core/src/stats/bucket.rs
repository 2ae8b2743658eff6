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
    /// The number.
    pub value: f64,
    /// Its interval.
    pub ci95: [f64; 2],
}

/// An idle time and the load after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AfterRest {
    /// Length of the idle time, seconds.
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
        let apart = sums.iter().zip(&lengths).map(|(sum, length)| (sum / length - mean).powi(2));
        let sd = (apart.sum::<f64>() / (batches - 1) as f64).sqrt();
        let error = sd / (batches as f64).sqrt();
        let found =
            Self { mean, error, freedom: (batches - 1) as f64, seconds: seconds.len() as f64 };
        (mean.is_finite() && error.is_finite()).then_some(found)
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
    first: RateEstimate,
    base: RateEstimate,
    /// Seconds until the last level begins.
    until: usize,
    operations: f64,
}

/// Estimates the course of a load and the refill after rests; `None` if there are too few seconds for a rate.
pub fn course(first: &[f64], rests: &[AfterRest]) -> Option<Course> {
    let Some(load) = fallen(first) else {
        let per_s = RateEstimate::from_seconds(first)?.estimate()?;
        return Some(Course::Held { per_s, seconds: first.len() as f64 });
    };
    bucket(&load, rests).map(Course::Fell)
}

/// Returns the load split at its drop; `None` if a later level is not lower than the first by [`STEP`].
fn fallen(seconds: &[f64]) -> Option<LoadChange> {
    // The logarithm of an idle second would be infinite.
    let logs: Vec<f64> = seconds.iter().map(|one| one.max(0.5).ln()).collect();
    let changes = correlated_changes(&logs, SURE, STEP.ln());
    let bounds: Vec<usize> = [0].into_iter().chain(changes).chain([seconds.len()]).collect();
    let means: Vec<f64> = bounds
        .windows(2)
        .map(|pair| seconds[pair[0]..pair[1]].iter().sum::<f64>() / (pair[1] - pair[0]) as f64)
        .collect();
    let (level, later) = means.split_first()?;
    let is_slower = |mean: &f64| mean * STEP < *level;
    if later.is_empty() || !later.iter().all(is_slower) {
        return None;
    }
    let (fall, last) = (bounds[1], *bounds.get(bounds.len() - 2)?);
    // The second in which it falls is of neither rate.
    let until = (last + 1).min(seconds.len());
    let first = RateEstimate::from_seconds(&seconds[..fall.saturating_sub(1)])?;
    let base = RateEstimate::from_seconds(&seconds[until..])?;
    Some(LoadChange { first, base, until, operations: seconds[..until].iter().sum() })
}

fn bucket(load: &LoadChange, rests: &[AfterRest]) -> Option<Bucket> {
    let LoadChange { first, base, until, operations } = load;
    let (seconds, above) = (*until as f64, first.mean - base.mean);
    if above <= 0.0 {
        return None;
    }
    let freedom = first.freedom.min(base.freedom);
    let held = operations - base.mean * seconds;
    let error = (seconds * base.error).hypot(seconds * first.error);
    let held_s = held / above;
    let relative = (error / held).hypot(first.error.hypot(base.error) / above);
    let refill = refill(load, held, rests);
    let back = refill.map(|(rate, of_rate)| {
        let back_s = held / rate;
        (back_s, back_s * (error / held).hypot(of_rate / rate))
    });
    Some(Bucket {
        burst_per_s: first.estimate()?,
        burst_s: estimate(held_s, held_s * relative, freedom)?,
        baseline_per_s: base.estimate()?,
        credits: estimate(held, error, freedom)?,
        refill_per_s: refill.and_then(|(rate, error)| estimate(rate, error, freedom)),
        refill_s: back.and_then(|(back_s, error)| estimate(back_s, error, freedom)),
    })
}

/// Credits that return per second of idle time, with the standard error: weighted least squares through the origin,
/// each rest weighted by its variance. Rests that filled the bucket are skipped.
fn refill(load: &LoadChange, held: f64, rests: &[AfterRest]) -> Option<(f64, f64)> {
    let noise = load.first.variance_of_second().max(load.base.variance_of_second());
    // Without scatter all rests have the same weight.
    let least = (1e-9 * held).powi(2);
    let mut points: Vec<(f64, f64, f64, f64)> = Vec::new();
    for rest in rests {
        let seconds = rest.operations.len() as f64;
        let credits = rest.operations.iter().sum::<f64>() - load.base.mean * seconds;
        let variance = (seconds * noise).max(least);
        let is_used_up = rest.operations.last().is_some_and(|last| *last < STEP * load.base.mean);
        if rest.rest_s > 0.0 && is_used_up && credits < NEARLY_FULL * held {
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
