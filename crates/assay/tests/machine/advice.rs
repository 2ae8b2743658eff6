//! Recommendations on real storage: against a throttled device, none for identical arms; a confirmed setting is applied
//! permanently and reverted.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use assay_testkit::Scratch;
use assay_testkit::hostile::copy;
use assay_testkit::process::{Assay, NOBODY};
use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{of, processors_taken};
use crate::turn::{LIMIT, Need, assay, require, skip, word};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Advice"
replicates = 5
area       = { size = "32 MiB" }
FACTORS

[[workload]]
name = "random-read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", queue_depth = 4, runtime = "120 ms", ramp_time = "30 ms" }
"#;

fn study(volume: &Volume, factors: &str) -> String {
    let path = volume.scratch().path().join("study.toml");
    fs::write(&path, STUDY.replace("FACTORS", factors)).unwrap();
    word(&path)
}

fn texts<'a>(document: &'a Value, kind: &str) -> Vec<&'a str> {
    let own = document["advice"].as_array().unwrap().iter();
    let own = own.filter(|one| one["kind"].as_str().unwrap_or("use") == kind);
    own.map(|one| one["text"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_device_that_is_throttled_is_advised_against() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let fast = Volume::new(Filesystem::Ext4, 256).unwrap();
    let slow = Volume::new(Filesystem::Ext4, 256).unwrap();
    let number = slow.device().unwrap().number().unwrap();
    let lane = match SlowLane::limited(&number, "read_iops_device", 100) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let file = study(&fast, "");
    // Long enough with busy CPUs.
    let text = fs::read_to_string(&file).unwrap().replace("120 ms", "400 ms");
    fs::write(&file, text).unwrap();
    let [quick, throttled] = [&fast, &slow].map(|volume| word(volume.directory()));
    for targets in [[&quick, &throttled], [&throttled, &quick]] {
        let words = ["run", &file, targets[0], targets[1], "--json"];
        let document = of(&assay(&fast).through(&through).run(&words, LIMIT).unwrap());
        let told = texts(&document, "avoid");
        if told.is_empty() && processors_taken(&document).is_some() {
            // Suspect numbers give no advice.
            continue;
        }
        let start = format!("Avoid {throttled}: ");
        assert!(told.len() == 1 && told[0].starts_with(&start), "{}", document["advice"]);
        let used = texts(&document, "use");
        assert_eq!(used.len(), usize::from(targets[0] == &throttled), "{used:?}");
    }
}

/// `tests/advice.rs` does the same on the simulated engine in every run.
mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: minutes"]
    fn of_twenty_studies_of_identical_arms_at_most_one_advises_anything() {
        let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let file = study(&volume, "[factors]\naa_copy = [\"a\", \"b\", \"c\"]");
        let mut advised = Vec::new();
        for seed in 1..=20 {
            let target = word(volume.directory());
            let words = ["run", &file, &target, "--seed", &seed.to_string(), "--json"];
            let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
            if !document["advice"].as_array().unwrap().is_empty() {
                advised.push(format!("seed {seed}: {}", document["advice"]));
            }
        }
        assert!(advised.len() <= 1, "{advised:#?}");
    }
}

const SETTING: &str = "/proc/sys/vm/vfs_cache_pressure";

struct Undone<'a>(&'a Assay);

impl Drop for Undone<'_> {
    fn drop(&mut self) {
        // After a successful test there is nothing to undo, and the command says so.
        let _ = self.0.run(&["advise", "undo"], LIMIT);
    }
}

/// Two arms: one moves many times as much even on a busy machine, and has a second different setting.
const ARMS: &str = r#"
[factors]
block_size           = ["4 KiB", "1 MiB"]
vfs_cache_pressure = [100, 117]
[[configurations]]
block_size           = "4 KiB"
vfs_cache_pressure = 100
[[configurations]]
block_size           = "1 MiB"
vfs_cache_pressure = 117
"#;

/// Maximum number of studies of the two arms: on a busy machine, they may differ in one of two sessions.
const MOST_STUDIES: usize = 3;

/// Runs and confirms a study of the two arms on a volume until there is something to apply; returns the ID of the fresh
/// result.
fn confirmed(assay: &Assay, volume: &Volume) -> String {
    let file = volume.scratch().path().join("study.toml");
    let text = STUDY.replace("block_size = \"4 KiB\", ", "").replace("FACTORS", ARMS);
    fs::write(&file, text).unwrap();
    let target = word(volume.directory());
    let mut told = Vec::new();
    for _ in 0..MOST_STUDIES {
        let first = of(&assay.run(&["run", &word(&file), &target, "--json"], LIMIT).unwrap());
        let used = texts(&first, "use").concat();
        let id = first["study"]["id"].as_str().unwrap();
        if !used.contains("echo 117 > /proc/sys/vm/vfs_cache_pressure") {
            told.push(format!("first: {}", first["advice"]));
            continue;
        }
        let fresh = of(&assay.run(&["advise", "confirm", id, "--json"], LIMIT).unwrap());
        let id = fresh["study"]["id"].as_str().unwrap().to_owned();
        let shown = assay.run(&["advise", "apply", &id], LIMIT).unwrap();
        if shown.stdout.contains("vm.vfs_cache_pressure = 117") {
            return id;
        }
        told.push(format!("{}{}", shown.stdout, shown.stderr));
    }
    panic!("{told:#?}");
}

