//! Disks without room: below a result, and below a device.

use std::fs;
use std::path::Path;

use assay_testkit::process::{Assay, Ended};
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Mounted, call};

use crate::turn::{LIMIT, Need, has, word};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Many trials"
replicates = 200
seed       = 1

[factors]
queue_depth = [1, 2]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "5 ms" }
"#;

fn assay(home: &Path) -> Assay {
    Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), home)
}

#[test]
#[ignore = "nightly: 7 s"]
fn a_disk_that_fills_up_during_a_study_keeps_what_it_took_and_resume_brings_the_rest() {
    if !has(&[Need::Volume(Filesystem::Tmpfs)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Tmpfs, 1).unwrap();
    let study = volume.scratch().path().join("study.toml");
    fs::write(&study, STUDY).unwrap();
    let assay = assay(volume.directory());
    let ended =
        assay.run(&["run", &word(&study), "simulated:fixed,mean=100us", "--json"], LIMIT).unwrap();
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(ended.json().unwrap()["measurements"].is_array(), "it is shown all the same");
    let results = volume.directory().join("results");
    let bundle = fs::read_dir(&results).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(bundle.join("trials.jsonl")).unwrap().lines().count();
    assert!((1..600).contains(&kept), "{kept}");
    let told = format!("stored only the first {kept} of 600 trials");
    assert!(ended.stderr.contains(&told), "{kept}: {}", ended.stderr);
    volume.remount("size=64m").unwrap();
    let resumed = assay.run(&["resume", "--json", "--quiet"], LIMIT).unwrap();
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let kept = fs::read_to_string(bundle.join("trials.jsonl")).unwrap().lines().count();
    assert_eq!(kept, 600);
}

/// A device that says it has 256 MiB, over a file system that has less.
fn thin(volume: &Volume) -> LoopDevice {
    LoopDevice::new(volume.directory().join("image"), 256).unwrap()
}

fn is_refused_in_the_kernels_words(ended: &Ended) {
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    let words = ["No space left on device", "Input/output error"];
    assert!(words.iter().any(|text| ended.stderr.contains(text)), "{}", ended.stderr);
}

#[test]
fn a_device_that_runs_out_of_space_gives_no_smaller_area() {
    if !has(&[Need::Volume(Filesystem::Tmpfs)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Tmpfs, 48).unwrap();
    let device = thin(&volume);
    let home = volume.scratch().folder("home", 0o755, None).unwrap();
    let id = format!("{}:256MiB", device.name());
    let words = ["check", device.device(), "--destroy", &id, "--budget", "20s"];
    is_refused_in_the_kernels_words(&assay(&home).run(&words, LIMIT).unwrap());
}

#[test]
fn a_file_system_on_a_device_that_runs_out_of_space_gives_none_either() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Tmpfs, 48).unwrap();
    let device = thin(&volume);
    call("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", device.device()]).unwrap();
    let point = volume.scratch().path().join("thin");
    let mounted = Mounted::new(&[device.device()], &point).unwrap();
    let home = volume.scratch().folder("home", 0o755, None).unwrap();
    let words = ["check", &word(&point), "--area", "128MiB", "--budget", "20s"];
    is_refused_in_the_kernels_words(&assay(&home).run(&words, LIMIT).unwrap());
    drop(mounted);
}
