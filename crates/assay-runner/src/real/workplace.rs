//! Working directories of Assay: marked and locked by a file in them, which allows a later run to distinguish a
//! leftover from a directory in use.
//!
//! All content is removed through handles, never through a path that another user may have changed; the mark goes last.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{area, files};
use assay_machine::system::{Leftover, System, WorkDirectory};
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

const PREFIX: &str = ".assay-files-";
const MARK: &CStr = c".assay";
const MODE: Mode = Mode::from_raw_mode(0o700);
const ATTEMPTS: usize = 16;

/// Creates a marked and locked directory for a run's files; retries if another run removes it as a leftover.
pub fn create(system: &dyn System, directory: &Path) -> io::Result<WorkDirectory> {
    for _ in 0..ATTEMPTS {
        let path = directory.join(format!("{PREFIX}{:016x}", files::random()));
        match fs::mkdirat(CWD, &path, MODE) {
            Err(Errno::EXIST) => continue,
            other => other?,
        }
        match create_mark(system, &path) {
            Ok(Some(work)) => return Ok(work),
            // Another run removed it as a leftover between two steps.
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                // Report the first error; a remaining directory is found as a leftover.
                let _ = fs::unlinkat(CWD, &path, AtFlags::REMOVEDIR);
                return Err(error);
            }
        }
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        "another program keeps deleting the subdirectories",
    ))
}

/// Marks and locks a new directory; `None` if another run removed it as a leftover.
fn create_mark(system: &dyn System, path: &Path) -> io::Result<Option<WorkDirectory>> {
    let mark_path = path.join(MARK.to_str().unwrap_or_default());
    let mark = match area::mark_at(system, &mark_path) {
        Ok(mark) => mark,
        Err(error) => {
            let _ = std::fs::remove_file(&mark_path);
            return Err(error);
        }
    };
    let Some((mark, locked)) = mark else { return Ok(None) };
    let note = (!locked).then(|| {
        "this filesystem does not support locks, so files remain if this run is killed".to_owned()
    });
    let handle = open(CWD, path)?;
    Ok(Some(WorkDirectory { handle, path: path.to_owned(), mark, note }))
}

fn open(at: BorrowedFd<'_>, path: impl rustix::path::Arg) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(at, path, flags, Mode::empty())?.into())
}

pub fn remove(work: &WorkDirectory) -> io::Result<()> {
    remove_all(&work.handle, &work.path)
}

/// Removes a directory; its mark goes last, so that until then other runs recognize a leftover.
fn remove_all(directory: &File, path: &Path) -> io::Result<()> {
    let device = directory.metadata()?.dev();
    empty(directory.as_fd(), device, Some(MARK))?;
    match fs::unlinkat(directory, MARK, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    match area::leads_to(path, directory) {
        Ok(true) => Ok(fs::unlinkat(CWD, path, AtFlags::REMOVEDIR)?),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes everything in a directory on `device` except one name. Fails if something is mounted there.
fn empty(directory: BorrowedFd<'_>, device: u64, kept: Option<&CStr>) -> io::Result<()> {
    for (name, kind) in entries(directory)? {
        if Some(name.as_c_str()) == kept {
            continue;
        }
        if kind != FileType::Directory {
            match fs::unlinkat(directory, &*name, AtFlags::empty()) {
                // Not every file system lists the type of its entries.
                Err(Errno::ISDIR | Errno::PERM) if kind == FileType::Unknown => {}
                other => {
                    other?;
                    continue;
                }
            }
        }
        let below = open(directory, &*name)?;
        if below.metadata()?.dev() != device {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "it contains a mount"));
        }
        empty(below.as_fd(), device, None)?;
        fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Lists a directory with the types of its entries, which are unknown on some file systems.
fn entries(directory: BorrowedFd<'_>) -> io::Result<Vec<(CString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            found.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(found)
}

pub fn leftovers(system: &dyn System, directory: &Path) -> io::Result<Vec<Leftover>> {
    let names = system.list(directory)?;
    let paths = names.iter().filter(|name| is_own_name(name)).map(|name| directory.join(name));
    // A directory that cannot be opened, locked or read is not Assay's.
    let left = paths.filter(|path| open_leftover(system, path).is_ok());
    Ok(left.map(|path| Leftover { path, size_bytes: 0 }).collect())
}

pub fn remove_leftover(system: &dyn System, path: &Path) -> io::Result<()> {
    let (directory, _locked) = open_leftover(system, path)?;
    remove_all(&directory, path)
}

/// Opens a directory that looks like a leftover, with its locked mark; an empty one has no mark.
fn open_leftover(system: &dyn System, path: &Path) -> io::Result<(File, Option<File>)> {
    let directory = open(CWD, path)?;
    if !area::is_ours(system, directory.metadata()?.uid()) {
        return Err(area::not_a_leftover("the directory belongs to another user"));
    }
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    match area::lock_leftover(system, &path.join(MARK.to_str().unwrap_or_default())) {
        Ok(mark) => Ok((directory, Some(mark))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if entries(directory.as_fd())?.is_empty() {
                return Ok((directory, None));
            }
            Err(area::not_a_leftover("the directory has no mark"))
        }
        Err(error) => Err(error),
    }
}

pub fn is_own_name(name: &str) -> bool {
    files::is_random_name(name, PREFIX)
}
