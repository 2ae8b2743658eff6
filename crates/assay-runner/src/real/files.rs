//! Assay's own files: written whole and synced; under sudo they belong to the caller, except root's state.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::held;
use assay_machine::system::identity::{self, ROOTS_OWN, caller};
use assay_machine::system::trust::OTHERS_WRITE;
use assay_machine::system::{DeviceNumber, HoldError, Locked, Locking, OwnFile, System, mounts};
use rustix::fs::{self, AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
/// Mode of state files: root acts on their content.
const OWN_FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const OWN_DIRECTORY_MODE: u32 = 0o700;
const OTHERS_ANYTHING: u32 = 0o077;
const DIRECTORY_MODE: u32 = 0o755;
const MOST_OWN_BYTES: u64 = 64 << 20;

/// Creates a directory and its parents; under sudo, the caller owns them unless they stay root's.
pub fn create_directory(system: &dyn System, path: &Path) -> io::Result<()> {
    let is_missing = |part: &&Path| !part.as_os_str().is_empty() && !part.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    for part in missing.into_iter().rev() {
        // Independent of the umask: root refuses files that others may write.
        let held = held::hold(system, part)?;
        match std::fs::DirBuilder::new().mode(DIRECTORY_MODE).create(held.path()) {
            Ok(()) if stays_roots(system, held.path()) => {}
            Ok(()) => give_path_to_caller(system, held.path())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && part.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    let roots = Path::new(ROOTS_OWN);
    if system.user().id == 0 && path != roots && path.starts_with(roots) {
        // Everybody may read root's results, and the caller of sudo enters their builds. Journals and keys next to them
        // have separate permissions.
        let mode = std::fs::metadata(roots)?.permissions().mode();
        std::fs::set_permissions(roots, std::fs::Permissions::from_mode(mode | 0o011))?;
    }
    // Existing directories must also be reachable without the caller's links.
    if caller(system).is_some() { held::open(path).map(drop) } else { Ok(()) }
}

/// Creates a directory with files of the given texts, and syncs its file system.
pub fn make_tree(directory: &Path, texts: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir(directory)?;
    for (path, text) in texts {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(fs::syncfs(File::open(directory)?)?)
}

/// Whether a path stays root's under sudo: apply, confirm and resume accept only root's results.
fn stays_roots(system: &dyn System, path: &Path) -> bool {
    if caller(system).is_none() {
        return true;
    }
    let Ok(results) = identity::results_directory(system) else { return false };
    let directory = directory_of(path);
    let (Ok(place), Some(name)) = (std::fs::canonicalize(directory), path.file_name()) else {
        return false;
    };
    let place = place.join(name);
    let leads_to_results = place.starts_with(&results) || results.starts_with(&place);
    leads_to_results
        && std::fs::metadata(directory)
            .is_ok_and(|found| found.uid() == 0 && found.mode() & OTHERS_WRITE == 0)
}

/// Gives a new file to the caller of sudo, unless it stays root's.
fn give_new_to_caller(system: &dyn System, path: &Path, file: &File) -> io::Result<()> {
    if stays_roots(system, path) { Ok(()) } else { give_to_caller(system, file) }
}

/// Writes a file atomically: readers see the old or the new one, never a part.
pub fn write_whole(system: &dyn System, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let held = held::hold(system, path)?;
    let giver = if stays_roots(system, held.path()) { None } else { Some(system) };
    replace(giver, held.path(), bytes)
}

/// Replaces a file in one step, so no reader sees a part. With `giver`, the caller of sudo owns the new one, else root.
pub fn replace(giver: Option<&dyn System>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let written = match open_unnamed(directory_of(path)) {
        Some(file) => {
            write_and_sync(giver, &file, bytes).and_then(|()| Ok(link(&file, path, &temporary)?))
        }
        None => {
            write_new(giver, &temporary, bytes).and_then(|()| std::fs::rename(&temporary, path))
        }
    };
    let written = written.and_then(|()| sync_directory_of(path));
    if written.is_err() {
        // The first error matters; after the rename there is nothing to remove.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Creates an unnamed file; `None` if the filesystem does not support this or cannot name the file later.
fn open_unnamed(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(fs::open(directory, flags, FILE_MODE).ok()?);
    descriptor(&file).exists().then_some(file)
}

fn descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives an unnamed file its name. If that exists, the file first gets a temporary name: `linkat` cannot replace one.
fn link(file: &File, path: &Path, temporary: &Path) -> rustix::io::Result<()> {
    let link_at =
        |name: &Path| fs::linkat(CWD, descriptor(file), CWD, name, AtFlags::SYMLINK_FOLLOW);
    match link_at(path) {
        Err(Errno::EXIST) => {
            link_at(temporary)?;
            fs::rename(temporary, path)
        }
        other => other,
    }
}

fn write_new(giver: Option<&dyn System>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    write_and_sync(giver, &File::from(fs::open(path, flags, FILE_MODE)?), bytes)
}

fn write_and_sync(giver: Option<&dyn System>, mut file: &File, bytes: &[u8]) -> io::Result<()> {
    giver.map_or(Ok(()), |system| give_to_caller(system, file))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes a new file from a stream; the caller syncs, once for many files.
pub fn write_stream(system: &dyn System, path: &Path, from: &mut dyn io::Read) -> io::Result<u64> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = held::hold(system, path)?;
    let mut file = File::from(fs::open(held.path(), flags, FILE_MODE)?);
    give_new_to_caller(system, held.path(), &file)?;
    io::copy(from, &mut file)
}

/// Renames a directory after all its content is on the device.
pub fn place_directory(system: &dyn System, from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (held::hold(system, from)?, held::hold(system, to)?);
    fs::syncfs(File::open(from.path())?)?;
    std::fs::rename(from.path(), to.path())?;
    sync_directory_of(to.path())
}

/// Appends and syncs; truncates the file after a partial write.
pub fn append(system: &dyn System, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = held::hold(system, path)?;
    let file = File::from(fs::open(held.path(), flags, FILE_MODE)?);
    if file.metadata()?.len() == 0 {
        give_new_to_caller(system, held.path(), &file)?;
        sync_directory_of(held.path())?;
    }
    append_to(&file, bytes)
}

/// Creates a private directory for state. New parents belong to the caller of sudo only below one of its directories.
pub fn create_own_directory(system: &dyn System, path: &Path) -> io::Result<()> {
    let directory = directory_of(path);
    let existing = directory.ancestors().find_map(|part| std::fs::metadata(part).ok());
    let is_callers =
        caller(system).zip(existing).is_some_and(|(caller, found)| caller.user == found.uid());
    if is_callers {
        create_directory(system, directory)?;
    } else {
        std::fs::create_dir_all(directory)?;
    }
    match std::fs::DirBuilder::new().mode(OWN_DIRECTORY_MODE).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory_of(path),
    }
}

/// Opens and locks a file of state as `locking` requires; fails at once with the holder if it is locked.
pub fn lock(system: &dyn System, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
    // A pipe must not block root.
    let common = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = match locking {
        Locking::Look | Locking::Glance | Locking::Secret => OFlags::RDONLY,
        Locking::Own => OFlags::RDWR | OFlags::APPEND,
        // Network file systems only lock files that are open for writing.
        Locking::Mark => OFlags::RDWR,
        Locking::New => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
    };
    let failed = |error: Errno| HoldError::Failed(error.into());
    let file = File::from(fs::open(path, common | flags, OWN_FILE_MODE).map_err(failed)?);
    let operation = match locking {
        Locking::Look | Locking::Glance | Locking::Secret => FlockOperation::NonBlockingLockShared,
        Locking::Own | Locking::New | Locking::Mark => FlockOperation::NonBlockingLockExclusive,
    };
    fs::flock(&file, operation).map_err(|error| match error {
        Errno::WOULDBLOCK => lock_holder(system, &file),
        other => failed(other),
    })?;
    if !matches!(locking, Locking::Mark | Locking::Glance) {
        check_own(system, &file).map_err(HoldError::Failed)?;
    }
    if locking == Locking::Secret {
        check_secret(&file).map_err(HoldError::Failed)?;
    }
    if locking == Locking::New
        && let Err(error) = sync_directory_of(path)
    {
        // An empty file would look like that of an ended run.
        if file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
        return Err(HoldError::Failed(error));
    }
    Ok(OwnFile { path: path.to_owned(), file: Some(Locked::new(file)) })
}

pub fn lock_holder(system: &dyn System, file: &File) -> HoldError {
    let Ok(found) = file.metadata() else { return HoldError::Held { process: None, user: None } };
    let numbers = [Some(number(found.dev())), mounted_as(system, file)];
    let numbers: Vec<DeviceNumber> = numbers.into_iter().flatten().collect();
    let process = locked_by(system, &numbers, found.ino());
    hold_error(system, process)
}

/// The lock of a file which this process may not open; `None` if nobody has locked it.
pub fn lock_of_other(system: &dyn System, path: &Path) -> Option<HoldError> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let process = locked_by(system, &[number(found.dev())], found.ino())?;
    Some(hold_error(system, Some(process)))
}

fn hold_error(system: &dyn System, process: Option<u32>) -> HoldError {
    let found = process.and_then(|id| system.status(&Path::new("/proc").join(id.to_string())).ok());
    HoldError::Held { process, user: found.map(|found| found.user) }
}

pub(super) fn number(device: u64) -> DeviceNumber {
    DeviceNumber { major: fs::major(device), minor: fs::minor(device) }
}

/// Returns the device number of a file in the kernel's list of locks, which differs from `stat` on btrfs.
fn mounted_as(system: &dyn System, file: &File) -> Option<DeviceNumber> {
    let path = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
    let descriptor = system.read_text(Path::new(&path)).ok()?;
    let mount_id = descriptor.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    let table = system.read_text(Path::new("/proc/self/mountinfo")).ok()?;
    let line = table.lines().find(|line| line.split(' ').next() == Some(mount_id))?;
    mounts::parse_number(line.split(' ').nth(2)?)
}

/// Returns the process that locked `inode` on a device with one of `numbers`; `None` if the kernel lists no such lock.
fn locked_by(system: &dyn System, numbers: &[DeviceNumber], inode: u64) -> Option<u32> {
    // Device numbers are hexadecimal, the inode is decimal: `00:2f:12345`.
    let is_the_file = |text: &str| {
        let [major, minor, found] = text.split(':').collect::<Vec<_>>()[..] else { return false };
        let hex = |text| u32::from_str_radix(text, 16).ok();
        let number = hex(major).zip(hex(minor)).map(|(major, minor)| DeviceNumber { major, minor });
        number.is_some_and(|number| numbers.contains(&number)) && found.parse() == Ok(inode)
    };
    // The list moves while it is read: one reading may miss a lock.
    let read = |_| system.read_text(Path::new("/proc/locks")).ok();
    let locks: String = (0..3).filter_map(read).collect();
    for line in locks.lines() {
        // 1: FLOCK  ADVISORY  WRITE 4711 00:2f:12345 0 EOF
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, "FLOCK", _, _, process, file, ..] = fields[..]
            && is_the_file(file)
        {
            return process.parse().ok();
        }
    }
    None
}

/// Rejects a file that was removed, or that a user other than this one or root can write.
fn check_own(system: &dyn System, file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    // Removed between opening and locking: its owner has restored everything.
    if found.nlink() == 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    let owned = [0, system.user().id].contains(&found.uid());
    if found.is_file() && owned && found.mode() & OTHERS_WRITE == 0 {
        return Ok(());
    }
    let message = format!(
        "user {} can write the file, and Assay would execute it; check the file, then remove it",
        found.uid()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn check_secret(file: &File) -> io::Result<()> {
    if file.metadata()?.mode() & OTHERS_ANYTHING == 0 {
        return Ok(());
    }
    let message = "other users may have read the file, so it is not secret; remove it";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Reads a file of state; empty if it is not open.
pub fn read_own(file: &OwnFile) -> io::Result<String> {
    let Some(file) = &file.file else { return Ok(String::new()) };
    let length = file.metadata()?.len();
    if length > MOST_OWN_BYTES {
        let message = format!("the file has {length} bytes, more than Assay ever writes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Appends to a locked state file and syncs; truncates the file after a partial write.
pub fn append_own(file: &OwnFile, bytes: &[u8]) -> io::Result<()> {
    let Some(file) = &file.file else { return Err(io::ErrorKind::NotFound.into()) };
    append_to(file, bytes)
}

/// Appends and syncs; after a failure, removes what was appended.
fn append_to(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // Best effort: the caller gets the write's error in any case.
        let _ = file.set_len(before);
    }
    written
}

pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path))?.sync_all() {
        // Some network and FUSE file systems cannot sync directories: nothing more can be done.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

pub fn give_to_caller(system: &dyn System, file: impl AsFd) -> io::Result<()> {
    let Some(caller) = caller(system) else { return Ok(()) };
    let owner = (Uid::from_raw(caller.user), Gid::from_raw(caller.group));
    tolerate_no_owners(fs::fchown(file, Some(owner.0), Some(owner.1)))
}

fn give_path_to_caller(system: &dyn System, path: &Path) -> io::Result<()> {
    let Some(caller) = caller(system) else { return Ok(()) };
    let owner = (Uid::from_raw(caller.user), Gid::from_raw(caller.group));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    tolerate_no_owners(fs::chownat(CWD, path, Some(owner.0), Some(owner.1), flags))
}

/// FAT and some network file systems store no owners.
fn tolerate_no_owners(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(rustix::io::Errno::PERM | rustix::io::Errno::OPNOTSUPP) => Ok(()),
        other => Ok(other?),
    }
}

pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(directory_of(path).join(format!(".{name}.{:016x}.tmp", random())))
}

/// A number that other processes cannot guess by accident; not for secrets.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Whether a name is the prefix with a number of [`random`].
pub(super) fn is_random_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|random| {
        random.len() == 16 && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;

    fn listed(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_no_name_before_it_is_whole() {
        let scratch = std::env::temp_dir().join(format!("assay-unnamed-{:016x}", random()));
        std::fs::create_dir(&scratch).unwrap();
        let (path, temporary) = (scratch.join("f"), scratch.join("t"));
        for text in ["first", "second"] {
            let before = listed(&scratch);
            // Without unnamed files there is no guarantee.
            let Some(file) = open_unnamed(&scratch) else { break };
            write_and_sync(None, &file, text.as_bytes()).unwrap();
            assert_eq!(listed(&scratch), before);
            link(&file, &path, &temporary).unwrap();
            assert_eq!(listed(&scratch), ["f"]);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        write_new(None, &temporary, b"named").unwrap();
        assert!(write_new(None, &temporary, b"again").is_err());
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn who_has_a_file_is_told_by_device_and_inode() {
        let fake = Fake::new();
        let locks = "1: FLOCK  ADVISORY  WRITE 11 00:2e:12345 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 12 00:2f:12345 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 00:2f:12345 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 14 00:2f:12345 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 15 08:10:777 0 EOF\n";
        fake.put("/proc/locks", locks);
        let number = |major, minor| DeviceNumber { major, minor };
        assert_eq!(locked_by(&fake, &[number(0, 0x2f)], 12345), Some(14));
        assert_eq!(locked_by(&fake, &[number(9, 9), number(8, 16)], 777), Some(15));
        for (numbers, inode) in [(number(0, 0x2f), 12346), (number(1, 0x2f), 12345)] {
            assert_eq!(locked_by(&fake, &[numbers], inode), None);
        }
        fake.put("/proc/locks", "nonsense\n1: FLOCK\n");
        assert_eq!(locked_by(&fake, &[number(0, 0x2f)], 12345), None);
    }
}
