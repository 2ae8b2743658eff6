//! Hardware counters of a program and all its child processes.

use std::io::{self, ErrorKind};

use assay_core::presence::Presence;
use assay_machine::system::execute::{Counting, CpuCounts};
use assay_sys::{CountedEvent, Counter, CounterReading};
use rustix::io::Errno;

/// In the order of [`CpuCounts`].
const EVENTS: [CountedEvent; 3] =
    [CountedEvent::INSTRUCTIONS, CountedEvent::CYCLES, CountedEvent::CACHE_MISSES];
/// Below this share of the time, a count is not extrapolated.
const LEAST_SHARE: f64 = 0.5;
/// Maximum processor time that the counters may miss: the start of a process is not counted.
const UNSEEN_SHARE: u64 = 10;
const UNSEEN_NS: u64 = 5_000_000;

#[derive(Debug)]
pub struct PerfCounters {
    opened: [Presence<Counter>; 3],
    in_kernel: bool,
}

impl PerfCounters {
    /// Opens the counters if requested: open counters slow down each context switch slightly.
    pub fn open(is_requested: bool) -> Self {
        if !is_requested {
            let opened = EVENTS.map(|_| Presence::absent("not requested"));
            return Self { opened, in_kernel: false };
        }
        let opened = EVENTS.map(|event| Counter::open(event, true));
        let is_denied = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        if !opened.iter().any(|opened| opened.as_ref().is_err_and(is_denied)) {
            return Self { opened: opened.map(open_or_reason), in_kernel: true };
        }
        // More users may count events outside the kernel.
        let outside = EVENTS.map(|event| open_or_reason(Counter::open(event, false)));
        Self { opened: outside, in_kernel: false }
    }

    /// Reads the counters of a program that used `cpu_ns` of processor time.
    pub fn counts(&self, cpu_ns: u64) -> CpuCounts {
        let [instructions, cycles, cache_misses] = &self.opened;
        // A program may have no cache miss, but always has instructions and cycles.
        let counts = [(instructions, true), (cycles, true), (cache_misses, false)]
            .map(|(opened, never_zero)| read(opened, cpu_ns, never_zero));
        let shares = counts.iter().filter_map(Presence::value).map(|scaled| scaled.share);
        let smallest = shares.reduce(f64::min);
        let how = smallest.map(|share| Counting { in_kernel: self.in_kernel, share });
        let [instructions, cycles, cache_misses] =
            counts.map(|scaled| scaled.map(|scaled| scaled.count));
        CpuCounts { instructions, cycles, cache_misses, how }
    }
}

fn open_or_reason(opened: io::Result<Counter>) -> Presence<Counter> {
    opened.map_or_else(|error| Presence::absent(open_failure(&error)), Presence::Present)
}

