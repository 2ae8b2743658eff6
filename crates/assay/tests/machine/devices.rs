//! Block devices: only read, unless this very one was named to be overwritten.

use std::fs;
use std::path::Path;

use assay_testkit::process::{Assay, Ended};
use assay_testkit::volume::Filesystem;
use assay_testkit::{LoopDevice, Scratch};

use crate::findings::{READS, WRITES, absence, of, rate, without_row};
use crate::turn::{LIMIT, Need, has};

const MEBIBYTES: u64 = 96;

/// A device with content on it and no file system; dropped before its scratch directory.
struct Bare {
    device: LoopDevice,
    scratch: Scratch,
}

impl Bare {
    fn new() -> Self {
        let scratch = Scratch::new("bare").unwrap();
        let image = scratch.path().join("image");
        let words = 0..(MEBIBYTES << 20) as u32 / 4;
        let bytes: Vec<u8> =
            words.flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        fs::write(&image, bytes).unwrap();
        Self { device: LoopDevice::over(image).unwrap(), scratch }
    }

    fn check(&self, more: &[&str]) -> Ended {
        let home = self.scratch.folder("home", 0o755, None).unwrap();
        let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
        let words = [&["check", self.device.device(), "--budget", "5s", "--json"], more].concat();
        assay.run(&words, LIMIT).unwrap()
    }

    fn content(&self) -> Vec<u8> {
        fs::read(&self.device.image).unwrap()
    }
}

#[test]
fn without_consent_a_device_is_only_read() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let bare = Bare::new();
    let before = bare.content();
    let document = of(&bare.check(&[]));
    assert!(READS.iter().all(|name| rate(&document, name).is_some()), "{document}");
    for name in WRITES {
        assert!(absence(&document, name).is_some(), "{name} needs a reason to be absent");
    }
    assert!(bare.content() == before, "the device was changed");
}

#[test]
fn the_wrong_id_is_no_consent() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let bare = Bare::new();
    let before = bare.content();
    let ended = bare.check(&["--destroy", "loop99:1GiB"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stdout.is_empty() && ended.stderr.starts_with("assay: "), "{}", ended.stderr);
    assert!(bare.content() == before, "the device was changed");
}

#[test]
fn with_consent_a_device_is_written() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let bare = Bare::new();
    let id = format!("{}:{MEBIBYTES}MiB", bare.device.name());
    let document = of(&bare.check(&["--destroy", &id]));
    assert!(without_row(&document).is_empty(), "no row: {:?}", without_row(&document));
}

/// Without locked memory the kernel refuses rings: what goes before the trials must do without, too.
#[test]
#[ignore = "nightly: 4 s"]
fn a_device_is_primed_by_threads_where_io_uring_is_refused() {
    let needs =
        [Need::Volume(Filesystem::Ext4), Need::Program("prlimit"), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let bare = Bare::new();
    let study = bare.scratch.path().join("study.toml");
    fs::write(&study, PRIMED).unwrap();
    let home = bare.scratch.folder("home", 0o755, None).unwrap();
    let without = ["setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock"];
    let around = [&["prlimit", "--memlock=0"][..], &without].concat();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home).through(&around);
    let id = format!("{}:{MEBIBYTES}MiB", bare.device.name());
    let study = study.display().to_string();
    let words = ["run", &study, bare.device.device(), "--destroy", &id, "--json"];
    let document = of(&assay.run(&words, LIMIT).unwrap());
    let note = document["workloads"][0]["note"].to_string();
    assert!(note.contains("io_uring is unavailable"), "{document}");
}

const PRIMED: &str = r#"
format     = "assay-study/1"
title      = "Primed"
replicates = 2
area       = { size = "16 MiB" }
precondition = { passes = 1, compressibility = "0%" }

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", queue_depth = 8, runtime = "50 ms" }
"#;
