//! The machine itself.

#![allow(clippy::disallowed_methods, reason = "this module is the door to the machine")]

mod act;
mod area;
pub mod crowd;
mod execute;
mod files;
pub mod fleet;
pub mod guest;
mod held;
mod hold;
pub mod link;
mod look;
pub mod mains;
pub mod signals;
pub mod watchdog;
mod workplace;

pub use execute::leave;

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::quantity::Bytes;
use assay_machine::system::journal::Warrant;
use assay_machine::system::mains::Mains;
use assay_machine::system::network::{LinkJob, LinkRun};
use assay_machine::system::powered::{VmNeeds, VmStarter};
use assay_machine::system::{
    Act, AreaFile, BlockRequest, BlockTotals, BlockTracer, CachedPages, Caching, Consent,
    DeviceNumber, DeviceUser, DirectAlignment, DirectoryPolicy, Errno, Executed, Execution, Extent,
    FileKind, FileStatus, Hold, HoldError, KernelLog, Leftover, Locking, OwnFile, ProgramOutput,
    Space, System, TraceMeans, Watchdog, WorkDirectory, identity,
};
use rustix::fs::{self, Advice, AtFlags, FileType, IFlags, Mode, OFlags, StatVfsMountFlags};
use rustix::fs::{StatxFlags, statx};
use rustix::time::{ClockId, clock_gettime};

#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

const LONGEST_PIPE_BYTES: u64 = 1 << 20;

/// Opens a file to be read as a whole. A pipe without a writer is empty; opening it does not block.
fn open_for_whole(path: &Path) -> io::Result<(File, FileType)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = fs::open(path, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(fs::fstat(&file)?.st_mode);
    if kind == FileType::Fifo {
        fs::fcntl_setfl(&file, OFlags::empty())?;
    }
    Ok((file.into(), kind))
}

impl Real {
    pub const fn new() -> Self {
        Self
    }
}

