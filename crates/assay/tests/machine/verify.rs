//! Data written with `verify = true` is read again: on reliable devices, in unreliable directories, and on counterfeit
//! cards.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_testkit::liar::{Character, Liar, Lie};
use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch};
use serde_json::Value;

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, has, is_as_before, skip, word};

const BLOCK: usize = 4096;
const AREA: usize = 64 << 20;
const BLOCKS: usize = AREA / BLOCK;
/// Number of injected faults of each kind.
const FAULTS: usize = 10_000;

fn study(place: &Path, keys: &str) -> String {
    let path = place.join("study.toml");
    let text = format!(
        r#"
format     = "assay-study/1"
title      = "Verified"
replicates = 3
area       = {{ size = "64 MiB" }}

[[workload]]
name = "write"
io   = {{ block_size = "4 KiB", verify = true, {keys} }}
"#
    );
    fs::write(&path, text).unwrap();
    word(&path)
}

/// Every block once in each trial.
const ONCE: &str = "pattern = \"sequential\", mix = \"write\", queue_depth = 16, operations = 16384, runtime = \"100 s\"";

struct Bench {
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

impl Bench {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name).unwrap();
        let device = LoopDevice::new(scratch.path().join("image"), 64).unwrap();
        let home = scratch.folder("home", 0o755, None).unwrap();
        let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
        Self { device, assay, scratch }
    }

    fn words<'w>(&'w self, study: &'w str, id: &'w str) -> [&'w str; 6] {
        ["run", study, self.device.device(), "--json", "--destroy", id]
    }

    fn id(&self) -> String {
        format!("{}:64MiB", self.device.name())
    }

    fn run(&self, study: &str) -> Value {
        let ended = self.assay.run(&self.words(study, &self.id()), LIMIT).unwrap();
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        of(&ended)
    }

    /// Reads the device, bypassing caches.
    fn image(&self) -> Vec<u8> {
        fs::read(&self.device.image).unwrap()
    }

    fn put(&self, bytes: &[u8]) {
        let image = File::options().write(true).open(&self.device.image).unwrap();
        image.write_all_at(bytes, 0).unwrap();
        image.sync_all().unwrap();
    }

    fn verify(&self, what: &[&str]) -> (i32, Value) {
        let ended = self.assay.run(&[&["verify", "--json"], what].concat(), LIMIT).unwrap();
        let report = ended.json().unwrap_or_else(|why| panic!("{why}: {}", ended.stderr));
        (ended.code, report)
    }
}

fn can() -> bool {
    has(&[Need::Program("losetup")])
}

/// Damages block `index` of `now`; `before` contains an older write of it.
type Damage = fn(now: &mut [u8], before: &[u8], index: usize);

fn at(index: usize) -> std::ops::Range<usize> {
    index * BLOCK..(index + 1) * BLOCK
}

const DAMAGES: [(&str, Damage); 5] = [
    ("torn", |now, before, index| {
        let cut = at(index).start + 512 * (1 + index % 7);
        now[cut..at(index).end].copy_from_slice(&before[cut..at(index).end]);
    }),
    ("stale", |now, before, index| now[at(index)].copy_from_slice(&before[at(index)])),
    ("misplaced", |now, _, index| now.copy_within(at(BLOCKS - 1 - index % 2), at(index).start)),
    ("zeroed", |now, _, index| now[at(index)].fill(0)),
    ("flipped", |now, _, index| now[at(index).start + index * 37 % BLOCK] ^= 1 << (index % 8)),
];

#[test]
#[ignore = "nightly: 4 s"]
fn ten_thousand_faults_of_each_kind_are_found_on_a_device() {
    if !can() {
        return;
    }
    let bench = Bench::new("verify-faults");
    let study = study(bench.scratch.path(), ONCE);
    bench.run(&study);
    let before = bench.image();
    let document = bench.run(&study);
    assert!(!document.to_string().contains("data-mismatch"), "{document}");
    let sound = bench.image();
    let (code, report) = bench.verify(&[]);
    assert_eq!((code, &report["verified"]["intact"]), (0, &Value::from(BLOCKS)), "{report}");
    assert_eq!(
        (&report["trial"]["ended"], &report["format"]),
        (&true.into(), &"assay-verify/1".into())
    );
    for (name, damage) in DAMAGES {
        let mut bytes = sound.clone();
        for index in 0..FAULTS {
            damage(&mut bytes, &before, index);
        }
        bench.put(&bytes);
        let (code, report) = bench.verify(&[]);
        let wrong = &report["verified"]["corrupt"];
        assert_eq!((code, &wrong[name]), (1, &Value::from(FAULTS)), "{name}: {wrong}");
        assert_eq!(report["verified"]["intact"], BLOCKS - FAULTS, "{name}: {wrong}");
        assert_eq!(report["verified"]["first"][0]["fault"], name);
    }
    bench.put(&sound);
    assert_eq!(bench.verify(&[]).0, 0);
    // The stamps alone detect misplaced or rotated blocks, on the device and in a copy.
    let copy = word(&bench.scratch.path().join("copy"));
    for area in [bench.device.device(), copy.as_str()] {
        fs::write(&copy, bench.image()).unwrap();
        let (code, report) = bench.verify(&[area]);
        assert_eq!(
            (code, &report["verified"]["intact"]),
            (0, &Value::from(BLOCKS * 8)),
            "{report}"
        );
    }
    let mut bytes = sound;
    bytes[5 * BLOCK + 100] ^= 4;
    fs::write(&copy, bytes).unwrap();
    let (code, report) = bench.verify(&[&copy]);
    assert_eq!((code, &report["verified"]["corrupt"]["flipped"]), (1, &Value::from(1)), "{report}");
}

