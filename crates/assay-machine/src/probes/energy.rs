//! Energy that was used: from an external meter, processors, a battery or boards.

mod battery;
mod hwmon;
pub mod meter;
mod powercap;

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::System;
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{
    Entry, Moment, Presentation, Probe, ProbeRequest, Scene, Unit, field, not_recorded,
};

pub static PROBE: Entry = Entry {
    about: About {
        name: "energy",
        summary: "energy consumption and its source",
        text: "Uses the first available source. The file of an external meter (key `power_meter`) contains one time \
               and power (in watts) per line, which Assay integrates over the trial. The source powercap adds up the \
               CPU packages and their memory, but not the platform counter, which includes both. Other sources are a \
               discharging battery and hwmon counters. The result names the source. The energy of CPU packages \
               excludes the drive. Assay corrects one counter wrap; if the counter could have wrapped twice, the value \
               is absent. If the study names the probe or a meter, the machine idles for 30 s (10 s for short trials) \
               before the first trial, and energy_above_idle_j subtracts this idle power. Cost: one or two small file \
               reads per package before and after the run, or one read of the meter's file after the run. Needs a \
               readable source. Only root can read the package counters (sudo chmod a+r \
               /sys/class/powercap/intel-rapl:*/energy_uj gives access until the next boot); VMs have none.",
    },
    fields: &[
        field("source", Unit::Word, "source of the energy value"),
        field("what", Unit::Word, "hardware that the energy value includes"),
        field("span_ns", Unit::Nanoseconds, "length of the measured period"),
        field("joules", Unit::Joules, "total energy"),
        field("parts.*", Unit::Joules, "energy of each part"),
    ],
    rules: &[],
    presentation: Presentation::Tailored,
    here: Some(|system| read(system).source()),
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    pub source: String,
    pub what: String,
    pub span_ns: u64,
    pub joules: f64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, f64>,
}

impl Energy {
    pub fn watts(&self) -> f64 {
        self.joules / (self.span_ns as f64 / 1e9)
    }
}

/// Returns whether a study needs the reason for missing energy readings.
pub fn is_asked(asked: ProbeRequest<'_>) -> bool {
    asked.meter.is_some() || asked.names(&PROBE)
}

#[derive(Default)]
pub struct Meters {
    before: Option<EnergyReading>,
    after: Option<EnergyReading>,
}

