use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_testkit::needs::{Need, have, skip};

use super::*;
use crate::test_support::Scratch;
use crate::{LoopOptions, attach_loop, detach_loop, discard, free_loop};

const BLOCK: usize = 4096;

#[test]
fn buckets_follow_each_other_and_hold_what_falls_into_them() {
    for index in 0..LATENCY_BUCKETS {
        let from = latency_bucket_from_ns(index);
        assert_eq!(latency_bucket(from), index, "{from}");
        if index > 0 {
            assert_eq!(latency_bucket(from - 1), index - 1, "{from}");
        }
    }
    assert_eq!(latency_bucket(u64::MAX), LATENCY_BUCKETS - 1);
    assert_eq!(latency_bucket(1_000), latency_bucket(1_007));
}

/// Waits for this test's turn: a child started by another test has all our open files for a moment.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same if devices can be created; otherwise prints the reason.
fn turn() -> Option<MutexGuard<'static, ()>> {
    have(&[Need::Root]).then(alone)
}

/// Repeats an undo step while a program that was just started still uses the object.
fn insist(what: &str, mut undo: impl FnMut() -> bool) {
    for _ in 0..50 {
        if undo() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{what} stays");
}

/// A loop device over a file in memory.
struct Disk {
    device: File,
    name: String,
    _file: Scratch,
}

impl Disk {
    fn new(name: &str) -> Self {
        Self::with(name, LoopOptions::default())
    }

    fn with_partitions(name: &str) -> Self {
        Self::with(name, LoopOptions { partitions: true, ..LoopOptions::default() })
    }

    fn with(name: &str, options: LoopOptions) -> Self {
        let file = Scratch::for_a_device(name);
        file.file.set_len(16 << 20).unwrap();
        let open = |path: &str| File::options().read(true).write(true).open(path);
        loop {
            let number = free_loop(open("/dev/loop-control").unwrap().as_fd()).unwrap();
            let name = format!("loop{number}");
            let device = open_direct(&format!("/dev/{name}"));
            match attach_loop(device.as_fd(), file.file.as_fd(), options) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                result => {
                    result.unwrap();
                    return Self { device, name, _file: file };
                }
            }
        }
    }

    fn number(&self) -> (u32, u32) {
        number(&self.name)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        detach_loop(self.device.as_fd()).unwrap();
    }
}

fn number(name: &str) -> (u32, u32) {
    let text = fs::read_to_string(format!("/sys/class/block/{name}/dev")).unwrap();
    let (major, minor) = text.trim().split_once(':').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

fn open_direct(path: &str) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
}

/// A block on a boundary, as direct transfers want it.
fn with_block<T>(act: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut bytes = vec![0x5a; 2 * BLOCK];
    let from = bytes.as_ptr().align_offset(BLOCK);
    act(&mut bytes[from..from + BLOCK])
}

/// 23 writes, 7 flushes, 5 discards of 64 KiB, 41 reads, one after the other.
fn known_work(device: &File, flushes: usize) {
    let at = |index: usize| (index * BLOCK) as u64;
    for index in 0..23 {
        with_block(|block| device.write_all_at(block, at(index))).unwrap();
        if index < flushes {
            device.sync_data().unwrap();
        }
    }
    for index in 0..5_u64 {
        let from = (1 << 20) + (index << 16);
        discard(device.as_fd(), from..from + (1 << 16)).unwrap();
    }
    for index in 0..41 {
        with_block(|block| device.read_exact_at(block, at(index))).unwrap();
    }
}

/// What was counted of the only device: requests and bytes of each class.
fn counts(totals: &BlockTotals) -> Vec<(u64, u64)> {
    totals.devices[0].iter().map(|class| (class.requests, class.bytes)).collect()
}

/// The sums agree with the buckets: both truncate latencies in the same way.
fn sums_lie_in_their_buckets(latencies: &LatencyTotals) {
    let all = latencies.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    let (mut least, mut most) = (0, 0);
    for (index, count) in all {
        least += latency_bucket_from_ns(index) * count;
        most += latency_bucket_from_ns(index + 1) * count;
    }
    assert!((least..=most).contains(&latencies.sum_ns), "{least} {} {most}", latencies.sum_ns);
}

fn hold_together(class: &ClassTotals, is_bio_based: bool) {
    let seen = |latencies: &LatencyTotals| latencies.buckets.iter().sum::<u64>();
    assert_eq!(seen(&class.queued), class.requests);
    assert_eq!(seen(&class.issued), if is_bio_based { 0 } else { class.requests });
    assert!(class.queued.sum_ns >= class.issued.sum_ns, "{class:?}");
    sums_lie_in_their_buckets(&class.queued);
    sums_lie_in_their_buckets(&class.issued);
}

