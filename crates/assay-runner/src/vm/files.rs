//! Unnamed files of a guest on the host. QEMU opens them through this process's descriptors.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::vm::Done;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

#[derive(Debug)]
pub struct Files {
    place: PathBuf,
    open: BTreeMap<String, File>,
}

impl Files {
    pub fn new(place: &Path) -> Self {
        Self { place: place.to_owned(), open: BTreeMap::new() }
    }

    /// A new empty file, and the path at which other processes of this user can open it.
    pub fn make(&mut self, name: &str) -> Done<PathBuf> {
        let file = unnamed(&self.place)
            .map_err(|error| format!("temporary file in {}: {error}", self.place.display()))?;
        let path = path_of(&file);
        self.open.insert(name.to_owned(), file);
        Ok(path)
    }

    pub fn filled(&mut self, name: &str, bytes: &[u8]) -> Done<PathBuf> {
        let path = self.make(name)?;
        let written = self.open.get_mut(name).map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|error| self.full(bytes.len() as u64, &error))?;
        Ok(path)
    }

    /// A new file of zeros that takes no room yet.
    pub fn sparse(&mut self, name: &str, bytes: u64) -> Done<PathBuf> {
        let path = self.make(name)?;
        let grown = self.open.get(name).map_or(Ok(()), |file| file.set_len(bytes));
        grown.map_err(|error| self.full(bytes, &error))?;
        Ok(path)
    }

    pub fn let_go(&mut self, name: &str) {
        self.open.remove(name);
    }

    fn full(&self, bytes: u64, error: &io::Error) -> String {
        let place = self.place.display();
        format!("cannot store {} MiB of virtual machine files in {place}: {error}", bytes >> 20)
    }

    /// Returns the content of a file from offset `at` on; empty if there is none.
    pub fn from(&self, name: &str, at: u64) -> Vec<u8> {
        let Some(file) = self.open.get(name) else { return Vec::new() };
        let length = file.metadata().map_or(0, |seen| seen.len());
        let mut bytes = vec![0; length.saturating_sub(at) as usize];
        // It only grows: what was there is there.
        if file.read_exact_at(&mut bytes, at).is_ok() { bytes } else { Vec::new() }
    }
}

/// At which others open it; they must be this user's.
fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// Creates a file without a name, which the kernel removes when it is closed.
fn unnamed(place: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::open(place, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => create_and_unlink(place),
        Err(error) => Err(error.into()),
    }
}

/// Creates a file and removes its name at once, for file systems without unnamed files.
fn create_and_unlink(place: &Path) -> io::Result<File> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = place.join(format!("assay-guest-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

pub fn room(place: &Path) -> Done<u64> {
    let seen = rustix::fs::statvfs(place);
    let seen = seen.map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(seen.f_bavail.saturating_mul(seen.f_frsize))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn others_open_a_file_that_has_no_name() {
        let place = std::env::temp_dir();
        let mut files = Files::new(&place);
        let path = files.filled("first", b"12345").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"12345");
        File::options().append(true).open(&path).unwrap().write_all(b"67").unwrap();
        assert_eq!((files.from("first", 3), files.from("none", 0)), (b"4567".to_vec(), Vec::new()));
        let drive = files.sparse("drive", 1 << 40).unwrap();
        assert_eq!(fs::metadata(drive).unwrap().len(), 1 << 40);
        assert_eq!(files.open["first"].metadata().unwrap().nlink(), 0);
        files.let_go("first");
        assert!(files.from("first", 0).is_empty());
    }

    #[test]
    fn a_file_that_had_a_name_for_a_moment_has_none() {
        let place = std::env::temp_dir();
        let file = create_and_unlink(&place).unwrap();
        assert_eq!(fs::metadata(path_of(&file)).unwrap().nlink(), 0);
    }
}
