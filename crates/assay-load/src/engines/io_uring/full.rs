//! Queues that are too small: the kernel holds overflowing completions back, or rejects entries with an error.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{MemfdFlags, memfd_create};

use super::IoUring;
use crate::check::tests::job;
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::engines::suite::works;
use crate::{EngineKind, Job, Target};

const SIZE: u32 = 4096;
/// Twice as many as the queues take.
const DEPTH: u32 = 8;
const SMALL: [u32; 2] = [DEPTH / 2, DEPTH / 2];

/// Reads a block with each slot.
fn requests() -> Vec<Request> {
    let read = |slot| {
        let offset = u64::from(slot * SIZE);
        Request { way: Move::Read, synced: false, slot, offset, bytes: SIZE }
    };
    (0..DEPTH).map(read).collect()
}

/// Runs `act` with an engine with small queues, on a file.
fn with_small_queues(file: &File, act: impl FnOnce(&mut IoUring<'_>)) {
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let job = Job { size_bytes: SIZE, depth: DEPTH, ..job() };
    let setup = Setup { job: &job, kind: &EngineKind::IoUring, target: &target, thread: 0 };
    act(&mut IoUring::with_queues(SMALL, &setup).unwrap());
}

/// A file whose operations go to workers, and one whose operations complete at once.
fn files() -> [File; 2] {
    let memory = File::from(memfd_create("assay-load-full", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(u64::from(DEPTH * SIZE)).unwrap();
    [memory, File::open("/dev/zero").unwrap()]
}

#[test]
fn overflowing_completions_are_all_returned() {
    if !works(&EngineKind::IoUring) {
        return;
    }
    for file in files() {
        with_small_queues(&file, |engine| {
            for part in requests().chunks(SMALL[0] as usize) {
                engine.push(part).unwrap();
                engine.enter(0).unwrap();
            }
            let mut done: Vec<Completion> = Vec::new();
            engine.complete(DEPTH as usize, &mut done).unwrap();
            let mut slots: Vec<u32> = done.iter().map(|done| done.slot).collect();
            slots.sort_unstable();
            assert_eq!(slots, (0..DEPTH).collect::<Vec<u32>>());
            assert!(done.iter().all(|done| done.result == SIZE as i32), "{done:?}");
            assert_eq!(engine.outstanding, 0);
        });
    }
}

#[test]
fn full_submission_queue_is_an_error() {
    if !works(&EngineKind::IoUring) {
        return;
    }
    for file in files() {
        with_small_queues(&file, |engine| {
            let error = engine.push(&requests()).unwrap_err().to_string();
            assert_eq!(error, "the submission queue is full");
            assert_eq!(engine.outstanding, SMALL[0] as usize);
            // Dropped with operations in its queue, it waits for them.
        });
    }
}
