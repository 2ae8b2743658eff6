//! What the machine refuses: exit 3, one line that says what to do, nothing measured.

use assay_lab::process::Ended;
use assay_lab::volume::{Filesystem, Volume};

use crate::turn::{LIMIT, Need, assay, assay_of_nobody, require, word};

fn is_refused(ended: &Ended, code: i32) {
    assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("assay: "), "{}", ended.stderr);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_directory_without_write_permission() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let target = volume.directory().join("closed");
    std::fs::create_dir(&target).unwrap();
    is_refused(&assay_of_nobody(&volume).run(&["check", &word(&target)], LIMIT).unwrap(), 3);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_read_only_mount() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    volume.remount("ro").unwrap();
    is_refused(&assay(&volume).run(&["check", &word(volume.directory())], LIMIT).unwrap(), 3);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn less_free_space_than_the_smallest_area() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 8).unwrap();
    is_refused(&assay(&volume).run(&["check", &word(volume.directory())], LIMIT).unwrap(), 3);
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_block_device_without_permission() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let device = volume.device().unwrap().device().to_owned();
    is_refused(&assay_of_nobody(&volume).run(&["check", &device], LIMIT).unwrap(), 3);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn destroying_a_mounted_device() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let device = volume.device().unwrap();
    let id = format!("{}:128MiB", device.name());
    let words = ["check", device.device(), "--destroy", &id, "--quick"];
    is_refused(&assay(&volume).run(&words, LIMIT).unwrap(), 3);
}
