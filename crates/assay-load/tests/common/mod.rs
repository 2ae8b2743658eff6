//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use assay_load::{Class, ENGINES, EngineKind, Job, Mix, Outcome, Pattern, Target, run};

/// A valid job to vary.
pub fn job() -> Job {
    Job {
        time: Duration::from_secs(3600),
        ..Job::base(Pattern::Random, Mix::READS, 4096, 0..1 << 20, 1)
    }
}

/// The engines that work on files here, each with buffered and with direct I/O.
pub fn engines_with_a_file() -> Vec<(EngineKind, bool)> {
    let mut engines = Vec::new();
    for entry in ENGINES.iter().filter(|entry| entry.needs_file) {
        match (entry.available)() {
            Ok(()) => engines.extend([false, true].map(|direct| (entry.standard, direct))),
            Err(reason) => {
                assay_testkit::needs::skip(&reason);
            }
        }
    }
    engines
}

/// Runs without a stop.
pub fn outcome(job: &Job, engine: &EngineKind, scratch: &Scratch) -> Outcome {
    run(job, engine, &scratch.target(), &AtomicBool::new(false)).unwrap()
}

/// Runs without a file.
pub fn simulated(job: &Job, engine: &EngineKind) -> Outcome {
    let target = Target { file: None, memory_alignment: 4096 };
    run(job, engine, &target, &AtomicBool::new(false)).unwrap()
}

/// Counted operations of a class.
pub fn operations(outcome: &Outcome, class: Class) -> u64 {
    let classes = outcome.classes.iter().filter(|found| found.class == class);
    classes.map(|found| found.operations).sum()
}

/// A file that is removed on drop.
pub struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    /// A file filled with one byte; opened for direct I/O if requested and supported.
    pub fn filled(bytes: u64, byte: u8, direct: bool) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-load-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, vec![byte; bytes as usize]).unwrap();
        let open = |flags| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(flags);
            options.open(&path)
        };
        let plain = || open(0).unwrap();
        let file = if direct { open(libc::O_DIRECT).unwrap_or_else(|_| plain()) } else { plain() };
        Self { path, file }
    }

    pub fn target(&self) -> Target<'_> {
        Target { file: Some(self.file.as_fd()), memory_alignment: 4096 }
    }

    pub fn read_only(&self) -> File {
        File::open(&self.path).unwrap()
    }

    pub fn writable(&self) -> File {
        File::options().write(true).open(&self.path).unwrap()
    }

    pub fn grow(&self, bytes: u64) {
        self.file.set_len(bytes).unwrap();
    }

    /// 4096 bytes from here.
    pub fn read(&self, offset: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let file = File::open(&self.path).unwrap();
        file.read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
