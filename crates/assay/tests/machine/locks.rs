//! Two checks of one device refuse each other.

use std::time::Duration;

use assay_lab::process::Ended;
use assay_lab::volume::{Filesystem, Volume};

use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, word};

fn refuses_because_of(ended: &Ended, first: u32) {
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(&first.to_string()), "{} is not named: {}", first, ended.stderr);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn the_second_check_names_the_first() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let nobody = assay_of_nobody(&volume);
    let used = volume.used_bytes().unwrap();
    let mut first = assay(&volume).start(&["check", &target, "--budget", "8s"]).unwrap();
    let grown = || volume.used_bytes().is_ok_and(|now| now > used + (8 << 20));
    first.until(Duration::from_secs(20), grown).unwrap();
    let second = assay(&volume).run(&["check", &target, "--quick"], LIMIT).unwrap();
    refuses_because_of(&second, first.id());
    refuses_because_of(&nobody.run(&["check", &target, "--quick"], LIMIT).unwrap(), first.id());
    let device = volume.device().unwrap().device();
    let of_device = assay(&volume).run(&["check", device, "--quick"], LIMIT).unwrap();
    refuses_because_of(&of_device, first.id());
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn an_ordinary_user_locks_root_out_too() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let nobody = assay_of_nobody(&volume);
    let used = volume.used_bytes().unwrap();
    let mut first = nobody.start(&["check", &target, "--budget", "8s"]).unwrap();
    let grown = || volume.used_bytes().is_ok_and(|now| now > used + (8 << 20));
    first.until(Duration::from_secs(20), grown).unwrap();
    let second = assay(&volume).run(&["check", &target, "--quick"], LIMIT).unwrap();
    refuses_because_of(&second, first.id());
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
}

/// As a container does that has a network of its own and the machine's run directory.
#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_check_in_another_network_namespace_is_refused_too() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("unshare")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let used = volume.used_bytes().unwrap();
    let mut first = assay(&volume).start(&["check", &target, "--budget", "8s"]).unwrap();
    let grown = || volume.used_bytes().is_ok_and(|now| now > used + (8 << 20));
    first.until(Duration::from_secs(20), grown).unwrap();
    let elsewhere = assay(&volume).through(&["unshare", "--net"]);
    let second = elsewhere.run(&["check", &target, "--quick"], LIMIT).unwrap();
    refuses_because_of(&second, first.id());
    let nobody = assay_of_nobody(&volume);
    let words = nobody.command(&["check", &target, "--quick"]);
    let mut around = std::process::Command::new("unshare");
    around.arg("--net").arg(words.get_program()).args(words.get_args());
    let environment: Vec<_> = words.get_envs().collect();
    for (name, value) in environment {
        match value {
            Some(value) => around.env(name, value),
            None => around.env_remove(name),
        };
    }
    refuses_because_of(&assay_lab::process::run(&mut around, LIMIT).unwrap(), first.id());
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
}
