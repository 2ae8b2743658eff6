//! Every ending of a check removes its test file.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use assay_testkit::process::{Assay, Running};
use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{Scratch, call};
use serde_json::Value;

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, has, is_as_before, skip, word};

const MIB: u64 = 1 << 20;

fn started(volume: &Volume, assay: &Assay) -> Running {
    let before = volume.used_bytes().unwrap();
    let mut running = assay.start(&["check", &word(volume.directory()), "--quick"]).unwrap();
    until_grown(volume, &mut running, before + 8 * MIB);
    running
}

/// Waits until more than the given bytes of a volume are used.
fn until_grown(volume: &Volume, running: &mut Running, bytes: u64) {
    let grown = || volume.used_bytes().is_ok_and(|used| used > bytes);
    running.until(Duration::from_secs(20), grown).unwrap();
}

fn signalled(kind: Filesystem, signal: &str, later: Duration) {
    if !has(&[Need::Volume(kind)]) {
        return;
    }
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
fn ctrl_c_while_the_area_is_written() {
    signalled(Filesystem::Ext4, "INT", Duration::ZERO);
}

#[test]
fn ctrl_c_during_a_trial() {
    signalled(Filesystem::Ext4, "INT", Duration::from_secs(4));
}

#[test]
fn ctrl_c_where_the_area_has_a_name() {
    signalled(Filesystem::Gocryptfs, "INT", Duration::from_secs(4));
}

#[test]
fn sigterm() {
    signalled(Filesystem::Ext4, "TERM", Duration::from_secs(4));
}

#[test]
fn sigquit() {
    signalled(Filesystem::Ext4, "QUIT", Duration::from_secs(4));
}

#[test]
#[ignore = "nightly: 3 s"]
fn sigxfsz() {
    signalled(Filesystem::Ext4, "XFSZ", Duration::from_secs(4));
}

/// The kernel sends a signal for each write beyond the limit.
#[test]
fn a_limit_of_file_sizes_ends_it_like_any_other_refusal() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("prlimit")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let bound = assay(&volume).through(&["prlimit", "--fsize=8388608"]);
    let ended = bound.run(&["check", &word(volume.directory()), "--quick"], LIMIT).unwrap();
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    is_as_before(&volume, used);
}

/// Another program takes all space before the minimum test area exists: no measurement is possible.
///
/// The device is slow to allow this: 16 MiB take 8 s, and filling may take 12 s.
#[test]
fn a_file_system_that_fills_up_at_once() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("fallocate")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let number = volume.device().unwrap().number().unwrap();
    let lane = match SlowLane::limited(&number, "write_bps_device", 2 << 20) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let target = word(volume.directory());
    let words = ["check", &target, "--area", "64MiB"];
    let mut running = assay(&volume).through(&through).start(&words).unwrap();
    until_grown(&volume, &mut running, used + 4 * MIB);
    let taken = take_the_room(&volume);
    let ended = running.end(LIMIT).unwrap();
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
    let [begun, refused] = ended.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", ended.stderr)
    };
    assert_eq!(begun, format!("assay: {target}: writing a test area of 64 MiB"));
    let written = between(refused, &format!("assay: {target} is full after "), " of an area of ");
    assert!((1..16).contains(&mebibytes(written)), "{refused}");
    let then = format!(
        "{written} of an area of 64 MiB; the smallest area is 16 MiB; free space or use another \
         directory"
    );
    assert!(refused.ends_with(&then), "{refused}");
    fs::remove_file(taken).unwrap();
    is_given_back(&volume, used);
}

/// Much time to fill a test area, and little to measure.
const SHORT: &str = r#"
format     = "assay-study/1"
title      = "Short"
budget     = "60 s"
replicates = 3
area       = { size = "1800 MiB" }

[[workload]]
name = "random-read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "100 ms" }
"#;

