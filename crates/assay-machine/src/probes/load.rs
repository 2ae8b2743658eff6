//! What each processor did (`/proc/stat`).

use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field};
use super::ticks::{self, Ticks};

pub static PROBE: Entry = Entry {
    about: About {
        name: "cpu-usage",
        summary: "busy, iowait and steal time of each CPU",
        text: "Reads the ticks of each CPU from /proc/stat just before the run and after write-back completes. Rule \
               `steal` uses the sum over all CPUs, which the probe `cpu-throttling` reads. One busy CPU among idle CPUs \
               indicates a single-threaded workload. A tick lasts 10 ms, so short trials have few ticks. Cost: one \
               file read before and after the run, 0.1 ms. Needs no privileges.",
    },
    fields: &[
        field("*.0", Unit::Count, "CPU number"),
        field("*.1", Unit::Ticks, "busy"),
        field("*.2", Unit::Ticks, "idle while a request waited for a device (iowait)"),
        field("*.3", Unit::Ticks, "ready while the hypervisor ran another VM (steal)"),
        field("*.4", Unit::Ticks, "total"),
    ],
    rules: &[],
    presentation: Presentation::Tailored,
    here: Some(|system| read(system).map(|all| format!("{} CPUs", all.len()))),
};

/// Ticks of 10 ms of one CPU, stored as a list in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub struct CpuTicks {
    pub cpu: u32,
    pub busy: u64,
    pub iowait: u64,
    pub steal: u64,
    pub total: u64,
}

impl From<[u64; 5]> for CpuTicks {
    fn from(ticks: [u64; 5]) -> Self {
        let [cpu, busy, iowait, steal, total] = ticks;
        Self { cpu: cpu as u32, busy, iowait, steal, total }
    }
}

impl From<CpuTicks> for [u64; 5] {
    fn from(ticks: CpuTicks) -> Self {
        [u64::from(ticks.cpu), ticks.busy, ticks.iowait, ticks.steal, ticks.total]
    }
}

pub struct CpuLoad;

impl Pair for CpuLoad {
    type Reading = Presence<Vec<(u32, Ticks)>>;
    type Observed = Vec<CpuTicks>;

    fn read(system: &dyn System) -> Self::Reading {
        read(system)
    }

    fn between(before: &Self::Reading, after: &Self::Reading) -> Presence<Vec<CpuTicks>> {
        before.both(after, |before, after| {
            pairs(before, after).map(|(cpu, early, late)| spent(cpu, early, late)).collect()
        })
    }
}

/// Ticks of each processor since the start of the machine, with its number.
pub fn read(system: &dyn System) -> Presence<Vec<(u32, Ticks)>> {
    match system.read_text(Path::new("/proc/stat")) {
        Ok(text) => {
            Presence::from_option(ticks::of_each(&text), "/proc/stat does not have the known form")
        }
        Err(error) => Presence::absent(format!("/proc/stat: {}", sysfs::reason(&error))),
    }
}

/// Both readings of each CPU; CPUs that came or went in between are omitted.
pub fn pairs<'a>(
    before: &'a [(u32, Ticks)],
    after: &'a [(u32, Ticks)],
) -> impl Iterator<Item = (u32, &'a Ticks, &'a Ticks)> {
    after.iter().filter_map(|(cpu, late)| {
        let (_, early) = before.iter().find(|(other, _)| other == cpu)?;
        Some((*cpu, early, late))
    })
}

/// Ticks of one CPU between two readings.
fn spent(cpu: u32, early: &Ticks, late: &Ticks) -> CpuTicks {
    CpuTicks {
        cpu,
        busy: late.busy().saturating_sub(early.busy()),
        iowait: late.iowait.saturating_sub(early.iowait),
        steal: late.steal.saturating_sub(early.steal),
        total: late.total().saturating_sub(early.total()),
    }
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    const STAT: &str = "cpu  30 2 10 200 4 6 2 14 8 0\ncpu0 10 1 5 100 2 3 1 7 4 0\n\
                        cpu3 20 1 5 100 2 3 1 7 4 0\nintr 1 2 3\n";

    #[test]
    fn each_processor_is_told_by_its_number() {
        let fake = Fake::new();
        fake.put("/proc/stat", STAT);
        let before = read(&fake);
        fake.put("/proc/stat", STAT.replace("cpu3 20 1 5 100 2", "cpu3 25 1 5 130 9"));
        let change = CpuLoad::between(&before, &read(&fake));
        let third = CpuTicks { cpu: 3, busy: 5, iowait: 7, steal: 0, total: 42 };
        let found = change.value().unwrap();
        assert_eq!((found[0].cpu, found[0].total, found[1]), (0, 0, third));
    }

    #[test]
    fn processors_that_came_are_left_out() {
        let fake = Fake::new();
        fake.put("/proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n");
        let before = read(&fake);
        fake.put("/proc/stat", STAT);
        let cpus =
            CpuLoad::between(&before, &read(&fake)).map(|all| all.iter().map(|c| c.cpu).collect());
        assert_eq!(cpus, Presence::Present(vec![0]));
    }

    #[test]
    fn absent_where_it_is_not_understood() {
        assert!(read(&Fake::new()).reason().unwrap().contains("not found"));
        let fake = Fake::new();
        fake.put("/proc/stat", "cpu  1 2 3\n");
        assert!(read(&fake).reason().unwrap().contains("known form"));
    }
}
