//! Counters of block devices from `/sys/class/block/*/stat`.

use std::collections::BTreeMap;

use super::Probe;
use crate::catalogue::About;
use crate::results::record::Traffic;
use crate::seen::Seen;
use crate::system::System;
use crate::system::devices::{self, Counters};

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "disk",
        summary: "requests, bytes and busy time of the devices, as the kernel counts them",
        text: "Reads /sys/class/block/NAME/stat of the topmost block devices and of the drives \
               that they are made of, four times: before the idle gap, at the beginning and at \
               the end of the run, and when everything written was on the device. The rules of \
               trust hold the bytes against what the workload claims; the metrics are of the \
               topmost devices, summed, and absent unless every one of them tells. The kernel \
               counts busy time in steps of its clock, 1 to 10 ms: rare short requests look \
               longer than they are. Costs one small file per device and reading. Needs no \
               rights, and block devices: memory, network and some FUSE programs have none.",
    },
    metrics: &["amplification", "device_requests_per_operation", "device_busy_s_per_gib"],
};

/// Counters of several devices at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    at_ns: u64,
    devices: Seen<BTreeMap<String, Counters>>,
}

/// Reads the counters of the named devices.
pub fn read(system: &dyn System, names: &[String]) -> Reading {
    let mut found = BTreeMap::new();
    let mut absent = None;
    for name in names {
        match devices::counters(system, name) {
            Seen::Present(counters) => {
                found.insert(name.clone(), counters);
            }
            Seen::Absent(reason) => absent = Some(reason),
        }
    }
    let devices = match absent {
        Some(reason) => Seen::Absent(reason),
        None if found.is_empty() => Seen::absent("no block device is known below the target"),
        None => Seen::Present(found),
    };
    Reading { at_ns: system.monotonic_ns(), devices }
}

/// What moved through each device between two readings.
pub fn between(before: &Reading, after: &Reading) -> Seen<BTreeMap<String, Traffic>> {
    let span_ns = after.at_ns.saturating_sub(before.at_ns);
    before.devices.both(&after.devices, |before, after| {
        let pairs = after.iter().filter_map(|(name, late)| Some((name, before.get(name)?, late)));
        pairs.map(|(name, early, late)| (name.clone(), traffic(early, late, span_ns))).collect()
    })
}

fn traffic(before: &Counters, after: &Counters, span_ns: u64) -> Traffic {
    Traffic {
        span_ns,
        reads: after.reads_completed.wrapping_sub(before.reads_completed),
        read_bytes: after.read_bytes.wrapping_sub(before.read_bytes),
        writes: after.writes_completed.wrapping_sub(before.writes_completed),
        write_bytes: after.written_bytes.wrapping_sub(before.written_bytes),
        discard_bytes: after.discarded_bytes.wrapping_sub(before.discarded_bytes),
        busy_ms: after.io_ticks_ms.wrapping_sub(before.io_ticks_ms),
        weighted_ms: after.weighted_ms.wrapping_sub(before.weighted_ms),
    }
}
