//! Repeated signals during restoration.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use assay_testkit::call;
use assay_testkit::home::Home;
use assay_testkit::kills::hands;
use assay_testkit::needs::{count, have};
use assay_testkit::process::Running;
use assay_testkit::volume::Filesystem;

use crate::turn::{LIMIT, Need, require};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Put back slowly"
replicates = 20
area       = { size = "16 MiB" }

[factors]
filesystem = ["ext4", "ext2"]

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "1 s" }
"#;

/// Time in which a signal is handled; busy steps may take much longer.
const HEARD: Duration = Duration::from_millis(500);

/// Returns leftovers of a run: mounts and loop devices over files in the home, files, journals.
fn left(home: &Home) -> Vec<String> {
    let own = home.assay.home().display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let loops = call("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"]).unwrap();
    let lines = mounts.lines().chain(loops.lines()).filter(|line| line.contains(&own));
    let mut left: Vec<String> = lines.map(str::to_owned).collect();
    for folder in ["room", "journal"] {
        let names = fs::read_dir(home.assay.home().join(folder)).into_iter().flatten();
        left.extend(names.map(|entry| entry.unwrap().path().display().to_string()));
    }
    left
}

fn mounted(home: &Home) -> Option<PathBuf> {
    let own = home.assay.home().join("room").display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points.find(|point| point.starts_with(&own)).map(PathBuf::from)
}

/// Returns a study in its first trials, and an open file that keeps its filesystem busy.
fn busy(home: &Home) -> (Running, File) {
    let study = home.file("study.toml", STUDY);
    let mut running = home.assay.start(&["run", &study, "--scratch", "--quiet"]).unwrap();
    let results = home.assay.home().join("results");
    let trials = || {
        let bundles = fs::read_dir(&results).into_iter().flatten().flatten();
        let mut paths = bundles.map(|entry| entry.path().join("trials.jsonl"));
        paths.any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains('\n')))
    };
    let mut held = None;
    running
        .until(LIMIT, || {
            held = mounted(home).filter(|_| trials()).and_then(|point| File::open(point).ok());
            held.is_some()
        })
        .unwrap();
    (running, held.unwrap())
}

fn ask(running: &Running) {
    running.signal("INT").unwrap();
    thread::sleep(HEARD);
}

#[test]
fn a_second_ctrl_c_is_told_to_wait_and_everything_is_put_back() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let home = Home::new(env!("CARGO_BIN_EXE_assay"), "impatience");
    let (mut running, held) = busy(&home);
    ask(&running);
    assert!(!running.has_ended(), "something still holds its file system");
    ask(&running);
    assert!(!running.has_ended(), "the second one ended it");
    drop(held);
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(ended.stderr.contains("restoring settings"), "{}", ended.stderr);
    assert_eq!(left(&home), Vec::<String>::new());
}

#[test]
#[ignore = "nightly: 6 s"]
fn a_third_ctrl_c_ends_it_and_names_what_puts_the_machine_back() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let home = Home::new(env!("CARGO_BIN_EXE_assay"), "impatient");
    let (running, held) = busy(&home);
    (0..3).for_each(|_| ask(&running));
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 4, "{}", ended.stderr);
    assert!(ended.stderr.contains("run assay restore"), "{}", ended.stderr);
    drop(held);
    let dry = home.run(&["restore", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    home.text(&["restore"]);
    assert_eq!(left(&home), Vec::<String>::new());
}

#[test]
fn restore_beside_a_running_study_names_it() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let home = Home::new(env!("CARGO_BIN_EXE_assay"), "beside");
    let (running, held) = busy(&home);
    drop(held);
    for words in [&["restore"][..], &["restore", "--dry-run"]] {
        let told = home.run(words);
        assert_eq!(told.code, 3, "{}{}", told.stdout, told.stderr);
        let whose = format!("(process {}) is running", running.id());
        assert!(told.stderr.contains(&whose), "{}", told.stderr);
    }
    ask(&running);
    assert_eq!(running.end(LIMIT).unwrap().code, 130);
    assert_eq!(left(&home), Vec::<String>::new());
}

/// `cargo xtask signals --count 200` does more; docs contain its output.
#[test]
fn every_study_that_changes_the_machine_ends_as_it_was_asked_to() {
    let programs = [Need::Program("mkfs.xfs"), Need::Program("mkfs.btrfs")];
    if !have(&[&[Need::Root, Need::Volume(Filesystem::Ext4)], &programs[..]].concat()) {
        return;
    }
    let count = count(3, 44);
    let mut lines = Vec::new();
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let endings = hands::impatient(program, count, 20_261_122, |line| lines.push(line.to_owned()));
    let seen = endings.unwrap_or_else(|error| panic!("{error}\n{}", lines.join("\n")));
    let met = seen.by_itself + seen.too_late + seen.asked + seen.at_once + seen.killed;
    assert_eq!(met, count, "{seen:?}");
}