impl System for Real {
    fn read_text(&self, path: &Path) -> io::Result<String> {
        // Firmware strings may contain any bytes.
        Ok(String::from_utf8_lossy(&self.read_bytes(path)?).into_owned())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (mut file, kind) = open_for_whole(path)?;
        let mut bytes = Vec::new();
        match kind {
            FileType::CharacterDevice | FileType::BlockDevice => {
                let why = "the path is a device, not a file";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            FileType::Fifo => {
                file.take(LONGEST_PIPE_BYTES + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > LONGEST_PIPE_BYTES {
                    let why =
                        format!("the pipe exceeds the limit of {}", Bytes(LONGEST_PIPE_BYTES));
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
                }
            }
            _ => {
                file.read_to_end(&mut bytes)?;
            }
        }
        Ok(bytes)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        Ok(status(&std::fs::metadata(path)?))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let room = fs::statvfs(path)?;
        let used_blocks = room.f_blocks.saturating_sub(room.f_bfree);
        let usable_blocks = used_blocks.saturating_add(room.f_bavail);
        Ok(Space {
            available_bytes: room.f_bavail.saturating_mul(room.f_frsize),
            usable_bytes: usable_blocks.saturating_mul(room.f_frsize),
            read_only: room.f_flag.contains(StatVfsMountFlags::RDONLY),
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn user(&self) -> DeviceUser {
        DeviceUser { id: rustix::process::geteuid().as_raw(), process: std::process::id() }
    }

    fn now(&self) -> String {
        jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    fn page_bytes(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn hypervisor_signatures(&self) -> Vec<String> {
        assay_sys::hypervisor_signatures()
    }

    fn monotonic_ns(&self) -> u64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn wall_ns(&self) -> u64 {
        let time = clock_gettime(ClockId::Realtime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        files::create_directory(self, path)
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        files::write_whole(self, path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        files::append(self, path, bytes)
    }

    fn create_own_directory(&self, path: &Path) -> io::Result<()> {
        files::create_own_directory(self, path)
    }

    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
        files::lock(self, path, locking)
    }

    fn read_own(&self, file: &OwnFile) -> io::Result<String> {
        files::read_own(file)
    }

    fn append_own(&self, file: &OwnFile, bytes: &[u8]) -> io::Result<()> {
        files::append_own(file, bytes)
    }

    fn random(&self) -> io::Result<[u8; 32]> {
        random_bytes()
    }

    fn write_stream(&self, path: &Path, from: &mut dyn io::Read) -> io::Result<u64> {
        files::write_stream(self, path, from)
    }

    fn place_directory(&self, from: &Path, to: &Path) -> io::Result<()> {
        files::place_directory(self, from, to)
    }

    fn make_tree(&self, directory: &Path, texts: &[(String, String)]) -> io::Result<()> {
        files::make_tree(directory, texts)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(held::hold(self, path)?.path())
    }

    fn create_area(&self, directory: &Path, caching: Caching) -> io::Result<AreaFile> {
        area::create(self, directory, caching)
    }

    fn remove_area(&self, area: &AreaFile) -> io::Result<()> {
        area::remove(area)
    }

    fn create_work_directory(&self, directory: &Path) -> io::Result<WorkDirectory> {
        workplace::create(self, directory)
    }

    fn remove_work_directory(&self, work: &WorkDirectory) -> io::Result<()> {
        workplace::remove(work)
    }

    fn leftovers(&self, directory: &Path) -> io::Result<Vec<Leftover>> {
        let mut left = area::leftovers(self, directory)?;
        left.extend(workplace::leftovers(self, directory)?);
        Ok(left)
    }

    fn remove_leftover(&self, leftover: &Leftover) -> io::Result<()> {
        let name = leftover.path.file_name().unwrap_or_default().to_string_lossy();
        if workplace::is_own_name(&name) {
            return workplace::remove_leftover(self, &leftover.path);
        }
        area::remove_leftover(self, leftover)
    }

    fn open_for_reading(&self, path: &Path, caching: Caching) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | direct_flag(caching);
        Ok(fs::open(path, flags, Mode::empty())?.into())
    }

    fn open_device_for_writing(&self, consent: &Consent, caching: Caching) -> io::Result<File> {
        // O_EXCL on a block device: the kernel refuses while anything else has claimed it.
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let device = fs::open(consent.device(), flags | direct_flag(caching), Mode::empty())?;
        let found = fs::fstat(&device)?;
        let is_block = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice;
        let number = files::number(found.st_rdev);
        let is_same = || -> io::Result<bool> {
            let sequence = identity::disk_sequence(self, number);
            Ok(consent.is_of(number, sequence, assay_sys::block_device_bytes(device.as_fd())?))
        };
        if !is_block || !is_same()? {
            let message = "the path no longer refers to the named device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(device.into())
    }

    fn reopen(&self, file: &File, caching: Caching) -> io::Result<File> {
        let rights = fs::fcntl_getfl(file)? & OFlags::RWMODE;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = rights | direct_flag(caching) | OFlags::CLOEXEC;
        Ok(fs::open(path, flags, Mode::empty())?.into())
    }

    fn set_caching(&self, file: &File, caching: Caching) -> io::Result<()> {
        let others = fs::fcntl_getfl(file)?.difference(OFlags::DIRECT);
        Ok(fs::fcntl_setfl(file, others | direct_flag(caching))?)
    }

    fn length(&self, file: &File) -> io::Result<u64> {
        let found = file.metadata()?;
        match kind(found.mode()) {
            FileKind::BlockDevice => assay_sys::block_device_bytes(file.as_fd()),
            _ => Ok(found.len()),
        }
    }

    fn direct_alignment(&self, file: &File) -> io::Result<Option<DirectAlignment>> {
        let found = match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
            Err(rustix::io::Errno::NOSYS) => return Ok(None),
            other => other?,
        };
        let is_reported =
            StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN);
        Ok(is_reported.then_some(DirectAlignment {
            memory_bytes: found.stx_dio_mem_align,
            offset_bytes: found.stx_dio_offset_align,
        }))
    }

    fn is_written_in_place(&self, file: &File) -> bool {
        fs::ioctl_getflags(file).is_ok_and(|flags| flags.contains(IFlags::NOCOW))
    }

    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, offset)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn extents(&self, file: &File, range: Range<u64>) -> io::Result<Vec<Extent>> {
        let extents = assay_sys::file_extents(file.as_fd(), range)?;
        let to_extent = |mapped: &assay_sys::MappedExtent| Extent {
            start: mapped.logical,
            length: mapped.length,
            unwritten: mapped.unwritten(),
            encoded: mapped.encoded(),
        };
        Ok(extents.iter().map(to_extent).collect())
    }

    fn cached_pages(&self, file: &File, range: Range<u64>) -> io::Result<CachedPages> {
        let count = assay_sys::cache_count(file.as_fd(), range.clone())?;
        Ok(CachedPages { cached: count.cached, of: pages_of(&range) })
    }

    fn resident_pages(&self, file: &File, range: Range<u64>) -> io::Result<CachedPages> {
        if !mincore_tells_truth(self, file)? {
            let message = "the kernel shows this only to users who own or can write the file";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let (cached, of) = assay_sys::resident_pages(file.as_fd(), range)?;
        Ok(CachedPages { cached, of })
    }

    fn drop_cached(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        // A length of zero would mean "to the end of the file".
        let Some(length) = NonZeroU64::new(range.end.saturating_sub(range.start)) else {
            return Ok(());
        };
        Ok(fs::fadvise(file, range.start, Some(length), Advice::DontNeed)?)
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        act::program(name)
    }

    fn free_loop(&self) -> io::Result<PathBuf> {
        act::free_loop()
    }

    fn act(&self, _: Warrant, act: &Act) -> io::Result<()> {
        act::act(act)
    }

    fn trace_block(
        &self,
        devices: &[DeviceNumber],
        means: TraceMeans,
    ) -> io::Result<Box<dyn BlockTracer>> {
        let numbers: Vec<(u32, u32)> =
            devices.iter().map(|device| (device.major, device.minor)).collect();
        Ok(Box::new(Tracer(assay_sys::BlockTrace::begin(&numbers, means)?)))
    }

    fn follow_kernel_log(&self) -> io::Result<KernelLog> {
        look::follow_kernel_log()
    }

    fn new_in_kernel_log(&self, log: &mut KernelLog) -> io::Result<Vec<String>> {
        look::new_in_kernel_log(log)
    }

    fn output_of(&self, program: &str, arguments: &[&str]) -> io::Result<String> {
        look::output_of(program, arguments)
    }

    fn told_of(&self, name: &str, arguments: &[&str], input: &File) -> io::Result<ProgramOutput> {
        look::told_of(name, arguments, input)
    }

    fn answer_of(&self, name: &str, arguments: &[&str], most: u64) -> io::Result<ProgramOutput> {
        look::answer_of(name, arguments, most)
    }

    fn execute(&self, execution: &Execution<'_>) -> io::Result<Executed> {
        execute::execute(execution)
    }

    fn clear_groups(&self) -> Vec<String> {
        execute::clear_groups()
    }

    fn forget_cache(&self) -> io::Result<()> {
        fs::sync();
        std::fs::write("/proc/sys/vm/drop_caches", "3")
    }

    fn encryption_of(&self, directory: &Path) -> io::Result<Option<DirectoryPolicy>> {
        const CANNOT: [Option<Errno>; 2] = [Some(Errno::NOTTY), Some(Errno::NOTSUP)];
        match assay_sys::directory_policy(File::open(directory)?.as_fd()) {
            // The file system cannot encrypt: the directory has no policy.
            Err(error) if CANNOT.contains(&Errno::find(&error)) => Ok(None),
            policy => policy,
        }
    }

    fn nvme_health_log(&self, device: &Path) -> io::Result<Vec<u8>> {
        let device = File::open(device)?;
        Ok(assay_sys::nvme_health_log(device.as_fd())?.to_vec())
    }

    fn machines(&self, wanted: &VmNeeds) -> Result<Box<dyn VmStarter>, String> {
        guest::driven::machines(self, wanted)
    }

    fn load_link(&self, job: &LinkJob<'_>) -> io::Result<LinkRun> {
        link::load(job)
    }

    fn mains(&self) -> io::Result<&dyn Mains> {
        Ok(self)
    }

    fn start_watchdog(&self, id: &str) -> io::Result<Box<dyn Watchdog>> {
        watchdog::start(id)
    }

    fn hold(&self, name: &str) -> Result<Hold, HoldError> {
        hold::hold(self, name)
    }
}

struct Tracer(assay_sys::BlockTrace);

impl BlockTracer for Tracer {
    fn read(&mut self) -> io::Result<BlockTotals> {
        self.0.read()
    }

    fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        self.0.requests(each)
    }
}

/// Returns random bytes for keys; a read as short as this is always complete.
fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

const fn direct_flag(caching: Caching) -> OFlags {
    match caching {
        Caching::Direct => OFlags::DIRECT,
        Caching::Buffered => OFlags::empty(),
    }
}

fn kind(mode: u32) -> FileKind {
    match FileType::from_raw_mode(mode) {
        FileType::Directory => FileKind::Directory,
        FileType::RegularFile => FileKind::File,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharacterDevice => FileKind::CharacterDevice,
        _ => FileKind::Other,
    }
}

fn status(found: &std::fs::Metadata) -> FileStatus {
    let kind = kind(found.mode());
    let is_device = matches!(kind, FileKind::BlockDevice | FileKind::CharacterDevice);
    FileStatus {
        kind,
        size_bytes: if is_device { 0 } else { found.len() },
        device: files::number(found.dev()),
        own_device: is_device.then(|| files::number(found.rdev())),
        inode: found.ino(),
        user: found.uid(),
        mode: found.mode() & 0o7777,
        modified_ns: found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()),
    }
}

fn pages_of(range: &Range<u64>) -> u64 {
    if range.is_empty() {
        return 0;
    }
    let page = rustix::param::page_size() as u64;
    range.end.div_ceil(page) - range.start / page
}

/// Since Linux 5.2, `mincore` reports every page as resident to users who neither own nor can write the file.
fn mincore_tells_truth(system: &dyn System, file: &File) -> io::Result<bool> {
    let user = system.user().id;
    let writable = fs::fcntl_getfl(file)?.contains(OFlags::RDWR);
    Ok(user == 0 || writable || file.metadata()?.uid() == user)
}

#[cfg(test)]
mod tests;
