//! A recorded load, from the recording through its replay to the page, on drives with known service times.

use std::fs;
use std::path::{Path, PathBuf};

use assay_machine::system::{BlockClass, BlockRequest, Fake, RequestFlags, System};
use assay_study::results::requests::{FILE, FORMAT, Header, RecordedDevice, Writer};
use assay_testkit::home::Home;
use serde_json::Value;

use crate::{DEPTH, DRIVE, home};

const MS: u64 = 1_000_000;
const BEGUN_NS: u64 = 5_000_000;
const COUNT: u64 = 2_400;
/// Drives for 1,000 requests per second: a sufficient and an insufficient one.
const FAST: &str = "simulated:exponential,mean=100us";
const SLOW: &str = "simulated:exponential,mean=20ms";

/// Returns requests at intervals of a millisecond: three reads, a write and a flush, repeated.
fn request(at: u64) -> BlockRequest {
    let class = match at % 5 {
        0..=2 => BlockClass::Read,
        3 => BlockClass::Write,
        _ => BlockClass::Flush,
    };
    let is_flush = class == BlockClass::Flush;
    let arrived_ns = BEGUN_NS + (at + 1) * MS;
    BlockRequest {
        device: 0,
        class,
        arrived_ns: Some(arrived_ns),
        issued_ns: Some(arrived_ns + 1000),
        ended_ns: arrived_ns + 100_000,
        offset_bytes: if is_flush { 0 } else { at * 7_919 % 4096 * 4096 },
        bytes: if is_flush { 0 } else { 4096 },
        flags: RequestFlags::default(),
    }
}

fn large(at: u64) -> BlockRequest {
    let own = request(at);
    match own.class {
        BlockClass::Write => BlockRequest { offset_bytes: 0, bytes: 9 << 20, ..own },
        _ => own,
    }
}

/// Returns a recording of this many requests, as `watch` writes it.
fn recording(count: u64) -> Vec<u8> {
    recording_of(&["sda"], count, request)
}

/// Returns a recording of several devices with alternating requests.
fn recording_of(names: &[&str], count: u64, request: fn(u64) -> BlockRequest) -> Vec<u8> {
    let fake = Fake::new();
    let place = Path::new("/one");
    fake.create_directory(place).unwrap();
    let device = |name: &&str| RecordedDevice { name: (*name).to_owned(), bytes: 16 << 20 };
    let header = Header {
        format: FORMAT.to_owned(),
        started: "2026-11-26T03:00:00Z".to_owned(),
        begun_ns: BEGUN_NS,
        devices: names.iter().map(device).collect(),
    };
    let mut writer = Writer::create(&fake, place, &header).unwrap();
    for at in 0..count {
        let device = (at % names.len() as u64) as u16;
        writer.add(&BlockRequest { device, ..request(at) }).unwrap();
    }
    writer.finish().unwrap();
    fake.read_bytes(&place.join(FILE)).unwrap()
}

fn result(home: &Home) -> (String, PathBuf) {
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json", "--quiet"]);
    let id = found["study"]["id"].as_str().unwrap().to_owned();
    let directory = home.scratch.path().join("home/results").join(&id);
    (id, directory)
}

fn recorded(home: &Home) -> (String, PathBuf) {
    let (id, directory) = result(home);
    fs::write(directory.join(FILE), recording(COUNT)).unwrap();
    (id, directory)
}

fn study(recording: &str, more: &str) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"Played again\"\nreplicates = 3\nseed = 3\n\
         repeat_disturbed = false\n\n[[workload]]\nname = \"evening\"\n\
         replay = {{ trace = \"{recording}\"{more} }}\n"
    )
}

#[test]
fn what_was_recorded_is_played_and_told_beside_it() {
    let home = home("replay-play");
    let (id, _) = recorded(&home);
    let file = home.file("replay.toml", study(&id, ""));
    let plan = home.text(&["plan", &file, FAST]);
    assert!(plan.contains("recorded"), "{plan}");
    let found = home.json(&["run", &file, FAST, "--json", "--quiet"]);
    let told = &found["replay"][0]["fidelity"];
    for (act, count) in [("read", COUNT / 5 * 3), ("write", COUNT / 5), ("flush", COUNT / 5)] {
        let own = &told["requests"][act];
        assert_eq!(own["recorded"]["operations"], count, "{told}");
        assert_eq!(own["recorded"], own["replayed"], "{told}");
    }
    assert!(told["ks_distance"].as_f64().unwrap() < 0.02, "{told}");
    assert_eq!(told["placing"], "kept");
    let cells = found["measurements"].as_array().unwrap();
    let primary = cells.iter().find(|cell| cell["primary"] == true).unwrap();
    assert_eq!(primary["metric"], "response_p99_ns");
    assert_ne!(primary["trust"], "invalid", "{primary}");
    assert!(!found.to_string().contains("replay-mismatch"));
    let played = found["study"]["id"].as_str().unwrap();
    let page = home.text(&["show", played]);
    assert!(page.contains("replay"), "{page}");
    let row = page.lines().find(|line| line.starts_with("evening, replayed writes")).unwrap();
    assert!(row.ends_with("trusted"), "{page}");
    assert!(!page.contains("replayed trims"), "{page}");
    // The page shows both sides, and no delay.
    let page = home.text(&["report", played, "-o", "-"]);
    for title in ["starts (read), recorded and replayed", "sizes (write), recorded and replayed"] {
        assert!(page.contains(title), "{title}");
    }
    assert!(!page.contains("behind the schedule"));
}

