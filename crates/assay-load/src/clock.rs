//! The real clocks of a measuring thread.

use std::num::NonZeroU64;

use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Spin for this long before a stamp: waking up would add tens of microseconds.
pub(crate) const SPIN_NS: u64 = 50_000;

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time in nanoseconds; read in user space, so it costs no system call.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Waits until a stamp: asleep, and at the end awake.
pub(crate) fn wait_until(stamp: u64) {
    sleep_until(stamp.saturating_sub(SPIN_NS));
    while monotonic_ns() < stamp {
        std::hint::spin_loop();
    }
}

fn sleep_until(stamp: u64) {
    if monotonic_ns() >= stamp {
        return;
    }
    let until =
        Timespec { tv_sec: (stamp / 1_000_000_000) as _, tv_nsec: (stamp % 1_000_000_000) as _ };
    // A signal may end the sleep early; callers check the clock.
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(rustix::io::Errno::INTR) {}
}

/// Sets the timer slack of the calling thread to 1 ns; the default is 50 us.
pub(crate) fn wake_on_time() {
    // On failure the thread wakes later, which is measured.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Note of engines that wait like this.
pub(crate) fn note() -> String {
    format!(
        "threads sleep until {} us before each scheduled start and then busy-wait, which uses CPU \
         time: one whole CPU per thread at {} or more starts per second.",
        SPIN_NS / 1000,
        1_000_000_000 / SPIN_NS
    )
}

/// Processor time of all threads of this process so far in nanoseconds, ended ones included.
pub(crate) fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Processor time of the calling thread so far in nanoseconds, user and system.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}
