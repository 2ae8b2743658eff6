//! Enters the kernel with the registered index of the ring, which avoids a file table lookup per call.
//!
//! The crate io-uring exposes that index only during a borrow of the ring, so Assay registers and uses its own.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use io_uring::{EnterFlags, IoUring};
use libc::{c_long, c_uint};

/// Of `linux/io_uring.h`, from Linux 5.18 on.
const REGISTER_RING_FDS: c_uint = 20;
const UNREGISTER_RING_FDS: c_uint = 21;

/// Number of updates, and size of a signal mask in bytes.
const ONE: c_long = 1;
const NO_BYTES: c_long = 0;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// How the thread that made a ring enters the kernel for it.
pub(super) struct Entrance {
    /// `None` on older kernels and in threads with 16 rings; the cost is small.
    number: Option<u32>,
}

impl Entrance {
    pub(super) fn new(ring: &IoUring) -> Self {
        let data = ring.as_raw_fd() as u64;
        // The kernel writes the index that it chose.
        let mut update = Update { offset: u32::MAX, reserved: 0, data };
        let number = register(ring, REGISTER_RING_FDS, &mut update).then_some(update.offset);
        Self { number }
    }

    pub(super) const fn plain() -> Self {
        Self { number: None }
    }

    /// Releases the index; otherwise the kernel would keep the ring until the thread ends.
    pub(super) fn close(&mut self, ring: &IoUring) {
        if let Some(offset) = self.number.take() {
            register(ring, UNREGISTER_RING_FDS, &mut Update { offset, reserved: 0, data: 0 });
        }
    }

    /// Hands new entries to the kernel and waits for `wait` completion entries.
    #[inline(always)]
    pub(super) fn enter(&self, ring: &mut IoUring, wait: usize) -> io::Result<()> {
        let Some(number) = self.number else {
            // Existing completions need no wait: with a kernel thread for submission this saves the call.
            let has_enough = ring.completion().len() >= wait;
            return ring.submit_and_wait(if has_enough { 0 } else { wait }).map(drop);
        };
        let queue = ring.submission();
        let submitted = queue.len();
        let mut flags = EnterFlags::REGISTERED_RING;
        if wait > 0 || queue.cq_overflow() {
            flags |= EnterFlags::GETEVENTS;
        }
        drop(queue);
        // SAFETY: the code that pushed the entries guarantees their validity; the call passes no other pointers.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                c_long::from(number),
                submitted as c_long,
                wait as c_long,
                c_long::from(flags.bits()),
                ptr::null::<libc::sigset_t>(),
                NO_BYTES,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Lets the kernel run deferred completions, and waits for `wait` entries; a signal may end it early.
    pub(super) fn await_events(ring: &IoUring, wait: u32) -> io::Result<()> {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: the call submits nothing and passes no pointers.
        let waited = unsafe { ring.submitter().enter::<libc::sigset_t>(0, wait, flags, None) };
        match waited {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

/// Registers or unregisters the ring; returns whether the kernel did so.
fn register(ring: &IoUring, what: c_uint, update: &mut Update) -> bool {
    // SAFETY: the kernel reads one update, and writes the number into it.
    let updates = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            c_long::from(ring.as_raw_fd()),
            c_long::from(what),
            ptr::from_mut(update),
            ONE,
        )
    };
    updates == ONE
}

#[cfg(test)]
mod tests {
    use io_uring::opcode;

    use super::*;
    use crate::EngineKind;
    use crate::engines::suite::works;

    /// Submits a no-op entry and waits for it.
    fn done(entrance: &Entrance, ring: &mut IoUring) -> Option<u64> {
        let nothing = opcode::Nop::new().build().user_data(7);
        // SAFETY: the entry names no memory.
        unsafe { ring.submission().push(&nothing) }.unwrap();
        entrance.enter(ring, 1).unwrap();
        ring.completion().next().map(|entry| entry.user_data())
    }

    #[test]
    fn a_ring_is_entered_by_its_number_and_without() {
        if !works(&EngineKind::IoUring) {
            return;
        }
        let mut ring = IoUring::new(2).unwrap();
        let mut entrance = Entrance::new(&ring);
        assert_eq!(done(&entrance, &mut ring), Some(7));
        // Without new entries, and without waiting.
        entrance.enter(&mut ring, 0).unwrap();
        assert!(ring.completion().next().is_none());
        entrance.close(&ring);
        assert!(entrance.number.is_none());
        assert_eq!(done(&entrance, &mut ring), Some(7));
    }

    #[test]
    fn numbers_are_given_back() {
        if !works(&EngineKind::IoUring) {
            return;
        }
        let numbered = |ring: &IoUring| {
            let mut entrance = Entrance::new(ring);
            let number = entrance.number;
            entrance.close(ring);
            number
        };
        let ring = IoUring::new(2).unwrap();
        // A thread has 16 of them.
        let first = numbered(&ring);
        for _ in 0..20 {
            assert_eq!(numbered(&ring), first);
        }
        // An index in use is not assigned again.
        let kept = Entrance::new(&ring);
        assert!(kept.number.is_none() || numbered(&IoUring::new(2).unwrap()) != first);
    }
}