/// Returns the rows of a class: its metrics, and whether each is compared.
fn rows<'a>(found: &'a Value, class: &str) -> Vec<(&'a str, bool)> {
    let name = format!("evening, replayed {class}");
    let cells = found["measurements"].as_array().unwrap().iter();
    let own = cells.filter(|cell| cell["workload"] == name.as_str());
    own.map(|cell| (cell["metric"].as_str().unwrap(), cell["primary"] == true)).collect()
}

#[test]
fn each_class_that_was_recorded_has_numbers_of_its_own() {
    let home = home("replay-classes");
    let (id, _) = recorded(&home);
    let text = study(&id, "");
    let file = home.file("replay.toml", &text);
    let found = home.json(&["run", &file, FAST, "--json", "--quiet"]);
    let reads = rows(&found, "reads");
    for metric in ["read_response_p50_ns", "read_latency_p99_ns", "read_bandwidth_bytes_per_s"] {
        assert!(reads.contains(&(metric, false)), "{metric}: {reads:?}");
    }
    assert!(reads.contains(&("read_response_mean_ns", true)), "{reads:?}");
    assert!(rows(&found, "writes").contains(&("write_response_mean_ns", true)));
    let flushes = rows(&found, "flushes");
    assert!(flushes.contains(&("flush_iops", false)), "{flushes:?}");
    assert!(flushes.iter().all(|(metric, _)| !metric.contains("bytes")), "{flushes:?}");
    // All classes add up to the total.
    let rate = |metric: &str| {
        let mut cells = found["measurements"].as_array().unwrap().iter();
        let own = cells.find(|cell| cell["metric"] == metric && cell["control"] != true);
        own.unwrap()["median"].as_f64().unwrap()
    };
    let classes = rate("read_iops") + rate("write_iops") + rate("flush_iops");
    assert!((classes / rate("iops") - 1.0).abs() < 0.01, "{classes} of {}", rate("iops"));
    // Unrecorded classes are absent.
    assert!(rows(&found, "trims").is_empty());
    let absent = found["absent"].as_array().unwrap();
    let trims = absent.iter().find(|one| one["workload"] == "evening, replayed trims").unwrap();
    assert_eq!(trims["reason"], "the trace contains no trims");

    // A study may concern a single class.
    let primary = "seed = 3\nprimary_metric = \"write_response_p50_ns\"\n";
    let file = home.file("writes.toml", text.replace("seed = 3\n", primary));
    let found = home.json(&["run", &file, FAST, "--json", "--quiet"]);
    let cells = found["measurements"].as_array().unwrap().iter();
    let primary: Vec<&Value> = cells.filter(|cell| cell["primary"] == true).collect();
    assert!(!primary.is_empty());
    for cell in primary {
        assert_eq!(cell["metric"], "write_response_p50_ns", "{cell}");
        assert_eq!(cell["workload"], "evening, replayed writes", "{cell}");
    }
}

