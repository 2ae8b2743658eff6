//! Known answers: each defective drive is detected, and no other is accused.

use std::sync::atomic::AtomicBool;

use crate::durability::drive::Drive;
use crate::durability::judge::{CutOutcome, Found};
use crate::durability::pattern::Pattern;
use crate::durability::sync::Sync;
use crate::durability::tally::Counterexample;
use crate::durability::trial::{DurabilityDetail, DurabilityTrial, Medium};

/// An in-memory drive without power losses; its clock counts calls.
struct Memory {
    bytes: Vec<u8>,
    now_ns: std::cell::Cell<u64>,
    /// Writes that it drops, counted from the first.
    drops: Option<u64>,
    written: u64,
}

impl Memory {
    fn new() -> Self {
        let bytes = vec![0x5a; 8 << 20];
        Self { bytes, now_ns: 0.into(), drops: None, written: 0 }
    }
}

impl Medium for Memory {
    fn write(&mut self, at_bytes: u64, bytes: &[u8], _: bool) -> Result<(), String> {
        let at = at_bytes as usize;
        let to = self.bytes.get_mut(at..at + bytes.len()).ok_or("beyond the end")?;
        if self.drops != Some(self.written) {
            to.copy_from_slice(bytes);
        }
        self.written += 1;
        Ok(())
    }

    fn sync(&mut self, _: bool) -> Result<(), String> {
        Ok(())
    }

    fn read(&mut self, at_bytes: u64, into: &mut [u8]) -> Result<(), String> {
        let at = at_bytes as usize;
        into.copy_from_slice(&self.bytes[at..at + into.len()]);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns.set(self.now_ns.get() + 1000);
        self.now_ns.get()
    }
}

fn course(pattern: Pattern, drive: Drive) -> DurabilityTrial {
    DurabilityTrial {
        pattern,
        sync: Sync::Fdatasync,
        record_bytes: 4096,
        promises: 100,
        time_ns: u64::MAX,
        cuts: 20,
        drive,
        atomic_bytes: 4096,
        area: [4096, 4 << 20],
        seed: 1,
        run: 77,
    }
}

fn ran(course: &DurabilityTrial) -> DurabilityDetail {
    course.run(&mut Memory::new(), &AtomicBool::new(false)).unwrap()
}

/// Which patterns detect which defective drive. A log is written once, so it cannot contain an older write; with a
/// second copy, a torn write is not an acknowledged one.
pub(crate) const FOUND_BY: [(Drive, &[Pattern]); 6] = {
    use Pattern::{InPlace, Log, Transaction};
    [
        (Drive::DropsFlushes, &[Log, InPlace, Transaction]),
        (Drive::AcknowledgesEarly, &[Log, InPlace, Transaction]),
        (Drive::TearsWrites, &[InPlace]),
        (Drive::ReordersWrites, &[Log, InPlace, Transaction]),
        (Drive::LosesLast, &[Log, InPlace, Transaction]),
        (Drive::ReturnsStale, &[InPlace, Transaction]),
    ]
};

/// For every seed that is tried.
#[test]
fn each_liar_is_found_within_twenty_cuts() {
    for (drive, patterns) in FOUND_BY {
        for pattern in patterns {
            for seed in 1..=10 {
                let own = ran(&DurabilityTrial { seed, ..course(*pattern, drive) });
                assert!(own.tally.lost > 0, "{} by {pattern:?}, seed {seed}", drive.name());
                assert_eq!(own.tally.crash_points, 20);
                let Some(Counterexample::Place(story)) = own.tally.counterexample else {
                    panic!("{own:?}")
                };
                let [written, promised] = [story.written_step, story.acknowledged_step];
                assert!(written < promised && promised <= story.crash_step.unwrap());
            }
        }
    }
}

/// Its writes go through the page cache, so only a flush makes them durable, as for all other kinds of sync.
#[test]
fn a_write_with_o_dsync_rests_on_a_flush() {
    for drive in [Drive::DropsFlushes, Drive::AcknowledgesEarly, Drive::LosesLast] {
        for pattern in Pattern::OF_PLACES {
            let own =
                ran(&DurabilityTrial { sync: Sync::Dsync, cuts: 300, ..course(pattern, drive) });
            assert!(own.tally.lost > 0, "{} by {pattern:?}", drive.name());
            assert_eq!(own.syncs, own.writes);
        }
    }
}

#[test]
fn what_a_pattern_cannot_be_hurt_by_is_no_accusation() {
    for (pattern, drive) in [
        (Pattern::Log, Drive::TearsWrites),
        (Pattern::Log, Drive::ReturnsStale),
        (Pattern::Transaction, Drive::TearsWrites),
    ] {
        let own = ran(&DurabilityTrial { cuts: 500, ..course(pattern, drive) });
        assert_eq!(
            (own.tally.lost, own.tally.crash_points),
            (0, 500),
            "{pattern:?} on {}",
            drive.name()
        );
    }
}

