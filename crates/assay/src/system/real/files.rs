//! The tool's own files: written whole and synced; under sudo they belong to the caller.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, Gid, Mode, OFlags, Uid};

use crate::system::System;
use crate::system::identity::caller;

const FILE_MODE: Mode = Mode::from_raw_mode(0o644);

/// Makes a directory and its parents.
pub fn create_directory(system: &dyn System, path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|part| !part.as_os_str().is_empty() && !part.is_dir())
        .collect();
    for part in missing.into_iter().rev() {
        match std::fs::create_dir(part) {
            Ok(()) => give_path_to_caller(system, part)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && part.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes a file so that readers see the old or the new one, and never a part.
pub fn write_whole(system: &dyn System, path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |temporary| write_new(Some(system), temporary, bytes))
}

/// The same for a file of the machine's configuration: it stays root's, whoever called sudo.
pub fn write_of_system(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |temporary| write_new(None, temporary, bytes))
}

fn replace(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let written = write(&temporary)
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| sync_directory_of(path));
    if written.is_err() {
        // The first error is what matters; after the rename there is nothing to remove.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_new(giver: Option<&dyn System>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::open(path, flags, FILE_MODE)?);
    giver.map_or(Ok(()), |system| give_to_caller(system, &file))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Appends and syncs; a write that fails half-way is taken back.
pub fn append(system: &dyn System, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::open(path, flags, FILE_MODE)?);
    let before = file.metadata()?.len();
    if before == 0 {
        give_to_caller(system, &file)?;
        sync_directory_of(path)?;
    }
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // Best effort: the caller hears of the write's failure in any case.
        let _ = file.set_len(before);
    }
    written
}

/// Makes names in the directory of a path last.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path))?.sync_all() {
        // Some network and FUSE file systems cannot sync directories: nothing more can be done.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// Gives an open file to the caller of sudo, if there is one.
pub fn give_to_caller(system: &dyn System, file: impl AsFd) -> io::Result<()> {
    let Some(caller) = caller(system) else {
        return Ok(());
    };
    let owner = (Uid::from_raw(caller.user), Gid::from_raw(caller.group));
    tolerate_no_owners(fs::fchown(file, Some(owner.0), Some(owner.1)))
}

fn give_path_to_caller(system: &dyn System, path: &Path) -> io::Result<()> {
    let Some(caller) = caller(system) else {
        return Ok(());
    };
    let owner = (Uid::from_raw(caller.user), Gid::from_raw(caller.group));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    tolerate_no_owners(fs::chownat(CWD, path, Some(owner.0), Some(owner.1), flags))
}

/// FAT and some network file systems keep no owners.
fn tolerate_no_owners(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(rustix::io::Errno::PERM | rustix::io::Errno::OPNOTSUPP) => Ok(()),
        other => Ok(other?),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(directory_of(path).join(format!(".{name}.{:016x}.tmp", random())))
}

/// A number that no other process guesses by accident; not for secrets.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
