//! Basic operations of a machine, one after the other in one thread, in the manner of lmbench.

use std::hint::black_box;
use std::io;

use crate::clock;
use crate::spent::Spent;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Micro {
    /// A multiplication, shifts and additions, whole and floating, each on the result of the one before.
    Arithmetic,
    /// The first touch of a page of fresh anonymous memory; mapping and unmapping it have their share.
    PageFault,
    /// A child that ends at once, and is waited for.
    ForkExit,
    /// `getppid`: a call that the kernel must answer.
    Syscall,
}

names!(
    Micro: Arithmetic = "arithmetic",
    PageFault = "page-fault",
    ForkExit = "fork-exit",
    Syscall = "syscall",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicroOutcome {
    pub operations: u64,
    pub elapsed_ns: u64,
    /// CPU time of this process in nanoseconds, without its children.
    pub cpu_ns: u64,
    /// Nanoseconds that it was runnable and waited for a CPU, if the kernel counts them.
    pub waited_ns: Option<u64>,
}

/// Minimum length of a batch: reading the clock once per batch then costs 1/10,000 of it.
const BATCH_NS: u64 = 500_000;
/// Pages per mapping: fewer than a huge page has.
const PAGES: u64 = 256;

/// Repeats an operation for a time. Calibrates the batch size first, which is not counted.
pub fn repeat(what: Micro, time_ns: u64) -> io::Result<MicroOutcome> {
    let batch = calibrate_batch(what)?;
    let before = Spent::now();
    let began_ns = clock::monotonic_ns();
    let mut operations = 0;
    loop {
        run_batch(what, batch)?;
        operations += batch;
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        if elapsed_ns >= time_ns {
            let spent = Spent::now().since(&before);
            let (cpu_ns, waited_ns) = (spent.process_ns, spent.waited_ns);
            return Ok(MicroOutcome { operations, elapsed_ns, cpu_ns, waited_ns });
        }
    }
}

/// Returns a number of operations that takes at least [`BATCH_NS`].
fn calibrate_batch(what: Micro) -> io::Result<u64> {
    let mut batch = 1;
    loop {
        let began_ns = clock::monotonic_ns();
        run_batch(what, batch)?;
        if clock::monotonic_ns() - began_ns >= BATCH_NS {
            return Ok(batch);
        }
        batch *= 2;
    }
}

/// Executes operations one after the other.
fn run_batch(what: Micro, operations: u64) -> io::Result<()> {
    match what {
        Micro::Arithmetic => arithmetic(operations),
        Micro::PageFault => return page_faults(operations),
        Micro::ForkExit => return (0..operations).try_for_each(|_| fork_and_exit()),
        Micro::Syscall => (0..operations).for_each(|_| {
            black_box(rustix::process::getppid());
        }),
    }
    Ok(())
}

/// Each step depends on the previous one, and the result is used, so the compiler cannot drop any.
fn arithmetic(steps: u64) {
    let (mut whole, mut real) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(1.5_f64));
    for _ in 0..steps {
        whole ^= whole >> 31;
        whole = whole.wrapping_mul(0xff51_afd7_ed55_8ccd).wrapping_add(1);
        real = real * 0.999_999 + 0.000_002;
    }
    black_box((whole, real));
}

/// Maps fresh memory, touches the first byte of each page, and gives it back.
fn page_faults(pages: u64) -> io::Result<()> {
    let page = rustix::param::page_size();
    let mut left = pages;
    while left > 0 {
        let count = left.min(PAGES);
        touch_fresh(count as usize, page)?;
        left -= count;
    }
    Ok(())
}

/// Maps memory without huge pages, writes one byte per page, and unmaps it.
fn touch_fresh(pages: usize, page: usize) -> io::Result<()> {
    let length = pages * page;
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address chosen by the kernel does not alias other memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: advice on the new mapping: single pages are measured. Kernels without huge pages reject the call.
    let _ = unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
    for index in 0..pages {
        // SAFETY: the byte is inside of the mapping, which is writable and private to this function.
        unsafe { start.cast::<u8>().add(index * page).write_volatile(1) };
    }
    // SAFETY: unmaps the whole mapping; no references remain.
    if unsafe { libc::munmap(start, length) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn fork_and_exit() -> io::Result<()> {
    // SAFETY: the child makes one system call, which ends it: it uses no locks, memory or handlers of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: exits the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    loop {
        let mut status = 0;
        // SAFETY: waits for this child; its status is written to a local variable.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            return if status == 0 { Ok(()) } else { Err(io::Error::other("the child failed")) };
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_operation_is_repeated_until_the_time_is_over() {
        for what in Micro::ALL {
            let done = repeat(what, 5 * MS).unwrap();
            assert!(done.elapsed_ns >= 5 * MS && done.operations > 0, "{what:?}: {done:?}");
            assert!(done.cpu_ns > 0, "{what:?}: {done:?}");
            assert_eq!(Micro::find(what.name()), Some(what));
        }
        assert_eq!(Micro::find("forks"), None);
    }

    #[test]
    fn each_page_that_is_touched_faults_once() {
        let faults = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let after = stat.rsplit(')').next().unwrap();
            after.split_whitespace().nth(7).unwrap().parse::<u64>().unwrap()
        };
        let before = faults();
        page_faults(1000).unwrap();
        let taken = faults() - before;
        assert!((1000..1100).contains(&taken), "{taken}");
    }

    #[test]
    fn nothing_is_left_of_children() {
        (0..7).try_for_each(|_| fork_and_exit()).unwrap();
        let options = libc::WNOHANG | libc::__WNOTHREAD;
        // SAFETY: asks for any child of this thread that has ended, and waits for none.
        let left = unsafe { libc::waitpid(-1, std::ptr::null_mut(), options) };
        assert!(left <= 0, "{left}");
    }
}
