//! Detects a change of the wall clock, and sleep of the machine.

use std::path::Path;

use crate::system::System;
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field};

pub static PROBE: Entry = Entry {
    about: About {
        name: "clock",
        summary: "wall-clock steps and sleep of the machine",
        text: "Reads the wall clock, the monotonic clock (which times the run) and /proc/uptime (which includes \
               sleep), just before the run and after write-back completes. Differences between the clocks reveal a \
               clock step or a sleep (rule `clock`). Cost: microseconds. Needs no privileges; in a container with its \
               own /proc/uptime, sleep is not detected.",
    },
    fields: &[
        field("stepped_ns", Unit::Nanoseconds, "step of the wall clock during the trial"),
        field("suspended_ns", Unit::Nanoseconds, "time that the machine slept during the trial"),
    ],
    rules: &["clock"],
    presentation: Presentation::Tailored,
    here: Some(|_| Presence::Present("works".to_owned())),
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockChange {
    pub stepped_ns: i64,
    pub suspended_ns: u64,
}

/// Pairs of readings further apart than this are read again, nanoseconds.
const FURTHEST_NS: u64 = 100_000;
const ATTEMPTS: usize = 5;
/// Shorter sleep is invisible: /proc/uptime has hundredths of a second, and a busy machine delays readings.
const BLUR_NS: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Wall clock less the monotonic one.
    wall_ahead_ns: i64,
    /// Time since the start, sleep included, less the monotonic one.
    boot_ahead_ns: Option<i64>,
}

/// Wall clock, monotonic clock, and the time since the start.
pub struct Clocks;

impl Pair for Clocks {
    type Reading = ClockReading;
    type Observed = ClockChange;

    fn read(system: &dyn System) -> ClockReading {
        let uptime = || uptime_ns(&system.read_text(Path::new("/proc/uptime")).ok()?);
        ClockReading {
            wall_ahead_ns: ahead_ns(system, || Some(system.wall_ns())).unwrap_or_default(),
            boot_ahead_ns: ahead_ns(system, uptime),
        }
    }

    fn between(before: &ClockReading, after: &ClockReading) -> Presence<ClockChange> {
        let slept = before.boot_ahead_ns.zip(after.boot_ahead_ns).map(|(was, is)| is - was);
        let slept = slept.and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > BLUR_NS);
        let suspended_ns = slept.unwrap_or(0);
        // The wall clock advances while the machine sleeps.
        let ahead = after.wall_ahead_ns - before.wall_ahead_ns;
        Presence::Present(ClockChange { stepped_ns: ahead - suspended_ns as i64, suspended_ns })
    }
}

/// Nanoseconds that a clock is ahead of the monotonic one, from the fastest, so least delayed, of several readings.
fn ahead_ns(system: &dyn System, clock: impl Fn() -> Option<u64>) -> Option<i64> {
    let mut fastest: Option<(u64, i64)> = None;
    for _ in 0..ATTEMPTS {
        let before = system.monotonic_ns();
        let reading_ns = clock()?;
        let took_ns = system.monotonic_ns().saturating_sub(before);
        if fastest.is_none_or(|(least_ns, _)| took_ns < least_ns) {
            fastest = Some((took_ns, reading_ns as i64 - (before + took_ns / 2) as i64));
        }
        if took_ns <= FURTHEST_NS {
            break;
        }
    }
    fastest.map(|(_, ahead_ns)| ahead_ns)
}

/// `47715.79 27701.95`: seconds since the start, and idle ones.
fn uptime_ns(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let whole: u64 = seconds.parse().ok()?;
    Some(whole * 1_000_000_000 + hundredths.parse::<u64>().ok()? * 10_000_000)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::system::Fake;

    use super::*;

    /// Changes of the clocks of a machine during `happens` and one more second.
    fn clock(happens: impl Fn(&Fake), uptime: &str) -> ClockChange {
        let fake = Fake::new();
        fake.put("/proc/uptime", "100.00 50.00\n");
        let before = Clocks::read(&fake);
        happens(&fake);
        fake.sleep(Duration::from_secs(1));
        fake.put("/proc/uptime", uptime);
        *Clocks::between(&before, &Clocks::read(&fake)).value().unwrap()
    }

    #[test]
    fn clocks_that_go_together_tell_nothing() {
        assert_eq!(clock(|_| {}, "101.00 50.00\n"), ClockChange::default());
        assert_eq!(clock(|_| {}, "101.01 50.00\n"), ClockChange::default());
    }

    #[test]
    fn a_step_is_told_in_its_direction() {
        let step = |by_ns: i64| {
            clock(
                |fake| {
                    fake.step_wall_clock(by_ns);
                },
                "101.00 1.00\n",
            )
        };
        assert_eq!(step(2_000_000_000).stepped_ns, 2_000_000_000);
        assert_eq!(step(-30_000_000).stepped_ns, -30_000_000);
    }

    #[test]
    fn sleep_is_told_from_a_step() {
        let slept = clock(|fake| _ = fake.step_wall_clock(60_000_000_000), "161.00 50.00\n");
        assert_eq!(slept, ClockChange { stepped_ns: 0, suspended_ns: 60_000_000_000 });
    }

    #[test]
    fn without_the_time_since_the_start_sleep_is_not_told() {
        let fake = Fake::new();
        let reading = Clocks::read(&fake);
        assert_eq!(reading.boot_ahead_ns, None);
        assert_eq!(Clocks::between(&reading, &reading), Presence::Present(ClockChange::default()));
        assert_eq!(uptime_ns("47715.79 27701.95\n"), Some(47_715_790_000_000));
        assert_eq!(uptime_ns("x"), None);
    }
}
