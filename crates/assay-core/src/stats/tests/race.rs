//! Eliminations in a race (R15).

use crate::stats::{moderated_variance, normal_mixture_half_width};

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
}

#[test]
fn few_values_lean_on_all_arms_and_many_on_themselves() {
    // (6 x 4 + 2 x 1) / 8, by hand.
    near(moderated_variance(1.0, 3, 4.0), 3.25);
    // One value has no variance of its own.
    near(moderated_variance(9.0, 1, 4.0), 4.0);
    near(moderated_variance(1.0, 0, 4.0), 4.0);
    near(moderated_variance(1.0, 1_000_001, 4.0), 1.000_018);
}

#[test]
fn the_half_width_is_that_of_the_rule() {
    // n = 3, eight arms at 5%: sqrt(0.0018 x 5/9 x (ln 2.5 + 2 ln 140)), by hand.
    near(normal_mixture_half_width(0.0018, 3, 0.05 / 7.0).unwrap(), 0.103_921);
    // n = 20, 32 arms: sqrt(0.0018 x 22/400 x (ln 11 + 2 ln 620)), by hand.
    near(normal_mixture_half_width(0.0018, 20, 0.05 / 31.0).unwrap(), 0.038_865);
    near(normal_mixture_half_width(0.0, 3, 0.05).unwrap(), 0.0);
}

#[test]
fn what_has_no_answer_has_none() {
    assert_eq!(normal_mixture_half_width(1.0, 0, 0.05), None);
    assert_eq!(normal_mixture_half_width(1.0, 3, 0.0), None);
    assert_eq!(normal_mixture_half_width(1.0, 3, 1.0), None);
    assert_eq!(normal_mixture_half_width(f64::NAN, 3, 0.05), None);
    assert_eq!(normal_mixture_half_width(f64::INFINITY, 3, 0.05), None);
}

#[test]
fn it_narrows_with_every_value_and_widens_with_every_arm() {
    let width = |n, alpha| normal_mixture_half_width(1.0, n, alpha).unwrap();
    assert!((1..100).all(|n| width(n + 1, 0.05) < width(n, 0.05)));
    assert!(width(5, 0.05 / 200.0) > width(5, 0.05 / 8.0));
}
