//! What is said of long writes and of capacities, of courses and cards drawn at random: each rate and place lies
//! within its own interval, in the facts and in the sentences made of them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_base::draws::Draws;
use assay_lab::certain;
use assay_load::{
    CapacityJob, CapacityShape, Law, LawShape, Lie, Store, Target, capacity as look_at,
};
use assay_system::system::between::Between;
use serde_json::json;

use super::capacity::{self, Detail as Look, told};
use super::sustained::{self, Detail, Retried, course};

const COURSES: u64 = 1000;
const CARDS: u64 = 120;
const MIB: u64 = 1 << 20;

/// About normal, standard deviation 1.
fn normal(draws: &mut Draws) -> f64 {
    (0..12).map(|_| draws.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}

/// Slices with pauses, falls, correlation, of whatever scatter.
fn slices(draws: &mut Draws) -> Vec<u64> {
    let sd = [0.0, 0.05, 0.2, 0.5][draws.below(4) as usize];
    let keeps = [0.0, 0.0, 0.8, 0.95][draws.below(4) as usize];
    let (mut level, mut last) = (20.0 + draws.below(400) as f64, 0.0);
    let count = 1 + draws.below(300);
    let of = |_| {
        if draws.below(80) == 0 {
            level *= 0.25 + draws.below(300) as f64 / 100.0;
        }
        last = keeps * last + sd * normal(draws);
        let pause = if draws.below(50) == 0 { 20.0 } else { 1.0 };
        (pause * 64.0 / level * f64::exp(last) * 1e9) as u64
    };
    (0..count).map(of).collect()
}

#[test]
fn a_course_lies_within_its_intervals_in_facts_and_in_words() {
    let (mut intervals, mut told) = (0, 0);
    for seed in 0..COURSES {
        let mut draws = Draws::new(seed, "courses");
        let slices_ns = slices(&mut draws);
        let again = draws.below(3) == 0;
        let retried = again.then(|| Retried {
            at_once_ns: slices(&mut draws),
            rest_ns: 1_000_000_000,
            rested_ns: slices(&mut draws),
            ..Retried::default()
        });
        let slice_bytes = 64 * MIB;
        let detail = Detail { slice_bytes, slices_ns, retried, ..Detail::default() };
        let found = course(&detail).unwrap();
        let facts = json!({ "course": found });
        intervals += certain::document_of(&facts).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let text = sustained::words(&found, None);
        told += certain::all_of(&text).unwrap_or_else(|error| panic!("{seed}: {error}: {text}"));
    }
    assert!(intervals > 500 && told > 500, "{intervals} {told}");
}

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
        let shape = CapacityShape::of(claimed_bytes, draws.below(6) == 0);
        let time = Duration::from_secs(if draws.below(4) == 0 { 2 } else { 100_000 });
        let job = CapacityJob { area: 0..claimed_bytes, shape, time, seed, run: seed };
        let target = Target { file: None, memory_alignment: 4096 };
        let Ok(outcome) = look_at(&job, &target, Some(&law), &AtomicBool::new(false)) else {
            continue;
        };
        let look = Look { outcome, in_free_space: draws.below(2) == 0 };
        let found = told(&look, Some(&Between::Nothing));
        let facts = json!({
            "held_bytes": found.held_bytes, "held_ci95_bytes": found.held_ci95_bytes,
        });
        intervals += certain::document_of(&facts)
            .unwrap_or_else(|error| panic!("{seed}: {error}: {found:?}"));
        let whole = found.held_bytes.is_none_or(|held| held <= look.outcome.claimed_bytes);
        assert!(whole, "{seed}: {found:?}");
        let words = capacity::answer(&look, &found);
        certain::all_of(&words).unwrap_or_else(|error| panic!("{seed}: {error}: {words}"));
    }
    assert!(intervals > 10, "{intervals}");
}
