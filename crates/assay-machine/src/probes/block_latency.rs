//! Requests of the target's devices by class, with latencies: counted inside the kernel, or read from its trace.

pub mod counts;

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::site::{Site, TargetKind};
use crate::system::{BlockTotals, BlockTracer, DeviceNumber, System, TraceMeans, devices, sysfs};
use assay_core::{catalogue::About, presence::Presence};

use counts::{BlockLatency, Means};

use super::look::{Entry, Moment, Presentation, Probe, Scene, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "block-latency",
        summary: "device requests and their latencies by class (read, write, flush, discard, ...)",
        text: "Counts completed requests on the target's whole disks, with two latencies until completion: from entry \
               into the block layer and from issue to the driver. A BPF program collects histograms with buckets of \
               3%. If the kernel cannot load the program, Assay reads events from the kernel's trace (tracefs); lost \
               events make the values absent. The probe runs from just before the run until write-back completes, only \
               in studies that name it in `probes`. A write with a flush counts as a write and as a flush; merged \
               requests count once. Devices without requests (zram, device mapper) have only the first latency. For \
               partitions and stacked devices, the latency includes throttling by control groups; for whole disks, \
               only if the kernel lets a BPF program observe the throttling. Cost: tens of nanoseconds of CPU time per \
               request (docs/data/block-latency-programs.csv), and a short setup before the first trial. Needs root, \
               or CAP_BPF and CAP_PERFMON and a kernel with BTF (Linux 5.17), or tracefs.",
    },
    fields: &[
        field("means", Unit::Word, "source of the requests: `bpf` or `tracefs`"),
        field("span_ns", Unit::Nanoseconds, "length of the observed period"),
        field("devices.*.*.requests", Unit::Count, "completed requests, by device and class"),
        field("devices.*.*.failed", Unit::Count, "failed requests"),
        field("devices.*.*.bytes", Unit::Bytes, "bytes of the completed requests"),
        field(
            "devices.*.*.queued.sum_ns",
            Unit::Nanoseconds,
            "sum of latencies from entry into the block layer until completion",
        ),
        field("devices.*.*.queued.buckets.*.*", Unit::Count, "bucket index and its count"),
        field(
            "devices.*.*.issued.sum_ns",
            Unit::Nanoseconds,
            "sum of latencies from issue to the driver until completion",
        ),
        field("devices.*.*.issued.buckets.*.*", Unit::Count, "bucket index and its count"),
        field("unseen_beginnings", Unit::Count, "requests without an observed start"),
        field("notes.*", Unit::Word, "delays that the latencies do not include"),
    ],
    rules: &[],
    presentation: Presentation::Tailored,
    here: Some(usable_method),
};

pub fn is_asked(probes: &[String]) -> bool {
    probes.iter().any(|name| name == PROBE.about.name)
}

/// How requests are seen, the better way first.
const METHODS: [(TraceMeans, Means, &str); 2] =
    [(TraceMeans::Bpf, Means::Bpf, "BPF"), (TraceMeans::Tracefs, Means::Tracefs, "tracefs")];

/// A BPF program may miss one request in this many by chance, if the request ends while its CPU counts another. A trace
/// loses more: beginnings and ends of others.
const REQUESTS_PER_MISSED: u64 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
struct TracedDisk {
    name: String,
    number: DeviceNumber,
    /// The kernel's running number: another disk under an old name has another.
    sequence: Option<u64>,
}

struct Attached {
    disks: Vec<TracedDisk>,
    means: Means,
    /// Why it is not the better method.
    instead: Option<String>,
    tracer: Box<dyn BlockTracer>,
}

/// Observes requests during a whole session; attaches again only if a trial has other devices.
#[derive(Default)]
pub struct TracerProbe {
    attached: Option<Attached>,
    /// Disks that cannot be traced, with the reason, so that trials do not try again.
    refused: Option<(Vec<TracedDisk>, String)>,
    /// Disks of the next trial, or the reason for not counting.
    next: Option<Presence<Vec<TracedDisk>>>,
    before: Option<LatencyReading>,
    /// Previous reading by [`Self::since_last`].
    last: Option<LatencyReading>,
    found: Option<Presence<BlockLatency>>,
}

impl Probe for TracerProbe {
    type Observed = BlockLatency;
    const MOMENTS: &'static [Moment] = &[Moment::Ready, Moment::BeforeRun, Moment::Settled];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        match moment {
            Moment::Ready if is_asked(scene.asked.probes) => self.prepare(scene.system, scene.site),
            Moment::Ready => {}
            Moment::BeforeRun => self.before = self.read_before(scene.system),
            _ => {
                let before = self.before.take();
                self.found = before.map(|before| self.finish(scene.system, &before));
            }
        }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<BlockLatency> {
        self.found.take().unwrap_or_else(not_recorded)
    }
}

struct LatencyReading {
    at_ns: u64,
    totals: Presence<BlockTotals>,
}

