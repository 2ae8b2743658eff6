//! `interval`, `order_statistics`.

use crate::stats::{
    geometric_mean, median, observations_needed, paired_ratio, percentile_is_supported,
};
use proptest::prelude::*;

use super::common::{numbers, reference};

fn close(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance, "{left} is not {right} within {tolerance}");
}

#[test]
fn paired_ratio_gives_the_known_answers() {
    let file = reference(include_str!("reference/paired_ratio.json"));
    let tolerance = file["tolerance"].as_f64().unwrap();
    for case in file["cases"].as_array().unwrap() {
        let found = paired_ratio(&numbers(&case["baseline"]), &numbers(&case["arm"])).unwrap();
        close(found.ratio, case["ratio"].as_f64().unwrap(), tolerance);
        if case["ci95"].is_array() {
            let expected = numbers(&case["ci95"]);
            close(found.ci95.unwrap()[0], expected[0], tolerance);
            close(found.ci95.unwrap()[1], expected[1], tolerance);
        }
        if let Some(expected) = case["sd_log"].as_f64() {
            close(found.sd_log.unwrap(), expected, tolerance);
        }
    }
}

#[test]
fn geometric_mean_gives_the_known_answers() {
    let file = reference(include_str!("reference/geometric_mean.json"));
    let tolerance = file["tolerance"].as_f64().unwrap();
    for case in file["cases"].as_array().unwrap() {
        let values = numbers(&case["values"]);
        let found = geometric_mean(&values).unwrap();
        close(found.mean, case["mean"].as_f64().unwrap(), 1e-12);
        assert_eq!(found.n, values.len());
        let Some(t) = case["t"].as_f64() else {
            assert_eq!(found.ci95, None);
            continue;
        };
        let half = t * case["sd_log"].as_f64().unwrap() / (values.len() as f64).sqrt();
        let [low, high] = found.ci95.unwrap();
        close(low.ln(), found.mean.ln() - half, tolerance);
        close(high.ln(), found.mean.ln() + half, tolerance);
    }
}

#[test]
fn a_percentile_needs_ten_observations_above_it() {
    for (q, needed) in [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)] {
        assert!(!percentile_is_supported(needed - 1, q), "{q}");
        assert!(percentile_is_supported(needed, q), "{q}");
        assert_eq!(observations_needed(q), Some(needed));
    }
    for q in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        assert!(!percentile_is_supported(u64::MAX, q), "{q}");
    }
}

#[test]
fn samples_that_have_no_answer_get_none() {
    assert_eq!(geometric_mean(&[]), None);
    assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    assert_eq!(geometric_mean(&[1.0, -1.0]), None);
    assert_eq!(geometric_mean(&[1.0, f64::NAN]), None);
    assert_eq!(geometric_mean(&[1.0, f64::INFINITY]), None);
    assert_eq!(paired_ratio(&[1.0], &[1.0, 2.0]), None);
    assert_eq!(paired_ratio(&[], &[]), None);
    assert_eq!(paired_ratio(&[1.0, 2.0], &[1.0, 2.0]).unwrap().ci95, None);
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[1.0, f64::NAN]), None);
}

#[test]
fn medians_of_odd_and_even_samples() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[7.0]), Some(7.0));
}

fn samples() -> impl Strategy<Value = Vec<(f64, f64)>> {
    proptest::collection::vec((1e-3_f64..1e6, 1e-3_f64..1e6), 3..20)
}

proptest! {
    #[test]
    fn scaling_all_values_leaves_ratios_and_scales_means(pairs in samples(), factor in 1e-3_f64..1e3) {
        let (base, arm): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let larger = |values: &[f64]| values.iter().map(|value| value * factor).collect::<Vec<_>>();
        let before = paired_ratio(&base, &arm).unwrap();
        let after = paired_ratio(&larger(&base), &larger(&arm)).unwrap();
        prop_assert!((before.ratio / after.ratio - 1.0).abs() < 1e-9);
        prop_assert!((before.ci95.unwrap()[1] / after.ci95.unwrap()[1] - 1.0).abs() < 1e-6);
        let (small, large) = (geometric_mean(&base).unwrap(), geometric_mean(&larger(&base)).unwrap());
        prop_assert!((large.mean / (small.mean * factor) - 1.0_f64).abs() < 1e-9);
        prop_assert!((median(&larger(&base)).unwrap() / (median(&base).unwrap() * factor) - 1.0_f64).abs() < 1e-9);
    }

    #[test]
    fn swapping_the_baseline_inverts_ratio_and_interval(pairs in samples()) {
        let (base, arm): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let there = paired_ratio(&base, &arm).unwrap();
        let back = paired_ratio(&arm, &base).unwrap();
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        prop_assert!((there.ci95.unwrap()[0] * back.ci95.unwrap()[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_order_of_values_does_not_matter(pairs in samples(), turn in 0_usize..20) {
        let mut turned = pairs.clone();
        turned.rotate_left(turn % pairs.len());
        turned.reverse();
        let split = |pairs: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { pairs.iter().copied().unzip() };
        let ((base, arm), (other_base, other_arm)) = (split(&pairs), split(&turned));
        let (here, there) = (paired_ratio(&base, &arm).unwrap(), paired_ratio(&other_base, &other_arm).unwrap());
        prop_assert!((here.ratio / there.ratio - 1.0).abs() < 1e-9);
        prop_assert_eq!(median(&base), median(&other_base));
    }

    #[test]
    fn the_mean_lies_inside_its_interval_and_between_the_extremes(pairs in samples()) {
        let (values, _): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let found = geometric_mean(&values).unwrap();
        let [low, high] = found.ci95.unwrap();
        prop_assert!(low <= found.mean && found.mean <= high);
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        prop_assert!(least * 0.999_999 <= found.mean && found.mean <= most * 1.000_001);
    }

}
