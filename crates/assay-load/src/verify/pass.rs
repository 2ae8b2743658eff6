//! The pass that reads the writes of a run and reports errors.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use super::judge::{Block, Fault, Judge, Stood, WrongData};
use super::marks::Written;
use super::standing::ExpectedData;
use crate::buffer::Buffer;
use crate::capacity::transfer_all;
use crate::check::check;
use crate::pattern::blocks;
use crate::run::entry;
use crate::{EngineKind, Job, LoadError, Poll, Target, clock};
use rustix::fs::{Advice, fadvise};
use rustix::io::pread;
use serde::{Deserialize, Serialize};

/// Bytes per read, if operations were smaller.
const READ_BYTES: u64 = 1 << 20;
/// Blocks per part of the pass: eight bytes each for their possible writes.
const MOST_BLOCKS: u64 = 1 << 22;
const MOST_REPORTED: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCounts {
    #[serde(default, skip_serializing_if = "is_default")]
    pub torn: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stale: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub misplaced: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub zeroed: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub flipped: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub unreadable: u64,
}

fn is_default<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

impl FaultCounts {
    fn count_mut(&mut self, fault: Fault) -> &mut u64 {
        match fault {
            Fault::Torn => &mut self.torn,
            Fault::Stale => &mut self.stale,
            Fault::Misplaced => &mut self.misplaced,
            Fault::Zeroed => &mut self.zeroed,
            Fault::Flipped => &mut self.flipped,
            Fault::Foreign => &mut self.foreign,
            Fault::Unreadable => &mut self.unreadable,
        }
    }

    pub fn count_of(&self, fault: Fault) -> u64 {
        let mut counts = *self;
        *counts.count_mut(fault)
    }

    pub fn all(&self) -> u64 {
        Fault::ALL.iter().fold(0, |sum, fault| sum.saturating_add(self.count_of(*fault)))
    }

    fn add(&mut self, fault: Fault) {
        *self.count_mut(fault) += 1;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    #[serde(with = "crate::digits")]
    pub run: u64,
    pub block_bytes: u64,
    pub read: u64,
    pub intact: u64,
    pub corrupt: FaultCounts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<WrongData>,
    /// Sound blocks with several possible writes, which were in flight at the same time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ambiguous: u64,
    /// Blocks with a write without a confirmed end, if the run was killed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconfirmed: u64,
    /// Operations known to have ended, for a killed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cut_short: bool,
    pub elapsed_ns: u64,
}

impl Verified {
    pub(super) fn blame(&mut self, wrong: WrongData) {
        self.corrupt.add(wrong.fault);
        if self.first.len() < MOST_REPORTED {
            self.first.push(wrong);
        }
    }

    /// Counts a block; `has_several` writes may make it ambiguous.
    fn count_block(&mut self, block: Block, has_several: bool) {
        self.read += 1;
        match block {
            Block::Untouched => {}
            Block::Sound => {
                self.intact += 1;
                self.ambiguous += u64::from(has_several);
            }
            Block::Late => self.unconfirmed += 1,
            Block::Wrong(wrong) => self.blame(wrong),
        }
    }
}

pub(super) struct BlockReader<'a> {
    file: BorrowedFd<'a>,
    buffer: Buffer,
}

impl<'a> BlockReader<'a> {
    /// A pass in pieces of this size; drops the cached range if the kernel can.
    pub fn new(
        target: &Target<'a>,
        piece_bytes: u64,
        range: &Range<u64>,
    ) -> Result<Self, LoadError> {
        let Some(file) = target.file else {
            return Err(LoadError::Invalid("verification needs a file or a device".to_owned()));
        };
        let buffer = Buffer::new(1, piece_bytes as u32, target.memory_alignment)
            .map_err(|source| LoadError::Setup { what: "a buffer", source })?;
        let length = NonZeroU64::new(range.end.saturating_sub(range.start));
        // If this fails, reads may come from the page cache.
        let _ = fadvise(file, range.start, length, Advice::DontNeed);
        Ok(Self { file, buffer })
    }

    pub fn read(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let (file, bytes) = (self.file, &mut self.buffer.slot_mut(0)[..length]);
        transfer_all(length, offset, |left, at| pread(file, &mut bytes[length - left..], at))?;
        Ok(bytes)
    }
}

/// Reads all blocks that the run of a job may have written, and reports errors. Nothing else may write there meanwhile.
///
/// # Errors
/// The job is invalid or wrote no stamps, there is no file, or not enough memory.
pub fn verify(
    job: &Job,
    written: &Written,
    target: &Target<'_>,
    stop: &AtomicBool,
) -> Result<Verified, LoadError> {
    if job.verify.is_none() {
        return Err(LoadError::Invalid("the written data has no stamps".to_owned()));
    }
    // The job may come from an imported result. This pass reads with plain calls, without the polling of its run.
    let (engine, plain_job) = (EngineKind::Psync, Job { poll: Poll::None, ..job.clone() });
    check(&plain_job, &engine, entry(&engine)?, target)?;
    let began_ns = clock::monotonic_ns();
    let block_bytes = u64::from(job.size_bytes);
    let (start, block_count) = (job.area.start, blocks(job));
    let blocks_per_read = (READ_BYTES / block_bytes).max(1);
    let mut reader = BlockReader::new(target, blocks_per_read * block_bytes, &job.area)?;
    let mut verified = Verified {
        run: written.run,
        block_bytes,
        settled: (!written.ended).then(|| written.settled()),
        ..Verified::default()
    };
    let mut block = 0;
    'parts: while block < block_count {
        let part_end = block_count.min(block + MOST_BLOCKS);
        let part = start + block * block_bytes..start + part_end * block_bytes;
        // A stop leaves this incomplete; the check below then ends the pass before it is used.
        let contents = ExpectedData::new(job, written, &part, stop);
        let judge = Judge { written, seed: job.seed, contents: &contents };
        while block < part_end {
            if stop.load(Ordering::Relaxed) {
                verified.cut_short = true;
                break 'parts;
            }
            let count = blocks_per_read.min(part_end - block);
            let address = start + block * block_bytes;
            judge.read_blocks(&mut reader, address, count, &mut verified);
            block += count;
        }
    }
    verified.elapsed_ns = clock::monotonic_ns().saturating_sub(began_ns);
    Ok(verified)
}

impl Judge<'_> {
    /// Reads and classifies blocks, one by one if they cannot be read together.
    fn read_blocks(
        &self,
        reader: &mut BlockReader<'_>,
        address: u64,
        count: u64,
        verified: &mut Verified,
    ) {
        let block_bytes = verified.block_bytes as usize;
        let addresses = (address..).step_by(block_bytes).take(count as usize);
        if let Ok(bytes) = reader.read(address, block_bytes * count as usize) {
            for (block, at) in bytes.chunks_exact(block_bytes).zip(addresses) {
                verified.count_block(self.judge_block(block, at), self.contents.has_several(at));
            }
            return;
        }
        for at in addresses {
            let block = match reader.read(at, block_bytes) {
                Ok(block) => self.judge_block(block, at),
                Err(_) => self.judge_unreadable(at),
            };
            verified.count_block(block, self.contents.has_several(at));
        }
    }

    /// An unreadable block is wrong if something was written there.
    fn judge_unreadable(&self, at_bytes: u64) -> Block {
        let Some(expected) = self.contents.expected(at_bytes) else { return Block::Untouched };
        let expected = Some(Stood::new(expected, at_bytes));
        let fault = Fault::Unreadable;
        Block::Wrong(WrongData { at_bytes, fault, expected, found: None, bits: None })
    }
}
