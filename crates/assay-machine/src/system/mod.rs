//! The only access to the machine: files, devices, clocks, processes.
//!
//! All code that reads or changes the machine receives a [`System`]. There are three: the real one
//! (`assay_runner::real`), [`Fake`] (a tree of recorded files with a virtual clock, for tests) and [`Faulty`] (wraps
//! another system and fails at the k-th call, to test every failure path).
//!
//! [`resolve()`] finds the device stack of a target, [`devices`] describes drives, [`machine`] the machine, and
//! [`identity`] decides which device a user may overwrite.

mod act;
mod compression;
pub mod encryption;
mod errno;
pub mod execute;
pub mod fake;
mod faulty;
mod key;

pub mod beside;
pub mod between;
pub mod clears;
pub mod devices;
pub mod first_program;
pub mod graphics;
pub mod identity;
pub mod io_limits;
pub mod journal;
pub mod machine;
pub mod mains;
pub mod mounts;
pub mod network;
mod pci;
pub mod place;
pub mod powered;
pub mod resolve;
pub mod signatures;
pub mod site;
pub mod stream;
pub mod swaps;
pub mod sysfs;
pub mod trust;
pub mod virtual_machine;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use act::{ADD_ZRAM, Act, REMOVE_ZRAM, quoted};
pub use assay_sys::{
    BlockClass, BlockRequest, BlockTotals, ClassTotals, DeviceTotals, DirectoryPolicy, MOST_TRACED,
    RequestFlags, TraceMeans,
};
pub use errno::Errno;
pub use execute::{Executed, Execution};
pub use fake::Fake;
pub use faulty::{Before, Faulty, Half};
pub use key::Key;
pub use resolve::{lock_names, resolve};
pub use swaps::MOST_SWAP_PRIORITY;

use journal::Warrant;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    pub kind: FileKind,
    /// Bytes (0 for devices).
    pub size_bytes: u64,
    pub device: DeviceNumber,
    pub own_device: Option<DeviceNumber>,
    pub inode: u64,
    pub user: u32,
    /// Permissions: the lowest twelve bits of the mode.
    pub mode: u32,
    /// When its content changed last, nanoseconds since 1970.
    pub modified_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Directory,
    File,
    BlockDevice,
    CharacterDevice,
    Other,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that this user may still write.
    pub available_bytes: u64,
    /// These and the used bytes, without what the filesystem reserves: the whole that the percentage of `df` refers to.
    pub usable_bytes: u64,
    pub read_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Past the page cache (`O_DIRECT`).
    Direct,
    Buffered,
}

/// Alignment that direct I/O on an open file needs, from statx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    pub memory_bytes: u32,
    /// Alignment of offsets and lengths in bytes; 0 if direct I/O is unavailable.
    pub offset_bytes: u32,
}

/// A file of the tool's own to measure in, made and locked by [`System::create_area`].
#[derive(Debug)]
pub struct AreaFile {
    pub file: File,
    /// Its name, if the file system does not support unnamed files; the creator removes it.
    pub name: Option<PathBuf>,
    pub note: Option<String>,
    /// First byte that may be used (a named file begins with a mark).
    pub first_byte: u64,
}

/// A work directory of the tool that its maker removes, by [`System::create_work_directory`].
#[derive(Debug)]
pub struct WorkDirectory {
    /// Open handle, the base of all work below it.
    pub handle: File,
    pub path: PathBuf,
    /// The mark in it; its lock shows that its creator is alive.
    pub mark: File,
    pub note: Option<String>,
}

/// An area file or work directory left by a run: no running process has its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    pub size_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte in the file.
    pub start: u64,
    pub length: u64,
    /// Allocated, but never written: reads return zeros without touching the medium.
    pub unwritten: bool,
    pub encoded: bool,
}

/// Pages of a byte range in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CachedPages {
    pub cached: u64,
    pub of: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUser {
    pub id: u32,
    pub process: u32,
}

