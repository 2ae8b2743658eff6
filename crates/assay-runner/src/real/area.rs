//! Area files: unnamed if the file system supports it; else named, marked and locked, which allows a later run to
//! distinguish a leftover from a file in use.
//!
//! The lock is `flock`, which the kernel releases with the process. Between creating and locking, another run may
//! remove the file as a leftover: its creator then finds no name, and creates another file.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{direct_flag, files};
use assay_machine::system::identity::caller;
use assay_machine::system::{AreaFile, Caching, Leftover, System};
use rustix::fs::{self, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

const PREFIX: &str = ".assay-area-";
const MAGIC: &str = "assay area 1\n";
const MARK_BYTES: usize = 4096;
/// Offset of the area in a named file: a multiple of all common erase block and stripe sizes.
const NAMED_FIRST_BYTE: u64 = 1 << 20;
const MODE: Mode = Mode::from_raw_mode(0o600);
const ATTEMPTS: usize = 16;
/// A scan for leftovers locks a file for microseconds.
const LOCK_ATTEMPTS: usize = 100;
/// Number of attempts to get the lock of an ended process.
const ENDED_ATTEMPTS: usize = 60;
const ENDED_PAUSE: Duration = Duration::from_millis(50);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Creates an area file: unnamed if the filesystem supports that.
pub fn create(system: &dyn System, directory: &Path, caching: Caching) -> io::Result<AreaFile> {
    match open_unnamed(directory, caching) {
        Ok(file) => Ok(AreaFile { file, name: None, note: None, first_byte: 0 }),
        Err(error @ (Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT)) => {
            // EINVAL may also be about O_DIRECT: then unnamed files work without it.
            if caching == Caching::Direct && open_unnamed(directory, Caching::Buffered).is_ok() {
                return Err(error.into());
            }
            create_named(system, directory, caching)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_unnamed(directory: &Path, caching: Caching) -> Result<File, Errno> {
    // O_EXCL: nobody can give it a name later.
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(fs::open(directory, flags | direct_flag(caching), MODE)?.into())
}

/// Creates a named, marked and locked area file; retries if another run removes the file as a leftover.
pub(super) fn create_named(
    system: &dyn System,
    directory: &Path,
    caching: Caching,
) -> io::Result<AreaFile> {
    for _ in 0..ATTEMPTS {
        let path = directory.join(format!("{PREFIX}{:016x}", files::random()));
        match create_marked(system, &path) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(remove_after(&path, error)),
        }
        match reopen_locked(&path, caching) {
            Ok(Some((file, locked))) => return Ok(named_area(file, path, locked)),
            Ok(None) => {}
            Err(error) => return Err(remove_after(&path, error)),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program keeps deleting the area file"))
}

fn named_area(file: File, path: PathBuf, locked: bool) -> AreaFile {
    let mut note = "this filesystem does not support unnamed files".to_owned();
    if !locked {
        note.push_str(" or locks: if this run is killed, the file remains");
    }
    AreaFile { file, name: Some(path), note: Some(note), first_byte: NAMED_FIRST_BYTE }
}

/// Creates a marked, locked file at a free name; `None` if another run removed the file as a leftover.
pub(super) fn mark_at(system: &dyn System, path: &Path) -> io::Result<Option<(File, bool)>> {
    if !create_marked(system, path)? {
        return Ok(None);
    }
    reopen_locked(path, Caching::Buffered)
}

/// Creates the file with its mark; false if another run removed it as a leftover.
fn create_marked(system: &dyn System, path: &Path) -> io::Result<bool> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(fs::open(path, flags, MODE)?);
    lock(&file)?;
    if !has_name(&file)? {
        return Ok(false);
    }
    files::give_to_caller(system, &file)?;
    let text = format!("{MAGIC}pid {}\nboot {}\n", std::process::id(), boot_id(system));
    let mut mark = text.into_bytes();
    mark.resize(MARK_BYTES, b'\n');
    file.write_all_at(&mark, 0)?;
    file.sync_all()?;
    Ok(true)
}

/// Reopens a marked file with the requested caching; `None` if another run removed it as a leftover.
/// The mark needs no alignment because the file was first opened without `O_DIRECT`, and a file system that refuses
/// `O_DIRECT` would otherwise leave a new file behind.
fn reopen_locked(path: &Path, caching: Caching) -> io::Result<Option<(File, bool)>> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | direct_flag(caching);
    let file = match fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => File::from(other?),
    };
    let locked = lock(&file)?;
    Ok(has_name(&file)?.then_some((file, locked)))
}

/// Locks a file that this process created; false if the file system has no locks.
fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_ATTEMPTS {
        match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_PAUSE),
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => return Ok(false),
            other => return other.map(|()| true).map_err(Into::into),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has locked the area file"))
}

fn has_name(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}

fn remove_after(path: &Path, error: io::Error) -> io::Error {
    // Report the first error; a remaining file is found as a leftover.
    let _ = std::fs::remove_file(path);
    error
}

/// Frees the space of this process's area file, and removes its name if it still refers to the file.
pub fn remove(area: &AreaFile) -> io::Result<()> {
    // Requests in flight may hold the file open slightly longer than this process lives.
    let _ = area.file.set_len(0);
    let Some(path) = &area.name else { return Ok(()) };
    match leads_to(path, &area.file) {
        Ok(true) => std::fs::remove_file(path),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lists the area files in a directory that ended processes left.
pub fn leftovers(system: &dyn System, directory: &Path) -> io::Result<Vec<Leftover>> {
    let mut names = system.list(directory)?;
    names.retain(|name| files::is_random_name(name, PREFIX));
    Ok(names.iter().filter_map(|name| leftover(system, directory.join(name))).collect())
}

fn leftover(system: &dyn System, path: PathBuf) -> Option<Leftover> {
    // A file that cannot be opened, locked or read is not Assay's.
    let file = lock_leftover(system, &path).ok()?;
    let size_bytes = file.metadata().ok()?.len();
    Some(Leftover { path, size_bytes })
}

/// Removes a leftover after all checks again: the file may have changed since the list of leftovers.
pub fn remove_leftover(system: &dyn System, leftover: &Leftover) -> io::Result<()> {
    let name = leftover.path.file_name().unwrap_or_default().to_string_lossy();
    if !files::is_random_name(&name, PREFIX) {
        return Err(not_a_leftover("the file name is not that of an area file"));
    }
    let file = lock_leftover(system, &leftover.path)?;
    if !leads_to(&leftover.path, &file)? {
        return Err(not_a_leftover("the file was replaced"));
    }
    std::fs::remove_file(&leftover.path)
}

/// Opens and locks a file that looks like a leftover; writable only if locks need this (NFS).
pub(super) fn lock_leftover(system: &dyn System, path: &Path) -> io::Result<File> {
    let file = open_leftover(system, path, OFlags::RDONLY)?;
    match lock_of_ended_process(system, &file) {
        Ok(()) => check_mark(file),
        Err(error) if error.raw_os_error() == Some(Errno::BADF.raw_os_error()) => {
            let file = open_leftover(system, path, OFlags::RDWR)?;
            lock_of_ended_process(system, &file)?;
            check_mark(file)
        }
        Err(error) => Err(error),
    }
}

/// Opens a marked regular file of this user; fails if it is anything else.
fn open_leftover(system: &dyn System, path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    if FileType::from_raw_mode(found.mode()) != FileType::RegularFile {
        return Err(not_a_leftover("not a regular file"));
    }
    if !is_ours(system, found.uid()) {
        return Err(not_a_leftover("the file belongs to another user"));
    }
    check_mark(file)
}

/// Returns the file if it has the mark or is empty; checked before and after locking.
fn check_mark(file: File) -> io::Result<File> {
    let mut start = [0; MAGIC.len()];
    let has_mark = match file.read_exact_at(&mut start, 0) {
        Ok(()) => start == MAGIC.as_bytes(),
        // Its maker was killed between creating and marking.
        Err(_) => file.metadata()?.len() == 0,
    };
    if has_mark {
        return Ok(file);
    }
    Err(not_a_leftover("the file does not contain the mark of an area file"))
}

/// Locks a leftover. The kernel releases the lock of a killed process late, so this function waits.
fn lock_of_ended_process(system: &dyn System, file: &File) -> io::Result<()> {
    for _ in 0..ENDED_ATTEMPTS {
        match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if maker_is_gone(system, file) => thread::sleep(ENDED_PAUSE),
            other => return Ok(other?),
        }
    }
    Err(Errno::WOULDBLOCK.into())
}

/// Whether the process that the mark names is gone. Without a readable mark it may be alive.
fn maker_is_gone(system: &dyn System, file: &File) -> bool {
    let mut start = [0; 256];
    let read = file.read_at(&mut start, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&start[..read]);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (Some(process), Some(boot)) = (field("pid "), field("boot ")) else { return false };
    let gone = |id: &str| system.status(&Path::new("/proc").join(id)).is_err();
    // No process survives a restart of the machine.
    boot != boot_id(system) || process.parse::<u32>().is_ok_and(|_| gone(process))
}

fn boot_id(system: &dyn System) -> String {
    let text = system.read_text(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default();
    text.trim().to_owned()
}

pub(super) fn is_ours(system: &dyn System, owner: u32) -> bool {
    let user = system.user().id;
    user == 0 || owner == user || caller(system).is_some_and(|caller| caller.user == owner)
}

pub(super) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    let named = fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    let open = fs::fstat(file)?;
    Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino))
}

pub(super) fn not_a_leftover(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("not a leftover: {reason}"))
}