/// Another program takes the space once the test area is large enough: Assay measures in the written part, and reports
/// it during the run and in the result.
///
/// The run is stopped meanwhile.
fn fills_up(kind: Filesystem) {
    let needs = [Need::Volume(kind), Need::Program("fallocate")];
    if !has(&needs) {
        return;
    }
    let volume = Volume::new(kind, 2048).unwrap();
    let used = volume.used_bytes().unwrap();
    let (target, study) = (word(volume.directory()), volume.scratch().path().join("short.toml"));
    fs::write(&study, SHORT).unwrap();
    let mut running = assay(&volume).start(&["run", &word(&study), &target, "--json"]).unwrap();
    until_grown(&volume, &mut running, used + 48 * MIB);
    running.signal("STOP").unwrap();
    let taken = take_the_room(&volume);
    running.signal("CONT").unwrap();
    let ended = running.end(LIMIT).unwrap();
    let document = of(&ended);
    let begin = format!("assay: {target} was full after ");
    let told = ended.stderr.lines().find(|line| line.starts_with(&begin));
    let told = told.unwrap_or_else(|| panic!("it is not told: {}", ended.stderr));
    let written = between(told, &begin, " of an area of 1800 MiB");
    let then = "so the area is smaller; for a larger area, free space";
    assert!(told.ends_with(&format!("{written} of an area of 1800 MiB, {then}")), "{told}");
    let facts = &document["environment"]["targets"][0];
    let notes: Vec<&str> =
        facts["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(notes.contains(&&told["assay: ".len()..]), "{notes:?}");
    assert!((16..1800).contains(&mebibytes(written)), "{told}");
    assert_eq!(facts["area_bytes"], mebibytes(written) * MIB);
    fs::remove_file(taken).unwrap();
    is_given_back(&volume, used);
}

#[test]
fn a_file_system_that_fills_up() {
    fills_up(Filesystem::Ext4);
}

#[test]
fn a_file_system_that_fills_up_where_the_area_has_a_name() {
    fills_up(Filesystem::Gocryptfs);
}

/// Takes the remaining space of a volume, as another program would; returns the file.
fn take_the_room(volume: &Volume) -> PathBuf {
    let path = volume.scratch().path().join("mnt/another");
    let mut end = 0;
    // The run may take some of the space meanwhile.
    for _ in 0..20 {
        let free = volume.free_bytes().unwrap();
        if free < MIB {
            return path;
        }
        let (from, bytes) = (end.to_string(), free.to_string());
        end += free;
        // With less space, it takes the rest, and reports the reduction.
        let _ = call("fallocate", &["--offset", &from, "--length", &bytes, &word(&path)]);
    }
    panic!("{} bytes are still free", volume.free_bytes().unwrap());
}

/// The space of a test area is freed, and no name remains. Ext4 counts exactly; the rings of an ended process use its
/// file for a moment.
fn is_given_back(volume: &Volume, used_bytes: u64) {
    is_as_before(volume, used_bytes);
    let left = || volume.used_bytes().unwrap() - used_bytes;
    for _ in 0..200 {
        if left() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{} bytes are still used", left());
}

fn between<'a>(line: &'a str, begin: &str, end: &str) -> &'a str {
    let rest = line.strip_prefix(begin).and_then(|rest| rest.split_once(end));
    rest.unwrap_or_else(|| panic!("no {begin:?} and {end:?}: {line}")).0
}

/// Parses `12 MiB`, and `1 GiB` for 1024 MiB.
fn mebibytes(text: &str) -> u64 {
    match text.split_once(' ') {
        Some((number, "MiB")) => number.parse().unwrap(),
        Some((number, "GiB")) => 1024 * number.parse::<u64>().unwrap(),
        _ => panic!("{text} is no whole number of MiB"),
    }
}

#[test]
fn a_killed_run_leaves_a_file_that_the_next_one_removes() {
    if !has(&[Need::Volume(Filesystem::Gocryptfs)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Gocryptfs, 512).unwrap();
    let used = volume.used_bytes().unwrap();
    let running = started(&volume, &assay(&volume));
    running.signal("KILL").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 137);
    // Immediately: the kernel releases the file's lock only after removing the rings of the killed process, for which
    // the next run must wait.
    let [left] = &volume.names().unwrap()[..] else { panic!("left: {:?}", volume.names()) };
    let target = word(volume.directory());
    let ended = assay(&volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let notes = of(&ended)["environment"]["targets"][0]["notes"].to_string();
    assert!(notes.contains(left.as_str()), "the result does not name {left}: {notes}");
    assert!(ended.stderr.contains(left.as_str()), "nothing was said of {left}: {}", ended.stderr);
    is_as_before(&volume, used);
}

/// In another namespace, the second run does not see the first one's lock on the device, but must not delete its file.
#[test]
#[ignore = "nightly: 4 s"]
fn the_file_of_a_running_check_is_no_leftover() {
    let needs = [Need::Volume(Filesystem::Gocryptfs), Need::Program("unshare")];
    if !has(&needs) {
        return;
    }
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

/// As in a container: when a mount namespace ends, its mounts and the kernel's paths of loop devices' files disappear.
#[test]
fn a_run_that_is_killed_in_a_mount_namespace_of_its_own_leaves_no_loop_device() {
    if !has(&[Need::Program("unshare")]) {
        return;
    }
    let scratch = Scratch::new("namespace").unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let inside =
        Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home).through(&["unshare", "--mount"]);
    // File names start with the run's ID, which is also in the journal.
    let id = || {
        let name = fs::read_dir(home.join("journal")).ok()?.next()?.ok()?.file_name();
        Some(name.to_string_lossy().trim_end_matches(".jsonl").to_owned())
    };
    let loops = |id: &str| {
        let all = fs::read_dir("/sys/block").unwrap().flatten();
        let files = all.map(|entry| entry.path().join("loop/backing_file"));
        files.filter(|file| fs::read_to_string(file).is_ok_and(|text| text.contains(id))).count()
    };
    let mut running = inside.start(&["run", "queue-depth", "--scratch", "--quiet"]).unwrap();
    running.until(LIMIT, || id().is_some_and(|id| loops(&id) > 0)).unwrap();
    let id = id().unwrap();
    running.signal("KILL").unwrap();
    running.end(LIMIT).unwrap();
    let outside = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let ended = outside.run(&["restore"], LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert_eq!(loops(&id), 0, "{}", ended.stdout);
    assert_eq!(fs::read_dir(home.join("room")).unwrap().count(), 0);
}
