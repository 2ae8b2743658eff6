//! Tests that every engine must pass through `run`, and the known results of the simulated engine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_load::{
    Class, Content, EngineKind, Job, LoadError, Mix, Pattern, Target, WriteSync, run, spread_offset,
};
use common::{Scratch, engines_with_a_file, job, operations, outcome};

const SIZE: u64 = 4096;
/// Left alone before and behind the area.
const MARGIN: u64 = 2 * SIZE;

#[test]
fn a_fill_writes_every_block_once_and_nothing_else() {
    for (engine, direct) in engines_with_a_file() {
        for (depth, threads, sync) in [
            (1, 1, WriteSync::None),
            (32, 1, WriteSync::None),
            (1, 4, WriteSync::EachWrite),
            (32, 4, WriteSync::None),
            (8, 1, WriteSync::EachWrite),
        ] {
            let blocks = 67;
            let scratch = Scratch::filled(2 * MARGIN + blocks * SIZE, 0xaa, direct);
            let fill = Job {
                pattern: Pattern::Sequential,
                mix: Mix::WRITES,
                depth,
                threads,
                sync,
                area: MARGIN..MARGIN + blocks * SIZE,
                operations: Some(blocks),
                ..job()
            };
            let found = outcome(&fill, &engine, &scratch);
            assert_eq!(found.totals.write_bytes, blocks * SIZE);
            assert_eq!(operations(&found, Class::Write), blocks);
            check_fill(&scratch.bytes(), blocks);
        }
    }
}

/// The sync is part of the latency of its write; engines without separate sync times report none.
#[test]
fn a_sync_is_timed_apart_from_its_write_where_the_engine_can() {
    for (engine, direct) in engines_with_a_file() {
        for (sync, syncs) in [(WriteSync::EachWrite, 60), (WriteSync::EachNth(4), 15)] {
            let scratch = Scratch::filled(60 * SIZE, 0, direct);
            let writes = Job {
                pattern: Pattern::Sequential,
                mix: Mix::WRITES,
                sync,
                area: 0..60 * SIZE,
                operations: Some(60),
                ..job()
            };
            let found = outcome(&writes, &engine, &scratch);
            let longest = found.classes[0].latency_ns.max();
            match (&engine, &found.sync_ns) {
                (EngineKind::Psync, Some(own)) => {
                    assert_eq!(own.len(), syncs);
                    assert!(own.max() <= longest, "{} of {longest}", own.max());
                }
                (EngineKind::Psync, None) => panic!("psync times its syncs"),
                (_, told) => assert!(told.is_none(), "{engine:?}"),
            }
            let unsynced = outcome(&Job { sync: WriteSync::None, ..writes }, &engine, &scratch);
            assert!(unsynced.sync_ns.is_none());
        }
    }
}

/// Duplicates that a deduplicating device would find, counted in the file.
#[test]
fn copies_and_zeros_reach_the_file_in_their_shares() {
    const BLOCKS: u64 = 8192;
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(BLOCKS * SIZE, 0xaa, direct);
        let fill = Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            content: "25%".parse().unwrap(),
            duplicates: "30%".parse().unwrap(),
            size_bytes: 4 * SIZE as u32,
            depth: 8,
            threads: 2,
            area: 0..BLOCKS * SIZE,
            operations: Some(BLOCKS / 4),
            ..job()
        };
        outcome(&fill, &engine, &scratch);
        let bytes = scratch.bytes();
        let mut counts: BTreeMap<&[u8], u32> = BTreeMap::new();
        for block in bytes.chunks(SIZE as usize) {
            assert!(block[3072..].iter().all(|byte| *byte == 0));
            *counts.entry(&block[..3072]).or_default() += 1;
        }
        let copies: Vec<u32> = counts.into_values().filter(|count| *count > 1).collect();
        assert!(copies.len() <= 256, "{} blocks are copied", copies.len());
        let share = f64::from(copies.iter().sum::<u32>()) / BLOCKS as f64;
        // Five standard deviations of a share of 8192.
        assert!((share - 0.3).abs() < 0.026, "{}: {share}", engine.name());
    }
}

