//! The document of `watch --json` (`assay-watch/1`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::State;
use super::members;
use super::sampler::{DiskSpan, Span};
use super::words::USUAL;
use assay_base::presence::Presence;
use assay_machine::probes::block_latency::counts::{
    ClassSpan, Latencies, bucket_from_ns, bucket_to_ns,
};

/// Format and version.
pub const FORMAT: &str = "assay-watch/1";

/// Everything since the beginning.
pub fn document(state: &State) -> Value {
    let whole = &state.whole;
    let devices: Vec<Value> =
        state.shown().into_iter().map(|at| device(state, at, whole)).collect();
    let mut document = json!({
        "format": FORMAT,
        "seconds": whole.seconds(),
        "means": whole.means,
        "devices": devices,
        "members": members::document(state),
        "probes": probes(state, whole),
    });
    if whole.unseen_beginnings > 0 {
        document["unseen_beginnings"] = json!(whole.unseen_beginnings);
    }
    document
}

fn device(state: &State, at: usize, whole: &Span) -> Value {
    let disk = state.disk(at);
    let mut absent: BTreeMap<&str, &str> = BTreeMap::new();
    let mut all: BTreeMap<&str, Value> = BTreeMap::new();
    for name in USUAL {
        all.insert(name, class(disk, name));
    }
    match &disk.classes {
        Presence::Present(found) => {
            all.extend(found.iter().map(|(name, span)| (name.as_str(), of_class(span))));
        }
        Presence::Absent(reason) => absent.extend(USUAL.map(|name| (name, reason.as_str()))),
    }
    let rates = disk.counters.value().map(|counters| {
        json!({
            "reads": counters.reads_completed, "read_bytes": counters.read_bytes,
            "writes": counters.writes_completed, "written_bytes": counters.written_bytes,
            "flushes": counters.flushes_completed, "discards": counters.discards_completed,
            "discarded_bytes": counters.discarded_bytes, "read_ms": counters.read_ms,
            "write_ms": counters.write_ms, "flush_ms": counters.flush_ms,
            "queue_mean": whole.queue(counters), "queue_max": state.deepest[at],
            "busy_share": whole.busy(counters),
        })
    });
    if let Some(reason) = disk.counters.reason() {
        absent.insert("counters", reason);
    }
    json!({
        "device": disk.name, "about": state.disks[at].words, "classes": all,
        "counters": rates, "absent": absent,
    })
}

/// A class: nothing ended of it, or what did; null where it is not seen.
fn class(disk: &DiskSpan, name: &str) -> Value {
    match &disk.classes {
        Presence::Present(all) => of_class(all.get(name).unwrap_or(&ClassSpan::default())),
        Presence::Absent(_) => Value::Null,
    }
}

fn of_class(span: &ClassSpan) -> Value {
    json!({
        "count": span.requests, "failed": span.failed, "bytes": span.bytes,
        "mean_ns": span.queued.mean_ns(), "stddev_ns": span.queued.sd_ns(),
        "p50_ns": span.queued.percentile_ns(0.5), "p99_ns": span.queued.percentile_ns(0.99),
        "histogram": histogram(&span.queued),
        "issued_mean_ns": span.issued.mean_ns(), "issued_histogram": histogram(&span.issued),
    })
}

/// One bucket of a histogram; its end does not belong to it.
#[derive(Serialize)]
struct Bucket {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

fn histogram(latencies: &Latencies) -> Vec<Bucket> {
    let bucket = |[index, count]: &[u64; 2]| Bucket {
        from_ns: bucket_from_ns(*index),
        to_ns: bucket_to_ns(*index),
        count: *count,
    };
    latencies.buckets.iter().map(bucket).collect()
}

fn probes(state: &State, whole: &Span) -> Value {
    let mut probes = json!({});
    let mut absent = json!({});
    for (name, seen) in [
        ("processors", value(&whole.processors)),
        ("pressure", value(&whole.pressure)),
        ("memory", value(&whole.memory)),
        ("temperature", value(&whole.sensors)),
        ("throttle_events", value(&whole.throttle_events)),
    ] {
        if let Some(reason) = seen.reason() {
            absent[name] = json!(reason);
        }
        probes[name] = seen.value().cloned().unwrap_or(Value::Null);
    }
    probes["users"] = json!(state.users());
    probes["users_hidden"] = json!(state.last.users.hidden);
    probes["absent"] = absent;
    probes
}

fn value<T: Serialize>(seen: &Presence<T>) -> Presence<Value> {
    match seen {
        Presence::Present(value) => Presence::Present(json!(value)),
        Presence::Absent(reason) => Presence::absent(reason.clone()),
    }
}

#[cfg(test)]
mod tests;
