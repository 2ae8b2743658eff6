//! Whether a target holds what it says: blocks that say where they belong are written, and read again
//! after so much else was written that no cache answers for the medium.
//!
//! Two passes find a lie. Of the fast one each block is one of a sample, and a *zone* at the beginning is
//! written in one piece after them: neighbours in the sample are no further apart than the zone is long, so
//! that wherever a device begins to wrap onto its beginning, one of them falls onto the zone, and is
//! overwritten by what says where it belongs. The full one writes everything, then reads everything. Blocks
//! of a sample are written twice, so that a device that loses a second write is found. What either finds is
//! tried once more before it counts.

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

use serde::{Deserialize, Serialize};

use crate::{Law, LoadError, Target};

pub use disk::set_aside;
pub use simulated::{Lie, Store};

/// Bytes of a block: what is written and looked at in one.
pub const BLOCK_BYTES: u64 = 4096;
/// Bytes written or read at once where blocks lie in one piece.
const PIECE_BYTES: u64 = 1 << 20;
const MIB: u64 = 1 << 20;

/// Up to this size all is written: a sample would take as long.
pub const SMALL_BYTES: u64 = 256 * MIB;
/// The zone is this times the root of the size, so that sample and zone take equally long.
const ZONE_FACTOR: u64 = 256 << 10;
const SMALLEST_ZONE: u64 = 64 * MIB;
const LARGEST_ZONE: u64 = 1 << 30;
/// Blocks of a sample at least.
const FEWEST_SAMPLES: u64 = 2048;
/// Blocks of the zone that are looked at.
const ZONE_SAMPLES: u64 = 512;
/// Blocks that a full pass writes twice, at most: of what is small fewer, so that it stays quick.
const REWRITES: u64 = 2048;
const FEW_REWRITES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityShape {
    /// Whether all of it is written and read.
    pub full: bool,
    /// Bytes at the beginning that are written in one piece; all of them in a full pass.
    pub zone_bytes: u64,
    /// Blocks beyond them, drawn one to a stratum; none in a full pass.
    pub samples: u64,
    /// Blocks of the zone that are looked at.
    pub zone_samples: u64,
    /// Blocks that are written twice before they are looked at; none by versions that did not.
    #[serde(default)]
    pub rewrites: u64,
}

impl CapacityShape {
    /// That of so many bytes; what is small is gone through in full.
    pub fn of(bytes: u64, full: bool) -> Self {
        if full || bytes <= SMALL_BYTES {
            let zone_samples = bytes / BLOCK_BYTES;
            let most = if bytes <= SMALL_BYTES { FEW_REWRITES } else { REWRITES };
            let rewrites = zone_samples.min(most);
            return Self { full: true, zone_bytes: bytes, samples: 0, zone_samples, rewrites };
        }
        let root = (bytes as f64 * ZONE_FACTOR as f64).sqrt() as u64;
        let zone_bytes = (root / MIB * MIB).clamp(SMALLEST_ZONE, LARGEST_ZONE);
        let beyond = (bytes - zone_bytes) / BLOCK_BYTES;
        // Two strata to a zone: then no two neighbours are further apart than the zone is long.
        let strata = (2 * (bytes - zone_bytes)).div_ceil(zone_bytes);
        let samples = strata.max(FEWEST_SAMPLES).min(beyond);
        Self { full: false, zone_bytes, samples, zone_samples: ZONE_SAMPLES, rewrites: samples }
    }

    pub fn costs(&self) -> (u64, u64) {
        if self.full {
            // What is written twice is written and read once more, and then written over elsewhere.
            let most = if self.rewrites > 0 { 2 * LARGEST_SPACER } else { 0 };
            let spacer = self.zone_bytes.min(most);
            return (2 * self.zone_bytes + spacer, 2 * self.rewrites);
        }
        (self.zone_bytes, 2 * self.samples + self.rewrites + self.zone_samples)
    }
}

/// Bytes that are written between a block and reading it again: those of the zone, up to so many.
const LARGEST_SPACER: u64 = 256 * MIB;

#[derive(Clone, Debug)]
pub struct CapacityJob {
    /// Bytes from its beginning that may be written; whole blocks.
    pub area: Range<u64>,
    pub shape: CapacityShape,
    /// Time after which what was written so far is looked at.
    pub time: Duration,
    /// Seed of the places, and the key of this pass in every block.
    pub seed: u64,
    /// The key of the run in every block: its pilot and all of its passes have the same.
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
    /// What lay there before, or what this run never wrote.
    Foreign,
    /// What this run wrote there another time, in this pass or before it: the last write was lost.
    Older,
    Flipped {
        bits: u32,
    },
    /// Nothing: writing or reading it was refused.
    Failed,
}

/// Blocks by what they were found to hold.
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

/// A block that did not hold what was written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongBlock {
    /// Bytes from the beginning of the area.
    pub at_bytes: u64,
    pub seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityOutcome {
    /// Bytes of the area: what the target says that it holds.
    pub claimed_bytes: u64,
    pub shape: CapacityShape,
    /// Bytes that were written in one piece; fewer than planned where the time was over.
    pub zone_bytes: u64,
    /// Blocks beyond them that were written.
    pub samples: u64,
    /// Blocks among those that were looked at which had been written twice.
    #[serde(default)]
    pub rewritten: u64,
    pub first: SeenCounts,
    /// The same of the sample alone, one block of each of so many equal stretches; all of a full pass.
    #[serde(default)]
    pub sampled: SeenCounts,
    /// The widest stretch of which no block was looked at.
    pub widest_gap_bytes: u64,
    /// The least written between writing a block and reading it, which a cache may hold.
    pub between_bytes: u64,
    /// What those of the wrong blocks held that were written and read once more.
    pub again: SeenCounts,
    /// Some of them that were wrong again.
    pub wrong: Vec<WrongBlock>,
    /// The distance after which addresses repeat, where blocks held what was written elsewhere.
    pub wraps_after_bytes: Option<u64>,
    /// From where on nothing is held, where all beyond one place was wrong.
    pub held_bytes: Option<u64>,
    /// Bytes and operations written.
    pub written: (u64, u64),
    pub read: (u64, u64),
    /// Nanoseconds of what was written in one piece.
    pub zone_write_ns: u64,
    pub elapsed_ns: u64,
    /// Nanoseconds of it that went into trying again.
    pub again_ns: u64,
    /// Whether the time ended it before all was written or read.
    pub cut_short: bool,
    /// Why a sample was not enough, where all was written instead.
    pub note: Option<String>,
    /// The first refusal of a write or a read.
    pub refused: Option<String>,
    pub stopped: bool,
}

/// Looks at what a target holds, or at what a simulated one says of itself.
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
    let Some(law) = law else {
        let mut disk = disk::Real::open(target, job)?;
        return probe::run(&mut disk, job, stop);
    };
    let mut disk = simulated::Simulated::new(law, bytes, job.seed)?;
    probe::run(&mut disk, job, stop)
}

/// What writing one MiB in one piece, and one block somewhere with reading it, costs on a target:
/// nanoseconds of each, tried a few times at the beginning of an area.
pub fn capacity_costs(
    job: &CapacityJob,
    target: &Target<'_>,
    law: Option<&Law>,
) -> Result<(u64, u64), LoadError> {
    let bytes = job.area.end.saturating_sub(job.area.start);
    match law {
        Some(law) => probe::costs(&mut simulated::Simulated::new(law, bytes, job.seed)?, bytes),
        None => probe::costs(&mut disk::Real::open(target, job)?, bytes),
    }
}
