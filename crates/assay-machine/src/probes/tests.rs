use std::collections::BTreeSet;
use std::time::Duration;

use crate::system::site::{Layer, Site, TargetKind};
use crate::system::{DeviceNumber, Fake};
use assay_core::quantity::metric::SHARED;
use serde_json::json;

use super::*;

#[test]
fn every_probe_introduces_itself() {
    let names: BTreeSet<&str> = names().into_iter().collect();
    assert_eq!(names.len(), PROBES.len(), "a name stands twice");
    for Entry { about, fields, .. } in PROBES {
        let name = about.name;
        let known = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(!name.is_empty() && name.chars().all(known), "{name}");
        assert!(!about.summary.is_empty() && !about.summary.ends_with('.'), "{name}");
        assert!(about.text.ends_with('.') && !about.text.contains('\n'), "{name}");
        for said in ["Cost", "Needs"] {
            assert!(about.text.contains(said), "{name} does not say what it {said}");
        }
        let paths: BTreeSet<&str> = fields.iter().map(|field| field.path).collect();
        assert!(!paths.is_empty() && paths.len() == fields.len(), "{name} has no or twice a field");
        for ProbeField { path, summary, .. } in *fields {
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{name} {path}");
        }
    }
}

#[test]
fn a_metric_of_all_work_is_made_of_a_probe_that_there_is() {
    let names: BTreeSet<&str> = names().into_iter().collect();
    for metric in SHARED {
        assert!(metric.by.is_none_or(|probe| names.contains(probe)), "{metric:?}");
    }
    // The workload reports the traffic of its background load.
    let told: Vec<&str> =
        SHARED.iter().filter(|metric| metric.by.is_none()).map(|metric| metric.name).collect();
    assert_eq!(told, ["background_bandwidth_bytes_per_s"]);
    assert!(cpu::PROBE.metrics().contains(&"cpu_s") && clock::PROBE.metrics().is_empty());
}

#[test]
fn the_time_of_both_readings_is_added() {
    let fake = Fake::new();
    let mut costs = Costs::default();
    for ms in [2, 3] {
        costs.time(&fake, &cpu::PROBE, || fake.sleep(Duration::from_millis(ms)));
    }
    costs.time(&fake, &members::PROBE, || ());
    let told: Vec<(String, u64)> = costs.take().into_iter().collect();
    assert_eq!(told, [("cpu-time".to_owned(), 5_000_000), ("members".to_owned(), 0)]);
    assert!(costs.take().is_empty());
}

/// Content of a fixture: two states of a machine, the result of a plain reading, and the stored observation.
struct Fixture {
    path: String,
    text: String,
    machine: Option<(String, String)>,
    observed: String,
}

#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn fixture(name: &str) -> Fixture {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/observations");
    let path = format!("{folder}/{name}.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{path} is missing"));
    let (machine, observed) = text.split_once("--- observed\n").expect("a line --- observed");
    let machine = machine.split_once("--- before\n").map(|(_, rest)| {
        let (before, after) = rest.split_once("--- after\n").expect("a line --- after");
        (before.to_owned(), after.to_owned())
    });
    let observed = observed.to_owned();
    Fixture { path, text, machine, observed }
}

/// A file on the disk `sda`, which is on the disk `vda`.
fn site() -> Site {
    let layer = |name: &str, below: &[&str]| Layer {
        name: name.to_owned(),
        number: DeviceNumber { major: 8, minor: 0 },
        kind: "disk".to_owned(),
        below: below.iter().map(|name| (*name).to_owned()).collect(),
        size_bytes: 1 << 30,
    };
    Site {
        kind: TargetKind::Directory,
        layers: vec![layer("sda", &["vda"]), layer("vda", &[])],
        shared: vec!["sda".to_owned()],
        ..Site::simulated("/mnt")
    }
}

/// Observations of a machine that changes from one state to another within a second.
fn observe(before: &str, after: &str) -> Evidence {
    let fake = Fake::recorded(before).unwrap();
    let (site, named) = (site(), names().into_iter().map(str::to_owned).collect::<Vec<_>>());
    let asked = ProbeRequest { probes: &named, meter: None };
    let scene = Scene { system: &fake, site: &site, file: None, asked };
    let mut probes = Probes::default();
    let (early, late): (Vec<_>, Vec<_>) =
        Moment::ALL.into_iter().partition(|moment| moment.is_before());
    for moment in early {
        probes.look(moment, &scene);
    }
    fake.sleep(Duration::from_secs(1));
    fake.add(after).unwrap();
    for moment in late {
        probes.look(moment, &scene);
    }
    probes.evidence(&scene)
}

fn stored(evidence: &Evidence, name: &str) -> Value {
    serde_json::to_value(evidence).unwrap()[name]["present"].clone()
}

