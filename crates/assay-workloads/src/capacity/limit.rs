//! Detection limits of a capacity check.

use assay_load::{BLOCK_BYTES, CapacityOutcome};
use serde::{Deserialize, Serialize};

/// Detection limits of a check that found nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DetectionLimit {
    /// Scattered lost bytes that would have been detected with 95% probability.
    pub scattered_95_bytes: u64,
    /// The same with 99.9%.
    pub scattered_999_bytes: u64,
    /// Bytes with a lost second write that would have been detected with 95% probability; `None` if nothing was written
    /// twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrites_95_bytes: Option<u64>,
    /// Contiguous lost bytes that would certainly have been detected.
    pub stretch_bytes: u64,
    /// Whether a device that wraps around would certainly have been detected.
    pub wraps: bool,
    /// Bytes transferred between the write and the read of a block: a cache of this size may have served it.
    pub cache_bytes: u64,
    /// Bytes written: a device that stores any subset of this size was not detected.
    pub written_bytes: u64,
}

impl DetectionLimit {
    /// Detection limits of a check.
    ///
    /// Of `n` blocks, one in each of `n` equal stretches, none was wrong; blocks of the zone do not count here. With a
    /// share `p` of wrong blocks, this has a probability of at most `(1 - p)^n`: the product of `1 - p_i` over
    /// stretches with mean `p` is largest if all are equal.
    pub fn from_outcome(outcome: &CapacityOutcome, in_free_space: bool) -> Self {
        let (looked_at, claimed) = (of_sample(outcome).max(1), outcome.claimed_bytes);
        let blocks = claimed / BLOCK_BYTES;
        let missed_of = |looked_at: u64, chance: f64| {
            if looked_at >= blocks {
                return 0;
            }
            let share = 1.0 - chance.powf(1.0 / looked_at as f64);
            (share * claimed as f64).ceil() as u64
        };
        let missed = |chance| missed_of(looked_at, chance);
        let rewritten = Some(outcome.rewritten).filter(|blocks| *blocks > 0);
        let (gap, zone) = (outcome.widest_gap_bytes, outcome.zone_bytes);
        Self {
            scattered_95_bytes: missed(0.05),
            scattered_999_bytes: missed(0.001),
            rewrites_95_bytes: rewritten.map(|rewritten| missed_of(rewritten, 0.05)),
            stretch_bytes: if looked_at >= blocks { BLOCK_BYTES } else { gap + BLOCK_BYTES },
            // The file system places a file: then only a full check detects wrapping.
            wraps: looked_at >= blocks || (!in_free_space && gap <= zone && !outcome.cut_short),
            cache_bytes: outcome.between_bytes,
            written_bytes: outcome.written.0,
        }
    }
}

pub(super) fn of_sample(outcome: &CapacityOutcome) -> u64 {
    let all = outcome.first.all();
    match outcome.sampled.all() {
        _ if outcome.shape.full => all,
        // Older versions counted them together.
        0 => all.min(outcome.samples),
        sampled => sampled,
    }
}
