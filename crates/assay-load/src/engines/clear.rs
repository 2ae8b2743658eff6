//! Trims and zeroing.
//!
//! On a file, `fallocate` does both: `PUNCH_HOLE` trims, `ZERO_RANGE` zeroes, and the size stays. On a block device,
//! `fallocate` zeroes too, but `PUNCH_HOLE` writes zeros: a trim uses `BLKDISCARD` or io_uring's discard (Linux 6.12).

use std::io;
use std::os::fd::BorrowedFd;

use crate::engine::Move;
use crate::purge::discard_blocks;
use crate::{Class, Job, LoadError};
use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::{Errno, retry_on_intr};

#[derive(Clone, Copy, Debug)]
pub(super) struct Clearing {
    is_device: bool,
    trims: bool,
    zeroes: bool,
}

/// Flags of `fallocate` for trims and zeroing.
pub(super) fn flags(way: Move) -> FallocateFlags {
    let what = match way {
        Move::Zero => FallocateFlags::ZERO_RANGE,
        Move::Read | Move::Write | Move::Trim | Move::Sync => FallocateFlags::PUNCH_HOLE,
    };
    what | FallocateFlags::KEEP_SIZE
}

impl Clearing {
    /// Looks at the target of a job that clears anything.
    pub(super) fn new(job: &Job, file: BorrowedFd<'_>) -> Result<Self, LoadError> {
        let [trims, zeroes] = [Class::Trim, Class::Zero].map(|class| job.has(class));
        let is_device = if trims || zeroes {
            let status = fstat(file).map_err(|errno| LoadError::Setup {
                what: "trims and zeroing",
                source: io::Error::from(errno),
            })?;
            FileType::from_raw_mode(status.st_mode) == FileType::BlockDevice
        } else {
            false
        };
        Ok(Self { is_device, trims, zeroes })
    }

    pub(super) const fn discards(self) -> bool {
        self.trims && self.is_device
    }

    /// Returns whether any operation uses `fallocate`, which io_uring passes to workers.
    #[cfg(any(test, target_pointer_width = "64"))]
    pub(super) const fn allocates(self) -> bool {
        self.zeroes || (self.trims && !self.is_device)
    }

    #[inline]
    pub(super) fn run(
        self,
        file: BorrowedFd<'_>,
        way: Move,
        offset: u64,
        bytes: u64,
    ) -> Result<(), Errno> {
        if way == Move::Trim && self.is_device {
            return discard_blocks(file, offset, bytes);
        }
        retry_on_intr(|| fallocate(file, flags(way), offset, bytes))
    }

    /// Notes for the report; `discard` names the call that trims a device.
    pub(super) fn notes(self, discard: &str) -> Vec<String> {
        let notes = [
            (self.discards(), format!("trims use {discard} on the device.")),
            (
                self.trims && !self.is_device,
                "trims punch holes in the file (fallocate, PUNCH_HOLE); the filesystem decides \
                 whether it discards the blocks on the drive."
                    .to_owned(),
            ),
            (
                self.zeroes && self.is_device,
                "zeroing uses fallocate (ZERO_RANGE) on the device; if the device cannot zero \
                 blocks itself, the kernel writes zeros."
                    .to_owned(),
            ),
            (
                self.zeroes && !self.is_device,
                "zeroing uses fallocate (ZERO_RANGE) on the file; a filesystem may mark the blocks \
                 as zero without writing them."
                    .to_owned(),
            ),
        ];
        notes.into_iter().filter_map(|(applies, note)| applies.then_some(note)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;
    use crate::check::tests::job;

    fn memory() -> File {
        File::from(memfd_create("assay-load-clear", MemfdFlags::CLOEXEC).unwrap())
    }

    fn of(mix: &str) -> Clearing {
        let job = Job { mix: mix.parse().unwrap(), ..job() };
        Clearing::new(&job, memory().as_fd()).unwrap()
    }

    #[test]
    fn what_was_used_is_told_and_nothing_of_what_does_not_clear() {
        assert!(of("70/30").notes("discards").is_empty());
        assert!(!of("70/30").allocates() && !of("trim").discards());
        let told = of("trim/50:zero/50").notes("discards");
        assert!(
            told.len() == 2 && told[0].contains("PUNCH_HOLE") && told[1].contains("ZERO_RANGE")
        );
        let device = Clearing { is_device: true, ..of("trim/50:zero/50") };
        let told = device.notes("BLKDISCARD calls");
        assert!(
            told[0].starts_with("trims use BLKDISCARD calls") && told[1].contains("writes zeros")
        );
        assert!(device.discards() && device.allocates());
    }
}
