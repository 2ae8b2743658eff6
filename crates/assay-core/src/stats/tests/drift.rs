//! `drift`.

use crate::stats::{FTest, by_group, carry_over, carry_through, slope};
use proptest::prelude::*;

use super::common::{
    Random, cases, close, close_p, count, counts, number, numbers, reference, share,
};

#[test]
fn slopes_give_the_known_answers() {
    let file = reference(include_str!("reference/drift.json"));
    for case in cases(&file["slopes"]) {
        let found = slope(&numbers(&case["x"]), &numbers(&case["y"])).unwrap();
        close(found.slope, number(&case["slope"]), 1e-9);
        close(found.intercept, number(&case["intercept"]), 1e-9);
        close(found.standard_error, number(&case["standard_error"]), 1e-9);
        close_p(found.p, number(&case["p"]), 1e-9);
    }
}

#[test]
fn analyses_of_variance_give_the_known_answers() {
    let file = reference(include_str!("reference/drift.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["groups"]) {
        let found = by_group(&numbers(&case["values"]), &counts(&case["groups"])).unwrap();
        close(found.f, number(&case["f"]), tolerance);
        close_p(found.p, number(&case["p"]), tolerance);
        assert_eq!((found.df1, found.df2), (count(&case["df1"]), count(&case["df2"])));
    }
    for case in cases(&file["carry_over"]) {
        let column = |name: &str| counts(&case[name]);
        let (arms, predecessors) = (column("arms"), column("predecessors"));
        let found =
            carry_over(&numbers(&case["values"]), &arms, &predecessors, &column("replicates"));
        if case["f"].is_null() {
            // Two chained arms: the predecessor is the same within each replicate.
            assert_eq!(found, None);
            continue;
        }
        let found = found.unwrap();
        close(found.f, number(&case["f"]), tolerance);
        close_p(found.p, number(&case["p"]), tolerance);
        assert_eq!((found.df1, found.df2), (count(&case["df1"]), count(&case["df2"])));
    }
}

#[test]
fn what_comes_through_lead_ins_gives_the_known_answers() {
    let file = reference(include_str!("reference/drift.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["carry_through"]) {
        let column = |name: &str| counts(&case[name]);
        let (arms, endings, first) = (column("arms"), column("endings"), column("first"));
        let values = numbers(&case["values"]);
        let found = carry_through(&values, &arms, &endings, &first, &column("replicates")).unwrap();
        close(found.f, number(&case["f"]), tolerance);
        close_p(found.p, number(&case["p"]), tolerance);
        assert_eq!((found.df1, found.df2), (count(&case["df1"]), count(&case["df2"])));
    }
    // Every replicate ended with the same arm: the effect is aliased.
    let (arms, replicates) = ([0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2, 3, 3]);
    let (endings, first) = ([1, 2, 1, 2, 1, 2, 1, 2], [1, 0, 1, 0, 1, 0, 1, 0]);
    let values = [1.0, 2.0, 4.0, 3.0, 6.0, 9.0, 2.0, 7.0];
    assert_eq!(carry_through(&values, &arms, &endings, &first, &replicates), None);
}

#[test]
fn exact_fits_and_borders() {
    let line = slope(&[0.0, 1.0, 2.0, 3.0], &[1.0, 1.1, 1.2, 1.3]).unwrap();
    assert_eq!((line.n, line.p, line.standard_error), (4, 0.0, 0.0));
    let flat = slope(&[0.0, 1.0, 2.0], &[0.1; 3]).unwrap();
    assert_eq!((flat.slope, flat.p), (0.0, 1.0));
    assert_eq!(slope(&[0.0, 1.0], &[1.0, 2.0]), None);
    assert_eq!(slope(&[1.0; 3], &[1.0, 2.0, 3.0]), None);
    assert_eq!(slope(&[1.0, 2.0, 3.0], &[1.0, 2.0]), None);
    assert_eq!(slope(&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0]), None);
    assert_eq!(by_group(&[1.0, 2.0, 3.0], &[0, 0, 0]), None);
    assert_eq!(by_group(&[1.0, 2.0], &[0, 1]), None);
    assert_eq!(by_group(&[1.0, 1.0, 2.0, 2.0], &[0, 0, 1, 1]), None);
    assert_eq!(by_group(&[1.0, 2.0], &[0, 1, 1]), None);
    assert_eq!(by_group(&[], &[]), None);
    assert_eq!(by_group(&[1.0, 2.0, f64::NAN], &[0, 1, 1]), None);
    // The predecessor is the replicate: the effect is aliased.
    let (arms, same) = ([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2]);
    assert_eq!(carry_over(&[1.0, 2.0, 4.0, 3.0, 6.0, 9.0], &arms, &same, &same), None);
    let many: Vec<usize> = (0..700).collect();
    assert_eq!(carry_over(&vec![1.0; 700], &many, &many, &many), None);
}

/// Arms and replicates of a chained plan, and the arm before each trial; the lead-in runs the
/// first arm.
fn chained(random: &mut Random, k: usize, n: usize) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
    let (mut arms, mut replicates) = (Vec::new(), Vec::new());
    for replicate in 0..n {
        let mut order = random.order(k);
        if let Some(last) = arms.last() {
            let place = order.iter().position(|arm| arm == last).unwrap();
            order.swap(0, place);
        }
        arms.extend(order);
        replicates.extend(vec![replicate; k]);
    }
    let predecessors = [&arms[..1], &arms[..arms.len() - 1]].concat();
    (arms, predecessors, replicates)
}

