//! `welch`.

use crate::stats::{Sample, log_ratios, welch};
use proptest::prelude::*;

use super::common::{both_close, cases, close, close_p, count, exp, number, numbers, reference};

fn sample(values: &[f64]) -> Sample {
    Sample::of(values).unwrap()
}

#[test]
fn welch_gives_the_known_answers() {
    let file = reference(include_str!("reference/welch.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let (first, second) = (numbers(&case["first"]), numbers(&case["second"]));
        let found = welch(&sample(&first), &sample(&second)).unwrap();
        close(found.difference, number(&case["difference"]), tolerance);
        close(found.degrees_of_freedom, number(&case["df"]), tolerance);
        close_p(found.p, number(&case["p"]), tolerance);
        let expected = [number(&case["low"]), number(&case["high"])];
        both_close(found.interval(number(&case["alpha"])).unwrap(), expected, tolerance);
    }
    for case in cases(&file["summaries"]) {
        let side = |n: &str, mean: &str, sd: &str| Sample {
            n: count(&case[n]),
            mean: number(&case[mean]),
            sd: Some(number(&case[sd])),
        };
        let found = welch(&side("n1", "mean1", "sd1"), &side("n2", "mean2", "sd2")).unwrap();
        close(found.degrees_of_freedom, number(&case["df"]), tolerance);
        close(found.standard_error, number(&case["standard_error"]), tolerance);
        close_p(found.p, number(&case["p"]), tolerance);
    }
}

#[test]
fn pairing_buys_what_the_protocol_says() {
    let file = reference(include_str!("reference/welch.json"));
    let r4 = &file["r4"];
    let logs = |name: &str| -> Vec<f64> { numbers(&r4[name]).into_iter().map(f64::ln).collect() };
    let found = welch(&sample(&logs("baseline")), &sample(&logs("arm"))).unwrap();
    let interval = exp(found.interval(0.05).unwrap());
    both_close(interval, [number(&r4["low"]), number(&r4["high"])], 5e-7);
    close(found.degrees_of_freedom, number(&r4["df"]), 5e-5);
    close(found.p, number(&r4["p"]), 5e-7);
    let paired = sample(&log_ratios(&numbers(&r4["baseline"]), &numbers(&r4["arm"])).unwrap());
    let [low, high] = paired.interval(0.05).unwrap();
    assert!(high - low < 0.5 * (interval[1].ln() - interval[0].ln()));
}

#[test]
fn samples_without_an_answer_get_none() {
    let (one, flat, usual) = (sample(&[1.0]), sample(&[2.0, 2.0]), sample(&[1.0, 2.0, 4.0]));
    assert_eq!(welch(&one, &usual), None);
    assert_eq!(welch(&usual, &one), None);
    assert_eq!(welch(&flat, &flat), None);
    assert!(welch(&flat, &usual).is_some());
    assert_eq!(welch(&flat, &usual).unwrap().interval(0.0), None);
}

proptest! {
    #[test]
    fn swapping_negates_and_scaling_carries_through(
        first in proptest::collection::vec(0.0_f64..100.0, 2..12),
        second in proptest::collection::vec(0.0_f64..100.0, 2..12),
        factor in 0.01_f64..100.0,
    ) {
        let larger = |values: &[f64]| sample(&values.iter().map(|value| value * factor).collect::<Vec<_>>());
        let there = welch(&sample(&first), &sample(&second)).unwrap();
        let back = welch(&sample(&second), &sample(&first)).unwrap();
        let scaled = welch(&larger(&first), &larger(&second)).unwrap();
        close(there.difference, -back.difference, 1e-12);
        close(there.p, back.p, 1e-9);
        close(scaled.difference, there.difference * factor, 1e-9);
        close(scaled.degrees_of_freedom, there.degrees_of_freedom, 1e-6);
        let (low, high) = ((first.len().min(second.len()) - 1) as f64, (first.len() + second.len() - 2) as f64);
        prop_assert!(there.degrees_of_freedom >= low - 1e-9 && there.degrees_of_freedom <= high + 1e-9);
        let interval = there.interval(0.05).unwrap();
        prop_assert!(interval[0] <= there.difference && there.difference <= interval[1]);
    }
}
