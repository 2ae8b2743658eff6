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
    /// Detection limits of a check. None of `n` blocks, one in each of `n` equal stretches, was wrong, without the zone.
    /// With a share `p` of wrong blocks, this has a probability of at most `(1 - p)^n`: the product of `1 - p_i` over
    /// stretches with mean `p` is largest if all are equal.
    pub fn from_outcome(outcome: &CapacityOutcome, in_free_space: bool) -> Self {
        let sampled = sampled_blocks(outcome).max(1);
        let blocks = outcome.claimed_bytes / BLOCK_BYTES;
        // Bytes that `count` tested blocks miss with this chance: solves `(1 - share)^count = chance` for the share.
        let missed = |count: u64, chance: f64| {
            if count >= blocks {
                return 0;
            }
            let share = 1.0 - chance.powf(1.0 / count as f64);
            (share * outcome.claimed_bytes as f64).ceil() as u64
        };
        let rewritten = Some(outcome.rewritten).filter(|blocks| *blocks > 0);
        // The widest gap between tested blocks, and the contiguous bytes written at the beginning.
        let (gap, zone) = (outcome.widest_gap_bytes, outcome.zone_bytes);
        Self {
            scattered_95_bytes: missed(sampled, 0.05),
            scattered_999_bytes: missed(sampled, 0.001),
            rewrites_95_bytes: rewritten.map(|rewritten| missed(rewritten, 0.05)),
            stretch_bytes: if sampled >= blocks { BLOCK_BYTES } else { gap + BLOCK_BYTES },
            // The file system places a file: then only a full check detects wrapping.
            wraps: sampled >= blocks || (!in_free_space && gap <= zone && !outcome.cut_short),
            cache_bytes: outcome.between_bytes,
            written_bytes: outcome.written.0,
        }
    }
}

/// Number of blocks that count as a sample of the whole target; in a full check all of them.
pub(super) fn sampled_blocks(outcome: &CapacityOutcome) -> u64 {
    let all = outcome.first.all();
    if outcome.shape.full {
        return all;
    }
    match outcome.sampled.all() {
        // Older versions counted the blocks of sample and zone together.
        0 => all.min(outcome.samples),
        sampled => sampled,
    }
}
