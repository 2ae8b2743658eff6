//! Polled queues and pinned threads, through `run`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{
    Class, ENGINES, EngineKind, FaultCounts, Job, LoadError, Mix, Outcome, Pattern, Poll, Target,
    WriteSync, run, verify,
};
use common::{Scratch, job, operations, outcome, simulated};
use rustix::fs::{MemfdFlags, memfd_create};

const BLOCKS: u64 = 61;
const SIZE: u64 = 4096;

/// Returns whether io_uring is available.
fn has_ring() -> bool {
    let ring = ENGINES.iter().find(|entry| entry.name == "io_uring").unwrap();
    let refusal = (ring.available)().err();
    if let Some(reason) = &refusal {
        assay_testkit::needs::skip(reason);
    }
    refusal.is_none()
}

/// Runs a job with a kernel thread for submission; `None`, with the reason printed, if the kernel supports none.
fn submitted(job: Job, scratch: &Scratch) -> Option<Outcome> {
    if !has_ring() {
        return None;
    }
    let job = Job { poll: Poll::Sqpoll, ..job };
    match run(&job, &EngineKind::IoUring, &scratch.target(), &AtomicBool::new(false)) {
        Err(error @ LoadError::Setup { .. }) => {
            assay_testkit::needs::skip(&error.to_string());
            None
        }
        found => Some(found.unwrap()),
    }
}

#[test]
fn what_a_thread_of_the_kernel_submits_is_written_once_and_whole() {
    for (depth, threads, sync, direct) in [
        (1, 1, WriteSync::None, false),
        (32, 1, WriteSync::None, true),
        (8, 2, WriteSync::EachWrite, false),
        (32, 2, WriteSync::EachNth(3), true),
    ] {
        let scratch = Scratch::filled(BLOCKS * SIZE, 0xaa, direct);
        let fill = Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            area: 0..BLOCKS * SIZE,
            operations: Some(BLOCKS),
            depth,
            threads,
            sync,
            ..job()
        };
        let Some(found) = submitted(fill, &scratch) else { return };
        assert_eq!(operations(&found, Class::Write), BLOCKS);
        assert_eq!(found.engine.poll, Poll::Sqpoll);
        let bytes = scratch.bytes();
        let is_old = |block: &[u8]| block.iter().all(|byte| *byte == 0xaa);
        assert!(!bytes.chunks(SIZE as usize).any(is_old), "depth {depth}");
        assert_eq!(bytes.len() as u64, BLOCKS * SIZE);
        assert!(found.engine.notes.iter().any(|note| note.contains("SQPOLL")));
        // Operations submitted by the kernel thread are not checked for early completion.
        assert_eq!(found.queue.looked_at, 0);
    }
}

/// Far more operations than queue entries, so entries are reused while the thread runs.
#[test]
fn places_of_the_queue_are_used_again_and_again() {
    for depth in [1, 4, 32] {
        let scratch = Scratch::filled(1 << 20, 1, false);
        let reads = Job { depth, operations: Some(20_000), ..job() };
        let Some(found) = submitted(reads, &scratch) else { return };
        assert_eq!(operations(&found, Class::Read), 20_000);
    }
}

/// A pause is longer than the thread waits for the next operation.
#[test]
#[ignore = "nightly: 2 s"]
fn a_thread_that_sleeps_is_woken() {
    let scratch = Scratch::filled(1 << 20, 1, false);
    let rests = Job { think: Duration::from_millis(1_200), operations: Some(3), ..job() };
    let Some(found) = submitted(rests, &scratch) else { return };
    assert_eq!(operations(&found, Class::Read), 3);
}

#[test]
fn a_plain_ring_says_nothing_of_polling() {
    if !has_ring() {
        return;
    }
    let scratch = Scratch::filled(1 << 20, 1, false);
    let found = outcome(&Job { operations: Some(500), ..job() }, &EngineKind::IoUring, &scratch);
    assert_eq!(found.engine.poll, Poll::None);
    assert!(!found.engine.notes.iter().any(|note| note.contains("poll")));
    assert!(found.queue.looked_at > 0);
}

/// Memory has no queue that could be polled.
#[test]
fn completions_that_cannot_be_polled_for_are_refused_before_the_run() {
    if !has_ring() {
        return;
    }
    let file = File::from(memfd_create("assay-load-polling", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(1 << 20).unwrap();
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let polled = Job { poll: Poll::Iopoll, operations: Some(9), ..job() };
    let refused = run(&polled, &EngineKind::IoUring, &target, &AtomicBool::new(false));
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("cannot poll for completions"), "{told}");
}

/// The device below a file decides: either all operations succeed, or none does and the error names the reason.
#[test]
fn completions_of_a_file_are_polled_for_or_refused_with_the_reason() {
    if !has_ring() {
        return;
    }
    let scratch = Scratch::filled(1 << 20, 1, true);
    let polled = Job { poll: Poll::Iopoll, depth: 8, operations: Some(500), ..job() };
    match run(&polled, &EngineKind::IoUring, &scratch.target(), &AtomicBool::new(false)) {
        Ok(found) => {
            assert_eq!(operations(&found, Class::Read), 500);
            assert!(found.engine.notes.iter().any(|note| note.contains("IOPOLL")));
        }
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains("cannot poll for completions"), "{told}");
        }
    }
}

/// The pass that reads again asks for each block by a call.
#[test]
fn what_a_thread_of_the_kernel_submits_can_be_verified() {
    let scratch = Scratch::filled(BLOCKS * SIZE, 0xaa, false);
    let writes = Job {
        pattern: Pattern::Sequential,
        mix: Mix::WRITES,
        area: 0..BLOCKS * SIZE,
        operations: Some(BLOCKS),
        depth: 8,
        poll: Poll::Sqpoll,
        verify: Some(7),
        ..job()
    };
    let Some(found) = submitted(writes.clone(), &scratch) else { return };
    let stop = AtomicBool::new(false);
    let written = found.written.unwrap();
    let verified = verify(&writes, &written, &scratch.target(), &stop).unwrap();
    assert_eq!((verified.intact, verified.corrupt), (BLOCKS, FaultCounts::default()));
}

#[test]
fn other_engines_have_nothing_to_poll() {
    let target = Target { file: None, memory_alignment: 4096 };
    for entry in ENGINES.iter().filter(|entry| entry.name != "io_uring") {
        for poll in [Poll::Sqpoll, Poll::Iopoll] {
            let polled = Job { poll, operations: Some(9), ..job() };
            let refused = run(&polled, &entry.standard, &target, &AtomicBool::new(false));
            let told = refused.unwrap_err().to_string();
            assert!(told.contains("does not support polling"), "{}: {told}", entry.name);
        }
    }
}

#[test]
fn pinned_threads_do_the_same_work_and_say_where() {
    for (pin, threads) in [(true, 1), (true, 3), (false, 3)] {
        let work = Job { pin, threads, operations: Some(300), ..job() };
        let found = simulated(&work, &EngineKind::Null);
        assert_eq!(operations(&found, Class::Read), 300);
        assert_eq!(found.engine.notes.iter().any(|note| note.contains("pinned to")), pin);
    }
}