/// A chained plan with the most even ordered pairs of 200 candidates, as R2 asks.
const EVEN: [usize; 18] = [0, 2, 1, 1, 0, 2, 2, 0, 1, 1, 2, 0, 0, 1, 2, 2, 1, 0];

#[test]
fn simulation_of_carry_over() {
    let false_positives = share(21, 10_000, |random| {
        let (arms, predecessors, replicates) = chained(random, 3, 6);
        let values = random.normals(18);
        carry_over(&values, &arms, &predecessors, &replicates).is_some_and(|test| test.p < 0.01)
    });
    assert!((0.007..0.013).contains(&false_positives), "{false_positives}");
    let replicates: Vec<usize> = (0..18).map(|trial| trial / 3).collect();
    let predecessors = [&EVEN[..1], &EVEN[..17]].concat();
    for (effects, expected) in [([0.0, 3.0, 0.0], 0.755), ([0.0, 3.0, -3.0], 0.999)] {
        let found = share(22, 2000, |random| {
            let values: Vec<f64> =
                predecessors.iter().map(|before| random.normal() + effects[*before]).collect();
            carry_over(&values, &EVEN, &predecessors, &replicates).unwrap().p < 0.01
        });
        assert!((found - expected).abs() < 0.03, "{effects:?}: {found}");
    }
}

/// R10: power of the slope test with so many baseline trials, for a total drift in standard deviations.
#[test]
fn simulation_of_drift() {
    for (n, drift, expected) in
        [(5, 0.0, 0.05), (5, 4.0, 0.58), (5, 8.0, 0.98), (10, 2.0, 0.45), (10, 4.0, 0.94)]
    {
        let x: Vec<f64> = (0..n).map(f64::from).collect();
        let found = share(23, 4000, |random| {
            let y: Vec<f64> =
                x.iter().map(|x| drift * x / f64::from(n - 1) + random.normal()).collect();
            slope(&x, &y).unwrap().p < 0.05
        });
        assert!((found - expected).abs() < 0.03, "{n} {drift}: {found}");
    }
}

