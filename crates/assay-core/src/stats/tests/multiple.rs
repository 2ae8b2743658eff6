//! `multiple`.

use crate::stats::{
    Sample, benjamini_hochberg, bonferroni, friedman, holm, log_ratios, pooled_ratios,
};
use proptest::prelude::*;

use super::common::{
    both_close, cases, close, close_p, exp, number, numbers, reference, rows, share,
};

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
        all_close(&benjamini_hochberg(&p), &numbers(&case["bh"]), tolerance);
    }
    let p = [0.001, 0.008, 0.012, 0.03, 0.045, 0.2];
    all_close(&holm(&p), &numbers(&file["r5"]["holm"]), 5e-4);
    all_close(&benjamini_hochberg(&p), &numbers(&file["r5"]["bh"]), 5e-4);
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
}

#[test]
fn a_p_that_is_none_counts_as_one() {
    assert_eq!(holm(&[f64::NAN, 0.01, 2.0]), [1.0, 0.03, 1.0]);
    assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01, -1.0]), [1.0, 0.03, 1.0]);
}

#[test]
fn bonferroni_divides() {
    close(bonferroni(0.05, 7), 0.05 / 7.0, 1e-15);
    assert_eq!((bonferroni(0.05, 1), bonferroni(0.05, 0)), (0.05, 0.05));
}

#[test]
fn pooled_ratios_give_the_known_answers() {
    let file = file();
    for case in cases(&file["pooled"]) {
        let found = pooled_ratios(&rows(&case["rows"]), number(&case["alpha"])).unwrap();
        let (low, high) = (numbers(&case["low"]), numbers(&case["high"]));
        for (index, ratio) in numbers(&case["ratios"]).into_iter().enumerate() {
            close(found[index].ratio, ratio, 1e-9);
            both_close(found[index].interval, [low[index], high[index]], 1e-9);
        }
    }
}

#[test]
fn friedman_gives_the_known_answers() {
    let file = file();
    for case in cases(&file["friedman"]) {
        let found = friedman(&rows(&case["rows"])).unwrap();
        close(found.statistic, number(&case["statistic"]), 1e-9);
        close_p(found.p, number(&case["p"]), 1e-9);
    }
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
    let pooled = numbers(&r5["arm1"]["pooled"]);
    let found = pooled_ratios(&table, 0.05).unwrap()[0].interval;
    both_close(found, [pooled[0], pooled[1]], 5e-7);
    let ranks = friedman(&table).unwrap();
    close(ranks.statistic, number(&r5["friedman"]["statistic"]), 1e-12);
    close(ranks.p, number(&r5["friedman"]["p"]), 5e-8);
}

#[test]
fn tables_without_an_answer_get_none() {
    for bad in [vec![], vec![vec![1.0, 2.0, 3.0]], vec![vec![1.0, 2.0, 3.0], vec![1.0, 2.0]]] {
        assert_eq!(pooled_ratios(&bad, 0.05), None);
        assert_eq!(friedman(&bad), None);
    }
    let zero = [vec![1.0, 2.0, 0.0], vec![1.0, 2.0, 3.0]];
    assert_eq!(pooled_ratios(&zero, 0.05), None);
    assert!(friedman(&zero).is_some());
    assert_eq!(pooled_ratios(&[vec![1.0, 2.0], vec![2.0, 3.0]], 1.5), None);
    assert_eq!(friedman(&[vec![1.0, 2.0], vec![2.0, 3.0]]), None);
    assert_eq!(friedman(&[vec![1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0]]), None);
    assert_eq!(friedman(&[vec![1.0, f64::NAN, 1.0], vec![2.0, 3.0, 2.0]]), None);
}

/// R5's price of pooling: with one arm three times as noisy, 13 to 22% false verdicts on it.
#[test]
fn simulation_of_pooling_with_one_noisy_arm() {
    let excluded = |[low, high]: [f64; 2]| low > 1.0 || high < 1.0;
    let false_positives = share(5, 3000, |random| {
        let table: Vec<Vec<f64>> = (0..5)
            .map(|_| {
                let mut row: Vec<f64> = (0..7).map(|_| (0.02 * random.normal()).exp()).collect();
                row.push((0.06 * random.normal()).exp());
                row
            })
            .collect();
        excluded(pooled_ratios(&table, 0.05).unwrap()[6].interval)
    });
    assert!((0.11..0.24).contains(&false_positives), "{false_positives}");
}

fn probabilities() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.0_f64..=1.0, 1..20)
}

fn table() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (3_usize..6).prop_flat_map(|k| {
        proptest::collection::vec(proptest::collection::vec(0.1_f64..1e3, k), 2..8)
    })
}

proptest! {
    #[test]
    fn adjusting_keeps_the_order_and_never_lowers(p in probabilities()) {
        let (strict, mild) = (holm(&p), benjamini_hochberg(&p));
        for i in 0..p.len() {
            prop_assert!(p[i] <= mild[i] + 1e-15 && mild[i] <= strict[i] + 1e-12 && strict[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || (strict[i] <= strict[j] && mild[i] <= mild[j]));
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

    #[test]
    fn pooled_ratios_follow_scale_and_labels(rows in table(), factor in 0.01_f64..100.0) {
        let found = pooled_ratios(&rows, 0.05).unwrap();
        let scaled: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|y| y * factor).collect()).collect();
        let mut turned = rows.clone();
        turned.reverse();
        for row in &mut turned {
            row[1..].reverse();
        }
        let (larger, relabelled) = (pooled_ratios(&scaled, 0.05).unwrap(), pooled_ratios(&turned, 0.05).unwrap());
        let arms = found.len();
        for arm in 0..arms {
            close(larger[arm].ratio / found[arm].ratio, 1.0, 1e-9);
            close(larger[arm].interval[1].ln(), found[arm].interval[1].ln(), 1e-7);
            close(relabelled[arms - 1 - arm].interval[0].ln(), found[arm].interval[0].ln(), 1e-7);
            prop_assert!(found[arm].interval[0] <= found[arm].ratio && found[arm].ratio <= found[arm].interval[1]);
        }
    }

    #[test]
    fn ranks_do_not_see_the_scale_or_the_labels(rows in table()) {
        let found = friedman(&rows).unwrap();
        let other: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().rev().map(|y| y.ln()).collect()).collect();
        close(friedman(&other).unwrap().statistic, found.statistic, 1e-9);
        prop_assert!((0.0..=1.0).contains(&found.p));
    }
}
