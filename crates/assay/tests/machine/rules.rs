//! Each trust rule triggers where it should, on real devices.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_analysis::inference;
use assay_runner::real::Real;
use assay_runner::run;
use assay_study::file::text;
use assay_study::findings::StudyFacts;
use assay_testkit::process::Assay;
use assay_testkit::slow::Neighbour;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch, call};
use serde_json::Value;

use crate::findings::{READS, WRITES, absence, cells, of, rate, says, told};
use crate::turn::{LIMIT, Need, assay, assay_of_nobody, has, skip, word};

/// Runs a study through the pipeline of `check`, for cases without an option of `check`.
fn study(volume: &Volume, area: &str, workload: &str) -> Value {
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"a test\"\nreplicates = 3\nbudget = \"5 s\"\n\
         area = {{ size = \"{area}\" }}\n[[workload]]\nname = \"it\"\nio = {{ {workload} }}\n"
    );
    let request = run::Request::bare(
        text::parse("test study", &text).unwrap(),
        vec![word(volume.directory())],
    );
    let finished = run::run(&Real, request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let facts = StudyFacts {
        id: finished.id,
        title: finished.study.title,
        kind: "study".to_owned(),
        plan_sha256: finished.plan.sha256.clone(),
        started: finished.environment.started.clone(),
        seed: finished.plan.seed,
        ..StudyFacts::default()
    };
    let found = inference::findings(facts, &finished.plan, &finished.environment, &finished.trials);
    serde_json::to_value(found).unwrap()
}

fn check_file(volume: &Volume, name: &str) -> Value {
    let target = word(&volume.directory().join(name));
    let ended = assay(volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    of(&ended)
}

fn reads_are_unwritten(document: &Value) {
    for name in READS {
        assert!(says(document, name, "unwritten", "invalid"), "{}", told(document));
    }
    for name in WRITES {
        assert!(absence(document, name).is_some(), "{name} needs a reason to be absent");
    }
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_fallocated_file_is_unwritten() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("fallocate")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let path = volume.directory().join("allocated");
    call("fallocate", &["--length", "64MiB", &word(&path)]).unwrap();
    reads_are_unwritten(&check_file(&volume, "allocated"));
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 << 20);
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_sparse_file_is_unwritten() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    File::create(volume.directory().join("sparse")).unwrap().set_len(64 << 20).unwrap();
    reads_are_unwritten(&check_file(&volume, "sparse"));
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_written_file_is_read_and_left_as_it_is() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let path = volume.directory().join("mine");
    let bytes: Vec<u8> =
        (0..64_u32 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(&path, &bytes).unwrap();
    call("sync", &[&word(&path)]).unwrap();
    let document = check_file(&volume, "mine");
    for name in READS {
        let cell = rate(&document, name).unwrap();
        assert!(cell["trust"] != "invalid", "{}", told(&document));
    }
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[test]
#[ignore = "nightly: 5 s"]
fn reads_through_the_page_cache_are_cached() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    // Small, to read most blocks repeatedly in a trial.
    let document = study(
        &volume,
        "16 MiB",
        "pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", direct = false",
    );
    assert!(says(&document, "it", "cached", "invalid"), "{}", told(&document));
}

#[test]
#[ignore = "nightly: 5 s"]
fn zeros_on_a_compressing_file_system_are_compressed() {
    if !has(&[Need::Volume(Filesystem::Btrfs)]) {
        return;
    }
    let volume = Volume::with_options(Filesystem::Btrfs, 512, "compress=zstd").unwrap();
    let document = study(
        &volume,
        "64 MiB",
        "pattern = \"sequential\", mix = \"write\", block_size = \"1 MiB\", queue_depth = 8, compressibility = \"100%\", direct = false",
    );
    let because = &rate(&document, "it").unwrap()["reasons"];
    assert!(because.to_string().contains("compressed"), "{}", told(&document));
    assert!(rate(&document, "it").unwrap()["trust"] != "trusted", "{}", told(&document));
}

#[test]
#[ignore = "nightly: 3 s"]
fn another_writer_is_foreign() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let _neighbour = Neighbour::writing(&volume.directory().join("neighbour")).unwrap();
    let target = word(volume.directory());
    let ended = assay(&volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let document = of(&ended);
    let foreign =
        READS.iter().filter(|name| says(&document, name, "foreign-io", "suspect")).count();
    assert_eq!(foreign, READS.len(), "{}", told(&document));
    let disturbed = cells(&document).iter().flat_map(|cell| cell["trials"].as_array().unwrap());
    assert!(disturbed.into_iter().any(|trial| trial["status"] == "disturbed"));
}

/// Returns a study of random 4 KiB reads with one in flight, for a time.
fn reads(volume: &Volume, time: &str) -> Value {
    let io = "pattern = \"random\", mix = \"read\", block_size = \"4 KiB\"";
    study(volume, "64 MiB", &format!("{io}, runtime = \"{time}\""))
}

#[test]
#[ignore = "nightly: 4 s"]
fn busy_processors_are_told_first() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let _hogs = Neighbour::computing(8);
    let document = reads(&volume, "400 ms");
    assert!(says(&document, "it", "cpu-starved", "suspect"), "{}", told(&document));
    let first = document["summary"][0]["text"].as_str().unwrap();
    assert!(first.contains("other programs used the CPUs"), "{first}");
}

