//! Everything that is read of the machine around the target, in one place.

use super::{
    Costs, clock, energy, kernel_log, load, memory, power_supply, pressure, processors, temperature,
};
use crate::results::plan::Plan;
use crate::results::watched::{CpuTicks, KernelLine, Supply, Watched};
use crate::seen::Seen;
use crate::study::probes::ENERGY;
use crate::system::{KernelLog, System};

/// What a study wants to know beyond what is always looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// File of an external meter.
    pub meter: Option<&'a str>,
    /// Whether it wants to hear why nothing tells energy.
    pub energy: bool,
}

impl<'a> Asked<'a> {
    /// What a plan wants to know.
    pub fn of(plan: &'a Plan) -> Self {
        let named = plan.probes.iter().any(|name| name == ENERGY);
        let meter = plan.meter.as_deref();
        Self { meter, energy: named || meter.is_some() }
    }
}

/// The machine at one moment.
#[derive(Debug)]
pub struct Reading {
    load: Seen<Vec<CpuTicks>>,
    pressure: pressure::Reading,
    memory: memory::Reading,
    temperature: temperature::Reading,
    supply: Seen<Supply>,
    clock: clock::Reading,
    log: Seen<KernelLog>,
    /// What was logged since the reading before.
    lines: Seen<Vec<KernelLine>>,
    energy: energy::Reading,
}

/// Reads everything: what takes longest first, so that little happens between the rest and the run.
pub fn read(system: &dyn System, costs: &mut Costs) -> Reading {
    let temperature = costs.time(system, &temperature::PROBE, || temperature::read(system));
    let memory = costs.time(system, &memory::PROBE, || memory::read(system));
    let supply = costs.time(system, &power_supply::PROBE, || power_supply::read(system));
    let log = costs.time(system, &kernel_log::PROBE, || kernel_log::follow(system));
    let clock = costs.time(system, &clock::PROBE, || clock::read(system));
    let pressure = costs.time(system, &pressure::PROBE, || pressure::read(system));
    let load = costs.time(system, &load::PROBE, || load::read(system));
    let energy = costs.time(system, &energy::PROBE, || energy::read(system));
    let lines = Seen::Present(Vec::new());
    Reading { load, pressure, memory, temperature, supply, clock, log, lines, energy }
}

/// Reads everything once more, the other way round; `earlier` gives the kernel's log away.
pub fn again(
    system: &dyn System,
    earlier: &mut Reading,
    asked: Asked<'_>,
    costs: &mut Costs,
) -> Reading {
    let energy = costs.time(system, &energy::PROBE, || energy::read(system));
    let load = costs.time(system, &load::PROBE, || load::read(system));
    let pressure = costs.time(system, &pressure::PROBE, || pressure::read(system));
    let clock = costs.time(system, &clock::PROBE, || clock::read(system));
    let mut log = std::mem::replace(&mut earlier.log, Seen::absent("followed on"));
    let lines = costs.time(system, &kernel_log::PROBE, || kernel_log::new_lines(system, &mut log));
    let supply = costs.time(system, &power_supply::PROBE, || power_supply::read(system));
    let memory = costs.time(system, &memory::PROBE, || memory::read(system));
    let temperature = costs.time(system, &temperature::PROBE, || temperature::read(system));
    let energy = costs.time(system, &energy::PROBE, || energy.with_meter(system, asked.meter));
    Reading { load, pressure, memory, temperature, supply, clock, log, lines, energy }
}

/// What happened between two readings, of which the later one was made by [`again`].
pub fn between(before: &Reading, after: &Reading, asked: Asked<'_>) -> Watched {
    let (pressure, group_pressure) = pressure::between(&before.pressure, &after.pressure);
    Watched {
        load: load::between(&before.load, &after.load),
        pressure,
        group_pressure,
        memory: memory::between(&before.memory, &after.memory),
        processes: after.memory.processes(),
        temperature: temperature::between(&before.temperature, &after.temperature),
        power_supply: power_supply::between(&before.supply, &after.supply),
        clock: clock::between(&before.clock, &after.clock),
        kernel_log: after.lines.clone(),
        energy: energy::between(&before.energy, &after.energy, asked.energy),
    }
}

