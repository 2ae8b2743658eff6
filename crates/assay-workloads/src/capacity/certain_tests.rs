//! Sentences on capacities of random cards: each number is within its interval, in facts and sentences.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_core::draws::Draws;
use assay_core::quantity::metric::Nature;
use assay_load::{
    CapacityJob, CapacityShape, Law, LawShape, Lie, Store, Target, capacity as look_at,
};
use assay_machine::system::between::Between;
use assay_testkit::certain;
use serde_json::json;

use super::words::verdict_words;
use super::{CapacityDetail, CapacityFacts, HELD, judge_check};
use crate::tell::{Bare, Shows as _};

const CARDS: u64 = 120;
const MIB: u64 = 1 << 20;

#[test]
fn a_capacity_lies_within_its_interval_in_facts_and_in_words() {
    let mut intervals = 0;
    for seed in 0..CARDS {
        let mut draws = Draws::new(seed, "cards");
        let claimed_bytes = (20 + draws.below(600)) * MIB;
        let percent = if draws.below(3) == 0 { 100 } else { 5 + draws.below(96) };
        let held_bytes = claimed_bytes / 4096 * percent / 100 * 4096;
        let lie = Lie::ALL[draws.below(4) as usize];
        let store = Store { claimed_bytes, held_bytes, lie };
        let law = Law::new(LawShape::Fixed { ns: 1_000_000 }, 1).unwrap();
        let law = Law { store: Some(store), ..law };
        let shape = CapacityShape::new(claimed_bytes, draws.below(6) == 0);
        let time = Duration::from_secs(if draws.below(4) == 0 { 2 } else { 100_000 });
        let job = CapacityJob { area: 0..claimed_bytes, shape, time, seed, run: seed };
        let target = Target { file: None, memory_alignment: 4096 };
        let Ok(outcome) = look_at(&job, &target, Some(&law), &AtomicBool::new(false)) else {
            continue;
        };
        let look = CapacityDetail { outcome, in_free_space: draws.below(2) == 0 };
        let found = judge_check(&look, Some(&Between::Nothing));
        let facts = json!({
            "usable_bytes": found.held_bytes, "usable_ci95_bytes": found.held_ci95_bytes,
        });
        intervals += certain::document_of(&facts)
            .unwrap_or_else(|error| panic!("{seed}: {error}: {found:?}"));
        let whole = found.held_bytes.is_none_or(|held| held <= look.outcome.claimed_bytes);
        assert!(whole, "{seed}: {found:?}");
        let words = verdict_words(&look, &found);
        certain::all_of(&words).unwrap_or_else(|error| panic!("{seed}: {error}: {words}"));
    }
    assert!(intervals > 10, "{intervals}");
}

#[test]
fn what_it_holds_is_an_amount_and_answers_its_study() {
    assert_eq!(HELD.nature, Nature::Amount);
    let told: serde_json::Value = serde_json::from_str(include_str!("told.json")).unwrap();
    let facts: CapacityFacts = serde_json::from_value(told["capacity"][0].clone()).unwrap();
    let exhibit = CapacityFacts::exhibit(&[&facts], &Bare);
    assert!(exhibit.leads && exhibit.beside.is_none());
    assert!(exhibit.tables[0].notes[0].starts_with("Claimed: the reported size of the device"));
}
