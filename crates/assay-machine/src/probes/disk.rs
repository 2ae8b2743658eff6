//! Counters of block devices from `/sys/class/block/*/stat`.

use std::collections::BTreeMap;

use crate::system::System;
use crate::system::devices::{self, Counters};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Presentation, Probe, ProbeField, Scene, Unit, field};

pub static PROBE: Entry = Entry {
    about: About {
        name: "disk",
        summary: "requests, bytes and busy time of the devices, from kernel counters",
        text: "Reads /sys/class/block/NAME/stat of the topmost block devices and of their member drives four times: \
               before the idle gap, at the start and end of the run, and after write-back completes. Trust rules \
               compare these bytes with the bytes that the workload reports. The metrics are sums over the topmost \
               devices, and absent if a device has no counters. The kernel counts busy time in clock ticks of 1 to 10 \
               ms, so it overestimates short, rare requests. Cost: one small file read per device for each reading. \
               Needs no privileges. Works only with block devices, not with network or FUSE filesystems.",
    },
    fields: FIELDS,
    rules: &[
        "unwritten",
        "cached",
        "device-bytes",
        "low-queue-depth",
        "compressed",
        "foreign-io",
        "slow-member",
    ],
    presentation: Presentation::Tailored,
    here: None,
};

pub const FIELDS: &[ProbeField] = &[
    field("*.*.span_ns", Unit::Nanoseconds, "length of the period `gap`, `run` or `settle`"),
    field("*.*.reads", Unit::Count, "read requests"),
    field("*.*.read_bytes", Unit::Bytes, "read"),
    field("*.*.writes", Unit::Count, "write requests"),
    field("*.*.write_bytes", Unit::Bytes, "written"),
    field("*.*.discard_bytes", Unit::Bytes, "discarded"),
    field("*.*.read_ms", Unit::Milliseconds, "total time of all reads"),
    field("*.*.write_ms", Unit::Milliseconds, "total time of all writes"),
    field("*.*.busy_ms", Unit::Milliseconds, "time with requests in flight"),
    field("*.*.weighted_ms", Unit::Milliseconds, "time in flight, summed over all requests"),
];

/// Traffic of one device in a span of time, from its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    pub span_ns: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub discard_bytes: u64,
    /// Milliseconds that reads took, summed over them; none in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ms: Option<u64>,
    pub busy_ms: u64,
    pub weighted_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceEvidence {
    /// Right before the trial, while Assay is idle.
    pub gap: Traffic,
    /// From the trial's first submission to its last completion.
    pub run: Traffic,
    /// After that, until everything written was on the device.
    pub settle: Traffic,
}

#[derive(Default)]
pub struct FourReadings(Vec<DiskReading>);

impl FourReadings {
    pub const MOMENTS: &'static [Moment] =
        &[Moment::BeforeRest, Moment::BeforeRun, Moment::AfterRun, Moment::Settled];

    pub fn look(&mut self, system: &dyn System, names: &[String]) {
        self.0.push(read(system, names));
    }

    /// Returns each device's traffic before, during and after the run, and forgets the readings.
    pub fn take(&mut self) -> Presence<BTreeMap<String, DeviceEvidence>> {
        let readings = std::mem::take(&mut self.0);
        let [before_gap, before_run, after_run, settled] = &readings[..] else {
            return Presence::absent("Assay could not read the counters each time");
        };
        let gap = between(before_gap, before_run);
        let run = between(before_run, after_run);
        let settle = between(after_run, settled);
        let gap_and_run = gap.both(&run, |gap, run| (gap.clone(), run.clone()));
        gap_and_run.both(&settle, |(gap, run), settle| {
            run.keys().map(|name| (name.clone(), evidence_of(name, [gap, run, settle]))).collect()
        })
    }
}

fn evidence_of(name: &str, spans: [&BTreeMap<String, Traffic>; 3]) -> DeviceEvidence {
    let [gap, run, settle] = spans.map(|span| span.get(name).copied().unwrap_or_default());
    DeviceEvidence { gap, run, settle }
}

/// Devices used only by the target.
#[derive(Default)]
pub struct Disks(FourReadings);

impl Probe for Disks {
    type Observed = BTreeMap<String, DeviceEvidence>;
    const MOMENTS: &'static [Moment] = FourReadings::MOMENTS;

    fn look(&mut self, _moment: Moment, scene: &Scene<'_>) {
        self.0.look(scene.system, &scene.site.shared);
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<Self::Observed> {
        self.0.take()
    }

    fn nothing(reason: &str) -> Presence<Self::Observed> {
        Presence::absent(reason)
    }
}

#[derive(Clone, Debug)]
pub struct DiskReading {
    at_ns: u64,
    devices: Presence<BTreeMap<String, Counters>>,
}

/// Reads the counters of these devices; absent if one of them cannot be read.
pub fn read(system: &dyn System, names: &[String]) -> DiskReading {
    let mut found = BTreeMap::new();
    let mut absent = None;
    for name in names {
        match devices::counters(system, name) {
            Presence::Present(counters) => {
                found.insert(name.clone(), counters);
            }
            Presence::Absent(reason) => absent = Some(reason),
        }
    }
    let devices = match absent {
        Some(reason) => Presence::Absent(reason),
        None if found.is_empty() => Presence::absent("no known block device below the target"),
        None => Presence::Present(found),
    };
    DiskReading { at_ns: system.monotonic_ns(), devices }
}

/// Traffic between two readings, of each device in both.
pub fn between(before: &DiskReading, after: &DiskReading) -> Presence<BTreeMap<String, Traffic>> {
    let span_ns = after.at_ns.saturating_sub(before.at_ns);
    before.devices.both(&after.devices, |before, after| {
        let traffic = |(name, late): (&String, &Counters)| {
            Some((name.clone(), Traffic::new(&late.sub(before.get(name)?), span_ns)))
        };
        after.iter().filter_map(traffic).collect()
    })
}

impl Traffic {
    pub fn new(counted: &Counters, span_ns: u64) -> Self {
        Self {
            span_ns,
            reads: counted.reads_completed,
            read_bytes: counted.read_bytes,
            writes: counted.writes_completed,
            write_bytes: counted.written_bytes,
            discard_bytes: counted.discarded_bytes,
            read_ms: Some(counted.read_ms),
            write_ms: Some(counted.write_ms),
            busy_ms: counted.io_ticks_ms,
            weighted_ms: counted.weighted_ms,
        }
    }
}
