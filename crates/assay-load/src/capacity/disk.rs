//! Access to the probed target: writing and reading stamped blocks.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::stamp::{self, Stamp};
use super::{BLOCK_BYTES, CapacityJob, PIECE_BYTES, Seen};
use crate::buffer::Buffer;
use crate::random::mix64;
use crate::{LoadError, Target, clock};
use rustix::fs::{Advice, FallocateFlags, FileType, fadvise, fallocate, fdatasync, fstat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

pub(super) trait BlockDisk {
    /// Writes consecutive blocks, at most one piece.
    fn write(&mut self, block: u64, count: u64, generation: u32) -> io::Result<()>;

    /// Reads consecutive blocks and classifies each one.
    fn read(
        &mut self,
        block: u64,
        count: u64,
        generation: u32,
        into: &mut Vec<Seen>,
    ) -> io::Result<()>;

    /// Flushes the writes to the medium and drops them from the page cache.
    fn settle(&mut self) -> io::Result<()>;

    /// Preallocates the whole area; fails if that is required and impossible.
    fn set_aside(&mut self) -> Result<(), String>;

    fn now_ns(&self) -> u64;

    /// Returns whether the target may have less space than claimed, like a file.
    fn may_fill_up(&self) -> bool;
}

pub(super) struct RealDisk<'a> {
    file: BorrowedFd<'a>,
    buffer: Buffer,
    start: u64,
    bytes: u64,
    /// Keys of the run and of this pass.
    keys: [u64; 2],
    is_file: bool,
}

impl<'a> RealDisk<'a> {
    pub fn open(target: &Target<'a>, job: &CapacityJob) -> Result<Self, LoadError> {
        let Some(file) = target.file else {
            return Err(LoadError::Invalid("capacity needs a file or a device".to_owned()));
        };
        let setup = |what| move |source| LoadError::Setup { what, source };
        let alignment = target.memory_alignment.max(BLOCK_BYTES as usize);
        let buffer = Buffer::new(1, PIECE_BYTES as u32, alignment).map_err(setup("a buffer"))?;
        let status = fstat(file).map_err(io::Error::from).map_err(setup("the target"))?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        let (start, bytes) = (job.area.start, job.area.end - job.area.start);
        let keys = [job.run, job.seed].map(mix64);
        Ok(Self { file, buffer, start, bytes, keys, is_file })
    }

    fn stamp(&self, block: u64, generation: u32) -> Stamp {
        let [run, pass] = self.keys;
        Stamp { run, pass, address: block * BLOCK_BYTES, generation }
    }
}

pub fn set_aside(file: BorrowedFd<'_>, area: &Range<u64>) -> Result<(), String> {
    let length = area.end.saturating_sub(area.start);
    retry_on_intr(|| fallocate(file, FallocateFlags::empty(), area.start, length))
        .map_err(|error| io::Error::from(error).to_string())
}

/// Calls `transfer` with the remaining bytes and their offset until all are moved.
pub(crate) fn transfer_all(
    mut left: usize,
    mut offset: u64,
    mut transfer: impl FnMut(usize, u64) -> Result<usize, Errno>,
) -> io::Result<()> {
    while left > 0 {
        let moved = retry_on_intr(|| transfer(left, offset))?;
        if moved == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= moved.min(left);
        offset += moved as u64;
    }
    Ok(())
}

impl BlockDisk for RealDisk<'_> {
    fn write(&mut self, block: u64, count: u64, generation: u32) -> io::Result<()> {
        let (length, offset) = ((count * BLOCK_BYTES) as usize, self.start + block * BLOCK_BYTES);
        let (file, stamp) = (self.file, self.stamp(block, generation));
        let bytes = &mut self.buffer.slot_mut(0)[..length];
        stamp::fill(bytes, stamp);
        transfer_all(length, offset, |left, at| pwrite(file, &bytes[length - left..], at))
    }

    fn read(
        &mut self,
        block: u64,
        count: u64,
        generation: u32,
        into: &mut Vec<Seen>,
    ) -> io::Result<()> {
        let (length, offset) = ((count * BLOCK_BYTES) as usize, self.start + block * BLOCK_BYTES);
        let (file, first) = (self.file, self.stamp(block, generation));
        let bytes = &mut self.buffer.slot_mut(0)[..length];
        transfer_all(length, offset, |left, at| pread(file, &mut bytes[length - left..], at))?;
        let addresses = (first.address..).step_by(BLOCK_BYTES as usize);
        for (block, address) in bytes.chunks_exact(BLOCK_BYTES as usize).zip(addresses) {
            into.push(stamp::classify_block(block, Stamp { address, ..first }));
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        retry_on_intr(|| fdatasync(self.file))?;
        // With direct I/O the page cache is empty; if the kernel does not drop pages, the caller's check reports that.
        let _ = fadvise(self.file, self.start, NonZeroU64::new(self.bytes), Advice::DontNeed);
        Ok(())
    }

    fn set_aside(&mut self) -> Result<(), String> {
        if !self.is_file {
            return Ok(());
        }
        set_aside(self.file, &(self.start..self.start + self.bytes))
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn may_fill_up(&self) -> bool {
        self.is_file
    }
}
