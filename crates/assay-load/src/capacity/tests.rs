//! Honest and counterfeit drives on the simulated engine.

use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::LawShape;

const GIB: u64 = 1 << 30;

fn law(claimed_bytes: u64, held_bytes: u64, lie: Lie) -> Law {
    let store = Store { claimed_bytes, held_bytes, lie };
    let law = Law::new(LawShape::Fixed { ns: 10_000_000 }, 1).unwrap();
    Law { store: Some(store), ..law }
}

fn look(law: &Law, full: bool, seed: u64) -> CapacityOutcome {
    let bytes = law.store.unwrap().claimed_bytes;
    let job = CapacityJob {
        area: 0..bytes,
        shape: CapacityShape::new(bytes, full),
        time: Duration::from_secs(100_000),
        seed,
        run: 1,
    };
    let target = Target { file: None, memory_alignment: 4096 };
    capacity(&job, &target, Some(law), &AtomicBool::new(false)).unwrap()
}

/// Sizes from 300 MB to 2 TB, none of them round.
fn sizes() -> impl Iterator<Item = (u64, u64)> {
    (0..100_u64).map(|index| {
        let draw = |of| crate::random::at(crate::random::mix64(of), index);
        let claimed = (3e8 * (2e12_f64 / 3e8).powf(index as f64 / 99.0)) as u64;
        let claimed = (claimed + draw(1) % (claimed / 8)) / BLOCK_BYTES * BLOCK_BYTES;
        // From 1% to all blocks but one.
        let share = 0.01 + 0.989 * (draw(2) % 1000) as f64 / 1000.0;
        let held = ((claimed as f64 * share) as u64 / BLOCK_BYTES).max(64) * BLOCK_BYTES;
        (claimed, held)
    })
}

#[test]
#[ignore = "nightly: 2 s"]
fn every_lie_of_every_size_is_found_and_measured() {
    for (seed, (claimed, held)) in (0..).zip(sizes()) {
        for lie in Lie::ALL {
            let found = look(&law(claimed, held, lie), false, seed);
            let what = format!("{lie:?} of {held} of {claimed}: {found:?}");
            assert!(found.first.wrong() > 0 && found.again.wrong() > 0, "{what}");
            match lie {
                Lie::Wraps => assert_eq!(found.wraps_after_bytes, Some(held), "{what}"),
                Lie::Drops => {
                    assert_eq!(found.again.foreign, found.again.all(), "{what}");
                    assert_eq!(found.held_bytes, Some(held), "{what}");
                }
                Lie::Zeroes => {
                    assert_eq!(found.again.zero, found.again.all(), "{what}");
                    assert_eq!(found.held_bytes, Some(held), "{what}");
                }
                Lie::Keeps => {
                    assert_eq!(found.again.older, found.again.all(), "{what}");
                    assert_eq!(found.held_bytes, Some(held), "{what}");
                }
            }
        }
    }
}

#[test]
fn no_honest_drive_is_accused() {
    for (seed, (claimed, _)) in (0..).zip(sizes()) {
        let found = look(&law(claimed, claimed, Lie::Wraps), false, seed);
        assert_eq!(found.first.wrong(), 0, "{found:?}");
        assert_eq!(found.again.all(), 0);
        assert!(!found.cut_short && found.first.all() >= 2048, "{found:?}");
        assert!(found.widest_gap_bytes <= found.zone_bytes, "{found:?}");
    }
}

/// The last block, a border next to the zone's, and less than the zone.
#[test]
fn borders_in_awkward_places_are_found() {
    let claimed = 8 * GIB;
    let zone = CapacityShape::new(claimed, false).zone_bytes;
    for held in [
        claimed - BLOCK_BYTES,
        zone,
        zone + BLOCK_BYTES,
        zone - BLOCK_BYTES,
        zone / 3 / 4096 * 4096,
        BLOCK_BYTES,
    ] {
        for lie in Lie::ALL {
            let found = look(&law(claimed, held, lie), false, 9);
            let told = if lie == Lie::Wraps { found.wraps_after_bytes } else { found.held_bytes };
            assert_eq!(told, Some(held), "{lie:?} {held}: {found:?}");
        }
    }
}

#[test]
fn a_full_pass_counts_what_is_held() {
    let claimed = 96 << 20;
    for held in [claimed / 3, 40 << 20, claimed - BLOCK_BYTES] {
        for lie in Lie::ALL {
            let found = look(&law(claimed, held, lie), true, 3);
            // Passes rewrite a sample, which drives with lost rewrites fail.
            if lie != Lie::Keeps {
                assert_eq!(found.first.as_written * BLOCK_BYTES, held, "{lie:?} {held}");
            }
            assert_eq!(found.held_bytes, Some(held), "{lie:?} {held}: {found:?}");
            assert_eq!(found.wraps_after_bytes, (lie == Lie::Wraps).then_some(held));
            assert!(found.again.wrong() > 0);
        }
    }
    let honest = look(&law(claimed, claimed, Lie::Wraps), true, 3);
    assert_eq!((honest.first.wrong(), honest.first.as_written), (0, claimed / BLOCK_BYTES));
}

/// A terabyte on a card that takes ten milliseconds for anything: minutes, and not hours.
#[test]
fn a_terabyte_takes_minutes() {
    let claimed = 1_000_000_000_000 / BLOCK_BYTES * BLOCK_BYTES;
    let found = look(&law(claimed, claimed, Lie::Wraps), false, 1);
    assert!(found.elapsed_ns < 300 * 1_000_000_000, "{} s", found.elapsed_ns / 1_000_000_000);
    assert!(found.written.0 < GIB, "{found:?}");
}

#[test]
fn what_the_time_cuts_off_is_missing_everywhere_alike() {
    let claimed = 64 * GIB;
    let law = law(claimed, claimed, Lie::Wraps);
    let job = CapacityJob {
        area: 0..claimed,
        shape: CapacityShape::new(claimed, false),
        time: Duration::from_secs(15),
        seed: 4,
        run: 1,
    };
    let target = Target { file: None, memory_alignment: 4096 };
    let found = capacity(&job, &target, Some(&law), &AtomicBool::new(false)).unwrap();
    assert!(found.cut_short && found.samples < job.shape.samples, "{found:?}");
    assert!(found.first.all() > 100 && found.first.wrong() == 0, "{found:?}");
    assert!(found.widest_gap_bytes < claimed / 20, "{found:?}");
}

#[test]
fn a_stop_ends_it() {
    let law = law(GIB, GIB, Lie::Wraps);
    let job = CapacityJob {
        area: 0..GIB,
        shape: CapacityShape::new(GIB, true),
        time: Duration::from_secs(1000),
        seed: 4,
        run: 1,
    };
    let target = Target { file: None, memory_alignment: 4096 };
    let found = capacity(&job, &target, Some(&law), &AtomicBool::new(true)).unwrap();
    assert!(found.stopped && found.first.all() == 0);
}

/// A real file, intact and with modified bytes.
#[test]
fn a_file_holds_what_was_written_and_its_damage_is_told() {
    let bytes = 8 << 20;
    let file = rustix::fs::memfd_create("capacity", rustix::fs::MemfdFlags::empty()).unwrap();
    rustix::fs::ftruncate(&file, bytes).unwrap();
    let job = CapacityJob {
        area: 0..bytes,
        shape: CapacityShape::new(bytes, false),
        time: Duration::from_secs(1000),
        seed: 5,
        run: 1,
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let found = capacity(&job, &target, None, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.first.wrong(), found.first.all()), (0, bytes / BLOCK_BYTES));
    assert!(capacity_costs(&job, &target, None).unwrap().0 > 0);
}
