//! Time that work waited for a processor, for a device or for memory (PSI).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "pressure",
        summary: "time that tasks waited for CPUs, devices or memory",
        text: "Reads the totals in /proc/pressure/cpu, io and memory, and those of this process's control group \
               (version 2), just before the run and after write-back completes. Some: at least one task waited; full: \
               all tasks waited. The values include Assay's own waits, so a busy device causes io pressure. Provides \
               no metrics, but a table in `assay show --full`. Cost: three to six small file reads before and after \
               the run, 0.1 ms. Needs no privileges, but a kernel with pressure stall information (PSI); many kernels \
               require the boot option psi=1.",
    },
    fields: &[
        field("machine.span_ns", Unit::Nanoseconds, "length of the observed period"),
        field("machine.waited.*.some_ns", Unit::Nanoseconds, "time in which some task waited"),
        field("machine.waited.*.full_ns", Unit::Nanoseconds, "time in which all tasks waited"),
        field("group.span_ns", Unit::Nanoseconds, "length of the observed period"),
        field(
            "group.waited.*.some_ns",
            Unit::Nanoseconds,
            "time in which some task of the control group waited",
        ),
        field(
            "group.waited.*.full_ns",
            Unit::Nanoseconds,
            "time in which all tasks of the control group waited",
        ),
    ],
    rules: &["cpu-starved", "swap"],
    presentation: Presentation::Tailored,
    here: Some(|system| present_only(&machine(system), OFF).map(|_| "works".to_owned())),
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressureObservation {
    #[serde(default = "not_recorded")]
    pub machine: Presence<Pressure>,
    #[serde(default = "not_recorded")]
    pub group: Presence<Pressure>,
}

impl From<Pressure> for PressureObservation {
    fn from(machine: Pressure) -> Self {
        Self { machine: Presence::Present(machine), group: not_recorded() }
    }
}

/// Time that work waited, by resource: `cpu`, `io`, `memory`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    pub span_ns: u64,
    pub waited: BTreeMap<String, WaitTime>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTime {
    pub some_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ns: Option<u64>,
}

pub const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];
const OFF: &str = "the kernel reports no pressure; boot with psi=1";

#[derive(Clone, Debug)]
pub struct PressureReading {
    at_ns: u64,
    machine: Presence<BTreeMap<String, WaitTime>>,
    group: Presence<BTreeMap<String, WaitTime>>,
}

/// Totals since boot by resource, as far as known.
pub type Resources = BTreeMap<&'static str, Presence<WaitTime>>;

pub struct PressureProbe;

impl Pair for PressureProbe {
    type Reading = PressureReading;
    type Observed = PressureObservation;

    fn read(system: &dyn System) -> PressureReading {
        let machine = present_only(&machine(system), OFF);
        let group = match own_group(system) {
            Presence::Present(folder) => present_only(
                &totals(system, |name| folder.join(format!("{name}.pressure"))),
                "the control group reports no pressure",
            ),
            Presence::Absent(reason) => Presence::Absent(reason),
        };
        PressureReading { at_ns: system.monotonic_ns(), machine, group }
    }

    fn between(before: &PressureReading, after: &PressureReading) -> Presence<PressureObservation> {
        let span_ns = after.at_ns.saturating_sub(before.at_ns);
        let pressure = |before: &Presence<_>, after: &Presence<_>| {
            before.both(after, |before, after| Pressure { span_ns, waited: growth(before, after) })
        };
        Presence::Present(PressureObservation {
            machine: pressure(&before.machine, &after.machine),
            group: pressure(&before.group, &after.group),
        })
    }
}

impl WaitTime {
    #[must_use]
    pub fn since(&self, early: &Self) -> Self {
        let full_ns = early.full_ns.zip(self.full_ns);
        Self {
            some_ns: self.some_ns.saturating_sub(early.some_ns),
            full_ns: full_ns.map(|(early_ns, late_ns)| late_ns.saturating_sub(early_ns)),
        }
    }
}

pub fn machine(system: &dyn System) -> Resources {
    totals(system, |name| Path::new("/proc/pressure").join(name))
}

fn totals(system: &dyn System, path: impl Fn(&str) -> PathBuf) -> Resources {
    let read = |name: &str| match system.read_text(&path(name)) {
        Ok(text) => Presence::from_option(parse(&text), "unknown format"),
        Err(error) => Presence::absent(sysfs::reason(&error)),
    };
    RESOURCES.into_iter().map(|name| (name, read(name))).collect()
}

