//! The CPU time of a run is that of its process, including kernel workers. A separate binary, because the clock of a
//! process includes all tests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{EngineKind, Job, Mix, Outcome, Pattern, Target};
use assay_testkit::needs::{Need, have};
use rustix::fs::{MemfdFlags, memfd_create};

const AREA: u64 = 64 << 20;
const ROUNDS: u64 = 6;

fn job(threads: u32, depth: u32) -> Job {
    let mix = Mix::Shares { read_percent: 50 };
    Job {
        depth,
        threads,
        time: Duration::from_millis(300),
        ..Job::base(Pattern::Random, mix, 16 << 10, 0..AREA, 7)
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

/// Compares reported with used CPU time for each engine, in turns, so disturbances affect both.
fn told_of_used(file: &File) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let kinds = [(EngineKind::Psync, job(4, 1)), (EngineKind::IoUring, job(1, 8))];
    let available = |(kind, _): &(EngineKind, Job)| {
        let entry = assay_load::ENGINES.iter().find(|entry| entry.name == kind.name()).unwrap();
        let reason = (entry.available)().err();
        if let Some(reason) = &reason {
            assay_testkit::needs::skip(reason);
        }
        reason.is_none()
    };
    let kinds: Vec<(EngineKind, Job)> = kinds.into_iter().filter(available).collect();
    // A first run touches all pages.
    for (kind, job) in &kinds {
        run(job, kind, file);
    }
    let mut sums = vec![(0, 0); kinds.len()];
    for _ in 0..ROUNDS {
        for ((kind, job), (told, used)) in kinds.iter().zip(&mut sums) {
            let before = used_ns();
            let outcome = run(job, kind, file);
            *used += used_ns() - before;
            *told += outcome.process_cpu_ns;
            assert!(outcome.process_cpu_ns >= outcome.cpu_ns);
        }
    }
    for ((kind, _), (told, used)) in kinds.iter().zip(sums) {
        // Buffers are created before the run and freed after it.
        let share = told as f64 / used as f64;
        assert!((0.9..=1.0).contains(&share), "{}: {told} of {used} ns", kind.name());
    }
}

/// The clock of a process knows no tests: they take turns.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "nightly: 8 s"]
fn all_that_the_process_took_is_counted_in_memory() {
    let file = File::from(memfd_create("assay-load", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(AREA).unwrap();
    told_of_used(&file);
}

/// A zram device, removed on drop.
struct Zram(String);

impl Zram {
    fn new() -> Self {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").unwrap();
        let zram = Self(number.trim().to_owned());
        fs::write(zram.file("disksize"), AREA.to_string()).unwrap();
        zram
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.0)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // The kernel lets go of the rings of io_uring, and with them of the device, a moment later.
        let gone = |_| {
            let _ = fs::write(self.file("reset"), "1");
            let removed = fs::write("/sys/class/zram-control/hot_remove", &self.0).is_ok();
            if !removed {
                std::thread::sleep(Duration::from_millis(20));
            }
            removed
        };
        assert!((0..500).any(gone), "zram{} cannot be removed", self.0);
    }
}

/// On zram the kernel passes io_uring requests to its workers.
#[test]
#[ignore = "nightly: 4 s"]
fn all_that_the_process_took_is_counted_on_zram() {
    if !have(&[Need::Root, Need::Path("/sys/class/zram-control/hot_add")]) {
        return;
    }
    let zram = Zram::new();
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_DIRECT | libc::O_EXCL);
    told_of_used(&options.open(format!("/dev/zram{}", zram.0)).unwrap());
}
