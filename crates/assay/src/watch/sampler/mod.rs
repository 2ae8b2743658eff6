//! The counters of the machine at one moment, and what happened between two of them.

mod classes;
pub mod disks;
mod heat;
mod memory;
mod pressure;
mod processors;
mod users;

use std::collections::BTreeMap;

use crate::probes::{self, block_latency};
use crate::results::block::{self, ClassSpan, Means};
use crate::seen::Seen;
use crate::system::devices::{self, Counters};
use crate::system::{BlockTotals, System};

pub use classes::Tracing;
pub use disks::Disk;
pub use heat::Sensor;
pub use memory::Memory;
pub use pressure::Pressure;
pub use processors::Load;
pub use users::{User, Users};

/// Reads what is watched.
pub struct Sampler<'a> {
    system: &'a dyn System,
    disks: Vec<Disk>,
    tracing: Tracing,
    others: users::Watcher,
    ask_drives: bool,
}

/// The counters at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// When, nanoseconds of the monotonic clock.
    at_ns: u64,
    /// When, RFC 3339.
    at: String,
    /// Of each disk.
    counters: Vec<Seen<Counters>>,
    classes: Seen<BlockTotals>,
    means: Option<Means>,
    processors: Seen<Vec<processors::Ticks>>,
    throttle_events: Seen<u64>,
    pressure: Seen<pressure::Totals>,
    sensors: Seen<Vec<Sensor>>,
    memory: Seen<Memory>,
    /// Who moved something since the reading before.
    users: Users,
}

/// What happened between two readings; levels are those of the later one.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Nanoseconds.
    pub span_ns: u64,
    /// By device, in the order of the sampler.
    pub disks: Vec<DiskSpan>,
    /// How requests were seen, where they were.
    pub means: Option<Means>,
    /// Requests of which nobody saw the beginning.
    pub unseen_beginnings: u64,
    /// What is not in the latencies here, a sentence each.
    pub notes: Vec<String>,
    /// Each processor.
    pub processors: Seen<Vec<Load>>,
    /// Times that a processor was slowed down by heat.
    pub throttle_events: Seen<u64>,
    /// Time that work waited.
    pub pressure: Seen<Pressure>,
    /// Temperatures.
    pub sensors: Seen<Vec<Sensor>>,
    /// Memory; what was swapped is that of the span.
    pub memory: Seen<Memory>,
    /// Who moved something since the reading before the later one.
    pub users: Users,
}

/// What one device did.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpan {
    /// Kernel name.
    pub name: String,
    /// Differences of the kernel's counters; absent where the device is gone.
    pub counters: Seen<Counters>,
    /// By class: those of which something ended.
    pub classes: Seen<BTreeMap<String, ClassSpan>>,
}

impl<'a> Sampler<'a> {
    /// Watches disks.
    pub fn new(system: &'a dyn System, disks: Vec<Disk>, tracing: Tracing) -> Self {
        let others = users::Watcher::new(system, &disks);
        Self { system, disks, tracing, others, ask_drives: true }
    }

    /// The same beside a study of this process: drives are not asked for their temperature, and
    /// open files are left alone, of which one on a mount that hangs would never answer.
    pub fn beside(system: &'a dyn System, disks: Vec<Disk>, tracing: Tracing) -> Self {
        let others = users::Watcher::new(system, &[]);
        Self { system, disks, tracing, others, ask_drives: false }
    }

    /// What it watches.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Reads everything.
    pub fn read(&mut self) -> Reading {
        let system = self.system;
        Reading {
            at_ns: system.monotonic_ns(),
            at: system.now(),
            counters: self.disks.iter().map(|disk| devices::counters(system, &disk.name)).collect(),
            classes: self.tracing.read(),
            means: self.tracing.means(),
            processors: processors::read(system),
            throttle_events: probes::processors::read(system).throttle_events(),
            pressure: pressure::read(system),
            sensors: heat::read(system, self.ask_drives),
            memory: memory::read(system),
            users: self.others.look(system),
        }
    }

