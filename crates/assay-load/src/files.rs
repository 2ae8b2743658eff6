//! Small files: creates, stats, reads, renames and deletes the files of a tree below one directory, in phases.
//!
//! Names, orders and contents are random by seed and in memory before the measurement, which allocates nothing. Threads
//! have separate files. Latency is the time from the end of one file to the end of the next.

mod paths;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::clock;
use crate::content::fill_random;
use crate::gate::{Control, RunGuard};
use crate::random::{Purpose, below, generator};
use crate::spent::Spent;
use crate::{LoadError, Pattern, new_histogram};
use hdrhistogram::Histogram;
use paths::Paths;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAct {
    Create,
    /// Reads its metadata (`fstatat`).
    Stat,
    Read,
    Rename,
    Delete,
}

// In the order of the phases.
names!(
    FileAct: Create = "create",
    Stat = "stat",
    Read = "read",
    Rename = "rename",
    Delete = "delete",
);

impl FileAct {
    pub const fn changes(self) -> bool {
        matches!(self, Self::Create | Self::Rename | Self::Delete)
    }
}

/// When a change of the tree counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSync {
    None,
    /// When, after all files, the whole file system was synced (`syncfs`).
    #[default]
    EachPhase,
    /// The same, and each file is synced after it was written (`fsync`).
    EachFile,
}

names!(FileSync: None = "none", EachPhase = "each-phase", EachFile = "each-file");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileJob {
    pub files: u32,
    pub directories: u32,
    pub depth: u32,
    pub size_bytes: u32,
    /// Order of access after creation: creation order, or random.
    pub pattern: Pattern,
    pub threads: u32,
    pub sync: FileSync,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct FileOutcome {
    pub act: FileAct,
    pub operations: u64,
    pub bytes: u64,
    /// Nanoseconds from the first thread's start to the last one's end, including the sync.
    pub elapsed_ns: u64,
    /// Nanoseconds of it for syncing the file system.
    pub sync_ns: u64,
    pub latency_ns: Histogram<u64>,
    /// Processor time of the threads, and of the sync, in nanoseconds.
    pub cpu_ns: u64,
    /// Nanoseconds that the threads waited for a CPU; `None` if the kernel does not count them.
    pub waited_ns: Option<u64>,
    /// Files not processed because of the time limit or a stop.
    pub left: u64,
}

/// Room on a file system that refused to take more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    /// Number of files that may still be created; `None` without a limit.
    pub files: Option<u64>,
}

/// Offset between the contents of neighboring files, so they differ.
const CONTENT_STEP: usize = 512;
const CONTENT_STEPS: usize = 512;
const MOST_FILES: u32 = 10_000_000;
const MOST_THREADS: u32 = 1024;
const MOST_SIZE: u32 = 1 << 30;
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

pub struct FileTree<'a> {
    job: FileJob,
    root: BorrowedFd<'a>,
    /// Random bytes; each file uses a part.
    content: Vec<u8>,
    shares: Vec<FileShare>,
}

struct FileShare {
    first: u32,
    paths: Paths,
    /// Number of existing files, from the first on.
    made: u32,
    renamed: Vec<bool>,
    order: Vec<u32>,
    buffer: Vec<u8>,
}

struct PhasePart {
    operations: u64,
    start_ns: u64,
    end_ns: u64,
    latency_ns: Histogram<u64>,
    spent: Spent,
}

#[derive(Clone, Copy)]
struct FileTask<'a> {
    act: FileAct,
    job: &'a FileJob,
    root: BorrowedFd<'a>,
    content: &'a [u8],
    control: &'a Control<'a>,
    limit_ns: u64,
}

