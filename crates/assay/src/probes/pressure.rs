//! Time that work waited for a processor, for a device or for memory (PSI).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Probe;
use crate::catalogue::About;
use crate::results::watched::{Pressure, Waited};
use crate::seen::Seen;
use crate::system::{System, sysfs};

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "pressure",
        summary: "how long work waited for a processor, for a device, for memory",
        text: "Reads the totals of /proc/pressure/cpu, io and memory right before the run and when \
               everything written was on the device, and those of this process's control group \
               where version 2 keeps them. Some: at least one task waited; full: all of them did. \
               The tool's own waiting is in them: pressure on io is what a busy device looks like. \
               Gives no metric but a table of `assay show --full`. Costs three to six small files \
               before and after, 0.1 ms. Needs no rights, and a kernel that keeps them: many must \
               be booted with psi=1.",
    },
    metrics: &[],
};

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];
const OFF: &str = "the kernel keeps no pressure here: boot with psi=1";

/// Totals at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    at_ns: u64,
    machine: Seen<BTreeMap<String, Waited>>,
    group: Seen<BTreeMap<String, Waited>>,
}

/// Reads the totals of the machine and of this process's control group.
pub fn read(system: &dyn System) -> Reading {
    let machine = totals(system, |name| Path::new("/proc/pressure").join(name), OFF);
    let group = match group(system) {
        Seen::Present(folder) => totals(
            system,
            |name| folder.join(format!("{name}.pressure")),
            "the control group keeps no pressure of its own",
        ),
        Seen::Absent(reason) => Seen::Absent(reason),
    };
    Reading { at_ns: system.monotonic_ns(), machine, group }
}

impl Reading {
    /// Whether the machine tells it.
    pub fn machine(&self) -> Seen<()> {
        self.machine.clone().map(|_| ())
    }
}

/// What waited between two readings: on the machine, and in the control group.
pub fn between(before: &Reading, after: &Reading) -> (Seen<Pressure>, Seen<Pressure>) {
    let span_ns = after.at_ns.saturating_sub(before.at_ns);
    let of = |before: &Seen<BTreeMap<String, Waited>>, after: &Seen<BTreeMap<String, Waited>>| {
        before.both(after, |before, after| Pressure { span_ns, waited: grown(before, after) })
    };
    (of(&before.machine, &after.machine), of(&before.group, &after.group))
}

fn grown(
    before: &BTreeMap<String, Waited>,
    after: &BTreeMap<String, Waited>,
) -> BTreeMap<String, Waited> {
    let pairs = after.iter().filter_map(|(name, late)| Some((name, before.get(name)?, late)));
    let difference = |early: &Waited, late: &Waited| Waited {
        some_ns: late.some_ns.saturating_sub(early.some_ns),
        full_ns: early.full_ns.zip(late.full_ns).map(|(early, late)| late.saturating_sub(early)),
    };
    pairs.map(|(name, early, late)| (name.clone(), difference(early, late))).collect()
}

fn totals(
    system: &dyn System,
    path: impl Fn(&str) -> PathBuf,
    otherwise: &str,
) -> Seen<BTreeMap<String, Waited>> {
    let one = |name: &str| Some((name.to_owned(), parse(&system.read_text(&path(name)).ok()?)?));
    let found: BTreeMap<String, Waited> = RESOURCES.into_iter().filter_map(one).collect();
    Seen::from_option((!found.is_empty()).then_some(found), otherwise)
}

/// Lines `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
fn parse(text: &str) -> Option<Waited> {
    let total = |kind: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
        total.parse::<u64>().ok()?.checked_mul(1_000)
    };
    Some(Waited { some_ns: total("some ")?, full_ns: total("full ") })
}

/// Directory of this process's control group of version 2.
fn group(system: &dyn System) -> Seen<PathBuf> {
    let text = match sysfs::text(system, Path::new("/proc/self/cgroup")) {
        Seen::Present(text) => text,
        Seen::Absent(reason) => return Seen::Absent(reason),
    };
    match text.lines().find_map(|line| line.strip_prefix("0::")) {
        None => Seen::absent("control groups are version 1, which keeps no pressure"),
        Some("/") => Seen::absent("this process is in the root group, which is the machine"),
        Some(path) => {
            let below = |root: &str| PathBuf::from(format!("{root}{path}"));
            let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(below);
            let there = roots.into_iter().find(|folder| system.list(folder).is_ok());
            Seen::from_option(there, "the control group is not visible here")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    fn line(some: u64, full: u64) -> String {
        let averages = "avg10=79.94 avg60=25.65 avg300=6.87";
        format!("some {averages} total={some}\nfull {averages} total={full}\n")
    }

    #[test]
    fn totals_are_set_against_each_other() {
        let fake = Fake::new();
        fake.put("/proc/pressure/io", line(5_775_128_363, 3_466_355_688));
        fake.put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=10\n");
        let before = read(&fake);
        fake.sleep(std::time::Duration::from_millis(2));
        fake.put("/proc/pressure/io", line(5_775_128_863, 3_466_355_698));
        let (machine, group) = between(&before, &read(&fake));
        let found = machine.value().unwrap();
        assert_eq!(found.span_ns, 2_000_000);
        let io = Waited { some_ns: 500_000, full_ns: Some(10_000) };
        assert_eq!(found.waited["io"], io);
        // Older kernels tell no `full` of processors.
        assert_eq!(found.waited["cpu"], Waited { some_ns: 0, full_ns: None });
        assert!(!found.waited.contains_key("memory"));
        assert!(group.reason().is_some());
    }

    #[test]
    fn the_control_groups_own_is_found() {
        let fake = Fake::new();
        fake.put("/proc/self/cgroup", "4:memory:/x\n0::/user.slice/me\n");
        fake.put("/sys/fs/cgroup/user.slice/me/io.pressure", line(7, 3));
        let before = read(&fake);
        fake.put("/sys/fs/cgroup/user.slice/me/io.pressure", line(9, 3));
        let (machine, group) = between(&before, &read(&fake));
        assert_eq!(machine.reason(), Some(OFF));
        assert_eq!(group.value().unwrap().waited["io"].some_ns, 2_000);
    }

    #[test]
    fn absent_groups_say_why() {
        let fake = Fake::new();
        for (text, reason) in [
            ("4:memory:/x\n", "version 1"),
            ("0::/\n", "root group"),
            ("0::/gone\n", "not visible"),
        ] {
            fake.put("/proc/self/cgroup", text);
            assert!(read(&fake).group.reason().unwrap().contains(reason), "{text}");
        }
    }
}