/// A lock; released on drop and at any end of the process.
#[derive(Debug)]
pub struct Hold {
    /// Keeps the lock in this network name space.
    _socket: Option<std::os::fd::OwnedFd>,
    /// Keeps it for all who share the run directory.
    _file: Option<Locked>,
    beside: Option<Holder>,
}

/// A file with an `flock` lock, unlocked on drop even while a forked child has a copy of the descriptor.
#[derive(Debug)]
pub struct Locked(File);

impl Locked {
    pub fn new(file: File) -> Self {
        Self(file)
    }
}

impl std::ops::Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing releases it, too, unless another copy is open.
        let _ = self.0.unlock();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub process: Option<u32>,
    pub user: u32,
}

impl Hold {
    pub fn new(socket: Option<std::os::fd::OwnedFd>, file: Option<Locked>) -> Self {
        Self { _socket: socket, _file: file, beside: None }
    }

    /// The same lock, although a process of an ordinary user has it, too, which must not block root.
    #[must_use]
    pub fn beside_another(self, beside: Option<Holder>) -> Self {
        Self { beside, ..self }
    }

    pub fn beside(&self) -> Option<Holder> {
        self.beside
    }
}

/// How a file of the tool's own state is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Reads a journal, together with other readers.
    Look,
    /// Exclusive access to an existing file.
    Own,
    /// Exclusive access; creates the file if it does not exist.
    New,
    /// Marks a file of a result, of any owner, as in use.
    Mark,
    /// Checks whether a file of a result is marked; shared with other readers.
    Glance,
    /// Reads a secret, together with other readers; refused if others may read the file.
    Secret,
}

/// A file of Assay's state, locked until dropped or the process ends.
#[derive(Debug)]
pub struct OwnFile {
    pub path: PathBuf,
    /// The file; `None` if only in memory.
    pub file: Option<Locked>,
}

#[derive(Debug)]
pub enum HoldError {
    /// Another process has the lock; its ID and user ID, if known.
    Held {
        process: Option<u32>,
        user: Option<u32>,
    },
    Failed(io::Error),
}

/// Proof that the user named this very device to be overwritten ([`identity::consent`]), or that this run made
/// it ([`identity::consent_of_made`]). Checked again whenever the device is opened.
#[derive(Clone, Debug)]
pub struct Consent {
    device: PathBuf,
    /// Its number at the time of the consent; checked again after opening.
    number: DeviceNumber,
    /// The kernel's running number of the disk: another disk under an old number has another.
    sequence: Option<u64>,
    size_bytes: u64,
}

impl Consent {
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Returns whether an opened device (number, sequence of its disk, bytes) is the named one.
    pub fn is_of(&self, number: DeviceNumber, sequence: Option<u64>, size_bytes: u64) -> bool {
        (number, sequence, size_bytes) == (self.number, self.sequence, self.size_bytes)
    }
}

/// Counts the requests of block devices until dropped.
pub trait BlockTracer: Send {
    /// Counts since its start. Fails if access was lost or the trace is gone.
    fn read(&mut self) -> io::Result<BlockTotals>;

    /// Passes on each request that ended since the last call; only [`TraceMeans::BpfRequests`] can.
    fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        let _ = each;
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

/// A second process that restores everything if this one dies; it ends when this is dropped.
pub trait Watchdog: Send {}

/// Exit code and output of a program that only reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub text: String,
    pub complaint: String,
}

/// The kernel's log, followed from a moment on.
#[derive(Debug)]
pub struct KernelLog {
    /// Open at the next record; `None` if only in memory.
    pub file: Option<File>,
    pub seen: usize,
}

/// Copies a directory with its content, for systems that cannot rename directories.
fn copy_directory<S: System + ?Sized>(system: &S, from: &Path, to: &Path) -> io::Result<()> {
    system.create_directory(to)?;
    for name in system.list(from)? {
        let (source, target) = (from.join(&name), to.join(&name));
        match system.status(&source)?.kind {
            FileKind::Directory => copy_directory(system, &source, &target)?,
            _ => system.write_whole(&target, &system.read_bytes(&source)?)?,
        }
    }
    Ok(())
}

