//! Processor time taken by the hypervisor, thermal throttling, and limits of the control group.

use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Pair, Presentation, Unit, field, not_recorded};
use super::{parsed_file, ticks};

pub static PROBE: Entry = Entry {
    about: About {
        name: "cpu-throttling",
        summary: "CPU time lost to steal, thermal throttling or a control group limit",
        text: "Reads steal ticks from /proc/stat, throttle counts from /sys/devices/system/cpu/*/thermal_throttle and \
               nr_throttled of the control group just before and after the run. Provides no metrics; rules `steal` and \
               `throttled` use the values. Cost: two small file reads per CPU before and after the run. Needs no \
               privileges; only Intel CPUs count thermal throttling, and only groups with a limit have nr_throttled.",
    },
    fields: &[
        field("ticks.total", Unit::Ticks, "all ticks, summed over all CPUs"),
        field("ticks.steal", Unit::Ticks, "ticks in which the hypervisor ran other VMs"),
        field("throttle_events", Unit::Count, "thermal throttle events of the CPUs"),
        field("group_throttled", Unit::Count, "periods in which the control group was throttled"),
    ],
    rules: &["steal", "throttled"],
    presentation: Presentation::Tailored,
    here: Some(|system| ticks(system).map(|_| "works".to_owned())),
};

#[derive(Clone, Debug)]
pub struct ThrottleReading {
    /// Ticks of all processors since the start of the machine.
    pub ticks: Presence<ProcessorTicks>,
    pub throttle_events: Presence<u64>,
    group_throttled: Presence<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorTicks {
    pub total: u64,
    pub steal: u64,
}

impl ProcessorTicks {
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            total: self.total.saturating_add(other.total),
            steal: self.steal.saturating_add(other.steal),
        }
    }

    /// Share of the time that the hypervisor gave to others; `None` without ticks.
    pub fn steal_share(self) -> Option<f64> {
        (self.total > 0).then(|| self.steal as f64 / self.total as f64)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottleObservation {
    #[serde(default = "not_recorded")]
    pub ticks: Presence<ProcessorTicks>,
    #[serde(default = "not_recorded")]
    pub throttle_events: Presence<u64>,
    #[serde(default = "not_recorded")]
    pub group_throttled: Presence<u64>,
}

pub fn read(system: &dyn System) -> ThrottleReading {
    ThrottleReading {
        ticks: ticks(system),
        throttle_events: throttle_events(system),
        group_throttled: group_throttled(system),
    }
}

pub struct Processors;

impl Pair for Processors {
    type Reading = ThrottleReading;
    type Observed = ThrottleObservation;
    const MOMENTS: [Moment; 2] = [Moment::BeforeRun, Moment::AfterRun];
    const GIVES_REASON: bool = true;

    fn read(system: &dyn System) -> ThrottleReading {
        read(system)
    }

    fn between(before: &ThrottleReading, after: &ThrottleReading) -> Presence<ThrottleObservation> {
        Presence::Present(ThrottleObservation {
            ticks: before.ticks.both(&after.ticks, |before, after| ProcessorTicks {
                total: after.total.saturating_sub(before.total),
                steal: after.steal.saturating_sub(before.steal),
            }),
            throttle_events: increase(&before.throttle_events, &after.throttle_events),
            group_throttled: increase(&before.group_throttled, &after.group_throttled),
        })
    }
}

fn increase(before: &Presence<u64>, after: &Presence<u64>) -> Presence<u64> {
    before.both(after, |before, after| after.saturating_sub(*before))
}

fn ticks(system: &dyn System) -> Presence<ProcessorTicks> {
    let sum = parsed_file(system, "/proc/stat", ticks::of_all);
    sum.map(|sum| ProcessorTicks { total: sum.total(), steal: sum.steal })
}

fn throttle_events(system: &dyn System) -> Presence<u64> {
    let root = Path::new("/sys/devices/system/cpu");
    let mut sum = None;
    for name in system.list(root).unwrap_or_default() {
        let folder = root.join(&name).join("thermal_throttle");
        for file in ["core_throttle_count", "package_throttle_count"] {
            if let Presence::Present(count) = sysfs::number(system, &folder.join(file)) {
                sum = Some(sum.unwrap_or(0) + count);
            }
        }
    }
    Presence::from_option(sum, "the kernel reports no thermal throttle counts")
}

/// `nr_throttled` of this process's control group, version 2 or 1.
fn group_throttled(system: &dyn System) -> Presence<u64> {
    let groups = system.read_text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let count = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let folder = match controllers {
            "" => format!("/sys/fs/cgroup{path}"),
            list if list.split(',').any(|name| name == "cpu") => {
                format!("/sys/fs/cgroup/{list}{path}")
            }
            _ => return None,
        };
        let text = system.read_text(&Path::new(&folder).join("cpu.stat")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
    });
    Presence::from_option(count, "no control group with a CPU limit is visible")
}
