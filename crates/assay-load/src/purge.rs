//! Tells a target that its area holds nothing, so that a drive begins as if it were fresh.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::retry_on_intr;
use rustix::ioctl::{self, Opcode, Setter, opcode};

/// Discards an area: of a block device by `BLKDISCARD`, of a file by a hole. What was there is lost.
///
/// # Errors
/// Why that cannot be done, in words: many devices and some file systems have no discard.
pub fn discard(file: BorrowedFd<'_>, area: &Range<u64>) -> Result<(), String> {
    let done = match fstat(file).map(|status| FileType::from_raw_mode(status.st_mode)) {
        Ok(FileType::BlockDevice) => discard_blocks(file, area),
        Ok(_) => punch(file, area),
        Err(error) => Err(error.into()),
    };
    done.map_err(|error| error.to_string())
}

fn punch(file: BorrowedFd<'_>, area: &Range<u64>) -> io::Result<()> {
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let length = area.end.saturating_sub(area.start);
    Ok(retry_on_intr(|| fallocate(file, how, area.start, length))?)
}

fn discard_blocks(device: BorrowedFd<'_>, area: &Range<u64>) -> io::Result<()> {
    const BLKDISCARD: Opcode = opcode::none(0x12, 119);
    let argument = [area.start, area.end.saturating_sub(area.start)];
    // SAFETY: the request is BLKDISCARD, whose argument is two u64, only read.
    unsafe {
        let request = Setter::<BLKDISCARD, [u64; 2]>::new(argument);
        ioctl::ioctl(device, request)?;
    }
    Ok(())
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
    fn what_holds_no_bytes_says_why() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(!discard(reader.as_fd(), &(0..4096)).unwrap_err().is_empty());
    }
}
