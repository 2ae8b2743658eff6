//! What the probes wrote.

use serde_json::{Map, Value, json};

/// Entries of the first format that stand alone now, by their names then and now. Those of `watched`
/// were one level further down.
const ALONE: [(&str, &str); 4] =
    [("devices", "disk"), ("own", "own-traffic"), ("below", "members"), ("block", "block-latency")];
const ALONE_WATCHED: [(&str, &str); 6] = [
    ("load", "load"),
    ("temperature", "temperature"),
    ("power_supply", "power-supply"),
    ("clock", "clock"),
    ("kernel_log", "kernel-log"),
    ("energy", "energy"),
];

/// Entries that are parts of one observation now: its name, and their names then and now.
type Joined = (&'static str, &'static [(&'static str, &'static str)]);
const JOINED: [Joined; 3] = [
    ("page-cache", &[("cached_before", "before"), ("cached_after", "after")]),
    (
        "processors",
        &[
            ("processors", "ticks"),
            ("throttle_events", "throttle_events"),
            ("group_throttled", "group_throttled"),
        ],
    ),
    ("cpu", &[("kernel_threads_ns", "kernel_threads_ns"), ("busy_ns", "busy_ns")]),
];
const JOINED_WATCHED: [Joined; 2] = [
    ("pressure", &[("pressure", "machine"), ("group_pressure", "group")]),
    ("memory", &[("memory", "machine"), ("processes", "processes")]),
];

/// Brings the evidence of a record of the first format into the form of this version: an entry for
/// each probe, under its name.
pub fn from_first(evidence: &mut Value) {
    let Value::Object(first) = evidence else { return };
    let mut first = std::mem::take(first);
    let mut watched = match first.remove("watched") {
        Some(Value::Object(watched)) => watched,
        _ => Map::new(),
    };
    // That there is nothing below was an entry of its own.
    if first.get("below").is_some_and(|below| *below == json!({ "present": {} })) {
        first.remove("below");
    }
    let mut second = Map::new();
    alone(&mut first, &ALONE, &mut second);
    joined(&mut first, &JOINED, &mut second);
    alone(&mut watched, &ALONE_WATCHED, &mut second);
    joined(&mut watched, &JOINED_WATCHED, &mut second);
    second.extend(first.remove("probe_ns").map(|costs| ("probe_ns".to_owned(), costs)));
    *evidence = Value::Object(second);
}

fn alone(from: &mut Map<String, Value>, names: &[(&str, &str)], to: &mut Map<String, Value>) {
    for (then, now) in names {
        to.extend(from.remove(*then).map(|entry| ((*now).to_owned(), entry)));
    }
}

fn joined(from: &mut Map<String, Value>, all: &[Joined], to: &mut Map<String, Value>) {
    for (name, parts) in all {
        let mut found = Map::new();
        alone(from, parts, &mut found);
        if !found.is_empty() {
            to.insert((*name).to_owned(), json!({ "present": found }));
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_machine::probes::{Evidence, is_not_recorded};

    use super::*;

    fn read(first: &str) -> Evidence {
        let mut value: Value = serde_json::from_str(first).unwrap();
        from_first(&mut value);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_the_oldest_versions_wrote_is_read() {
        let old = read(concat!(
            r#"{"devices":{"absent":"a test"},"own":{"absent":"a test"},"#,
            r#""cached_before":{"absent":"a test"},"cached_after":{"absent":"a test"},"#,
            r#""processors":{"present":{"total":7,"steal":1}},"throttle_events":{"absent":"none"},"#,
            r#""group_throttled":{"absent":"a test"}}"#
        ));
        assert_eq!(old.disk.reason(), Some("a test"));
        let processors = old.processors.value().unwrap();
        assert_eq!(processors.ticks.value().map(|ticks| ticks.total), Some(7));
        assert_eq!(processors.throttle_events.reason(), Some("none"));
        assert_eq!(old.page_cache.value().unwrap().before.reason(), Some("a test"));
        assert!(is_not_recorded(&old.cpu) && is_not_recorded(&old.members));
        assert!(is_not_recorded(&old.energy) && is_not_recorded(&old.block_latency));
    }

    #[test]
    fn what_the_last_versions_wrote_is_read() {
        let old = read(concat!(
            r#"{"devices":{"present":{}},"own":{"present":{"read_bytes":3,"write_bytes":4}},"#,
            r#""below":{"present":{}},"kernel_threads_ns":{"present":9},"busy_ns":{"absent":"no"},"#,
            r#""block":{"absent":"simulated"},"watched":{"load":{"present":[[1,2,3,4,9]]},"#,
            r#""pressure":{"absent":"no PSI"},"group_pressure":{"absent":"version 1"},"#,
            r#""processes":{"present":{"processes":1,"rss_bytes":5}},"#,
            r#""clock":{"present":{"stepped_ns":-6,"suspended_ns":0}}},"probe_ns":{"cpu":8}}"#
        ));
        assert_eq!(old.own_traffic.value().map(|own| own.write_bytes), Some(4));
        assert!(is_not_recorded(&old.members));
        let cpu = old.cpu.value().unwrap();
        assert_eq!((cpu.kernel_threads_ns.value(), cpu.busy_ns.reason()), (Some(&9), Some("no")));
        assert_eq!(old.block_latency.reason(), Some("simulated"));
        assert_eq!(old.load.value().unwrap()[0].total, 9);
        assert_eq!(old.pressure.value().unwrap().group.reason(), Some("version 1"));
        let memory = old.memory.value().unwrap();
        assert!(is_not_recorded(&memory.machine) && memory.processes.value().is_some());
        assert_eq!(old.clock.value().map(|clock| clock.stepped_ns), Some(-6));
        assert_eq!(old.probe_ns["cpu"], 8);
    }
}
