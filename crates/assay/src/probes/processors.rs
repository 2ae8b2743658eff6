//! Processor time taken by the hypervisor, thermal throttling, and limits of the control group.

use std::path::Path;

use super::Probe;
use crate::catalogue::About;
use crate::results::record::ProcessorTicks;
use crate::seen::Seen;
use crate::system::System;

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "processors",
        summary: "what took processor time away: the hypervisor, heat, a control group's limit",
        text: "Reads stolen ticks from /proc/stat, throttle counts from \
               /sys/devices/system/cpu/*/thermal_throttle and nr_throttled of the control group \
               right before and after the run. Gives no metric: the rules `steal` and `throttled` \
               read it. Costs two small files per processor before and after. Needs no rights; \
               only processors of Intel count their throttling, and only groups with a limit \
               tell one.",
    },
    metrics: &[],
};

/// State of the processors at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    ticks: Seen<ProcessorTicks>,
    throttle_events: Seen<u64>,
    group_throttled: Seen<u64>,
}

impl Reading {
    /// Ticks of all processors since the start of the machine.
    pub fn ticks(&self) -> Seen<ProcessorTicks> {
        self.ticks.clone()
    }

    /// Thermal throttle events since the start of the machine.
    pub fn throttle_events(&self) -> Seen<u64> {
        self.throttle_events.clone()
    }
}

/// What happened between two moments.
#[derive(Clone, Debug)]
pub struct Change {
    /// Ticks of all processors.
    pub ticks: Seen<ProcessorTicks>,
    /// Thermal throttle events, all processors.
    pub throttle_events: Seen<u64>,
    /// Periods in which the control group was held back.
    pub group_throttled: Seen<u64>,
}

/// Reads the state.
pub fn read(system: &dyn System) -> Reading {
    Reading {
        ticks: ticks(system),
        throttle_events: throttle_events(system),
        group_throttled: group_throttled(system),
    }
}

/// What happened between two readings.
pub fn between(before: &Reading, after: &Reading) -> Change {
    Change {
        ticks: before.ticks.both(&after.ticks, |before, after| ProcessorTicks {
            total: after.total.saturating_sub(before.total),
            steal: after.steal.saturating_sub(before.steal),
        }),
        throttle_events: increase(&before.throttle_events, &after.throttle_events),
        group_throttled: increase(&before.group_throttled, &after.group_throttled),
    }
}

/// How much a counter grew.
fn increase(before: &Seen<u64>, after: &Seen<u64>) -> Seen<u64> {
    before.both(after, |before, after| after.saturating_sub(*before))
}

fn ticks(system: &dyn System) -> Seen<ProcessorTicks> {
    match system.read_text(Path::new("/proc/stat")) {
        Ok(text) => {
            Seen::from_option(parse_ticks(&text), "/proc/stat does not have the known form")
        }
        Err(error) => Seen::absent(format!("/proc/stat cannot be read: {error}")),
    }
}

/// First line of `/proc/stat`: user nice system idle iowait irq softirq steal guest guest_nice;
/// guest time is part of user time already.
fn parse_ticks(text: &str) -> Option<ProcessorTicks> {
    let fields: Vec<u64> = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    Some(ProcessorTicks { total: fields.iter().sum(), steal: *fields.get(7)? })
}

/// Sum of the throttle counts that Intel processors keep.
fn throttle_events(system: &dyn System) -> Seen<u64> {
    let root = Path::new("/sys/devices/system/cpu");
    let mut sum = None;
    for name in system.list(root).unwrap_or_default() {
        let folder = root.join(&name).join("thermal_throttle");
        for file in ["core_throttle_count", "package_throttle_count"] {
            let count = system
                .read_text(&folder.join(file))
                .ok()
                .and_then(|text| text.trim().parse::<u64>().ok());
            if let Some(count) = count {
                sum = Some(sum.unwrap_or(0) + count);
            }
        }
    }
    Seen::from_option(sum, "the kernel keeps no thermal throttle counts here")
}

/// `nr_throttled` of this process's control group, version 2 or 1.
fn group_throttled(system: &dyn System) -> Seen<u64> {
    let groups = system.read_text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let count = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
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
    Seen::from_option(count, "no processor limit of a control group is visible")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_time_is_not_counted_twice() {
        let text = "cpu  10 1 5 100 2 0 1 7 4 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(parse_ticks(text), Some(ProcessorTicks { total: 126, steal: 7 }));
        assert_eq!(parse_ticks("cpu 1 2 3\n"), None);
    }
}