impl<'a> FileTree<'a> {
    /// Draws the tree and creates its directories below an empty one.
    pub fn make(job: &FileJob, root: BorrowedFd<'a>) -> Result<Self, LoadError> {
        check(job)?;
        let mut content = vec![0; job.size_bytes as usize + CONTENT_STEP * CONTENT_STEPS];
        fill_random(&mut generator(job.seed, 0, Purpose::Content), &mut content);
        for path in paths::directories(job) {
            let made = retry_on_intr(|| fs::mkdirat(root, &*path, DIRECTORY_MODE));
            made.map_err(|errno| LoadError::Setup {
                what: "the directory tree",
                source: errno.into(),
            })?;
        }
        let shares = (0..job.threads).map(|thread| FileShare::new(job, thread)).collect();
        Ok(Self { job: job.clone(), root, content, shares })
    }

    /// Runs one phase over all files; each thread processes at least one, and starts none after the time limit.
    pub fn run(
        &mut self,
        act: FileAct,
        limit_ns: u64,
        stop: &AtomicBool,
    ) -> Result<FileOutcome, LoadError> {
        for (thread, share) in (0..).zip(&mut self.shares) {
            share.draw_order(act, &self.job, thread);
        }
        let control = Control::new(self.job.threads, stop);
        let task = FileTask {
            act,
            job: &self.job,
            root: self.root,
            content: &self.content,
            control: &control,
            limit_ns,
        };
        let planned: u64 = self.shares.iter().map(|share| share.order.len() as u64).sum();
        let parts = run_threads(&task, &mut self.shares)?;
        let sync = if act.changes() { self.sync()? } else { (0, 0) };
        Ok(outcome(act, &self.job, &parts, planned, sync))
    }

    /// Syncs the file system, not measured.
    pub fn settle(&self) -> Result<(), LoadError> {
        fs::syncfs(self.root).map_err(|errno| LoadError::Engine {
            what: "sync the filesystem",
            source: errno.into(),
        })
    }

    /// Syncs the filesystem unless the job wants no sync; returns elapsed time and CPU time in nanoseconds.
    fn sync(&self) -> Result<(u64, u64), LoadError> {
        if self.job.sync == FileSync::None {
            return Ok((0, 0));
        }
        let (began_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
        self.settle()?;
        Ok((clock::monotonic_ns() - began_ns, clock::thread_cpu_ns() - cpu_ns))
    }
}

fn check(job: &FileJob) -> Result<(), LoadError> {
    let limit = |what: &str, number: u32, most: u32| {
        if (1..=most).contains(&number) {
            return Ok(());
        }
        Err(LoadError::Invalid(format!("{number} is not a {what}; use 1 to {most}")))
    };
    limit("number of files", job.files, MOST_FILES)?;
    limit("number of threads", job.threads, MOST_THREADS.min(job.files))?;
    limit("number of directories", job.directories, job.files)?;
    limit("depth", job.depth, paths::MOST_DEPTH)?;
    if job.size_bytes > MOST_SIZE {
        return Err(LoadError::Invalid(format!("a small file can have at most {MOST_SIZE} bytes")));
    }
    if matches!(job.pattern, Pattern::Spaced | Pattern::Stride) {
        return Err(LoadError::Invalid("files do not support evenly spaced offsets".to_owned()));
    }
    Ok(())
}

impl FileShare {
    fn new(job: &FileJob, thread: u32) -> Self {
        let first_file =
            |thread: u32| u64::from(job.files) * u64::from(thread) / u64::from(job.threads);
        let (first, end) = (first_file(thread) as u32, first_file(thread + 1) as u32);
        Self {
            first,
            paths: Paths::new(job, first..end),
            made: 0,
            renamed: vec![false; (end - first) as usize],
            order: Vec::new(),
            buffer: vec![0; job.size_bytes as usize],
        }
    }

    /// Orders the files for a phase: as created, or shuffled (Fisher-Yates) unless the job is sequential.
    fn draw_order(&mut self, act: FileAct, job: &FileJob, thread: u32) {
        let existing = if act == FileAct::Create { self.renamed.len() as u32 } else { self.made };
        self.order.clear();
        self.order.extend(0..existing);
        if act == FileAct::Create || job.pattern == Pattern::Sequential {
            return;
        }
        let draws = &mut generator(job.seed ^ act as u64, thread, Purpose::Offsets);
        for last in (1..self.order.len()).rev() {
            let drawn = below(draws, last as u64 + 1) as usize;
            self.order.swap(last, drawn);
        }
    }

