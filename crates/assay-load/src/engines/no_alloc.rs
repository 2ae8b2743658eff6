//! The measured loop never calls the allocator: neither per operation, nor when a queue first fills up, nor at the end
//! of a second.
//!
//! The test counts calls on the measuring thread only, and only while its loop runs, so other activity and slow
//! machines do not matter.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use super::null::Null;
use super::psync::Psync;
use super::simulated::SimulatedEngine;
use super::suite::works;
use crate::check::tests::job as any_job;
use crate::drive::{Part, Worker, work};
use crate::engine::{Completion, Engine, Request, Setup};
use crate::gate::Control;
use crate::spent::Spent;
use crate::{
    Act, Apart, Arrivals, Content, ENGINES, EngineKind, Job, Law, LawShape, LoadError, Mix,
    Pattern, Poll, QueueFacts, Schedule, SizeShare, Sizes, Slices, Step, Target, Track, Wait,
    WriteSync,
};

/// Exceeds the capacity of a vector that started empty and grew once.
const DEEP: u32 = 64;
const AREA_BYTES: u64 = 1 << 20;
/// Slices of three operations, as many as there are.
const THREES: Slices = Slices { operations: 3, begun_within: Duration::MAX };

thread_local! {
    /// Whether this thread is in its measured loop.
    static MEASURING: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    if MEASURING.get() {
        CALLS.set(CALLS.get() + 1);
    }
}

