//! Refusals by the machine: exit code 3, one line with the reason and a remedy, nothing measured. Compares each line
//! word for word, to detect refusals for other reasons (such as a drive in use by another run).

use std::fs;

use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};

use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, word};

fn is_refused(assay: &Assay, words: &[&str], reason: &str) {
    let ended = assay.run(words, LIMIT).unwrap();
    assert_eq!(ended.stderr, format!("assay: {reason}\n"), "{}", ended.stdout);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    let results = fs::read_dir(assay.home().join("results")).map_or(0, Iterator::count);
    assert_eq!(results, 0, "something was measured");
}

#[test]
fn a_directory_without_write_permission() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let target = volume.directory().join("closed");
    fs::create_dir(&target).unwrap();
    let target = word(&target);
    let reason = format!(
        "cannot use {target}: Permission denied (os error 13); use a directory that you may write to"
    );
    is_refused(&assay_of_nobody(&volume), &["check", &target], &reason);
}

#[test]
fn a_read_only_mount() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    volume.remount("ro").unwrap();
    let target = word(volume.directory());
    let reason = format!(
        "cannot use {target}: Read-only file system (os error 30); the filesystem is read-only; to \
         measure reads, give an existing file"
    );
    is_refused(&assay(&volume), &["check", &target], &reason);
}

#[test]
fn less_free_space_than_the_smallest_area() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 8).unwrap();
    let target = word(volume.directory());
    let free = in_words(volume.free_bytes().unwrap());
    let reason = format!(
        "{target} has {free} free, but the smallest area is 16 MiB; free space or use another \
         directory"
    );
    is_refused(&assay(&volume), &["check", &target], &reason);
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
}

/// Formats complete KiB in the largest unit without a fraction.
fn in_words(bytes: u64) -> String {
    let kibibytes = bytes >> 10;
    if kibibytes.is_multiple_of(1024) {
        format!("{} MiB", kibibytes >> 10)
    } else {
        format!("{kibibytes} KiB")
    }
}

#[test]
fn a_block_device_without_permission() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let device = volume.device().unwrap().device();
    let reason = format!(
        "cannot use {device}: Permission denied (os error 13); run as root, or use a directory on the device"
    );
    is_refused(&assay_of_nobody(&volume), &["check", device], &reason);
}

#[test]
fn destroying_a_mounted_device() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let device = volume.device().unwrap();
    let id = format!("{}:128MiB+ext4", device.name());
    let words = ["check", device.device(), "--destroy", &id, "--quick"];
    // The mount table has no symbolic links.
    let point = fs::canonicalize(volume.directory()).unwrap();
    let reason = format!("{:?} is mounted on {point:?}; unmount it first", device.device());
    is_refused(&assay(&volume), &words, &reason);
}