    /// What happened between two readings.
    pub fn between(&self, before: &Reading, after: &Reading) -> Span {
        between(&self.disks, before, after)
    }
}

impl Reading {
    /// When it was taken, RFC 3339.
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
            .map(|(at, disk)| of_disk(at, disk, before, after))
            .collect(),
        means: after.means,
        unseen_beginnings: unseen.value().copied().unwrap_or_default(),
        notes: notes(before, after),
        processors: before.processors.both(&after.processors, |before, after| {
            before.iter().zip(after).map(|(before, after)| after.since(before)).collect()
        }),
        throttle_events: before
            .throttle_events
            .both(&after.throttle_events, |before, after| after.saturating_sub(*before)),
        pressure: before
            .pressure
            .both(&after.pressure, |before, after| after.since(before, span_ns)),
        sensors: after.sensors.clone(),
        memory: before.memory.both(&after.memory, |before, after| after.since(before)),
        users: after.users.clone(),
    }
}

fn of_disk(at: usize, disk: &Disk, before: &Reading, after: &Reading) -> DiskSpan {
    let gone = Seen::absent("the device is gone");
    let at_both = (before.counters.get(at), after.counters.get(at));
    let counters = match at_both {
        (Some(before), Some(after)) => before.both(after, |before, after| after.sub(before)),
        _ => gone,
    };
    let classes = match &disk.unseen {
        Some(reason) => Seen::absent(reason.clone()),
        None => of_classes(at, before, after),
    };
    DiskSpan { name: disk.name.clone(), counters, classes }
}

/// What is said of events that were lost, by the rule of the probe.
fn missed(before: &Reading, after: &Reading) -> Result<Option<String>, String> {
    match (after.means, before.classes.value(), after.classes.value()) {
        (Some(means), Some(before), Some(after)) => block_latency::missed(means, before, after),
        _ => Ok(None),
    }
}

fn notes(before: &Reading, after: &Reading) -> Vec<String> {
    let told = after.classes.value().map_or_else(Vec::new, |totals| totals.notes.clone());
    told.into_iter().chain(missed(before, after).ok().flatten()).collect()
}

/// What ended by class; none where so many events were lost that every count is a guess.
fn of_classes(at: usize, before: &Reading, after: &Reading) -> Seen<BTreeMap<String, ClassSpan>> {
    if let Err(reason) = missed(before, after) {
        return Seen::Absent(reason);
    }
    let devices = before.classes.both(&after.classes, |before, after| {
        Some(block::between(before.devices.get(at)?, after.devices.get(at)?))
    });
    match devices {
        Seen::Present(Some(classes)) => Seen::Present(classes),
        Seen::Present(None) => Seen::absent("the device is not traced"),
        Seen::Absent(reason) => Seen::Absent(reason),
    }
}

impl Span {
    /// Seconds; never 0.
    pub fn seconds(&self) -> f64 {
        (self.span_ns as f64 / 1e9).max(1e-9)
    }

    /// A count per second.
    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds()
    }

    /// Requests that were under way on average.
    pub fn queue(&self, counters: &Counters) -> f64 {
        counters.weighted_ms as f64 / 1e3 / self.seconds()
    }

    /// Share of the time in which something was under way; the kernel's steps may reach beyond the
    /// ends of the span.
    pub fn busy(&self, counters: &Counters) -> f64 {
        (counters.io_ticks_ms as f64 / 1e3 / self.seconds()).min(1.0)
    }

    /// All processors together.
    pub fn load(&self) -> Option<Load> {
        let all = self.processors.value()?;
        let sum = all.iter().fold(Load::default(), |sum, one| sum.plus(one));
        (!all.is_empty()).then(|| sum.divided_by(all.len() as f64))
    }
}

impl DiskSpan {
    /// Whether anything ended.
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
