//! `multiple`.

use crate::stats::{Sample, bonferroni, holm, log_ratios};
use proptest::prelude::*;

use super::common::{both_close, cases, close, exp, number, numbers, reference, rows};

fn all_close(left: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).for_each(|(left, right)| close(*left, *right, tolerance));
}

fn file() -> serde_json::Value {
    reference(include_str!("reference/multiple.json"))
}

#[test]
fn adjusted_p_values_give_the_known_answers() {
    let (file, tolerance) = (file(), number(&file()["tolerance"]));
    for case in cases(&file["adjusted"]) {
        let p = numbers(&case["p"]);
        all_close(&holm(&p), &numbers(&case["holm"]), tolerance);
    }
    let p = [0.001, 0.008, 0.012, 0.03, 0.045, 0.2];
    all_close(&holm(&p), &numbers(&file["r5"]["holm"]), 5e-4);
    assert_eq!(holm(&[]), Vec::<f64>::new());
}

#[test]
fn a_p_that_is_none_counts_as_one() {
    assert_eq!(holm(&[f64::NAN, 0.01, 2.0]), [1.0, 0.03, 1.0]);
}

#[test]
fn bonferroni_divides() {
    close(bonferroni(0.05, 7), 0.05 / 7.0, 1e-15);
    assert_eq!((bonferroni(0.05, 1), bonferroni(0.05, 0)), (0.05, 0.05));
}

#[test]
fn the_table_of_the_protocol() {
    let file = file();
    let (r5, table) = (&file["r5"], rows(&file["r5"]["rows"]));
    let column = |arm: usize| -> Vec<f64> { table.iter().map(|row| row[arm]).collect() };
    for (arm, expected) in [(1, &r5["arm1"]), (2, &r5["arm2"])] {
        let sample = Sample::of(&log_ratios(&column(0), &column(arm)).unwrap()).unwrap();
        let ends = numbers(&expected["ci95"]);
        close(sample.mean.exp(), number(&expected["ratio"]), 5e-7);
        close(sample.p_value(0.0).unwrap(), number(&expected["p"]), 5e-9);
        both_close(exp(sample.interval(0.05).unwrap()), [ends[0], ends[1]], 5e-7);
        if expected["bonferroni2"].is_array() {
            let ends = numbers(&expected["bonferroni2"]);
            let found = exp(sample.interval(bonferroni(0.05, 2)).unwrap());
            both_close(found, [ends[0], ends[1]], 5e-7);
        }
    }
}

fn probabilities() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.0_f64..=1.0, 1..20)
}

proptest! {
    #[test]
    fn adjusting_keeps_the_order_and_never_lowers(p in probabilities()) {
        let strict = holm(&p);
        for i in 0..p.len() {
            prop_assert!(p[i] <= strict[i] + 1e-12 && strict[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || strict[i] <= strict[j]);
            }
        }
        let reversed: Vec<f64> = p.iter().rev().copied().collect();
        let mut back = holm(&reversed);
        back.reverse();
        prop_assert_eq!(back, strict);
    }

    #[test]
    fn holm_finds_something_where_bonferroni_does(p in probabilities()) {
        let least = p.iter().copied().fold(1.0, f64::min);
        let adjusted = holm(&p).into_iter().fold(1.0, f64::min);
        let (one, other) = (adjusted <= 0.05, least <= bonferroni(0.05, p.len()));
        prop_assert!(one == other || (adjusted - 0.05).abs() < 1e-12);
    }

}