impl TracerProbe {
    /// Attaches a tracer before a trial, outside the measured time, because this takes some tenths of a second.
    fn prepare(&mut self, system: &dyn System, site: &Site) {
        let wanted = traced_disks(system, site);
        if let Presence::Present(wanted) = &wanted {
            self.attach(system, wanted);
        }
        (self.next, self.last) = (Some(wanted), None);
    }

    /// Attaches a tracer to these disks, unless one watches them already or they were refused before.
    fn attach(&mut self, system: &dyn System, wanted: &[TracedDisk]) {
        let has_all = |disks: &[TracedDisk]| wanted.iter().all(|disk| disks.contains(disk));
        if self.attached.as_ref().is_some_and(|attached| has_all(&attached.disks))
            || self.refused.as_ref().is_some_and(|(disks, _)| disks == wanted)
        {
            return;
        }
        // The targets of a study take turns, so earlier disks stay watched unless they were replaced.
        let before = self.attached.take().map_or_else(Vec::new, |attached| attached.disks);
        let remains = |disk: &TracedDisk| {
            !wanted.contains(disk) && traced_disk(system, &disk.name).as_ref() == Some(disk)
        };
        let mut disks = wanted.to_vec();
        disks.extend(before.into_iter().filter(remains));
        match attach_best(system, disks) {
            Ok(attached) => (self.attached, self.refused) = (Some(attached), None),
            Err(reason) => self.refused = Some((wanted.to_vec(), reason)),
        }
    }

    /// Counts before a run; `None` if the probe was not requested.
    fn read_before(&mut self, system: &dyn System) -> Option<LatencyReading> {
        self.next.as_ref()?;
        Some(self.take_reading(system))
    }

    fn take_reading(&mut self, system: &dyn System) -> LatencyReading {
        LatencyReading { totals: self.read_totals(), at_ns: system.monotonic_ns() }
    }

    /// Reads the tracer's counts since it was attached, or the reason why the next trial is not traced.
    fn read_totals(&mut self) -> Presence<BlockTotals> {
        if let Some(Presence::Absent(reason)) = &self.next {
            return Presence::absent(reason.clone());
        }
        match (&mut self.attached, &self.refused) {
            (Some(attached), _) if self.next.is_some() => read_attached(attached),
            (None, Some((_, reason))) => Presence::absent(reason.clone()),
            _ => Presence::absent("no requests were observed"),
        }
    }

    fn finish(&mut self, system: &dyn System, before: &LatencyReading) -> Presence<BlockLatency> {
        let after = self.take_reading(system);
        let latencies = self.between(system, before, &after);
        let has_failed = before.totals.value().is_none() || after.totals.value().is_none();
        if matches!(self.next.take(), Some(Presence::Present(_))) && has_failed {
            // The next trial attaches a new tracer instead of the one that could not be read.
            self.attached = None;
        }
        latencies
    }

    /// Returns the requests that ended on the disks of the current trial since the last call; absent at the first call.
    pub fn since_last(&mut self, system: &dyn System) -> Presence<BlockLatency> {
        let now = self.take_reading(system);
        let latencies = match &self.last {
            Some(before) => self.between(system, before, &now),
            None => Presence::absent(now.totals.reason().unwrap_or("no earlier reading exists")),
        };
        self.last = Some(now);
        latencies
    }

    /// Requests of the current trial's disks between two readings; absent if one failed.
    fn between(
        &self,
        system: &dyn System,
        before: &LatencyReading,
        after: &LatencyReading,
    ) -> Presence<BlockLatency> {
        let span_ns = after.at_ns.saturating_sub(before.at_ns);
        let (early, late) = match (&before.totals, &after.totals) {
            (Presence::Present(early), Presence::Present(late)) => (early, late),
            (Presence::Absent(reason), _) | (_, Presence::Absent(reason)) => {
                return Presence::absent(reason.clone());
            }
        };
        match (&self.next, &self.attached) {
            (Some(Presence::Present(disks)), Some(attached)) => {
                latencies_between(system, attached, disks, early, late, span_ns)
            }
            _ => Presence::absent("no requests were observed"),
        }
    }
}

fn read_attached(attached: &mut Attached) -> Presence<BlockTotals> {
    match attached.tracer.read() {
        Ok(totals) if totals.devices.len() == attached.disks.len() => Presence::Present(totals),
        Ok(_) => Presence::absent("the counts do not match the devices"),
        Err(error) => Presence::absent(format!("cannot read the counts: {error}")),
    }
}

/// Attaches a tracer by the best method that works here; fails with the reasons of all methods.
fn attach_best(system: &dyn System, disks: Vec<TracedDisk>) -> Result<Attached, String> {
    let numbers: Vec<DeviceNumber> = disks.iter().map(|disk| disk.number).collect();
    let mut reasons = Vec::new();
    for (trace_means, means, name) in METHODS {
        match system.trace_block(&numbers, trace_means) {
            Ok(tracer) => {
                let instead = second_best(&reasons);
                return Ok(Attached { disks, means, instead, tracer });
            }
            Err(error) => reasons.push(format!("{name}: {error}")),
        }
    }
    Err(reasons.join("; "))
}

