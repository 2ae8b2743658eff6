//! Records loads on a loop device and replays them: on it, on a smaller one, and next to a throttled one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::loads::{self, Load, MEBIBYTES};
use assay_testkit::process::{Assay, Running};
use assay_testkit::slow::SlowLane;
use assay_testkit::{LoopDevice, Scratch};
use serde_json::Value;

use crate::turn::{LIMIT, Need, has, skip, word};

const STUDY: &str = "format = \"assay-study/1\"\ntitle = \"Again\"\nreplicates = 3\nseed = 3\n\n\
                     [[workload]]\nname = \"again\"\nreplay = { trace = \"busy\" }\n";

#[test]
#[ignore = "nightly: 3 s"]
fn what_is_recorded_on_a_device_is_played_on_it_as_the_same_work() {
    if !has(&[Need::Program("losetup")]) {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip("this kernel has no BTF");
    }
    let scratch = Scratch::new("replay").unwrap();
    let device = LoopDevice::new(scratch.path().join("image"), 64).unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let (name, path) = (device.name().to_owned(), device.device().to_owned());
    let script = format!(
        "while :; do dd if=/dev/zero of={path} bs=4k count=50 oflag=direct conv=fsync,notrunc; \
         dd if={path} of=/dev/null bs=16k count=50 iflag=direct; sleep 0.05; done 2>/dev/null"
    );
    let busy = Running::start(Command::new("sh").args(["-c", &script])).unwrap();
    let words = ["watch", &name, "--duration", "3s", "--quiet", "--record-trace", "busy"];
    let seen = assay.run(&words, LIMIT).unwrap();
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    drop(busy);

    let file = scratch.path().join("again.toml");
    fs::write(&file, STUDY).unwrap();
    let file = word(&file);
    let id = format!("{name}:64MiB");
    let refused = assay.run(&["run", &file, &path, "--quiet"], LIMIT).unwrap();
    assert_ne!(refused.code, 0, "it writes only with consent");
    let words = ["run", &file, &path, "--destroy", &id, "--json", "--quiet"];
    let found = assay.run(&words, LIMIT).unwrap();
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["replay"][0]["fidelity"]["placing"], "kept", "{found}");
    for act in ["read", "write", "flush"] {
        let own = &found["replay"][0]["fidelity"]["requests"][act];
        assert!(own["recorded"]["operations"].as_u64().unwrap() > 10, "{act}: {own}");
    }
    is_faithful(&found);

    // At the speed of the target: each request after the one it waited for.
    let paced = scratch.path().join("paced.toml");
    fs::write(&paced, STUDY.replace("\"busy\"", "\"busy\", timing = \"dependent\"")).unwrap();
    let paced = word(&paced);
    let words = ["run", &paced, &path, "--destroy", &id, "--json", "--quiet"];
    let found = assay.run(&words, LIMIT).unwrap();
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let told = &found["replay"][0]["fidelity"];
    for act in ["read", "write", "flush"] {
        assert_eq!(
            told["requests"][act]["recorded"], told["requests"][act]["replayed"],
            "{act}: {told}"
        );
    }
    assert!(told["dependent"]["after_end"].as_u64().unwrap() > 50, "{told}");
    let late = told["late_share"].as_f64().unwrap();
    let added = told["dependent"]["added_share"].as_f64().unwrap();
    let acts = told["requests"].as_object().unwrap().values();
    let count: f64 = acts.map(|own| own["recorded"]["operations"].as_f64().unwrap()).sum();
    let left_out = told["skipped"].as_f64().unwrap();
    let is_held = late <= 0.05 && added <= 0.05 && left_out <= 0.01 * (count + left_out);
    assert_eq!(!found.to_string().contains("\"replay-mismatch\""), is_held, "{told}");
}