#[test]
fn trims_are_done_to_their_blocks_alone_and_counted() {
    for (engine, direct) in engines_with_a_file() {
        let blocks = 64;
        let scratch = Scratch::filled(2 * MARGIN + blocks * SIZE, 0xaa, direct);
        let trims = Job {
            pattern: Pattern::Sequential,
            mix: "trim".parse().unwrap(),
            depth: 4,
            area: MARGIN..MARGIN + blocks * SIZE,
            operations: Some(blocks),
            ..job()
        };
        let found = match run(&trims, &engine, &scratch.target(), &AtomicBool::new(false)) {
            Ok(found) => found,
            Err(error) if error.to_string().contains("does not support trims") => {
                assay_testkit::needs::skip(&error.to_string());
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(operations(&found, Class::Trim), blocks);
        assert_eq!((found.totals.trim_bytes, found.totals.write_bytes), (blocks * SIZE, 0));
        let bytes = scratch.bytes();
        let (before, rest) = bytes.split_at(MARGIN as usize);
        let (area, behind) = rest.split_at((blocks * SIZE) as usize);
        assert!(area.iter().all(|byte| *byte == 0), "{}", engine.name());
        assert!(before.iter().chain(behind).all(|byte| *byte == 0xaa), "{}", engine.name());
    }
}

fn check_fill(bytes: &[u8], blocks: u64) {
    let margin = MARGIN as usize;
    let (area, behind) = bytes[margin..].split_at((blocks * SIZE) as usize);
    assert!(bytes[..margin].iter().chain(behind).all(|b| *b == 0xaa));
    let written: Vec<_> = area.chunks(SIZE as usize).collect();
    for (i, block) in written.iter().enumerate() {
        assert!(block.iter().any(|b| *b != 0xaa), "block {i} was not written");
        assert!(!written[..i].contains(block), "block {i} is a duplicate");
    }
}

#[test]
fn zero_content_is_zero_also_when_reads_share_the_buffers() {
    for (engine, direct) in engines_with_a_file() {
        for read_percent in [0, 50] {
            let scratch = Scratch::filled(16 * SIZE, 0xaa, direct);
            let mixed = Job {
                mix: Mix::Shares { read_percent },
                depth: 4,
                content: Content::Zero,
                area: 0..16 * SIZE,
                operations: Some(500),
                ..job()
            };
            outcome(&mixed, &engine, &scratch);
            for block in scratch.bytes().chunks(SIZE as usize) {
                assert!(block.iter().all(|b| *b == block[0]));
                assert!([0, 0xaa].contains(&block[0]));
            }
        }
    }
}

#[test]
fn random_operations_stay_inside_the_area() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(2 * MARGIN + 8 * SIZE, 0xaa, direct);
        let writes = Job {
            mix: Mix::WRITES,
            depth: 8,
            threads: 2,
            area: MARGIN..MARGIN + 8 * SIZE,
            operations: Some(400),
            ..job()
        };
        outcome(&writes, &engine, &scratch);
        check_fill(&scratch.bytes(), 8);
    }
}

#[test]
fn a_rewrite_changes_every_block_and_nothing_else() {
    for (engine, direct) in engines_with_a_file() {
        for (depth, threads, sync) in [
            (1, 1, WriteSync::None),
            (8, 1, WriteSync::None),
            (1, 4, WriteSync::EachWrite),
            (8, 4, WriteSync::EachWrite),
        ] {
            let blocks = 67;
            let scratch = Scratch::filled(2 * MARGIN + blocks * SIZE, 0xaa, direct);
            let rewrites = Job {
                pattern: Pattern::Sequential,
                mix: Mix::Rewrite,
                depth,
                threads,
                sync,
                area: MARGIN..MARGIN + blocks * SIZE,
                operations: Some(blocks),
                ..job()
            };
            let found = outcome(&rewrites, &engine, &scratch);
            check_fill(&scratch.bytes(), blocks);
            check_rewritten(&scratch.bytes());

            let totals = found.totals;
            assert_eq!((totals.read_operations, totals.write_operations), (blocks, blocks));
            assert_eq!(totals.read_bytes, blocks * SIZE);
            assert_eq!(totals.write_bytes, blocks * SIZE);
            let [class] = found.classes.as_slice() else { panic!("one class") };
            assert_eq!(class.class, Class::Rewrite);
            assert_eq!((class.operations, class.bytes), (blocks, blocks * SIZE));
            assert_eq!(class.latency_ns.len(), blocks);
            assert_eq!(found.series.iter().map(|row| row.operations).sum::<u64>(), blocks);
        }
    }
}

/// Each sector of the area contains mostly old data, and some new bytes.
fn check_rewritten(bytes: &[u8]) {
    let margin = MARGIN as usize;
    for sector in bytes[margin..bytes.len() - margin].chunks(512) {
        let new = sector.iter().filter(|byte| **byte != 0xaa).count();
        assert!((1..=8).contains(&new), "{new} bytes of a sector are new");
    }
}