/// Tracefs at a private mount point.
struct Tracefs(PathBuf);

impl Tracefs {
    fn new(name: &str) -> Option<Self> {
        let path = std::env::temp_dir().join(format!("assay-sys-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let mount = Command::new("mount").args(["-t", "tracefs", "none"]).arg(&path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        fs::remove_dir(&path).unwrap();
        skip("tracefs cannot be mounted");
        None
    }

    fn begin(&self, devices: &[(u32, u32)]) -> io::Result<BlockTrace> {
        tracefs::Trace::begin_below(&self.0, devices)
            .map(|trace| BlockTrace(TracerKind::Tracefs(trace)))
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        insist("a mount", || {
            Command::new("umount").arg(&self.0).output().unwrap().status.success()
        });
        fs::remove_dir(&self.0).unwrap();
    }
}

/// Starts a BPF trace; `None`, with a message, if programs cannot be loaded.
fn begin_bpf_here(devices: &[(u32, u32)]) -> Option<BlockTrace> {
    match BlockTrace::begin(devices, TraceMeans::Bpf) {
        Ok(trace) => Some(trace),
        Err(error) if Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

fn counts_are_exact(disk: &Disk, trace: &mut BlockTrace) {
    let before = trace.read().unwrap();
    known_work(&disk.device, 7);
    let after = trace.read().unwrap();
    assert_eq!((before.lost_events, after.lost_events), (0, 0));
    assert_eq!(after.unseen_beginnings, 0);
    assert_eq!(counts(&before), [(0, 0); 6]);
    let block = BLOCK as u64;
    let expected = [(41, 41 * block), (23, 23 * block), (7, 0), (5, 5 << 16), (0, 0), (0, 0)];
    assert_eq!(counts(&after), expected);
    for class in &after.devices[0] {
        hold_together(class, false);
        assert_eq!(class.failed, 0);
    }
}

#[test]
fn a_program_counts_what_was_done_to_a_loop_device() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::new("bpf");
    let Some(mut trace) = begin_bpf_here(&[disk.number()]) else { return };
    counts_are_exact(&disk, &mut trace);
}

#[test]
fn a_program_hands_out_every_request_with_its_place() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::new("requests");
    let mut trace = match BlockTrace::begin(&[disk.number()], TraceMeans::BpfRequests) {
        Ok(trace) => trace,
        Err(error) if Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => return skip(&error.to_string()),
    };
    known_work(&disk.device, 7);
    let mut found = Vec::new();
    trace.requests(&mut |request| found.push(request)).unwrap();
    let counted = trace.read().unwrap();
    assert_eq!((counted.unrecorded, counted.lost_events), (0, 0));
    let of = |class: BlockClass| found.iter().filter(move |one| one.class == class);
    for (at, class) in BlockClass::ALL.into_iter().enumerate() {
        let bytes: u64 = of(class).map(|one| u64::from(one.bytes)).sum();
        let counted = &counted.devices[0][at];
        assert_eq!(
            (of(class).count() as u64, bytes),
            (counted.requests, counted.bytes),
            "{class:?}"
        );
    }
    for (class, count) in [(BlockClass::Write, 23), (BlockClass::Read, 41)] {
        let places: Vec<u64> = of(class).map(|one| one.offset_bytes).collect();
        let expected: Vec<u64> = (0..count).map(|at| at * BLOCK as u64).collect();
        assert_eq!(places, expected, "{class:?}");
    }
    let discards: Vec<(u64, u32)> =
        of(BlockClass::Discard).map(|one| (one.offset_bytes, one.bytes)).collect();
    let expected: Vec<(u64, u32)> = (0..5).map(|at| ((1 << 20) + (at << 16), 1 << 16)).collect();
    assert_eq!(discards, expected);
    for one in &found {
        let seen = [one.arrived_ns, one.issued_ns].into_iter().flatten();
        assert!(seen.clone().all(|ns| ns <= one.ended_ns), "{one:?}");
        assert!(one.issued_ns.is_some() && !one.flags.has(RequestFlags::FAILED), "{one:?}");
    }
    assert!(found.is_sorted_by_key(|one| one.ended_ns), "one after the other");
    found.clear();
    trace.requests(&mut |request| found.push(request)).unwrap();
    assert!(found.is_empty(), "each is told once");
    // Without a request for records, there are none.
    let mut plain = BlockTrace::begin(&[disk.number()], TraceMeans::Bpf).unwrap();
    assert!(plain.requests(&mut |_| {}).is_err());
}

fn read(trace: &BlockTrace) -> &tracefs::Trace {
    match &trace.0 {
        TracerKind::Tracefs(inner) => inner,
        #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
        TracerKind::Bpf(_) => unreachable!("it was begun by the other means"),
    }
}

#[test]
fn the_trace_counts_what_was_done_to_a_loop_device() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::new("tracefs");
    let Some(tracefs) = Tracefs::new("tracefs-root") else { return };
    let mut trace = tracefs.begin(&[disk.number()]).unwrap();
    counts_are_exact(&disk, &mut trace);
    let inner = read(&trace);
    let place = inner.place().to_owned();
    assert!(place.exists());
    drop(trace);
    assert!(!place.exists());
}

struct Zram {
    number: String,
    device: Option<File>,
}

impl Zram {
    /// `None`, with a message, if the kernel has no zram.
    fn new() -> Option<Self> {
        let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
            skip("the kernel has no zram");
            return None;
        };
        let number = number.trim().to_owned();
        fs::write(format!("/sys/block/zram{number}/disksize"), "16M").unwrap();
        let device = Some(open_direct(&format!("/dev/zram{number}")));
        Some(Self { number, device })
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        self.device = None;
        fs::write(format!("/sys/block/zram{}/reset", self.number), "1").unwrap();
        fs::write("/sys/class/zram-control/hot_remove", &self.number).unwrap();
    }
}

