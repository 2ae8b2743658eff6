//! Compares a block with its possible contents.

use super::marks::Written;
use super::stamp::{
    Generation, MOST_FLIPPED, SECTOR, SectorContent, WriteStamp, flipped_in_head, read_stamp,
};
use super::standing::ExpectedData;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Data of another address.
    Misplaced,
    /// Parts of different writes, one of them completed.
    Torn,
    Zeroed,
    Flipped,
    /// An older write: the last one was lost.
    Stale,
    /// Data of no write of the run: from before it, or of another writer.
    Foreign,
    Unreadable,
}

// In the order of reports.
names!(
    Fault: Torn = "torn",
    Stale = "stale",
    Misplaced = "misplaced",
    Zeroed = "zeroed",
    Flipped = "flipped",
    Foreign = "foreign",
    Unreadable = "unreadable",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stood {
    pub thread: u32,
    /// Number of the operation in the stream of the thread, from 0.
    pub operation: u64,
    /// Its address, bytes from the start of the target.
    pub of_bytes: u64,
}

impl Stood {
    pub(super) fn new(generation: Generation, of_bytes: u64) -> Self {
        Self { thread: generation.thread, operation: generation.index, of_bytes }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongData {
    /// Its first wrong sector, bytes from the start of the target.
    pub at_bytes: u64,
    pub fault: Fault,
    /// Expected write; `None` if the run needs none there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Stood>,
    /// Found write, if it has a stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Stood>,
    /// Minimum number of flipped bits, if these are the only fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The run needs no data there, and there is nothing wrong.
    Untouched,
    Sound,
    /// A write without a confirmed end.
    Late,
    Wrong(WrongData),
}

/// Classification of a sector, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sector {
    Untouched,
    Right,
    Late,
    /// Complete, but of a write that was overwritten, or of an unknown one.
    Foreign,
    Stale,
    Flipped(u32),
    Zero,
    Torn,
    Misplaced,
}

pub(super) struct Judge<'a> {
    pub written: &'a Written,
    pub seed: u64,
    pub contents: &'a ExpectedData,
}

impl Judge<'_> {
    /// Classifies a block by its worst sector; reports the first such sector.
    pub fn judge_block(&self, bytes: &[u8], address: u64) -> Block {
        let expected = self.contents.expected(address);
        let mut worst = Sector::Untouched;
        let (mut is_right, mut bits) = (false, 0);
        // The first one of the worst sectors.
        let mut reported: Option<(u64, Option<Stood>)> = None;
        for (sector, at) in bytes.chunks_exact(SECTOR).zip((address..).step_by(SECTOR)) {
            let (seen, named_write) = self.judge_sector(sector, at, address, expected);
            is_right |= matches!(seen, Sector::Right | Sector::Late);
            if let Sector::Flipped(flipped_bits) = seen {
                bits += flipped_bits;
            }
            if seen > Sector::Late && (reported.is_none() || seen > worst) {
                reported = Some((at, named_write));
            }
            worst = worst.max(seen);
        }
        let fault = match worst {
            Sector::Untouched => return Block::Untouched,
            Sector::Right => return Block::Sound,
            Sector::Late => return Block::Late,
            Sector::Misplaced => Fault::Misplaced,
            Sector::Torn => Fault::Torn,
            Sector::Zero => Fault::Zeroed,
            Sector::Flipped(_) => Fault::Flipped,
            // Other sectors of the block are right.
            Sector::Stale | Sector::Foreign if is_right => Fault::Torn,
            Sector::Stale => Fault::Stale,
            Sector::Foreign => Fault::Foreign,
        };
        let (at_bytes, found) = reported.unwrap_or((address, None));
        Block::Wrong(WrongData {
            at_bytes,
            fault,
            expected: expected.map(|generation| Stood::new(generation, address)),
            found,
            bits: (fault == Fault::Flipped).then_some(bits),
        })
    }

    /// Classifies a sector; also returns the write that its stamp names, if this run stamped it.
    fn judge_sector(
        &self,
        sector: &[u8],
        at: u64,
        block: u64,
        expected: Option<Generation>,
    ) -> (Sector, Option<Stood>) {
        let SectorContent::Stamped { stamp, wrong_bits } = read_stamp(sector) else {
            return (self.judge_unstamped(sector, at, expected), None);
        };
        let is_of_run = (stamp.run, stamp.seed) == (self.written.run, self.seed);
        if !is_of_run {
            // Data of an earlier run may be incomplete if this run wrote nothing there.
            let seen = if expected.is_some() { Sector::Stale } else { Sector::Untouched };
            return (seen, None);
        }
        let named_write = Some(Stood::new(stamp.generation, stamp.address));
        if stamp.address != at {
            return (Sector::Misplaced, named_write);
        }
        if wrong_bits > MOST_FLIPPED {
            return (Sector::Torn, named_write);
        }
        if wrong_bits > 0 {
            return (Sector::Flipped(wrong_bits), named_write);
        }
        (self.judge_intact(&stamp, block, expected), named_write)
    }

    /// Classifies a sector with a complete stamp of this run at the right address.
    fn judge_intact(&self, stamp: &WriteStamp, block: u64, expected: Option<Generation>) -> Sector {
        if self.contents.may_contain(block, stamp.generation) {
            return Sector::Right;
        }
        if self.written.may_be_unconfirmed(stamp.generation) {
            return Sector::Late;
        }
        if expected.is_some() { Sector::Stale } else { Sector::Foreign }
    }

    /// Classifies a sector without a readable stamp.
    fn judge_unstamped(&self, sector: &[u8], at: u64, expected: Option<Generation>) -> Sector {
        if expected.is_none() {
            return Sector::Untouched;
        }
        if sector.iter().all(|byte| *byte == 0) {
            return Sector::Zero;
        }
        match flipped_in_head(sector, self.written.run, self.seed, at) {
            Some(bits) => Sector::Flipped(bits),
            None => Sector::Foreign,
        }
    }
}
