//! Conditions for advice.

use assay_study::findings::{AdviceKind, Findings, Trust};

use super::tests::{Study, arm};

const BASE: [f64; 6] = [500.0, 512.0, 495.0, 505.0, 498.0, 503.0];
const NEW: [f64; 6] = [520.0, 540.0, 510.0, 531.0, 515.0, 527.0];

fn scaled(by: f64) -> Vec<f64> {
    BASE.iter()
        .zip([1.0, 0.99, 1.01, 1.0, 1.005, 0.995])
        .map(|(one, turn)| one * by * turn)
        .collect()
}

/// Findings on an arm and its baseline, with or without an A/A control.
fn advised(values: &[f64], control: Option<&[f64]>, change: impl FnOnce(&mut Study)) -> Findings {
    let mut study = Study::of(&[("old", &BASE), ("new", values)]);
    if let Some(values) = control {
        let mut copy = study.measured.series[0].clone();
        copy.control = true;
        for (trial, value) in copy.trials.iter_mut().zip(values) {
            trial.value = Some(*value);
        }
        study.measured.series.push(copy);
    }
    change(&mut study);
    study.findings()
}

fn kinds(found: &Findings) -> Vec<AdviceKind> {
    found.advice.iter().map(|one| one.kind).collect()
}

#[test]
fn a_difference_within_the_noise_floor_advises_nothing() {
    assert_eq!(kinds(&advised(&NEW, None, |_| {})), [AdviceKind::Use]);
    assert_eq!(kinds(&advised(&NEW, Some(&BASE), |_| {})), [AdviceKind::Use]);
    // The A/A control differs as much, significantly or by chance.
    for floor in [scaled(1.06), vec![440.0, 560.0, 450.0, 555.0, 470.0, 530.0]] {
        assert_eq!(kinds(&advised(&NEW, Some(&floor), |_| {})), []);
        let slow = scaled(1.0 / 1.06);
        assert_eq!(kinds(&advised(&slow, Some(&floor), |_| {})), []);
    }
    // An arm beyond the noise floor gets advice.
    let found = advised(&scaled(0.5), Some(&scaled(1.06)), |_| {});
    assert_eq!(kinds(&found), [AdviceKind::Avoid]);
}

#[test]
fn other_work_is_neither_advised_nor_advised_against() {
    let mix = |study: &mut Study| {
        let renamed = |arm: &mut assay_study::results::plan::Arm| {
            *arm =
                std::mem::take(arm).into_values().map(|level| ("mix".to_owned(), level)).collect();
        };
        study.measured.design.factors[0].name = "mix".to_owned();
        renamed(&mut study.measured.design.baseline);
        study.measured.series.iter_mut().for_each(|series| renamed(&mut series.arm));
    };
    for (values, kind) in [(scaled(0.5), AdviceKind::Avoid), (scaled(2.0), AdviceKind::Use)] {
        assert!(kinds(&advised(&values, None, |_| {})).contains(&kind));
        let found = advised(&values, None, mix);
        assert_eq!(kinds(&found), []);
        assert_eq!(found.comparisons.len(), 1, "it is compared all the same");
    }
}

#[test]
fn against_is_what_is_worse_by_more_than_the_margin() {
    let slow = scaled(0.93);
    assert_eq!(kinds(&advised(&slow, None, |_| {})), [AdviceKind::Avoid]);
    let wide = |study: &mut Study| study.measured.design.margin = Some(0.1);
    assert_eq!(kinds(&advised(&slow, None, wide)), []);
}

#[test]
fn invalid_numbers_advise_nothing_and_suspect_ones_say_so() {
    for values in [scaled(0.5), scaled(2.0)] {
        let judged = |trust| {
            advised(&values, None, move |study: &mut Study| {
                study.measured.series[1].trust = Some(trust);
            })
        };
        assert_eq!(kinds(&judged(Trust::Invalid)), []);
        let suspect = judged(Trust::Suspect);
        assert!(!suspect.advice.is_empty());
        assert!(suspect.advice.iter().all(|one| one.text.contains("suspect")), "{suspect:?}");
    }
}

