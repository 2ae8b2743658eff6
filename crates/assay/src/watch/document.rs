//! The document of `watch --json` (`assay-watch/1`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::sampler::{CpuShares, MemoryState, PressureShares, SensorValue, Span, User};
use super::words::USUAL;
use super::{State, members};
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::counts::{
    ClassSpan, Latencies, Means, bucket_from_ns, bucket_to_ns,
};

pub const FORMAT: &str = "assay-watch/1";

/// Activity of the watched disks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchDocument<'a> {
    format: &'static str,
    seconds: f64,
    /// How requests were traced, if they were.
    tracer: Option<Means>,
    devices: Vec<DeviceDocument<'a>>,
    /// Arrays with at least two watched members.
    members: Vec<members::ArrayDocument<'a>>,
    probes: ProbesDocument<'a>,
    /// Requests whose start was not traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    unmatched_requests: Option<u64>,
}

/// Activity of a disk.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DeviceDocument<'a> {
    #[serde(rename = "device")]
    name: &'a str,
    description: &'a str,
    /// Its requests by class; null for untraced classes.
    classes: BTreeMap<&'a str, Option<ClassDocument>>,
    /// Counters of the kernel; null if unavailable.
    counters: Option<CountersDocument>,
    /// Reasons for absent values, by name.
    absent: BTreeMap<&'a str, &'a str>,
}

/// Completed requests of a class.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ClassDocument {
    count: u64,
    /// Failed requests among them.
    failed: u64,
    bytes: u64,
    /// From arrival in the block layer to completion.
    mean_ns: Option<f64>,
    stddev_ns: Option<f64>,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    /// Non-empty buckets.
    histogram: Vec<BucketDocument>,
    /// From issue to the driver to completion.
    issued_mean_ns: Option<f64>,
    issued_histogram: Vec<BucketDocument>,
}

/// The kernel's counters of a disk.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CountersDocument {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    flushes: u64,
    discards: u64,
    discarded_bytes: u64,
    /// Total over all reads.
    read_ms: u64,
    /// Total over all writes.
    write_ms: u64,
    /// Total over all flushes.
    flush_ms: u64,
    /// Mean number of requests in flight.
    queue_mean: f64,
    /// Maximum of this mean between two readings.
    queue_max: f64,
    /// Share of the time with requests in flight.
    busy_share: f64,
}

/// Activity of the machine around the disks; null if unavailable, with the reason in `absent`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ProbesDocument<'a> {
    /// Load of each CPU.
    cpus: Option<&'a [CpuShares]>,
    /// Time that tasks waited.
    pressure: Option<&'a PressureShares>,
    memory: Option<&'a MemoryState>,
    temperature: Option<&'a [SensorValue]>,
    /// Number of thermal throttling events of CPUs.
    throttle_events: Option<u64>,
    /// Programs that did I/O.
    processes: Vec<&'a User>,
    /// Programs whose I/O this user may not see.
    processes_hidden: usize,
    /// Reasons for absent values, by name.
    absent: BTreeMap<&'static str, &'a str>,
}

pub fn document(state: &State) -> Value {
    let whole = &state.whole;
    json!(WatchDocument {
        format: FORMAT,
        seconds: whole.seconds(),
        tracer: whole.means,
        devices: state.shown().into_iter().map(|index| device(state, index, whole)).collect(),
        members: members::document(state),
        probes: probes(state, whole),
        unmatched_requests: (whole.unseen_beginnings > 0).then_some(whole.unseen_beginnings),
    })
}

fn device<'a>(state: &'a State, index: usize, whole: &Span) -> DeviceDocument<'a> {
    let disk = state.disk(index);
    let mut absent: BTreeMap<&str, &str> = BTreeMap::new();
    let mut classes: BTreeMap<&str, Option<ClassDocument>> = BTreeMap::new();
    match &disk.classes {
        Presence::Present(spans) => {
            let idle = class_document(&ClassSpan::default());
            classes.extend(USUAL.map(|name| (name, Some(idle.clone()))));
            for (name, span) in spans {
                classes.insert(name, Some(class_document(span)));
            }
        }
        Presence::Absent(reason) => {
            classes.extend(USUAL.map(|name| (name, None)));
            absent.extend(USUAL.map(|name| (name, reason.as_str())));
        }
    }
    let counters = disk.counters.value().map(|counters| CountersDocument {
        reads: counters.reads_completed,
        read_bytes: counters.read_bytes,
        writes: counters.writes_completed,
        written_bytes: counters.written_bytes,
        flushes: counters.flushes_completed,
        discards: counters.discards_completed,
        discarded_bytes: counters.discarded_bytes,
        read_ms: counters.read_ms,
        write_ms: counters.write_ms,
        flush_ms: counters.flush_ms,
        queue_mean: whole.queue(counters),
        queue_max: state.deepest[index],
        busy_share: whole.busy(counters),
    });
    if let Some(reason) = disk.counters.reason() {
        absent.insert("counters", reason);
    }
    DeviceDocument {
        name: &disk.name,
        description: &state.disks[index].words,
        classes,
        counters,
        absent,
    }
}

fn class_document(span: &ClassSpan) -> ClassDocument {
    ClassDocument {
        count: span.requests,
        failed: span.failed,
        bytes: span.bytes,
        mean_ns: span.queued.mean_ns(),
        stddev_ns: span.queued.sd_ns(),
        p50_ns: span.queued.percentile_ns(0.5),
        p99_ns: span.queued.percentile_ns(0.99),
        histogram: histogram(&span.queued),
        issued_mean_ns: span.issued.mean_ns(),
        issued_histogram: histogram(&span.issued),
    }
}

/// A histogram bucket; its upper end is exclusive.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct BucketDocument {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

fn histogram(latencies: &Latencies) -> Vec<BucketDocument> {
    let mut buckets = Vec::new();
    for [index, count] in &latencies.buckets {
        let (from_ns, to_ns) = (bucket_from_ns(*index), bucket_to_ns(*index));
        buckets.push(BucketDocument { from_ns, to_ns, count: *count });
    }
    buckets
}

fn probes<'a>(state: &'a State, whole: &'a Span) -> ProbesDocument<'a> {
    let reasons = [
        ("processors", whole.processors.reason()),
        ("pressure", whole.pressure.reason()),
        ("memory", whole.memory.reason()),
        ("temperature", whole.sensors.reason()),
        ("throttle_events", whole.throttle_events.reason()),
    ];
    ProbesDocument {
        cpus: whole.processors.value().map(Vec::as_slice),
        pressure: whole.pressure.value(),
        memory: whole.memory.value(),
        temperature: whole.sensors.value().map(Vec::as_slice),
        throttle_events: whole.throttle_events.value().copied(),
        processes: state.users(),
        processes_hidden: state.last.users.hidden,
        absent: reasons.into_iter().filter_map(|(name, reason)| Some((name, reason?))).collect(),
    }
}

#[cfg(test)]
mod tests;
