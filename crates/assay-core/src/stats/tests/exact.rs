//! `exact`.

use crate::stats::{binomial_at_least, binomial_interval, fisher_exact, sign_flip};
use proptest::prelude::*;

use super::common::{cases, close, close_p, count, number, numbers, reference};

#[test]
fn sign_flips_give_the_known_answers() {
    let file = reference(include_str!("reference/exact.json"));
    for case in cases(&file["flips"]) {
        assert_eq!(sign_flip(&numbers(&case["differences"])), case["p"].as_f64(), "{case}");
    }
    for case in cases(&file["smallest"]) {
        let all_alike: Vec<f64> = (1..=count(&case["n"])).map(|value| value as f64).collect();
        assert_eq!(sign_flip(&all_alike), case["p"].as_f64());
    }
}

#[test]
fn fisher_gives_the_known_answers() {
    let file = reference(include_str!("reference/exact.json"));
    for case in cases(&file["fisher"]) {
        let at = |name: &str| case[name].as_u64().unwrap();
        let p = fisher_exact(at("failed1"), at("total1"), at("failed2"), at("total2"));
        close_p(p, number(&case["p"]), 1e-9);
    }
    for case in cases(&file["r11"]) {
        let p = fisher_exact(0, 5, case["failed"].as_u64().unwrap(), 5);
        close(p, number(&case["p"]), 5e-5);
    }
}

/// At the ends the exact tails are half of alpha; the first is an example of R's `binom.test`.
#[test]
fn intervals_of_shares_are_those_of_exact_tails() {
    let [low, high] = binomial_interval(682, 925, 0.05).unwrap();
    assert!((low - 0.707_668_3).abs() < 5e-8 && (high - 0.765_406_6).abs() < 5e-8, "{low} {high}");
    for (hits, n, alpha) in [(3, 20, 0.05), (500, 2000, 0.05), (1, 2048, 0.01), (19, 20, 0.1)] {
        let [low, high] = binomial_interval(hits, n, alpha).unwrap();
        let least = binomial_at_least(hits, n, low).unwrap();
        let most = 1.0 - binomial_at_least(hits + 1, n, high).unwrap();
        assert!((least - alpha / 2.0).abs() < 1e-9 && (most - alpha / 2.0).abs() < 1e-9);
    }
    let [none, few] = binomial_interval(0, 10, 0.05).unwrap();
    assert!(none == 0.0 && (few - (1.0 - 0.025_f64.powf(0.1))).abs() < 1e-9);
    assert_eq!(binomial_interval(10, 10, 0.05).unwrap()[1], 1.0);
    assert_eq!(binomial_interval(0, 0, 0.05), None);
    assert_eq!(binomial_interval(3, 2, 0.05), None);
    assert_eq!(binomial_interval(1, 2, 1.0), None);
}

#[test]
fn binomial_tails_give_the_known_answers() {
    let file = reference(include_str!("reference/exact.json"));
    for case in cases(&file["binomial"]) {
        let at = |name: &str| case[name].as_u64().unwrap();
        let p = binomial_at_least(at("hits"), at("n"), number(&case["probability"]));
        close_p(p.unwrap(), number(&case["p"]), 1e-9);
    }
    assert_eq!(binomial_at_least(0, 0, 0.5), Some(1.0));
    assert_eq!(binomial_at_least(3, 2, 0.5), Some(0.0));
    assert_eq!(binomial_at_least(1, 2, 1.5), None);
}

#[test]
fn borders() {
    assert_eq!(sign_flip(&[]), None);
    assert_eq!(sign_flip(&[1.0; 21]), None);
    assert_eq!(sign_flip(&[1.0, f64::NAN]), None);
    assert_eq!(sign_flip(&[1.0, f64::INFINITY]), None);
    assert_eq!(sign_flip(&[f64::MAX, f64::MAX]), None);
    assert_eq!(sign_flip(&[0.0; 4]), Some(1.0));
    assert_eq!(sign_flip(&[3.0]), Some(1.0));
    assert_eq!(sign_flip(&[0.1; 20]), Some(2.0 / f64::from(1 << 20)));
    // 0.1 + 0.2 - 0.3 is not 0 in floating point, but ties with it.
    assert_eq!(sign_flip(&[0.1, 0.2, -0.3]), Some(1.0));
    for (a, b, c, d) in
        [(0, 0, 0, 0), (0, 0, 3, 5), (6, 5, 0, 5), (0, 5, 6, 5), (0, u64::MAX, 0, 9)]
    {
        assert_eq!(fisher_exact(a, b, c, d), 1.0);
    }
}

proptest! {
    #[test]
    fn flips_do_not_see_sign_order_or_scale(
        values in proptest::collection::vec(-10.0_f64..10.0, 1..14), factor in 0.01_f64..100.0,
    ) {
        let p = sign_flip(&values).unwrap();
        let turned: Vec<f64> = values.iter().rev().map(|value| -value * factor).collect();
        prop_assert_eq!(sign_flip(&turned), Some(p));
        prop_assert!(p >= 2.0 / f64::from(1_u32 << values.len()).max(2.0) && p <= 1.0);
    }

    #[test]
    fn whole_numbers_tie_exactly(values in proptest::collection::vec(-4_i32..5, 1..10)) {
        let observed = values.iter().sum::<i32>().abs();
        let extreme = (0..1_u32 << values.len())
            .filter(|signs| {
                let sum: i32 = values.iter().enumerate().map(|(i, v)| if signs >> i & 1 == 1 { *v } else { -v }).sum();
                sum.abs() >= observed
            })
            .count();
        let as_floats: Vec<f64> = values.iter().map(|value| f64::from(*value) * 0.1).collect();
        let expected = extreme as f64 / f64::from(1_u32 << values.len());
        prop_assert_eq!(sign_flip(&as_floats), Some(expected));
    }

    #[test]
    fn fisher_does_not_see_which_side_or_outcome_is_which(a in 0_u64..30, b in 0_u64..30, c in 0_u64..30, d in 0_u64..30) {
        let p = fisher_exact(a, a + b, c, c + d);
        close(fisher_exact(c, c + d, a, a + b), p, 1e-9);
        close(fisher_exact(b, a + b, d, c + d), p, 1e-9);
        close(fisher_exact(a, a + c, b, b + d), p, 1e-9);
        prop_assert!(p > 0.0 && p <= 1.0);
    }
}