fn present_only(all: &Resources, otherwise: &str) -> Presence<BTreeMap<String, WaitTime>> {
    let waits = all.iter().filter_map(|(name, wait)| Some(((*name).to_owned(), *wait.value()?)));
    let waits: BTreeMap<String, WaitTime> = waits.collect();
    Presence::from_option((!waits.is_empty()).then_some(waits), otherwise)
}

fn growth(
    before: &BTreeMap<String, WaitTime>,
    after: &BTreeMap<String, WaitTime>,
) -> BTreeMap<String, WaitTime> {
    let pairs = after.iter().filter_map(|(name, late)| Some((name, before.get(name)?, late)));
    pairs.map(|(name, early, late)| (name.clone(), late.since(early))).collect()
}

/// Parses lines `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`; converts the microseconds to nanoseconds.
fn parse(text: &str) -> Option<WaitTime> {
    let total = |kind: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
        total.parse::<u64>().ok()?.checked_mul(1_000)
    };
    Some(WaitTime { some_ns: total("some ")?, full_ns: total("full ") })
}

/// Directory of this process's control group (version 2), which reports the pressure within the group.
fn own_group(system: &dyn System) -> Presence<PathBuf> {
    let text = match sysfs::text(system, Path::new("/proc/self/cgroup")) {
        Presence::Present(text) => text,
        Presence::Absent(reason) => return Presence::Absent(reason),
    };
    match text.lines().find_map(|line| line.strip_prefix("0::")) {
        None => Presence::absent("control groups use version 1, which reports no pressure"),
        Some("/") => Presence::absent("this process is in the root control group"),
        Some(path) => {
            let below = |root: &str| PathBuf::from(format!("{root}{path}"));
            let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(below);
            let visible = roots.into_iter().find(|folder| system.list(folder).is_ok());
            Presence::from_option(visible, "the control group is not visible")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    fn line(some: u64, full: u64) -> String {
        let averages = "avg10=79.94 avg60=25.65 avg300=6.87";
        format!("some {averages} total={some}\nfull {averages} total={full}\n")
    }

    #[test]
    fn totals_are_set_against_each_other() {
        let fake = Fake::new();
        fake.put("/proc/pressure/io", line(5_775_128_363, 3_466_355_688));
        fake.put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=10\n");
        let before = PressureProbe::read(&fake);
        fake.sleep(std::time::Duration::from_millis(2));
        fake.put("/proc/pressure/io", line(5_775_128_863, 3_466_355_698));
        let found = PressureProbe::between(&before, &PressureProbe::read(&fake));
        let PressureObservation { machine, group } = found.value().unwrap();
        let found = machine.value().unwrap();
        assert_eq!(found.span_ns, 2_000_000);
        let io = WaitTime { some_ns: 500_000, full_ns: Some(10_000) };
        assert_eq!(found.waited["io"], io);
        // Older kernels have no `full` line for CPUs.
        assert_eq!(found.waited["cpu"], WaitTime { some_ns: 0, full_ns: None });
        assert!(!found.waited.contains_key("memory"));
        assert!(group.reason().is_some());
    }

    #[test]
    fn the_control_groups_own_is_found() {
        let fake = Fake::new();
        fake.put("/proc/self/cgroup", "4:memory:/x\n0::/user.slice/me\n");
        fake.put("/sys/fs/cgroup/user.slice/me/io.pressure", line(7, 3));
        let before = PressureProbe::read(&fake);
        fake.put("/sys/fs/cgroup/user.slice/me/io.pressure", line(9, 3));
        let found = PressureProbe::between(&before, &PressureProbe::read(&fake));
        let PressureObservation { machine, group } = found.value().unwrap();
        assert_eq!(machine.reason(), Some(OFF));
        assert_eq!(group.value().unwrap().waited["io"].some_ns, 2_000);
    }

    #[test]
    fn absent_groups_say_why() {
        let fake = Fake::new();
        for (text, reason) in [
            ("4:memory:/x\n", "version 1"),
            ("0::/\n", "root control group"),
            ("0::/gone\n", "not visible"),
        ] {
            fake.put("/proc/self/cgroup", text);
            assert!(PressureProbe::read(&fake).group.reason().unwrap().contains(reason), "{text}");
        }
    }
}
