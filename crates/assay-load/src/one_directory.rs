//! Files of one directory, call by call, each finished before the next one begins.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags, fdatasync, fsync};
use rustix::io::{Errno, retry_on_intr};

const FILE_MODE: Mode = Mode::from_raw_mode(0o600);

pub struct OneDirectory<'a> {
    directory: BorrowedFd<'a>,
    file: Option<OwnedFd>,
}

/// The directory of a program with one open file.
pub trait Directory {
    /// Creates a file with a new name; `through` makes its writes durable before they return (`O_DSYNC`).
    fn create(&mut self, name: &str, through: bool) -> Result<(), String>;

    /// Writes bytes to the end of the file that was opened last.
    fn write(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Flushes the file's content to the medium: `fdatasync`, or `fsync` if `all` metadata is included.
    fn sync_file(&mut self, all: bool) -> Result<(), String>;

    /// Renames a file; replaces an existing target.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), String>;

    fn remove(&mut self, name: &str) -> Result<(), String>;

    /// Has the names on the medium: `fsync` of the directory.
    fn sync_names(&mut self) -> Result<(), String>;

    fn names(&mut self) -> Result<Vec<String>, String>;

    /// Reads at most this many bytes of a file.
    fn read(&mut self, name: &str, most_bytes: u64) -> Result<Vec<u8>, String>;
}

impl<'a> OneDirectory<'a> {
    /// Uses a directory whose files this value may create and remove.
    pub const fn new(directory: BorrowedFd<'a>) -> Self {
        Self { directory, file: None }
    }

    fn open(&self) -> Result<BorrowedFd<'_>, String> {
        self.file.as_ref().map(AsFd::as_fd).ok_or_else(|| "no file was opened".to_owned())
    }
}

impl Directory for OneDirectory<'_> {
    fn create(&mut self, name: &str, through: bool) -> Result<(), String> {
        let mut flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        flags.set(OFlags::DSYNC, through);
        let open = || fs::openat(self.directory, name, flags, FILE_MODE);
        self.file = Some(retry_on_intr(open).map_err(|errno| failed("open a new file", errno))?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let file = self.open()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let step = || rustix::io::write(file, rest);
            let written = retry_on_intr(step).map_err(|errno| failed("write to a file", errno))?;
            if written == 0 {
                return Err(failed("write to a file", Errno::NOSPC));
            }
            rest = &rest[written..];
        }
        Ok(())
    }

    fn sync_file(&mut self, all: bool) -> Result<(), String> {
        let file = self.open()?;
        let done = retry_on_intr(|| if all { fsync(file) } else { fdatasync(file) });
        done.map_err(|errno| failed("sync a file", errno))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        let step = || fs::renameat(self.directory, from, self.directory, to);
        retry_on_intr(step).map_err(|errno| failed("rename a file", errno))
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        let step = || fs::unlinkat(self.directory, name, AtFlags::empty());
        retry_on_intr(step).map_err(|errno| failed("remove a file", errno))
    }

    fn sync_names(&mut self) -> Result<(), String> {
        retry_on_intr(|| fsync(self.directory)).map_err(|errno| failed("sync the directory", errno))
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        let because = |errno| failed("read the directory", errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(self.directory).map_err(because)? {
            let name = entry.map_err(because)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read(&mut self, name: &str, most_bytes: u64) -> Result<Vec<u8>, String> {
        let because = |errno| failed("read a file", errno);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let open = || fs::openat(self.directory, name, flags, Mode::empty());
        let file = retry_on_intr(open).map_err(because)?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let left = most_bytes.saturating_sub(bytes.len() as u64).min(piece.len() as u64);
            let to = &mut piece[..left as usize];
            let got = retry_on_intr(|| rustix::io::read(&file, &mut *to)).map_err(because)?;
            if got == 0 {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&to[..got]);
        }
    }
}

fn failed(what: &str, errno: Errno) -> String {
    format!("cannot {what}: {}", io::Error::from(errno))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use assay_testkit::Scratch;

    use super::*;

    #[test]
    fn files_are_made_renamed_removed_and_read() {
        let place = Scratch::new("one-directory").unwrap();
        let directory = File::open(place.path()).unwrap();
        let mut own = OneDirectory::new(directory.as_fd());
        assert!(own.write(b"one").is_err() && own.sync_file(true).is_err(), "none is open");
        own.create("one", false).unwrap();
        own.write(b"one").unwrap();
        own.write(b" and on").unwrap();
        own.sync_file(false).unwrap();
        let sevens = vec![7; 100_000];
        own.create("two", true).unwrap();
        own.write(&sevens).unwrap();
        own.sync_file(true).unwrap();
        assert!(own.create("one", false).is_err(), "the name is taken");
        own.rename("one", "three").unwrap();
        own.sync_names().unwrap();
        let mut names = own.names().unwrap();
        names.sort_unstable();
        assert_eq!(names, ["three", "two"]);
        assert_eq!(own.read("three", 100).unwrap(), b"one and on");
        assert_eq!(own.read("two", 1 << 20).unwrap(), sevens);
        assert_eq!(own.read("two", 70_000).unwrap().len(), 70_000);
        assert!(own.read("one", 100).is_err());
        own.rename("two", "three").unwrap();
        own.remove("three").unwrap();
        let again = own.remove("three").unwrap_err();
        assert!(again.starts_with("cannot remove a file"), "{again}");
        assert!(own.rename("three", "four").is_err());
        assert_eq!(own.names().unwrap(), Vec::<String>::new());
    }
}
