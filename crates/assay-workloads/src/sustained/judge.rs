//! The course of a long write: levels of the rate, and the changes between them.

use assay_core::stats::{
    batch_sums, correlated_change_interval, correlated_changes, ratio_of_sums, slope,
};
use serde::{Deserialize, Serialize};

use super::SustainedDetail;
use super::cause::{self, Again};
use super::rests::{Rests, rests};

/// Largest p of a change: rare long pauses are not normally distributed, which makes p too small.
const MOST_P: f64 = 1e-4;
const MOST_LINE_P: f64 = 0.001;
/// Smallest ratio of two rates that counts as a change.
pub(super) const STEP: f64 = 1.25;
/// Number of batches for the interval of a rate (R9 d), and fewest slices per batch.
const BATCHES: usize = 10;
const IN_A_BATCH: usize = 2;
const ALPHA: f64 = 0.05;

/// A stretch with a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateLevel {
    /// Bytes written before it.
    pub from_bytes: u64,
    /// 95% CI of its start; `None` for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ci95_bytes: Option<[u64; 2]>,
    /// Mean rate over it, bytes per second.
    pub rate_bytes_per_s: f64,
    /// 95% CI of that rate, over ten batches of its slices; `None` if it is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ci95: Option<[f64; 2]>,
}

/// The whole long write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteTimeline {
    /// Total bytes.
    pub written_bytes: u64,
    /// Levels in order, at least one.
    pub levels: Vec<RateLevel>,
    /// The rates of its first and last fifth, if it declined gradually: a line fits better than levels, so there is no
    /// single drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declines: Option<[Rated; 2]>,
    /// Rests of the drive between slices, if above 5% of the time: they may delay or prevent a drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rests: Option<Rests>,
    /// Result of writing the places at the beginning again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

impl WriteTimeline {
    /// The first level from which the rate stays below the initial one; `None` if it recovers or declines gradually.
    pub fn fall(&self) -> Option<&RateLevel> {
        if self.declines.is_some() {
            return None;
        }
        let (first, later) = self.levels.split_first()?;
        let is_slower = |level: &RateLevel| level.rate_bytes_per_s * STEP < first.rate_bytes_per_s;
        let at = later.iter().position(is_slower)?;
        later[at..].iter().all(is_slower).then(|| &later[at])
    }

    /// Whether the rate fell permanently, at one position or gradually.
    pub fn fell(&self) -> bool {
        self.fall().is_some() || self.declines.is_some()
    }

    pub fn last(&self) -> Option<&RateLevel> {
        self.levels.last()
    }

    /// Bytes that fit into a fast cache, if a cache was detected.
    pub fn fast_cache_bytes(&self) -> Option<u64> {
        let (fall, retry) = (self.fall()?, self.again.as_ref()?);
        (retry.slow_at_once && retry.back_after_rest).then_some(fall.from_bytes)
    }
}

/// A rate with its interval: the bytes of slices of one size over their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rated {
    pub rate_bytes_per_s: f64,
    /// Its 95% CI; `None` with few slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ci95: Option<[f64; 2]>,
}

/// The rate of slices of one size. Its interval is that of the ratio, over batches of neighboring slices.
pub(super) fn rate_of_slices(slice_bytes: u64, slices_ns: &[u64]) -> Option<Rated> {
    let times: Vec<f64> = slices_ns.iter().map(|ns| (*ns).max(1) as f64 / 1e9).collect();
    let bytes = vec![slice_bytes as f64; times.len()];
    let batches = (times.len() / IN_A_BATCH).clamp(1, BATCHES);
    let (bytes, times) = (batch_sums(&bytes, batches)?, batch_sums(&times, batches)?);
    let found = ratio_of_sums(&bytes, &times, ALPHA)?;
    Some(Rated { rate_bytes_per_s: found.ratio, rate_ci95: found.interval })
}

