//! A simulated drive that stores writes and may have less capacity than claimed.

use std::collections::BTreeMap;
use std::io;

use super::disk::BlockDisk;
use super::{BLOCK_BYTES, Seen};
use crate::law::LawSampler;
use crate::{Law, LoadError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    Wraps,
    /// Drops writes: reads return the old data.
    Drops,
    Zeroes,
    /// Retains the first write to a block and drops later ones.
    Keeps,
}

names!(Lie: Wraps = "wraps", Drops = "drops", Zeroes = "zeroes", Keeps = "keeps");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    pub claimed_bytes: u64,
    pub held_bytes: u64,
    pub lie: Lie,
}

#[derive(Clone, Copy, Debug)]
struct WrittenPiece {
    count: u64,
    first: u64,
    generation: u32,
}

/// Pieces by address, so one long write needs no more memory than a block.
pub(super) struct SimulatedDisk {
    pieces: BTreeMap<u64, WrittenPiece>,
    /// Number of real blocks; `None` if the claim is true.
    held: Option<u64>,
    lie: Lie,
    sampler: LawSampler,
    operations: u64,
    now_ns: u64,
}

impl SimulatedDisk {
    pub fn new(law: &Law, bytes: u64, seed: u64) -> Result<Self, LoadError> {
        let held = law.store.map(|store| store.held_bytes / BLOCK_BYTES);
        if held == Some(0) {
            return Err(LoadError::Invalid(
                "a simulated drive must have at least one block".to_owned(),
            ));
        }
        Ok(Self {
            pieces: BTreeMap::new(),
            held: held.filter(|held| *held < bytes / BLOCK_BYTES),
            lie: law.store.map_or(Lie::Wraps, |store| store.lie),
            sampler: law.sampler(seed, 0)?,
            operations: 0,
            now_ns: 0,
        })
    }

    /// Advances the clock by one service time.
    fn serve(&mut self) {
        self.now_ns = self.now_ns.saturating_add(self.sampler.service_ns(self.operations));
        self.operations += 1;
    }

    /// Returns the physical block that an address leads to; `None` if writes to it are lost.
    fn physical_block(&self, block: u64) -> Option<u64> {
        match self.held {
            Some(held) if block >= held => match self.lie {
                Lie::Wraps => Some(block % held),
                Lie::Keeps => Some(block),
                Lie::Drops | Lie::Zeroes => None,
            },
            _ => Some(block),
        }
    }

    /// Stores a piece over older ones, which retain their parts before and after it.
    fn store(&mut self, place: u64, piece: WrittenPiece) {
        let end = place + piece.count;
        let before = self.pieces.range(..place).next_back();
        let overlapping = before.filter(|(at, old)| **at + old.count > place);
        let replaced = overlapping.into_iter().chain(self.pieces.range(place..end));
        let replaced: Vec<(u64, WrittenPiece)> = replaced.map(|(at, old)| (*at, *old)).collect();
        for (at, old) in replaced {
            self.pieces.remove(&at);
            let old_end = at + old.count;
            if at < place {
                self.pieces.insert(at, WrittenPiece { count: place - at, ..old });
            }
            if old_end > end {
                let rest =
                    WrittenPiece { count: old_end - end, first: old.first + (end - at), ..old };
                self.pieces.insert(end, rest);
            }
        }
        self.pieces.insert(place, piece);
    }

    /// Stores the first write of each block; later ones are lost.
    fn store_first_writes(&mut self, blocks: std::ops::Range<u64>, generation: u32) {
        for block in blocks {
            let before = self.pieces.range(..=block).next_back();
            if before.is_none_or(|(at, piece)| at + piece.count <= block) {
                self.pieces.insert(block, WrittenPiece { count: 1, first: block, generation });
            }
        }
    }

    /// Returns what a read of a block finds, compared with a write of this generation.
    fn classify(&self, block: u64, generation: u32) -> Seen {
        let Some(place) = self.physical_block(block) else {
            return if self.lie == Lie::Zeroes { Seen::Zero } else { Seen::Foreign };
        };
        let found = self.pieces.range(..=place).next_back();
        let Some((at, piece)) = found.filter(|(at, piece)| *at + piece.count > place) else {
            return Seen::Foreign;
        };
        let address = piece.first + (place - at);
        if address != block {
            return Seen::Other { at_bytes: block * BLOCK_BYTES, of_bytes: address * BLOCK_BYTES };
        }
        if piece.generation == generation { Seen::AsWritten } else { Seen::Older }
    }
}

impl BlockDisk for SimulatedDisk {
    fn write(&mut self, block: u64, count: u64, generation: u32) -> io::Result<()> {
        self.serve();
        let (mut first, mut end) = (block, block + count);
        if self.lie == Lie::Keeps
            && let Some(held) = self.held
        {
            // Blocks beyond the real capacity retain their first write.
            self.store_first_writes(first.max(held)..end, generation);
            end = end.min(held);
        }
        while first < end {
            let place = self.physical_block(first);
            // Blocks are contiguous up to the wrap.
            let until = match self.held {
                Some(held) if first < held || self.lie == Lie::Wraps => {
                    end.min((first / held + 1) * held)
                }
                _ => end,
            };
            if let Some(place) = place {
                self.store(place, WrittenPiece { count: until - first, first, generation });
            }
            first = until;
        }
        Ok(())
    }

    fn read(
        &mut self,
        block: u64,
        count: u64,
        generation: u32,
        into: &mut Vec<Seen>,
    ) -> io::Result<()> {
        self.serve();
        into.extend((block..block + count).map(|block| self.classify(block, generation)));
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_aside(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn may_fill_up(&self) -> bool {
        false
    }
}