    /// Processes every file in turn; `None` if another thread failed before.
    fn run_phase(&mut self, task: &FileTask<'_>) -> Result<Option<PhasePart>, LoadError> {
        let mut latency_ns = new_histogram();
        let order = std::mem::take(&mut self.order);
        let before = Spent::now();
        if !task.control.await_all() {
            return Ok(None);
        }
        let start_ns = clock::monotonic_ns();
        let limit_ns = start_ns.saturating_add(task.limit_ns);
        let (mut stamp_ns, mut operations) = (start_ns, 0);
        for index in &order {
            let must_end = stamp_ns >= limit_ns || task.control.stop_asked();
            if (must_end && operations > 0) || task.control.failed() {
                break;
            }
            self.process_file(*index, task).map_err(|errno| self.error(*index, task, errno))?;
            let now_ns = clock::monotonic_ns();
            latency_ns.saturating_record(now_ns - stamp_ns);
            stamp_ns = now_ns;
            operations += 1;
        }
        if task.act == FileAct::Create {
            self.made = operations as u32;
        }
        let spent = Spent::now().since(&before);
        Ok(Some(PhasePart { operations, start_ns, end_ns: stamp_ns, latency_ns, spent }))
    }

    /// Performs the action on one file, by the name that it has now.
    #[inline]
    fn process_file(&mut self, index: u32, task: &FileTask<'_>) -> Result<(), Errno> {
        let at = index as usize;
        let path = if self.renamed[at] { self.paths.renamed(at) } else { self.paths.first(at) };
        match task.act {
            FileAct::Create => create(task, path, (self.first + index) as usize),
            FileAct::Stat => {
                let found =
                    retry_on_intr(|| fs::statat(task.root, path, AtFlags::SYMLINK_NOFOLLOW));
                found.map(|_| ())
            }
            FileAct::Read => read(task.root, path, &mut self.buffer),
            FileAct::Rename => {
                let to = self.paths.renamed(at);
                retry_on_intr(|| fs::renameat(task.root, path, task.root, to))?;
                self.renamed[at] = true;
                Ok(())
            }
            FileAct::Delete => retry_on_intr(|| fs::unlinkat(task.root, path, AtFlags::empty())),
        }
    }

