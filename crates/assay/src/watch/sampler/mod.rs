//! Reads the counters of the machine, and computes differences between readings.

mod classes;
pub mod disks;
mod machine;
mod users;

use std::collections::BTreeMap;
use std::io;

use assay_core::presence::Presence;
use assay_machine::probes::block_latency::counts::{self, ClassSpan, Means};
use assay_machine::probes::ticks::Ticks;
use assay_machine::probes::{block_latency, load, memory, pressure, processors};
use assay_machine::system::devices::{self, Counters};
use assay_machine::system::{BlockRequest, BlockTotals, System};

use super::members::{self, WatchedArray};
pub use classes::Tracing;
pub use disks::Disk;
pub use machine::{CpuShares, MemoryState, PressureShares, SensorValue};
pub use users::{User, Users};

pub struct Sampler<'a> {
    system: &'a dyn System,
    pub disks: Vec<Disk>,
    pub arrays: Vec<WatchedArray>,
    tracing: Tracing,
    watcher: users::Watcher,
    ask_drives: bool,
}

#[derive(Clone, Debug)]
pub struct Reading {
    /// Time in nanoseconds of the monotonic clock.
    at_ns: u64,
    /// Time, RFC 3339.
    pub at: String,
    counters: Vec<Presence<Counters>>,
    classes: Presence<BlockTotals>,
    means: Option<Means>,
    processors: Presence<Vec<(u32, Ticks)>>,
    throttle_events: Presence<u64>,
    pressure: pressure::Resources,
    sensors: Presence<Vec<SensorValue>>,
    memory: memory::MachineMemory,
    users: Users,
}

/// Differences between two readings; levels are those of the later one.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub span_ns: u64,
    pub disks: Vec<DiskSpan>,
    pub means: Option<Means>,
    /// Requests whose start was not traced.
    pub unseen_beginnings: u64,
    /// Sentences on limits of the latencies here.
    pub notes: Vec<String>,
    pub processors: Presence<Vec<CpuShares>>,
    pub throttle_events: Presence<u64>,
    pub pressure: Presence<PressureShares>,
    pub sensors: Presence<Vec<SensorValue>>,
    /// Memory; swapping is that of the span.
    pub memory: Presence<MemoryState>,
    /// Programs that did I/O before the later reading.
    pub users: Users,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpan {
    pub name: String,
    /// Differences of the kernel's counters; absent if the device is gone.
    pub counters: Presence<Counters>,
    /// Classes with completed requests.
    pub classes: Presence<BTreeMap<String, ClassSpan>>,
}

impl<'a> Sampler<'a> {
    pub fn new(system: &'a dyn System, disks: Vec<Disk>, tracing: Tracing) -> Self {
        let watcher = users::Watcher::new(system, &disks);
        let arrays = members::arrays(system, &disks);
        Self { system, disks, arrays, tracing, watcher, ask_drives: true }
    }

    /// Creates a sampler for use during a study of this process: does not read drive temperatures, or open files, which
    /// could block on a hanging mount.
    pub fn during_study(system: &'a dyn System, disks: Vec<Disk>, tracing: Tracing) -> Self {
        let watcher = users::Watcher::new(system, &[]);
        let arrays = members::arrays(system, &disks);
        Self { system, disks, arrays, tracing, watcher, ask_drives: false }
    }

    pub fn read(&mut self) -> Reading {
        let system = self.system;
        Reading {
            at_ns: system.monotonic_ns(),
            at: system.now(),
            counters: self.disks.iter().map(|disk| devices::counters(system, &disk.name)).collect(),
            classes: self.tracing.read(),
            means: self.tracing.means(),
            processors: load::read(system),
            throttle_events: processors::read(system).throttle_events,
            pressure: pressure::machine(system),
            sensors: machine::sensors(system, self.ask_drives),
            memory: memory::machine(system),
            users: self.watcher.active_programs(system),
        }
    }

