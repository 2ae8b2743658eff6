//! Opens paths of the caller of sudo component by component: root's writes go where the caller sees them, and no link
//! of another user leads root elsewhere. Only links in directories that root alone can write are followed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::files::directory_of;
use assay_machine::system::System;
use assay_machine::system::identity::caller;
use assay_machine::system::trust::OTHERS_WRITE;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

const MOST_LINKS: usize = 40;
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path whose directory stays open: the checked directory is the one written to.
pub struct Held {
    path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl Held {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens the directory of a path as [`open`] does; returns the path itself if there is no caller.
pub fn hold(system: &dyn System, path: &Path) -> io::Result<Held> {
    if caller(system).is_none() {
        return Ok(Held { path: path.to_owned(), _directory: None });
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = open(directory_of(path))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
    Ok(Held { path, _directory: Some(directory) })
}

/// Opens a directory part by part; fails if a link of another user is on the way, or a directory does not exist.
pub fn open(directory: &Path) -> io::Result<OwnedFd> {
    let mut parts: VecDeque<OsString> = VecDeque::new();
    put_before(&mut parts, directory);
    let start = if directory.is_absolute() { "/" } else { "." };
    let mut at = fs::openat(CWD, start, DIRECTORY, Mode::empty())?; // the part opened so far
    let mut links = 0;
    while let Some(part) = parts.pop_front() {
        let found = fs::statat(&at, &part, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            // A directory replaced by a link in between fails here.
            at = fs::openat(&at, &part, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
            continue;
        }
        let parent = fs::fstat(&at)?;
        if parent.st_uid != 0 || parent.st_mode & OTHERS_WRITE != 0 {
            let message = format!(
                "{} in {} is a symbolic link of another user, which root does not follow; replace it \
                 with a directory, or set ASSAY_HOME to the link target",
                Path::new(&part).display(),
                directory.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = fs::readlinkat(&at, &part, Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            at = fs::openat(CWD, "/", DIRECTORY, Mode::empty())?;
        }
        put_before(&mut parts, &target);
    }
    Ok(at)
}

/// Puts the parts of a path before those that are left, as for a link on the way.
fn put_before(parts: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => parts.push_front(name.to_owned()),
            Component::ParentDir => parts.push_front("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::files::random;
    use rustix::fs::{Gid, Uid};
    use std::os::unix::fs::symlink;

    /// A directory that does not belong to root, for any test user.
    fn somebodys() -> PathBuf {
        let scratch = std::env::temp_dir().join(format!("assay-held-{:016x}", random()));
        std::fs::create_dir_all(scratch.join("there/below")).unwrap();
        if rustix::process::geteuid().is_root() {
            let (user, group) = (Some(Uid::from_raw(65534)), Some(Gid::from_raw(65534)));
            fs::chown(&scratch, user, group).unwrap();
        }
        scratch
    }

    #[test]
    fn a_link_in_somebody_elses_directory_is_not_followed() {
        let scratch = somebodys();
        symlink("there", scratch.join("link")).unwrap();
        symlink("/etc", scratch.join("away")).unwrap();
        for way in ["there", "there/below", "there/../there/below", "./there"] {
            open(&scratch.join(way)).unwrap();
        }
        for way in ["link", "link/below", "away", "there/../away"] {
            let error = open(&scratch.join(way)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{way}");
            assert!(error.to_string().contains("set ASSAY_HOME"), "{error}");
        }
        let absent = open(&scratch.join("absent/below")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn links_of_roots_are_followed_and_end() {
        // Every system has one of these.
        open(Path::new("/proc/self")).unwrap();
        open(Path::new("/")).unwrap();
        open(Path::new("/dev/../proc/self/ns")).unwrap();
    }
}
