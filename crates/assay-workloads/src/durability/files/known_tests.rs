//! Known answers: a correct file system is not accused, and each defective one is detected.

use std::collections::BTreeSet;

use assay_core::draws::Draws;

use super::model::{Keeps, Model};
use super::script::{FileScript, FileShape};
use super::story::FileLoss;
use crate::durability::judge::{CutOutcome, Found};
use crate::durability::sync::Sync;
use crate::durability::tally::{Counterexample, CutTally};

const RUN: u64 = 77;

fn script(sync: Sync, seed: u64) -> FileScript {
    FileScript::from_shape(&FileShape { sync, rounds: 60, most_bytes: 700, seed })
}

/// Power losses of a program, each at a different moment.
fn cut(keeps: Keeps, sync: Sync, seed: u64, cuts: u64) -> CutTally {
    let script = script(sync, seed);
    let mut draws = Draws::new(seed, "cuts of files");
    let mut tally = CutTally::default();
    for _ in 0..cuts {
        // The last returned call may be unreported: more calls started than are known.
        let calls = 1 + draws.below(script.calls.len() as u64) as usize;
        let seen = calls - draws.below(2) as usize;
        let heard = script.reports().take_while(|told| *told <= seen).last().unwrap_or_default();
        let moment = script.cut_at(heard);
        assert!(moment.begun >= calls);
        let mut left = Model::after(&script, RUN, calls).cut(keeps, &mut draws);
        let judgement = script.judge(&left.listing(&script, RUN), moment);
        tally.count(&judgement, |lost| {
            Some(Counterexample::File(Box::new(FileLoss::new(&script, lost, Some(moment)))))
        });
    }
    tally
}

#[test]
#[ignore = "nightly: 2 s"]
fn an_honest_file_system_is_not_accused_in_ten_thousand_cuts() {
    let mut outcomes = BTreeSet::new();
    for sync in [Sync::Fsync, Sync::Fdatasync, Sync::Dsync] {
        for seed in 1..=10 {
            let own = cut(Keeps::Honest, sync, seed, 340);
            assert_eq!((own.lost, own.counterexample), (0, None), "{} seed {seed}", sync.name());
            outcomes.extend(own.outcomes.into_keys());
        }
    }
    let all: BTreeSet<CutOutcome> =
        CutOutcome::ALL.into_iter().filter(|own| *own != CutOutcome::Lost).collect();
    assert_eq!(outcomes, all, "each of them happens");
}

#[test]
#[ignore = "nightly: 1 s"]
fn each_liar_is_found_within_sixty_cuts() {
    for keeps in Keeps::LIARS {
        for seed in 1..=10 {
            let own = cut(keeps, Sync::Fsync, seed, 60);
            assert!(own.lost > 0, "{keeps:?}, seed {seed}");
            assert!(own.counterexample.is_some());
        }
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn what_a_liar_does_is_what_is_told() {
    let found = |keeps| {
        let mut all = CutTally::default();
        for seed in 1..=10 {
            all.add(&cut(keeps, Sync::Fsync, seed, 60));
        }
        all.found.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(found(Keeps::RenameInTwo), [Found::Missing]);
    assert_eq!(found(Keeps::MoveInTwo), [Found::Missing]);
    assert_eq!(found(Keeps::Tears), [Found::Torn]);
    assert!(found(Keeps::ComesBack).contains(&Found::Undeleted));
    assert!(found(Keeps::NoContents).contains(&Found::Empty));
    assert!(found(Keeps::ShowsOlder).contains(&Found::Older));
}

#[test]
fn without_a_sync_nothing_is_promised_and_nobody_is_accused() {
    for keeps in Keeps::LIARS {
        let own = cut(keeps, Sync::None, 1, 100);
        assert_eq!(own.lost, 0, "{keeps:?}: {:?}", own.counterexample);
    }
}
