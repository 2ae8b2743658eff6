//! Studies on real storage: they run, end, survive kills, resume, and leave nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, has, is_as_before, word};

use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Depth by block size"
replicates = 3
area       = { size = "64 MiB" }

[factors]
queue_depth = [1, 8]
block_size  = ["4 KiB", "64 KiB"]

[[workload]]
name = "random-read"
io   = { pattern = "random", mix = "read", runtime = "150 ms", ramp_time = "30 ms" }

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", runtime = "150 ms", ramp_time = "30 ms" }
"#;

fn study(volume: &Volume, text: &str) -> String {
    let path = volume.scratch().path().join("study.toml");
    fs::write(&path, text).unwrap();
    word(&path)
}

fn finished(assay: &Assay) -> usize {
    let bundles = ["", "results"].map(|part| assay.home().join(part));
    let trials = |folder: &PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("trials.jsonl")).find(|path| path.exists())
    };
    let path = bundles.iter().find_map(trials);
    path.map_or(0, |path| fs::read_to_string(path).unwrap_or_default().lines().count())
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_says_how_to_go_on() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let (assay, file) = (assay(&volume), study(&volume, STUDY));
    let mut running = assay.start(&["run", &file, &word(volume.directory())]).unwrap();
    running.until(Duration::from_secs(60), || finished(&assay) > 2).unwrap();
    running.signal("INT").unwrap();
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(ended.stderr.contains("assay resume 2"), "{}", ended.stderr);
    is_as_before(&volume, used);
}

/// A signal ends a study that overwrites a device; then the test runs the printed hint, or the refusal's command.
#[test]
fn studies_of_devices_go_on_by_the_line_that_is_printed() {
    if !has(&[Need::Path("/dev/loop-control")]) {
        return;
    }
    let scratch = Scratch::new("resumed").unwrap();
    let home = scratch.home().unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let file = scratch.path().join("study.toml");
    fs::write(&file, STUDY).unwrap();
    for signal in ["INT", "KILL"] {
        let device = LoopDevice::new(scratch.path().join(signal), 128).unwrap();
        let place = device.device();
        let plan = assay.run(&["plan", &word(&file), place, "--json"], LIMIT).unwrap();
        let consent =
            plan.json().unwrap()["data_at_risk"][0]["destroy"].as_str().unwrap().to_owned();
        let before = finished(&assay);
        let words = ["run", &word(&file), place, "--destroy", &consent, "--quiet"];
        let mut running = assay.start(&words).unwrap();
        running.until(Duration::from_secs(60), || finished(&assay) > before + 2).unwrap();
        running.signal(signal).unwrap();
        let ended = running.end(LIMIT).unwrap();
        let hint = if signal == "INT" {
            ended.stderr
        } else {
            let refused = assay.run(&["resume", "--quiet"], LIMIT).unwrap();
            assert_eq!(refused.code, 2, "{}", refused.stderr);
            refused.stderr
        };
        let line = hint.split("assay resume ").nth(1).unwrap().lines().next().unwrap();
        assert!(line.ends_with(&format!("--destroy {consent}")), "{hint}");
        let words: Vec<&str> = line.split(' ').collect();
        let words = [&["resume", "--json", "--quiet"], &words[..]].concat();
        let document = of(&assay.run(&words, LIMIT).unwrap());
        assert!(!document["checks"].to_string().contains("incomplete"), "{}", document["checks"]);
        fs::remove_dir_all(home.join("results")).unwrap();
    }
}
