//! `equivalence`.

use crate::stats::{Sample, log_ratios, tost};
use proptest::prelude::*;

use super::common::{both_close, cases, close, close_p, number, numbers, reference};

#[test]
fn equivalence_gives_the_known_answers() {
    let file = reference(include_str!("reference/equivalence.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let logs = log_ratios(&numbers(&case["baseline"]), &numbers(&case["arm"])).unwrap();
        let (margin, alpha) = (number(&case["margin"]), number(&case["alpha"]));
        let found = tost(&Sample::of(&logs).unwrap(), margin, alpha).unwrap();
        close_p(found.p, number(&case["p"]), tolerance);
        both_close(found.interval, [number(&case["low"]), number(&case["high"])], tolerance);
        assert_eq!(found.holds, case["holds"].as_bool().unwrap());
    }
    for case in cases(&file["r6"]) {
        let logs = log_ratios(&numbers(&file["baseline"]), &numbers(&case["arm"])).unwrap();
        let found = tost(&Sample::of(&logs).unwrap(), number(&case["margin"]), 0.05).unwrap();
        let expected = number(&case["p"]);
        close(found.p / expected, 1.0, 4e-3);
        assert_eq!(found.holds, expected < 0.05);
    }
}

#[test]
fn borders() {
    let sample = Sample::of(&[0.01, -0.01, 0.0, 0.02]).unwrap();
    for margin in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(tost(&sample, margin, 0.05), None);
    }
    for alpha in [0.0, 0.5, 0.9, f64::NAN] {
        assert_eq!(tost(&sample, 0.05, alpha), None);
    }
    assert_eq!(tost(&Sample::of(&[0.0, 0.1]).unwrap(), 0.05, 0.05), None);
    let flat = |mean: f64| tost(&Sample { n: 3, mean, sd: Some(0.0) }, 0.05, 0.05).unwrap();
    assert_eq!((flat(0.01).p, flat(0.01).holds), (0.0, true));
    assert_eq!((flat(0.06).p, flat(0.06).holds), (1.0, false));
    assert_eq!((flat(0.05_f64.ln_1p()).p, flat(0.05_f64.ln_1p()).holds), (1.0, false));
}

proptest! {
    #[test]
    fn it_holds_where_the_interval_is_inside(
        values in proptest::collection::vec(-0.1_f64..0.1, 3..12), margin in 0.001_f64..0.3, alpha in 0.001_f64..0.3,
    ) {
        let sample = Sample::of(&values).unwrap();
        let found = tost(&sample, margin, alpha).unwrap();
        prop_assume!((found.p - alpha).abs() > 1e-9);
        prop_assert_eq!(found.holds, found.p < alpha);
        both_close(found.interval, sample.interval(2.0 * alpha).unwrap(), 1e-12);
        let mirrored = Sample { mean: -sample.mean, ..sample };
        close(tost(&mirrored, margin, alpha).unwrap().p, found.p, 1e-12);
        prop_assert!(tost(&sample, 2.0 * margin, alpha).unwrap().p <= found.p);
    }
}
