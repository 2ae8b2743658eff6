//! Why a rate fell, as far as it shows: places of the beginning are written once more, at once and after a
//! rest.
//!
//! A fast cache that is full is slow wherever is written, and has room again after a rest. A disk is slow
//! where its tracks are short, and so fast at its beginning at once. A neighbour who takes the device away
//! comes and goes by himself: that he goes during the rest, and stays away, is as rare as the rest is short.

use serde::{Deserialize, Serialize};

use super::SustainedDetail;
use super::judge::{Course, Rated, STEP, rated};

/// Slices after the rest that are looked at: what a short rest makes room for is little.
const RESTED: usize = 4;
/// With fewer of either kind, a perfect separation by chance has a probability above 1 in 56.
const FEWEST_AT_ONCE: usize = 5;
const FEWEST_RESTED: usize = 3;

/// Places of the beginning, written once more after the rate had fallen, as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// Bytes of a slice: fewer than before, so that slow ones are as many.
    pub slice_bytes: u64,
    pub at_once_ns: Vec<u64>,
    pub rest_ns: u64,
    pub rested_ns: Vec<u64>,
}

/// What that showed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Again {
    /// The rate at once.
    pub at_once: Rated,
    /// Nanoseconds of the rest.
    pub rest_ns: u64,
    /// The rate after it.
    pub rested: Rated,
    /// Whether it was slow at once: nearer to the rate after the fall than to that before it.
    pub slow_at_once: bool,
    /// Whether each slice after the rest was faster than all before it, by a quarter, and they were nearer
    /// to the rate before the fall.
    pub back_after_rest: bool,
}

impl Again {
    /// Whether both speak for a cache that was full.
    pub const fn is_cache(&self) -> bool {
        self.slow_at_once && self.back_after_rest
    }
}

/// What writing again showed of a fall; none where nothing was written again, or too little.
pub(super) fn again(detail: &SustainedDetail, course: &Course) -> Option<Again> {
    let (retried, fall) = (detail.retried.as_ref()?, course.fall()?);
    let first = course.levels.first()?.rate_bytes_per_s;
    let between = (first * fall.rate_bytes_per_s).sqrt();
    let rested_ns = &retried.rested_ns[..retried.rested_ns.len().min(RESTED)];
    let at_once_ns = &retried.at_once_ns;
    if at_once_ns.len() < FEWEST_AT_ONCE || rested_ns.len() < FEWEST_RESTED {
        return None;
    }
    let at_once = rated(retried.slice_bytes, at_once_ns)?;
    let rested = rated(retried.slice_bytes, rested_ns)?;
    let (fastest, slowest) = (at_once_ns.iter().min()?, rested_ns.iter().max()?);
    let apart = *slowest as f64 * STEP < *fastest as f64;
    Some(Again {
        at_once,
        rest_ns: retried.rest_ns,
        rested,
        slow_at_once: at_once.rate_bytes_per_s < between,
        back_after_rest: apart && rested.rate_bytes_per_s > between,
    })
}
