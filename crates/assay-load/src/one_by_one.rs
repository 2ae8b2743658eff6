//! Sequential writes and syncs.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use crate::buffer::Buffer;
use crate::{Class, LoadError, Target, clock};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2, retry_on_intr};

pub struct OneByOne<'a> {
    file: BorrowedFd<'a>,
    buffer: Buffer,
    bytes: usize,
}

/// A target for sequential writes and syncs. Errors are messages.
pub trait Medium {
    /// Writes bytes at an offset; `through` makes the write durable before it returns (`RWF_DSYNC`).
    fn write(&mut self, at_bytes: u64, bytes: &[u8], through: bool) -> Result<(), String>;

    /// Flushes the writes to the medium: `fdatasync`, or `fsync` including all metadata.
    fn sync(&mut self, all: bool) -> Result<(), String>;

    fn read(&mut self, at_bytes: u64, into: &mut [u8]) -> Result<(), String>;

    fn now_ns(&self) -> u64;
}

impl<'a> OneByOne<'a> {
    pub fn open(target: &Target<'a>, bytes: u32) -> Result<Self, LoadError> {
        let Some(file) = target.file else {
            return Err(LoadError::Invalid("a simulated drive does not store data".to_owned()));
        };
        let buffer = Buffer::new(1, bytes, target.memory_alignment.max(512))
            .map_err(|source| LoadError::Setup { what: "a buffer", source })?;
        Ok(Self { file, buffer, bytes: bytes as usize })
    }

    fn buffer_part(&mut self, bytes: usize) -> Result<&mut [u8], LoadError> {
        let most = self.bytes;
        let part = self.buffer.slot_mut(0).get_mut(..bytes);
        part.ok_or_else(|| LoadError::Invalid(format!("{bytes} bytes: use at most {most}")))
    }
}

impl Medium for OneByOne<'_> {
    fn write(&mut self, offset: u64, bytes: &[u8], through: bool) -> Result<(), String> {
        let file = self.file;
        let buffer = self.buffer_part(bytes.len())?;
        buffer.copy_from_slice(bytes);
        let step = || {
            if through {
                pwritev2(file, &[IoSlice::new(buffer)], offset, ReadWriteFlags::DSYNC)
            } else {
                pwrite(file, buffer, offset)
            }
        };
        Ok(check_transfer(Class::Write, offset, bytes.len(), retry_on_intr(step))?)
    }

    fn sync(&mut self, all: bool) -> Result<(), String> {
        let done = retry_on_intr(|| if all { fsync(self.file) } else { fdatasync(self.file) });
        let failed = |errno| LoadError::Engine { what: "sync", source: io::Error::from(errno) };
        Ok(done.map_err(failed)?)
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        let file = self.file;
        let buffer = self.buffer_part(into.len())?;
        let got = retry_on_intr(|| pread(file, &mut *buffer, offset));
        into.copy_from_slice(buffer);
        Ok(check_transfer(Class::Read, offset, into.len(), got)?)
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }
}

fn check_transfer(
    class: Class,
    offset: u64,
    asked: usize,
    got: Result<usize, Errno>,
) -> Result<(), LoadError> {
    match got {
        Ok(got) if got == asked => Ok(()),
        Ok(got) => Err(LoadError::Short { class, offset, asked: asked as u32, got: got as u32 }),
        Err(error) => Err(LoadError::Operation { class, offset, source: error.into() }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    #[test]
    fn what_was_written_in_whatever_way_is_read_and_too_much_is_refused() {
        let file = memfd_create("one-by-one", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
        let mut own = OneByOne::open(&target, 1024).unwrap();
        own.write(512, &[7; 1024], false).unwrap();
        own.write(1024, &[9; 512], true).unwrap();
        own.sync(false).unwrap();
        own.sync(true).unwrap();
        let mut seen = [0; 1024];
        own.read(512, &mut seen).unwrap();
        assert!(seen[..512] == [7; 512] && seen[512..] == [9; 512]);
        assert!(own.write(0, &[1; 1025], false).is_err(), "more than its buffer");
        let end = own.read(4000, &mut seen).unwrap_err();
        assert!(end.contains(" 96 "), "{end}");
        let none = Target { file: None, memory_alignment: 512 };
        assert!(OneByOne::open(&none, 512).is_err());
    }
}