/// Explains why a counter cannot be opened.
fn open_failure(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => {
            "the CPU does not provide this counter (common in virtual machines)".to_owned()
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            "the kernel denies counters to this user; run as root, or set kernel.perf_event_paranoid to 2 (a container \
             may still forbid them)"
                .to_owned()
        }
        Some(Errno::NOSYS) => "this kernel lacks counters (CONFIG_PERF_EVENTS)".to_owned(),
        _ => format!("cannot open a counter: {error}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ScaledCount {
    count: u64,
    share: f64,
}

fn read(opened: &Presence<Counter>, cpu_ns: u64, never_zero: bool) -> Presence<ScaledCount> {
    match opened {
        Presence::Absent(reason) => Presence::absent(reason.clone()),
        Presence::Present(counter) => match counter.read() {
            Ok(count) => scale(count, cpu_ns, never_zero),
            Err(error) => Presence::absent(format!("cannot read the counter: {error}")),
        },
    }
}

/// Extrapolates a count to the whole time. With `never_zero`, every program has such events, so 0 is a defect.
fn scale(read: CounterReading, cpu_ns: u64, never_zero: bool) -> Presence<ScaledCount> {
    let CounterReading { count, enabled_ns, running_ns } = read;
    let unseen_ns = cpu_ns.saturating_sub(enabled_ns);
    if unseen_ns > UNSEEN_NS.max(cpu_ns / UNSEEN_SHARE) {
        return Presence::absent(
            "incomplete: programs of other users (set-user-ID) are not counted",
        );
    }
    let share = running_ns as f64 / enabled_ns.max(1) as f64;
    if running_ns == 0 || share < LEAST_SHARE {
        return Presence::absent(
            "the counter ran for less than half of the time: other programs use it, or only some CPUs have it",
        );
    }
    if never_zero && count == 0 {
        return Presence::absent("the counter does not work on this machine");
    }
    let scaled = u128::from(count) * u128::from(enabled_ns) / u128::from(running_ns);
    let count = u64::try_from(scaled).unwrap_or(u64::MAX);
    Presence::Present(ScaledCount { count, share: share.min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn told(count: u64, enabled_ms: u64, running_ms: u64) -> Presence<ScaledCount> {
        let read =
            CounterReading { count, enabled_ns: enabled_ms * MS, running_ns: running_ms * MS };
        scale(read, 100 * MS, true)
    }

    fn reason(found: &Presence<ScaledCount>) -> &str {
        found.reason().unwrap_or_default()
    }

    #[test]
    fn what_was_counted_all_the_time_is_as_it_is() {
        assert_eq!(told(7, 100, 100), Presence::Present(ScaledCount { count: 7, share: 1.0 }));
        assert_eq!(told(u64::MAX, 100, 100).map(|own| own.count), Presence::Present(u64::MAX));
    }

    #[test]
    fn what_was_counted_for_a_part_is_scaled_up() {
        assert_eq!(told(600, 120, 90), Presence::Present(ScaledCount { count: 800, share: 0.75 }));
        assert_eq!(told(u64::MAX, 120, 90).map(|own| own.count), Presence::Present(u64::MAX));
    }

    #[test]
    fn a_counter_that_hardly_ran_says_nothing() {
        for running_ms in [0, 1, 49] {
            let found = told(600, 100, running_ms);
            assert!(reason(&found).contains("less than half"), "{running_ms}: {found:?}");
        }
        assert!(told(600, 100, 50).value().is_some());
        let never = CounterReading { count: 0, enabled_ns: 0, running_ns: 0 };
        assert!(reason(&scale(never, 0, false)).contains("less than half"));
    }

    #[test]
    fn a_program_of_somebody_else_is_missed_and_a_start_is_not() {
        assert!(reason(&told(600, 89, 89)).contains("set-user-ID"));
        assert!(told(600, 90, 90).value().is_some());
        let short = CounterReading { count: 600, enabled_ns: MS, running_ns: MS };
        assert!(scale(short, 6 * MS, true).value().is_some());
        assert!(reason(&scale(short, 6 * MS + 1, true)).contains("set-user-ID"));
    }

    #[test]
    fn a_program_without_instructions_was_not_counted_and_one_without_misses_may_be() {
        assert!(reason(&told(0, 100, 100)).contains("does not work"));
        let none = CounterReading { count: 0, enabled_ns: MS, running_ns: MS };
        assert_eq!(scale(none, MS, false), Presence::Present(ScaledCount { count: 0, share: 1.0 }));
    }

    #[test]
    fn who_may_not_count_is_told_what_helps() {
        let of = |errno: Errno| open_failure(&io::Error::from(errno));
        assert!(of(Errno::ACCESS).contains("perf_event_paranoid"));
        assert!(of(Errno::PERM).contains("perf_event_paranoid"));
        assert!(of(Errno::NOENT).contains("virtual machines"));
        assert!(of(Errno::NOSYS).contains("CONFIG_PERF_EVENTS"));
        assert!(of(Errno::MFILE).starts_with("cannot open a counter: "));
    }

    #[test]
    fn nothing_is_opened_where_nobody_asks() {
        let counted = PerfCounters::open(false).counts(0);
        assert_eq!(counted, CpuCounts::absent("not requested"));
    }
}