/// Compares the observation of a probe with its fixture; `UPDATE_EXPECT=1` rewrites the fixture.
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn expected(entry: &Entry) -> Value {
    let name = entry.about.name;
    let Fixture { path, text, machine, observed } = fixture(name);
    if let Some((before, after)) = machine {
        let found = format!("{:#}\n", stored(&observe(&before, &after), name));
        let kept = text.len() - observed.len();
        assay_testkit::expected::expect(path, &format!("{}{found}", &text[..kept]));
    }
    serde_json::from_str(&observed).unwrap()
}

#[test]
fn every_probe_observes_what_its_fixture_says_and_describes_each_field_of_it() {
    for entry in PROBES {
        let name = entry.about.name;
        let observed = expected(entry);
        let mut told = BTreeSet::new();
        for (place, _) in plain::leaves(&observed) {
            let field = entry.field_at(&place);
            told.insert(field.unwrap_or_else(|| panic!("{name} does not describe {place}")).path);
        }
        let described: BTreeSet<&str> = entry.fields.iter().map(|field| field.path).collect();
        assert_eq!(told, described, "what the fixture of {name} holds, and what is described");
        if name != drive_health::PROBE.about.name {
            let text = json!({ name: { "present": observed } });
            let read: Evidence = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(
                serde_json::to_value(&read).unwrap(),
                text,
                "{name} is stored as it is read"
            );
        }
    }
}

#[test]
fn what_was_not_looked_at_is_not_written_and_read_as_not_there() {
    let nothing: Evidence = serde_json::from_str("{}").unwrap();
    assert_eq!(serde_json::to_string(&nothing).unwrap(), "{}");
    assert!(is_not_recorded(&nothing.disk) && is_not_recorded(&nothing.clock));
    let absent = Evidence::absent("a test");
    let text = serde_json::to_string(&absent).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), absent);
    let Value::Object(entries) = serde_json::to_value(&absent).unwrap() else { panic!("{text}") };
    let names: Vec<&String> = entries.keys().collect();
    assert_eq!(names, ["cpu-throttling", "cpu-time", "disk", "page-cache", "process-io"]);
}

#[test]
fn around_a_simulated_target_nothing_of_the_machine_is_read() {
    let fake = Fake::recorded("file /proc/uptime 1.00 1.00\n").unwrap();
    let site = Site::simulated("simulated");
    let scene = Scene { system: &fake, site: &site, file: None, asked: ProbeRequest::default() };
    let mut probes = Probes::default();
    for moment in Moment::ALL {
        probes.look(moment, &scene);
    }
    let found = probes.evidence(&scene);
    assert!(found.probe_ns.is_empty() && is_not_recorded(&found.clock));
    assert_eq!(
        (found.cpu.reason(), found.own_traffic.reason()),
        (Some("simulated"), Some("simulated"))
    );
    assert!(found.disk.reason().unwrap().contains("no known block device"));
    let pages = found.page_cache.value().unwrap();
    assert_eq!(pages.before.reason(), Some("simulated"));
}

#[test]
fn every_probe_tells_its_cost_and_why_it_finds_nothing() {
    let stat = "file /proc/stat\n| cpu  1 1 1 1 1 1 1 1\n| cpu0 1 1 1 1 1 1 1 1\n";
    let log = "file /dev/kmsg\n| 4,1,1,-;old\n";
    let found = observe(&format!("{stat}{log}"), &format!("{log}| 3,2,2,-;new\n"));
    assert_eq!(found.load.value().map(Vec::len), Some(1));
    assert_eq!(found.kernel_log.value().unwrap()[0].text, "new");
    assert_eq!(found.clock.value().map(|clock| clock.stepped_ns), Some(0));
    let memory = found.memory.value().unwrap();
    let pressure = found.pressure.value().unwrap();
    for absent in [
        pressure.machine.reason(),
        found.temperature.reason(),
        memory.machine.reason(),
        found.energy.reason(),
    ] {
        assert!(absent.is_some_and(|reason| reason.len() > 5), "{absent:?}");
    }
    let told: Vec<&str> = found.probe_ns.keys().map(String::as_str).collect();
    let all = names().into_iter().filter(|name| *name != drive_health::PROBE.about.name);
    assert_eq!(told, all.collect::<Vec<_>>());
}

#[test]
fn what_is_missing_on_a_machine_has_its_reason() {
    let fake = Fake::new();
    for probe in ["pressure", "temperature", "power-supply", "kernel-log", "energy"] {
        let reason = here(&fake, probe).unwrap();
        assert!(reason.reason().is_some_and(|reason| !reason.is_empty()), "{probe}");
    }
    assert!(here(&fake, "disk").is_none());
}

#[test]
fn what_takes_long_is_furthest_from_the_run_and_the_devices_are_nearest() {
    let order: Vec<&str> = PROBES.iter().map(|entry| entry.about.name).collect();
    let known = [
        "page-cache",
        "cpu-time",
        "cpu-throttling",
        "temperature",
        "memory",
        "power-supply",
        "kernel-log",
        "clock",
        "pressure",
        "cpu-usage",
        "energy",
        "process-io",
        "block-latency",
        "members",
        "disk",
    ];
    let kept: Vec<&str> = order.into_iter().filter(|name| known.contains(name)).collect();
    assert_eq!(kept, known);
}
