//! A bucket of credit, from what a volume did: seconds at full load until it fell, and seconds after rests.
//!
//! A volume with a token bucket takes operations as fast as they come while there is credit. Credit comes back at
//! a rate; once it is gone, that rate remains. What a load took above the rate that remains is what was in the
//! bucket, wherever the fall lies between two seconds; what it took above it after a rest is what the rest
//! brought back. Whether operations or bytes are counted, one size does not tell.

use crate::stats::{batch_sums, correlated_changes, t_quantile};
use serde::{Deserialize, Serialize};

/// p of a change at most, as in long writes: rare pauses are no normal scatter.
const SURE: f64 = 1e-4;
/// Smaller steps of the rate are none that is told.
const STEP: f64 = 1.25;
/// Batches that give a rate its error (R9 d), and seconds of each at least.
const BATCHES: usize = 10;
const IN_A_BATCH: usize = 2;
/// Batches below which a rate has no error.
const FEWEST_BATCHES: usize = 3;
const ALPHA: f64 = 0.05;
/// From this share of the bucket on what a rest brought back may have been cut off at the brim.
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

/// A rest and the load after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AfterRest {
    /// Seconds in which nothing was asked for.
    pub rest_s: f64,
    /// Operations of each second after it.
    pub operations: Vec<f64>,
}

/// What a volume held, and what remains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// Operations per second while there was credit.
    pub burst_per_s: Estimate,
    /// Seconds for which it held that.
    pub burst_s: Estimate,
    /// Operations per second that remain.
    pub baseline_per_s: Estimate,
    /// Operations above those that remain: what was in the bucket.
    pub credits: Estimate,
    /// Operations per second that come back at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_per_s: Option<Estimate>,
    /// Seconds of rest until all of it is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_s: Option<Estimate>,
}

/// What a load showed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// The rate did not fall: for so many seconds at least.
    Held {
        /// Operations per second.
        per_s: Estimate,
        /// Seconds.
        seconds: f64,
    },
    /// It fell, and stayed below.
    Fell(Bucket),
}

/// A rate with its standard error and the degrees of freedom of that.
#[derive(Clone, Copy, Debug)]
struct Rate {
    mean: f64,
    error: f64,
    freedom: f64,
    seconds: f64,
}

impl Rate {
    /// That of seconds, over batches of neighbours; none of too few.
    fn of(seconds: &[f64]) -> Option<Self> {
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

    /// Variance of what is done in one second.
    fn variance_of_second(&self) -> f64 {
        self.seconds * self.error.powi(2)
    }
}

/// A number with the interval of its standard error; what cannot be below zero has no end there.
fn estimate(value: f64, error: f64, freedom: f64) -> Option<Estimate> {
    let half = t_quantile(1.0 - ALPHA / 2.0, freedom)? * error;
    let ci95 = [(value - half).max(0.0).min(value), value + half];
    (value.is_finite() && half.is_finite()).then_some(Estimate { value, ci95 })
}

/// The load of seconds without a break, and where it changed for good.
struct Load {
    first: Rate,
    base: Rate,
    /// Seconds until the last level begins.
    until: usize,
    /// Operations until then.
    operations: f64,
}

/// The course of a load from its beginning, and what rests brought back; none of fewer seconds than a rate needs.
pub fn course(first: &[f64], rests: &[AfterRest]) -> Option<Course> {
    let Some(load) = fallen(first) else {
        let per_s = Rate::of(first)?.estimate()?;
        return Some(Course::Held { per_s, seconds: first.len() as f64 });
    };
    bucket(&load, rests).map(Course::Fell)
}

/// The load, where it fell for good: each level after the fall lies below the first.
fn fallen(seconds: &[f64]) -> Option<Load> {
    // A second in which nothing was done has no logarithm.
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
    let first = Rate::of(&seconds[..fall.saturating_sub(1)])?;
    let base = Rate::of(&seconds[until..])?;
    Some(Load { first, base, until, operations: seconds[..until].iter().sum() })
}

fn bucket(load: &Load, rests: &[AfterRest]) -> Option<Bucket> {
    let Load { first, base, until, operations } = load;
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

/// What comes back in a second of rest, with its standard error: by least squares through the origin, each rest
/// by what its own seconds scatter. Rests that filled the bucket say nothing of it.
fn refill(load: &Load, held: f64, rests: &[AfterRest]) -> Option<(f64, f64)> {
    let noise = load.first.variance_of_second().max(load.base.variance_of_second());
    // Without any scatter all rests weigh the same.
    let least = (1e-9 * held).powi(2);
    let of = |rest: &AfterRest| {
        let seconds = rest.operations.len() as f64;
        let back = rest.operations.iter().sum::<f64>() - load.base.mean * seconds;
        let variance = (seconds * noise).max(least);
        // What it brought back was gone again at the end.
        let is_gone = rest.operations.last().is_some_and(|last| *last < STEP * load.base.mean);
        let is_open = rest.rest_s > 0.0 && is_gone && back < NEARLY_FULL * held;
        is_open.then_some((rest.rest_s, back, seconds, 1.0 / variance))
    };
    let open: Vec<(f64, f64, f64, f64)> = rests.iter().filter_map(of).collect();
    let squares: f64 = open.iter().map(|(rest_s, .., weight)| weight * rest_s.powi(2)).sum();
    if open.is_empty() || squares <= 0.0 {
        return None;
    }
    let up: f64 = open.iter().map(|(rest_s, back, _, weight)| weight * rest_s * back).sum();
    let rate = up / squares;
    let left = open.iter().map(|(rest_s, back, _, weight)| weight * (back - rate * rest_s).powi(2));
    let freedom = (open.len() - 1).max(1) as f64;
    // Rests that disagree by more than their seconds scatter say so.
    let wider = (left.sum::<f64>() / freedom).max(1.0);
    let of_base: f64 =
        open.iter().map(|(rest_s, _, seconds, weight)| weight * rest_s * seconds).sum::<f64>()
            / squares;
    let error = (wider / squares).sqrt().hypot(of_base * load.base.error);
    (rate > 0.0 && rate.is_finite() && error.is_finite()).then_some((rate, error))
}
