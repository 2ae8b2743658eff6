//! What workloads were planned as, and what they counted: of one kind, reads and writes, and in words.

use serde_json::{Map, Value, json};

/// Keys of a workload that are those of reads and writes now.
const IO: [&str; 9] = [
    "engine",
    "pattern",
    "size_bytes",
    "depth",
    "threads",
    "asked_depth",
    "content",
    "direct",
    "operations",
];
/// Keys of what was counted that only reads and writes have.
const DETAIL: [&str; 7] = [
    "classes",
    "submitting_ns",
    "longest_ns",
    "still_s",
    "looked_at",
    "already_complete",
    "sample_latencies_ns",
];

/// What stands for the pattern and the content of what nobody ran.
const NOBODY: &str = "none";

/// Brings a plan of the first format into the form of this version.
pub fn plan_from_first(plan: &mut Value) {
    let Some(plan) = plan.as_object_mut() else { return };
    // The design tells it.
    plan.remove("order");
    for absent in plan.get_mut("absent").and_then(Value::as_array_mut).into_iter().flatten() {
        let bare = absent.get("reason").and_then(Value::as_str).map(without_label);
        if let Some(bare) = bare {
            absent["reason"] = bare;
        }
    }
    for workload in plan.get_mut("workloads").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(workload) = workload.as_object_mut() {
            let background = workload.remove("beside").and_then(background);
            let io = io(workload);
            workload.insert("work".to_owned(), json!({ "io": io }));
            workload.extend(background.map(|own| ("background".to_owned(), own)));
        }
    }
}

/// A reason without the words that say that nothing was measured.
fn without_label(reason: &str) -> Value {
    json!(reason.strip_prefix("not measured: ").unwrap_or(reason))
}

/// The reads and writes of a workload, taken out of it.
fn io(workload: &mut Map<String, Value>) -> Value {
    let mut io = Map::new();
    for key in IO {
        io.extend(workload.remove_entry(key));
    }
    for key in ["pattern", "content"] {
        if io.get(key).is_some_and(|word| word == NOBODY) {
            io.insert(key.to_owned(), json!("random"));
        }
    }
    let synced = workload.remove("data_sync") == Some(json!(true));
    io.insert("sync".to_owned(), json!(if synced { "each-write" } else { "none" }));
    let reads = workload.remove("read_percent").and_then(|reads| reads.as_u64()).unwrap_or(100);
    let rewrites = workload.remove("rewrite") == Some(json!(true));
    let mix = match reads {
        _ if rewrites => "rewrite".to_owned(),
        100 => "read".to_owned(),
        0 => "write".to_owned(),
        reads => format!("{reads}/{}", 100_u64.saturating_sub(reads)),
    };
    io.insert("mix".to_owned(), json!(mix));
    Value::Object(io)
}

fn background(beside: Value) -> Option<Value> {
    let Value::Object(mut beside) = beside else { return None };
    let work = io(&mut beside);
    Some(json!({ "work": work, "note": beside.remove("note") }))
}

/// Brings a record of the first format into the form of this version.
pub fn record_from_first(record: &mut Value) {
    let Some(record) = record.as_object_mut() else { return };
    let Some(Value::Object(mut counted)) = record.remove("counted") else { return };
    let background = counted.remove("beside").and_then(|beside| match beside {
        Value::Object(beside) => Some(measured(beside)),
        _ => None,
    });
    record.insert("measured".to_owned(), measured(counted));
    record.extend(background.map(|own| ("background".to_owned(), own)));
}

fn measured(mut counted: Map<String, Value>) -> Value {
    let detail: Map<String, Value> =
        DETAIL.into_iter().filter_map(|key| counted.remove_entry(key)).collect();
    let claims = counted.remove("claimed").unwrap_or_else(|| json!({}));
    let notes = counted.remove("engine_notes").unwrap_or_else(|| json!([]));
    counted.insert("claims".to_owned(), claims);
    counted.insert("notes".to_owned(), notes);
    counted.insert("detail".to_owned(), json!({ "io": detail }));
    Value::Object(counted)
}
