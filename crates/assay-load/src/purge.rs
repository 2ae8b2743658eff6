//! Discards the area of a target; a drive then begins like a fresh one.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{self, Opcode, Setter, opcode};

/// Discards an area: `BLKDISCARD` on a block device, a hole in a file. Its data is lost.
///
/// # Errors
/// The reason as a message: many devices and some file systems do not support discards.
pub fn discard(file: BorrowedFd<'_>, area: &Range<u64>) -> Result<(), String> {
    let (start, bytes) = (area.start, area.end.saturating_sub(area.start));
    let done = match fstat(file).map(|status| FileType::from_raw_mode(status.st_mode)) {
        Ok(FileType::BlockDevice) => discard_blocks(file, start, bytes),
        Ok(_) => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            retry_on_intr(|| fallocate(file, flags, start, bytes))
        }
        Err(errno) => Err(errno),
    };
    done.map_err(|errno| std::io::Error::from(errno).to_string())
}

#[inline]
pub(crate) fn discard_blocks(device: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    const BLKDISCARD: Opcode = opcode::none(0x12, 119);
    // SAFETY: the request is BLKDISCARD, whose argument is two u64, only read.
    unsafe {
        let request = Setter::<BLKDISCARD, [u64; 2]>::new([start, bytes]);
        ioctl::ioctl(device, request)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::io::{pread, pwrite};

    use super::*;

    #[test]
    fn an_area_of_a_file_holds_nothing_afterwards_and_the_rest_of_it_stays() {
        let file = memfd_create("purge", MemfdFlags::CLOEXEC).unwrap();
        pwrite(&file, &[7; 3 * 4096], 0).unwrap();
        discard(file.as_fd(), &(4096..8192)).unwrap();
        let mut seen = [1; 3 * 4096];
        assert_eq!(pread(&file, &mut seen, 0).unwrap(), seen.len());
        assert!(seen[..4096].iter().chain(&seen[8192..]).all(|byte| *byte == 7));
        assert!(seen[4096..8192].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_device_alone_takes_a_discard() {
        let file = memfd_create("purge", MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(discard_blocks(file.as_fd(), 0, 4096), Err(Errno::NOTTY));
    }

    #[test]
    fn what_holds_no_bytes_says_why() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(!discard(reader.as_fd(), &(0..4096)).unwrap_err().is_empty());
    }
}
