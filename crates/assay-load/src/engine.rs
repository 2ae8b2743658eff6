//! The trait of an engine, and its entry in the table of engines.

use std::io;

use crate::drive::{Part, Worker};
use crate::spent::Spent;
use crate::{Job, Law, LoadError, QueueFacts, Target, clock};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EngineKind {
    Null,
    /// A queue with seeded latencies under a virtual clock: the correct results are known.
    Simulated(Law),
    /// One positioned system call per operation, one after another in each thread.
    Psync,
    IoUring,
}

impl EngineKind {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Simulated(_) => "simulated",
            Self::Psync => "psync",
            Self::IoUring => "io_uring",
        }
    }
}

pub struct EngineEntry {
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether the engine accesses a file or device and needs [`Target::file`].
    pub needs_file: bool,
    /// Asks this machine whether the engine can work here; the error is the reason why not.
    pub available: fn() -> Result<(), String>,
    /// The engine of this name; for the simulated one with a default law.
    pub standard: EngineKind,
    /// One thread's whole run: the hot loop compiled for this engine.
    pub(crate) work: fn(&Worker<'_>) -> Result<Option<Part>, LoadError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Read,
    Write,
    /// Deallocates a range; transfers no data.
    Trim,
    /// Zeroes a range; transfers no data.
    Zero,
    /// A separate `fdatasync`; transfers no data.
    Sync,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) way: Move,
    /// Whether an `fdatasync` follows; only after a write.
    pub(crate) synced: bool,
    /// Buffer to use, below the job's depth and not in flight.
    pub(crate) slot: u32,
    pub(crate) offset: u64,
    /// At most the size of the job and of a slot.
    pub(crate) bytes: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) slot: u32,
    /// Bytes moved, trimmed or zeroed, or a negated errno.
    pub(crate) result: i32,
}

/// Parameters of a new engine, on the thread that uses it.
pub(crate) struct Setup<'a> {
    pub(crate) job: &'a Job,
    pub(crate) kind: &'a EngineKind,
    pub(crate) target: &'a Target<'a>,
    pub(crate) thread: u32,
}

/// Transfers data between the slots of its buffer and the target, in batches.
///
/// Contract: nothing allocates after [`open`](Engine::open); every request causes one completion; a drop waits for all.
pub(crate) trait Engine<'a>: Sized {
    /// Whether a submission executes its requests sequentially.
    const ONE_AT_A_TIME: bool = false;

    fn open(setup: &Setup<'a>) -> Result<Self, LoadError>;

    /// Returns the bytes of a slot that is not in flight; empty for engines without data.
    fn slot_mut(&mut self, slot: u32) -> &mut [u8];

    /// Starts the requests; the kernel may see them only in `complete`, which follows at once.
    fn submit(&mut self, requests: &[Request]) -> io::Result<()>;

    /// Appends completions; waits for `at_least` of them.
    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()>;

    /// Like [`complete`](Engine::complete) with 1, but returns without completions after the deadline.
    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()>;

    /// Nanoseconds of the `fdatasync` after the last write of a slot, 0 if it is not timed.
    #[inline]
    fn sync_ns(&self, _: u32) -> u64 {
        0
    }

    fn queue(&self) -> QueueFacts;

    /// The engine's clock in nanoseconds; the zero point is arbitrary but common to all threads.
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    /// What this thread and its process took of the processors so far.
    fn spent(&self) -> Spent {
        Spent::now()
    }

    /// Choices and fall-backs that a reader of the numbers should know, as sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
