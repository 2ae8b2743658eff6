//! Looks at capacities as tests of this kind make them up.

use assay_load::{CapacityOutcome, CapacityShape, SeenCounts};

use super::CapacityDetail;

pub(super) const NONE: SeenCounts =
    SeenCounts { as_written: 0, other: 0, zero: 0, foreign: 0, older: 0, flipped: 0, failed: 0 };

/// Outcome of a fast check of 64 GiB with these counts of the first reads, and of the retries of wrong blocks.
pub(super) fn outcome(first: SeenCounts, again: SeenCounts) -> CapacityOutcome {
    CapacityOutcome {
        claimed_bytes: 64 << 30,
        shape: CapacityShape::new(64 << 30, false),
        zone_bytes: 128 << 20,
        samples: first.all(),
        rewritten: 0,
        first,
        sampled: first,
        widest_gap_bytes: 60 << 20,
        between_bytes: 64 << 20,
        again,
        wrong: Vec::new(),
        wraps_after_bytes: None,
        held_bytes: None,
        written: (256 << 20, 100),
        read: (256 << 20, 100),
        zone_write_ns: 1,
        elapsed_ns: 1,
        again_ns: 0,
        cut_short: false,
        note: None,
        refused: None,
        stopped: false,
    }
}

pub(super) fn detail(outcome: CapacityOutcome) -> CapacityDetail {
    CapacityDetail { outcome, in_free_space: false }
}
