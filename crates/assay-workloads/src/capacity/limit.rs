//! What a look would have missed.

use assay_load::{BLOCK_BYTES, CapacityOutcome};
use serde::{Deserialize, Serialize};

/// What a look that found nothing would have found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Bytes that are lost here and there, wherever: so many would have been found with 95%.
    pub scattered_95_bytes: u64,
    /// The same with 99.9%.
    pub scattered_999_bytes: u64,
    /// Bytes whose second write is lost, wherever: so many would have been found with 95%; none where nothing
    /// was written twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrites_95_bytes: Option<u64>,
    /// Bytes in one stretch: so many would surely have been found.
    pub stretch_bytes: u64,
    /// Whether a device that wraps onto its beginning would surely have been found.
    pub wraps: bool,
    /// What was written or read between writing a block and reading it: a cache of this size may have
    /// answered.
    pub cache_bytes: u64,
    /// Bytes that were written: a device that holds any of them, and no more than so many in all, was not
    /// found out.
    pub written_bytes: u64,
}

impl Limit {
    /// That of a look.
    ///
    /// Of `n` blocks, one in each of `n` equal stretches, none was wrong; those of the zone, which are looked at
    /// beside them, count for nothing here. Were a share `p` of all blocks
    /// wrong, wherever they lie, that would have had a chance of `(1 - p)^n` at most: the product of
    /// `1 - p_i` over stretches with the mean `p` is largest where all are equal.
    pub fn of(outcome: &CapacityOutcome, in_free_space: bool) -> Self {
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
            // Where a file lies is the file system's business; then only all of it tells.
            wraps: looked_at >= blocks || (!in_free_space && gap <= zone && !outcome.cut_short),
            cache_bytes: outcome.between_bytes,
            written_bytes: outcome.written.0,
        }
    }
}

/// Blocks of the sample, one of each of equal stretches.
pub(super) fn of_sample(outcome: &CapacityOutcome) -> u64 {
    let all = outcome.first.all();
    match outcome.sampled.all() {
        _ if outcome.shape.full => all,
        // Older versions counted them together.
        0 => all.min(outcome.samples),
        sampled => sampled,
    }
}
