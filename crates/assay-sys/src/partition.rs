//! Partitions that exist only in the kernel: nothing is written to the disk (`BLKPG`).

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Opcode, Setter, opcode};

const BLKPG: Opcode = opcode::none(0x12, 105);
const ADD: i32 = 1;
const REMOVE: i32 = 2;

/// `struct blkpg_partition`.
#[repr(C)]
#[derive(Default)]
struct Partition {
    start: i64,
    length: i64,
    number: i32,
    /// Names of the device and of the volume, which Assay leaves empty.
    names: [u32; 32],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
struct Argument {
    operation: i32,
    flags: i32,
    length: i32,
    data: *const Partition,
}

/// Adds a partition over a byte range of an open disk, in whole sectors, until removed or the next boot. Fails with
/// `EBUSY` if the number is used or the range overlaps, `EINVAL` on a disk without partitions (a loop device without
/// partition support).
pub fn add_partition(disk: BorrowedFd<'_>, number: u32, range: Range<u64>) -> io::Result<()> {
    let partition = Partition {
        start: range.start as i64,
        length: range.end.saturating_sub(range.start) as i64,
        number: number as i32,
        ..Partition::default()
    };
    change_partition(disk, ADD, &partition)
}

/// Removes a partition from the kernel's view of an open disk; `EBUSY` while in use.
pub fn remove_partition(disk: BorrowedFd<'_>, number: u32) -> io::Result<()> {
    change_partition(disk, REMOVE, &Partition { number: number as i32, ..Partition::default() })
}

fn change_partition(disk: BorrowedFd<'_>, operation: i32, partition: &Partition) -> io::Result<()> {
    let argument = Argument {
        operation,
        flags: 0,
        length: size_of::<Partition>() as i32,
        data: std::ptr::from_ref(partition),
    };
    // SAFETY: the request is BLKPG, whose argument is this struct with a pointer to the partition; both are only read
    // and live until the call returns.
    unsafe { ioctl::ioctl(disk, Setter::<BLKPG, Argument>::new(argument))? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use assay_testkit::needs::{Need, have};

    use super::*;
    use crate::test_support::Scratch;
    use crate::{LoopOptions, attach_loop, detach_loop, free_loop};

    #[test]
    fn a_regular_file_has_no_partitions() {
        let scratch = Scratch::new("partition");
        let error = add_partition(scratch.file.as_fd(), 1, 0..4096).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_partition_comes_and_goes_and_nothing_is_written() {
        if !have(&[Need::Root]) {
            return;
        }
        let scratch = Scratch::for_a_device("partitioned");
        scratch.file.set_len(16 << 20).unwrap();
        let open = |path: &str| File::options().read(true).write(true).open(path).unwrap();
        let options = LoopOptions { partitions: true, ..LoopOptions::default() };
        let (number, disk) = loop {
            let number = free_loop(open("/dev/loop-control").as_fd()).unwrap();
            let disk = open(&format!("/dev/loop{number}"));
            if attach_loop(disk.as_fd(), scratch.file.as_fd(), options).is_ok() {
                break (number, disk);
            }
        };
        let added = add_partition(disk.as_fd(), 1, 4 << 20..12 << 20);
        let size = std::fs::read_to_string(format!("/sys/class/block/loop{number}p1/size"));
        let removed = remove_partition(disk.as_fd(), 1);
        detach_loop(disk.as_fd()).unwrap();
        added.unwrap();
        removed.unwrap();
        assert_eq!(size.unwrap().trim(), (8 << 20 >> 9).to_string());
        let mut bytes = vec![1; 1 << 20];
        std::os::unix::fs::FileExt::read_exact_at(&scratch.file, &mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn layouts_are_the_kernels() {
        assert_eq!(size_of::<Partition>(), 152);
    }
}
