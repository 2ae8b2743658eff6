//! The real clocks of a measuring thread.

use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A thread spins for at most this long before a start, as many sleeps end tens of microseconds late.
const MOST_SPIN_NS: u64 = 50_000;
const STEP_NS: u64 = 32;

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time in nanoseconds; read in user space, so it costs no system call.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Waits for starts: sleeps, then spins for as long as this machine needs to wake up on time.
pub(crate) struct Alarm {
    spin_ns: u64,
}

impl Alarm {
    pub(crate) const fn new() -> Self {
        Self { spin_ns: MOST_SPIN_NS }
    }

    /// Returns when to wake up for a stamp, each time a little closer to it; [`Alarm::adapt_spin`] corrects that.
    pub(crate) fn next_wake(&mut self, stamp: u64) -> u64 {
        self.spin_ns = self.spin_ns.saturating_sub(STEP_NS);
        stamp.saturating_sub(self.spin_ns)
    }

    /// Lengthens the spin if the sleep until `stamp` ended late: 64 steps per late sleep, so about one in 64 is late.
    pub(crate) fn adapt_spin(&mut self, stamp: u64) {
        if monotonic_ns() > stamp.saturating_add(self.spin_ns) {
            self.spin_ns = MOST_SPIN_NS.min(self.spin_ns + 64 * STEP_NS);
        }
    }

    /// Waits until a monotonic time in nanoseconds: sleeps until shortly before, then spins, because sleeps end late.
    pub(crate) fn wait_until(&mut self, stamp: u64) {
        let wake = self.next_wake(stamp);
        if monotonic_ns() < wake {
            let until = Timespec {
                tv_sec: (wake / 1_000_000_000) as _,
                tv_nsec: (wake % 1_000_000_000) as _,
            };
            // A signal may end the sleep early.
            while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
            self.adapt_spin(wake);
        }
        while monotonic_ns() < stamp {
            std::hint::spin_loop();
        }
    }
}

/// Sets the timer slack of the calling thread to 1 ns; the default is 50 us.
pub(crate) fn wake_on_time() {
    // On failure the thread wakes later, which is measured.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Note of engines that wait like this.
pub(crate) fn note() -> String {
    format!(
        "threads sleep until shortly before each scheduled start and then busy-wait, for as long as this machine needs \
         to wake a thread (at most {} us), which uses CPU time.",
        MOST_SPIN_NS / 1000
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
