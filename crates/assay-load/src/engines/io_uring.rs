//! The kernel's submission and completion rings.

mod entrance;
#[cfg(test)]
mod full;
mod polling;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use self::entrance::Entrance;
use super::clear::{self, Clearing};
use super::{buffer, file};
use crate::buffer::Buffer;
use crate::clock::Alarm;
use crate::drive::{Part, Worker, work as drive};
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::{EngineEntry, EngineKind, LoadError, Poll, QueueFacts, WriteSync, clock};
use io_uring::squeue::Flags;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{Builder, Probe, cqueue, opcode, squeue, types};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "io_uring",
    summary: "many operations in flight per thread, through kernel ring buffers",
    needs_file: true,
    available,
    standard: EngineKind::IoUring,
    work,
};

/// One submission in 64 is checked for early completions: cheap enough, yet hundreds of checks per second.
const CHECK_EVERY: u64 = 64;

/// Larger batches are submitted in portions, so the device works on the first one while Assay prepares the next. A
/// batch submitted at once also ends at once, and the device idles in between (about a tenth fewer operations per
/// second at depth 32 on virtio). An idle device gets this many first; each costs a system call, so they grow later.
const FEWEST: usize = 4;

/// No device runs dry for want of more.
const MOST: usize = 64;

/// Pause, and maximum number of pauses, while the kernel is out of memory for new operations.
const PAUSE: Duration = Duration::from_millis(1);
const MOST_PAUSES: u32 = 2_000;

/// Command of a ring for the discard of a block device (`BLOCK_URING_CMD_DISCARD`), from Linux 6.12 on.
const COMMAND_DISCARD: u32 = 0x1200;

/// Bit of the user data that marks the `fdatasync` behind a write.
const SYNC_BIT: u64 = 1 << 32;

fn work(worker: &Worker<'_>) -> Result<Option<Part>, LoadError> {
    drive::<IoUring<'_>>(worker)
}

fn available() -> Result<(), String> {
    let (ring, _) = ring([2, 2]).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel was built without io_uring".to_owned(),
        Some(libc::EPERM | libc::EACCES) => {
            format!("{error}; check sysctl kernel.io_uring_disabled and the seccomp filter")
        }
        Some(libc::ENOMEM) => format!("{error}; raise the limit for locked memory (ulimit -l)"),
        _ => format!("cannot create a ring: {error}"),
    })?;
    let mut probe = Probe::new();
    let known = ring.submitter().register_probe(&mut probe).is_ok();
    if known && probe.is_supported(opcode::Read::CODE) && probe.is_supported(opcode::Write::CODE) {
        Ok(())
    } else {
        Err("this kernel is older than 5.6 and lacks plain reads and writes".to_owned())
    }
}

/// The only submitting thread runs completions when it waits for them.
fn deferred(builder: &mut Builder) -> &mut Builder {
    builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all()
}

/// A way to set up a ring, and the missing kernel feature if this way is used.
type Attempt = (fn(&mut Builder) -> &mut Builder, Option<&'static str>);

/// Creates a ring with the cheapest supported kind of completions; also returns a note if a feature is missing.
fn ring(entries: [u32; 2]) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let attempts: [Attempt; 4] = [
        (|builder| deferred(builder).setup_no_sqarray(), None),
        // Before Linux 6.6 the kernel looks entries up through an index array, which costs almost nothing.
        (deferred, None),
        (
            |builder| builder.setup_coop_taskrun(),
            Some("the kernel lacks deferred task work (6.1); Assay uses cooperative task work."),
        ),
        (
            |builder| builder,
            Some("the kernel lacks cooperative task work (5.19); Assay uses the default."),
        ),
    ];
    first_supported(&attempts, entries)
}

