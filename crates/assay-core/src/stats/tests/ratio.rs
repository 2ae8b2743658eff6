//! `ratio`.

use crate::stats::{batch_sums, ratio_of_sums};
use proptest::prelude::*;

use super::common::{Random, both_close, cases, close, number, numbers, reference, share};

#[test]
fn ratios_of_sums_give_the_known_answers() {
    let file = reference(include_str!("reference/ratio.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let (counted, within) = (numbers(&case["counted"]), numbers(&case["within"]));
        let found = ratio_of_sums(&counted, &within, number(&case["alpha"])).unwrap();
        close(found.ratio, number(&case["ratio"]), tolerance);
        let ends = numbers(&case["interval"]);
        both_close(found.interval.unwrap(), [ends[0], ends[1]], tolerance);
    }
}

#[test]
fn sums_without_a_ratio_have_none() {
    let ratio = |counted: &[f64], within: &[f64]| ratio_of_sums(counted, within, 0.05);
    assert_eq!(ratio(&[], &[]), None);
    assert_eq!(ratio(&[1.0, 2.0], &[1.0]), None);
    assert_eq!(ratio(&[1.0, 2.0], &[0.0, 0.0]), None);
    assert_eq!(ratio(&[0.0, 0.0, 0.0], &[1.0, 1.0, 1.0]), None);
    assert_eq!(ratio(&[1.0, f64::NAN], &[1.0, 1.0]), None);
    assert_eq!(ratio_of_sums(&[1.0; 3], &[1.0; 3], 1.0), None);
    let two = ratio(&[1.0, 2.0], &[2.0, 2.0]).unwrap();
    assert_eq!((two.ratio, two.interval), (0.75, None), "two tell no interval");
    let even = ratio(&[2.0; 4], &[1.0; 4]).unwrap();
    assert_eq!((even.ratio, even.interval), (2.0, Some([2.0, 2.0])));
}

#[test]
fn batches_hold_every_value_once() {
    assert_eq!(batch_sums(&[1.0, 2.0, 3.0, 4.0, 5.0], 2), Some(vec![3.0, 12.0]));
    assert_eq!(batch_sums(&[1.0, 2.0, 3.0], 3), Some(vec![1.0, 2.0, 3.0]));
    assert_eq!(batch_sums(&[1.0, 2.0], 3), None);
    assert_eq!(batch_sums(&[1.0], 0), None);
}

/// Coverage of the interval of a rate over ten batches of slices.
#[test]
fn a_simulation_of_slices_of_equal_size() {
    let log_normal = |random: &mut Random, cv: f64| {
        let sigma = (1.0 + cv * cv).ln().sqrt();
        (sigma * random.normal() - sigma * sigma / 2.0).exp()
    };
    let covered = |seed: u64, mean: f64, draw: &dyn Fn(&mut Random) -> f64| {
        share(seed, 2000, |random| {
            let times: Vec<f64> = (0..400).map(|_| draw(random)).collect();
            let times = batch_sums(&times, 10).unwrap();
            let found = ratio_of_sums(&[40.0; 10], &times, 0.05).unwrap();
            let [low, high] = found.interval.unwrap();
            low <= 1.0 / mean && 1.0 / mean <= high
        })
    };
    for cv in [0.1, 0.2, 0.5] {
        let share = covered(61, 1.0, &|random| log_normal(random, cv));
        assert!((0.93..=0.97).contains(&share), "sd {cv}: {share}");
    }
    // One in twenty waits for as long as eight others take; one in eight takes three times as long.
    let pauses = covered(62, 1.4, &|random| {
        log_normal(random, 0.1) + if random.uniform() < 0.05 { 8.0 } else { 0.0 }
    });
    assert!((0.93..=0.97).contains(&pauses), "pauses: {pauses}");
    let slow = covered(63, 1.25, &|random| {
        log_normal(random, 0.1) * if random.uniform() < 0.125 { 3.0 } else { 1.0 }
    });
    assert!((0.93..=0.97).contains(&slow), "one in eight: {slow}");
}

proptest! {
    #[test]
    fn a_ratio_lies_within_its_own_interval(
        pairs in proptest::collection::vec((0.001_f64..1e9, 0.001_f64..1e9), 1..40),
        alpha in 0.001_f64..0.9,
    ) {
        let (counted, within): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let found = ratio_of_sums(&counted, &within, alpha).unwrap();
        if let Some([low, high]) = found.interval {
            prop_assert!(0.0 <= low && low <= found.ratio && found.ratio <= high);
        } else {
            // Too few, or so uneven that its end has no number.
            prop_assert!(counted.len() < 3 || alpha < 0.5);
        }
    }
}
