//! Rings that are polled: for what is to be submitted by a thread of the kernel, or for what is complete by
//! the thread that waits for it.

use std::io;

use io_uring::Builder;

use super::entrance::Entrance;
use super::{Attempt, ENTRY, IoUring, deferred, first_of};
use crate::engine::{Engine, Move, Request};
use crate::{Job, LoadError, Poll, QueueFacts};

/// After so long without anything to submit the kernel's thread sleeps, and is woken by the next call.
const IDLE_MS: u32 = 1_000;

/// A ring that is polled as a job says, and what the kernel lacks.
pub(super) fn ring(
    poll: Poll,
    entries: [u32; 2],
) -> Result<(io_uring::IoUring, Option<&'static str>), LoadError> {
    let (what, ring) = match poll {
        Poll::Nothing => ("an io_uring", super::ring(entries)),
        Poll::Submission => {
            ("an io_uring that a thread of the kernel submits for", for_submission(entries))
        }
        Poll::Completion => ("an io_uring that is polled", for_completion(entries)),
    };
    ring.map_err(|source| LoadError::Setup { what, source })
}

/// Nothing is run by the thread that waits, so that nothing can be deferred to it.
fn for_submission(entries: [u32; 2]) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let attempts: [Attempt; 2] = [
        (
            |builder: &mut Builder| {
                builder.setup_sqpoll(IDLE_MS).setup_submit_all().setup_no_sqarray();
            },
            None,
        ),
        (
            |builder: &mut Builder| {
                builder.setup_sqpoll(IDLE_MS);
            },
            None,
        ),
    ];
    first_of(&attempts, entries)
}

fn for_completion(entries: [u32; 2]) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let attempts: [Attempt; 3] = [
        (
            |builder: &mut Builder| {
                deferred(builder).setup_no_sqarray().setup_iopoll();
            },
            None,
        ),
        (
            |builder: &mut Builder| {
                deferred(builder).setup_iopoll();
            },
            None,
        ),
        (
            |builder: &mut Builder| {
                builder.setup_iopoll();
            },
            Some("the kernel lacks deferred completions (6.1); plain ones are used."),
        ),
    ];
    first_of(&attempts, entries)
}

/// Entries of the queues of a ring that is polled so. What the kernel's thread has taken, and ended, counts
/// as being in the queue until all that it took with it is: twice as many find room.
pub(super) fn roomy(poll: Poll, entries: [u32; 2]) -> [u32; 2] {
    match poll {
        Poll::Submission => entries.map(|count| 2 * count),
        Poll::Nothing | Poll::Completion => entries,
    }
}

/// The way into the kernel: of a polled ring that of the crate io-uring, which wakes the kernel's thread
/// where it sleeps, and asks for completions where they are polled for.
pub(super) fn entrance(poll: Poll, ring: &io_uring::IoUring) -> Entrance {
    match poll {
        Poll::Nothing => Entrance::new(ring),
        Poll::Submission | Poll::Completion => Entrance::plain(),
    }
}

/// What a reader of the numbers should know.
pub(super) fn note(poll: Poll) -> Option<String> {
    match poll {
        Poll::Nothing => None,
        Poll::Submission => Some(format!(
            "a thread of the kernel polls for what is to be submitted (SQPOLL), one for each queue; it \
             sleeps after {IDLE_MS} ms without any."
        )),
        Poll::Completion => Some(
            "completions are polled for (IOPOLL): each thread takes a whole processor while it waits."
                .to_owned(),
        ),
    }
}

impl IoUring<'_> {
    /// Reads a block where completions are polled for, before the clock starts: whether the file and the
    /// device can be polled is told by the first operation.
    pub(super) fn try_polling(&mut self, job: &Job) -> Result<(), LoadError> {
        if self.polled != Poll::Completion {
            return Ok(());
        }
        let (offset, bytes) = (job.area.start, job.size_bytes);
        let request = Request { way: Move::Read, synced: false, slot: 0, offset, bytes };
        let mut done = Vec::new();
        self.submit(&[request])
            .and_then(|()| self.complete(1, &mut done))
            .map_err(|source| LoadError::Engine { what: "poll for a completion", source })?;
        // None of this is part of the run.
        self.slot_mut(0).fill(0);
        (self.batches, self.queue) = (0, QueueFacts::default());
        match done.first() {
            Some(done) if done.result == -libc::EOPNOTSUPP => Err(LoadError::Unavailable {
                engine: ENTRY.name,
                reason: "completions cannot be polled for here: that takes direct I/O, a file system that \
                         knows it, and a device with a queue for it"
                    .to_owned(),
            }),
            // Whatever else it may be is told by the run.
            _ => Ok(()),
        }
    }
}