fn zram_counts_are_exact(zram: &Zram, trace: &mut BlockTrace) {
    known_work(zram.device.as_ref().unwrap(), 7);
    let after = trace.read().unwrap();
    let block = BLOCK as u64;
    // It has no volatile cache, so the kernel completes flushes itself.
    let expected = [(41, 41 * block), (23, 23 * block), (0, 0), (5, 5 << 16), (0, 0), (0, 0)];
    assert_eq!(counts(&after), expected);
    assert_eq!((after.unseen_beginnings, after.lost_events), (0, 0));
    for class in &after.devices[0] {
        hold_together(class, true);
    }
}

#[test]
fn bios_of_zram_count_themselves() {
    let Some(_turn) = turn() else { return };
    let Some(zram) = Zram::new() else { return };
    let device = [number(&format!("zram{}", zram.number))];
    if let Some(mut trace) = begin_bpf_here(&device) {
        zram_counts_are_exact(&zram, &mut trace);
    }
    let Some(tracefs) = Tracefs::new("zram-root") else { return };
    zram_counts_are_exact(&zram, &mut tracefs.begin(&device).unwrap());
}

#[test]
fn requests_of_a_partition_are_its_disks() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::with_partitions("part");
    crate::add_partition(disk.device.as_fd(), 1, 4 << 20..12 << 20).unwrap();
    let part = open_direct(&format!("/dev/{}p1", disk.name));
    let of_disk = [disk.number()];
    let Some(tracefs) = Tracefs::new("partition-root") else { return };
    let mut traces = vec![tracefs.begin(&of_disk).unwrap()];
    traces.extend(begin_bpf_here(&of_disk));
    known_work(&part, 7);
    let after: Vec<BlockTotals> = traces.iter_mut().map(|trace| trace.read().unwrap()).collect();
    drop(part);
    insist("a partition", || crate::remove_partition(disk.device.as_fd(), 1).is_ok());
    for after in after {
        let requests: Vec<u64> = after.devices[0].iter().map(|class| class.requests).collect();
        assert_eq!(requests, [41, 23, 7, 5, 0, 0]);
        assert_eq!(after.unseen_beginnings, 0);
    }
}

#[test]
fn only_what_is_watched_is_counted_each_device_for_itself() {
    let Some(_turn) = turn() else { return };
    let [one, two, three] = ["one", "two", "three"].map(Disk::new);
    let devices = [one.number(), two.number()];
    let Some(tracefs) = Tracefs::new("several-root") else { return };
    let mut traces = vec![tracefs.begin(&devices).unwrap()];
    traces.extend(begin_bpf_here(&devices));
    for (disk, reads) in [(&one, 3), (&two, 5), (&three, 9)] {
        for _ in 0..reads {
            with_block(|block| disk.device.read_exact_at(block, 0)).unwrap();
        }
    }
    for mut trace in traces {
        let after = trace.read().unwrap();
        let reads: Vec<u64> = after.devices.iter().map(|device| device[0].requests).collect();
        assert_eq!(reads, [3, 5]);
    }
}

