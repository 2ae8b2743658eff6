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
    disks: Vec<Disk>,
    arrays: Vec<WatchedArray>,
    tracing: Tracing,
    others: users::Watcher,
    ask_drives: bool,
}

#[derive(Clone, Debug)]
pub struct Reading {
    /// Time in nanoseconds of the monotonic clock.
    at_ns: u64,
    /// Time, RFC 3339.
    at: String,
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
        let others = users::Watcher::new(system, &disks);
        let arrays = members::arrays(system, &disks);
        Self { system, disks, arrays, tracing, others, ask_drives: true }
    }

    /// Does the same during a study of this process, without reading drive temperatures, or open files, which could
    /// block on a hanging mount.
    pub fn beside(system: &'a dyn System, disks: Vec<Disk>, tracing: Tracing) -> Self {
        let others = users::Watcher::new(system, &[]);
        let arrays = members::arrays(system, &disks);
        Self { system, disks, arrays, tracing, others, ask_drives: false }
    }

    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    pub fn arrays(&self) -> &[WatchedArray] {
        &self.arrays
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
            users: self.others.look(system),
        }
    }

    /// Calls a function with each request completed since the last call, if recorded.
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        self.tracing.requests(each)
    }

    /// Returns the counts so far; zero if tracing was lost.
    pub fn totals(&mut self) -> BlockTotals {
        self.tracing.read().value().cloned().unwrap_or_default()
    }

    pub fn between(&self, before: &Reading, after: &Reading) -> Span {
        between(&self.disks, before, after)
    }
}

impl Reading {
    /// Returns when it was taken, RFC 3339.
    pub fn at(&self) -> &str {
        &self.at
    }
}

fn between(disks: &[Disk], before: &Reading, after: &Reading) -> Span {
    let span_ns = after.at_ns.saturating_sub(before.at_ns);
    let unseen = before.classes.both(&after.classes, |before, after| {
        after.unseen_beginnings.saturating_sub(before.unseen_beginnings)
    });
    Span {
        span_ns,
        disks: disks
            .iter()
            .enumerate()
            .map(|(index, disk)| disk_span(index, disk, before, after))
            .collect(),
        means: after.means,
        unseen_beginnings: unseen.value().copied().unwrap_or_default(),
        notes: notes(before, after),
        processors: machine::loads(&before.processors, &after.processors),
        throttle_events: before
            .throttle_events
            .both(&after.throttle_events, |before, after| after.saturating_sub(*before)),
        pressure: machine::pressure(&before.pressure, &after.pressure, span_ns),
        sensors: after.sensors.clone(),
        memory: machine::memory(&before.memory, &after.memory),
        users: after.users.clone(),
    }
}

fn disk_span(index: usize, disk: &Disk, before: &Reading, after: &Reading) -> DiskSpan {
    let gone = Presence::absent("the device is gone");
    let at_both = (before.counters.get(index), after.counters.get(index));
    let counters = match at_both {
        (Some(before), Some(after)) => before.both(after, |before, after| after.sub(before)),
        _ => gone,
    };
    let classes = match &disk.unseen {
        Some(reason) => Presence::absent(reason.clone()),
        None => class_spans(index, before, after),
    };
    DiskSpan { name: disk.name.clone(), counters, classes }
}

fn missed_events(before: &Reading, after: &Reading) -> Result<Option<String>, String> {
    match (after.means, before.classes.value(), after.classes.value()) {
        (Some(means), Some(before), Some(after)) => block_latency::lost_note(means, before, after),
        _ => Ok(None),
    }
}

fn notes(before: &Reading, after: &Reading) -> Vec<String> {
    let tracing_notes = after.classes.value().map_or_else(Vec::new, |totals| totals.notes.clone());
    tracing_notes.into_iter().chain(missed_events(before, after).ok().flatten()).collect()
}

/// Returns completed requests by class; absent if too many events were lost for reliable counts.
fn class_spans(
    index: usize,
    before: &Reading,
    after: &Reading,
) -> Presence<BTreeMap<String, ClassSpan>> {
    if let Err(reason) = missed_events(before, after) {
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

    pub fn queue(&self, counters: &Counters) -> f64 {
        counters.weighted_ms as f64 / 1e3 / self.seconds()
    }

    /// Returns the share of the time with requests in flight, at most 1, because the kernel's counter steps may exceed
    /// the span.
    pub fn busy(&self, counters: &Counters) -> f64 {
        (counters.io_ticks_ms as f64 / 1e3 / self.seconds()).min(1.0)
    }

    pub fn load(&self) -> Option<CpuShares> {
        let all = self.processors.value()?;
        let sum = all.iter().fold(CpuShares::default(), |sum, cpu| sum.plus(cpu));
        (!all.is_empty()).then(|| sum.divided_by(all.len() as f64))
    }
}

impl DiskSpan {
    pub fn did_something(&self) -> bool {
        let counted = self.counters.value().is_some_and(|counters| {
            let ended = counters.reads_completed
                + counters.writes_completed
                + counters.discards_completed
                + counters.flushes_completed;
            ended > 0
        });
        counted || self.classes.value().is_some_and(|classes| !classes.is_empty())
    }
}

#[cfg(test)]
mod tests;