impl Probe for Meters {
    type Observed = Energy;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRun, Moment::Settled, Moment::Last];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        if scene.is_simulated() {
            return;
        }
        match moment {
            Moment::BeforeRun => self.before = Some(read(scene.system)),
            Moment::Settled => self.after = Some(read(scene.system)),
            // The file of a meter contains the whole trial only at the end.
            _ => {
                let after = self.after.take();
                self.after = after.map(|after| after.with_meter(scene.system, scene.asked.meter));
            }
        }
    }

    fn observed(&mut self, scene: &Scene<'_>) -> Presence<Energy> {
        match (self.before.take(), self.after.take()) {
            (Some(before), Some(after)) => between(&before, &after, is_asked(scene.asked)),
            _ => not_recorded(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct EnergyReading {
    at_ns: u64,
    wall_ns: u64,
    meter: Option<Presence<Vec<meter::MeterSample>>>,
    counters: Vec<(&'static CounterSource, Presence<BTreeMap<String, EnergyCounter>>)>,
}

/// Joules that something has used since some moment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EnergyCounter {
    joules: f64,
    /// Range of the counter before it wraps, joules; `None` if it does not wrap.
    range_joules: Option<f64>,
    /// More than it can use, watts.
    most_watts: f64,
    /// Whether it counts down: the remaining energy.
    falls: bool,
}

#[derive(Debug)]
struct CounterSource {
    name: &'static str,
    /// Scope of its readings; parts follow in brackets.
    what: &'static str,
    read: fn(&dyn System) -> Presence<BTreeMap<String, EnergyCounter>>,
}

const POWERCAP: &str = "powercap";
const HWMON: &str = "hwmon";

static SOURCES: [CounterSource; 3] = [
    CounterSource {
        name: POWERCAP,
        what: "CPU packages and their memory, not the drive",
        read: powercap::read,
    },
    CounterSource {
        name: "battery",
        what: "the whole machine, measured at the battery",
        read: battery::read,
    },
    CounterSource {
        name: HWMON,
        what: "the hardware that these sensors measure",
        read: hwmon::read,
    },
];

const NO_SOURCE: &str = "this machine has no energy source: no powercap, battery or hwmon counter";

/// Reads every counter; the file of a meter is read at the end.
pub fn read(system: &dyn System) -> EnergyReading {
    // Both readings take the time first, so their span matches that of the counters.
    let (at_ns, wall_ns) = (system.monotonic_ns(), system.wall_ns());
    let counters = SOURCES.iter().map(|source| (source, (source.read)(system))).collect();
    EnergyReading { at_ns, wall_ns, meter: None, counters }
}

impl EnergyReading {
    pub fn has_source(&self) -> bool {
        self.meter.is_some() || self.source().value().is_some()
    }

    #[must_use]
    pub fn with_meter(self, system: &dyn System, file: Option<&str>) -> Self {
        let meter = file.map(|file| meter::read(system, Path::new(file)));
        Self { meter, ..self }
    }

    /// Describes the first source of energy counters that this process can read.
    pub fn source(&self) -> Presence<String> {
        for (source, counters) in &self.counters {
            if let Presence::Present(counters) = counters
                && !self.is_barred(source)
            {
                let parts: Vec<&str> = counters.keys().map(String::as_str).collect();
                return Presence::Present(format!("{} ({})", source.name, parts.join(", ")));
            }
        }
        Presence::Absent(self.reason())
    }

    /// Returns whether a source must not replace another: a graphics card does not replace unreadable CPUs.
    fn is_barred(&self, source: &CounterSource) -> bool {
        let is_unreadable = |(other, counters): &(&CounterSource, Presence<_>)| {
            other.name == POWERCAP && counters.reason().is_some_and(|reason| !reason.is_empty())
        };
        source.name == HWMON && self.counters.iter().any(is_unreadable)
    }

    /// Returns why no source is usable: unreadable ones before missing ones.
    fn reason(&self) -> String {
        let reasons = self.counters.iter().filter_map(|(_, counters)| counters.reason());
        let reasons: Vec<&str> = reasons.filter(|reason| !reason.is_empty()).collect();
        if reasons.is_empty() { NO_SOURCE.to_owned() } else { reasons.join("; ") }
    }
}

/// Energy between two readings. Absent without a reason if nothing measures it and the study does not request it.
pub fn between(before: &EnergyReading, after: &EnergyReading, asked: bool) -> Presence<Energy> {
    if let Some(samples) = &after.meter {
        return meter_energy(before, after, samples);
    }
    let span_ns = after.at_ns.saturating_sub(before.at_ns);
    for ((source, early), (_, late)) in before.counters.iter().zip(&after.counters) {
        if before.is_barred(source) || after.is_barred(source) {
            continue;
        }
        match (early, late) {
            (Presence::Present(early), Presence::Present(late)) => {
                return counter_energy(source, early, late, span_ns);
            }
            (Presence::Present(_), Presence::Absent(reason))
            | (Presence::Absent(reason), Presence::Present(_)) => {
                return Presence::absent(format!("the source changed during the trial: {reason}"));
            }
            (Presence::Absent(_), Presence::Absent(_)) => {}
        }
    }
    if !asked {
        return not_recorded();
    }
    Presence::Absent(after.reason())
}

fn meter_energy(
    before: &EnergyReading,
    after: &EnergyReading,
    samples: &Presence<Vec<meter::MeterSample>>,
) -> Presence<Energy> {
    let joules = match samples {
        Presence::Present(samples) => meter::joules(samples, before.wall_ns, after.wall_ns),
        Presence::Absent(reason) => Err(reason.clone()),
    };
    match joules {
        Ok(joules) => Presence::Present(Energy {
            source: "meter".to_owned(),
            what: "the hardware connected to the meter".to_owned(),
            span_ns: after.wall_ns.saturating_sub(before.wall_ns),
            joules,
            parts: BTreeMap::new(),
        }),
        Err(reason) => Presence::Absent(reason),
    }
}

fn counter_energy(
    source: &CounterSource,
    early: &BTreeMap<String, EnergyCounter>,
    late: &BTreeMap<String, EnergyCounter>,
    span_ns: u64,
) -> Presence<Energy> {
    let mut parts = BTreeMap::new();
    for (name, counter) in late {
        let before = early.get(name).ok_or_else(|| format!("{name} appeared during the trial"));
        match before.and_then(|before| joules_between(name, before, counter, span_ns)) {
            Ok(joules) => parts.insert(name.clone(), joules),
            Err(reason) => return Presence::Absent(reason),
        };
    }
    if let Some(gone) = early.keys().find(|name| !late.contains_key(*name)) {
        return Presence::absent(format!("{gone} disappeared during the trial"));
    }
    let joules: f64 = parts.values().sum();
    if joules <= 0.0 {
        // A coarse gauge does not resolve a short span, so an unchanged counter does not mean zero energy.
        let (name, seconds) = (source.name, span_ns as f64 / 1e9);
        return Presence::absent(format!(
            "the {name} counters did not change in {seconds:.1} s; use longer trials"
        ));
    }
    Presence::Present(Energy {
        source: source.name.to_owned(),
        what: source.what.to_owned(),
        span_ns,
        joules,
        parts,
    })
}

/// Energy between two readings of a counter, which may have wrapped once.
fn joules_between(
    name: &str,
    early: &EnergyCounter,
    late: &EnergyCounter,
    span_ns: u64,
) -> Result<f64, String> {
    let seconds = span_ns as f64 / 1e9;
    let joules = if late.falls { early.joules - late.joules } else { late.joules - early.joules };
    let Some(range) = late.range_joules else {
        if joules < 0.0 {
            return Err(format!("the counter {name} decreased"));
        }
        return Ok(joules);
    };
    if seconds * late.most_watts > range {
        return Err(format!(
            "{name} may wrap more than once in {seconds:.0} s; use shorter trials"
        ));
    }
    Ok(if joules < 0.0 { joules + range } else { joules })
}

#[cfg(test)]
mod tests;