    #[cold]
    fn error(&self, index: u32, task: &FileTask<'_>, errno: Errno) -> LoadError {
        let is_full = matches!(errno, Errno::NOSPC | Errno::DQUOT);
        LoadError::File {
            act: task.act,
            file: u64::from(self.first + index) + 1,
            of: u64::from(task.job.files),
            source: errno.into(),
            room: is_full.then(|| room(task.root)).flatten(),
        }
    }
}

#[inline]
fn create(task: &FileTask<'_>, path: &CStr, number: usize) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| fs::openat(task.root, path, flags, FILE_MODE))?;
    // Neighboring files have different content.
    let from = number % CONTENT_STEPS * CONTENT_STEP;
    let mut rest = &task.content[from..from + task.job.size_bytes as usize];
    while !rest.is_empty() {
        let written = retry_on_intr(|| rustix::io::write(&file, rest))?;
        if written == 0 {
            return Err(Errno::NOSPC);
        }
        rest = &rest[written..];
    }
    if task.job.sync == FileSync::EachFile {
        retry_on_intr(|| fs::fsync(&file))?;
    }
    close(file)
}

#[inline]
fn read(root: BorrowedFd<'_>, path: &CStr, buffer: &mut [u8]) -> Result<(), Errno> {
    let file =
        retry_on_intr(|| fs::openat(root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?;
    let mut had = 0;
    while had < buffer.len() {
        let got = retry_on_intr(|| rustix::io::read(&file, &mut buffer[had..]))?;
        if got == 0 {
            // The file is shorter than written, so data is missing.
            return Err(Errno::NODATA);
        }
        had += got;
    }
    close(file)
}

/// Closes a file, which may report that an earlier write failed.
#[inline]
fn close(file: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor was taken out of its owner, so nothing else closes or uses it.
    if unsafe { libc::close(file.into_raw_fd()) } == 0 {
        return Ok(());
    }
    match Errno::from_io_error(&io::Error::last_os_error()) {
        // On Linux the descriptor is closed anyway.
        Some(Errno::INTR) | None => Ok(()),
        Some(errno) => Err(errno),
    }
}

fn room(root: BorrowedFd<'_>) -> Option<Room> {
    let found = fs::fstatvfs(root).ok()?;
    Some(Room {
        bytes: found.f_bavail.saturating_mul(found.f_frsize),
        files: (found.f_files > 0).then_some(found.f_favail),
    })
}

/// Runs one thread per share; returns the first failure in thread order.
fn run_threads(task: &FileTask<'_>, shares: &mut [FileShare]) -> Result<Vec<PhasePart>, LoadError> {
    thread::scope(|scope| {
        let shares = (0_u32..).zip(shares);
        let handles: Vec<_> =
            shares.map(|(thread, share)| (thread, spawn(scope, *task, thread, share))).collect();
        // Every thread is joined, also after a failure.
        let joined: Vec<_> =
            handles.into_iter().map(|(thread, handle)| join(thread, handle)).collect();
        joined.into_iter().filter_map(Result::transpose).collect()
    })
}

type Joined<'scope> = io::Result<ScopedJoinHandle<'scope, Result<Option<PhasePart>, LoadError>>>;

fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    task: FileTask<'scope>,
    thread: u32,
    share: &'scope mut FileShare,
) -> Joined<'scope> {
    let body = move || {
        let guard = RunGuard::new(task.control);
        let part = share.run_phase(&task)?;
        guard.disarm();
        Ok(part)
    };
    let spawned = thread::Builder::new().name(format!("files-{thread}")).spawn_scoped(scope, body);
    if spawned.is_err() {
        task.control.fail(); // the others would wait for this thread
    }
    spawned
}

fn join(thread: u32, handle: Joined<'_>) -> Result<Option<PhasePart>, LoadError> {
    let handle =
        handle.map_err(|source| LoadError::Setup { what: "a measuring thread", source })?;
    handle.join().unwrap_or_else(|_| {
        Err(LoadError::Panicked { thread, message: "during the file operations".to_owned() })
    })
}

/// Sums the parts of all threads; `planned` operations beyond theirs are left over.
fn outcome(
    act: FileAct,
    job: &FileJob,
    parts: &[PhasePart],
    planned: u64,
    sync: (u64, u64),
) -> FileOutcome {
    let (sync_ns, sync_cpu_ns) = sync;
    let operations: u64 = parts.iter().map(|part| part.operations).sum();
    let began_ns = parts.iter().map(|part| part.start_ns).min().unwrap_or(0);
    let ended_ns = parts.iter().map(|part| part.end_ns).max().unwrap_or(0);
    let mut latency_ns = new_histogram();
    for part in parts {
        // All have the same bounds.
        let _ = latency_ns.add(&part.latency_ns);
    }
    let transfers = matches!(act, FileAct::Create | FileAct::Read);
    FileOutcome {
        act,
        operations,
        bytes: if transfers { operations * u64::from(job.size_bytes) } else { 0 },
        elapsed_ns: ended_ns - began_ns + sync_ns,
        sync_ns,
        latency_ns,
        cpu_ns: parts.iter().map(|part| part.spent.thread_ns).sum::<u64>() + sync_cpu_ns,
        waited_ns: parts.iter().map(|part| part.spent.waited_ns).sum(),
        left: planned - operations,
    }
}