// SAFETY: everything is passed on to the system's allocator; only calls are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`, and all memory is the system's.
        unsafe { System.realloc(pointer, layout, bytes) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`, and all memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An engine that reports when its loop runs: from the first reading of its clock, at the start of the loop, until the
/// queue facts are read right after it.
struct Watched<E> {
    engine: E,
    begun: Cell<bool>,
}

impl<'a, E: Engine<'a>> Engine<'a> for Watched<E> {
    const ONE_AT_A_TIME: bool = E::ONE_AT_A_TIME;

    fn open(setup: &Setup<'a>) -> Result<Self, LoadError> {
        Ok(Self { engine: E::open(setup)?, begun: Cell::new(false) })
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.engine.slot_mut(slot)
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        self.engine.submit(requests)
    }

    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        self.engine.complete(at_least, into)
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        self.engine.complete_by(deadline_ns, into)
    }

    fn sync_ns(&self, slot: u32) -> u64 {
        self.engine.sync_ns(slot)
    }

    fn queue(&self) -> QueueFacts {
        MEASURING.set(false);
        self.engine.queue()
    }

    fn now_ns(&self) -> u64 {
        if !self.begun.replace(true) {
            MEASURING.set(true);
        }
        self.engine.now_ns()
    }

    fn spent(&self) -> Spent {
        self.engine.spent()
    }

    fn notes(&self) -> Vec<String> {
        self.engine.notes()
    }
}

type Run = fn(&Worker<'_>) -> Result<Option<Part>, LoadError>;

/// The whole life of a thread with an engine of the table, watched.
fn watched(name: &str) -> Run {
    match name {
        "null" => |worker| work::<Watched<Null>>(worker),
        "simulated" => |worker| work::<Watched<SimulatedEngine>>(worker),
        "psync" => |worker| work::<Watched<Psync<'_>>>(worker),
        #[cfg(target_pointer_width = "64")]
        "io_uring" => |worker| work::<Watched<super::io_uring::IoUring<'_>>>(worker),
        _ => panic!("engine {name} is not watched here yet: add its line"),
    }
}

/// A file in memory: io_uring hands its operations to workers of the kernel and waits.
fn memory() -> File {
    let file = File::from(memfd_create("assay-load", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(AREA_BYTES).unwrap();
    file
}

/// A file whose operations complete during their submission.
fn zeros() -> File {
    File::options().read(true).write(true).open("/dev/zero").unwrap()
}

/// Runs a job on a file; returns the allocator calls in the loop, and the result.
fn calls(run: Run, kind: &EngineKind, job: &Job, file: &File) -> (u64, Part) {
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let stop = AtomicBool::new(false);
    let control = Control::new(1, &stop);
    CALLS.set(0);
    let part = run(&Worker { job, kind, target: &target, thread: 0, control: &control });
    (CALLS.get(), part.unwrap().unwrap())
}

fn job() -> Job {
    Job {
        mix: Mix::Shares { read_percent: 50 },
        area: 0..AREA_BYTES,
        // Operations end it, however slow this machine is.
        time: Duration::from_secs(3600),
        operations: Some(2_000),
        ..any_job()
    }
}

fn sizes() -> Sizes {
    let share = |bytes, percent| SizeShare { bytes, percent };
    Sizes { reads: vec![share(512, 30), share(4096, 70)], writes: vec![share(1024, 100)] }
}

/// One job for each way through the loop.
fn jobs() -> Vec<Job> {
    let rewrites = || Job { mix: Mix::Rewrite, ..job() };
    vec![
        job(),
        Job { depth: DEEP, ..job() },
        Job { depth: DEEP, sync: WriteSync::EachWrite, ..job() },
        Job { depth: DEEP, wait_for: DEEP / 2, sync: WriteSync::EachNth(2), ..job() },
        Job { depth: DEEP, wait_for: DEEP, ..rewrites() },
        rewrites(),
        Job { depth: DEEP, ..rewrites() },
        Job { depth: DEEP, sizes: sizes(), ..job() },
        Job { sizes: Sizes { writes: sizes().reads, ..sizes() }, ..rewrites() },
        Job { pattern: Pattern::Sequential, sizes: sizes(), apart: Apart::Positions, ..job() },
        Job { pattern: Pattern::Stride, stride_bytes: 16 << 10, apart: Apart::Halves, ..job() },
        Job { access: "zipf:1.2".parse().unwrap(), ..job() },
        Job { access: "zipf:1".parse().unwrap(), depth: DEEP, sizes: sizes(), ..job() },
        Job { access: "pareto:0.2".parse().unwrap(), apart: Apart::Halves, ..job() },
        Job { align_bytes: 512, size_bytes: 1024, ..job() },
        Job { access: "zoned:80/20:20/80".parse().unwrap(), ..job() },
        Job { access: "zoned:50/5:30/15:20/80".parse().unwrap(), ..job() },
        Job { pattern: Pattern::Stride, stride_bytes: 8 << 10, depth: DEEP, ..job() },
        Job { depth: DEEP, sync: WriteSync::EachNth(3), ..job() },
        Job { depth: DEEP, mix: "read/40:write/40:trim/20".parse().unwrap(), ..job() },
        Job { content: "30%".parse().unwrap(), duplicates: "50%".parse().unwrap(), ..job() },
        Job { duplicates: "50%".parse().unwrap(), depth: DEEP, sizes: sizes(), ..job() },
        Job { content: Content::Zero, depth: DEEP, ..job() },
        // More operations than rows for their order.
        Job { verify: Some(1), ..job() },
        Job { verify: Some(1), depth: DEEP, ..job() },
        Job { verify: Some(1), depth: DEEP, ..rewrites() },
        Job { verify: Some(1), ..paced(DEEP, Arrivals::Poisson) },
        Job { verify: Some(1), think: Duration::from_micros(20), ..job() },
        // More samples than stored individually.
        Job { pattern: Pattern::Spaced, size_bytes: 64, operations: Some(12_000), ..job() },
        Job { pattern: Pattern::Sequential, depth: DEEP, slices: Some(THREES), ..job() },
        Job {
            pattern: Pattern::Sequential,
            depth: DEEP,
            ramp: Duration::from_millis(1),
            time: Duration::from_millis(5),
            operations: None,
            ..job()
        },
        paced(1, Arrivals::Fixed),
        paced(DEEP, Arrivals::Poisson),
        Job { mix: Mix::Rewrite, ..paced(DEEP, Arrivals::Poisson) },
        Job { access: "zipf:1.2".parse().unwrap(), sizes: sizes(), ..paced(8, Arrivals::Poisson) },
        Job {
            mix: "read/40:write/40:trim/20".parse().unwrap(),
            duplicates: "50%".parse().unwrap(),
            sync: WriteSync::EachNth(3),
            ..paced(DEEP, Arrivals::Poisson)
        },
        Job { sync: WriteSync::EachWrite, operations: None, ..paced(DEEP, Arrivals::Fixed) },
        Job { think: Duration::from_micros(20), depth: DEEP, ..job() },
        Job { think: Duration::from_micros(20), sync: WriteSync::EachNth(3), ..rewrites() },
        recorded(1, true),
        recorded(DEEP, true),
        recorded(DEEP, false),
        waiting(1),
        waiting(DEEP),
    ]
}

/// Two thousand recorded requests, 10 us apart.
fn recorded(depth: u32, by_clock: bool) -> Job {
    let acts = [Act::Read, Act::Write, Act::Flush, Act::Fua, Act::Discard];
    let step = |index: u64| {
        let act = acts[index as usize % acts.len()];
        let (offset, bytes) =
            if act == Act::Flush { (0, 0) } else { (index * 4096 % AREA_BYTES, 4096) };
        Step { at_ns: index * 10_000, offset, bytes, act }
    };
    let track = Track::new((0..2_000).map(step).collect(), by_clock);
    Job {
        track: Some(Arc::new(track)),
        depth,
        time: if by_clock { Duration::from_millis(20) } else { Duration::from_secs(3600) },
        operations: (!by_clock).then_some(2_000),
        ..job()
    }
}

/// The same requests in chains of four that start together: each waits for the end of the fourth before it.
fn waiting(depth: u32) -> Job {
    let steps = recorded(depth, true).track.unwrap().steps().to_vec();
    let wait = |index: u32| Wait {
        end_of: index.checked_sub(4).filter(|_| !index.is_multiple_of(100)),
        gap_ns: u64::from(index % 3) * 5_000,
    };
    let waits = (0..2_000).map(wait).collect();
    Job { track: Some(Arc::new(Track::paced(steps, waits))), ..recorded(depth, false) }
}

/// Maximum rate for 20 ms: with one slot most operations are late, and some are never issued.
fn paced(depth: u32, arrivals: Arrivals) -> Job {
    let schedule = Some(Schedule { rate_per_s: 200_000, arrivals });
    Job { schedule, depth, time: Duration::from_millis(20), ..job() }
}

/// Names of fields that differ from the plain job. A new field fails to compile until listed here.
fn varied(one: &Job) -> Vec<&'static str> {
    let plain = job();
    let Job {
        pattern,
        mix,
        size_bytes,
        sizes,
        access,
        align_bytes,
        stride_bytes,
        apart,
        depth,
        wait_for,
        // Only one engine polls: below.
        poll: _,
        // Pinning happens before the loop.
        pin: _,
        // Each thread has a separate loop.
        threads: _,
        sync,
        content,
        duplicates,
        area: _,
        ramp,
        time,
        operations,
        slices,
        schedule,
        track,
        think,
        verify,
        seed: _,
    } = one;
    let all = [
        ("pattern", *pattern != plain.pattern),
        ("mix", *mix != plain.mix),
        ("size_bytes", *size_bytes != plain.size_bytes),
        ("sizes", *sizes != plain.sizes),
        ("access", *access != plain.access),
        ("align_bytes", *align_bytes != plain.align_bytes),
        ("stride_bytes", *stride_bytes != plain.stride_bytes),
        ("apart", *apart != plain.apart),
        ("depth", *depth != plain.depth),
        ("wait_for", *wait_for != plain.wait_for),
        ("sync", *sync != plain.sync),
        ("content", *content != plain.content),
        ("duplicates", *duplicates != plain.duplicates),
        ("ramp", *ramp != plain.ramp),
        ("time", *time != plain.time),
        ("operations", *operations != plain.operations),
        ("slices", slices.is_some()),
        ("schedule", schedule.is_some()),
        ("track", track.is_some()),
        ("think", *think != plain.think),
        ("verify", verify.is_some()),
    ];
    all.into_iter().filter_map(|(name, is_other)| is_other.then_some(name)).collect()
}

/// Some job covers every field, law and pattern.
#[test]
fn jobs_cover_every_field_law_and_pattern() {
    let jobs = jobs();
    let met: BTreeSet<&str> = jobs.iter().flat_map(varied).collect();
    assert_eq!(met.len(), 21, "{met:?}");
    assert!(varied(&job()).is_empty());
    for law in ["zipf", "pareto", "zoned"] {
        let is_met = jobs.iter().any(|job| job.access.to_string().starts_with(law));
        assert!(is_met, "{law}: of {:?}", jobs.iter().map(|job| job.access).collect::<Vec<_>>());
    }
    let patterns = [Pattern::Sequential, Pattern::Random, Pattern::Stride, Pattern::Spaced];
    assert!(patterns.iter().all(|pattern| jobs.iter().any(|job| job.pattern == *pattern)));
    let aparts = [Apart::None, Apart::Positions, Apart::Halves];
    assert!(aparts.iter().all(|apart| jobs.iter().any(|job| job.apart == *apart)));
}

fn allocates_nothing(name: &str, kind: &EngineKind, job: &Job, file: &File) -> Part {
    let (calls, part) = calls(watched(name), kind, job, file);
    let totals = part.found.totals;
    assert!(totals.read_operations + totals.write_operations > 0, "{name}: nothing was done");
    assert_eq!(calls, 0, "{name} calls the allocator in {job:?}");
    part
}

#[test]
fn the_loop_of_every_engine_allocates_nothing() {
    for entry in ENGINES.iter().filter(|entry| works(&entry.standard)) {
        for job in jobs() {
            allocates_nothing(entry.name, &entry.standard, &job, &memory());
        }
    }
}

/// A ring with a kernel thread for submission, if the kernel supports it.
#[test]
fn polled_submission_allocates_nothing() {
    if !works(&EngineKind::IoUring) {
        return;
    }
    let of = |depth| Job { poll: Poll::Sqpoll, depth, ..job() };
    let memory = memory();
    let target = Target { file: Some(memory.as_fd()), memory_alignment: 4096 };
    match crate::run(&of(1), &EngineKind::IoUring, &target, &AtomicBool::new(false)) {
        Err(error @ LoadError::Setup { .. }) => {
            return assay_testkit::needs::skip(&error.to_string());
        }
        tried => drop(tried.unwrap()),
    }
    let paced = Job { poll: Poll::Sqpoll, ..paced(DEEP, Arrivals::Poisson) };
    let synced = Job { sync: WriteSync::EachWrite, ..of(DEEP) };
    for job in [of(1), of(DEEP), synced, paced] {
        allocates_nothing("io_uring", &EngineKind::IoUring, &job, &memory);
    }
}

/// Operations that complete at once are found after the submission and stored until collected.
#[test]
fn immediate_completion_allocates_nothing() {
    let with_a_file = ENGINES.iter().filter(|entry| entry.needs_file);
    for entry in with_a_file.filter(|entry| works(&entry.standard)) {
        // No syncs and no trims.
        let takes =
            |job: &&Job| job.sync == WriteSync::None && !job.mix.clears() && job.track.is_none();
        for job in jobs().iter().filter(takes) {
            let part = allocates_nothing(entry.name, &entry.standard, job, &zeros());
            assert!(part.queue.already_complete > 0, "{}: nothing was at once", entry.name);
        }
    }
}

/// Under a virtual clock an hour is short.
#[test]
fn hour_of_rows_allocates_nothing() {
    let law = Law { shape: LawShape::Fixed { ns: 250_000_000 }, servers: 1, store: None };
    let hour = Job { operations: None, ..job() };
    let part = allocates_nothing("simulated", &EngineKind::Simulated(law), &hour, &memory());
    let rows = part.found.series.len();
    // Four operations in a second: in seven of eight seconds there are reads and writes.
    assert!(rows > 6_000, "{rows} rows");
}

/// Files in memory cannot be zeroed, so the engines without one stand for all.
#[test]
fn zeroing_allocates_nothing() {
    let mix = "read/30:write/30:trim/20:zero/20".parse().unwrap();
    for entry in ENGINES.iter().filter(|entry| !entry.needs_file) {
        let job = Job { depth: DEEP, mix, ..job() };
        let part = allocates_nothing(entry.name, &entry.standard, &job, &memory());
        assert!(part.found.totals.zero_operations > 0 && part.found.totals.trim_operations > 0);
    }
}

/// The null engine with a list that grows from empty.
struct Growing(Null, Vec<u64>);

impl Engine<'_> for Growing {
    fn open(setup: &Setup<'_>) -> Result<Self, LoadError> {
        Ok(Self(Null::open(setup)?, Vec::new()))
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.0.slot_mut(slot)
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        self.1.extend(requests.iter().map(|request| request.offset));
        self.0.submit(requests)
    }

    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        self.0.complete(at_least, into)
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        self.0.complete_by(deadline_ns, into)
    }

    fn queue(&self) -> QueueFacts {
        self.0.queue()
    }
}

#[test]
fn a_list_that_grows_in_the_loop_is_seen() {
    let run: Run = |worker| work::<Watched<Growing>>(worker);
    let once = Job { operations: Some(1), ..job() };
    assert_eq!(calls(run, &EngineKind::Null, &once, &memory()).0, 1);
    assert!(calls(run, &EngineKind::Null, &job(), &memory()).0 > 1);
}
