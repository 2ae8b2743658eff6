//! Performance counters (`perf_event_open`) of the programs that a thread starts: hardware and software events.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_ulong};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedEvent {
    kind: u32,
    config: u64,
}

/// Generic hardware events, available under the same name on all CPUs.
const HARDWARE: u32 = 0;

impl CountedEvent {
    /// CPU cycles, independent of the frequency.
    pub const CYCLES: Self = Self { kind: HARDWARE, config: 0 };
    /// Instructions that were completed.
    pub const INSTRUCTIONS: Self = Self { kind: HARDWARE, config: 1 };
    /// Misses of the last-level cache on most CPUs.
    pub const CACHE_MISSES: Self = Self { kind: HARDWARE, config: 3 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    pub count: u64,
    /// CPU time of the counted programs, nanoseconds, all threads together.
    pub enabled_ns: u64,
    /// The part of it in which the counter ran: the kernel multiplexes counters if there are too few.
    pub running_ns: u64,
}

#[derive(Debug)]
pub struct Counter(File);

/// The kernel's `struct perf_event_attr` as its first version had it, which every kernel takes.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    own_bytes: u32,
    config: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wake_up_events: u32,
    breakpoint_kind: u32,
    breakpoint_address: u64,
}

const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// Values after the count in a reading.
const TIME_ENABLED: u64 = 1;
const TIME_RUNNING: u64 = 1 << 1;
const CLOSE_ON_EXEC: c_ulong = 1 << 3;

impl Counter {
    /// Opens a counter for all programs that this thread, and its new threads, start from now on, with all descendants.
    /// It starts at exec; set-user-ID programs are not counted.
    pub fn open(event: CountedEvent, in_kernel: bool) -> io::Result<Self> {
        let outside = if in_kernel { 0 } else { EXCLUDE_KERNEL };
        let flags = DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_HYPERVISOR | outside;
        let mut attributes = Attributes {
            kind: event.kind,
            own_bytes: size_of::<Attributes>() as u32,
            config: event.config,
            read_format: TIME_ENABLED | TIME_RUNNING,
            flags: as_bits(flags),
            ..Attributes::default()
        };
        let (this_thread, any_processor, no_group): (c_int, c_int, c_int) = (0, -1, -1);
        // SAFETY: the pointer is to a struct of this frame that contains its size; the kernel reads that many bytes and
        // writes at most the size field. The other arguments are plain numbers.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw mut attributes,
                this_thread,
                any_processor,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel opened it for this call alone.
        Ok(Self(File::from(unsafe { OwnedFd::from_raw_fd(opened as RawFd) })))
    }

    /// Returns the count so far. It includes processes that ended, even if not yet waited for.
    pub fn read(&self) -> io::Result<CounterReading> {
        let mut bytes = [0; 24];
        (&self.0).read_exact(&mut bytes)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        Ok(CounterReading { count: word(0), enabled_ns: word(1), running_ns: word(2) })
    }
}

/// The kernel's flags are bit fields of C: the first one is the first bit in memory.
const fn as_bits(flags: u64) -> u64 {
    if cfg!(target_endian = "big") { flags.reverse_bits() } else { flags }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use assay_testkit::needs::skip;

    use super::*;

    /// A software event of the kernel, available on every CPU: page faults.
    const PAGE_FAULTS: CountedEvent = CountedEvent { kind: 1, config: 2 };

    /// Opens a counter in the same way as hardware events.
    fn opened() -> Option<Counter> {
        let opened = Counter::open(PAGE_FAULTS, true);
        match opened.or_else(|_| Counter::open(PAGE_FAULTS, false)) {
            Ok(counter) => Some(counter),
            Err(error) => {
                skip(&format!("no counter can be opened here: {error}"));
                None
            }
        }
    }

    /// Counts page faults of so many programs, one after the other, below a shell.
    fn faults(programs: usize) -> Option<CounterReading> {
        let counter = opened()?;
        let script = "/bin/true; ".repeat(programs) + ":";
        assert!(Command::new("/bin/sh").args(["-c", &script]).status().unwrap().success());
        Some(counter.read().unwrap())
    }

    #[test]
    fn the_struct_is_as_large_as_the_kernels_first() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn a_program_is_counted_with_all_that_it_starts() {
        let Some((few, many)) = faults(1).zip(faults(40)) else { return };
        assert!(few.count > 0 && few.running_ns > 0, "{few:?}");
        assert!(few.running_ns <= few.enabled_ns, "{few:?}");
        assert!(many.count > 3 * few.count, "{few:?} {many:?}");
    }

    #[test]
    fn this_process_is_not_counted() {
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let start =
            move || gone.recv().is_ok() && Command::new("/bin/true").status().unwrap().success();
        let other = std::thread::spawn(start);
        let Some(counter) = opened() else { return };
        let touched = vec![1_u8; 4 << 20];
        assert_eq!(touched.iter().map(|byte| usize::from(*byte)).sum::<usize>(), 4 << 20);
        let nothing = CounterReading { count: 0, enabled_ns: 0, running_ns: 0 };
        assert_eq!(counter.read().unwrap(), nothing);
        // Nor is a program that a thread starts that was there before.
        go.send(()).unwrap();
        assert!(other.join().unwrap());
        assert_eq!(counter.read().unwrap(), nothing);
    }

    #[test]
    fn what_no_processor_knows_is_an_error() {
        assert!(Counter::open(CountedEvent { kind: u32::MAX, config: 0 }, false).is_err());
    }
}
