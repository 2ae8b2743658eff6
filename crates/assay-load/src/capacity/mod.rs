//! Checks the claimed capacity of a target: writes blocks with their address, reads them after writes beyond any cache.
//!
//! There are two passes. The fast one writes a sample of blocks, then a contiguous *zone* at the beginning. Gaps in the
//! sample are at most as long as the zone, so if a device wraps around to its beginning, a sampled block is overwritten
//! by a zone block, whose stamp shows the wrap. The full pass writes everything, then reads everything. Both write some
//! blocks twice to find devices that lose rewrites, and retry wrong blocks before they count.

#[cfg(test)]
mod card_tests;
mod confirm;
mod disk;
mod probe;
mod simulated;
mod stamp;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::{Law, LoadError, Target};
use serde::{Deserialize, Serialize};

pub use disk::set_aside;
pub(crate) use disk::transfer_all;
pub use simulated::{Lie, Store};

pub const BLOCK_BYTES: u64 = 4096;
/// Bytes of one contiguous write or read.
const PIECE_BYTES: u64 = 1 << 20;
const MIB: u64 = 1 << 20;

/// Up to this size all is written: a sample would take as long.
pub const SMALL_BYTES: u64 = 256 * MIB;
/// The zone is this factor times the square root of the size, so sample and zone take equally long.
const ZONE_FACTOR: u64 = 256 << 10;
const SMALLEST_ZONE: u64 = 64 * MIB;
const LARGEST_ZONE: u64 = 1 << 30;
const FEWEST_SAMPLES: u64 = 2048;
/// Number of checked blocks of the zone.
const ZONE_SAMPLES: u64 = 512;
/// Maximum number of rewritten blocks in a full pass; lower for small targets, which finish quickly.
const REWRITES: u64 = 2048;
const FEW_REWRITES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityShape {
    /// Whether the pass covers the whole area.
    pub full: bool,
    /// Bytes of the contiguous zone at the beginning; all in a full pass.
    pub zone_bytes: u64,
    /// Blocks beyond them, drawn one to a stratum; none in a full pass.
    pub samples: u64,
    pub zone_samples: u64,
    /// Number of blocks that are rewritten before the check; 0 in older versions.
    #[serde(default)]
    pub rewrites: u64,
}

impl CapacityShape {
    /// Shape for a target of this size; small targets get a full pass.
    pub fn new(bytes: u64, full: bool) -> Self {
        if full || bytes <= SMALL_BYTES {
            let zone_samples = bytes / BLOCK_BYTES;
            let most = if bytes <= SMALL_BYTES { FEW_REWRITES } else { REWRITES };
            let rewrites = zone_samples.min(most);
            return Self { full: true, zone_bytes: bytes, samples: 0, zone_samples, rewrites };
        }
        let root = (bytes as f64 * ZONE_FACTOR as f64).sqrt() as u64;
        let zone_bytes = (root / MIB * MIB).clamp(SMALLEST_ZONE, LARGEST_ZONE);
        let beyond = (bytes - zone_bytes) / BLOCK_BYTES;
        // Two strata per zone: then the gaps between neighbors are at most as long as the zone.
        let strata = (2 * (bytes - zone_bytes)).div_ceil(zone_bytes);
        let samples = strata.max(FEWEST_SAMPLES).min(beyond);
        Self { full: false, zone_bytes, samples, zone_samples: ZONE_SAMPLES, rewrites: samples }
    }

    /// Returns the bytes of contiguous I/O, and the number of operations on single blocks.
    pub fn costs(&self) -> (u64, u64) {
        if self.full {
            // Rewritten blocks are written and read once more, followed by a spacer.
            let most = if self.rewrites > 0 { 2 * LARGEST_SPACER } else { 0 };
            let spacer = self.zone_bytes.min(most);
            return (2 * self.zone_bytes + spacer, 2 * self.rewrites);
        }
        (self.zone_bytes, 2 * self.samples + self.rewrites + self.zone_samples)
    }
}

/// Maximum bytes written between a block and its check: the zone, up to this size.
const LARGEST_SPACER: u64 = 256 * MIB;

