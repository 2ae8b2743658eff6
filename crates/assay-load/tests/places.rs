//! Operations of several sizes, and places by laws, through `run`, on every engine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use assay_load::{
    Apart, Class, EngineKind, Job, Law, LawShape, Mix, Outcome, Pattern, SizeShare, Sizes,
};
use common::{Scratch, engines_with_a_file, job, operations, outcome, simulated};

const SIZE: u64 = 4096;

fn share(bytes: u32, percent: u8) -> SizeShare {
    SizeShare { bytes, percent }
}

/// Reads of two sizes and writes of a third.
fn mixed() -> Job {
    Job {
        mix: Mix::Shares { read_percent: 50 },
        size_bytes: 65_536,
        sizes: Sizes {
            reads: vec![share(4096, 70), share(65_536, 30)],
            writes: vec![share(8192, 100)],
        },
        depth: 8,
        operations: Some(20_000),
        ..job()
    }
}

fn bytes(outcome: &Outcome, class: Class) -> u64 {
    outcome.classes.iter().filter(|found| found.class == class).map(|found| found.bytes).sum()
}

/// Rewrites of two sizes.
fn rewrites() -> Job {
    let both = || vec![share(4096, 70), share(65_536, 30)];
    Job {
        mix: Mix::Rewrite,
        sizes: Sizes { reads: both(), writes: both() },
        operations: Some(500),
        ..mixed()
    }
}

/// The totals of [`mixed`] are the sum of its operations.
fn check(found: &Outcome) {
    let (reads, writes) = (operations(found, Class::Read), operations(found, Class::Write));
    assert_eq!(reads + writes, 20_000);
    assert_eq!(bytes(found, Class::Write), writes * 8192);
    let large = (bytes(found, Class::Read) - reads * 4096) / (65_536 - 4096);
    assert_eq!(bytes(found, Class::Read), reads * 4096 + large * (65_536 - 4096));
    // Four standard deviations of a share of 30%, of some ten thousand.
    let share = large as f64 / reads as f64;
    assert!((share - 0.3).abs() < 0.02, "{share}");
    let totals = &found.totals;
    assert_eq!(totals.read_bytes, bytes(found, Class::Read));
    assert_eq!(totals.write_bytes, bytes(found, Class::Write));
    let rows: u64 = found.series.iter().map(|row| row.bytes).sum();
    assert_eq!(rows, totals.read_bytes + totals.write_bytes);
}

#[test]
fn bytes_are_counted_as_they_were_moved_on_every_engine() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(1 << 20, 1, direct);
        check(&outcome(&mixed(), &engine, &scratch));
    }
    check(&simulated(&mixed(), &EngineKind::Null));
    let law = Law { shape: LawShape::Fixed { ns: 1000 }, servers: 4, store: None };
    check(&simulated(&mixed(), &EngineKind::Simulated(law)));
}

#[test]
fn a_rewrite_of_several_sizes_writes_what_it_read() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(1 << 20, 1, direct);
        let found = outcome(&rewrites(), &engine, &scratch);
        assert_eq!(operations(&found, Class::Rewrite), 500);
        let moved = bytes(&found, Class::Rewrite);
        assert!(moved > 500 * 4096 && moved < 500 * 65_536, "{moved}");
        assert_eq!((found.totals.read_bytes, found.totals.write_bytes), (moved, moved));
    }
}

#[test]
fn writes_apart_leave_the_first_half_alone() {
    for (engine, direct) in engines_with_a_file() {
        for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Stride] {
            let scratch = Scratch::filled(64 * SIZE, 0xaa, direct);
            let apart = Job {
                pattern,
                mix: Mix::Shares { read_percent: 50 },
                stride_bytes: 2 * SIZE,
                apart: Apart::Halves,
                threads: 2,
                area: 0..64 * SIZE,
                operations: Some(2000),
                ..job()
            };
            outcome(&apart, &engine, &scratch);
            let after = scratch.bytes();
            let (first, second) = after.split_at(after.len() / 2);
            assert!(first.iter().all(|byte| *byte == 0xaa), "{pattern:?}");
            assert!(second.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0xaa)));
        }
    }
}

#[test]
fn of_writes_of_several_sizes_the_stated_share_compresses() {
    // Direct I/O may need more than a sector.
    for (engine, _) in engines_with_a_file().into_iter().filter(|(_, direct)| !direct) {
        let scratch = Scratch::filled(1 << 20, 0xaa, false);
        let sizes = Sizes { reads: Vec::new(), writes: vec![share(512, 50), share(8192, 50)] };
        let half = Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            content: "50%".parse().unwrap(),
            size_bytes: 8192,
            sizes,
            operations: Some(200),
            ..job()
        };
        outcome(&half, &engine, &scratch);
        let written = scratch.bytes();
        let written: Vec<u8> = written.into_iter().filter(|byte| *byte != 0xaa).collect();
        let zeros: u64 = written.iter().map(|byte| u64::from(*byte == 0)).sum();
        let share = zeros as f64 / written.len() as f64;
        assert!((0.48..0.53).contains(&share), "{share}");
    }
}

#[test]
fn a_law_of_writes_is_seen_in_what_is_left_untouched() {
    // 1000 draws over 256 blocks with 90% in the first 10%: the rest gets 100 draws.
    let scratch = Scratch::filled(256 * SIZE, 0xaa, false);
    let hot = Job {
        mix: Mix::WRITES,
        access: "zoned:90/10:10/90".parse().unwrap(),
        operations: Some(1000),
        ..job()
    };
    outcome(&hot, &EngineKind::Psync, &scratch);
    let after = scratch.bytes();
    let touched = |block: &&[u8]| block.iter().any(|byte| *byte != 0xaa);
    let (first, rest) = after.split_at(25 * SIZE as usize);
    assert_eq!(first.chunks(4096).filter(touched).count(), 25);
    let rest = rest.chunks(4096).filter(touched).count();
    // Drawn with replacement: 231 (1 - exp(-100/231)), 81 as a rule.
    assert!((60..105).contains(&rest), "{rest}");
}
