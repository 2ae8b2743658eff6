//! Extents of a file (FIEMAP).

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Updater, opcode};

const BATCH: usize = 128;
const SYNC: u32 = 0x1;
const LAST: u32 = 0x1;
const ENCODED: u32 = 0x8;
const UNWRITTEN: u32 = 0x800;

/// `struct fiemap` without its flexible array: this much is coded into the request number.
#[repr(C)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct FiemapRequest {
    header: FiemapHeader,
    extents: [RawExtent; BATCH],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedExtent {
    /// First byte in the file.
    pub logical: u64,
    /// First byte on the device.
    pub physical: u64,
    pub length: u64,
    /// `FIEMAP_EXTENT_*`.
    pub flags: u32,
}

impl MappedExtent {
    /// Allocated, but never written.
    pub const fn unwritten(&self) -> bool {
        self.flags & UNWRITTEN != 0
    }

    /// Stored compressed or otherwise encoded.
    pub const fn encoded(&self) -> bool {
        self.flags & ENCODED != 0
    }

    const fn is_last(&self) -> bool {
        self.flags & LAST != 0
    }

    const fn end(&self) -> u64 {
        self.logical.saturating_add(self.length)
    }
}

/// Returns the extents in a byte range of an open file, in order; holes have none. Writes dirty pages first, to force
/// delayed allocation. Fails with `EOPNOTSUPP` if the file system does not support it.
pub fn file_extents(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<Vec<MappedExtent>> {
    let mut found = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let batch = read_batch(file, start..range.end)?;
        let Some(last) = batch.last().copied() else { break };
        found.extend(batch);
        // Without progress the loop would not end.
        if last.is_last() || last.end() <= start {
            break;
        }
        start = last.end();
    }
    Ok(found)
}

/// Reads the first extents of a range, at most [`BATCH`].
fn read_batch(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<Vec<MappedExtent>> {
    const FIEMAP: ioctl::Opcode = opcode::read_write::<FiemapHeader>(b'f', 11);
    let mut request = FiemapRequest {
        header: FiemapHeader {
            start: range.start,
            length: range.end - range.start,
            flags: SYNC,
            mapped: 0,
            room: BATCH as u32,
            reserved: 0,
        },
        extents: [RawExtent::default(); BATCH],
    };
    // SAFETY: the request is FIEMAP, whose argument is this struct: `room` is the number of extents after the header,
    // and the kernel writes at most that many.
    unsafe { ioctl::ioctl(file, Updater::<FIEMAP, FiemapRequest>::new(&mut request))? };
    let mapped = (request.header.mapped as usize).min(BATCH);
    Ok(request.extents[..mapped].iter().map(MappedExtent::from).collect())
}

impl From<&RawExtent> for MappedExtent {
    fn from(raw: &RawExtent) -> Self {
        Self { logical: raw.logical, physical: raw.physical, length: raw.length, flags: raw.flags }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use assay_testkit::needs::skip;

    use super::*;
    use crate::test_support::Scratch;

    fn extents_or_skip(scratch: &Scratch, range: Range<u64>) -> Option<Vec<MappedExtent>> {
        match file_extents(scratch.file.as_fd(), range) {
            Ok(extents) => Some(extents),
            Err(error) => {
                skip(&format!("this file system does not tell: {error}"));
                None
            }
        }
    }

    #[test]
    fn more_extents_than_one_page_are_all_found() {
        let scratch = Scratch::new("extents");
        let pieces = BATCH as u64 * 2 + 3;
        for piece in 0..pieces {
            scratch.file.write_all_at(&[1; 4096], piece * 65536).unwrap();
        }
        let Some(extents) = extents_or_skip(&scratch, 0..pieces * 65536) else {
            return;
        };
        assert_eq!(extents.len() as u64, pieces);
        assert!(extents.iter().all(|extent| extent.length == 4096 && !extent.unwritten()));
        assert!(extents.windows(2).all(|pair| pair[0].end() <= pair[1].logical));
    }

    #[test]
    fn allocated_but_unwritten_room_says_so() {
        let scratch = Scratch::new("unwritten");
        let flags = rustix::fs::FallocateFlags::empty();
        if rustix::fs::fallocate(&scratch.file, flags, 0, 1 << 20).is_err() {
            return skip("no fallocate here");
        }
        let Some(extents) = extents_or_skip(&scratch, 0..1 << 20) else {
            return;
        };
        assert!(!extents.is_empty() && extents.iter().all(MappedExtent::unwritten));
    }

    #[test]
    fn an_empty_range_has_no_extents() {
        let scratch = Scratch::new("empty");
        assert_eq!(file_extents(scratch.file.as_fd(), 5..5).unwrap(), []);
    }

    #[test]
    fn layouts_are_the_kernels() {
        assert_eq!(size_of::<FiemapHeader>(), 32);
        assert_eq!(size_of::<RawExtent>(), 56);
    }
}