#[test]
fn a_device_that_goes_away_under_way_stops_nothing() {
    let Some(_turn) = turn() else { return };
    let (disk, stays) = (Disk::new("gone"), Disk::new("stays"));
    let devices = [disk.number(), stays.number()];
    let Some(tracefs) = Tracefs::new("gone-root") else { return };
    let mut traces = vec![tracefs.begin(&devices).unwrap()];
    traces.extend(begin_bpf_here(&devices));
    with_block(|block| disk.device.read_exact_at(block, 0)).unwrap();
    drop(disk);
    with_block(|block| stays.device.read_exact_at(block, 0)).unwrap();
    for mut trace in traces {
        let after = trace.read().unwrap();
        assert_eq!(after.devices[1][0].requests, 1);
        assert_eq!(after.devices[0][0].requests, 1);
    }
}

/// Large writes are split into several requests, with the arrival of the whole bio.
#[test]
fn parts_of_a_large_bio_arrive_with_it() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::new("parts");
    let limit = format!("/sys/block/{}/queue/max_sectors_kb", disk.name);
    fs::write(&limit, "64").unwrap();
    let Some(tracefs) = Tracefs::new("parts-root") else { return };
    let mut traces = vec![tracefs.begin(&[disk.number()]).unwrap()];
    traces.extend(begin_bpf_here(&[disk.number()]));
    let bytes = vec![0x5a_u8; (1 << 20) + BLOCK];
    let from = bytes.as_ptr().align_offset(BLOCK);
    disk.device.write_all_at(&bytes[from..from + (1 << 20)], 0).unwrap();
    for mut trace in traces {
        let after = trace.read().unwrap();
        let write = &after.devices[0][BlockClass::Write as usize];
        assert_eq!((write.requests, write.bytes), (16, 1 << 20), "{:?}", trace.0);
        assert_eq!(after.unseen_beginnings, 0);
        hold_together(write, false);
    }
}

#[test]
fn rings_that_are_too_small_are_found_out() {
    let Some(_turn) = turn() else { return };
    let disk = Disk::new("overrun");
    let Some(tracefs) = Tracefs::new("overrun-root") else { return };
    let mut trace = tracefs.begin(&[disk.number()]).unwrap();
    let inner = read(&trace);
    // The reader waits during this call.
    inner.while_nobody_reads(|instance| {
        fs::write(instance.join("buffer_size_kb"), "4").unwrap();
        for index in 0..2_000_u64 {
            with_block(|block| disk.device.read_exact_at(block, index % 64 * 4096)).unwrap();
        }
    });
    let after = trace.read().unwrap();
    assert!(after.lost_events > 100, "{}", after.lost_events);
    assert!(after.devices[0][0].requests < 2_000);
}

#[test]
fn what_a_killed_process_left_is_removed_and_nothing_else() {
    let Some(_turn) = turn() else { return };
    let Some(tracefs) = Tracefs::new("stale-root") else { return };
    let instances = tracefs.0.join("instances");
    // No process has a number that large; the other's was given to somebody else.
    let stale = instances.join("assay-4194999-0");
    let again = instances.join(format!("assay-{}-x", std::process::id()));
    let others = instances.join("assays-own-0");
    let living = instances.join(format!("assay-{}-y", std::process::id()));
    for path in [&stale, &again, &others, &living] {
        fs::create_dir(path).unwrap();
    }
    let open = File::open(living.join("trace_pipe")).unwrap();
    tracefs::remove_stale_below(&tracefs.0);
    let there = [&stale, &again, &others, &living].map(|path| path.exists());
    drop(open);
    for path in [&others, &living] {
        insist("an instance", || fs::remove_dir(path).is_ok());
    }
    assert_eq!(there, [false, false, true, true]);
}

/// Works without BPF, too: stale traces are removed by either method.
#[test]
fn what_was_left_is_removed_by_whatever_means_one_begins() {
    let Some(_turn) = turn() else { return };
    let usual = Path::new("/sys/kernel/tracing");
    // Many machines mount it there by themselves; on the others it is there for this test.
    let mount = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).arg(usual).output();
        output.is_ok_and(|output| output.status.success())
    };
    let own = !usual.join("instances").exists() && mount(&["mount", "-t", "tracefs", "none"]);
    let stale = usual.join("instances/assay-4194999-1");
    let made = fs::create_dir(&stale);
    if made.is_ok() {
        drop(BlockTrace::begin(&[(7, 99)], TraceMeans::Bpf));
    }
    let stays = stale.exists() && fs::remove_dir(&stale).is_ok();
    if own {
        insist("a mount", || mount(&["umount"]));
    }
    match made {
        Ok(()) => assert!(!stays),
        Err(error) => skip(&format!("needs {}: {error}", stale.display())),
    }
}