/// A level that is better at one level of another factor and worse at the next is not to avoid, whatever its mean: only
/// the arm in which it is worse is.
#[test]
fn a_level_is_advised_against_where_it_is_worse_everywhere() {
    let grid = |last: f64| {
        let values = [scaled(1.0), scaled(2.0), scaled(0.3), scaled(2.0 * last)];
        let arms: Vec<(&str, &[f64])> =
            ["a", "b", "c", "d"].into_iter().zip(values.iter().map(Vec::as_slice)).collect();
        let mut study = Study::of(&arms);
        let levels = [("ext4", "1"), ("ext4", "2"), ("xfs", "1"), ("xfs", "2")];
        for (series, (kind, threads)) in study.measured.series.iter_mut().zip(levels) {
            series.arm = arm(&[("filesystem", kind), ("threads", threads)]);
        }
        let factor = |name: &str, levels: [&str; 2]| assay_study::results::design::Factor {
            name: name.to_owned(),
            levels: levels.map(str::to_owned).to_vec(),
        };
        study.measured.design.factors =
            vec![factor("filesystem", ["ext4", "xfs"]), factor("threads", ["1", "2"])];
        study.measured.design.baseline = arm(&[("filesystem", "ext4")]);
        let found = study.findings();
        let worse: Vec<String> = found
            .advice
            .iter()
            .filter(|one| one.kind == AdviceKind::Avoid)
            .flat_map(|one| one.evidence.clone())
            .collect();
        worse
    };
    assert_eq!(grid(0.7), ["work:iops:filesystem=xfs"]);
    assert_eq!(grid(1.2), ["work:iops:filesystem=xfs,threads=1"]);
}

/// Queues of three lengths, the shortest as the baseline; with tail latencies if given.
fn queues(means: [f64; 3], tails: Option<[f64; 3]>) -> Findings {
    let values = means.map(scaled);
    let mut study = Study::of(&[("1", &values[0]), ("8", &values[1]), ("16", &values[2])]);
    let rates = study.measured.series.clone();
    for (series, tail) in rates.iter().zip(tails.iter().flatten()) {
        let mut latency = series.clone();
        "latency_p99_ns".clone_into(&mut latency.metric);
        (latency.primary, latency.better) = (false, assay_core::quantity::Better::Lower);
        for (trial, value) in latency.trials.iter_mut().zip(scaled(tail / 500.0)) {
            trial.value = Some(1000.0 * value);
        }
        study.measured.series.push(latency);
    }
    study.findings()
}

fn used(found: &Findings) -> String {
    let mut used = found.advice.iter().filter(|one| one.kind == AdviceKind::Use);
    let first = used.next().map(|one| one.sentence.clone()).unwrap_or_default();
    assert!(used.next().is_none());
    first
}

#[test]
fn of_arms_that_do_as_much_the_smallest_is_advised() {
    let found = queues([0.5, 0.995, 1.0], Some([100.0, 390.0, 499.0]));
    let text = used(&found);
    assert!(text.starts_with("work: use setting 8 (candidate)"), "{text}");
    let tail = "; the difference from setting 16 is within the margin, with a p99 of 392 us instead of 501 us.";
    assert!(text.ends_with(tail), "{text}");
    assert_eq!(found.advice[0].evidence, ["work:iops:setting=8"]);
    // A tail that is not significantly shorter is not mentioned.
    let text = used(&queues([0.5, 0.995, 1.0], Some([100.0, 499.0, 499.0])));
    assert!(text.ends_with("; the difference from setting 16 is within the margin."), "{text}");
}

#[test]
fn a_smaller_level_that_does_less_is_not_advised() {
    let text = used(&queues([0.5, 0.9, 1.0], None));
    assert!(text.starts_with("work: use setting 16, the largest tried,"), "{text}");
    assert!(!text.contains("difference"), "{text}");
    // A larger arm that performs like the best is not a reason either.
    let text = used(&queues([0.5, 1.0, 0.995], None));
    assert!(text.starts_with("work: use setting 8") && !text.contains("difference"), "{text}");
}