/// Creates a ring by the first attempt that the kernel supports, and returns its note; `entries` are per queue.
fn first_supported(
    attempts: &[Attempt],
    entries: [u32; 2],
) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let mut refusal = io::Error::from_raw_os_error(libc::EINVAL);
    for &(choose, note) in attempts {
        let mut builder = io_uring::IoUring::builder();
        choose(&mut builder);
        builder.setup_cqsize(entries[1]);
        match builder.build(entries[0]) {
            Ok(ring) => return Ok((ring, note)),
            // An unknown flag is the only refusal that another attempt can cure.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

/// Number of requests in the next portion: as many as pending completion entries, within bounds.
#[inline]
fn portion(outstanding: usize) -> usize {
    outstanding.clamp(FEWEST, MOST)
}

/// The kernel registers no larger region than this.
const LARGEST_REGION: usize = 1 << 30;

/// Which memory the ring knows beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registered {
    Nothing,
    Slots,
    /// All slots as one region; the address selects the slot, so the kernel looks up one entry only.
    Region,
}

impl Registered {
    #[inline]
    fn buffer_index(self, slot: u32) -> Option<u16> {
        match self {
            Self::Nothing => None,
            Self::Slots => Some(slot as u16),
            Self::Region => Some(0),
        }
    }
}

/// How entries refer to file and buffer.
#[derive(Clone, Copy, Debug)]
struct Naming {
    fd: Fd,
    flags: Flags,
    registered: Registered,
    discards: bool,
    sync: WriteSync,
}

impl Naming {
    /// Builds the entry of a request, with the registered file and buffer if possible.
    #[inline]
    fn transfer(self, buffer: &Buffer, request: &Request) -> squeue::Entry {
        let Self { fd, discards, .. } = self;
        let (start, size, at) = (buffer.pointer(request.slot), request.bytes, request.offset);
        let flags = self.sync.flags().bits().cast_signed();
        let entry = match (request.way, self.registered.buffer_index(request.slot)) {
            (Move::Read, Some(number)) => {
                opcode::ReadFixed::new(fd, start, size, number).offset(at).build()
            }
            (Move::Read, None) => opcode::Read::new(fd, start, size).offset(at).build(),
            (Move::Write, Some(number)) => {
                opcode::WriteFixed::new(fd, start, size, number).offset(at).rw_flags(flags).build()
            }
            (Move::Write, None) => {
                opcode::Write::new(fd, start, size).offset(at).rw_flags(flags).build()
            }
            (Move::Trim, _) if discards => discard(fd, at, u64::from(size)),
            (Move::Sync, _) => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            (Move::Trim | Move::Zero, _) => {
                let mode = clear::flags(request.way).bits() as i32;
                opcode::Fallocate::new(fd, u64::from(size)).offset(at).mode(mode).build()
            }
        };
        entry.flags(self.flags).user_data(u64::from(request.slot))
    }

    /// Builds the sync that follows the write of a slot.
    fn data_sync(self, slot: u32) -> squeue::Entry {
        let flags = match self.sync {
            WriteSync::Fsync(_) => FsyncFlags::empty(),
            _ => FsyncFlags::DATASYNC,
        };
        opcode::Fsync::new(self.fd)
            .flags(flags)
            .build()
            .flags(self.flags)
            .user_data(u64::from(slot) | SYNC_BIT)
    }
}

/// What is known of the operation that uses a slot.
#[derive(Clone, Copy, Debug, Default)]
struct UringSlot {
    /// Pending completion entries; 0 if the slot is free.
    pending: u8,
    /// Bytes that the transfer is whole with.
    bytes: u32,
    /// Whether the request transfers no data, so the kernel returns 0 for success.
    clears: bool,
    /// Bytes moved or negated errno of the transfer.
    transfer: i32,
    /// Negated errno of the `fdatasync`, if any.
    sync: i32,
}

pub(super) struct IoUring<'a> {
    ring: io_uring::IoUring,
    entrance: Entrance,
    /// Freed by `drop` only when the kernel has given back every slot.
    buffer: ManuallyDrop<Buffer>,
    slots: Vec<UringSlot>,
    /// Found complete by a look, not yet handed out.
    ready: Vec<Completion>,
    file: BorrowedFd<'a>,
    naming: Naming,
    size: u32,
    clearing: Clearing,
    /// Whether the thread discards synchronously, because the ring lacks the command.
    discards_by_call: bool,
    /// Pending completion entries of all slots.
    outstanding: usize,
    batches: u64,
    /// Calls that failed for lack of kernel memory, and consecutive pauses.
    shortages: u64,
    pauses: u32,
    queue: QueueFacts,
    alarm: Alarm,
    polled: Poll,
    notes: Vec<String>,
}

