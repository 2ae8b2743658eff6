//! Detects why a rate fell: places at the beginning are written again, immediately and after a rest.
//!
//! A full fast cache is slow everywhere, and has space again after a rest. A hard disk is slow on its inner tracks, and
//! fast at its beginning immediately. Another user of the device comes and goes: it is unlikely to leave exactly during
//! the rest, and to stay away.

use serde::{Deserialize, Serialize};

use super::SustainedDetail;
use super::judge::{Rated, STEP, WriteTimeline, rate_of_slices};

/// Slices to evaluate after the rest: a short rest only frees a little space.
const RESTED: usize = 4;
/// With fewer of either kind, perfect separation has a probability above 1 in 56 by chance.
const FEWEST_AT_ONCE: usize = 5;
const FEWEST_RESTED: usize = 3;

/// Places at the beginning, written again after the drop of the rate, in recorded form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// Bytes of a slice: smaller than before, to get as many slow ones.
    pub slice_bytes: u64,
    pub at_once_ns: Vec<u64>,
    pub rest_ns: u64,
    pub rested_ns: Vec<u64>,
}

/// Result of the retry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Again {
    /// The rate without a rest.
    pub at_once: Rated,
    pub rest_ns: u64,
    /// The rate after the rest.
    pub rested: Rated,
    /// Whether it was slow without a rest: closer to the rate after the drop than to that before.
    pub slow_at_once: bool,
    /// Whether each slice after the rest was faster than all before it by 25%, and they were closer to the rate before
    /// the drop.
    pub back_after_rest: bool,
}

/// Result of the retry after a drop; `None` without a retry, or with too few slices.
pub(super) fn judge_retry(detail: &SustainedDetail, course: &WriteTimeline) -> Option<Again> {
    let (retried, fall) = (detail.retried.as_ref()?, course.fall()?);
    let first = course.levels.first()?.rate_bytes_per_s;
    // Rates below the geometric mean of the rates before and after the drop are slow.
    let slow_below = (first * fall.rate_bytes_per_s).sqrt();
    let rested_ns = &retried.rested_ns[..retried.rested_ns.len().min(RESTED)];
    let at_once_ns = &retried.at_once_ns;
    if at_once_ns.len() < FEWEST_AT_ONCE || rested_ns.len() < FEWEST_RESTED {
        return None;
    }
    let at_once = rate_of_slices(retried.slice_bytes, at_once_ns)?;
    let rested = rate_of_slices(retried.slice_bytes, rested_ns)?;
    let (fastest, slowest) = (at_once_ns.iter().min()?, rested_ns.iter().max()?);
    // Every slice after the rest is faster than every slice before.
    let is_separated = *slowest as f64 * STEP < *fastest as f64;
    Some(Again {
        at_once,
        rest_ns: retried.rest_ns,
        rested,
        slow_at_once: at_once.rate_bytes_per_s < slow_below,
        back_after_rest: is_separated && rested.rate_bytes_per_s > slow_below,
    })
}
