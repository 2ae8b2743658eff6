//! What each processor did (`/proc/stat`).

use std::path::Path;

use super::Probe;
use crate::catalogue::About;
use crate::results::watched::CpuTicks;
use crate::seen::Seen;
use crate::system::{System, sysfs};

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "load",
        summary: "what each processor did: work, waiting for a device, time that was stolen",
        text: "Reads the ticks of each processor from /proc/stat right before the run and when \
               everything written was on the device; the rule `steal` judges their sum, which the \
               probe `processors` reads. Idle processors while one is full show a workload of one \
               thread. Ticks are 10 ms long: short trials tell little. Costs one file before and \
               after, 0.1 ms. Needs no rights.",
    },
    metrics: &[],
};

/// Ticks of each processor since the start of the machine.
pub fn read(system: &dyn System) -> Seen<Vec<CpuTicks>> {
    match system.read_text(Path::new("/proc/stat")) {
        Ok(text) => Seen::from_option(parse(&text), "/proc/stat does not have the known form"),
        Err(error) => Seen::absent(format!("/proc/stat: {}", sysfs::reason(&error))),
    }
}

/// Ticks between two readings; of processors that came or went meanwhile nothing is told.
pub fn between(before: &Seen<Vec<CpuTicks>>, after: &Seen<Vec<CpuTicks>>) -> Seen<Vec<CpuTicks>> {
    before.both(after, |before, after| {
        let pairs = after.iter().filter_map(|late| {
            let early = before.iter().find(|early| early.cpu == late.cpu)?;
            Some(CpuTicks {
                cpu: late.cpu,
                busy: late.busy.saturating_sub(early.busy),
                // The kernel lets this one go back.
                iowait: late.iowait.saturating_sub(early.iowait),
                steal: late.steal.saturating_sub(early.steal),
                total: late.total.saturating_sub(early.total),
            })
        });
        pairs.collect()
    })
}

/// Lines `cpuN user nice system idle iowait irq softirq steal ...`; guest time is part of user time.
fn parse(text: &str) -> Option<Vec<CpuTicks>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
    let own = lines.filter(|line| line.starts_with(|sign: char| sign.is_ascii_digit()));
    let all: Vec<CpuTicks> = own.map(one).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

fn one(line: &str) -> Option<CpuTicks> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<u64> = words.take(8).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, kernel, idle, iowait, irq, softirq, steal] = ticks[..] else { return None };
    let busy = user + nice + kernel + irq + softirq;
    Some(CpuTicks { cpu, busy, iowait, steal, total: busy + idle + iowait + steal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    const STAT: &str = "cpu  30 2 10 200 4 6 2 14 8 0\ncpu0 10 1 5 100 2 3 1 7 4 0\n\
                        cpu3 20 1 5 100 2 3 1 7 4 0\nintr 1 2 3\n";

    #[test]
    fn each_processor_is_told_by_its_number() {
        let fake = Fake::new();
        fake.put("/proc/stat", STAT);
        let before = read(&fake);
        fake.put("/proc/stat", STAT.replace("cpu3 20 1 5 100 2", "cpu3 25 1 5 130 9"));
        let change = between(&before, &read(&fake));
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
        let cpus = between(&before, &read(&fake)).map(|all| all.iter().map(|c| c.cpu).collect());
        assert_eq!(cpus, Seen::Present(vec![0]));
    }

    #[test]
    fn absent_where_it_is_not_understood() {
        assert!(read(&Fake::new()).reason().unwrap().contains("not there"));
        assert_eq!(parse("cpu  1 2 3\n"), None);
        assert_eq!(parse("cpu0 1 2 3\n"), None);
    }
}