/// The course of a long write; `None` if nothing was written.
pub fn course(detail: &SustainedDetail) -> Option<WriteTimeline> {
    let slices = &detail.slices_ns;
    if slices.is_empty() || detail.slice_bytes == 0 {
        return None;
    }
    // All slices have the same bytes, so the logarithms only lack a constant.
    let log_rates: Vec<f64> = slices.iter().map(|ns| -((*ns).max(1) as f64).ln()).collect();
    let changes = correlated_changes(&log_rates, MOST_P, STEP.ln());
    let bounds: Vec<usize> = [0].into_iter().chain(changes).chain([slices.len()]).collect();
    let bytes_before = |slice: usize| match slice {
        0 => 0,
        _ => detail.before_bytes + slice as u64 * detail.slice_bytes,
    };
    let mut levels = Vec::new();
    for (index, pair) in bounds.windows(2).enumerate() {
        let (from, to) = (pair[0], pair[1]);
        let from_bytes = bytes_before(from);
        // The first level starts without a change; any other change lies between its neighbors.
        let previous = index.checked_sub(1).map(|before| bounds[before]);
        let from_ci95_bytes = previous.and_then(|previous| {
            let ends = correlated_change_interval(&log_rates[previous..to], ALPHA)?;
            let [low, high] = ends.map(|slice| bytes_before(previous + slice));
            Some([low.min(from_bytes), high.max(from_bytes)])
        });
        let Rated { rate_bytes_per_s, rate_ci95 } =
            rate_of_slices(detail.slice_bytes, &slices[from..to])?;
        levels.push(RateLevel { from_bytes, from_ci95_bytes, rate_bytes_per_s, rate_ci95 });
    }
    let written_bytes = bytes_before(slices.len());
    let declines = if is_gradual(&log_rates, &bounds) { end_rates(detail) } else { None };
    let mut course =
        WriteTimeline { written_bytes, levels, declines, rests: rests(detail), again: None };
    course.again = cause::judge_retry(detail, &course);
    Some(course)
}

/// The rates of the first and the last fifth.
fn end_rates(detail: &SustainedDetail) -> Option<[Rated; 2]> {
    let slices = &detail.slices_ns;
    let fifth = slices.len() / 5;
    let rate = |part: &[u64]| rate_of_slices(detail.slice_bytes, part);
    Some([rate(&slices[..fifth])?, rate(&slices[slices.len() - fifth..])?])
}

/// Whether the rate declines by [`STEP`] or more along a line that fits better than levels, tested over batches.
fn is_gradual(log_rates: &[f64], bounds: &[usize]) -> bool {
    let mut squares_of_levels = 0.0;
    for pair in bounds.windows(2) {
        let level = &log_rates[pair[0]..pair[1]];
        let mean = level.iter().sum::<f64>() / level.len().max(1) as f64;
        squares_of_levels += level.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
    }
    let positions = |count: usize| (0..count).map(|index| index as f64).collect::<Vec<_>>();
    let Some(line) = slope(&positions(log_rates.len()), log_rates) else { return false };
    let fitted = (0..log_rates.len()).map(|index| line.intercept + line.slope * index as f64);
    let squares_of_line: f64 =
        log_rates.iter().zip(fitted).map(|(log, fit)| (log - fit).powi(2)).sum();
    let decline = -line.slope * log_rates.len() as f64;
    if decline < STEP.ln() || squares_of_line >= squares_of_levels {
        return false;
    }
    // Neighboring slices are correlated: only batches are independent.
    let Some(batches) = batch_means(log_rates, BATCHES) else { return false };
    slope(&positions(batches.len()), &batches).is_some_and(|line| line.p <= MOST_LINE_P)
}

/// Means of batches of neighboring values, with lengths as equal as possible.
fn batch_means(series: &[f64], batches: usize) -> Option<Vec<f64>> {
    let sums = batch_sums(series, batches)?;
    let counts = batch_sums(&vec![1.0; series.len()], batches)?;
    Some(sums.iter().zip(counts).map(|(sum, count)| sum / count).collect())
}
