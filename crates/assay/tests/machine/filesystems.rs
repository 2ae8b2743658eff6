//! `assay check` in a directory on every kind of filesystem, as root and as an ordinary user.

use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{self, READS, WORKLOADS, keep_the_contract, rate, says, told, without_row};
use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, is_as_before, word};

/// Checks as both users; returns the two documents, or `None` if it is impossible here.
fn checked(kind: Filesystem) -> Option<[Value; 2]> {
    if !has(&[Need::Volume(kind), Need::Program("setpriv")]) {
        return None;
    }
    let volume = Volume::new(kind, 512).unwrap();
    let as_root = check(&volume, &assay(&volume), kind);
    let as_nobody = check(&volume, &assay_of_nobody(&volume), kind);
    Some([as_root, as_nobody])
}

fn check(volume: &Volume, assay: &Assay, kind: Filesystem) -> Value {
    let used = volume.used_bytes().unwrap();
    let target = word(volume.directory());
    let ended = assay.run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let document = findings::of(&ended);
    keep_the_contract(&document);
    assert!(without_row(&document).is_empty(), "no row: {:?}", without_row(&document));
    let shown = document["environment"]["targets"][0]["filesystem"].as_str().unwrap().to_owned();
    assert!(shown.contains(kind.name()), "{shown}");
    is_as_before(volume, used);
    assert!(assay.home().read_dir().unwrap().next().is_some(), "no result was kept");
    document
}

fn nothing_is_invalid(document: &Value) {
    let invalid = |name: &str| rate(document, name).is_some_and(|cell| cell["trust"] == "invalid");
    assert!(!WORKLOADS.into_iter().any(invalid), "{}", told(document));
}

#[test]
fn ext4() {
    let Some(documents) = checked(Filesystem::Ext4) else { return };
    documents.iter().for_each(nothing_is_invalid);
}

#[test]
#[ignore = "nightly: 4 s"]
fn xfs() {
    let Some(documents) = checked(Filesystem::Xfs) else { return };
    documents.iter().for_each(nothing_is_invalid);
}

#[test]
#[ignore = "nightly: 5 s"]
fn btrfs_keeps_few_random_writes_in_flight() {
    let Some(documents) = checked(Filesystem::Btrfs) else { return };
    for document in &documents {
        nothing_is_invalid(document);
        // With busy CPUs, a trial is too short to count them.
        let told_of = |rule| says(document, "random-write-q32", rule, "suspect");
        assert!(told_of("low-queue-depth") || told_of("cpu-starved"), "{}", told(document));
    }
}

#[test]
#[ignore = "nightly: 8 s"]
fn tmpfs_is_memory() {
    let Some(documents) = checked(Filesystem::Tmpfs) else { return };
    for document in &documents {
        for name in WORKLOADS {
            assert!(says(document, name, "cached", "invalid"), "{}", told(document));
        }
    }
}

#[test]
#[ignore = "nightly: 4 s"]
fn overlay() {
    let Some(documents) = checked(Filesystem::Overlay) else { return };
    documents.iter().for_each(nothing_is_invalid);
}

#[test]
#[ignore = "nightly: 3 s"]
fn gocryptfs_reads_come_from_the_cache() {
    let Some(documents) = checked(Filesystem::Gocryptfs) else { return };
    for document in &documents {
        for name in READS {
            assert!(says(document, name, "cached", "invalid"), "{}", told(document));
        }
    }
}
