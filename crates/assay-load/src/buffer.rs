//! Memory that operations read into and write from.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::param::page_size;

/// One mapping cut into equal aligned slots, faulted in at once to keep faults out of runs.
pub(crate) struct Buffer {
    mapping: NonNull<u8>,
    mapped: usize,
    /// Bytes from the mapping's start to the first slot.
    lead: usize,
    stride: usize,
    size: usize,
    slots: u32,
}

impl Buffer {
    /// `slots` slots of `size` bytes, aligned to `alignment` bytes (a power of two).
    pub(crate) fn new(slots: u32, size: u32, alignment: usize) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let size = size as usize;
        // At least a cache line, so that slots never share one.
        let alignment = alignment.max(64);
        let stride = size.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
        // The kernel aligns to pages; a larger alignment needs room to move the first slot.
        let spare = alignment.saturating_sub(page_size());
        let mapped = stride
            .checked_mul(slots as usize)
            .and_then(|bytes| bytes.checked_add(spare))
            .ok_or_else(too_large)?;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new anonymous mapping at an address chosen by the kernel does not alias other memory.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, flags)
        }?;
        let mapping = NonNull::new(start.cast::<u8>()).ok_or_else(too_large)?;
        let lead = mapping.addr().get().next_multiple_of(alignment) - mapping.addr().get();
        Ok(Self { mapping, mapped, lead, stride, size, slots })
    }

    /// Address of a slot; `size` bytes from there belong to it.
    #[inline]
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: the slot exists, so the offset stays inside of the mapping.
        unsafe { self.mapping.as_ptr().add(self.lead + slot as usize * self.stride) }
    }

    /// Address and length of the region with all slots.
    #[cfg(any(test, target_pointer_width = "64"))]
    pub(crate) fn region(&self) -> (*mut u8, usize) {
        let last = self.slots.saturating_sub(1) as usize;
        (self.pointer(0), last * self.stride + self.size)
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: the bytes are inside of the mapping, initialised by the kernel, and borrowed from `self` exclusively;
        // engines hand a slot to the kernel only while they refuse to lend it.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), self.size) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: unmaps the whole mapping of `new`; no slice outlives `self`. munmap fails only for an invalid range.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_zero_and_apart() {
        for alignment in [1, 512, 4096, 1 << 20] {
            let mut buffer = Buffer::new(5, 1000, alignment).unwrap();
            for slot in 0..5 {
                assert!(buffer.slot_mut(slot).iter().all(|byte| *byte == 0));
                assert_eq!(buffer.pointer(slot).addr() % alignment, 0);
                buffer.slot_mut(slot).fill(slot as u8 + 1);
            }
            for slot in 0..5 {
                assert_eq!(buffer.slot_mut(slot), [slot as u8 + 1; 1000]);
            }
            // From the first byte of the first slot to the last byte of the last one.
            let (start, bytes) = buffer.region();
            assert_eq!(start, buffer.pointer(0));
            assert_eq!(start.addr() + bytes, buffer.pointer(4).addr() + 1000);
            assert!(start.addr() + bytes <= buffer.mapping.addr().get() + buffer.mapped);
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert!(Buffer::new(u32::MAX, u32::MAX, 1 << 30).is_err());
    }
}
