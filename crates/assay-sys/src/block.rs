//! Questions to block devices.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Getter, Opcode, Setter, opcode};

/// Bytes of an open block device (`BLKGETSIZE64`). Fails with `ENOTTY` on anything else.
pub fn block_device_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    // The number is built from `size_t`, but the kernel writes 64 bits on every machine.
    const BLKGETSIZE64: ioctl::Opcode = opcode::read::<usize>(0x12, 114);
    // SAFETY: the request is BLKGETSIZE64, for which the kernel writes one u64.
    let request = unsafe { Getter::<BLKGETSIZE64, u64>::new() };
    // SAFETY: the request contains the u64 that the kernel writes to.
    Ok(unsafe { ioctl::ioctl(device, request) }?)
}

/// Discards a byte range of an open block device (`BLKDISCARD`); start and length are multiples of its logical block
/// size. Fails with `EOPNOTSUPP` if the device does not support discards, and with `ENOTTY` on anything else.
pub fn discard(device: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    const BLKDISCARD: Opcode = opcode::none(0x12, 119);
    let argument = [range.start, range.end.saturating_sub(range.start)];
    // SAFETY: the request is BLKDISCARD, whose argument is two u64, only read.
    unsafe { ioctl::ioctl(device, Setter::<BLKDISCARD, [u64; 2]>::new(argument))? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::test_support::Scratch;

    #[test]
    fn a_regular_file_is_no_block_device() {
        let scratch = Scratch::new("block");
        let error = block_device_bytes(scratch.file.as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        let error = discard(scratch.file.as_fd(), 0..4096).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}
