//! A system with a failing k-th call, a death before its k-th change, or a lost target.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::journal::Warrant;
use super::mains::Mains;
use super::network::{LinkJob, LinkRun};
use super::powered::{VmNeeds, VmStarter};
use super::{
    Act, AreaFile, BlockTracer, CachedPages, Caching, Consent, DeviceNumber, DeviceUser,
    DirectAlignment, DirectoryPolicy, Errno, Executed, Execution, Extent, FileStatus, Hold,
    HoldError, KernelLog, Leftover, Locking, OwnFile, ProgramOutput, Space, System, TraceMeans,
    Watchdog, WorkDirectory,
};

/// Forwards all calls to another system, except for one call that fails. A dying one simulates a killed process: from
/// its k-th change of the machine on, no call has an effect. A file that it appended to ends with half a line.
pub struct Faulty<'a> {
    inner: &'a dyn System,
    fails_at: u64,
    kind: io::ErrorKind,
    calls: AtomicU64,
    dies: bool,
    before: Option<&'a Before<'a>>,
    lost_at: u64,
    trials_prepared: AtomicU64,
    /// Bytes of any file that cannot be read, and why.
    bad: Option<([u64; 2], Errno)>,
}

/// Partial effect of a change on the given system, if the process dies during the change.
pub type Half<'h> = &'h dyn Fn(&dyn System) -> io::Result<()>;

pub type Before<'b> = dyn Fn(Half<'_>) + Sync + 'b;

/// The change has no partial effect.
const NOTHING: Half<'static> = &|_| Ok(());

#[derive(Clone, Copy, PartialEq, Eq)]
enum FaultyCall {
    Looks,
    Changes,
}

impl<'a> Faulty<'a> {
    /// Fails the `fails_at`-th call (from 1) that can fail; 0 fails none and only counts.
    pub fn new(inner: &'a dyn System, fails_at: u64, kind: io::ErrorKind) -> Self {
        let (calls, trials_prepared) = (AtomicU64::new(0), AtomicU64::new(0));
        let (before, bad) = (None, None);
        Self { inner, fails_at, kind, calls, dies: false, before, lost_at: 0, trials_prepared, bad }
    }

    /// Dies before the `dies_at`-th change of the machine (from 1); 0 never dies and only counts.
    pub fn dying(inner: &'a dyn System, dies_at: u64) -> Self {
        Self { dies: true, ..Self::new(inner, dies_at, io::ErrorKind::Interrupted) }
    }

    /// Forwards all calls; `before` gets each partial change, to apply it to a copy: the state after a death there.
    pub fn watched(inner: &'a dyn System, before: &'a Before<'a>) -> Self {
        Self { before: Some(before), ..Self::dying(inner, 0) }
    }

    /// Loses its open target at the `lost_at`-th preparation for a trial; 0 only counts.
    pub fn losing_target(inner: &'a dyn System, lost_at: u64) -> Self {
        Self { lost_at, ..Self::new(inner, 0, io::ErrorKind::NotFound) }
    }

    /// Fails every reading of bytes between two offsets.
    pub fn at_reads(inner: &'a dyn System, bad: [u64; 2], error: Errno) -> Self {
        Self { bad: Some((bad, error)), ..Self::new(inner, 0, io::ErrorKind::NotFound) }
    }

    /// Number of times that an open target was prepared for a trial.
    pub fn made_ready(&self) -> u64 {
        self.trials_prepared.load(Ordering::Relaxed)
    }

    pub fn has_lost(&self) -> bool {
        self.lost_at != 0 && self.made_ready() >= self.lost_at
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns whether the failure has happened; otherwise a walk over all calls is complete.
    pub fn has_failed(&self) -> bool {
        self.fails_at != 0 && self.calls() >= self.fails_at
    }

    fn check_call(&self, call: FaultyCall) -> io::Result<()> {
        self.check_change(call, NOTHING)
    }

    /// Counts a call, and fails it if its turn has come. A dying system counts only changes, and dies amid one.
    fn check_change(&self, call: FaultyCall, half: Half<'_>) -> io::Result<()> {
        if self.dies && self.has_failed() {
            return Err(io::Error::new(self.kind, "this process is dead"));
        }
        if self.dies && call == FaultyCall::Looks {
            return Ok(());
        }
        if let Some(before) = self.before {
            before(half);
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call == self.fails_at {
            if self.dies {
                half(self.inner)?;
            }
            return Err(io::Error::new(self.kind, format!("made to fail at call {call}")));
        }
        Ok(())
    }
}

macro_rules! may_fail {
    ($call:expr; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $kind),*) -> io::Result<$result> {
            self.check_call($call)?;
            self.inner.$name($($argument),*)
        }
    )*};
}

macro_rules! pass_on {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $kind),*) -> $result {
            self.inner.$name($($argument),*)
        }
    )*};
}

