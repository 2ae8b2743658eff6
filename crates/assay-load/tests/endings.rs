//! Targets that change or fail during a run: the run ends with the offset of the error.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_load::{
    Arrivals, Class, EngineKind, Job, LoadError, Mix, Outcome, Pattern, Schedule, Target, run,
};
use common::{Scratch, engines_with_a_file, job, operations};

const SIZE: u64 = 4096;
const BLOCKS: u64 = 256;
/// Maximum number of checks, one per millisecond, for whether the file grew again.
const LOOKS: u32 = 10_000;

fn reads() -> Job {
    Job { area: 0..BLOCKS * SIZE, ..job() }
}

fn ran(job: &Job, engine: &EngineKind, scratch: &Scratch) -> Result<Outcome, LoadError> {
    run(job, engine, &scratch.target(), &AtomicBool::new(false))
}

/// Runs a job on a file that is truncated to its first block during the run.
fn cut_short(job: &Job, engine: &EngineKind, direct: bool) -> Result<Outcome, LoadError> {
    let scratch = Scratch::filled(BLOCKS * SIZE, 1, direct);
    thread::scope(|scope| {
        let running = scope.spawn(|| ran(job, engine, &scratch));
        thread::sleep(Duration::from_millis(20));
        scratch.grow(SIZE);
        running.join().unwrap()
    })
}

#[test]
fn a_file_that_is_truncated_meanwhile_ends_whoever_reads_it() {
    let schedule = Some(Schedule { rate_per_s: 2_000, arrivals: Arrivals::Fixed });
    for (engine, direct) in engines_with_a_file() {
        for job in [
            reads(),
            Job { depth: 16, threads: 2, ..reads() },
            Job { depth: 16, think: Duration::from_micros(100), ..reads() },
            Job { depth: 16, schedule, ..reads() },
        ] {
            let error = cut_short(&job, &engine, direct).unwrap_err();
            let LoadError::Short { class, offset, asked, got } = error else {
                panic!("{}: {error}", engine.name())
            };
            assert_eq!((class, asked, got), (Class::Read, 4096, 0), "{}", engine.name());
            assert!((SIZE..BLOCKS * SIZE).contains(&offset), "{offset}");
        }
    }
}

/// A write beyond the end extends the file again.
#[test]
fn a_file_that_is_truncated_meanwhile_is_written_again() {
    for (engine, direct) in engines_with_a_file() {
        let writes = Job { mix: Mix::WRITES, depth: 4, ..reads() };
        let (scratch, stop) = (Scratch::filled(BLOCKS * SIZE, 1, direct), AtomicBool::new(false));
        let is_longer = || scratch.read_only().metadata().unwrap().len() > SIZE;
        let found = thread::scope(|scope| {
            let running = scope.spawn(|| run(&writes, &engine, &scratch.target(), &stop));
            thread::sleep(Duration::from_millis(20));
            scratch.grow(SIZE);
            for _ in 0..LOOKS {
                if is_longer() {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert!(operations(&found.unwrap(), Class::Write) > 0, "{}", engine.name());
        assert!(is_longer(), "{}", engine.name());
    }
}

/// `/dev/full` rejects all writes.
#[test]
fn a_target_without_room_ends_whoever_writes_to_it() {
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let target = Target { file: Some(full.as_fd()), memory_alignment: 4096 };
    let stop = AtomicBool::new(false);
    for (engine, _) in engines_with_a_file().into_iter().filter(|(_, direct)| !direct) {
        for mix in [Mix::WRITES, Mix::Rewrite] {
            let writes = Job { mix, depth: 16, threads: 2, ..reads() };
            let told = run(&writes, &engine, &target, &stop).unwrap_err().to_string();
            assert!(told.starts_with("write at offset "), "{}: {told}", engine.name());
            assert!(told.ends_with("(os error 28)"), "{}: {told}", engine.name());
        }
        // Whoever reads there finds zeros, and all of them.
        let read = Job { operations: Some(100), pattern: Pattern::Sequential, ..reads() };
        let found = run(&read, &engine, &target, &stop).unwrap();
        assert_eq!(found.totals.read_operations, 100);
    }
}
