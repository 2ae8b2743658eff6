//! Requests by class on real devices: through a complete study with each method, and against fio on a throttled device.

use std::fs;
use std::path::Path;

use assay_sys::{BlockClass, BlockTrace, ClassTotals, TraceMeans};
use assay_testkit::process::Assay;
use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch, call};
use serde_json::Value;

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, skip, word};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "By class"
replicates = 2
area       = { size = "32 MiB" }
repeat_disturbed = false
probes     = ["block-latency"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", queue_depth = 4, runtime = "300 ms", ramp_time = "100 ms" }

[[workload]]
name = "sync-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", queue_depth = 1, sync = "fdatasync", runtime = "300 ms", ramp_time = "100 ms" }
"#;

/// Maximum number of journal flushes in a trial.
const JOURNAL: u64 = 8;

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Runs the study on a volume, and returns the records of each trial.
fn records(volume: &Volume, assay: &Assay) -> Vec<Value> {
    let file = volume.scratch().path().join("study.toml");
    fs::write(&file, STUDY).unwrap();
    let target = word(volume.directory());
    of(&assay.run(&["run", &word(&file), &target, "--json"], LIMIT).unwrap());
    let folders = [assay.home().to_owned(), assay.home().join("results")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let files: Vec<_> = entries.map(|entry| entry.path().join("trials.jsonl")).collect();
    let path = files.iter().find(|path| path.exists()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn statuses(records: &[Value]) -> Vec<&Value> {
    records.iter().map(|record| &record["status"]).collect()
}

/// Checks that every trial has its requests, traced by the given method.
fn saw_classes(records: &[Value], device: &str, means: &str) {
    assert_eq!(records.len(), 5, "a lead-in and two replicates: {:?}", statuses(records));
    for record in records {
        let block = &record["evidence"]["block-latency"]["present"];
        assert_eq!(block["means"], means, "{}", record["evidence"]["block-latency"]);
        let classes = &block["devices"][device]["present"];
        let seen = |class: &str, of: &str| classes[class][of].as_u64().unwrap_or(0);
        let counted = |of: &str| -> u64 {
            let classes = record["measured"]["detail"]["io"]["classes"].as_object().unwrap();
            classes.values().map(|class| class[of].as_u64().unwrap()).sum()
        };
        let reads = record["workload"] == 0;
        // Adjacent requests may be merged, which gives fewer requests than operations. Requests that start before the
        // first reading or complete after the last have no class: on a busy machine, one of some thousands.
        let most = counted("bytes");
        assert!(
            seen(if reads { "read" } else { "write" }, "bytes") >= most - most / 1000,
            "{record}"
        );
        // The journal writes every five seconds, with or without load.
        let flushes = seen("flush", "requests");
        let expected = if reads { 0..=JOURNAL } else { counted("operations") / 2..=u64::MAX };
        assert!(expected.contains(&flushes), "{flushes} flushes, {classes}");
        let sum = |class: &str, of: &str| classes[class][of]["sum_ns"].as_u64().unwrap_or(0);
        for class in ["read", "write", "flush"] {
            assert!(sum(class, "queued") >= sum(class, "issued"), "{classes}");
        }
        assert!(record["evidence"]["probe_ns"]["block-latency"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_study_sees_its_classes() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    if !Path::new(BTF).exists() {
        return skip("this kernel has no BTF");
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let records = records(&volume, &assay(&volume));
    saw_classes(&records, volume.device().unwrap().name(), "bpf");
}

#[test]
#[ignore = "nightly: 4 s"]
fn without_btf_the_trace_is_read() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    // Such a mount is private; most machines already have tracefs there.
    let hide = format!(
        "if [ -e {BTF} ]; then mount -t tmpfs none /sys/kernel/btf || exit 90; fi; \
         [ -d /sys/kernel/tracing/instances ] || mount -t tracefs none /sys/kernel/tracing || exit 90; \
         exec \"$@\""
    );
    let through = ["unshare", "--mount", "sh", "-c", &hide, "sh"];
    let able = call(through[0], &[&through[1..], &["true"]].concat());
    if let Err(error) = able {
        return skip(&format!("needs tracefs: {error}"));
    }
    let records = records(&volume, &assay(&volume).through(&through));
    saw_classes(&records, volume.device().unwrap().name(), "tracefs");
}

#[test]
fn without_rights_it_is_absent_and_the_study_goes_on() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    for record in records(&volume, &assay_of_nobody(&volume)) {
        let reason = record["evidence"]["block-latency"]["absent"].as_str().unwrap().to_owned();
        assert!(reason.starts_with("BPF: ") && reason.contains("; tracefs: "), "{reason}");
        assert!(record["measured"]["detail"]["io"]["classes"].is_object(), "{record}");
    }
}

/// Returns fio's number of writes and their mean completion latency in nanoseconds.
fn slow_writes(lane: &SlowLane, device: &str) -> (u64, f64) {
    let words = lane.through();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let file = format!("--filename={device}");
    let fio = [
        "fio",
        "--name=slow",
        &file,
        "--rw=randwrite",
        "--bs=4k",
        "--direct=1",
        "--ioengine=psync",
        "--iodepth=1",
        "--number_ios=200",
        "--output-format=json",
    ];
    let text = call(words[0], &[&words[1..], &fio].concat()).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let writes = &report["jobs"][0]["write"];
    (writes["total_ios"].as_u64().unwrap(), writes["clat_ns"]["mean"].as_f64().unwrap())
}

/// Checks that counts match except for known losses. fio's latency also includes its wake-up time.
fn agrees(writes: &ClassTotals, lost: u64, (ios, clat_ns): (u64, f64)) {
    counts(writes, lost, ios);
    assert_eq!(writes.bytes, writes.requests * 4096);
    assert!(clat_ns > 5e6, "held back too little: {clat_ns} ns");
    let mean_ns = writes.queued.sum_ns as f64 / writes.requests as f64;
    assert!(mean_ns > 5e6 && mean_ns < 1.15 * clat_ns, "{mean_ns} ns, fio {clat_ns} ns");
}

fn counts(writes: &ClassTotals, lost: u64, ios: u64) {
    // With busy CPUs, the kernel skips a program that already runs on the same CPU; nobody counts these events.
    let (seen, skipped) = (writes.requests, ios / 100);
    assert!(seen <= ios && seen + lost + skipped >= ios, "{seen} seen, {lost} lost, of {ios}");
}

/// On a partition, bios are traced before the control group throttles them; on a complete disk, only if the kernel can
/// trace the throttle, and otherwise the result says that it is excluded.
#[test]
fn what_a_control_group_holds_back_is_in_the_latency() {
    let needs = [Need::Program("fio"), Need::Program("losetup"), Need::Program("addpart")];
    if !has(&needs) {
        return;
    }
    let scratch = Scratch::new("held-back").unwrap();
    let image = scratch.path().join("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let disk = LoopDevice::over_with_partitions(image).unwrap();
    call("addpart", &[disk.device(), "1", "2048", "65536"]).unwrap();
    let number = disk.number().unwrap();
    let lane = match SlowLane::new(&number, 120) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
    };
    let (major, minor) = number.split_once(':').unwrap();
    let watched = [(major.parse().unwrap(), minor.parse().unwrap())];
    let mut trace = match BlockTrace::begin(&watched, TraceMeans::Bpf) {
        Ok(trace) => trace,
        Err(error) => return skip(&error.to_string()),
    };
    let writes = |trace: &mut BlockTrace| {
        let totals = trace.read().unwrap();
        let own = totals.devices[0][BlockClass::Write as usize].clone();
        (own, totals.lost_events, totals.notes)
    };
    let found = slow_writes(&lane, &format!("{}p1", disk.device()));
    let (of_part, lost, notes) = writes(&mut trace);
    agrees(&of_part, lost, found);
    let mut trace = BlockTrace::begin(&watched, TraceMeans::Bpf).unwrap();
    let found = slow_writes(&lane, disk.device());
    let (of_disk, lost, _) = writes(&mut trace);
    counts(&of_disk, lost, found.0);
    if notes.is_empty() {
        agrees(&of_disk, lost, found);
    } else {
        assert!(notes[0].contains("whole disk"), "{notes:?}");
    }
    call("delpart", &[disk.device(), "1"]).unwrap();
}