impl IoUring<'_> {
    /// Registers file and buffer, which the kernel would otherwise look up and pin for each operation.
    fn register(&mut self) {
        let file = self.file.as_raw_fd();
        match self.ring.submitter().register_files(&[file]) {
            Ok(()) => (self.naming.fd, self.naming.flags) = (Fd(0), Flags::FIXED_FILE),
            Err(error) => self.notes.push(format!(
                "io_uring could not register the file ({error}), so the kernel looks it up for \
                 each operation."
            )),
        }
        self.register_buffers(LARGEST_REGION);
    }

    /// Registers the buffers, as one region if it is not larger than `most_bytes`.
    fn register_buffers(&mut self, most_bytes: usize) {
        let (start, bytes) = self.buffer.region();
        let region = [libc::iovec { iov_base: start.cast(), iov_len: bytes }];
        // SAFETY: the slots stay mapped until the ring has no operation left: see `drop`.
        let registered = |vectors: &[_]| unsafe { self.ring.submitter().register_buffers(vectors) };
        if bytes <= most_bytes && registered(&region).is_ok() {
            self.naming.registered = Registered::Region;
            return;
        }
        let length = self.size as usize;
        let slots: Vec<_> = (0..self.slots.len() as u32)
            .map(|slot| libc::iovec { iov_base: self.buffer.pointer(slot).cast(), iov_len: length })
            .collect();
        match registered(&slots) {
            Ok(()) => self.naming.registered = Registered::Slots,
            Err(error) => self.notes.push(format!(
                "io_uring could not register the buffers ({error}), so each operation pins its \
                 buffer; a higher limit for locked memory (ulimit -l) may help."
            )),
        }
    }

    /// Releases file and memory now: the kernel takes down a closed ring later.
    fn unregister(&self) {
        let _ = self.ring.submitter().unregister_buffers();
        let _ = self.ring.submitter().unregister_files();
    }

    /// Queues requests without submitting; runs trims at once if the ring cannot discard.
    #[inline(always)]
    fn push(&mut self, portion: &[Request]) -> io::Result<()> {
        let naming = self.naming;
        // One borrow for all entries: it reads the kernel's index when it begins and publishes ours when it ends.
        let mut queue = self.ring.submission();
        for request in portion {
            let slot = &mut self.slots[request.slot as usize];
            assert!(slot.pending == 0, "slot {} is in flight", request.slot);
            if self.discards_by_call && request.way == Move::Trim {
                *slot = UringSlot::default();
                let result = discard_now(self.clearing, self.file, request);
                self.ready.push(Completion { slot: request.slot, result });
                continue;
            }
            let transfer = naming.transfer(&self.buffer, request);
            let synced = request.synced && request.way == Move::Write;
            let pushed = if synced {
                let pair = [transfer.flags(Flags::IO_LINK), naming.data_sync(request.slot)];
                // SAFETY: the slot is mapped until its completion was seen and used by no one else.
                unsafe { queue.push_multiple(&pair) }
            } else {
                // SAFETY: as above.
                unsafe { queue.push(&transfer) }
            };
            pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
            let entries = 1 + u8::from(synced);
            self.outstanding += usize::from(entries);
            *slot = UringSlot {
                pending: entries,
                bytes: request.bytes,
                clears: matches!(request.way, Move::Trim | Move::Zero),
                ..UringSlot::default()
            };
        }
        Ok(())
    }

    /// Returns whether the ring supports discards, from the error for an empty one.
    fn knows_discards(&self) -> bool {
        // A separate ring, so that a failed try leaves no entries behind.
        let Ok((mut ring, _)) = ring([1, 1]) else { return false };
        let mut probe = Probe::new();
        let has_probe = ring.submitter().register_probe(&mut probe).is_ok();
        if !has_probe || !probe.is_supported(opcode::UringCmd16::CODE) {
            return false;
        }
        let nothing = discard(Fd(self.file.as_raw_fd()), 0, 0);
        // SAFETY: the entry names no memory.
        if unsafe { ring.submission().push(&nothing) }.is_err() || ring.submit_and_wait(1).is_err()
        {
            return false;
        }
        let answer = ring.completion().next();
        answer.is_some_and(|answer| answer.result() == -libc::EINVAL)
    }

    /// Finds out how to discard, and notes how trims and zeroing work.
    fn note_clearing(&mut self) {
        self.discards_by_call = self.clearing.discards() && !self.knows_discards();
        let discards = if self.discards_by_call {
            "one BLKDISCARD call at a time (io_uring discards need Linux 6.12)"
        } else {
            "discard commands (BLOCK_URING_CMD_DISCARD)"
        };
        self.notes.extend(self.clearing.notes(discards));
        if self.clearing.allocates() {
            self.notes
                .push("io_uring passes each fallocate call to a kernel worker thread.".to_owned());
        }
    }

    /// Submits new entries and waits for `wait` completions; entries that the kernel rejects stay queued.
    #[inline(always)]
    fn enter(&mut self, wait: usize) -> io::Result<()> {
        loop {
            match self.entrance.enter(&mut self.ring, wait) {
                Ok(()) => {
                    self.pauses = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_shortage(&error) => return self.wait_out(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the kernel may have memory: for a completion, or a pause if nothing is in flight.
    #[cold]
    fn wait_out(&mut self, shortage: io::Error) -> io::Result<()> {
        self.shortages += 1;
        let queued = self.ring.submission().len();
        if self.outstanding > queued {
            self.pauses = 0;
            return Entrance::await_events(&self.ring, 1);
        }
        self.pauses += 1;
        if self.pauses > MOST_PAUSES {
            return Err(shortage);
        }
        thread::sleep(PAUSE);
        Ok(())
    }

    /// Submits new entries and waits for a completion, with a timeout.
    fn enter_within(&mut self, left_ns: u64) -> io::Result<()> {
        if self.polled == Poll::Iopoll {
            // The kernel would ignore the timeout, so the caller polls until it has passed.
            return self.enter(0);
        }
        let left = Duration::from_nanos(left_ns);
        let result = if self.ring.params().is_feature_ext_arg() {
            let left = types::Timespec::from(left);
            let arguments = types::SubmitArgs::new().timespec(&left);
            self.ring.submitter().submit_with_args(1, &arguments).map(drop)
        } else {
            self.submit_and_poll(left)
        };
        match result {
            Ok(()) => {
                self.pauses = 0;
                Ok(())
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(error) if is_shortage(&error) => self.wait_out(error),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::enter_within`] for kernels before 5.11, which have no timeout argument.
    #[cold]
    fn submit_and_poll(&mut self, left: Duration) -> io::Result<()> {
        self.ring.submit()?;
        let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        // SAFETY: the descriptor belongs to the ring, which stays open during the borrow.
        let ring = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        let mut waited = [PollFd::from_borrowed_fd(ring, PollFlags::IN)];
        poll(&mut waited, Some(&left))?;
        Ok(())
    }

    /// Wakes the kernel's submission thread if there is one; returns whether the kernel has or will take all entries.
    #[inline(always)]
    fn try_hand_over(&mut self) -> io::Result<bool> {
        if self.ring.submission().is_empty() {
            return Ok(true);
        }
        if self.polled == Poll::Sqpoll {
            self.enter(0)?;
            return Ok(true);
        }
        Ok(false)
    }

    #[inline(always)]
    fn collect(&mut self, into: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            self.outstanding -= 1;
            if let Some(completion) = record_entry(&mut self.slots, &entry) {
                into.push(completion);
            }
        }
    }

    /// Submits the last portion and counts operations that completed without waiting for a device.
    fn count_early(&mut self, portion: &[Request]) -> io::Result<()> {
        self.enter(0)?;
        if self.polled == Poll::Sqpoll {
            // The kernel's thread submits asynchronously, so early completions show nothing.
            return Ok(());
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.collect(&mut ready);
        let is_done = |request: &&Request| ready.iter().any(|done| done.slot == request.slot);
        self.queue.looked_at += portion.len() as u64;
        self.queue.already_complete += portion.iter().filter(is_done).count() as u64;
        self.ready = ready;
        Ok(())
    }
}

/// Returns whether the kernel temporarily lacks memory or room for completions.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}

#[inline]
fn discard(fd: Fd, offset: u64, bytes: u64) -> squeue::Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&bytes.to_ne_bytes());
    opcode::UringCmd16::new(fd, COMMAND_DISCARD).addr(Some(offset)).cmd(command).build()
}

/// Discards without the ring; returns the result of an entry.
#[cold]
fn discard_now(clearing: Clearing, file: BorrowedFd<'_>, request: &Request) -> i32 {
    match clearing.run(file, Move::Trim, request.offset, u64::from(request.bytes)) {
        Ok(()) => request.bytes as i32,
        Err(errno) => -errno.raw_os_error(),
    }
}

/// Records one completion entry; returns the operation's completion if the entry was the last one of its slot.
#[inline]
fn record_entry(slots: &mut [UringSlot], entry: &cqueue::Entry) -> Option<Completion> {
    let index = entry.user_data() as u32;
    let slot = slots.get_mut(index as usize)?;
    if entry.user_data() & SYNC_BIT == 0 {
        let has_cleared = slot.clears && entry.result() == 0;
        slot.transfer = if has_cleared { slot.bytes as i32 } else { entry.result() };
    } else {
        slot.sync = entry.result();
    }
    slot.pending -= 1;
    if slot.pending > 0 {
        return None;
    }
    // A failed or short write cancels its `fdatasync`: the write's own result is the cause.
    let is_whole = slot.transfer == slot.bytes as i32;
    let result = if is_whole && slot.sync < 0 { slot.sync } else { slot.transfer };
    Some(Completion { slot: index, result })
}

impl<'a> IoUring<'a> {
    /// Opens an engine whose submission and completion queues have these `entries`.
    fn with_queues(entries: [u32; 2], setup: &Setup<'a>) -> Result<Self, LoadError> {
        let job = setup.job;
        let file = file(setup)?;
        let clearing = Clearing::new(job, file)?;
        let buffer = buffer(setup)?;
        let (ring, note) = polling::ring(job, entries)?;
        let mut engine = Self {
            entrance: polling::entrance(job.poll, &ring),
            ring,
            buffer: ManuallyDrop::new(buffer),
            slots: vec![UringSlot::default(); job.depth as usize],
            ready: Vec::with_capacity(job.depth as usize),
            file,
            naming: Naming {
                fd: Fd(file.as_raw_fd()),
                flags: Flags::empty(),
                registered: Registered::Nothing,
                discards: clearing.discards(),
                sync: job.sync,
            },
            size: job.size_bytes,
            clearing,
            discards_by_call: false,
            outstanding: 0,
            batches: 0,
            shortages: 0,
            pauses: 0,
            queue: QueueFacts::default(),
            alarm: Alarm::new(),
            polled: job.poll,
            notes: note
                .map(str::to_owned)
                .into_iter()
                .chain(polling::note(job.poll))
                .chain(job.waits().then(clock::note))
                .collect(),
        };
        engine.register();
        engine.note_clearing();
        engine.try_polling(job)?;
        Ok(engine)
    }
}

impl<'a> Engine<'a> for IoUring<'a> {
    fn open(setup: &Setup<'a>) -> Result<Self, LoadError> {
        Self::with_queues(polling::entries(setup.job), setup)
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        assert!(self.slots[slot as usize].pending == 0, "slot {slot} is in flight");
        self.buffer.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        self.batches += 1;
        let is_checked = self.batches % CHECK_EVERY == 1;
        let mut rest = requests;
        while !rest.is_empty() {
            // Checked portions have a fixed length; in longer ones the last request would have more time to complete.
            let length = if is_checked { FEWEST } else { portion(self.outstanding) };
            let (batch, others) = rest.split_at(length.min(rest.len()));
            rest = others;
            self.push(batch)?;
            if !rest.is_empty() {
                self.enter(0)?;
            } else if is_checked {
                self.count_early(batch)?;
            }
        }
        // Mostly the last portion is left to `complete`: it submits and waits in one system call.
        Ok(())
    }

    #[inline]
    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        let goal = into.len() + at_least;
        into.append(&mut self.ready);
        loop {
            let wait = if into.len() >= goal {
                if self.try_hand_over()? {
                    return Ok(());
                }
                0
            } else if self.slots.len() == 1 {
                // A write and its `fdatasync` are the only entries: one wake-up is enough.
                self.outstanding
            } else {
                // Each missing operation has at least one entry.
                goal - into.len()
            };
            self.enter(wait)?;
            self.collect(into);
        }
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        let had = into.len();
        into.append(&mut self.ready);
        let wake = self.alarm.next_wake(deadline_ns);
        loop {
            let is_handed_over = self.try_hand_over()?;
            let has_some = into.len() > had;
            if has_some && is_handed_over {
                return Ok(());
            }
            if self.outstanding == 0 {
                self.alarm.wait_until(deadline_ns);
                return Ok(());
            }
            let now = clock::monotonic_ns();
            if now >= deadline_ns && is_handed_over {
                return Ok(());
            }
            // Sleeps until shortly before the deadline, then polls, because sleeps end late.
            let is_asleep = !has_some && now < wake;
            if is_asleep {
                self.enter_within(wake - now)?;
            } else if is_handed_over {
                Entrance::await_events(&self.ring, 0)?;
            } else {
                self.enter(0)?;
            }
            self.collect(into);
            if is_asleep && into.len() == had {
                self.alarm.adapt_spin(wake);
            }
        }
    }

    fn queue(&self) -> QueueFacts {
        self.queue
    }

    fn notes(&self) -> Vec<String> {
        let short = (self.shortages > 0).then(|| {
            format!(
                "the kernel rejected new operations in {} calls (EAGAIN), and Assay resubmitted these operations \
                 later.",
                self.shortages
            )
        });
        self.notes.iter().cloned().chain(short).collect()
    }
}

impl Drop for IoUring<'_> {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        let mut is_entered = true;
        while self.outstanding > 0 && is_entered {
            is_entered = self.enter(1).is_ok();
            self.collect(&mut completions);
        }
        self.entrance.close(&self.ring);
        // While operations are in flight, the kernel may write into the buffer: leak it instead of freeing it.
        if self.outstanding == 0 {
            self.unregister();
            // SAFETY: nothing is in flight, and `drop` runs once.
            unsafe { ManuallyDrop::drop(&mut self.buffer) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;
    use crate::Job;
    use crate::check::tests::job;
    use crate::engines::suite::works;
    use crate::{Mix, Target, WriteSync};

    const SIZE: u32 = 4096;
    const DEPTH: u32 = 4;

    fn memory() -> File {
        let file = File::from(memfd_create("assay-load-ring", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(u64::from(DEPTH * SIZE)).unwrap();
        file
    }

    /// Moves all blocks, each with its slot.
    fn moves(engine: &mut IoUring<'_>, way: Move) {
        let requests: Vec<Request> = (0..DEPTH)
            .map(|slot| {
                let offset = u64::from(slot * SIZE);
                Request { way, synced: false, slot, offset, bytes: SIZE }
            })
            .collect();
        let mut done = Vec::new();
        engine.submit(&requests).unwrap();
        engine.complete(DEPTH as usize, &mut done).unwrap();
        assert!(done.iter().all(|done| done.result == SIZE as i32), "{way:?}: {done:?}");
    }

    #[test]
    fn each_way_to_name_memory_moves_the_bytes_of_its_slot() {
        if !works(&EngineKind::IoUring) {
            return;
        }
        let job = Job { mix: Mix::WRITES, size_bytes: SIZE, depth: DEPTH, ..job() };
        for wanted in [Registered::Region, Registered::Slots, Registered::Nothing] {
            let file = memory();
            let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
            let setup = Setup { job: &job, kind: &EngineKind::IoUring, target: &target, thread: 0 };
            let mut engine = IoUring::open(&setup).unwrap();
            if engine.naming.registered == Registered::Nothing {
                assay_testkit::needs::skip("the limit of locked memory is below 16 KiB");
                return;
            }
            if wanted != Registered::Region {
                engine.ring.submitter().unregister_buffers().unwrap();
                engine.naming.registered = Registered::Nothing;
            }
            if wanted == Registered::Slots {
                engine.register_buffers(0);
            }
            assert_eq!(engine.naming.registered, wanted);
            for slot in 0..DEPTH {
                engine.slot_mut(slot).fill(b'a' + slot as u8);
            }
            moves(&mut engine, Move::Write);
            for slot in 0..DEPTH {
                engine.slot_mut(slot).fill(0);
            }
            moves(&mut engine, Move::Read);
            for slot in 0..DEPTH {
                assert_eq!(engine.slot_mut(slot), [b'a' + slot as u8; SIZE as usize], "{wanted:?}");
            }
        }
    }

    #[test]
    fn the_queues_take_all_that_may_be_in_flight() {
        let of = |depth, sync| polling::entries(&Job { depth, sync, ..job() });
        assert_eq!(of(5, WriteSync::None), [5, 5]);
        assert_eq!(of(5, WriteSync::EachWrite), [10, 10]);
        // The fifth, the tenth and so on, when all others have ended.
        assert_eq!(of(5, WriteSync::EachNth(5)), [6, 10]);
        let polled =
            |poll| polling::entries(&Job { depth: 5, poll, sync: WriteSync::EachNth(5), ..job() });
        assert_eq!(polled(Poll::Sqpoll), [12, 20]);
        assert_eq!(polled(Poll::Iopoll), [6, 10]);
    }

    #[test]
    fn portions_grow_with_what_is_in_flight() {
        assert_eq!([0, 3, 4, 5, 64, 65, 1 << 15].map(portion), [4, 4, 4, 5, 64, 64, 64]);
        // A batch for an idle device: the device gets the first requests soon, and all 128 take six system calls.
        let (mut handed, mut sizes) = (0, Vec::new());
        while handed < 128 {
            sizes.push(portion(handed).min(128 - handed));
            handed += sizes[sizes.len() - 1];
        }
        assert_eq!(sizes, [4, 4, 8, 16, 32, 64]);
    }
}