/// Returns whether the work is the same: complete, on time, with the same duration. If busy CPUs prevent this, the rule
/// must say so, and only then.
fn is_faithful(found: &Value) -> bool {
    let told = &found["replay"][0]["fidelity"];
    let number = |key: &str| told[key].as_f64().unwrap();
    let acts: Vec<&Value> = told["requests"].as_object().unwrap().values().collect();
    let apart = |own: &Value, what: &str| {
        let of = |side: &str| own[side][what].as_f64().unwrap();
        (of("replayed") - of("recorded")).abs() / of("recorded").max(1.0)
    };
    let all_there =
        acts.iter().all(|own| ["operations", "bytes"].iter().all(|what| apart(own, what) <= 0.01));
    let count = acts.iter().map(|own| own["recorded"]["operations"].as_f64().unwrap()).sum::<f64>();
    let left_out = number("skipped");
    let in_time = number("ks_distance") <= 0.02
        && number("late_share") <= 0.05
        && (number("replayed_ns") / number("recorded_ns") - 1.0).abs() <= 0.005;
    let in_place = told["adjusted"]["distances_changed"].as_f64().unwrap() <= 0.05;
    let is_faithful = all_there && in_time && in_place && left_out <= 0.01 * (count + left_out);
    assert_eq!(!found.to_string().contains("\"replay-mismatch\""), is_faithful, "{told}");
    // All issued requests are recorded.
    if is_faithful && number("late_share") == 0.0 {
        assert!(acts.iter().all(|own| own["recorded"] == own["replayed"]), "{told}");
    }
    is_faithful
}

struct Bench {
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

impl Bench {
    /// Returns `None`, with a message, if recording is impossible here.
    fn new(name: &str) -> Option<Self> {
        if !has(&[Need::Program("losetup")]) {
            return None;
        }
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            skip("this kernel has no BTF");
            return None;
        }
        let scratch = Scratch::new(name).unwrap();
        let device = LoopDevice::new(scratch.path().join("image"), MEBIBYTES).unwrap();
        let home = scratch.folder("home", 0o755, None).unwrap();
        let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
        Some(Self { device, assay, scratch })
    }

    fn another(&self, name: &str, mebibytes: u64) -> LoopDevice {
        LoopDevice::new(self.scratch.path().join(name), mebibytes).unwrap()
    }

    fn study(&self, recording: &str) -> PathBuf {
        let file = self.scratch.path().join("again.toml");
        let text = STUDY.replace("\"busy\"", &format!("\"{recording}\""));
        fs::write(&file, text).unwrap();
        file
    }

    fn played(&self, recording: &str, device: &LoopDevice, mebibytes: u64) -> Value {
        let study = self.study(recording);
        let ended = loads::play(&self.assay, &study, &[device], mebibytes).unwrap();
        serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr))
    }
}

fn a_load_is_played_as_the_same_work(load: Load) {
    let Some(bench) = Bench::new(load.name()) else { return };
    if let Some(reason) = load.missing() {
        return skip(&reason);
    }
    let recorded = load.record(&bench.assay, &bench.device, 4).unwrap();
    assert!(recorded["requests"].as_u64().unwrap() > 20, "{recorded}");
    let found = bench.played(load.name(), &bench.device, MEBIBYTES);
    let told = &found["replay"][0]["fidelity"];
    assert_eq!(told["placing"], "kept", "{told}");
    // The replayed requests are the recorded ones.
    let act = if load == Load::Mix { "read" } else { "write" };
    for side in ["recorded", "replayed"] {
        let starts = told["drawn"][act][side]["starts"]["amounts"].as_array().unwrap();
        let drawn: u64 = starts.iter().map(|amount| amount.as_u64().unwrap()).sum();
        assert_eq!(
            Some(drawn),
            told["requests"][act][side]["operations"].as_u64(),
            "{side}: {told}"
        );
    }
    is_faithful(&found);
}

#[test]
fn a_mix_of_fio_is_played_as_the_same_work() {
    a_load_is_played_as_the_same_work(Load::Mix);
}

