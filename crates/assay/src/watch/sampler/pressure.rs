//! How long work waited for processors, devices and memory (`/proc/pressure`).

use std::path::Path;

use serde::Serialize;

use crate::seen::Seen;
use crate::system::{System, sysfs};

/// Microseconds since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    cpu: u64,
    io: u64,
    io_full: u64,
    memory: u64,
    memory_full: u64,
}

/// Shares of the time, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pressure {
    /// Somebody waited for a processor.
    pub cpu: f64,
    /// Somebody waited for a device.
    pub io: f64,
    /// All who had work waited for devices.
    pub io_full: f64,
    /// Somebody waited for memory.
    pub memory: f64,
    /// All who had work waited for memory.
    pub memory_full: f64,
}

impl Totals {
    /// Shares of a span since an earlier reading.
    pub fn since(&self, before: &Self, span_ns: u64) -> Pressure {
        let share = |pick: fn(&Self) -> u64| {
            let grown_ns = pick(self).saturating_sub(pick(before)).saturating_mul(1000);
            (grown_ns as f64 / (span_ns as f64).max(1.0)).min(1.0)
        };
        Pressure {
            cpu: share(|totals| totals.cpu),
            io: share(|totals| totals.io),
            io_full: share(|totals| totals.io_full),
            memory: share(|totals| totals.memory),
            memory_full: share(|totals| totals.memory_full),
        }
    }
}

/// All three.
pub fn read(system: &dyn System) -> Seen<Totals> {
    let text = |name: &str| system.read_text(&Path::new("/proc/pressure").join(name));
    match (text("cpu"), text("io"), text("memory")) {
        (Ok(cpu), Ok(io), Ok(memory)) => {
            Seen::from_option(parse(&cpu, &io, &memory), "/proc/pressure has an unknown form")
        }
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => Seen::absent(format!(
            "/proc/pressure: {}; some kernels count it only with psi=1 at their start",
            sysfs::reason(&error)
        )),
    }
}

fn parse(cpu: &str, io: &str, memory: &str) -> Option<Totals> {
    Some(Totals {
        cpu: total(cpu, "some")?,
        io: total(io, "some")?,
        io_full: total(io, "full")?,
        memory: total(memory, "some")?,
        memory_full: total(memory, "full")?,
    })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`.
fn total(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn shares_come_from_the_totals_and_a_kernel_without_them_is_told() {
        let fake = Fake::new();
        assert!(read(&fake).reason().unwrap().contains("psi=1"));
        let text = |some: u64, full: u64| {
            format!(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total={some}\nfull avg10=0.00 total={full}\n"
            )
        };
        for name in ["cpu", "io", "memory"] {
            fake.put(format!("/proc/pressure/{name}"), text(1000, 10));
        }
        let before = *read(&fake).value().unwrap();
        fake.put("/proc/pressure/io", text(251_000, 100_010));
        let after = *read(&fake).value().unwrap();
        let found = after.since(&before, 1_000_000_000);
        assert_eq!((found.cpu, found.io, found.io_full, found.memory), (0.0, 0.25, 0.1, 0.0));
    }
}
