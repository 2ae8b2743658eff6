//! Pages of a file in the page cache.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// The same number on every architecture that this tool is built for.
const SYS_CACHESTAT: libc::c_long = 451;
/// Bytes mapped at a time: little address space on 32-bit machines, a short answer on all.
const PIECE: u64 = 64 << 20;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCount {
    pub cached: u64,
    /// Cached pages not yet written back.
    pub dirty: u64,
    /// Cached pages under writeback.
    pub writeback: u64,
    /// Evicted some time ago.
    pub evicted: u64,
    /// Evicted a short time ago.
    pub recently_evicted: u64,
}

/// `struct cachestat_range`.
#[repr(C)]
struct CacheRange {
    start: u64,
    length: u64,
}

/// Cached pages of a range (`cachestat`, Linux 6.5); `ENOSYS` before, `EPERM` on files of others.
pub fn cache_count(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<CacheCount> {
    let mut count = CacheCount::default();
    // A length of zero would mean "to the end of the file".
    if range.is_empty() {
        return Ok(count);
    }
    let requested = CacheRange { start: range.start, length: range.end - range.start };
    // SAFETY: both pointers are to live structs of the kernel's layout; it reads the first and
    // writes the second during the call only.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const requested, &raw mut count, 0)
    };
    if result == 0 { Ok(count) } else { Err(io::Error::last_os_error()) }
}

/// Pages of a byte range that `mincore` calls resident, and all pages of the range. The kernel reports the truth only
/// to users who own the file or may write it; to all others, it calls every page resident.
pub fn resident_pages(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<(u64, u64)> {
    let page = page_size() as u64;
    let mut at = range.start / page * page;
    let end = range.end.div_ceil(page).saturating_mul(page);
    let (mut resident, mut total) = (0, 0);
    while !range.is_empty() && at < end {
        let length = PIECE.min(end - at);
        resident += resident_in_piece(file, at, length as usize)?;
        total += length / page;
        at += length;
    }
    Ok((resident, total))
}

fn resident_in_piece(file: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<u64> {
    let mapping = Mapping::new(file, offset, length)?;
    let mut pages = vec![0_u8; length.div_ceil(page_size())];
    // SAFETY: the mapping is `length` bytes from a page boundary, and `pages` has one byte per page; nothing reads
    // through the mapping.
    let result = unsafe { libc::mincore(mapping.start.as_ptr(), length, pages.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(pages.iter().filter(|page| *page & 1 != 0).count() as u64)
}

/// A mapping for queries only: without reads, a shrinking file cannot raise a signal.
struct Mapping {
    start: NonNull<libc::c_void>,
    length: usize,
}

impl Mapping {
    fn new(file: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start =
            unsafe { mmap(null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; no reference into it exists. A failure
        // would only leave address space behind.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use assay_testkit::needs::skip;

    use super::*;
    use crate::test_support::Scratch;

    const PAGES: u64 = 37;

    fn written(name: &str) -> (Scratch, u64) {
        let scratch = Scratch::new(name);
        let bytes = PAGES * page_size() as u64;
        scratch.file.write_all_at(&vec![7; bytes as usize], 0).unwrap();
        (scratch, bytes)
    }

    fn forget(scratch: &Scratch) {
        scratch.file.sync_all().unwrap();
        let advice = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&scratch.file, 0, None, advice).unwrap();
    }

    #[test]
    fn cachestat_counts_what_was_written_and_what_was_forgotten() {
        let (scratch, bytes) = written("cachestat");
        match cache_count(scratch.file.as_fd(), 0..bytes) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                return skip("kernel before 6.5");
            }
            count => assert_eq!(count.unwrap().cached, PAGES),
        }
        forget(&scratch);
        let after = cache_count(scratch.file.as_fd(), 0..bytes).unwrap();
        assert!(after.cached == 0 || after.cached == PAGES, "{after:?}");
    }

    #[test]
    fn cachestat_of_nothing_is_nothing() {
        let (scratch, _) = written("cachestat-empty");
        let count = cache_count(scratch.file.as_fd(), 4096..4096).unwrap();
        assert_eq!(count, CacheCount::default());
    }

    #[test]
    fn mincore_agrees() {
        let (scratch, bytes) = written("mincore");
        let file = scratch.file.as_fd();
        assert_eq!(resident_pages(file, 0..bytes).unwrap(), (PAGES, PAGES));
        assert_eq!(resident_pages(file, 1..bytes - 1).unwrap(), (PAGES, PAGES));
        assert_eq!(resident_pages(file, 9..9).unwrap(), (0, 0));
        forget(&scratch);
        let (resident, of) = resident_pages(file, 0..bytes).unwrap();
        assert!((resident == 0 || resident == PAGES) && of == PAGES);
    }

    #[test]
    fn mincore_goes_piece_by_piece() {
        let scratch = Scratch::new("pieces");
        let bytes = PIECE * 2 + 8 * page_size() as u64;
        scratch.file.set_len(bytes).unwrap();
        let end = bytes - page_size() as u64;
        scratch.file.write_all_at(&[1], end).unwrap();
        let (resident, of) = resident_pages(scratch.file.as_fd(), 0..bytes).unwrap();
        assert_eq!(of, bytes / page_size() as u64);
        assert_eq!(resident, 1);
    }
}