#[test]
#[ignore = "nightly: 8 s"]
fn inserts_of_sqlite_are_played_as_the_same_work() {
    a_load_is_played_as_the_same_work(Load::Inserts);
}

#[test]
fn a_tree_that_is_packed_and_unpacked_is_played_as_the_same_work() {
    a_load_is_played_as_the_same_work(Load::Tree);
}

/// Alternates between both ends of a device; on one of an eighth of its size, distant requests become adjacent.
#[test]
#[ignore = "nightly: 4 s"]
fn what_is_folded_into_a_smaller_device_is_called_so() {
    let Some(bench) = Bench::new("folded") else { return };
    let path = bench.device.device();
    let ends = format!(
        "while :; do for at in 0 50000; do dd if=/dev/zero of={path} bs=4k count=1 seek=$at \
         oflag=direct conv=notrunc; done; done 2>/dev/null"
    );
    let line = ("ends", ends.as_str());
    loads::record_line(&bench.assay, &bench.device, 2, line).unwrap();
    let small = bench.another("small", MEBIBYTES / 8);
    let found = bench.played("ends", &small, MEBIBYTES / 8);
    let told = &found["replay"][0]["fidelity"];
    assert_eq!(told["placing"]["folded"]["to"].as_u64(), Some(32 << 20), "{told}");
    assert!(!is_faithful(&found), "{told}");
    let said = found.to_string();
    assert!(said.contains("offsets folded into 32 MiB"), "{said}");
}

#[test]
fn what_two_devices_did_is_played_on_one_by_one_clock() {
    let Some(bench) = Bench::new("replay-two") else { return };
    let second = bench.another("second", MEBIBYTES);
    let [one, other] = [&bench.device, &second].map(LoopDevice::device);
    let script = format!(
        "while :; do dd if=/dev/zero of={one} bs=4k count=40 oflag=direct conv=notrunc; \
         dd if={other} of=/dev/null bs=16k count=30 iflag=direct; sleep 0.05; done 2>/dev/null"
    );
    let busy = Running::start(Command::new("sh").args(["-c", &script])).unwrap();
    let [one, other] = [&bench.device, &second].map(LoopDevice::name);
    let words = ["watch", one, other, "--duration", "2s", "--quiet", "--record-trace", "two"];
    let seen = bench.assay.run(&words, LIMIT).unwrap();
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    drop(busy);
    let unnamed = bench.study("two");
    let refused = loads::play(&bench.assay, &unnamed, &[&bench.device], MEBIBYTES).unwrap();
    assert!(refused.code == 2 && refused.stderr.contains("several devices"), "{}", refused.stderr);
    let text = STUDY.replace("\"busy\"", &format!("\"two\", device = \"{one}+{other}\""));
    let named = bench.scratch.path().join("both.toml");
    fs::write(&named, text).unwrap();
    // Filesystem detection also reads the ends of devices; the area leaves room for it.
    let large = bench.another("large", 2 * MEBIBYTES);
    let ended = loads::play(&bench.assay, &named, &[&large], 2 * MEBIBYTES).unwrap();
    let found: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|_| panic!("not played: {}", ended.stderr));
    let told = &found["replay"][0]["fidelity"];
    assert_eq!(told["placing"], "joined", "{told}");
    for act in ["read", "write"] {
        assert!(told["requests"][act]["replayed"]["operations"].as_u64().unwrap() > 20, "{told}");
    }
    is_faithful(&found);
}

