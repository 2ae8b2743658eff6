//! A machine with fewer resources than a run needs, or that withdraws them: no io_uring, little lockable memory, a
//! device without backing space, a truncated file. The run ends, and its record gives the reason.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{ENGINES, EngineKind, Job, Mix, Pattern, Target};
use assay_testkit::LoopDevice;
use assay_testkit::process::{Assay, Running};
use assay_testkit::volume::{Filesystem, Volume};
use rustix::fs::OFlags;

use crate::findings::{of, rate};
use crate::turn::{LIMIT, Need, assay, has, skip, word};

/// Reads of 64 KiB, 64 in flight: 4 MiB of buffers.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Shortages"
replicates = 3
aa_control    = false
area       = { size = "16 MiB" }

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "64 KiB", queue_depth = 64, runtime = "300 ms" }
"#;

/// Denies `io_uring_setup` (EPERM) to the program, as a container's seccomp filter does.
const NO_RINGS: &str = "
import ctypes, os, struct, sys
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *row) for row in rows))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
program = Program(len(rows), ctypes.addressof(code))
prctl = ctypes.CDLL(None).prctl
number = ctypes.c_ulong
if prctl(38, number(1), number(0), number(0), number(0)) or prctl(22, number(2), ctypes.byref(program)):
    sys.exit('no filter')
os.execvp(sys.argv[1], sys.argv[1:])
";

fn no_rings() -> Option<String> {
    let entry = ENGINES.iter().find(|entry| entry.standard == EngineKind::IoUring);
    (entry.unwrap().available)().err()
}

fn study(volume: &Volume) -> String {
    let path = volume.scratch().path().join("study.toml");
    fs::write(&path, STUDY).unwrap();
    word(&path)
}

fn bundle(home: &Path) -> PathBuf {
    let all: Vec<_> = fs::read_dir(home.join("results")).unwrap().flatten().collect();
    let [one] = &all[..] else { panic!("{} results", all.len()) };
    one.path()
}

fn stored(home: &Path, name: &str) -> String {
    fs::read_to_string(bundle(home).join(name)).unwrap()
}

fn runs(assay: &Assay, volume: &Volume) {
    let words = ["run", &study(volume), &word(volume.directory()), "--json"];
    let document = of(&assay.run(&words, LIMIT).unwrap());
    assert!(rate(&document, "read").is_some(), "{document}");
}

#[test]
#[ignore = "nightly: 5 s"]
fn where_io_uring_is_refused_threads_do_the_work_and_the_plan_says_so() {
    if !has(&[Need::Volume(Filesystem::Ext4), Need::Program("python3")]) {
        return;
    }
    if let Some(reason) = no_rings() {
        return skip(&reason);
    }
    for is_refused in [true, false] {
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let own = assay(&volume);
        let own = if is_refused { own.through(&["python3", "-c", NO_RINGS]) } else { own };
        runs(&own, &volume);
        let plan = stored(own.home(), "plan.json");
        assert_eq!(plan.contains("io_uring is unavailable"), is_refused, "{plan}");
        assert_eq!(plan.contains("kernel.io_uring_disabled"), is_refused, "{plan}");
    }
}

/// A user ID of no other test.
const USER: u32 = 64_999;

#[test]
fn where_little_memory_may_be_locked_each_trial_says_that_its_operations_pin_their_own() {
    if !has(&[Need::Volume(Filesystem::Ext4), Need::Program("prlimit"), Need::Program("setpriv")]) {
        return;
    }
    if let Some(reason) = no_rings() {
        return skip(&reason);
    }
    // 8 MiB, the common default, suffices for 4 MiB of buffers; users may only lower the limit.
    for (limit, is_short) in [("--memlock=65536", true), ("--memlock=8388608", false)] {
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let folder = volume.scratch().folder("user", 0o755, None).unwrap();
        let own = assay(&volume).as_user(&folder, USER).unwrap().through(&["prlimit", limit]);
        runs(&own, &volume);
        let trials = stored(own.home(), "trials.jsonl");
        let told = trials.contains("could not register the buffers");
        assert_eq!(told, is_short, "{limit}: {trials}");
    }
}

