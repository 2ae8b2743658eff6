//! Stamped writes are verified through `run` and `verify` on a named file.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{EngineKind, FaultCounts, Job, Mix, Pattern, Verified, run, verify};
use common::{Scratch, engines_with_a_file, job};

const BLOCK: usize = 2048;
const BLOCKS: usize = 12_000;
/// Number of injected faults of each kind.
const FAULTS: usize = 10_000;

/// Writes every block `times` times.
fn writes(size_bytes: usize, blocks: usize, times: u64, number: u64) -> Job {
    Job {
        pattern: Pattern::Sequential,
        mix: Mix::WRITES,
        size_bytes: size_bytes as u32,
        area: 0..(size_bytes * blocks) as u64,
        time: Duration::from_secs(3600),
        operations: Some(times * blocks as u64),
        verify: Some(number),
        seed: number,
        ..job()
    }
}

/// Writes, and reads again.
fn verified(job: &Job, engine: &EngineKind, scratch: &Scratch) -> Verified {
    let (target, stop) = (scratch.target(), AtomicBool::new(false));
    let written = run(job, engine, &target, &stop).unwrap().written.unwrap();
    verify(job, &written, &target, &stop).unwrap()
}

fn at(index: usize) -> std::ops::Range<usize> {
    index * BLOCK..(index + 1) * BLOCK
}

/// Damages block `index` of `now`; `before` contains an older write of it.
type Damage = fn(now: &mut [u8], before: &[u8], index: usize);

/// How many of its kind were found.
type Count = fn(&FaultCounts) -> u64;

const DAMAGES: [(Damage, Count); 5] = [
    (
        |now, before, index| {
            let cut = at(index).start + 512 * (1 + index % 3);
            now[cut..at(index).end].copy_from_slice(&before[cut..at(index).end]);
        },
        |counts| counts.torn,
    ),
    (
        |now, before, index| now[at(index)].copy_from_slice(&before[at(index)]),
        |counts| counts.stale,
    ),
    (
        |now, _, index| now.copy_within(at(BLOCKS - 1 - index % 2), at(index).start),
        |counts| counts.misplaced,
    ),
    (|now, _, index| now[at(index)].fill(0), |counts| counts.zeroed),
    (
        |now, _, index| now[at(index).start + index * 37 % BLOCK] ^= 1 << (index % 8),
        |counts| counts.flipped,
    ),
];

#[test]
#[ignore = "nightly: 2 s"]
fn ten_thousand_faults_of_each_kind_are_found_in_a_file() {
    for (engine, direct) in engines_with_a_file().into_iter().filter(|(_, direct)| !direct) {
        let scratch = Scratch::filled((BLOCK * BLOCKS) as u64, 0, direct);
        let (target, stop) = (scratch.target(), AtomicBool::new(false));
        let once = writes(BLOCK, BLOCKS, 1, 7);
        run(&once, &engine, &target, &stop).unwrap();
        let before = scratch.bytes();
        let twice = Job { depth: 16, ..writes(BLOCK, BLOCKS, 2, 7) };
        let written = run(&twice, &engine, &target, &stop).unwrap().written.unwrap();
        let look = || verify(&twice, &written, &target, &stop).unwrap();
        let sound = scratch.bytes();
        let found = look();
        assert_eq!((found.intact, found.corrupt.all()), (BLOCKS as u64, 0), "{found:?}");
        let file = scratch.writable();
        for (damage, count) in DAMAGES {
            let mut bytes = sound.clone();
            for index in 0..FAULTS {
                damage(&mut bytes, &before, index);
            }
            file.write_all_at(&bytes, 0).unwrap();
            let found = look();
            let told = (count(&found.corrupt), found.corrupt.all(), found.intact);
            let expected = (FAULTS as u64, FAULTS as u64, (BLOCKS - FAULTS) as u64);
            assert_eq!(told, expected, "{}: {:?}", engine.name(), found.corrupt);
        }
        file.write_all_at(&sound, 0).unwrap();
        assert_eq!(look().corrupt.all(), 0);
    }
}

/// Shapes of jobs: each block once, several threads, repeated places, and mixed operations.
static SHAPES: [fn(Job) -> Job; 4] = [
    |job| job,
    |job| Job { threads: 3, ..job },
    |job| Job { pattern: Pattern::Random, threads: 2, ..job },
    |job| Job { pattern: Pattern::Random, mix: Mix::Shares { read_percent: 30 }, ..job },
];

/// Ten million real writes in the full test.
#[test]
#[ignore = "nightly: 2 s"]
fn no_block_that_was_written_is_called_wrong() {
    const SMALL: usize = 512;
    const MANY: usize = 1 << 16;
    let wanted = u64::from(assay_testkit::needs::count(300_000, 10_000_000));
    let scratch = Scratch::filled((SMALL * MANY) as u64, 0, false);
    let engines: Vec<_> = engines_with_a_file().into_iter().filter(|(_, direct)| !direct).collect();
    let (mut sound, mut number) = (0, 1_000);
    while sound < wanted {
        for ((engine, _), shape) in
            engines.iter().flat_map(|engine| SHAPES.iter().map(move |shape| (engine, shape)))
        {
            // Each run has a new key: the previous run is older.
            number += 1;
            let job = shape(Job { depth: 16, ..writes(SMALL, MANY, 1, number) });
            let found = verified(&job, engine, &scratch);
            assert_eq!(found.corrupt.all(), 0, "{}: {job:?}: {found:?}", engine.name());
            assert!(found.intact > 0, "{found:?}");
            sound += found.intact;
        }
    }
}