/// Records bursts from the given dd lines, and replays them on the device and on one throttled to 200 writes per
/// second, enough for all but with delay: compares the medians, because a p99 needs more operations. A burst stays
/// below the limit of requests in flight, and starts need not wait.
fn beside_a_slow_one(name: &str, each: &[&str]) -> Option<Value> {
    let bench = Bench::new(name)?;
    let path = bench.device.device();
    let dd = |words: &&str| format!("dd {} count=60;", words.replace("DEVICE", path));
    let burst: Vec<String> = each.iter().map(dd).collect();
    let line = format!("while :; do {} sleep 0.4; done 2>/dev/null", burst.join(" "));
    loads::record_line(&bench.assay, &bench.device, 3, (name, &line)).unwrap();
    let slow = bench.another("slow", MEBIBYTES);
    let lane = match SlowLane::limited(&slow.number().unwrap(), "write_iops_device", 200) {
        Ok(lane) => lane,
        Err(reason) => {
            skip(&reason);
            return None;
        }
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let study = bench.study(name);
    let text = fs::read_to_string(&study).unwrap();
    fs::write(&study, text.replace("seed = 3", "seed = 3\nprimary_metric = \"response_p50_ns\""))
        .unwrap();
    let assay = bench.assay.through(&through);
    let ended = loads::play(&assay, &study, &[&bench.device, &slow], MEBIBYTES).unwrap();
    Some(serde_json::from_str(&ended.stdout).unwrap())
}

/// Returns the comparison of the throttled device, for all classes or for one.
fn compared<'a>(found: &'a Value, class: Option<&str>) -> &'a Value {
    let name = class.map_or_else(|| "again".to_owned(), |class| format!("again, replayed {class}"));
    let mut all = found["comparisons"].as_array().unwrap().iter();
    let own = all.find(|own| own["primary"] == true && own["workload"] == name.as_str());
    own.unwrap_or_else(|| panic!("{name} is not compared: {found}"))
}

fn is_slowed(own: &Value) -> bool {
    own["ratio"].as_f64().is_some_and(|ratio| ratio > 4.0)
}

/// Checks that a throttled device is worse; with busy CPUs, the work differs, the rule says so, and there is no
/// conclusion or no number.
fn assert_worse(own: &Value, found: &Value) {
    if own["n"].as_u64() < Some(3) {
        return assert!(own.to_string().contains("left-out"), "{own}");
    }
    if !is_same_work(found) {
        return assert!(own["verdict"].is_null() || own["verdict"] == "worse", "{own}");
    }
    assert!(is_slowed(own) && own["verdict"] == "worse", "{own}, {}", found["replay"]);
}

fn is_same_work(found: &Value) -> bool {
    !found.to_string().contains("\"replay-mismatch\"")
}

const WRITES: &str = "if=/dev/zero of=DEVICE bs=16k oflag=direct conv=notrunc";
const READS: &str = "if=DEVICE of=/dev/null bs=16k iflag=direct";

#[test]
#[ignore = "nightly: 11 s"]
fn writes_of_a_slowed_copy_are_worse() {
    let Some(found) = beside_a_slow_one("slow-writes", &[WRITES]) else { return };
    for class in [None, Some("writes")] {
        let own = compared(&found, class);
        assert_worse(own, &found);
    }
}

/// The same write limit with reads only. With busy CPUs, reads are too late to be the same work; the rule says so, and
/// the comparison is not checked.
#[test]
#[ignore = "nightly: 11 s"]
fn reads_of_a_copy_whose_writes_are_slowed_are_not() {
    let Some(found) = beside_a_slow_one("slow-reads", &[READS]) else { return };
    for class in [None, Some("reads")] {
        let own = compared(&found, class);
        assert!(!is_slowed(own) || !is_same_work(&found), "{own}");
    }
}

/// Reads and writes in one load: the write limit affects only the results of writes.
#[test]
fn of_a_slowed_copy_only_the_class_that_is_slowed_is_worse() {
    let Some(found) = beside_a_slow_one("slow-class", &[READS, WRITES]) else { return };
    let [reads, writes] = ["reads", "writes"].map(|class| compared(&found, Some(class)));
    assert_worse(writes, &found);
    assert!(!is_slowed(reads) || !is_same_work(&found), "{reads}");
}