/// Writes 64 KiB blocks sequentially until an error.
fn refusal(file: &File, engine: &EngineKind, area_bytes: u64) -> String {
    let job = Job {
        depth: 8,
        time: Duration::from_secs(3600),
        ..Job::base(Pattern::Sequential, Mix::WRITES, 64 << 10, 0..area_bytes, 1)
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let refused = assay_load::run(&job, engine, &target, &AtomicBool::new(false));
    refused.unwrap_err().to_string()
}

fn opened(path: &Path, flags: OFlags) -> File {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(flags.bits() as i32);
    options.open(path).unwrap()
}

/// Writes more than a 4 MiB filesystem can store, through a device and through a file whose last block may be partially
/// written.
#[test]
fn a_device_or_file_without_room_below_it_ends_the_run_with_its_own_error() {
    if !has(&[Need::Volume(Filesystem::Tmpfs), Need::Program("losetup")]) {
        return;
    }
    let area_bytes = 16 << 20;
    for entry in ENGINES.iter().filter(|entry| entry.needs_file) {
        if let Err(reason) = (entry.available)() {
            skip(&reason);
            continue;
        }
        let volume = Volume::new(Filesystem::Tmpfs, 4).unwrap();
        let device = LoopDevice::new(volume.directory().join("image"), 16).unwrap();
        // Bypasses the page cache; otherwise the kernel would report the error to the next sync.
        let direct = opened(Path::new(device.device()), OFlags::DIRECT);
        let told = refusal(&direct, &entry.standard, area_bytes);
        let words = ["(os error 5)", "(os error 28)"];
        let is_clear =
            told.starts_with("write at offset ") && words.iter().any(|end| told.ends_with(end));
        assert!(is_clear, "{}: {told}", entry.name);
        drop((direct, device));
        let volume = Volume::new(Filesystem::Tmpfs, 4).unwrap();
        let path = volume.directory().join("file");
        fs::write(&path, "").unwrap();
        let told = refusal(&opened(&path, OFlags::empty()), &entry.standard, area_bytes);
        let is_short = told.contains(" moved ") && told.ends_with(" of 65536 requested bytes");
        let is_clear =
            told.starts_with("write at offset ") && (is_short || told.ends_with("(os error 28)"));
        assert!(is_clear, "{}: {told}", entry.name);
    }
}

/// Truncates the file that a program has open in a directory, if any.
fn cut(running: &Running, directory: &Path) -> bool {
    let descriptors = PathBuf::from(format!("/proc/{}/fd", running.id()));
    let all = fs::read_dir(&descriptors).into_iter().flatten().flatten();
    let is_in = |path: &PathBuf| {
        let target = fs::read_link(path).unwrap_or_default();
        // It has no name; the directory itself may also be open.
        target.starts_with(directory) && word(&target).ends_with(" (deleted)")
    };
    let Some(own) = all.map(|entry| entry.path()).find(is_in) else { return false };
    File::options().write(true).open(own).unwrap().set_len(0).unwrap();
    true
}

#[test]
fn an_area_that_is_cut_short_meanwhile_fails_its_trials_and_the_run_ends() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let own = assay(&volume);
    let file = study(&volume);
    // Enough to truncate the file during the run; later trials fail immediately.
    fs::write(&file, STUDY.replace("replicates = 3", "replicates = 30")).unwrap();
    let words = ["run", &file, &word(volume.directory()), "--json"];
    let mut running = own.start(&words).unwrap();
    let results = own.home().join("results");
    // The first one is a warm-up.
    let has_number = || {
        let mut bundles = fs::read_dir(&results).into_iter().flatten().flatten();
        bundles.any(|bundle| {
            fs::read_to_string(bundle.path().join("trials.jsonl"))
                .is_ok_and(|text| text.contains("\"ok\""))
        })
    };
    running.until(LIMIT, has_number).unwrap();
    assert!(cut(&running, volume.directory()), "no area is open");
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
    let told = ended.stderr.lines().find(|line| line.contains(" moved 0 of 65536 requested bytes"));
    assert!(told.is_some_and(|line| line.contains("read at offset ")), "{}", ended.stderr);
    // Earlier measurements are stored.
    let kept = stored(own.home(), "trials.jsonl");
    assert!(kept.contains("\"ok\"") && kept.contains("moved 0 of 65536"), "{kept}");
}