/// What a probe finds on this machine, or why it finds nothing. Of those that look at the target
/// itself nothing can be said without one.
pub fn here(system: &dyn System, probe: &str) -> Option<Seen<String>> {
    let works = |()| "works".to_owned();
    Some(match probe {
        "block-latency" => super::block_latency::works(system),
        "load" => load::read(system).map(|all| format!("{} processors", all.len())),
        "pressure" => pressure::read(system).machine().map(works),
        "memory" => memory::read(system).processes().map(|_| "works".to_owned()),
        "temperature" => temperature::read(system).names().map(|names| names.join(", ")),
        "power-supply" => power_supply::read(system).map(|supply| supply_words(&supply)),
        "clock" => Seen::Present("works".to_owned()),
        "kernel-log" => kernel_log::follow(system).map(|_| "works".to_owned()),
        "energy" => energy::read(system).source(),
        "drive-health" => super::drive_health::here(system),
        "processors" => processors::read(system).ticks().map(|_| "works".to_owned()),
        _ => return None,
    })
}

fn supply_words(supply: &Supply) -> String {
    let mains = match supply.mains {
        Some(true) => Some("on mains".to_owned()),
        Some(false) => Some("not on mains".to_owned()),
        None => None,
    };
    let batteries = supply.batteries.iter().map(|(name, does)| format!("{name} {does}"));
    mains.into_iter().chain(batteries).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::system::Fake;

    #[test]
    fn every_probe_gives_its_part_and_tells_its_cost() {
        let fake = Fake::new();
        fake.put("/proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n");
        fake.put("/dev/kmsg", "4,1,1,-;old\n");
        let mut costs = Costs::default();
        let mut before = read(&fake, &mut costs);
        fake.sleep(Duration::from_secs(1));
        fake.put("/dev/kmsg", "4,1,1,-;old\n3,2,2,-;new\n");
        let after = again(&fake, &mut before, Asked::default(), &mut costs);
        let found = between(&before, &after, Asked::default());
        assert_eq!(found.load.value().map(Vec::len), Some(1));
        assert_eq!(found.kernel_log.value().unwrap()[0].text, "new");
        assert_eq!(found.clock.value().map(|clock| clock.stepped_ns), Some(0));
        for absent in [found.pressure.reason(), found.temperature.reason(), found.memory.reason()] {
            assert!(absent.is_some_and(|reason| reason.len() > 5), "{absent:?}");
        }
        assert!(crate::results::watched::is_not_watched(&found.energy));
        let told = costs.told();
        let known = [
            "clock",
            "energy",
            "kernel-log",
            "load",
            "memory",
            "power-supply",
            "pressure",
            "temperature",
        ];
        assert_eq!(told.keys().collect::<Vec<_>>(), known);
    }

    #[test]
    fn a_log_is_followed_from_reading_to_reading() {
        let fake = Fake::new();
        let mut costs = Costs::default();
        fake.put("/dev/kmsg", "");
        let mut first = read(&fake, &mut costs);
        fake.put("/dev/kmsg", "4,1,1,-;one\n");
        let mut second = again(&fake, &mut first, Asked::default(), &mut costs);
        fake.put("/dev/kmsg", "4,1,1,-;one\n4,2,2,-;two\n");
        let third = again(&fake, &mut second, Asked::default(), &mut costs);
        let texts = |reading: &Reading| -> Vec<String> {
            reading.lines.value().unwrap().iter().map(|line| line.text.clone()).collect()
        };
        assert_eq!(
            (texts(&second), texts(&third)),
            (vec!["one".to_owned()], vec!["two".to_owned()])
        );
    }

    #[test]
    fn what_is_missing_on_a_machine_has_its_reason() {
        let fake = Fake::new();
        for probe in ["pressure", "temperature", "power-supply", "kernel-log", "energy"] {
            let reason = here(&fake, probe).unwrap();
            assert!(reason.reason().is_some_and(|reason| !reason.is_empty()), "{probe}");
        }
        assert!(here(&fake, "disk").is_none());
    }
}
