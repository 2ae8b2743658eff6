//! Observations around a trial. A probe reads before and after, never within the measured time, and derives an
//! observation; values that it cannot read are absent with a reason. Each file here contains one probe: description,
//! readings and stored observation.

pub mod array_sync;
pub mod block_latency;
pub mod clock;
pub mod cpu;
pub mod disk;
pub mod drive_health;
pub mod energy;
pub mod kernel_log;
pub mod load;
pub mod look;
pub mod members;
pub mod memory;
pub mod mount_traffic;
mod observations;
pub mod own_traffic;
pub mod page_cache;
pub mod plain;
pub mod power_supply;
pub mod pressure;
pub mod processors;
pub mod service;
pub mod temperature;
pub mod ticks;

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::System;
use assay_core::{json, presence::Presence};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use look::{Costs, timed};
pub use look::{
    Entry, Moment, Pair, Presentation, Probe, ProbeField, ProbeRequest, Scene, Twice, Unit,
    is_not_recorded, not_recorded,
};

// The slowest probes come first; the counters of the target's devices are closest to the run.
observations::observations! {
    around trials {
        page_cache: page_cache::PageCache,
        #[serde(rename = "cpu-time")]
        cpu: Twice<cpu::Cpu>,
        #[serde(rename = "cpu-throttling")]
        processors: Twice<processors::Processors>,
        temperature: Twice<temperature::Sensors>,
        memory: Twice<memory::OfMachine>,
        power_supply: Twice<power_supply::Supplies>,
        kernel_log: kernel_log::KernelLogProbe,
        clock: Twice<clock::Clocks>,
        pressure: Twice<pressure::PressureProbe>,
        #[serde(rename = "cpu-usage")]
        load: Twice<load::CpuLoad>,
        energy: energy::Meters,
        #[serde(rename = "process-io")]
        own_traffic: Twice<own_traffic::OwnTrafficProbe>,
        block_latency: block_latency::TracerProbe,
        #[serde(rename = "raid-resync")]
        array_sync: array_sync::Arrays,
        mount_traffic: mount_traffic::MountObservation,
        members: members::Members,
        disk: disk::Disks,
    }
    around studies {
        drive_health,
    }
}

impl Probes {
    /// Requests of the target's disks that ended since the last call, for a trial with live requests.
    pub fn requests(
        &mut self,
        system: &dyn System,
    ) -> Presence<block_latency::counts::BlockLatency> {
        self.block_latency.since_last(system)
    }
}

/// A name, with a number if another value already has it.
fn unused_name<T>(found: &BTreeMap<String, T>, name: &str) -> String {
    let mut unused = name.to_owned();
    let mut number = 1;
    while found.contains_key(&unused) {
        number += 1;
        unused = format!("{name} {number}");
    }
    unused
}

/// Reads and parses a file; absent with the reason if that fails.
fn parsed_file<T>(
    system: &dyn System,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Presence<T> {
    match system.read_text(Path::new(path)) {
        Ok(text) => Presence::from_option(parse(&text), format!("{path} has an unknown format")),
        Err(error) => Presence::absent(format!("cannot read {path}: {error}")),
    }
}

fn as_value<T: Serialize>(observed: &Presence<T>) -> Presence<Value> {
    match observed {
        Presence::Present(observed) => json::to_value(observed)
            .map_or_else(|error| Presence::absent(error.to_string()), Presence::Present),
        Presence::Absent(reason) => Presence::Absent(reason.clone()),
    }
}

pub fn by_name() -> Vec<&'static Entry> {
    let mut all = PROBES.to_vec();
    all.sort_by_key(|entry| entry.about.name);
    all
}

pub fn names() -> Vec<&'static str> {
    by_name().into_iter().map(|entry| entry.about.name).collect()
}

/// Finding of a probe on this machine, or why there is none; `None` for probes of the target and unknown ones.
pub fn here(system: &dyn System, name: &str) -> Option<Presence<String>> {
    PROBES.iter().find(|entry| entry.about.name == name)?.here.map(|look| look(system))
}

#[cfg(test)]
mod tests;
