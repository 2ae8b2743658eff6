//! `stopping`.

use crate::stats::{MIXTURE_G, Sample, confidence_sequence_half_width, look_alpha, t_quantile};
use proptest::prelude::*;

use super::common::{cases, close, count, number, reference, share};

#[test]
fn looks_give_the_known_answers() {
    let file = reference(include_str!("reference/stopping.json"));
    let looks = cases(&file["looks"]);
    for case in looks {
        let alpha = look_alpha(0.05, looks.len());
        let t = t_quantile(1.0 - alpha / 2.0, count(&case["n"]) as f64 - 1.0).unwrap();
        close(t, number(&case["t"]), 1e-8);
        close(t, number(&case["text"]), 5.1e-4);
    }
    assert_eq!((look_alpha(0.05, 0), look_alpha(0.05, 1)), (0.05, 0.05));
}

#[test]
fn the_confidence_sequence_gives_the_known_answers() {
    let file = reference(include_str!("reference/stopping.json"));
    for case in cases(&file["half_widths"]) {
        let (alpha, g) = (number(&case["alpha"]), number(&case["g"]));
        let found = confidence_sequence_half_width(count(&case["n"]), alpha, g);
        match case["half"].as_f64() {
            Some(half) => close(found.unwrap(), half, 1e-8),
            None => assert_eq!(found, None, "{case}"),
        }
    }
    for case in cases(&file["r8"]) {
        let found = confidence_sequence_half_width(count(&case["n"]), 0.05, MIXTURE_G);
        match case["half"].as_f64() {
            Some(half) => close(found.unwrap(), half, 5e-7),
            None => assert_eq!(found, None),
        }
    }
    for (n, alpha, g) in
        [(1, 0.05, 0.2), (9, 0.0, 0.2), (9, 1.0, 0.2), (9, 0.05, 0.0), (9, 0.05, f64::INFINITY)]
    {
        assert_eq!(confidence_sequence_half_width(n, alpha, g), None);
    }
}

/// ln of the martingale at `mu` for a sample with mean 0 and standard deviation 1.
fn log_martingale(n: usize, g: f64, mu: f64) -> f64 {
    let n = n as f64;
    let (sum, squares) = (-n * mu, n - 1.0 + n * mu * mu);
    let explained = sum * sum / (n + g);
    0.5 * (g / (n + g)).ln() + n / 2.0 * (squares / (squares - explained)).ln()
}

/// R8's false-positive rate over n = 3 to 100 (.030), and of six interim analyses at alpha / 6 (.035).
#[test]
fn simulation_of_looking_often() {
    let halves: Vec<Option<f64>> =
        (0..=100).map(|n| confidence_sequence_half_width(n, 0.05, MIXTURE_G)).collect();
    let excluded = |values: &[f64], half: f64| {
        let sample = Sample::of(values).unwrap();
        sample.mean.abs() > half * sample.sd.unwrap()
    };
    let open = share(11, 3000, |random| {
        let values = random.normals(100);
        (3..=100).any(|n| halves[n].is_some_and(|half| excluded(&values[..n], half)))
    });
    assert!((0.018..0.042).contains(&open), "{open}");
    let plan = [5, 7, 10, 14, 20, 28];
    let alpha = look_alpha(0.05, plan.len());
    let looks = share(12, 4000, |random| {
        let values = random.normals(28);
        plan.iter().any(|n| Sample::of(&values[..*n]).unwrap().p_value(0.0).unwrap() < alpha)
    });
    assert!((0.025..0.045).contains(&looks), "{looks}");
}

proptest! {
    #[test]
    fn the_half_width_is_where_the_martingale_reaches_its_bound(
        n in 2_usize..500, alpha in 0.001_f64..0.5, g in 0.01_f64..5.0,
    ) {
        let bound = -alpha.ln();
        match confidence_sequence_half_width(n, alpha, g) {
            Some(half) => {
                close(log_martingale(n, g, half), bound, 1e-7);
                prop_assert!(log_martingale(n, g, half * 0.999) < bound);
            }
            None => prop_assert!(log_martingale(n, g, 1e8) < bound + 1e-6),
        }
    }

    #[test]
    fn it_narrows_with_n_and_is_wider_than_one_look(n in 4_usize..300) {
        let half = |n| confidence_sequence_half_width(n, 0.05, MIXTURE_G);
        if let (Some(now), Some(next)) = (half(n), half(n + 1)) {
            prop_assert!(next < now);
            let one_look = Sample { n, mean: 0.0, sd: Some(1.0) }.interval(0.05).unwrap()[1];
            prop_assert!(now > one_look);
        }
        let strict = confidence_sequence_half_width(n, 0.01, MIXTURE_G).unwrap_or(f64::MAX);
        prop_assert!(strict > half(n).unwrap_or(0.0));
    }
}
