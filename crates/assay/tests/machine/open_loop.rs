//! 500 writes per second on a filesystem frozen for two seconds: response times include the wait, with each engine and
//! each arrival process.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use assay_load::{
    Arrivals, ENGINES, EngineKind, Job, Mix, Outcome, Pattern, Schedule, Target, run,
};
use assay_testkit::call;
use assay_testkit::slow::Standstill;
use assay_testkit::volume::{Filesystem, Volume};

use crate::turn::{Need, has, skip, word};

const AREA_BYTES: u64 = 32 << 20;
const RATE_PER_S: u64 = 500;
const SECONDS: u64 = 10;

struct Place {
    file: File,
    volume: Volume,
}

impl Place {
    fn new() -> Self {
        let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
        let path = volume.directory().join("area");
        fs::write(&path, vec![0x5a; AREA_BYTES as usize]).unwrap();
        call("sync", &["--file-system", &word(&path)]).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32);
        Self { file: options.open(&path).unwrap(), volume }
    }
}

/// Freezes a directory at 4 s for 2 s.
fn freeze(directory: &Path) -> Standstill {
    Standstill::of(directory, Duration::from_secs(4), Duration::from_secs(2)).unwrap()
}

fn beside_a_freeze(place: &Place, work: impl FnOnce() -> Outcome + Send) -> (Outcome, Standstill) {
    thread::scope(|scope| {
        let working = scope.spawn(work);
        let frozen = freeze(place.volume.directory());
        (working.join().unwrap(), frozen)
    })
}

fn paced(file: &File, engine: &EngineKind, arrivals: Arrivals, depth: u32) -> Outcome {
    let schedule = Some(Schedule { rate_per_s: RATE_PER_S, arrivals });
    let job = Job {
        schedule,
        depth,
        time: Duration::from_secs(SECONDS),
        ..Job::base(Pattern::Random, Mix::WRITES, 4096, 0..AREA_BYTES, 7)
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    run(&job, engine, &target, &AtomicBool::new(false)).unwrap()
}

/// Share of the time waiting for a CPU above which other processes determine the result, as in Assay's rule for a
/// trial.
const MOST_WAITING: f64 = 0.1;

/// Returns by how much a queue grew because operations took longer than the schedule's interval, in seconds. Excludes
/// operations delayed by the freeze.
fn slower_than_asked_s(service_ns: &[(u64, u64)], depth: u32) -> f64 {
    let between_ns = u64::from(depth) * 1_000_000_000 / RATE_PER_S;
    let all: u64 = service_ns.iter().map(|(_, count)| count).sum();
    let mut left = all.saturating_sub(depth.into());
    let mut grown_ns = 0;
    for (ns, count) in service_ns {
        let count = left.min(*count);
        left -= count;
        grown_ns += count * ns.saturating_sub(between_ns);
    }
    grown_ns as f64 / f64::from(depth) / 1e9
}

#[test]
fn a_queue_grows_by_what_operations_take_longer_than_asked() {
    let ms = 1_000_000;
    let slow = [(ms, 4000), (4 * ms, 50), (2000 * ms, 1)];
    assert!((slower_than_asked_s(&slow, 1) - 0.1).abs() < 1e-9);
    assert!(slower_than_asked_s(&[(ms, 4000), (2000 * ms, 1)], 1) < 1e-9);
    assert!(slower_than_asked_s(&[(4 * ms, 4000), (2000 * ms, 64)], 64) < 1e-9);
}

fn holds(name: &str, depth: u32, found: &Outcome, frozen: Standstill) {
    let class = &found.classes[0];
    let responses = class.response_ns.as_ref().unwrap();
    let p99 = responses.value_at_quantile(0.99) as f64 / 1e9;
    let service = class.latency_ns.value_at_quantile(0.99) as f64 / 1e9;
    let [least, most] = frozen.p99_s(RATE_PER_S, SECONDS);
    let waited = found.waited_ns.map_or(0.0, |ns| ns as f64 / 1e9) / SECONDS as f64;
    let took = class.latency_ns.iter_recorded();
    let took = took.map(|one| (one.value_iterated_to(), one.count_since_last_iteration()));
    let slower = slower_than_asked_s(&took.collect::<Vec<_>>(), depth);
    tell(&format!(
        "{name}: response p99 {p99:.3} s, by arithmetic {least:.3} to {most:.3} s, service p99 \
         {service:.4} s, {slower:.3} s of it above what the rate leaves, waited for a processor {waited:.3} of the time"
    ));
    let is_kept_from_them = waited > MOST_WAITING;
    let is_near = (0.9 * least..1.1 * most + slower).contains(&p99);
    assert!(
        is_near || is_kept_from_them,
        "{name}: {p99} s for {least} to {most} s, and {slower} s"
    );
    let pace = found.pace.unwrap();
    let is_complete = (pace.unissued(), responses.len()) == (0, pace.scheduled);
    assert!(is_complete || is_kept_from_them, "{name}: {pace:?}");
    let expected = (RATE_PER_S * SECONDS) as f64;
    assert!((pace.scheduled as f64 - expected).abs() < 5.0 * expected.sqrt(), "{name}: {pace:?}");
}

/// Bypasses the harness's capture to put the numbers in the log.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_file_system_that_stands_still_is_in_the_response_times() {
    if !has(&[Need::Volume(Filesystem::Ext4), Need::Program("fsfreeze")]) {
        return;
    }
    let engines = ENGINES.iter().filter(|entry| entry.needs_file);
    let mut cases = Vec::new();
    for entry in engines {
        if let Err(reason) = (entry.available)() {
            skip(&reason);
            continue;
        }
        let depth = if entry.standard == EngineKind::Psync { 1 } else { 64 };
        for arrivals in [Arrivals::Fixed, Arrivals::Poisson] {
            let name = format!("{}, {}", entry.name, arrivals.name());
            cases.push((name, entry.standard, arrivals, depth));
        }
    }
    // Separate filesystems allow all to wait at the same time.
    let measure = |case: &(String, EngineKind, Arrivals, u32)| {
        let (name, engine, arrivals, depth) = case;
        let place = Place::new();
        let file = &place.file;
        let work = || paced(file, engine, *arrivals, *depth);
        let (found, frozen) = beside_a_freeze(&place, work);
        (name.clone(), *depth, found, frozen)
    };
    let all = thread::scope(|scope| {
        let running: Vec<_> = cases.iter().map(|case| scope.spawn(move || measure(case))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    for (name, depth, found, frozen) in &all {
        holds(name, *depth, found, *frozen);
    }
}