/// Describes how this machine can trace requests, by attaching a tracer to its first disk.
fn usable_method(system: &dyn System) -> Presence<String> {
    let names = system.list(Path::new("/sys/block")).unwrap_or_default();
    let Some(disk) = names.iter().find_map(|name| traced_disk(system, name)) else {
        return Presence::absent("this machine has no disk");
    };
    match attach_best(system, vec![disk]) {
        Ok(attached) => Presence::Present(match attached.means {
            Means::Bpf => "with a BPF program".to_owned(),
            Means::Tracefs => "with the kernel's trace, which delays each request".to_owned(),
        }),
        Err(reason) => Presence::Absent(reason),
    }
}

/// Note that the better method is unavailable: the other one has more overhead.
pub fn second_best(reasons: &[String]) -> Option<String> {
    let reasons = (!reasons.is_empty()).then(|| reasons.join("; "));
    reasons.map(|reasons| {
        format!("Assay uses the kernel's trace, which costs more CPU time ({reasons})")
    })
}

/// Requests of the wanted disks between two readings of the tracer; absent if lost events invalidate the counts.
fn latencies_between(
    system: &dyn System,
    attached: &Attached,
    wanted: &[TracedDisk],
    before: &BlockTotals,
    after: &BlockTotals,
    span_ns: u64,
) -> Presence<BlockLatency> {
    let notes = match lost_note(attached.means, before, after) {
        Ok(note) => after.notes.iter().chain(&attached.instead).cloned().chain(note).collect(),
        Err(reason) => return Presence::Absent(reason),
    };
    // The totals are in the order of the attached disks.
    let totals = before.devices.iter().zip(&after.devices);
    let mut devices = BTreeMap::new();
    for (disk, (before, after)) in attached.disks.iter().zip(totals) {
        if wanted.contains(disk) {
            let is_same = traced_disk(system, &disk.name).as_ref() == Some(disk);
            let counts = is_same.then(|| counts::between(before, after));
            let counts = Presence::from_option(counts, "the device disappeared during the trial");
            devices.insert(disk.name.clone(), counts);
        }
    }
    Presence::Present(BlockLatency {
        means: attached.means,
        span_ns,
        devices,
        unseen_beginnings: after.unseen_beginnings.saturating_sub(before.unseen_beginnings),
        notes,
    })
}

/// Returns a note on lost events, `None` if there were none; an error if they invalidate the counts. The limit is
/// relative to the requests of the traced disks, but a BPF program misses events of all disks.
pub fn lost_note(
    means: Means,
    before: &BlockTotals,
    after: &BlockTotals,
) -> Result<Option<String>, String> {
    let lost = after.lost_events.saturating_sub(before.lost_events);
    if lost == 0 {
        return Ok(None);
    }
    let why = match means {
        Means::Bpf => "requests completed during the counting of another request",
        Means::Tracefs => "more requests than the kernel's trace can buffer",
    };
    let text = format!("{lost} events were lost: {why}");
    let is_rare = lost.saturating_mul(REQUESTS_PER_MISSED) <= completed(before, after);
    if means == Means::Bpf && is_rare { Ok(Some(text)) } else { Err(text) }
}

fn completed(before: &BlockTotals, after: &BlockTotals) -> u64 {
    let requests = |totals: &BlockTotals| -> u64 {
        totals.devices.iter().flatten().map(|class| class.requests).sum()
    };
    requests(after).saturating_sub(requests(before))
}

/// The whole disks of a site: requests of a partition are its disk's.
fn traced_disks(system: &dyn System, site: &Site) -> Presence<Vec<TracedDisk>> {
    if site.kind == TargetKind::Simulated {
        return Presence::absent("simulated");
    }
    let mut disks: Vec<TracedDisk> = Vec::new();
    for name in &site.shared {
        let (layer, _) = devices::layer(system, name);
        let parent = layer.below.first().unwrap_or(name);
        let name = if layer.kind == "partition" { parent } else { name };
        if let Some(reason) = why_unseen(system, name) {
            return Presence::absent(reason);
        }
        match traced_disk(system, name) {
            Some(disk) if disks.contains(&disk) => {}
            Some(disk) => disks.push(disk),
            None => return Presence::absent(format!("{name} does not exist")),
        }
    }
    let disks = (!disks.is_empty()).then_some(disks);
    Presence::from_option(disks, "no known block device below the target")
}

/// Returns why requests of a device are invisible: the head of a multipath NVMe drive has none.
pub fn why_unseen(system: &dyn System, name: &str) -> Option<String> {
    let place = system.canonical(&sysfs::block(name)).unwrap_or_default();
    let is_head = place.starts_with("/sys/devices/virtual/nvme-subsystem");
    is_head.then(|| format!("{name} is a multipath device; its paths process the requests"))
}

fn traced_disk(system: &dyn System, name: &str) -> Option<TracedDisk> {
    let number = devices::number_of(system, name)?;
    let sequence = sysfs::number(system, &sysfs::block(name).join("diskseq"));
    Some(TracedDisk { name: name.to_owned(), number, sequence: sequence.value().copied() })
}

#[cfg(test)]
mod tests;
