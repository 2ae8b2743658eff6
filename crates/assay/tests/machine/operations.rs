//! Trims, zeroing, copies and periodic syncs on available filesystems and devices.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{ENGINES, EngineKind, Job, LoadError, Outcome, Pattern, Target};
use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch};

use crate::findings::{of, rate};
use crate::turn::{LIMIT, Need, assay, has, skip, word};

const BYTES: u64 = 32 << 20;
/// Cleared part; the rest must not change.
const HALF: u64 = BYTES / 2;
const BLOCK: u32 = 64 << 10;
/// Blocks of 512 bytes that a filesystem may need for its extent list.
const LISTS: u64 = 64;
const OPERATIONS: u64 = HALF / BLOCK as u64;

fn engines() -> Vec<EngineKind> {
    let here = ENGINES.iter().filter(|entry| entry.needs_file && (entry.available)().is_ok());
    here.map(|entry| entry.standard).collect()
}

fn content() -> Vec<u8> {
    (0..BYTES as usize).map(|at| (at % 251 + 1) as u8).collect()
}

/// Applies one operation to each block of the first half.
fn clear(mix: &str, engine: &EngineKind, file: &File) -> Result<Outcome, LoadError> {
    let mix = mix.parse().unwrap();
    let job = Job {
        depth: 4,
        time: Duration::from_secs(3600),
        operations: Some(OPERATIONS),
        ..Job::base(Pattern::Sequential, mix, BLOCK, 0..HALF, 1)
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    assay_load::run(&job, engine, &target, &AtomicBool::new(false))
}

fn only_the_first_half_is_zeros(found: &[u8], what: &str) {
    let (cleared, rest) = found.split_at(HALF as usize);
    assert!(cleared.iter().all(|byte| *byte == 0), "{what}: not all of it is zeros");
    assert!(rest == &content()[HALF as usize..], "{what}: the rest was changed");
}

#[test]
#[ignore = "nightly: 11 s"]
fn trims_of_a_file_leave_holes_and_zeroing_leaves_zeros() {
    for filesystem in [Filesystem::Ext4, Filesystem::Xfs] {
        if !has(&[Need::Volume(filesystem)]) {
            continue;
        }
        let volume = Volume::new(filesystem, 512).unwrap();
        let path = volume.directory().join("cleared");
        for engine in engines() {
            for (mix, leaves_holes) in [("trim", true), ("zero", false)] {
                let what = format!("{mix} by {} on {filesystem:?}", engine.name());
                fs::write(&path, content()).unwrap();
                let file = File::options().read(true).write(true).open(&path).unwrap();
                file.sync_all().unwrap();
                let before = file.metadata().unwrap().blocks();
                let found = clear(mix, &engine, &file).unwrap();
                file.sync_all().unwrap();
                let totals = found.totals;
                assert_eq!(totals.trim_operations + totals.zero_operations, OPERATIONS, "{what}");
                assert_eq!((totals.read_bytes, totals.write_bytes), (0, 0), "{what}");
                only_the_first_half_is_zeros(&fs::read(&path).unwrap(), &what);
                let after = file.metadata().unwrap().blocks();
                // A filesystem may also free space beyond the end of the file; a longer extent list uses additional
                // blocks.
                let is_kept = after >= BYTES / 512;
                let is_given_back = before + LISTS >= after + HALF / 512;
                assert!(
                    if leaves_holes { is_given_back } else { is_kept },
                    "{what}: {before} {after}"
                );
                assert_eq!(file.metadata().unwrap().len(), BYTES, "{what}");
            }
        }
    }
}

struct Bare {
    file: File,
    device: LoopDevice,
}

impl Bare {
    fn below(directory: &Path) -> Self {
        let image = directory.join("image");
        fs::write(&image, content()).unwrap();
        let device = LoopDevice::over(image).unwrap();
        let file = File::options().read(true).write(true).open(device.device()).unwrap();
        Self { file, device }
    }

    fn fill(&self) {
        self.file.write_all_at(&content(), 0).unwrap();
        self.file.sync_all().unwrap();
    }

    fn image(&self) -> Vec<u8> {
        self.file.sync_all().unwrap();
        fs::read(&self.device.image).unwrap()
    }

    fn takes_discards(&self) -> bool {
        let most = format!("/sys/block/{}/queue/discard_max_bytes", self.device.name());
        fs::read_to_string(most).unwrap().trim() != "0"
    }
}

#[test]
fn trims_of_a_device_are_discards_and_zeroing_makes_zeros() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let scratch = Scratch::new("trimmed").unwrap();
    let bare = Bare::below(scratch.path());
    if !bare.takes_discards() {
        return skip("loop devices over files of this file system take no discards");
    }
    for engine in engines() {
        for mix in ["trim", "zero"] {
            let what = format!("{mix} by {}", engine.name());
            bare.fill();
            let before = fs::metadata(&bare.device.image).unwrap().blocks();
            let found = clear(mix, &engine, &bare.file).unwrap();
            only_the_first_half_is_zeros(&bare.image(), &what);
            let after = fs::metadata(&bare.device.image).unwrap().blocks();
            if mix == "trim" {
                assert!(before >= after + HALF / 512, "{what}: {before} {after}");
                let told = found.engine.notes.iter().any(|note| note.starts_with("trims use "));
                assert!(told, "{what}: {:?}", found.engine.notes);
            }
        }
    }
}