impl System for Faulty<'_> {
    may_fail! {
        FaultyCall::Changes;
        create_directory(path: &Path) -> ();
        create_own_directory(path: &Path) -> ();
        write_whole(path: &Path, bytes: &[u8]) -> ();
        make_tree(directory: &Path, files: &[(String, String)]) -> ();
        write_stream(path: &Path, from: &mut dyn io::Read) -> u64;
        place_directory(from: &Path, to: &Path) -> ();
        remove_directory(path: &Path) -> ();
        create_area(directory: &Path, caching: Caching) -> AreaFile;
        remove_area(area: &AreaFile) -> ();
        remove_leftover(leftover: &Leftover) -> ();
        create_work_directory(directory: &Path) -> WorkDirectory;
        remove_work_directory(work: &WorkDirectory) -> ();
        open_device_for_writing(consent: &Consent, caching: Caching) -> File;
        act(warrant: Warrant, act: &Act) -> ();
    }

    may_fail! {
        FaultyCall::Looks;
        free_loop() -> PathBuf;
        encryption_of(directory: &Path) -> Option<DirectoryPolicy>;
        read_text(path: &Path) -> String;
        read_bytes(path: &Path) -> Vec<u8>;
        read_own(file: &OwnFile) -> String;
        random() -> [u8; 32];
        list(directory: &Path) -> Vec<String>;
        read_link(path: &Path) -> PathBuf;
        canonical(path: &Path) -> PathBuf;
        status(path: &Path) -> FileStatus;
        space(path: &Path) -> Space;
        leftovers(directory: &Path) -> Vec<Leftover>;
        open_for_reading(path: &Path, caching: Caching) -> File;
        length(file: &File) -> u64;
        direct_alignment(file: &File) -> Option<DirectAlignment>;
        sync_data(file: &File) -> ();
        extents(file: &File, range: Range<u64>) -> Vec<Extent>;
        cached_pages(file: &File, range: Range<u64>) -> CachedPages;
        resident_pages(file: &File, range: Range<u64>) -> CachedPages;
        drop_cached(file: &File, range: Range<u64>) -> ();
        follow_kernel_log() -> KernelLog;
        new_in_kernel_log(log: &mut KernelLog) -> Vec<String>;
        output_of(program: &str, arguments: &[&str]) -> String;
        told_of(program: &str, arguments: &[&str], input: &File) -> ProgramOutput;
        answer_of(program: &str, arguments: &[&str], most_bytes: u64) -> ProgramOutput;
        nvme_health_log(device: &Path) -> Vec<u8>;
        forget_cache() -> ();
        load_link(job: &LinkJob<'_>) -> LinkRun;
        mains() -> &dyn Mains;
        execute(execution: &Execution<'_>) -> Executed;
        trace_block(devices: &[DeviceNumber], means: TraceMeans) -> Box<dyn BlockTracer>;
        start_watchdog(id: &str) -> Box<dyn Watchdog>;
        reopen(file: &File, caching: Caching) -> File;
    }

    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.check_call(FaultyCall::Looks)?;
        match self.bad {
            Some(([start, end], error)) if offset < end && offset + into.len() as u64 > start => {
                Err(error.into())
            }
            _ => self.inner.read_at(file, offset, into),
        }
    }

    /// Sets the caching of the open target before each trial.
    fn set_caching(&self, file: &File, caching: Caching) -> io::Result<()> {
        self.check_call(FaultyCall::Looks)?;
        self.trials_prepared.fetch_add(1, Ordering::Relaxed);
        if self.has_lost() {
            return Err(Errno::NODEV.into());
        }
        self.inner.set_caching(file, caching)
    }

    fn machines(&self, wanted: &VmNeeds) -> Result<Box<dyn VmStarter>, String> {
        self.check_call(FaultyCall::Looks).map_err(|error| error.to_string())?;
        self.inner.machines(wanted)
    }

    fn hold(&self, name: &str) -> Result<Hold, HoldError> {
        self.check_call(FaultyCall::Looks).map_err(HoldError::Failed)?;
        self.inner.hold(name)
    }

    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
        let call = if locking == Locking::New { FaultyCall::Changes } else { FaultyCall::Looks };
        self.check_call(call).map_err(HoldError::Failed)?;
        self.inner.lock_file(path, locking)
    }

    fn append_own(&self, file: &OwnFile, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        self.check_change(FaultyCall::Changes, &|system| system.append_own(file, half))?;
        self.inner.append_own(file, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        self.check_change(FaultyCall::Changes, &|system| system.append(path, half))?;
        self.inner.append(path, bytes)
    }

    pass_on! {
        program(name: &str) -> Option<PathBuf>;
        variable(name: &str) -> Option<String>;
        user() -> DeviceUser;
        now() -> String;
        page_bytes() -> u64;
        hypervisor_signatures() -> Vec<String>;
        monotonic_ns() -> u64;
        wall_ns() -> u64;
        sleep(time: Duration) -> ();
    }
}