/// With a gate, they disturb a trial, which is excluded; without one, its number is suspect.
#[test]
#[ignore = "nightly: 16 s"]
fn busy_processors_disturb_the_trials_of_a_gate() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let _hogs = Neighbour::computing(8);
    let file = word(&volume.scratch().path().join("depths.toml"));
    let io = "pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"400 ms\"";
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"a test\"\nreplicates = 3\narea = {{ size = \"64 MiB\" }}\n\
         [factors]\nqueue_depth = [1, 2]\n[[workload]]\nname = \"it\"\nio = {{ {io} }}\n"
    );
    fs::write(&file, text).unwrap();
    let target = word(volume.directory());
    // Returns the cause of disturbed trials, as other guests may also load the hypervisor.
    let is_starved = |more: &[&str]| {
        let words = [&["run", &file, &target, "--json", "--quiet"], more].concat();
        let document = assay(&volume).run(&words, LIMIT).unwrap().json().unwrap();
        let trials = cells(&document).iter().flat_map(|cell| cell["trials"].as_array().unwrap());
        let mut disturbed = trials.filter(|trial| trial["status"] == "disturbed");
        disturbed.any(|trial| trial["reason"].to_string().contains("for a CPU"))
    };
    assert!(is_starved(&["--gate", "50%"]));
    assert!(!is_starved(&[]));
}

#[test]
fn a_file_system_that_is_frozen_stalls() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("fsfreeze")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let [frozen, between] = [700, 700].map(Duration::from_millis);
    let _freezer = Neighbour::freezing(volume.directory(), frozen, between);
    let io = "pattern = \"random\", mix = \"write\", block_size = \"4 KiB\"";
    let document = study(&volume, "64 MiB", &format!("{io}, runtime = \"1500 ms\""));
    assert!(says(&document, "it", "stalled", "suspect"), "{}", told(&document));
}

#[test]
fn another_reader_is_foreign() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let _reader = Neighbour::reading(volume.device().unwrap().device());
    let document = reads(&volume, "400 ms");
    assert!(says(&document, "it", "foreign-io", "suspect"), "{}", told(&document));
}

#[test]
fn small_reads_that_the_page_cache_answers_are_cached() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    // Three of four pages are read repeatedly; the first read of each fetches eight times its bytes.
    let io = "pattern = \"random\", mix = \"read\", block_size = \"512 B\", direct = false";
    let document = study(&volume, "16 MiB", &format!("{io}, operations = 16000"));
    assert!(says(&document, "it", "cached", "invalid"), "{}", told(&document));
}

/// The loop device's counters are right, and the page cache of its file answers.
#[test]
#[ignore = "nightly: 14 s"]
fn a_loop_device_without_direct_io_is_followed_to_the_drive_below() {
    if !has(&[Need::Root, Need::Program("losetup")]) {
        return;
    }
    let scratch = Scratch::on_drive("buffered").unwrap();
    let place = call("stat", &["--file-system", "--format=%T", &word(scratch.path())]).unwrap();
    if place.trim() == "tmpfs" {
        return skip("the temporary directory lies in memory: there is no drive below it");
    }
    let image = scratch.path().join("image");
    fs::write(&image, vec![7; 64 << 20]).unwrap();
    let device = LoopDevice::buffered(image).unwrap();
    let home = scratch.path().join("home");
    fs::create_dir(&home).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    // Parallel tests use that drive, too.
    let words = ["check", device.device(), "--budget", "30s", "--json", "--wait", "2min"];
    let ended = assay.run(&words, 2 * LIMIT).unwrap();
    // On a busy drive, the time may end before each row has a number.
    assert!([0, 5].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
    let document = ended.json().unwrap();
    let measured: Vec<&str> =
        READS.into_iter().filter(|name| rate(&document, name).is_some()).collect();
    assert!(!measured.is_empty(), "{}{}", ended.stdout, ended.stderr);
    // Other reads of that drive may hide that it did not deliver those of a row.
    let is_cached = |name: &&str| says(&document, name, "cached", "invalid");
    assert!(measured.iter().any(is_cached), "{}", told(&document));
    assert!(told(&document).contains("the drive below the loop device"), "{}", told(&document));
}

#[test]
fn psync_cannot_keep_32_in_flight() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let document = study(
        &volume,
        "64 MiB",
        "pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", queue_depth = 32, engine = \"psync\"",
    );
    assert!(says(&document, "it", "low-queue-depth", "suspect"), "{}", told(&document));
}

/// Without locked memory, the kernel refuses rings to ordinary users, as often in containers.
#[test]
#[ignore = "nightly: 4 s"]
fn threads_keep_the_depth_where_io_uring_is_refused() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("prlimit")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let bound = assay_of_nobody(&volume).through(&["prlimit", "--memlock=0"]);
    let target = word(volume.directory());
    let ended = bound.run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    assert!([0, 5].contains(&ended.code), "{}", ended.stderr);
    let document = ended.json().unwrap();
    let workloads = document["workloads"].as_array().unwrap();
    let deep = workloads.iter().find(|one| one["name"] == "random-read-q32").unwrap();
    assert!(deep["note"].to_string().contains("io_uring is unavailable"), "{deep}");
    // On a busy machine, fewer of them, but more than one, complete in time.
    let few = deep["note"].to_string().contains("would not complete in time");
    assert!(deep["queue_depth"] == 32 || few && deep["queue_depth"].as_u64() > Some(1), "{deep}");
    assert!(!told(&document).contains("queue depth was 1"), "{}", told(&document));
}
