//! One positioned system call per operation.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use super::clear::Clearing;
use super::{buffer, file};
use crate::buffer::Buffer;
use crate::clock::Alarm;
use crate::drive::{Part, Worker, work as drive};
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::{EngineEntry, EngineKind, LoadError, QueueFacts, WriteSync, clock};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2, retry_on_intr};

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "psync",
    summary: "one system call per operation, sequentially in each thread",
    needs_file: true,
    available: || Ok(()),
    standard: EngineKind::Psync,
    work,
};

fn work(worker: &Worker<'_>) -> Result<Option<Part>, LoadError> {
    drive::<Psync<'_>>(worker)
}

pub(super) struct Psync<'a> {
    file: BorrowedFd<'a>,
    buffer: Buffer,
    clearing: Clearing,
    depth: u32,
    waits: bool,
    flags: ReadWriteFlags,
    is_fsync: bool,
    ready: Vec<Completion>,
    /// Nanoseconds of the `fdatasync` after the last write, by slot.
    syncs_ns: Vec<u64>,
    submitted: u64,
    alarm: Alarm,
}

impl Psync<'_> {
    /// Executes a request, with its sync; returns the moved bytes.
    #[inline]
    fn execute(&mut self, request: &Request) -> Result<usize, Errno> {
        let file = self.file;
        let all = request.bytes as usize;
        match request.way {
            Move::Read => {
                let bytes = &mut self.buffer.slot_mut(request.slot)[..all];
                retry_on_intr(|| pread(file, &mut *bytes, request.offset))
            }
            Move::Write => {
                let bytes = &mut self.buffer.slot_mut(request.slot)[..all];
                let written = if self.flags.is_empty() {
                    retry_on_intr(|| pwrite(file, bytes, request.offset))?
                } else {
                    let slices = [IoSlice::new(bytes)];
                    retry_on_intr(|| pwritev2(file, &slices, request.offset, self.flags))?
                };
                let mut sync_ns = 0;
                if request.synced && written == bytes.len() {
                    let began = clock::monotonic_ns();
                    let sync =
                        if self.is_fsync { rustix::fs::fsync } else { rustix::fs::fdatasync };
                    retry_on_intr(|| sync(file))?;
                    sync_ns = (clock::monotonic_ns() - began).max(1);
                }
                self.syncs_ns[request.slot as usize] = sync_ns;
                Ok(written)
            }
            Move::Trim | Move::Zero => {
                self.clearing.run(file, request.way, request.offset, all as u64)?;
                Ok(all)
            }
            Move::Sync => retry_on_intr(|| rustix::fs::fdatasync(file)).map(|()| 0),
        }
    }
}

impl<'a> Engine<'a> for Psync<'a> {
    const ONE_AT_A_TIME: bool = true;

    fn open(setup: &Setup<'a>) -> Result<Self, LoadError> {
        let file = file(setup)?;
        Ok(Self {
            file,
            buffer: buffer(setup)?,
            clearing: Clearing::new(setup.job, file)?,
            depth: setup.job.depth,
            waits: setup.job.waits(),
            flags: setup.job.sync.flags(),
            is_fsync: matches!(setup.job.sync, WriteSync::Fsync(_)),
            ready: Vec::with_capacity(setup.job.depth as usize),
            syncs_ns: vec![0; setup.job.depth as usize],
            submitted: 0,
            alarm: Alarm::new(),
        })
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffer.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            let result = match self.execute(request) {
                Ok(moved) => moved as i32,
                Err(errno) => -errno.raw_os_error(),
            };
            self.ready.push(Completion { slot: request.slot, result });
        }
        self.submitted += requests.len() as u64;
        Ok(())
    }

    #[inline]
    fn complete(&mut self, _: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        into.append(&mut self.ready);
        Ok(())
    }

    #[inline]
    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        if self.ready.is_empty() {
            self.alarm.wait_until(deadline_ns);
        }
        self.complete(1, into)
    }

    #[inline]
    fn sync_ns(&self, slot: u32) -> u64 {
        self.syncs_ns[slot as usize]
    }

    fn queue(&self) -> QueueFacts {
        QueueFacts { looked_at: self.submitted, already_complete: self.submitted }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.clearing.notes("BLKDISCARD calls");
        if self.depth > 1 {
            notes.push(format!(
                "psync issues one operation at a time per thread, so the device sees queue depth 1 per thread instead \
                 of the requested {}.",
                self.depth
            ));
        }
        notes.extend(self.waits.then(clock::note));
        notes
    }
}