#[test]
fn a_rewrite_that_is_stopped_by_time_or_by_hand_is_whole() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(64 * SIZE, 1, direct);
        let timed = Job {
            mix: Mix::Rewrite,
            depth: 8,
            threads: 2,
            area: 0..64 * SIZE,
            time: Duration::from_millis(20),
            ..job()
        };
        let instant = Job { time: Duration::ZERO, ..timed.clone() };
        for rewrites in [timed, instant] {
            let found = outcome(&rewrites, &engine, &scratch);
            assert!(operations(&found, Class::Rewrite) > 0);
            assert_eq!(found.totals.read_bytes, found.totals.write_bytes);
        }
    }
}

#[test]
fn a_rewrite_tells_which_half_of_it_failed() {
    for (engine, direct) in engines_with_a_file() {
        let rewrites = Job {
            pattern: Pattern::Sequential,
            mix: Mix::Rewrite,
            depth: 4,
            area: 0..8 * SIZE,
            ..job()
        };
        let stop = AtomicBool::new(false);
        let short = Scratch::filled(4 * SIZE, 1, direct);
        let error = run(&rewrites, &engine, &short.target(), &stop).unwrap_err();
        let LoadError::Short { class, offset, got, .. } = error else { panic!("{error}") };
        assert_eq!((class, got), (Class::Read, 0));
        assert!(offset >= 4 * SIZE);
        assert_eq!(short.bytes().len() as u64, 4 * SIZE, "nothing was written beyond the end");

        let whole = Scratch::filled(8 * SIZE, 1, direct);
        let file = whole.read_only();
        let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
        let error = run(&rewrites, &engine, &target, &stop).unwrap_err();
        assert!(error.to_string().starts_with("write at offset "), "{error}");
        assert_eq!(whole.bytes(), vec![1; 8 * SIZE as usize]);
    }
}

#[test]
fn a_spread_pattern_goes_once_to_each_of_its_places() {
    for (engine, direct) in engines_with_a_file() {
        let (blocks, samples) = (100, 7);
        let scratch = Scratch::filled(2 * MARGIN + blocks * SIZE, 0xaa, direct);
        let area = MARGIN..MARGIN + blocks * SIZE;
        let spread = Job {
            pattern: Pattern::Spaced,
            mix: Mix::WRITES,
            area: area.clone(),
            operations: Some(samples),
            ..job()
        };
        let found = outcome(&spread, &engine, &scratch);
        assert_eq!(found.sample_latencies_ns.len() as u64, samples);
        let sum: u64 = found.sample_latencies_ns.iter().sum();
        assert!(sum > 0 && sum <= found.window_ns, "{sum} of {}", found.window_ns);

        let bytes = scratch.bytes();
        let written: Vec<u64> = (0..bytes.len() as u64 / SIZE)
            .map(|block| block * SIZE)
            .filter(|at| bytes[*at as usize..][..SIZE as usize].iter().any(|b| *b != 0xaa))
            .collect();
        let expected: Vec<u64> =
            (0..samples).map(|index| spread_offset(&area, SIZE as u32, samples, index)).collect();
        assert_eq!(written, expected);
        // Time is the other bound.
        let short = Job { time: Duration::ZERO, ..spread };
        assert_eq!(outcome(&short, &engine, &scratch).sample_latencies_ns.len(), 1);
    }
}

#[test]
fn offsets_beyond_32_bits_arrive() {
    let far = 5 << 30; // a hole up to here: the file takes no space
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(0, 0, direct);
        scratch.grow(far + 4 * SIZE);
        let writes = Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            area: far..far + 4 * SIZE,
            operations: Some(4),
            ..job()
        };
        outcome(&writes, &engine, &scratch);
        let (before, area) = (scratch.read(far - SIZE), scratch.read(far));
        assert!(before.iter().all(|b| *b == 0) && area.iter().any(|b| *b != 0));
        assert!(scratch.read(1 << 30).iter().all(|b| *b == 0));
    }
}

