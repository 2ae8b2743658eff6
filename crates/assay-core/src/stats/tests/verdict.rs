//! `verdict`.

use crate::stats::{Sample, StatVerdict, judge, log_ratios};
use proptest::prelude::*;

use super::common::share;

const MARGIN: f64 = 0.05;

fn verdict(
    interval: [f64; 2],
    equivalence: [f64; 2],
    higher_is_better: bool,
) -> (StatVerdict, bool) {
    let found = judge(interval, equivalence, MARGIN, higher_is_better);
    (found.verdict, found.within_margin)
}

#[test]
fn the_table_of_verdicts() {
    use StatVerdict::{Better, Equivalent, Inconclusive, Worse};
    let (small, large) = ([0.01, 0.03], [0.01, 0.06]);
    for (interval, equivalence, expected) in [
        ([0.01, 0.07], large, (Better, false)),
        ([0.005, 0.045], small, (Better, true)),
        ([-0.07, -0.01], [-0.06, -0.01], (Worse, false)),
        ([-0.04, -0.01], [-0.03, -0.01], (Worse, true)),
        // The equivalence interval decides, not the wider family interval.
        ([0.005, 0.06], small, (Better, true)),
        ([-0.06, 0.04], [-0.04, 0.03], (Equivalent, false)),
        ([-0.06, 0.06], [-0.05, 0.05], (Inconclusive, false)),
        ([0.0, 0.04], [0.001, 0.03], (Equivalent, false)),
        ([0.0, 0.0], [0.0, 0.0], (Equivalent, false)),
        ([0.01, 0.01], [0.01, 0.01], (Better, true)),
        ([f64::NAN, f64::NAN], [f64::NAN, f64::NAN], (Inconclusive, false)),
    ] {
        assert_eq!(verdict(interval, equivalence, true), expected, "{interval:?}");
        let mirrored = match expected.0 {
            Better => Worse,
            Worse => Better,
            other => other,
        };
        assert_eq!(verdict(interval, equivalence, false), (mirrored, expected.1), "{interval:?}");
    }
    for margin in [0.0, -1.0, f64::NAN] {
        assert_eq!(judge([-1.0, 1.0], [0.0, 0.0], margin, true).verdict, Inconclusive);
    }
}

#[test]
fn the_known_answers_of_the_protocol() {
    let base = [500.0, 512.0, 495.0, 505.0, 498.0];
    let judged = |arm: &[f64], margin: f64| {
        let sample = Sample::of(&log_ratios(&base, arm).unwrap()).unwrap();
        judge(sample.interval(0.05).unwrap(), sample.interval(0.1).unwrap(), margin, true)
    };
    let found = judged(&[520.0, 540.0, 510.0, 531.0, 515.0], 0.05);
    assert_eq!((found.verdict, found.within_margin), (StatVerdict::Better, false));
    let near = [502.0, 509.0, 497.0, 506.0, 495.0];
    for (margin, expected) in [
        (0.05, StatVerdict::Equivalent),
        (0.01, StatVerdict::Equivalent),
        (0.005, StatVerdict::Inconclusive),
    ] {
        assert_eq!(judged(&near, margin).verdict, expected);
    }
}

/// S1, S3, S5 and S6 of the protocol on normal log differences, one comparison, n = 5.
#[test]
fn simulation_of_one_comparison() {
    let sd = 0.01;
    let rate = |seed: u64, mean: f64, margin: f64, wanted: &[StatVerdict]| {
        share(seed, 4000, |random| {
            let logs: Vec<f64> = (0..5).map(|_| mean + sd * random.normal()).collect();
            let sample = Sample::of(&logs).unwrap();
            let [interval, inner] = [0.05, 0.1].map(|alpha| sample.interval(alpha).unwrap());
            wanted.contains(&judge(interval, inner, margin, true).verdict)
        })
    };
    let two_sd = (2.0 * sd).exp_m1();
    let false_positives = rate(1, 0.0, 0.05, &[StatVerdict::Better, StatVerdict::Worse]);
    assert!((0.03..=0.072).contains(&false_positives), "{false_positives}");
    let found = rate(2, 2.0 * sd, 0.05, &[StatVerdict::Better]);
    assert!(found >= 0.87, "{found}");
    assert_eq!(rate(3, 2.0 * sd, 0.05, &[StatVerdict::Worse]), 0.0);
    let wrongly_equivalent = rate(4, two_sd.ln_1p(), two_sd, &[StatVerdict::Equivalent]);
    assert!(wrongly_equivalent <= 0.072, "{wrongly_equivalent}");
    let equivalent = rate(5, 0.0, two_sd, &[StatVerdict::Equivalent]);
    assert!(equivalent >= 0.87, "{equivalent}");
}

proptest! {
    #[test]
    fn mirroring_swaps_better_and_worse(ends in (-0.2_f64..0.2, 0.0_f64..0.2), share in 0.0_f64..1.0) {
        let interval = [ends.0, ends.0 + ends.1];
        let centre = f64::midpoint(interval[0], interval[1]);
        let inner = interval.map(|end| centre + (end - centre) * share);
        let mirrored = |[low, high]: [f64; 2]| [-high, -low];
        let up = verdict(interval, inner, true);
        prop_assert_eq!(verdict(mirrored(interval), mirrored(inner), false), up);
        let excludes = interval[0] > 0.0 || interval[1] < 0.0;
        prop_assert_eq!(matches!(up.0, StatVerdict::Better | StatVerdict::Worse), excludes);
        prop_assert!(excludes || !up.1);
    }
}
