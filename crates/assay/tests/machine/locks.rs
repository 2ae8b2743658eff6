//! Two checks of one device refuse each other.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_testkit::Scratch;
use assay_testkit::process::{Assay, Ended, Running};
use assay_testkit::volume::{Filesystem, Volume};

use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, word};

/// Rules that detect other load on a drive or CPUs.
const MARKS: [&str; 2] = ["foreign-io", "cpu-starved"];

const WRITES: &str = r#"
format     = "assay-study/1"
title      = "Side by side"
replicates = 3
area       = { size = "64 MiB" }
repeat_disturbed = false

[factors]
queue_depth = ["1", "4"]

[[workload]]
name = "write"
io   = { pattern = "random", mix = "write", block_size = "64 KiB", runtime = "800 ms", ramp_time = "1 ms" }
"#;

fn refuses_because_of(ended: &Ended, first: u32) {
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(&first.to_string()), "{} is not named: {}", first, ended.stderr);
}

fn measuring(volume: &Volume, assay: &Assay) -> Running {
    let used = volume.used_bytes().unwrap();
    let target = word(volume.directory());
    let mut first = assay.start(&["check", &target, "--budget", "8s"]).unwrap();
    let grown = || volume.used_bytes().is_ok_and(|now| now > used + (8 << 20));
    first.until(Duration::from_secs(20), grown).unwrap();
    first
}

#[test]
fn the_second_check_names_the_first() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let nobody = assay_of_nobody(&volume);
    let first = measuring(&volume, &assay(&volume));
    let second = assay(&volume).run(&["check", &target, "--quick"], LIMIT).unwrap();
    refuses_because_of(&second, first.id());
    refuses_because_of(&nobody.run(&["check", &target, "--quick"], LIMIT).unwrap(), first.id());
    let device = volume.device().unwrap().device();
    let of_device = assay(&volume).run(&["check", device, "--quick"], LIMIT).unwrap();
    refuses_because_of(&of_device, first.id());
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
}

/// Locks that any user can take do not stop root; both results report the disturbance.
#[test]
#[ignore = "nightly: 6 s"]
fn an_ordinary_user_holds_back_ordinary_users_and_not_root() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("setpriv")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let nobody = assay_of_nobody(&volume);
    let first = measuring(&volume, &nobody);
    refuses_because_of(&nobody.run(&["check", &target, "--quick"], LIMIT).unwrap(), first.id());
    let second = assay(&volume).run(&["check", &target, "--quick"], LIMIT).unwrap();
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert!(second.stderr.contains(&format!("(process {}", first.id())), "{}", second.stderr);
    let ended = first.end(LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("another study runs on this machine"), "{}", ended.stderr);
}

#[test]
#[ignore = "nightly: 8 s"]
fn who_waits_measures_when_the_first_has_ended_and_what_touches_no_drive_does_at_once() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let mut first = measuring(&volume, &assay(&volume));
    let waiting = ["check", &target, "--quick", "--wait", "2min"];
    let waiting = assay(&volume).start(&waiting).unwrap();
    let command = ["run", "--command", "true", &target, "--replicates", "1", "--quiet"];
    let command = assay(&volume).run(&command, LIMIT).unwrap();
    assert!(!first.has_ended(), "it ended before anything was seen");
    assert!(!command.stderr.contains("is being measured"), "{}", command.stderr);
    let short = ["check", &target, "--quick", "--wait", "300ms"];
    let mut short = assay(&volume).run(&short, LIMIT).unwrap();
    let (waited, refusal) = short.stderr.split_once('\n').unwrap();
    assert!(waited.contains("waiting: "), "{}", short.stderr);
    short.stderr = refusal.to_owned();
    refuses_because_of(&short, first.id());
    let first_id = first.id();
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
    let ended = waiting.end(LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("waiting: ") && ended.stderr.contains(&first_id.to_string()));
}

/// Separate loop devices over files on one drive, with one home.
#[test]
#[ignore = "nightly: 3 s"]
fn two_studies_on_devices_of_their_own_run_side_by_side_and_each_is_marked() {
    if !has(&[]) {
        return;
    }
    let scratch = Scratch::on_drive("side-by-side").unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let study = scratch.path().join("writes.toml");
    fs::write(&study, WRITES).unwrap();
    let study = word(&study);
    let words = ["run", &study, "--scratch", "--json"];
    let both = [1, 2].map(|_| assay.start(&words).unwrap());
    let processes = both.each_ref().map(Running::id);
    let ended = both.map(|one| one.end(LIMIT).unwrap());
    for (own, other) in ended.iter().zip([processes[1], processes[0]]) {
        assert_eq!(own.code, 0, "{}", own.stderr);
        let found = own.json().unwrap();
        let checks = found["checks"].as_array().unwrap();
        let told = checks.iter().find(|check| check["name"] == "studies").expect("it was seen");
        let text = told["text"].as_str().unwrap();
        assert!(text.contains(&other.to_string()) || text.contains("other studies ran"), "{told}");
        // The process may be that of a study of another test.
        assert!(own.stderr.contains("another study runs on this machine"), "{}", own.stderr);
        let cells = found["measurements"].as_array().unwrap();
        let rules: Vec<&str> = cells
            .iter()
            .flat_map(|cell| cell["reasons"].as_array().into_iter().flatten())
            .filter_map(|because| because["rule"].as_str())
            .collect();
        assert!(rules.iter().any(|rule| MARKS.contains(rule)), "{rules:?}");
    }
    assert_eq!(fs::read_dir(home.join("journal")).unwrap().count(), 0);
}

/// As in a container with a separate network and the machine's run directory.
#[test]
#[ignore = "nightly: 3 s"]
fn a_check_in_another_network_namespace_is_refused_too() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("unshare")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let target = word(volume.directory());
    let first = measuring(&volume, &assay(&volume));
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
    refuses_because_of(&assay_testkit::process::run(&mut around, LIMIT).unwrap(), first.id());
    assert_eq!(first.end(LIMIT).unwrap().code, 0);
}