    /// Calls a function with each request completed since the last call; fails like [`Tracing::requests`].
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        self.tracing.requests(each)
    }

    /// Returns the counts so far; zero if tracing was lost.
    pub fn totals(&mut self) -> BlockTotals {
        self.tracing.read().value().cloned().unwrap_or_default()
    }

    pub fn between(&self, before: &Reading, after: &Reading) -> Span {
        let span_ns = after.at_ns.saturating_sub(before.at_ns);
        let increase = |before: &u64, after: &u64| after.saturating_sub(*before);
        let unseen_beginnings = before.classes.both(&after.classes, |before, after| {
            increase(&before.unseen_beginnings, &after.unseen_beginnings)
        });
        let disks = self.disks.iter().enumerate();
        Span {
            span_ns,
            disks: disks.map(|(index, disk)| disk_span(index, disk, before, after)).collect(),
            means: after.means,
            unseen_beginnings: unseen_beginnings.value().copied().unwrap_or_default(),
            notes: notes(before, after),
            processors: machine::loads(&before.processors, &after.processors),
            throttle_events: before.throttle_events.both(&after.throttle_events, increase),
            pressure: machine::pressure(&before.pressure, &after.pressure, span_ns),
            sensors: after.sensors.clone(),
            memory: machine::memory(&before.memory, &after.memory),
            users: after.users.clone(),
        }
    }
}

fn disk_span(index: usize, disk: &Disk, before: &Reading, after: &Reading) -> DiskSpan {
    let counters = match (before.counters.get(index), after.counters.get(index)) {
        (Some(before), Some(after)) => before.both(after, |before, after| after.sub(before)),
        _ => Presence::absent("the device is gone"),
    };
    let classes = match &disk.untraced {
        Some(reason) => Presence::absent(reason.clone()),
        None => class_spans(index, before, after),
    };
    DiskSpan { name: disk.name.clone(), counters, classes }
}

/// Returns a note on lost events if there are any; fails with the reason if too many for reliable counts were lost.
fn check_lost_events(before: &Reading, after: &Reading) -> Result<Option<String>, String> {
    match (after.means, before.classes.value(), after.classes.value()) {
        (Some(means), Some(before), Some(after)) => block_latency::lost_note(means, before, after),
        // Without tracing, no events are lost.
        _ => Ok(None),
    }
}

fn notes(before: &Reading, after: &Reading) -> Vec<String> {
    let mut notes = after.classes.value().map_or_else(Vec::new, |totals| totals.notes.clone());
    // If too many were lost, the classes are absent with this reason.
    notes.extend(check_lost_events(before, after).ok().flatten());
    notes
}

/// Returns completed requests by class; absent if too many events were lost for reliable counts.
fn class_spans(
    index: usize,
    before: &Reading,
    after: &Reading,
) -> Presence<BTreeMap<String, ClassSpan>> {
    if let Err(reason) = check_lost_events(before, after) {
        return Presence::Absent(reason);
    }
    let devices = before.classes.both(&after.classes, |before, after| {
        Some(counts::between(before.devices.get(index)?, after.devices.get(index)?))
    });
    match devices {
        Presence::Present(Some(classes)) => Presence::Present(classes),
        Presence::Present(None) => Presence::absent("the device is not traced"),
        Presence::Absent(reason) => Presence::Absent(reason),
    }
}

impl Span {
    /// Returns the duration in seconds, never 0.
    pub fn seconds(&self) -> f64 {
        (self.span_ns as f64 / 1e9).max(1e-9)
    }

    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds()
    }

    /// Returns the mean number of requests in flight.
    pub fn queue(&self, counters: &Counters) -> f64 {
        counters.weighted_ms as f64 / 1e3 / self.seconds()
    }

    /// Returns the share of the time with requests in flight, at most 1, because the kernel's counter steps may exceed
    /// the span.
    pub fn busy(&self, counters: &Counters) -> f64 {
        (counters.io_ticks_ms as f64 / 1e3 / self.seconds()).min(1.0)
    }

    /// Returns the mean load of all CPUs; `None` if unknown.
    pub fn load(&self) -> Option<CpuShares> {
        let cpus = self.processors.value().filter(|cpus| !cpus.is_empty())?;
        let sum = cpus.iter().fold(CpuShares::default(), |sum, cpu| sum.plus(cpu));
        Some(sum.divided_by(cpus.len() as f64))
    }
}

impl DiskSpan {
    pub fn was_active(&self) -> bool {
        let by_counters = self.counters.value().is_some_and(|counters| {
            counters.reads_completed > 0
                || counters.writes_completed > 0
                || counters.discards_completed > 0
                || counters.flushes_completed > 0
        });
        by_counters || self.classes.value().is_some_and(|classes| !classes.is_empty())
    }
}

#[cfg(test)]
mod tests;