#[test]
fn an_honest_drive_is_not_accused_in_ten_thousand_cuts() {
    let mut cuts = 0;
    for pattern in Pattern::OF_PLACES {
        for sync in [Sync::Fdatasync, Sync::Fsync, Sync::Dsync] {
            let own =
                ran(&DurabilityTrial { sync, cuts: 1200, ..course(pattern, Drive::HonorsFlushes) });
            assert_eq!(
                own.tally.lost,
                0,
                "{pattern:?} with {}: {:?}",
                sync.name(),
                own.tally.counterexample
            );
            assert!(
                own.tally.acknowledged_writes == 100
                    && own.tally.counterexample.is_none()
                    && own.tally.found.is_empty()
            );
            cuts += own.tally.crash_points;
        }
    }
    assert!(cuts >= 10_000, "{cuts}");
}

#[test]
fn what_is_under_way_is_told_apart() {
    let own = ran(&DurabilityTrial { cuts: 2000, ..course(Pattern::Log, Drive::HonorsFlushes) });
    for outcome in
        [CutOutcome::Quiet, CutOutcome::AllThere, CutOutcome::AllGone, CutOutcome::Partly]
    {
        assert!(own.tally.outcomes[&outcome] > 20, "{outcome:?}: {:?}", own.tally.outcomes);
    }
    assert!(
        own.tally.unacknowledged_writes.out_of_order > 0,
        "later ones are there before earlier ones"
    );
    assert!(!own.tally.outcomes.contains_key(&CutOutcome::Torn), "a record is as long as a unit");
    let small = ran(&DurabilityTrial {
        cuts: 2000,
        atomic_bytes: 512,
        ..course(Pattern::Log, Drive::HonorsFlushes)
    });
    assert!(
        small.tally.outcomes[&CutOutcome::Torn] > 20 && small.tally.lost == 0,
        "{:?}",
        small.tally.outcomes
    );
}

#[test]
fn without_a_sync_nothing_is_promised_and_nobody_is_accused() {
    for pattern in Pattern::OF_PLACES {
        for drive in Drive::ALL {
            let own =
                ran(&DurabilityTrial { sync: Sync::None, cuts: 100, ..course(pattern, drive) });
            assert_eq!((own.tally.acknowledged_writes, own.tally.lost, own.syncs), (0, 0, 0));
            assert!(own.tally.unacknowledged_writes.missing > 0, "{pattern:?}");
        }
    }
}

/// Without a second copy, a record longer than the drive's atomic unit can lose acknowledged data.
#[test]
fn records_in_place_need_a_drive_that_writes_them_whole() {
    let own = course(Pattern::InPlace, Drive::HonorsFlushes);
    let torn = ran(&DurabilityTrial { atomic_bytes: 512, cuts: 500, ..own });
    assert!(
        torn.tally.lost > 0 && torn.tally.found.keys().all(|found| *found == Found::Torn),
        "{torn:?}"
    );
    let logged = DurabilityTrial {
        atomic_bytes: 512,
        cuts: 500,
        ..course(Pattern::Transaction, Drive::HonorsFlushes)
    };
    assert_eq!(ran(&logged).tally.lost, 0);
}

#[test]
fn a_target_that_drops_a_write_is_found_without_a_cut() {
    let mut memory = Memory { drops: Some(5), ..Memory::new() };
    let own = course(Pattern::Log, Drive::HonorsFlushes)
        .run(&mut memory, &AtomicBool::new(false))
        .unwrap();
    let Some(Counterexample::Place(story)) = own.tally.lost_without_crash else {
        panic!("{own:?}")
    };
    assert_eq!((story.write, story.found, story.crash_step), (6, Found::Nothing, None));
    assert_eq!((own.tally.read_again[1], own.tally.lost), (8, 0));
    let honest = ran(&course(Pattern::Log, Drive::HonorsFlushes));
    assert_eq!((honest.tally.lost_without_crash, honest.tally.read_again[1]), (None, 0));
    assert!(honest.tally.read_again[0] >= 800);
}

#[test]
fn the_same_seed_tells_the_same_and_time_ends_the_writing() {
    let own = course(Pattern::InPlace, Drive::ReordersWrites);
    assert_eq!(ran(&own), ran(&own));
    let short = ran(&DurabilityTrial { time_ns: 20_000, ..own });
    assert!(short.rounds < 100 && short.rounds > 0, "{}", short.rounds);
    let stopped = own.run(&mut Memory::new(), &AtomicBool::new(true)).unwrap();
    assert_eq!((stopped.writes, stopped.tally.crash_points), (0, 0));
    let full = ran(&DurabilityTrial {
        area: [0, 10 * 4096],
        promises: 1000,
        ..course(Pattern::Log, Drive::HonorsFlushes)
    });
    assert_eq!(full.writes, 10, "a log ends with its room");
}
