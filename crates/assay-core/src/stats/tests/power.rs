//! `power`.

use crate::stats::{
    replicates_for, replicates_to_resolve, smallest_detectable_shift, t_test_power, upper_sd_factor,
};
use proptest::prelude::*;
use serde_json::Value;

use super::common::{cases, close, count, number, reference};

fn file() -> Value {
    reference(include_str!("reference/power.json"))
}

fn at(case: &Value, name: &str) -> f64 {
    number(&case[name])
}

#[test]
fn power_of_the_t_test_gives_the_known_answers() {
    let file = file();
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["t_test"]) {
        let found = t_test_power(count(&case["n"]), at(case, "shift"), at(case, "alpha")).unwrap();
        close(found, at(case, "power"), tolerance);
    }
    for case in cases(&file["r6"]["difference"]) {
        let found = t_test_power(count(&case["n"]), at(case, "shift"), 0.05).unwrap();
        close(found, at(case, "power"), 5.1e-3);
    }
}

#[test]
fn detectable_shifts_give_the_known_answers() {
    for case in cases(&file()["detectable"]) {
        let (alpha, power) = (at(case, "alpha"), at(case, "power"));
        let found = smallest_detectable_shift(count(&case["n"]), alpha, power).unwrap();
        close(found, at(case, "shift"), 1e-7);
        if let Some(text) = case["text"].as_f64() {
            close(found, text, 5.1e-3);
        }
    }
}

#[test]
fn replicates_give_the_known_answers() {
    let file = file();
    for case in cases(&file["replicates"]) {
        let found = replicates_for(at(case, "shift"), at(case, "alpha"), at(case, "power"));
        assert_eq!(found, Some(count(&case["n"])), "{case}");
    }
    for case in cases(&file["resolve"]) {
        let (margin, alpha) = (at(case, "margin"), at(case, "alpha"));
        let found = replicates_to_resolve(at(case, "sd"), count(&case["n"]), margin, alpha);
        assert_eq!(found, Some(count(&case["replicates"])), "{case}");
    }
}

#[test]
fn upper_factors_give_the_known_answers() {
    for case in cases(&file()["sd_factors"]) {
        let found = upper_sd_factor(count(&case["n"]), at(case, "confidence")).unwrap();
        close(found, at(case, "factor"), 1e-8);
    }
}

#[test]
fn questions_without_an_answer_get_none() {
    assert_eq!(t_test_power(1, 1.0, 0.05), None);
    assert_eq!(t_test_power(5, f64::NAN, 0.05), None);
    assert_eq!(smallest_detectable_shift(1, 0.05, 0.8), None);
    assert_eq!(smallest_detectable_shift(2, 1e-9, 0.8), None);
    for bad in [0.0, 1.0, 2.0, -1.0, f64::NAN] {
        assert!(bad == 1.0 || t_test_power(5, 1.0, bad).is_none());
        assert_eq!(smallest_detectable_shift(5, 0.05, bad), None);
        assert_eq!(replicates_for(1.0, 0.05, bad), None);
        assert_eq!(upper_sd_factor(5, bad), None);
    }
    for shift in [0.0, 1e-3, f64::NAN, f64::INFINITY] {
        assert_eq!(replicates_for(shift, 0.05, 0.8), None);
    }
    assert_eq!(upper_sd_factor(1, 0.8), None);
    assert_eq!(replicates_to_resolve(0.02, 1, 0.05, 0.05), None);
    assert_eq!(replicates_to_resolve(-0.02, 5, 0.05, 0.05), None);
    assert_eq!(replicates_to_resolve(f64::NAN, 5, 0.05, 0.05), None);
    assert_eq!(replicates_to_resolve(0.02, 5, 0.0, 0.05), None);
    assert_eq!(replicates_to_resolve(100.0, 5, 0.05, 0.05), None);
    assert_eq!(replicates_to_resolve(0.0, 5, 0.05, 2.0), None);
    assert_eq!(replicates_to_resolve(0.0, 5, 0.05, 0.05), Some(3));
    assert_eq!(replicates_to_resolve(1e-300, 5, 0.05, 0.05), Some(3));
}

proptest! {
    #[test]
    fn power_rises_with_replicates_shift_and_alpha(n in 2_usize..60, shift in 0.0_f64..4.0, alpha in 0.001_f64..0.2) {
        let power = t_test_power(n, shift, alpha).unwrap();
        prop_assert!((alpha - 1e-9..=1.0).contains(&power));
        prop_assert!(t_test_power(n + 1, shift, alpha).unwrap() >= power - 1e-9);
        prop_assert!(t_test_power(n, shift + 0.1, alpha).unwrap() >= power - 1e-12);
        prop_assert!(t_test_power(n, shift, alpha * 1.1).unwrap() >= power - 1e-12);
        close(t_test_power(n, -shift, alpha).unwrap(), power, 1e-12);
        close(t_test_power(n, 0.0, alpha).unwrap(), alpha, 1e-8);
    }

    #[test]
    fn shifts_and_replicates_invert_power(n in 3_usize..200, power in 0.3_f64..0.99) {
        let shift = smallest_detectable_shift(n, 0.05, power).unwrap();
        close(t_test_power(n, shift, 0.05).unwrap(), power, 1e-7);
        let found = replicates_for(shift * 1.000_001, 0.05, power).unwrap();
        prop_assert_eq!(found, n);
    }

    #[test]
    fn upper_factors_fall_towards_one(n in 2_usize..300) {
        let factor = upper_sd_factor(n, 0.8).unwrap();
        prop_assert!(factor > 1.0 && upper_sd_factor(n + 1, 0.8).unwrap() < factor);
    }

    #[test]
    fn more_scatter_needs_no_fewer_replicates(sd in 0.001_f64..0.2, n in 3_usize..30) {
        let few = replicates_to_resolve(sd, n, 0.05, 0.05);
        let many = replicates_to_resolve(sd * 1.2, n, 0.05, 0.05);
        prop_assert!(few.unwrap() <= many.unwrap());
    }
}