#[test]
fn what_is_clipped_is_called_so() {
    let home = home("replay-clipped");
    let (id, directory) = result(&home);
    fs::write(directory.join(FILE), recording_of(&["sda"], COUNT, large)).unwrap();
    let file = home.file("replay.toml", study(&id, ", queue_depth = 32"));
    let ended = home.run(&["run", &file, FAST, "--json", "--quiet"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let own = &found["replay"][0];
    assert_eq!(own["fidelity"]["adjusted"]["clipped"], COUNT / 5, "{own}");
    assert!(own["text"].as_str().unwrap().contains("480 were clipped"), "{own}");
    assert!(found.to_string().contains("\"replay-mismatch\""), "{own}");
}

#[test]
fn no_number_stands_on_what_a_drive_did_not_carry() {
    let home = home("replay-unfaithful");
    let (id, _) = recorded(&home);
    let file = home.file("replay.toml", study(&id, ", timing = \"open\""));
    let ended = home.run(&["run", &file, SLOW, "--json", "--quiet"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let cells = found["measurements"].as_array().unwrap();
    let primary = cells.iter().find(|cell| cell["primary"] == true).unwrap();
    assert_eq!(primary["trust"], "invalid", "{primary}");
    let because = primary["reasons"].as_array().unwrap();
    assert!(because.iter().any(|one| one["rule"] == "replay-mismatch"), "{primary}");
    // In a closed loop, the work is the same.
    let file = home.file("closed.toml", study(&id, ", timing = \"closed\""));
    let found = home.json(&["run", &file, SLOW, "--json", "--quiet"]);
    assert!(!found.to_string().contains("replay-mismatch"));
}

#[test]
fn a_paced_play_is_the_same_work_at_the_speed_of_each_drive() {
    let home = home("replay-paced");
    let (id, _) = recorded(&home);
    let file = home.file("paced.toml", study(&id, ", timing = \"dependent\""));
    let took = [FAST, "simulated:exponential,mean=10ms"].map(|drive| {
        let found = home.json(&["run", &file, drive, "--json", "--quiet"]);
        assert!(!found.to_string().contains("replay-mismatch"), "{found}");
        let cells = found["measurements"].as_array().unwrap();
        assert!(cells.iter().any(|cell| cell["primary"] == true && cell["metric"] == "iops"));
        let told = &found["replay"][0]["fidelity"];
        // Only the first read and the first flush wait for no completion.
        assert_eq!(told["dependent"]["after_end"], COUNT / 5 * 4 - 2, "{told}");
        assert!(told["ks_distance"].is_null(), "{told}");
        let page = home.text(&["show", found["study"]["id"].as_str().unwrap()]);
        assert!(page.contains("waits in replays with timing = \"dependent\""), "{page}");
        told["replayed_ns"].as_u64().unwrap()
    });
    assert!(took[1] > 3 * took[0], "{took:?}");
}

#[test]
fn several_devices_are_played_by_one_clock_where_they_are_named() {
    let home = home("replay-devices");
    let (id, directory) = result(&home);
    fs::write(directory.join(FILE), recording_of(&["sda", "sdb"], COUNT, request)).unwrap();
    let file = home.file("unnamed.toml", study(&id, ""));
    let told = home.run(&["plan", &file, FAST]);
    assert!(told.code == 2 && told.stderr.contains("sda, sdb"), "{}", told.stderr);
    let file = home.file("both.toml", study(&id, ", device = \"sda+sdb\""));
    let found = home.json(&["run", &file, FAST, "--json", "--quiet"]);
    let told = &found["replay"][0]["fidelity"];
    assert_eq!(told["placing"], "joined", "{told}");
    assert_eq!(told["requests"]["read"]["replayed"]["operations"], COUNT / 5 * 3, "{told}");
    assert!(told["ks_distance"].as_f64().unwrap() < 0.02, "{told}");
    assert!(!found.to_string().contains("replay-mismatch"), "{found}");
}

#[test]
fn a_recording_that_is_none_or_another_one_is_refused_before_anything_is_run() {
    let home = home("replay-refused");
    let (bare, _) = result(&home);
    let file = home.file("bare.toml", study(&bare, ""));
    let told = home.run(&["plan", &file, FAST]);
    assert!(told.code == 2 && told.stderr.contains("--record-trace"), "{}", told.stderr);
    let file = home.file("nobody.toml", study("nobody", ""));
    let told = home.run(&["plan", &file, FAST]);
    assert!(told.code == 2 && told.stderr.contains("no result named"), "{}", told.stderr);

    let (id, directory) = recorded(&home);
    let file = home.file("replay.toml", study(&id, ""));
    let ran = home.json(&["run", &file, FAST, "--json", "--quiet"]);
    let played =
        home.scratch.path().join("home/results").join(ran["study"]["id"].as_str().unwrap());
    let again = played.join("study.toml").display().to_string();
    assert_eq!(home.run(&["plan", &again]).code, 0);
    fs::write(directory.join(FILE), recording(COUNT - 1)).unwrap();
    let told = home.run(&["plan", &again]);
    assert!(told.code != 0 && told.stderr.contains("differs from"), "{}", told.stderr);
    let damaged = &recording(COUNT)[..1000];
    fs::write(directory.join(FILE), damaged).unwrap();
    let told = home.run(&["plan", &file, FAST]);
    assert!(told.code == 2 && told.stderr.contains(&id), "{}", told.stderr);
}
