//! The processor time of a run is what the process took for it: workers of the kernel, too. Alone in
//! its binary, because the clock of a process knows no tests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{Content, Durability, EngineKind, Job, Outcome, Pattern, Target, Work};
use rustix::fs::{MemfdFlags, memfd_create};

const AREA: u64 = 64 << 20;
const ROUNDS: u64 = 3;

fn job(threads: u32, depth: u32) -> Job {
    Job {
        pattern: Pattern::Random,
        work: Work::Mix { read_percent: 50 },
        size_bytes: 16 << 10,
        depth,
        threads,
        durability: Durability::Written,
        content: Content::Random,
        area: 0..AREA,
        ramp: Duration::ZERO,
        time: Duration::from_millis(300),
        operations: None,
        seed: 7,
    }
}

/// Processor time of this process so far, user and system.
fn used_ns() -> u64 {
    // SAFETY: the structure is plain numbers, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn run(job: &Job, kind: &EngineKind, file: &File) -> Outcome {
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    assay_load::run(job, kind, &target, &AtomicBool::new(false)).unwrap()
}

#[test]
fn all_that_the_process_took_is_counted() {
    let file = File::from(memfd_create("assay-load", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(AREA).unwrap();
    let kinds = [(EngineKind::Psync, job(4, 1)), (EngineKind::IoUring, job(1, 8))];
    for (kind, job) in kinds {
        let entry = assay_load::ENGINES.iter().find(|entry| entry.name == kind.name()).unwrap();
        if let Err(reason) = (entry.available)() {
            assay_lab::needs::skip(&reason);
            continue;
        }
        // Pages of the file that nobody has touched yet are made once.
        run(&job, &kind, &file);
        let (mut told, mut used) = (0, 0);
        for _ in 0..ROUNDS {
            let before = used_ns();
            let outcome = run(&job, &kind, &file);
            used += used_ns() - before;
            told += outcome.process_cpu_ns;
            assert!(outcome.process_cpu_ns >= outcome.cpu_ns);
        }
        // Buffers are made before the run and given back after it.
        let share = told as f64 / used as f64;
        assert!((0.9..=1.0).contains(&share), "{}: {told} of {used} ns", kind.name());
    }
}