#[test]
fn a_run_that_is_killed_is_verified_afterwards() {
    if !can() {
        return;
    }
    let bench = Bench::new("verify-killed");
    let keys =
        "pattern = \"random\", mix = \"30/70\", queue_depth = 16, threads = 2, runtime = \"100 s\"";
    let (study, id) = (study(bench.scratch.path(), keys), bench.id());
    let mut running = bench.assay.start(&bench.words(&study, &id)).unwrap();
    // After the fill and the pilot, only a trial changes this much of the area.
    let mut filled = Vec::new();
    let results = bench.assay.home().join("results");
    let is_planned = || fs::read_dir(&results).is_ok_and(|mut bundles| bundles.next().is_some());
    let is_under_way = || {
        let image = bench.image();
        if filled.is_empty() {
            if is_planned() && image[AREA - BLOCK..].iter().any(|byte| *byte != 0) {
                filled = image;
            }
            return false;
        }
        let blocks = image.chunks_exact(BLOCK).zip(filled.chunks_exact(BLOCK));
        blocks.filter(|(new, old)| new != old).count() > BLOCKS / 4
    };
    running.until(LIMIT, is_under_way).unwrap();
    running.signal("KILL").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 137);
    let (code, report) = bench.verify(&[]);
    assert_eq!(code, 0, "{report}");
    let (of, verified) = (&report["trial"], &report["verified"]);
    assert_eq!((&of["ended"], &of["workload"]), (&Value::from(false), &Value::from("write")));
    assert!(verified["settled"].as_u64().unwrap() > 1_000, "{report}");
    assert!(verified["intact"].as_u64().unwrap() > 500, "{report}");
    assert!(report["unverified"].to_string().contains("the run was killed"), "{report}");
    // Half of it is lost.
    let mut bytes = bench.image();
    bytes[..AREA / 2].fill(0);
    bench.put(&bytes);
    let (code, report) = bench.verify(&[]);
    assert_eq!(code, 1, "{report}");
    assert!(report["verified"]["corrupt"]["zeroed"].as_u64().unwrap() > 200, "{report}");
    // All of it.
    bench.put(&vec![0; AREA]);
    let ended = bench.assay.run(&["verify"], LIMIT).unwrap();
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_directory_is_verified_in_its_trials_and_keeps_nothing() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    for keys in [
        "pattern = \"random\", mix = \"rewrite\", queue_depth = 8, runtime = \"200 ms\", ramp_time = \"20 ms\"",
        "pattern = \"random\", mix = \"write\", threads = 3, direct = false, runtime = \"200 ms\"",
    ] {
        let file = study(volume.scratch().path(), keys);
        let words = ["run", &file, &word(volume.directory()), "--json"];
        let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
        let told = document["measurements"].to_string();
        assert!(!told.contains("differ from what was written"), "{told}");
        let is_told = told.contains("page cache may have served");
        assert_eq!(is_told, keys.contains("direct = false"), "{told}");
    }
    let ended = assay(&volume).run(&["verify"], LIMIT).unwrap();
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("unnamed file"), "{}", ended.stderr);
    is_as_before(&volume, used);
}

#[test]
#[ignore = "nightly: 10 s"]
fn a_card_that_loses_writes_fails_the_run_and_is_told_first() {
    if !has(&[Need::Path("/dev/fuse"), Need::Program("losetup")]) {
        return;
    }
    if let Some(reason) = Liar::missing() {
        return skip(&reason);
    }
    let card = Liar::new(Character::new(AREA as u64, AREA as u64 / 2, Lie::Drops)).unwrap();
    let home = card.scratch().folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let keys = "pattern = \"random\", mix = \"write\", queue_depth = 8, operations = 5000, runtime = \"100 s\"";
    let file = study(card.scratch().path(), keys);
    let device = card.device().unwrap();
    let id = format!("{}:64MiB", device.name());
    let words = ["run", &file, device.device(), "--json", "--destroy", &id];
    let ended = assay.run(&words, LIMIT).unwrap();
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("data corruption:"), "{}", ended.stderr);
    let document = ended.json().unwrap();
    let first = document["summary"][0]["text"].as_str().unwrap();
    assert!(first.contains("lost or changed"), "{first}");
    let shown = assay.run(&["show"], LIMIT).unwrap();
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let told = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("lost or changed") && told.contains("data-mismatch"), "{told}");
}
