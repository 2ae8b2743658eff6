//! Probe values on real devices: a filesystem of two devices, and kernel threads.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{of, was_replicated};
use crate::turn::{LIMIT, Need, assay, has, is_as_before, word};

/// Large writes, which a mirror and a stripe distribute evenly.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Two devices below"
replicates = 3
area       = { size = "128 MiB" }

[factors]
block_size = ["256 KiB", "1 MiB"]

[[workload]]
name = "stream"
io   = { pattern = "sequential", mix = "write", queue_depth = 4, runtime = "500 ms", ramp_time = "100 ms" }
"#;

/// Writes to a btrfs of two devices; returns the document, the page and the full page.
fn written(volume: &Volume) -> (Value, String, String) {
    let used = volume.used_bytes().unwrap();
    let file = volume.scratch().path().join("study.toml");
    fs::write(&file, STUDY).unwrap();
    let target = word(volume.directory());
    let assay = assay(volume);
    let document = of(&assay.run(&["run", &word(&file), &target, "--json"], LIMIT).unwrap());
    is_as_before(volume, used);
    let show = |words: &[&str]| assay.run(words, LIMIT).unwrap().stdout;
    (document, show(&["show"]), show(&["show", "--full"]))
}

/// Checks the written bytes per requested byte of both devices, in both arms.
fn each_wrote(volume: &Volume, document: &Value, expected: f64) {
    let members = document["environment"]["activity"]["members"].as_array().unwrap();
    for name in [volume.device().unwrap().name(), volume.second().unwrap().name()] {
        let own: Vec<&Value> = members.iter().filter(|one| one["device"] == name).collect();
        assert_eq!(own.len(), 2, "two arms of {name}: {members:?}");
        for one in own {
            let wrote = one["written_per_byte"].as_f64().unwrap();
            assert!((wrote - expected).abs() < 0.1 * expected, "{one}");
            assert!(one["busy_share"].as_f64().unwrap() > 0.0, "{one}");
            assert_eq!(one["kind"], "loop");
            was_replicated(one, 3);
        }
    }
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_mirror_writes_everything_to_each_member() {
    if !has(&[Need::Volume(Filesystem::Btrfs)]) {
        return;
    }
    let volume = Volume::btrfs_of_two("raid1", 512).unwrap();
    let (document, usual, full) = written(&volume);
    each_wrote(&volume, &document, 1.0);
    for page in [&usual, &full] {
        assert!(page.contains("members") && page.contains(volume.second().unwrap().name()));
    }
    assert!(full.contains("probes") && !usual.contains("probes"), "{full}");
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_stripe_writes_half_to_each_member() {
    if !has(&[Need::Volume(Filesystem::Btrfs)]) {
        return;
    }
    let volume = Volume::btrfs_of_two("raid0", 512).unwrap();
    let (document, ..) = written(&volume);
    each_wrote(&volume, &document, 0.5);
}

#[test]
#[ignore = "nightly: 3 s"]
fn kernel_threads_work_for_a_loop_device() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let (document, usual, full) = written(&volume);
    let values = |metric: &str| -> Vec<f64> {
        let cells = document["measurements"].as_array().unwrap().iter();
        cells
            .filter(|cell| cell["metric"] == metric)
            .map(|cell| cell["geometric_mean"].as_f64().unwrap())
            .collect()
    };
    let (kernel, machine) = (values("kernel_cpu_s_per_gib"), values("machine_cpu_s_per_gib"));
    assert_eq!((kernel.len(), machine.len()), (2, 2), "two arms");
    assert!(kernel.iter().all(|seconds| *seconds > 0.0), "{kernel:?}");
    for (machine, own) in machine.iter().zip(values("cpu_s_per_gib")) {
        // The machine is counted in ticks of 10 ms.
        assert!(*machine > 0.5 * own, "machine {machine}, measuring threads {own}");
    }
    // Members of a device appear only on the full page.
    assert!(full.contains("members") && !usual.contains("members"), "{usual}");
    let folder = assay(&volume).home().to_owned();
    let record = first_record(&folder);
    let costs = record["evidence"]["probe_ns"].as_object().unwrap();
    for probe in ["cpu-time", "disk", "members", "process-io", "page-cache", "cpu-throttling"] {
        assert!(costs[probe].as_u64().unwrap() > 0, "{probe}: {costs:?}");
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn the_machine_around_a_target_is_watched_and_a_meter_is_summed() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let [file, meter] = ["study.toml", "meter.csv"].map(|name| volume.scratch().path().join(name));
    fs::write(&file, STUDY).unwrap();
    fs::write(&meter, "time,watts\n").unwrap();
    let assay = assay(&volume);
    let ended = AtomicBool::new(false);
    let document = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                measure_12_watts(&meter);
            }
        });
        let meter = format!("power_meter={}", word(&meter));
        let words = ["run", &word(&file), &word(volume.directory()), "--set", &meter];
        let output = assay.run(&[&words[..], &["--json"]].concat(), LIMIT);
        ended.store(true, Ordering::Relaxed);
        of(&output.unwrap())
    });
    is_as_before(&volume, used);
    let cells = document["measurements"].as_array().unwrap();
    let power: Vec<&Value> = cells.iter().filter(|cell| cell["metric"] == "power_w").collect();
    assert_eq!(power.len(), 2, "two arms");
    for cell in power {
        let watts = cell["geometric_mean"].as_f64().unwrap();
        assert!((watts - 12.0).abs() < 1e-6, "{cell}");
    }
    let idle = document["environment"]["activity"]["idle_w"].as_f64().unwrap();
    assert!((idle - 12.0).abs() < 1e-6, "{idle}");
    let record = first_record(assay.home());
    let watched = &record["evidence"];
    let energy = &watched["energy"]["present"];
    let seconds = energy["span_ns"].as_f64().unwrap() / 1e9;
    assert!((energy["joules"].as_f64().unwrap() / seconds - 12.0).abs() < 1e-6, "{energy}");
    let cpus = watched["cpu-usage"]["present"].as_array().unwrap();
    assert!(cpus.iter().any(|cpu| cpu[1].as_u64().unwrap() > 0), "nobody was busy: {cpus:?}");
    let memory = &watched["memory"]["present"]["processes"]["present"];
    assert!(memory["rss_bytes"].as_u64().unwrap() > 1 << 20, "{memory}");
    for part in ["clock", "kernel-log", "memory"] {
        assert!(watched[part]["present"] != Value::Null, "{part}: {}", watched[part]);
    }
    let full = assay.run(&["show", "--full"], LIMIT).unwrap().stdout;
    assert!(full.contains("surroundings") && full.contains("12 W"), "{full}");
}

/// Returns a line of a meter that shows 12 W.
fn measure_12_watts(file: &std::path::Path) {
    use std::io::Write;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut file = fs::File::options().append(true).open(file).unwrap();
    file.write_all(format!("{:.3},12\n", now.as_secs_f64()).as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
}

fn first_record(home: &std::path::Path) -> Value {
    let bundles = [home.to_owned(), home.join("results")];
    let entries = bundles.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let files: Vec<_> = entries.map(|entry| entry.path().join("trials.jsonl")).collect();
    let path = files.iter().find(|path| path.exists()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}
