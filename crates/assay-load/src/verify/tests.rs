//! Verification finds every error and reports no false ones.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{MemfdFlags, memfd_create};

use super::judge::{Block, Judge};
use super::marks::FoundMarks;
use super::stamp::{self, Generation, SectorContent, WriteStamp};
use super::standing::ExpectedData;
use super::*;
use crate::check::tests::job as any_job;
use crate::engines::suite::works;
use crate::pattern::{Classes, Walk};
use crate::random::{Purpose, below, generator};
use crate::{Apart, Arrivals, Class, EngineKind, Job, Mix, Pattern, Schedule, Target};

const RUN: u64 = 1_795_194_599_000_000_000;

fn memory(bytes: u64) -> File {
    let file = File::from(memfd_create("assay-verify", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(bytes).unwrap();
    file
}

fn target(file: &File) -> Target<'_> {
    Target { file: Some(file.as_fd()), memory_alignment: 4096 }
}

fn run(job: &Job, engine: &EngineKind, file: &File) -> Written {
    let stop = AtomicBool::new(false);
    crate::run(job, engine, &target(file), &stop).unwrap().written.unwrap()
}

fn look(job: &Job, written: &Written, file: &File) -> Verified {
    verify(job, written, &target(file), &AtomicBool::new(false)).unwrap()
}

const BLOCK: u64 = 2048;
const BLOCKS: u64 = 12_000;

/// Each block is written twice, one after the other.
fn twice() -> Job {
    Job {
        pattern: Pattern::Sequential,
        mix: Mix::WRITES,
        size_bytes: BLOCK as u32,
        area: 0..BLOCK * BLOCKS,
        time: Duration::from_secs(3600),
        operations: Some(2 * BLOCKS),
        verify: Some(RUN),
        ..any_job()
    }
}

/// A block as left by one of the two writes of [`twice`].
fn block(job: &Job, index: u64, is_last: bool) -> Vec<u8> {
    let operation = if is_last { BLOCKS + index } else { index };
    let stamp = WriteStamp {
        run: RUN,
        seed: job.seed,
        address: index * BLOCK,
        generation: Generation { thread: 0, index: operation },
        low: operation,
        since_ns: 0,
    };
    let mut bytes = vec![0; BLOCK as usize];
    stamp::fill(&mut bytes, &stamp);
    bytes
}

/// Damages a sound block.
type Damage = fn(&Job, u64, &mut [u8], &mut Xoshiro256PlusPlus);

fn torn(job: &Job, index: u64, bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) {
    let (old, whole) = (block(job, index, false), bytes.len());
    let cut = SECTOR * (1 + below(rng, (whole / SECTOR - 1) as u64) as usize);
    let lost = if below(rng, 2) == 0 { 0..cut } else { cut..whole };
    bytes[lost.clone()].copy_from_slice(&old[lost]);
}

fn stale(job: &Job, index: u64, bytes: &mut [u8], _: &mut Xoshiro256PlusPlus) {
    bytes.copy_from_slice(&block(job, index, false));
}

fn misplaced(job: &Job, index: u64, bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) {
    let other = (index + 1 + below(rng, BLOCKS - 1)) % BLOCKS;
    bytes.copy_from_slice(&block(job, other, true));
}

fn zeroed(_: &Job, _: u64, bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) {
    let from = SECTOR * below(rng, (bytes.len() / SECTOR) as u64) as usize;
    bytes[from..].fill(0);
}

fn flipped(_: &Job, _: u64, bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) {
    for _ in 0..=below(rng, 8) {
        let bit = below(rng, bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

const DAMAGES: [(Fault, Damage); 5] = [
    (Fault::Torn, torn),
    (Fault::Stale, stale),
    (Fault::Misplaced, misplaced),
    (Fault::Zeroed, zeroed),
    (Fault::Flipped, flipped),
];

#[test]
#[ignore = "nightly: 1 s"]
fn ten_thousand_faults_of_each_kind_are_all_found() {
    let (job, file) = (twice(), memory(BLOCK * BLOCKS));
    let written = run(&job, &EngineKind::Psync, &file);
    let sound = look(&job, &written, &file);
    assert_eq!((sound.read, sound.intact, sound.corrupt.all()), (BLOCKS, BLOCKS, 0));
    assert_eq!((sound.ambiguous, sound.first.len(), sound.cut_short), (0, 0, false));
    for (kind, (fault, damage)) in (1..).zip(DAMAGES) {
        let mut rng = generator(kind, 0, Purpose::Content);
        // Any ten thousand of the twelve: each first block of six is left as it is.
        let chosen = (0..BLOCKS).filter(|index| index % 6 != 0);
        for index in chosen.clone() {
            let mut bytes = block(&job, index, true);
            loop {
                damage(&job, index, &mut bytes, &mut rng);
                // Bits that were turned back, or of two that met.
                if bytes != block(&job, index, true) {
                    break;
                }
            }
            file.write_all_at(&bytes, index * BLOCK).unwrap();
        }
        let found = look(&job, &written, &file);
        assert_eq!(
            (found.corrupt.count_of(fault), found.corrupt.all()),
            (10_000, 10_000),
            "{fault:?}: {found:?}"
        );
        assert_eq!(found.intact, 2_000, "{fault:?}");
        let first = found.first[0];
        assert!(
            (BLOCK..2 * BLOCK).contains(&first.at_bytes) && found.first.len() == 8,
            "{first:?}"
        );
        let expected = Stood { thread: 0, operation: BLOCKS + 1, of_bytes: BLOCK };
        assert_eq!(first.expected, Some(expected));
        assert_eq!(first.bits.is_some(), fault == Fault::Flipped);
        for index in chosen {
            file.write_all_at(&block(&job, index, true), index * BLOCK).unwrap();
        }
    }
    assert_eq!(look(&job, &written, &file).corrupt.all(), 0);
}

#[test]
fn what_lay_there_before_is_no_fault_where_nothing_was_written() {
    let job = Job { operations: Some(10), area: 0..BLOCK * 20, ..twice() };
    let file = memory(BLOCK * 20);
    let older = Job { verify: Some(RUN - 1), operations: Some(20), ..job.clone() };
    run(&older, &EngineKind::Psync, &file);
    let written = run(&job, &EngineKind::Psync, &file);
    let found = look(&job, &written, &file);
    assert_eq!((found.read, found.intact, found.corrupt.all()), (20, 10, 0));
    // A lost write leaves the block of the older run, or no data.
    let mut old = vec![0; BLOCK as usize];
    file.read_exact_at(&mut old, 12 * BLOCK).unwrap();
    file.write_all_at(&old, 3 * BLOCK).unwrap();
    file.write_all_at(&[7; BLOCK as usize], 4 * BLOCK).unwrap();
    // A misplaced write is reported at its place, even if the run wrote nothing there.
    file.read_exact_at(&mut old, 5 * BLOCK).unwrap();
    file.write_all_at(&old, 15 * BLOCK).unwrap();
    let found = look(&job, &written, &file);
    let told: Vec<_> = found.first.iter().map(|own| (own.at_bytes / BLOCK, own.fault)).collect();
    assert_eq!(told, [(3, Fault::Stale), (4, Fault::Foreign), (15, Fault::Misplaced)]);
    assert_eq!(found.first[2].found.unwrap().of_bytes, 5 * BLOCK);
}

#[test]
fn what_cannot_be_read_any_more_is_told() {
    let job = Job { operations: Some(20), area: 0..BLOCK * 20, ..twice() };
    let file = memory(BLOCK * 20);
    let written = run(&job, &EngineKind::Psync, &file);
    file.set_len(BLOCK * 18).unwrap();
    let found = look(&job, &written, &file);
    assert_eq!((found.intact, found.corrupt.unreadable, found.corrupt.all()), (18, 2, 2));
    let none = Job { verify: None, ..job };
    assert!(verify(&none, &written, &target(&file), &AtomicBool::new(false)).is_err());
}

#[test]
fn engines_with_depth_threads_and_mixes_leave_nothing_wrong() {
    let engines = [EngineKind::Psync, EngineKind::IoUring];
    for engine in engines.iter().filter(|own| works(own)) {
        for (mix, pattern, threads) in [
            (Mix::WRITES, Pattern::Random, 1),
            (Mix::Shares { read_percent: 30 }, Pattern::Random, 3),
            (Mix::Rewrite, Pattern::Random, 2),
            (Mix::WRITES, Pattern::Sequential, 3),
        ] {
            let area = 0..256 * 4096;
            let job = Job {
                pattern,
                mix,
                threads,
                depth: 16,
                area,
                size_bytes: 4096,
                operations: Some(5_000),
                ..twice()
            };
            let file = memory(256 * 4096);
            let written = run(&job, engine, &file);
            assert_eq!(written.settled(), 5_000);
            let found = look(&job, &written, &file);
            assert_eq!((found.corrupt.all(), found.intact), (0, 256), "{job:?} {found:?}");
            assert!(rows(&written) <= 256, "{} rows", rows(&written));
            // A stop in the middle leaves only sound blocks.
            let stop = AtomicBool::new(false);
            let hours = Job { operations: None, verify: Some(RUN + 1), ..job };
            let outcome = std::thread::scope(|scope| {
                let running = scope.spawn(|| crate::run(&hours, engine, &target(&file), &stop));
                std::thread::sleep(Duration::from_millis(5));
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
                running.join().unwrap().unwrap()
            });
            let found = look(&hours, &outcome.written.unwrap(), &file);
            assert_eq!(found.corrupt.all(), 0, "{found:?}");
        }
    }
}

#[test]
fn rates_rests_and_laws_leave_nothing_wrong() {
    let base = || Job {
        pattern: Pattern::Random,
        mix: Mix::Shares { read_percent: 30 },
        threads: 2,
        depth: 8,
        area: 0..256 * 4096,
        size_bytes: 4096,
        operations: Some(3_000),
        ..twice()
    };
    let paced = |arrivals| Some(Schedule { rate_per_s: 100_000, arrivals });
    let jobs = [
        Job { schedule: paced(Arrivals::Fixed), ..base() },
        Job { schedule: paced(Arrivals::Poisson), mix: Mix::Rewrite, ..base() },
        Job { think: Duration::from_micros(20), ..base() },
        Job { access: "zipf:1.2".parse().unwrap(), ..base() },
        Job { access: "zoned:80/20:20/80".parse().unwrap(), apart: Apart::Halves, ..base() },
        Job { pattern: Pattern::Stride, stride_bytes: 3 * 4096, ..base() },
        Job { pattern: Pattern::Sequential, apart: Apart::Positions, ..base() },
        Job { align_bytes: 2 * 4096, ..base() },
    ];
    let engines = [EngineKind::Psync, EngineKind::IoUring];
    for engine in engines.iter().filter(|own| works(own)) {
        for job in &jobs {
            let file = memory(256 * 4096);
            let written = run(job, engine, &file);
            assert_eq!(written.settled(), 3_000, "{job:?}");
            let found = look(job, &written, &file);
            assert_eq!(found.corrupt.all(), 0, "{job:?} {found:?}");
            assert!(found.intact > 50, "{job:?} {found:?}");
        }
    }
}

fn rows(written: &Written) -> usize {
    written.threads.iter().map(|thread| thread.rows.len()).sum()
}

/// A simulated medium that stores each sector at any time between submission and completion.
struct Medium {
    job: Job,
    rng: Xoshiro256PlusPlus,
    now_ns: u64,
    bytes: Vec<u8>,
    threads: Vec<Thread>,
}

struct Thread {
    walk: Walk,
    classes: Classes,
    stamper: Stamper,
    /// Operations by slot.
    flights: Vec<Option<Flight>>,
    left: u64,
}

struct Flight {
    offset: u64,
    bytes: Vec<u8>,
    /// Sectors not stored yet.
    missing: Vec<usize>,
}

impl Medium {
    fn new(job: Job, operations: u64) -> Self {
        let thread = |number| Thread {
            walk: Walk::new(&job, number),
            classes: Classes::new(&job, number),
            stamper: Stamper::new(&job, number).unwrap(),
            flights: (0..job.depth).map(|_| None).collect(),
            left: operations / u64::from(job.threads),
        };
        let threads = (0..job.threads).map(thread).collect();
        let rng = generator(job.seed, 0, Purpose::Latency);
        let bytes = vec![0; job.area.end as usize];
        Self { rng, now_ns: 1, bytes, threads, job }
    }

    /// Performs a random step; returns false if nothing is left to do.
    fn step(&mut self) -> bool {
        let Self { job, rng, now_ns, bytes, threads } = self;
        *now_ns += below(rng, 3);
        let thread = below(rng, threads.len() as u64) as usize;
        let slot = below(rng, u64::from(job.depth)) as usize;
        let own = &mut threads[thread];
        match &mut own.flights[slot] {
            None if own.left > 0 => {
                own.left -= 1;
                let class = own.classes.next();
                let offset = own.walk.next(class).offset;
                own.stamper.begin(slot as u32);
                let mut carried = vec![0; job.size_bytes as usize];
                own.stamper.fill(slot as u32, offset, &mut carried);
                let sectors = if class == Class::Read { 0 } else { carried.len() / SECTOR };
                let missing = (0..sectors).collect();
                own.flights[slot] = Some(Flight { offset, bytes: carried, missing });
            }
            Some(flight) if !flight.missing.is_empty() => {
                let which = below(rng, flight.missing.len() as u64) as usize;
                let sector = SECTOR * flight.missing.swap_remove(which);
                let at = flight.offset as usize + sector;
                bytes[at..at + SECTOR].copy_from_slice(&flight.bytes[sector..sector + SECTOR]);
            }
            // Some completions are delayed, and some are seen together.
            Some(_) if below(rng, 4) == 0 => {
                own.flights[slot] = None;
                own.stamper.end(slot as u32);
                if below(rng, 3) > 0 {
                    own.stamper.advance_low(*now_ns);
                }
            }
            None | Some(_) => {}
        }
        threads.iter().any(|own| own.left > 0 || own.flights.iter().any(Option::is_some))
    }

    fn finish(self) -> (Job, Vec<u8>, Written) {
        let marks = self.threads.into_iter().map(|own| own.stamper.finish()).collect();
        let written = Written::new(RUN, self.job.seed, marks);
        (self.job, self.bytes, written)
    }
}

fn interleaved(seed: u64) -> Job {
    let mut rng = generator(seed, 0, Purpose::Names);
    let mut among = |of: Range<u64>| of.start + below(&mut rng, of.end - of.start);
    let mix = match among(0..4) {
        0 => Mix::Rewrite,
        1 => Mix::Shares { read_percent: 40 },
        _ => Mix::WRITES,
    };
    let (threads, depth) = (among(1..5) as u32, among(1..9) as u32);
    let pattern = if among(0..4) == 0 { Pattern::Sequential } else { Pattern::Random };
    let size = SECTOR as u64 * among(1..4);
    let area = 0..size * among(8..65);
    Job { pattern, mix, size_bytes: size as u32, threads, depth, area, seed, ..twice() }
}

fn judged(job: &Job, written: &Written, bytes: &[u8]) -> Vec<(Block, bool)> {
    let contents = ExpectedData::new(job, written, &job.area, &AtomicBool::new(false));
    let judge = Judge { written, seed: job.seed, contents: &contents };
    let size = job.size_bytes as usize;
    let blocks = bytes.chunks_exact(size).zip((0..).step_by(size));
    blocks.map(|(own, at)| (judge.judge_block(own, at), contents.has_several(at))).collect()
}

fn rounds() -> u64 {
    // Of 36 blocks on average: ten million of them in full.
    u64::from(assay_testkit::needs::count(300, 300_000))
}

#[test]
fn no_order_of_completions_makes_a_sound_block_wrong() {
    let mut seen = 0_u64;
    for seed in 0..rounds() {
        let mut medium = Medium::new(interleaved(seed), 200);
        while medium.step() {}
        let (job, bytes, written) = medium.finish();
        for (block, _) in judged(&job, &written, &bytes) {
            assert!(matches!(block, Block::Untouched | Block::Sound), "{seed}: {block:?}");
            seen += u64::from(block == Block::Sound);
        }
    }
    assert!(seen > 20 * rounds(), "{seen}");
}

/// If only one write is possible, any other write of the run is an error.
#[test]
fn an_older_write_is_told_wherever_it_is_certain() {
    let rounds = rounds().min(3_000);
    let mut lost = 0_u64;
    for seed in 0..rounds {
        let mut medium = Medium::new(interleaved(seed), 200);
        let mut before: Vec<u8> = Vec::new();
        let mut steps = 0;
        while medium.step() {
            steps += 1;
            if steps == 150 {
                before.clone_from(&medium.bytes);
            }
        }
        let (job, bytes, written) = medium.finish();
        let now = judged(&job, &written, &bytes);
        let then = judged(&job, &written, &before);
        let size = job.size_bytes as usize;
        let images = bytes.chunks_exact(size).zip(before.chunks_exact(size));
        for (((now, is_open), (then, _)), (new, old)) in now.iter().zip(&then).zip(images) {
            if *now != Block::Sound || old == new {
                continue;
            }
            if !is_open {
                lost += 1;
                assert!(matches!(then, Block::Wrong(_)), "{seed}: {then:?}");
            }
        }
    }
    assert!(lost > 3 * rounds, "{lost} in {rounds} rounds");
}

/// After a kill, the stamps alone determine the expected writes.
#[test]
fn what_a_killed_run_left_is_sound_and_what_is_lost_of_it_is_told() {
    let (mut settled, mut wrong) = (0, 0_u64);
    for seed in 0..rounds() {
        let job = interleaved(seed);
        let mut medium = Medium::new(job.clone(), 400);
        let until = 100 + seed % 700;
        for _ in 0..until {
            medium.step();
        }
        let bytes = medium.bytes;
        let written = found(&bytes, seed);
        settled += written.settled();
        for (block, _) in judged(&job, &written, &bytes) {
            assert!(!matches!(block, Block::Wrong(_)), "{seed}: {block:?}");
        }
        // Without its first quarter.
        let (mut less, size) = (bytes.clone(), job.size_bytes as usize);
        let cut = bytes.len() / size / 4 * size;
        less[..cut].fill(0);
        let blocks = judged(&job, &found(&less, seed), &less);
        wrong += blocks.iter().filter(|(block, _)| matches!(block, Block::Wrong(_))).count() as u64;
    }
    assert!(settled > 5 * rounds() && wrong > rounds() / 4, "{settled} settled, {wrong} told");
}

/// Facts from the stamps of an image.
fn found(bytes: &[u8], seed: u64) -> Written {
    let mut marks = FoundMarks::default();
    for sector in bytes.chunks_exact(SECTOR) {
        if let SectorContent::Stamped { stamp, wrong_bits: 0 } = stamp::read_stamp(sector) {
            marks.add(&stamp);
        }
    }
    marks.finish(RUN, seed)
}

#[test]
fn an_image_tells_its_runs_and_what_does_not_fit() {
    let job = Job { operations: Some(30), area: 0..BLOCK * 20, ..twice() };
    let file = memory(BLOCK * 20 + 100);
    run(&Job { verify: Some(RUN - 5), ..job.clone() }, &EngineKind::Psync, &file);
    run(&Job { operations: Some(10), ..job.clone() }, &EngineKind::Psync, &file);
    let look = |range| inspect(&range, &target(&file), &AtomicBool::new(false)).unwrap();
    let seen = look(0..BLOCK * 20);
    assert_eq!(
        (seen.verified.read, seen.verified.intact, seen.verified.corrupt.all()),
        (80, 80, 0)
    );
    let runs: Vec<_> =
        seen.runs.iter().map(|own| (own.written.run, own.written.seed, own.sectors)).collect();
    assert_eq!(runs, [(RUN - 5, job.seed, 40), (RUN, job.seed, 40)]);
    assert!(seen.runs.iter().all(|own| !own.written.ended));
    // Checks the newest run by its own stamps.
    let written = &seen.runs[1].written;
    assert_eq!(
        (
            written.settled(),
            verify(&job, written, &target(&file), &AtomicBool::new(false)).unwrap().corrupt.all()
        ),
        (9, 0)
    );
    let mut bytes = vec![0; BLOCK as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    file.write_all_at(&bytes, 2 * BLOCK).unwrap();
    bytes[700] ^= 3;
    file.write_all_at(&bytes, 0).unwrap();
    let told = look(0..BLOCK * 20).verified;
    assert_eq!((told.corrupt.flipped, told.corrupt.misplaced, told.corrupt.all()), (1, 4, 5));
    assert_eq!((told.first[0].at_bytes, told.first[0].bits), (512, Some(2)));
    assert!(told.first[0].expected.is_none());
    file.set_len(BLOCK * 19).unwrap();
    assert_eq!(look(0..BLOCK * 20).verified.corrupt.unreadable, 1);
}