type Change = fn(&Path);
const CHANGES: [Change; 6] = [
    |bundle| edit(&bundle.join("study.toml"), "117", "118"),
    |bundle| edit(&bundle.join("plan.json"), "117", "118"),
    |bundle| edit(&bundle.join("trials.jsonl"), "\"window_ns\":", "\"window_ns\":1"),
    |bundle| edit(&bundle.join("study.toml"), "\"117\"", "\"117\\u001b[2J\""),
    |bundle| {
        let moved = bundle.with_file_name("plan");
        fs::rename(bundle.join("plan.json"), &moved).unwrap();
        symlink(&moved, bundle.join("plan.json")).unwrap();
    },
    |_| {},
];

/// Places of a changed result when root uses it: each passes the result's name, and cleans up.
type Situation = fn(&Path, &mut dyn FnMut(&str));
const SITUATIONS: [Situation; 6] = [
    // In a user's directory.
    |bundle, refused| {
        let place = Scratch::new("users").unwrap();
        let own =
            place.folder("results", 0o755, Some(NOBODY)).unwrap().join(bundle.file_name().unwrap());
        copy(bundle, &own);
        refused(&word(&own));
    },
    // Below a world-writable directory.
    |bundle, refused| {
        let parent = bundle.parent().unwrap().parent().unwrap();
        fs::set_permissions(parent, Permissions::from_mode(0o1777)).unwrap();
        refused(&word(bundle));
        fs::set_permissions(parent, Permissions::from_mode(0o755)).unwrap();
    },
    // Through a symbolic link.
    |bundle, refused| {
        let parent = bundle.parent().unwrap();
        let moved = parent.with_file_name("moved");
        fs::rename(parent, &moved).unwrap();
        symlink(&moved, parent).unwrap();
        refused(&word(bundle));
        fs::remove_file(parent).unwrap();
        fs::rename(&moved, parent).unwrap();
    },
    // Marked as foreign.
    |bundle, refused| {
        let foreign = bundle
            .with_file_name(format!("{}-foreign", word(bundle.file_name().unwrap().as_ref())));
        fs::rename(bundle, &foreign).unwrap();
        refused(&word(&foreign));
        fs::rename(&foreign, bundle).unwrap();
    },
    // Among root's results, with a file owned by a user.
    |bundle, refused| {
        chown(bundle.join("trials.jsonl"), Some(NOBODY), None).unwrap();
        refused(&word(bundle));
    },
    // Among root's results, with a world-writable file.
    |bundle, refused| {
        fs::set_permissions(bundle.join("environment.json"), Permissions::from_mode(0o666))
            .unwrap();
        refused(&word(bundle));
    },
];

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_result_that_was_changed_or_brought_here_is_not_acted_upon() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let assay = assay(&volume);
    let before = fs::read_to_string(SETTING).unwrap();
    let id = confirmed(&assay, &volume);
    let bundle = assay.home().join("results").join(&id);
    let mut refusals = 0;
    let mut refused = |wanted: &str| {
        for words in [
            &["advise", "apply", wanted, "--yes"][..],
            &["advise", "confirm", wanted],
            &["resume", wanted],
        ] {
            let ended = assay.run(words, LIMIT).unwrap();
            assert!([2, 3].contains(&ended.code), "{words:?}: {}{}", ended.stdout, ended.stderr);
            refusals += 1;
            assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
            assert!(!Path::new(&format!("/etc/sysctl.d/61-assay-{id}.conf")).exists());
        }
    };
    let kept = assay.home().join("kept");
    for situation in SITUATIONS {
        for change in CHANGES {
            copy(&bundle, &kept);
            change(&bundle);
            situation(&bundle, &mut refused);
            fs::remove_dir_all(&bundle).unwrap();
            fs::rename(&kept, &bundle).unwrap();
        }
    }
    assert_eq!(refusals, 3 * SITUATIONS.len() * CHANGES.len());
    // Unchanged, it shows the planned changes again.
    let shown = assay.run(&["advise", "apply", &id], LIMIT).unwrap();
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("vm.vfs_cache_pressure = 117"), "{}", shown.stdout);
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_confirmed_setting_is_made_permanent_and_taken_back() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    if !Path::new("/etc/sysctl.d").is_dir() {
        return skip("needs /etc/sysctl.d");
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let assay = assay(&volume);
    let before = fs::read_to_string(SETTING).unwrap();
    let id = confirmed(&assay, &volume);
    let id = id.as_str();
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);

    let shown = assay.run(&["advise", "apply", id], LIMIT).unwrap();
    let kept = format!("/etc/sysctl.d/61-assay-{id}.conf");
    assert!(
        shown.stdout.contains(&kept) && shown.stdout.contains("nothing was changed"),
        "{}",
        shown.stdout
    );
    assert!(!Path::new(&kept).exists());
    let _undone = Undone(&assay);
    // A loop device in memory represents no drive: its numbers may be suspect.
    let with = ["advise", "apply", id, "--yes", "--accept-suspect"];
    let done = assay.run(&with, LIMIT).unwrap();
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(fs::read_to_string(SETTING).unwrap(), "117\n");
    let line = "vm.vfs_cache_pressure = 117\n";
    assert!(fs::read_to_string(&kept).unwrap().ends_with(line));
    // An applied setting is not unfinished, and is not applied twice.
    let nothing = assay.run(&["restore"], LIMIT).unwrap();
    assert!(nothing.stdout.contains("everything is restored"), "{}", nothing.stdout);
    let again = assay.run(&with, LIMIT).unwrap();
    assert!(
        again.stdout.contains("nothing to change; all settings already have these values"),
        "{}",
        again.stdout
    );
    let undone = assay.run(&["advise", "undo"], LIMIT).unwrap();
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert!(!Path::new(&kept).exists());
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
}