#[test]
fn buckets_of_the_program_are_those_of_the_reader() {
    if !have(&[Need::Program("clang")]) {
        return;
    }
    let _turn = alone();
    let folder = std::env::temp_dir().join(format!("assay-sys-{}-buckets", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let source = folder.join("buckets.c");
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf/latency_bucket.h");
    let text = format!(
        "#include \"{header}\"\n#include <stdio.h>\nint main(void) {{ unsigned long long ns;\n\
         while (scanf(\"%llu\", &ns) == 1) printf(\"%u\\n\", latency_bucket(ns)); }}\n"
    );
    fs::write(&source, text).unwrap();
    let program = folder.join("buckets");
    let built = Command::new("clang").arg("-o").arg(&program).arg(&source).output();
    let mut values: Vec<u64> = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).collect();
    values.extend(
        (0..LATENCY_BUCKETS).map(latency_bucket_from_ns).flat_map(|ns| [ns.max(1) - 1, ns]),
    );
    values.push(u64::MAX);
    let lines: Vec<String> = values.iter().map(ToString::to_string).collect();
    let input = folder.join("values");
    fs::write(&input, lines.join("\n")).unwrap();
    let ran = built
        .ok()
        .filter(|output| output.status.success())
        .map(|_| Command::new(&program).stdin(File::open(&input).unwrap()).output().unwrap());
    fs::remove_dir_all(&folder).unwrap();
    let Some(ran) = ran else { return skip("needs clang with the headers of a C library") };
    let theirs: Vec<usize> =
        String::from_utf8(ran.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    let ours: Vec<usize> = values.iter().map(|ns| latency_bucket(*ns)).collect();
    assert_eq!(theirs, ours);
}

/// Relevant parts of an object: sections of programs, maps, types and constants.
fn sections(path: &Path) -> Vec<(String, String)> {
    let list = Command::new("llvm-objdump").arg("-h").arg(path).output().unwrap();
    let names = String::from_utf8(list.stdout).unwrap();
    let names = names.lines().filter_map(|line| line.split_whitespace().nth(1));
    let wanted = |name: &&str| {
        name.starts_with("tp_btf/")
            || name.starts_with("fexit/")
            || [".maps", ".rodata"].contains(name)
    };
    let dump = |name: &str| {
        let section = format!("--section={name}");
        let output = Command::new("llvm-objdump").args(["-s", &section]).arg(path).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        // The first lines name the file.
        let dump = text.split_once("Contents").map_or(text.as_str(), |(_, dump)| dump);
        (name.to_owned(), dump.to_owned())
    };
    names.filter(wanted).map(dump).collect()
}

/// Compiler and source hash of the object.
fn built_with(folder: &Path) -> [String; 2] {
    let text = fs::read_to_string(folder.join("block_latency.built-with.txt")).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.try_into().unwrap()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bpf")
}

#[test]
fn the_built_program_is_as_old_as_its_source() {
    let [_, hash] = built_with(&sources());
    assert_eq!(hash, text_hash(&sources()), "the source changed: run `cargo xtask bpf`");
}

/// Compilers generate different instructions, so only the recorded compiler can check whether the object is stale
/// (`cargo xtask bpf` builds it and records its compiler).
#[test]
fn the_built_program_is_that_of_its_source() {
    if !have(&[Need::Program("clang"), Need::Program("llvm-objdump")]) {
        return;
    }
    let _turn = alone();
    let version = Command::new("clang").arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let version = version.lines().next().unwrap_or_default();
    let [built_with, _] = built_with(&sources());
    if version != built_with {
        return skip(&format!("needs {built_with}, here is `{version}`"));
    }
    let fresh = std::env::temp_dir().join(format!("assay-sys-{}-fresh.o", std::process::id()));
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", "-o"])
        .arg(&fresh)
        .arg(sources().join("block_latency.bpf.c"))
        .status();
    assert!(compiled.unwrap().success());
    let (ours, theirs) = (sections(&sources().join("block_latency.bpf.o")), sections(&fresh));
    fs::remove_file(&fresh).unwrap();
    assert_eq!(ours.len(), 9, "seven programs, maps and constants");
    assert_eq!(ours, theirs, "run `cargo xtask bpf`");
}

/// Hash of the source files (FNV-1a), which detects changes without a compiler.
fn text_hash(folder: &Path) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in ["block_latency.bpf.c", "latency_bucket.h"] {
        for byte in fs::read(folder.join(name)).unwrap() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