#[test]
fn counts_are_exact() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(64 * SIZE, 1, direct);
        for (depth, threads) in [(1, 1), (32, 1), (1, 4), (32, 4)] {
            for count in [1, 7, 1000] {
                let mixed = Job {
                    mix: Mix::Shares { read_percent: 50 },
                    depth,
                    threads,
                    area: 0..64 * SIZE,
                    operations: Some(count),
                    ..job()
                };
                let found = outcome(&mixed, &engine, &scratch);
                let totals = found.totals;
                assert_eq!(totals.read_operations + totals.write_operations, count);
                assert_eq!(operations(&found, Class::Read), totals.read_operations);
                assert_eq!(operations(&found, Class::Write), totals.write_operations);
                assert_eq!(totals.read_bytes, totals.read_operations * SIZE);
                assert_eq!(found.series.iter().map(|r| r.operations).sum::<u64>(), count);
                for class in &found.classes {
                    assert_eq!(class.latency_ns.len(), class.operations);
                    assert_eq!(class.bytes, class.operations * SIZE);
                }
                assert!(found.window_ns > 0 && !found.stopped);
                assert!(totals.submitting_ns <= totals.elapsed_ns);
                assert!(found.queue.looked_at > 0, "the first batch is looked at");
                assert!(found.queue.already_complete <= found.queue.looked_at);
            }
        }
    }
}

#[test]
fn mixes_keep_their_share() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(64 * SIZE, 1, direct);
        let mixed = Job {
            mix: Mix::Shares { read_percent: 30 },
            depth: 4,
            area: 0..64 * SIZE,
            operations: Some(5000),
            ..job()
        };
        let reads = outcome(&mixed, &engine, &scratch).totals.read_operations;
        // Four standard deviations of the binomial law.
        assert!((1370..1630).contains(&reads), "{reads}");
    }
}

#[test]
fn a_read_beyond_the_end_is_an_error() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(4 * SIZE, 1, direct);
        let walk = Job { pattern: Pattern::Sequential, depth: 2, area: 0..8 * SIZE, ..job() };
        let error = run(&walk, &engine, &scratch.target(), &AtomicBool::new(false)).unwrap_err();
        let LoadError::Short { class, offset, asked, got } = error else {
            panic!("{error}");
        };
        assert_eq!((class, offset % SIZE, asked, got), (Class::Read, 0, 4096, 0));
        assert!(offset >= 4 * SIZE);
    }
}

#[test]
fn a_refused_write_is_an_error_of_the_write() {
    for (engine, _) in engines_with_a_file() {
        for sync in [WriteSync::None, WriteSync::EachWrite] {
            let scratch = Scratch::filled(16 * SIZE, 1, false);
            let file = scratch.read_only();
            let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
            let writes =
                Job { mix: Mix::WRITES, depth: 8, threads: 2, sync, area: 0..16 * SIZE, ..job() };
            let error = run(&writes, &engine, &target, &AtomicBool::new(false)).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("write at offset "), "{text}");
            assert!(text.ends_with("(os error 9)"), "{text}");
        }
    }
}

#[test]
fn a_stop_ends_a_run_and_is_told() {
    let file_engines = engines_with_a_file();
    for (engine, direct) in [(EngineKind::Null, false)].into_iter().chain(file_engines) {
        let scratch = Scratch::filled(64 * SIZE, 1, direct);
        let long = Job {
            depth: 4,
            threads: 2,
            area: 0..64 * SIZE,
            time: Duration::from_secs(86_400),
            ..job()
        };
        let stop = AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                stop.store(true, Ordering::Relaxed);
            });
            run(&long, &engine, &scratch.target(), &stop).unwrap()
        });
        assert!(found.stopped);
        // The stop flag is already set, so no operation starts.
        let found = run(&long, &engine, &scratch.target(), &stop).unwrap();
        assert!(found.stopped && found.classes.is_empty());
        assert_eq!((found.window_ns, found.totals.read_operations), (0, 0));
    }
}

#[test]
fn no_time_at_all_still_completes_one_operation_per_thread() {
    for (engine, direct) in engines_with_a_file() {
        let scratch = Scratch::filled(64 * SIZE, 1, direct);
        let short = Job { threads: 3, area: 0..64 * SIZE, time: Duration::ZERO, ..job() };
        let found = outcome(&short, &engine, &scratch);
        assert_eq!(operations(&found, Class::Read), 3);
        assert!(found.window_ns > 0 && !found.stopped);
    }
}

#[test]
fn psync_says_that_depth_does_not_reach_the_device() {
    let scratch = Scratch::filled(64 * SIZE, 1, false);
    let deep = Job { depth: 8, threads: 2, area: 0..64 * SIZE, operations: Some(100), ..job() };
    let found = outcome(&deep, &EngineKind::Psync, &scratch);
    assert_eq!(found.engine.name, "psync");
    assert_eq!(found.engine.notes.len(), 1, "{:?}", found.engine.notes);
    assert_eq!(found.queue.looked_at, found.queue.already_complete);
}
