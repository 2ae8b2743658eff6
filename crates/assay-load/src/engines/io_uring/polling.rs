//! Polled rings: a kernel thread polls for submissions, or the waiting thread polls for completions.

use std::io;

use super::entrance::Entrance;
use super::{Attempt, ENTRY, IoUring, deferred, first_supported};
use crate::engine::{Engine, Move, Request};
use crate::{Job, LoadError, Poll, QueueFacts};
use rustix::process::getpid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

/// Idle time after which the kernel's thread sleeps; the next call wakes it.
const IDLE_MS: u32 = 1_000;

/// Creates a ring with the polling mode of a job; also returns a note if a kernel feature is missing.
pub(super) fn ring(
    job: &Job,
    entries: [u32; 2],
) -> Result<(io_uring::IoUring, Option<&'static str>), LoadError> {
    let (what, ring) = match job.poll {
        Poll::None => ("io_uring", super::ring(entries)),
        Poll::Sqpoll => (
            "io_uring with a kernel submission thread (needs root before Linux 5.13)",
            run_unpinned(job, || sqpoll_ring(entries)),
        ),
        Poll::Iopoll => ("io_uring with polled completions", iopoll_ring(entries)),
    };
    ring.map_err(|source| LoadError::Setup { what, source })
}

/// Runs `make` on the CPUs of the process's first thread. Since Linux 6.2 a kernel thread inherits the affinity of its
/// creator: a polling thread would take the only CPU of a pinned thread.
fn run_unpinned<T>(job: &Job, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if !job.pin {
        return make();
    }
    let cpus = sched_getaffinity(None)?;
    sched_setaffinity(None, &sched_getaffinity(Some(getpid()))?)?;
    let made = make();
    sched_setaffinity(None, &cpus)?;
    made
}

/// Creates a ring with a submitting kernel thread. So the waiting thread does not submit: it cannot run deferred work.
fn sqpoll_ring(entries: [u32; 2]) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let attempts: [Attempt; 2] = [
        (|builder| builder.setup_sqpoll(IDLE_MS).setup_submit_all().setup_no_sqarray(), None),
        (|builder| builder.setup_sqpoll(IDLE_MS), None),
    ];
    first_supported(&attempts, entries)
}

/// Creates a ring whose waiting thread polls the device.
fn iopoll_ring(entries: [u32; 2]) -> io::Result<(io_uring::IoUring, Option<&'static str>)> {
    let attempts: [Attempt; 3] = [
        (|builder| deferred(builder).setup_no_sqarray().setup_iopoll(), None),
        (|builder| deferred(builder).setup_iopoll(), None),
        (
            |builder| builder.setup_iopoll(),
            Some("the kernel lacks deferred task work (6.1); Assay uses the default."),
        ),
    ];
    first_supported(&attempts, entries)
}

/// Returns the entries of the submission queue and of the completion queue.
pub(super) fn entries(job: &Job) -> [u32; 2] {
    // All operations in flight may be submitted at once, and synced writes have two entries each.
    let sync_every = if job.track.is_some() { Some(1) } else { job.sync.call_every() };
    let syncs = sync_every.map_or(0, |sync_every| job.depth.div_ceil(sync_every.max(1)));
    // Synced writes may stay in flight while others complete, until nothing else is in flight.
    let completions = if sync_every.is_some() { 2 * job.depth } else { job.depth };
    let entries = [job.depth + syncs, completions];
    match job.poll {
        // Entries taken by the kernel thread occupy the queue until all entries of the same pass are done.
        Poll::Sqpoll => entries.map(|count| 2 * count),
        Poll::None | Poll::Iopoll => entries,
    }
}

/// The way into the kernel: the io-uring crate's for polled rings, as it wakes the thread.
pub(super) fn entrance(poll: Poll, ring: &io_uring::IoUring) -> Entrance {
    match poll {
        Poll::None => Entrance::new(ring),
        Poll::Sqpoll | Poll::Iopoll => Entrance::plain(),
    }
}

pub(super) fn note(poll: Poll) -> Option<String> {
    match poll {
        Poll::None => None,
        Poll::Sqpoll => Some(format!(
            "one kernel thread per queue polls for submissions (SQPOLL) and sleeps after {IDLE_MS} \
             ms without a submission."
        )),
        Poll::Iopoll => Some(
            "Assay polls for completions (IOPOLL): each thread uses a whole CPU while it waits."
                .to_owned(),
        ),
    }
}

impl IoUring<'_> {
    /// Reads a polled block before the clock starts, to find out whether polling works.
    pub(super) fn try_polling(&mut self, job: &Job) -> Result<(), LoadError> {
        if self.polled != Poll::Iopoll {
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
                reason: "cannot poll for completions; this needs direct I/O, a filesystem with \
                         polling support, and a device with polled queues"
                    .to_owned(),
            }),
            // The run reports any other error.
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{fs, thread};

    use rustix::thread::{CpuSet, gettid};

    use super::*;
    use crate::EngineKind;
    use crate::check::tests::job;
    use crate::engines::suite::works;

    /// The processors of a thread of this process, as the kernel lists them.
    fn allowed(name: &str) -> Option<String> {
        fs::read_dir("/proc/self/task").ok()?.flatten().find_map(|task| {
            let status = fs::read_to_string(task.path().join("status")).ok()?;
            let of = |key| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
            of("Name:").filter(|own| *own == name)?;
            of("Cpus_allowed_list:").map(str::to_owned)
        })
    }

    #[test]
    fn the_thread_that_submits_is_not_pinned_with_the_one_that_it_submits_for() {
        let all = sched_getaffinity(None).unwrap();
        if !works(&EngineKind::IoUring) {
            return;
        }
        if all.count() < 2 {
            return assay_testkit::needs::skip("there is one processor");
        }
        let first = (0..CpuSet::MAX_CPU).find(|processor| all.is_set(*processor)).unwrap();
        let pinned = move || {
            let mut own = CpuSet::new();
            own.set(first);
            sched_setaffinity(None, &own).unwrap();
            let job = Job { poll: Poll::Sqpoll, pin: true, ..job() };
            let ring = match ring(&job, [2, 2]) {
                Ok(ring) => ring,
                Err(error) => return assay_testkit::needs::skip(&error.to_string()),
            };
            assert_eq!(sched_getaffinity(None).unwrap(), own);
            // The thread sets its own name when it starts.
            let name = format!("iou-sqp-{}", gettid().as_raw_nonzero());
            let listed = (0..300).find_map(|_| {
                thread::sleep(Duration::from_millis(10));
                allowed(&name)
            });
            drop(ring);
            match listed {
                Some(listed) => assert_ne!(listed, first.to_string()),
                None => assay_testkit::needs::skip("the kernel lists its thread by another number"),
            }
        };
        thread::spawn(pinned).join().unwrap();
    }
}
