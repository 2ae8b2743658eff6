//! `sample` and `interval`.

use crate::stats::{Sample, log_ratios, paired_ratio, t_quantile};
use proptest::prelude::*;

use super::common::{both_close, cases, close, close_p, count, exp, number, numbers, reference};

#[test]
fn samples_give_the_known_answers() {
    let file = reference(include_str!("reference/sample.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let sample = Sample::of(&numbers(&case["values"])).unwrap();
        close(sample.mean, number(&case["mean"]), tolerance);
        close(sample.sd.unwrap(), number(&case["sd"]), tolerance);
        let alpha = number(&case["alpha"]);
        let expected = [number(&case["low"]), number(&case["high"])];
        both_close(sample.interval(alpha).unwrap(), expected, tolerance);
        let t = t_quantile(1.0 - alpha / 2.0, (sample.n - 1) as f64).unwrap();
        both_close(sample.interval_with(t).unwrap(), expected, tolerance);
        close_p(sample.p_value(number(&case["null"])).unwrap(), number(&case["p"]), tolerance);
    }
}

#[test]
fn t_quantiles_give_the_known_answers() {
    let file = reference(include_str!("reference/sample.json"));
    for case in cases(&file["quantiles"]) {
        let found = t_quantile(number(&case["p"]), number(&case["df"])).unwrap();
        close(found, number(&case["t"]), 2e-8);
    }
    for case in cases(&file["half_widths_in_sd"]) {
        let sample = Sample { n: count(&case["n"]), mean: 0.0, sd: Some(1.0) };
        let [_, half] = sample.interval(0.05).unwrap();
        close(half, number(&case["half"]), 1e-9);
        close(half, number(&case["text"]), 5.1e-3);
    }
}

#[test]
fn the_first_known_answer_of_the_protocol() {
    let file = reference(include_str!("reference/sample.json"));
    let r4 = &file["r4"];
    let logs = log_ratios(&numbers(&r4["baseline"]), &numbers(&r4["arm"])).unwrap();
    let sample = Sample::of(&logs).unwrap();
    close(sample.mean.exp(), number(&r4["ratio"]), 5e-7);
    close(sample.sd.unwrap(), number(&r4["sd"]), 5e-7);
    close(sample.p_value(0.0).unwrap(), number(&r4["p"]), 5e-10);
    for (alpha, name) in [(0.05, "ci95"), (0.1, "ci90")] {
        let expected = numbers(&r4[name]);
        both_close(exp(sample.interval(alpha).unwrap()), [expected[0], expected[1]], 5e-7);
    }
}

#[test]
fn samples_without_an_answer_get_none() {
    for bad in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[f64::MAX, f64::MAX]] {
        assert_eq!(Sample::of(bad), None);
    }
    assert_eq!(Sample::of(&[3.0]), Some(Sample { n: 1, mean: 3.0, sd: None }));
    let two = Sample::of(&[1.0, 2.0]).unwrap();
    assert_eq!((two.interval(0.05), two.interval_with(2.0), two.p_value(0.0)), (None, None, None));
    let three = Sample::of(&[1.0, 2.0, 4.0]).unwrap();
    for alpha in [0.0, 2.0, -0.1, f64::NAN] {
        assert_eq!(three.interval(alpha), None);
    }
    for t in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(three.interval_with(t), None);
    }
    assert_eq!(three.p_value(f64::NAN), None);
    assert_eq!(Sample { n: 3, mean: f64::NAN, sd: Some(1.0) }.p_value(0.0), None);
    for (p, df) in [(0.0, 3.0), (1.0, 3.0), (f64::NAN, 3.0), (0.5, 0.0), (0.5, f64::NAN)] {
        assert_eq!(t_quantile(p, df), None);
    }
    assert_eq!(log_ratios(&[1.0], &[1.0, 2.0]), None);
    assert_eq!(log_ratios(&[1.0], &[0.0]), None);
    assert_eq!(log_ratios(&[], &[]), Some(Vec::new()));
    assert_eq!(paired_ratio(&[1e-300], &[1e300]), None);
}

#[test]
fn a_sample_without_scatter_is_certain() {
    let flat = Sample::of(&[0.1, 0.1, 0.1]).unwrap();
    assert_eq!(flat.sd, Some(0.0));
    assert_eq!(flat.interval(0.05), Some([0.1, 0.1]));
    assert_eq!((flat.p_value(0.1), flat.p_value(0.2)), (Some(1.0), Some(0.0)));
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-1e3_f64..1e3, 3..30)
}

proptest! {
    #[test]
    fn shifting_and_scaling_carry_through(values in values(), by in -1e3_f64..1e3, factor in 0.01_f64..100.0) {
        let moved: Vec<f64> = values.iter().map(|value| value * factor + by).collect();
        let (before, after) = (Sample::of(&values).unwrap(), Sample::of(&moved).unwrap());
        close(after.mean, before.mean * factor + by, 1e-9);
        close(after.sd.unwrap(), before.sd.unwrap() * factor, 1e-9);
        close(after.p_value(by).unwrap(), before.p_value(0.0).unwrap(), 1e-6);
    }

    #[test]
    fn the_interval_holds_the_mean_and_grows_with_confidence(values in values()) {
        let sample = Sample::of(&values).unwrap();
        let (wide, narrow) = (sample.interval(0.01).unwrap(), sample.interval(0.2).unwrap());
        prop_assert!(wide[0] <= narrow[0] && narrow[0] <= sample.mean);
        prop_assert!(sample.mean <= narrow[1] && narrow[1] <= wide[1]);
    }

    #[test]
    fn p_is_below_alpha_where_the_interval_excludes(values in values(), null in -100.0_f64..100.0) {
        let sample = Sample::of(&values).unwrap();
        let [low, high] = sample.interval(0.05).unwrap();
        let p = sample.p_value(null).unwrap();
        prop_assume!((p - 0.05).abs() > 1e-9);
        prop_assert_eq!(p < 0.05, null < low || high < null);
    }

    #[test]
    fn swapping_negates_log_ratios(pairs in proptest::collection::vec((0.1_f64..1e6, 0.1_f64..1e6), 1..9)) {
        let (base, arm): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (there, back) = (log_ratios(&base, &arm).unwrap(), log_ratios(&arm, &base).unwrap());
        prop_assert!(there.iter().zip(back).all(|(one, other)| *one == -other));
    }

    #[test]
    fn t_quantiles_mirror_and_rise(p in 0.001_f64..0.499, df in 1.0_f64..500.0) {
        let (low, high) = (t_quantile(p, df).unwrap(), t_quantile(1.0 - p, df).unwrap());
        close(low, -high, 1e-9);
        prop_assert!(t_quantile(p + 0.001, df).unwrap() > low);
    }
}