#[derive(Clone, Debug)]
pub struct CapacityJob {
    /// Bytes from its beginning that may be written; whole blocks.
    pub area: Range<u64>,
    pub shape: CapacityShape,
    /// Time limit of the pass; afterwards only the written blocks are checked.
    pub time: Duration,
    /// Seed of the places, and the key of this pass in every block.
    pub seed: u64,
    /// Key of the run in every block: equal in its pilot and all passes.
    pub run: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    AsWritten,
    Other {
        /// Bytes from the beginning of the area to the place that was read.
        at_bytes: u64,
        /// The same to the place that it was written to.
        of_bytes: u64,
    },
    Zero,
    /// Data of before the run.
    Foreign,
    /// An earlier write of this run, in this pass or before: the last write was lost.
    Older,
    Flipped {
        bits: u32,
    },
    /// Nothing: writing or reading it was refused.
    Failed,
}

/// Number of blocks by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCounts {
    pub as_written: u64,
    pub other: u64,
    pub zero: u64,
    pub foreign: u64,
    #[serde(default)]
    pub older: u64,
    pub flipped: u64,
    pub failed: u64,
}

impl SeenCounts {
    pub(crate) fn add(&mut self, seen: Seen) {
        *match seen {
            Seen::AsWritten => &mut self.as_written,
            Seen::Other { .. } => &mut self.other,
            Seen::Zero => &mut self.zero,
            Seen::Foreign => &mut self.foreign,
            Seen::Older => &mut self.older,
            Seen::Flipped { .. } => &mut self.flipped,
            Seen::Failed => &mut self.failed,
        } += 1;
    }

    pub fn wrong(&self) -> u64 {
        self.other + self.zero + self.foreign + self.older + self.flipped + self.failed
    }

    pub fn all(&self) -> u64 {
        self.as_written + self.wrong()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongBlock {
    /// Bytes from the beginning of the area.
    pub at_bytes: u64,
    pub seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityOutcome {
    pub claimed_bytes: u64,
    pub shape: CapacityShape,
    /// Bytes of the contiguous writes; fewer than planned if time ran out.
    pub zone_bytes: u64,
    pub samples: u64,
    /// Blocks among those that were looked at which had been written twice.
    #[serde(default)]
    pub rewritten: u64,
    pub first: SeenCounts,
    /// Results of the sample alone, one block per stretch; all blocks in a full pass.
    #[serde(default)]
    pub sampled: SeenCounts,
    /// The longest gap without a checked block.
    pub widest_gap_bytes: u64,
    /// Minimum number of bytes written between writing a block and reading it, which a cache may hold.
    pub between_bytes: u64,
    /// Results of the retried wrong blocks.
    pub again: SeenCounts,
    /// Some of the blocks that were wrong again.
    pub wrong: Vec<WrongBlock>,
    /// Distance at which addresses repeat, if blocks contained data of other addresses.
    pub wraps_after_bytes: Option<u64>,
    /// Real capacity, if all blocks beyond one address were wrong.
    pub held_bytes: Option<u64>,
    /// Bytes and operations written.
    pub written: (u64, u64),
    pub read: (u64, u64),
    pub zone_write_ns: u64,
    pub elapsed_ns: u64,
    pub again_ns: u64,
    /// Whether the time limit ended it before everything was written or read.
    pub cut_short: bool,
    /// Why the whole area was written instead of a sample.
    pub note: Option<String>,
    /// The first refusal of a write or a read.
    pub refused: Option<String>,
    pub stopped: bool,
}

pub fn capacity(
    job: &CapacityJob,
    target: &Target<'_>,
    law: Option<&Law>,
    stop: &AtomicBool,
) -> Result<CapacityOutcome, LoadError> {
    let bytes = job.area.end.saturating_sub(job.area.start);
    if bytes < 4 * BLOCK_BYTES || !bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(LoadError::Invalid(format!(
            "{bytes} bytes are not a multiple of {BLOCK_BYTES}, or fewer than four blocks"
        )));
    }
    match law {
        Some(law) => {
            probe::run(&mut simulated::SimulatedDisk::new(law, bytes, job.seed)?, job, stop)
        }
        None => probe::run(&mut disk::RealDisk::open(target, job)?, job, stop),
    }
}

/// Returns nanoseconds per contiguous MiB written, and per block written or read, from a few tries.
pub fn capacity_costs(
    job: &CapacityJob,
    target: &Target<'_>,
    law: Option<&Law>,
) -> Result<(u64, u64), LoadError> {
    let bytes = job.area.end.saturating_sub(job.area.start);
    match law {
        Some(law) => probe::costs(&mut simulated::SimulatedDisk::new(law, bytes, job.seed)?, bytes),
        None => probe::costs(&mut disk::RealDisk::open(target, job)?, bytes),
    }
}