/// The machine. Every method that can fail returns the kernel's error.
pub trait System: Sync {
    /// Text of a file (sysfs, procfs, or Assay's).
    fn read_text(&self, path: &Path) -> io::Result<String>;
    /// Bytes of a file of Assay.
    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>>;
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
    fn status(&self, path: &Path) -> io::Result<FileStatus>;
    fn space(&self, path: &Path) -> io::Result<Space>;
    fn variable(&self, name: &str) -> Option<String>;
    fn user(&self) -> DeviceUser;
    fn page_bytes(&self) -> u64;
    /// Names that hypervisors give themselves in the registers of the processor (CPUID).
    fn hypervisor_signatures(&self) -> Vec<String>;

    /// Wall clock as RFC 3339 with the local offset, whole seconds.
    fn now(&self) -> String;
    fn monotonic_ns(&self) -> u64;
    /// Wall clock in nanoseconds since 1970.
    fn wall_ns(&self) -> u64;
    fn sleep(&self, time: Duration);

    /// Makes a directory of the tool's own and its parents; under sudo it belongs to the caller.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Writes a file of Assay atomically: temporary file, sync, rename.
    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Writes a new file of Assay from a stream, in little memory, and returns its size. [`System::place_directory`]
    /// makes all files of a directory durable.
    fn write_stream(&self, path: &Path, from: &mut dyn io::Read) -> io::Result<u64> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        self.write_whole(path, &bytes)?;
        Ok(bytes.len() as u64)
    }
    /// Gives a directory of the tool its final name once its content is on the device; the name must be free.
    fn place_directory(&self, from: &Path, to: &Path) -> io::Result<()> {
        copy_directory(self, from, to)?;
        self.remove_directory(from)
    }
    /// Appends to a file of Assay and syncs it.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Creates a directory of Assay's state, readable only by this process's user and never owned by the caller of
    /// sudo. An existing one does not change.
    fn create_own_directory(&self, path: &Path) -> io::Result<()>;
    /// Opens and locks a file of Assay's state without waiting; refused unless only this user (or root) owns it. Files
    /// of a result may have any owner, because Assay executes nothing from them.
    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError>;
    fn read_own(&self, file: &OwnFile) -> io::Result<String>;
    fn append_own(&self, file: &OwnFile, bytes: &[u8]) -> io::Result<()>;
    fn random(&self) -> io::Result<[u8; 32]>;
    /// Makes a new directory with these files below it (path and text), all synced to the device.
    fn make_tree(&self, directory: &Path, files: &[(String, String)]) -> io::Result<()>;
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Creates an area file in a directory: unnamed if the file system can, else named, marked and locked.
    fn create_area(&self, directory: &Path, caching: Caching) -> io::Result<AreaFile>;
    fn remove_area(&self, area: &AreaFile) -> io::Result<()>;
    /// Makes a directory of the tool's own in another one, marked and locked.
    fn create_work_directory(&self, directory: &Path) -> io::Result<WorkDirectory>;
    /// Removes a work directory of this process with its content.
    fn remove_work_directory(&self, work: &WorkDirectory) -> io::Result<()>;
    /// Area files and work directories in a directory that no running process uses.
    fn leftovers(&self, directory: &Path) -> io::Result<Vec<Leftover>>;
    /// Removes a leftover, after taking its lock and looking at its mark again.
    fn remove_leftover(&self, leftover: &Leftover) -> io::Result<()>;
    fn open_for_reading(&self, path: &Path, caching: Caching) -> io::Result<File>;
    /// Another handle of an open target with the same rights, with direct or buffered I/O.
    fn reopen(&self, file: &File, caching: Caching) -> io::Result<File>;
    /// Opens a device for writing, exclusively, with the user's consent.
    fn open_device_for_writing(&self, consent: &Consent, caching: Caching) -> io::Result<File>;
    /// Sends the operations of an open target past the page cache, or through it.
    fn set_caching(&self, file: &File, caching: Caching) -> io::Result<()>;
    fn length(&self, file: &File) -> io::Result<u64>;
    fn direct_alignment(&self, file: &File) -> io::Result<Option<DirectAlignment>>;

    /// Returns whether btrfs writes a file in place, without checksums (`chattr +C`).
    fn is_written_in_place(&self, _file: &File) -> bool {
        false
    }
    /// Reads bytes from an open target at an offset (to look for zeros); returns how many were read.
    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Waits until an open file's data are on the device.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    fn extents(&self, file: &File, range: Range<u64>) -> io::Result<Vec<Extent>>;
    /// Cached pages of a byte range of an open file (`cachestat`, Linux 6.5).
    fn cached_pages(&self, file: &File, range: Range<u64>) -> io::Result<CachedPages>;
    /// The same by `mincore`, for kernels and file systems without `cachestat`.
    fn resident_pages(&self, file: &File, range: Range<u64>) -> io::Result<CachedPages>;
    /// Asks the kernel to forget the clean cached pages of a byte range.
    fn drop_cached(&self, file: &File, range: Range<u64>) -> io::Result<()>;
    /// Path of an installed program; `None` if it is not installed.
    fn program(&self, name: &str) -> Option<PathBuf>;
    /// A loop device that has no file; another process may take it first.
    fn free_loop(&self) -> io::Result<PathBuf>;
    /// Encryption policy of a directory; `None` if it is not encrypted.
    fn encryption_of(&self, directory: &Path) -> io::Result<Option<DirectoryPolicy>>;
    /// Changes the machine; the journal already contains the undo entry.
    fn act(&self, warrant: Warrant, act: &Act) -> io::Result<()>;
    /// Counts the requests of whole block devices by class until the result is dropped.
    fn trace_block(
        &self,
        devices: &[DeviceNumber],
        means: TraceMeans,
    ) -> io::Result<Box<dyn BlockTracer>>;
    fn follow_kernel_log(&self) -> io::Result<KernelLog>;
    /// New records of a followed log since the last call, in the format of `/dev/kmsg`.
    fn new_in_kernel_log(&self, log: &mut KernelLog) -> io::Result<Vec<String>>;
    /// Runs a program that only reads, with a timeout of some seconds; returns its output for any exit code.
    fn output_of(&self, program: &str, arguments: &[&str]) -> io::Result<String>;
    /// Runs a program that only reads an open file as its standard input, with a longer timeout.
    fn told_of(&self, program: &str, arguments: &[&str], input: &File)
    -> io::Result<ProgramOutput>;
    /// Runs a program that only reads, with a longer timeout, and reads at most this many bytes of its output.
    fn answer_of(&self, program: &str, arguments: &[&str], most: u64) -> io::Result<ProgramOutput>;
    /// Runs and measures a program of the user. Its children have ended when this returns.
    fn execute(&self, execution: &Execution<'_>) -> io::Result<Executed>;
    /// Kills and removes control groups of dead processes that measured programs; returns their names.
    fn clear_groups(&self) -> Vec<String> {
        Vec::new()
    }
    /// Writes dirty pages back and drops clean pages and names of files.
    fn forget_cache(&self) -> io::Result<()>;
    /// The 512 bytes of an NVMe device's health log (log page 2).
    fn nvme_health_log(&self, device: &Path) -> io::Result<Vec<u8>>;
    fn load_link(&self, job: &network::LinkJob<'_>) -> io::Result<network::LinkRun>;
    fn machines(&self, _wanted: &powered::VmNeeds) -> Result<Box<dyn powered::VmStarter>, String> {
        Err("virtual machines are not supported here".to_owned())
    }
    /// Support for trials that continue after a power cut.
    fn mains(&self) -> io::Result<&dyn mains::Mains> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Starts a process that undoes the journal of a run should this one die before the watchdog is dropped.
    fn start_watchdog(&self, id: &str) -> io::Result<Box<dyn Watchdog>>;
    /// Takes a machine-wide named lock across users; dropping the hold releases it.
    fn hold(&self, name: &str) -> Result<Hold, HoldError>;
}