#[test]
fn a_device_without_discard_says_so_and_stays_as_it_is() {
    if !has(&[Need::Volume(Filesystem::Ramfs)]) {
        return;
    }
    // A zero limit in another device's queue would remain there.
    let volume = Volume::new(Filesystem::Ramfs, 0).unwrap();
    let bare = Bare::below(volume.directory());
    assert!(!bare.takes_discards());
    for engine in engines() {
        let told = clear("trim", &engine, &bare.file).unwrap_err().to_string();
        assert!(told.contains("this target does not support trims"), "{}: {told}", engine.name());
    }
    assert!(bare.image() == content(), "it was changed");
    let study = volume.scratch().path().join("study.toml");
    fs::write(&study, TRIMS).unwrap();
    let home = volume.scratch().folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let id = format!("{}:{}MiB", bare.device.name(), BYTES >> 20);
    let study = study.display().to_string();
    let words = ["run", &study, bare.device.device(), "--destroy", &id, "--json"];
    let document = of(&assay.run(&words, LIMIT).unwrap());
    assert!(rate(&document, "synced").is_some(), "{document}");
    assert!(rate(&document, "trims").is_none(), "{document}");
    assert!(document["absent"].to_string().contains("does not support discard"), "{document}");
}

const TRIMS: &str = r#"
format     = "assay-study/1"
title      = "Trims"
replicates = 2
area       = { size = "16 MiB" }

[[workload]]
name = "trims"
io   = { pattern = "random", mix = "read/60:write/30:trim/10", block_size = "4 KiB", queue_depth = 8, runtime = "100 ms" }

[[workload]]
name = "synced"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", sync = "fdatasync:8", duplicates = "30%", runtime = "100 ms" }
"#;

#[test]
fn a_study_of_trims_and_syncs_runs_on_a_file_system() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let study = volume.scratch().path().join("study.toml");
    fs::write(&study, TRIMS).unwrap();
    let words = ["run", &word(&study), &word(volume.directory()), "--json"];
    let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
    for name in ["trims", "synced"] {
        assert!(rate(&document, name).is_some(), "{name}: {document}");
    }
    // The plan announces that trials with trims rewrite the file.
    let planned = |text: &str| {
        fs::write(&study, text).unwrap();
        let words = ["plan", &word(&study), &word(volume.directory()), "--json"];
        of(&assay(&volume).run(&words, LIMIT).unwrap())["area_bytes"].as_u64().unwrap()
    };
    let without = TRIMS.replace("read/60:write/30:trim/10", "60/40");
    let without = without.replace(", duplicates = \"30%\"", "");
    assert_eq!(planned(&without), 16 << 20);
    assert!(planned(TRIMS) >= 3 * (16 << 20));
}
