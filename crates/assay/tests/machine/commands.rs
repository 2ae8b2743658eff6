//! Commands as root: on new filesystems, as the caller of sudo, and on a drive that they fill.

use std::fs;

use assay_testkit::process::run;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::turn::{LIMIT, Need, assay, has, word};

pub const SHORT: [&str; 6] =
    ["--replicates", "3", "--set", "runs_per_trial=2", "--quiet", "--json"];

pub fn cells<'a>(findings: &'a Value, metric: &str) -> Vec<&'a Value> {
    let all = findings["measurements"].as_array().unwrap();
    all.iter().filter(|cell| cell["metric"] == metric).collect()
}

#[test]
fn commands_run_on_file_systems_that_are_made_for_them() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    let line = "head -c 4M /dev/urandom > file && sync -f . && findmnt -n -o FSTYPE -T . >&2";
    let words = ["run", "--scratch", "--set", "filesystem=ext2,ext4", "--command", line];
    let ended =
        assay(&volume).run(&[&words[..], &["--prepare", "rm -f file"], &SHORT].concat(), LIMIT);
    let ended = ended.unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let found = ended.json().unwrap();
    let times = cells(&found, "duration_s");
    assert_eq!(times.len(), 2, "{found:#}");
    assert!(times.iter().all(|cell| cell["n"] == 3), "{times:#?}");
    // The written data reached storage or was on its way.
    let written = cells(&found, "write_bytes");
    assert!(written.iter().all(|cell| cell["median"].as_f64().unwrap() >= 4_194_304.0));
}

#[test]
fn under_sudo_commands_are_the_callers() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    let place = word(volume.directory());
    let home = volume.scratch().folder("callers-home", 0o755, Some(4242)).unwrap();
    let assay = assay(&volume);
    let code = |line: &str, more: &[&str]| {
        let words = ["run", &place, "--command", line];
        let mut command = assay.command(&[&words[..], more, &SHORT].concat());
        command.envs([("SUDO_UID", "4242"), ("SUDO_GID", "4242")]).env("ASSAY_HOME", &home);
        let ended = run(&mut command, LIMIT).unwrap();
        (ended.code, ended.stderr)
    };
    let as_caller = code("test $(id -u) = 4242 && test $(id -G) = 4242", &[]);
    assert_eq!(as_caller.0, 0, "{}", as_caller.1);
    let as_root = code("test $(id -u) = 0", &["--as-root"]);
    assert_eq!(as_root.0, 0, "{}", as_root.1);
}

#[test]
fn a_command_that_fills_the_drive_says_so_and_the_result_is_kept() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    let place = word(volume.directory());
    // The pilot and the first trial have enough space; each run leaves its file.
    let line = "head -c 15M /dev/zero > $(date +%s%N)";
    let words = [
        "run",
        &place,
        "--command",
        line,
        "--replicates",
        "6",
        "--set",
        "runs_per_trial=1",
        "--quiet",
    ];
    let ended = assay(&volume).run(&words, LIMIT).unwrap();
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
    let kept = assay(&volume).run(&["show", "--json"], LIMIT).unwrap().json().unwrap();
    assert!(kept.to_string().contains("No space left on device"), "{kept:#}");
    assert!(cells(&kept, "duration_s")[0]["n"].as_u64().unwrap() >= 1);
}

#[test]
fn a_tree_on_a_drive_without_room_is_told_and_taken_away() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    let place = word(volume.directory());
    let words = ["run", "compile", &place, "--quiet", "--set", "run=head -c 90M /dev/zero > out"];
    let refused = || {
        let ended = assay(&volume).run(&words, LIMIT).unwrap();
        assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
        assert!(!volume.directory().join("assay-tree").exists());
        ended.stderr
    };
    let filled = refused();
    assert!(filled.contains("is full") && filled.contains("No space left on device"), "{filled}");
    // Without space for the tree, nothing starts.
    let file = volume.directory().join("file");
    fs::write(&file, vec![7_u8; 64 << 20]).unwrap_err();
    let length = fs::metadata(&file).unwrap().len();
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length - (2 << 20)).unwrap();
    let begun = refused();
    assert!(begun.contains("not enough space for a generated tree of 120 C files"), "{begun}");
}
