//! However a check ends, its area is gone.

use std::thread;
use std::time::Duration;

use assay_lab::process::{Assay, Running};
use assay_lab::volume::{Filesystem, Volume};

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, is_as_before, require, word};

const MIB: u64 = 1 << 20;

/// Starts a quick check and waits until its area is being written.
fn started(volume: &Volume, assay: &Assay) -> Running {
    let before = volume.used_bytes().unwrap();
    let mut running = assay.start(&["check", &word(volume.directory()), "--quick"]).unwrap();
    let grown = || volume.used_bytes().is_ok_and(|used| used > before + 8 * MIB);
    running.until(Duration::from_secs(20), grown).unwrap();
    running
}

fn signalled(kind: Filesystem, signal: &str, later: Duration) {
    let Some(_turn) = require(&[Need::Volume(kind)]) else { return };
    let volume = Volume::new(kind, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let running = started(&volume, &assay(&volume));
    thread::sleep(later);
    running.signal(signal).unwrap();
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 130, "{}{}", ended.stdout, ended.stderr);
    is_as_before(&volume, used);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn ctrl_c_while_the_area_is_written() {
    signalled(Filesystem::Ext4, "INT", Duration::ZERO);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn ctrl_c_during_a_trial() {
    signalled(Filesystem::Ext4, "INT", Duration::from_secs(4));
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn ctrl_c_where_the_area_has_a_name() {
    signalled(Filesystem::Gocryptfs, "INT", Duration::from_secs(4));
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn sigterm() {
    signalled(Filesystem::Ext4, "TERM", Duration::from_secs(4));
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn sigquit() {
    signalled(Filesystem::Ext4, "QUIT", Duration::from_secs(4));
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn sigxfsz() {
    signalled(Filesystem::Ext4, "XFSZ", Duration::from_secs(4));
}

/// The kernel says so with a signal, once for each write that goes too far.
#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_limit_of_file_sizes_ends_it_like_any_other_refusal() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("prlimit")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let bound = assay(&volume).through(&["prlimit", "--fsize=8388608"]);
    let ended = bound.run(&["check", &word(volume.directory()), "--quick"], LIMIT).unwrap();
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    is_as_before(&volume, used);
}

/// gocryptfs stores more than it is given, but tells the free space of what lies below: an area
/// as large as that cannot be filled.
#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_file_system_that_fills_up() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Gocryptfs)]) else { return };
    let volume = Volume::new(Filesystem::Gocryptfs, 300).unwrap();
    let used = volume.used_bytes().unwrap();
    let free = volume.free_bytes().unwrap() / MIB;
    let words =
        ["check", &word(volume.directory()), "--area", &format!("{free}MiB"), "--budget", "20s"];
    let ended = assay(&volume).run(&words, LIMIT).unwrap();
    assert!([0, 3].contains(&ended.code), "{}: {}{}", ended.code, ended.stdout, ended.stderr);
    is_as_before(&volume, used);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_killed_run_leaves_a_file_that_the_next_one_removes() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Gocryptfs)]) else { return };
    let volume = Volume::new(Filesystem::Gocryptfs, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let running = started(&volume, &assay(&volume));
    running.signal("KILL").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 137);
    // At once: the kernel drops the file's lock only when it has taken down the rings of the killed
    // process, and the next run has to wait for that.
    let [left] = &volume.names().unwrap()[..] else { panic!("left: {:?}", volume.names()) };
    let target = word(volume.directory());
    let ended = assay(&volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let notes = of(&ended)["environment"]["targets"][0]["notes"].to_string();
    assert!(notes.contains(left.as_str()), "the result does not name {left}: {notes}");
    assert!(ended.stderr.contains(left.as_str()), "nothing was said of {left}: {}", ended.stderr);
    is_as_before(&volume, used);
}

/// In namespaces of its own the second run does not see the first one's lock on the device; all the
/// same it must leave its file alone.
#[test]
#[ignore = "needs root: cargo xtask test"]
fn the_file_of_a_running_check_is_no_leftover() {
    let needs = [Need::Volume(Filesystem::Gocryptfs), Need::Program("unshare")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Gocryptfs, 512).unwrap();
    let assay = assay(&volume);
    let first = started(&volume, &assay);
    let names = volume.names().unwrap();
    let own_run = "mount -t tmpfs tmpfs /run && exec \"$0\" \"$@\"";
    let elsewhere = assay.through(&["unshare", "--net", "--mount", "sh", "-c", own_run]);
    let target = word(volume.directory());
    let second = elsewhere.run(&["check", &target, "--budget", "4s"], LIMIT).unwrap();
    assert!([0, 3].contains(&second.code), "{}", second.stderr);
    assert_eq!(volume.names().unwrap(), names, "{}", second.stderr);
    let first = first.end(LIMIT).unwrap();
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
}