proptest! {
    #[test]
    fn slopes_follow_the_scale(
        y in proptest::collection::vec(-100.0_f64..100.0, 3..20), by in -100.0_f64..100.0, factor in 0.1_f64..10.0,
    ) {
        let x: Vec<f64> = (0..y.len()).map(|i| i as f64).collect();
        let moved: Vec<f64> = y.iter().map(|y| y * factor + by).collect();
        let reversed: Vec<f64> = y.iter().rev().copied().collect();
        let (before, after, back) = (slope(&x, &y).unwrap(), slope(&x, &moved).unwrap(), slope(&x, &reversed).unwrap());
        close(after.slope, before.slope * factor, 1e-9);
        close(after.p, before.p, 1e-6);
        close(back.slope, -before.slope, 1e-9);
        close(back.p, before.p, 1e-6);
    }

    #[test]
    fn effects_of_arm_replicate_labels_and_row_order_do_not_matter(
        seed in 0_u64..1000, k in 2_usize..5, n in 4_usize..7, shift in -50.0_f64..50.0,
    ) {
        let mut random = Random(seed);
        let (arms, predecessors, replicates) = chained(&mut random, k, n);
        let values = random.normals(arms.len());
        let found = carry_over(&values, &arms, &predecessors, &replicates);
        let shifted: Vec<f64> = (0..values.len())
            .rev()
            .map(|i| values[i] + shift * (arms[i] as f64 + 2.0 * replicates[i] as f64))
            .collect();
        let relabelled = |labels: &[usize]| labels.iter().rev().map(|label| 90 - 7 * label).collect::<Vec<_>>();
        let other = carry_over(&shifted, &relabelled(&arms), &relabelled(&predecessors), &relabelled(&replicates));
        prop_assert_eq!(found.is_some(), other.is_some());
        if let (Some(found), Some(other)) = (found, other) {
            prop_assert_eq!((found.df1, found.df2), (other.df1, other.df2));
            close(other.p, found.p, 1e-5);
        }
    }

    #[test]
    fn groups_do_not_see_level_scale_and_labels(
        values in proptest::collection::vec(-100.0_f64..100.0, 9), factor in 0.1_f64..10.0,
    ) {
        let found = by_group(&values, &[0, 0, 0, 1, 1, 1, 2, 2, 2]).unwrap();
        let moved: Vec<f64> = values.iter().map(|value| value * factor - 3.0).collect();
        let other = by_group(&moved, &[8, 8, 8, 5, 5, 5, 6, 6, 6]).unwrap();
        close(other.f, found.f, 1e-6);
        prop_assert!((0.0..=1.0).contains(&found.p));
    }
}

#[test]
fn detectable_effects_give_the_known_noncentralities() {
    // mpmath 1.3: the noncentrality with power 80%, by the series of incomplete beta functions.
    for (df1, df2, alpha, noncentral) in
        [(1, 8, 0.01, 18.830_260_017), (3, 12, 0.01, 25.309_031_019), (2, 5, 0.05, 18.674_959_461)]
    {
        let test = FTest { f: 1.0, df1, df2, p: 0.5, residual: 0.25, weight: 4.0 };
        let found = test.detectable(alpha, 0.8).unwrap();
        close(found.powi(2) * 16.0, noncentral, 1e-6);
    }
    let blind = FTest { f: 1.0, df1: 20, df2: 1, p: 0.5, residual: 1.0, weight: 1.0 };
    assert_eq!(blind.detectable(0.000_1, 0.8), None);
    assert_eq!(blind.detectable(0.9, 0.8), None);
}

#[test]
fn detectable_carry_over_is_found_in_four_of_five() {
    let replicates: Vec<usize> = (0..60).map(|at| at / 3).collect();
    let mut random = Random(9);
    let mut orders = Vec::new();
    for _ in 0..20 {
        orders.extend(random.order(3));
    }
    let before: Vec<usize> = (0..60_usize).map(|at| orders[at.saturating_sub(1)]).collect();
    let values = |random: &mut Random, effect: f64| -> Vec<f64> {
        let luck = random.normals(60);
        luck.iter()
            .zip(&before)
            .map(|(luck, arm)| luck + if *arm == 0 { effect } else { 0.0 })
            .collect()
    };
    let test = carry_over(&values(&mut random, 0.0), &orders, &before, &replicates).unwrap();
    let effect = FTest { residual: 1.0, ..test }.detectable(0.01, 0.8).unwrap();
    let found = share(10, 500, |random| {
        let values = values(random, effect);
        carry_over(&values, &orders, &before, &replicates).unwrap().p < 0.01
    });
    // The worst of three settings decides.
    assert!((0.75..0.9).contains(&found), "{found}");
}
