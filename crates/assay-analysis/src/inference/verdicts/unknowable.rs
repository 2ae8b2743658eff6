//! Questions that replicates cannot decide: metrics without a direction, and differences within a clock step.

use std::collections::BTreeSet;

use assay_core::{quantity::direction::is_time, stats::Sample};
use assay_study::findings::{Comparison, Verdict, notes::Note};
use assay_study::results::design::Design;
use assay_workloads::metrics::is_told;

use super::arms::{Question, Runs};
use super::{comparisons::withdraw, words};

const MOST_DECIMALS: i32 = 9;
/// Larger values are already rounded to whole numbers.
const LARGEST: f64 = 9e15;

/// Withdraws verdicts on metrics without a known direction, and on differences within one step of the clock.
pub(super) fn judge(design: &Design, questions: &[Question<'_>], comparisons: &mut [Comparison]) {
    for question in questions {
        let step = clock_step(question);
        for one in comparisons.iter_mut() {
            if one.workload != question.workload || one.metric != question.metric {
                continue;
            }
            let metric = one.metric.clone();
            if !one.better.is_known() {
                withdraw_for(design, one, Note::NoDirection { metric });
            } else if let Some(step) = step.filter(|step| is_rounding(question, one, *step)) {
                withdraw_for(design, one, Note::CoarseClock { metric, step });
            }
        }
    }
}

/// Adds the note to a comparison, which makes its verdict inconclusive.
fn withdraw_for(design: &Design, one: &mut Comparison, note: Note) {
    let words = words::note(&note, ["", ""]);
    if one.verdict.is_some() {
        withdraw(one);
        if design.order.tells_arms_from_time() {
            one.text = words::without_verdict(one, design, &words);
        }
    }
    one.add(note, words);
}

/// Why a comparison cannot be decided, if a remark says so.
pub(crate) fn why_undecidable(note: &Note) -> Option<String> {
    let is_undecidable = matches!(note, Note::NoDirection { .. } | Note::CoarseClock { .. });
    is_undecidable.then(|| words::note(note, ["", ""]))
}

fn counted_values(runs: &Runs<'_>) -> Vec<f64> {
    let counts = runs.trials.iter().filter(|trial| trial.status.counts());
    counts.filter_map(|trial| trial.value).collect()
}

/// The resolution of a clock, by the largest common divisor of the printed times; `None` for Assay's own clocks.
fn clock_step(question: &Question<'_>) -> Option<f64> {
    let is_printed = question.arms.iter().all(|runs| runs.trust.is_none());
    if !is_time(question.metric) || !(is_printed || is_told(question.metric)) {
        return None;
    }
    let times: Vec<f64> = question.arms.iter().flat_map(counted_values).collect();
    for decimals in 0..=MOST_DECIMALS {
        let scale = 10_f64.powi(decimals);
        let scaled: Vec<f64> = times.iter().map(|time| time * scale).collect();
        if scaled.iter().any(|value| *value > LARGEST) {
            return None;
        }
        // The product of a decimal number and a power of ten is not exact.
        if scaled.iter().all(|value| (value - value.round()).abs() < 1e-6) {
            let whole: BTreeSet<u64> = scaled.iter().map(|value| value.round() as u64).collect();
            // A single value shows no step.
            let step = whole.iter().copied().reduce(common_divisor).filter(|_| whole.len() > 1)?;
            return Some(step as f64 / scale);
        }
    }
    None
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Whether rounding explains a comparison: means within one step, and too little variation for a mean between steps.
fn is_rounding(question: &Question<'_>, one: &Comparison, step: f64) -> bool {
    let sides = [&one.baseline, &one.configuration]
        .map(|arm| Sample::of(&counted_values(question.find(arm)?)));
    let [Some(baseline), Some(arm)] = sides else { return false };
    let is_constant = |side: &Sample| side.sd.is_some_and(|sd| sd < step / 2.0);
    let has_direction = matches!(one.verdict, Some(Verdict::Better | Verdict::Worse));
    let is_coarse = step > one.margin.unwrap_or_default() * baseline.mean;
    // Slightly more than a step: the means are sums of rounded numbers.
    (baseline.mean - arm.mean).abs() <= step * (1.0 + 1e-9)
        && (is_constant(&baseline) || is_constant(&arm))
        && (has_direction || is_coarse)
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Better;
    use assay_study::findings::Findings;
    use assay_study::findings::gate::GateEnd;
    use assay_study::results::design::Gate;

    use super::super::tests::Study;
    use super::*;

    fn study(metric: &str, better: Better, sides: [&[f64]; 2]) -> Study {
        let mut study = Study::of(&[("old", sides[0]), ("new", sides[1])]);
        for series in &mut study.measured.series {
            metric.clone_into(&mut series.metric);
            (series.better, series.trust) = (better, None);
        }
        study
    }

    fn verdict(found: &Findings) -> (Option<Verdict>, String) {
        let one = &found.comparisons[0];
        (one.verdict, one.text.clone())
    }

    const OLD: [f64; 6] = [100.0, 101.3, 99.2, 100.4, 99.7, 100.9];
    const NEW: [f64; 6] = [50.0, 50.3, 49.2, 50.1, 49.7, 50.9];

    #[test]
    fn unknown_direction_gets_ratio_without_verdict() {
        for (metric, option) in [
            ("widgets/s", "--better widgets/s=higher"),
            ("reported_score", "--parse FORMAT::higher"),
            ("queue_length", "--better queue_length=higher"),
        ] {
            let found = study(metric, Better::Unknown, [&OLD, &NEW]).findings();
            let one = &found.comparisons[0];
            assert_eq!(one.verdict, Some(Verdict::Inconclusive), "{metric}");
            assert!(one.ratio.is_some_and(|ratio| (ratio - 0.5).abs() < 0.01), "{:?}", one.ratio);
            assert!(one.text.contains("no verdict: the better direction"), "{}", one.text);
            assert!(one.text.contains(option), "{}", one.text);
            assert!(
                found.advice.is_empty() && found.effects.ranks.is_empty(),
                "{:?}",
                found.advice
            );
            assert!(found.checks.iter().all(|check| check.name != "invalid"));
        }
        for better in [Better::Higher, Better::Lower] {
            let found = study("widgets/s", better, [&OLD, &NEW]).findings();
            let expected = if better == Better::Lower { Verdict::Better } else { Verdict::Worse };
            assert_eq!(found.comparisons[0].verdict, Some(expected));
        }
    }

    #[test]
    fn gate_is_inconclusive_without_direction() {
        let ended = |better| {
            let mut study = study("widgets/s", better, [&OLD, &NEW]);
            study.measured.design.gate = Some(Gate {
                max_regression: 0.05,
                more: None,
                must_detect: None,
                metric: None,
                until_decided: false,
                allow_inconclusive: false,
            });
            study.findings().answers.gate.unwrap()
        };
        assert_eq!(ended(Better::Higher).outcome, GateEnd::Fail);
        assert_eq!(ended(Better::Lower).outcome, GateEnd::Pass);
        let unknown = ended(Better::Unknown);
        assert_eq!(unknown.outcome, GateEnd::Inconclusive);
        assert!(unknown.text.contains("--better widgets/s=higher"), "{}", unknown.text);
    }

    #[test]
    fn difference_of_one_clock_step_gets_no_verdict() {
        let still = [80.0; 6];
        for (sides, step) in [
            ([&[70.0, 70.0, 70.0, 70.0, 80.0, 70.0][..], &still[..]], "10"),
            ([&[0.1; 6][..], &[0.2; 6][..]], "0.1"),
            ([&[3.0, 3.0, 3.0, 4.0][..], &[4.0; 4][..]], "1"),
            ([&[15.625; 5][..], &[31.25, 31.25, 31.25, 31.25, 15.625][..]], "15.6"),
        ] {
            let (verdict, text) = verdict(&study("parse_ms", Better::Lower, sides).findings());
            assert_eq!(verdict, Some(Verdict::Inconclusive), "{text}");
            assert!(text.contains(&format!("resolution of {step} (parse_ms)")), "{text}");
        }
    }

    #[test]
    fn finer_clocks_and_counts_get_their_verdict() {
        let worse = |metric: &str, better, sides| {
            let (verdict, text) = verdict(&study(metric, better, sides).findings());
            assert_eq!(verdict, Some(Verdict::Worse), "{metric}: {text}");
        };
        // More than a step apart; and counts, which have no clock.
        worse("parse_ms", Better::Lower, [&[70.0; 6], &[90.0, 90.0, 90.0, 90.0, 100.0, 90.0]]);
        worse("allocs/op", Better::Lower, [&[3.0; 6], &[4.0; 6]]);
        worse("errors", Better::Lower, [&[70.0, 70.0, 70.0, 70.0, 80.0, 70.0], &[80.0; 6]]);
        // Less than a step apart, but the variation averages out the steps.
        let wide = |by: f64| -> Vec<f64> {
            (0..40)
                .map(|at| 100.0 + f64::from(at % 5) + if at % 5 < 4 { by } else { 0.0 })
                .collect()
        };
        worse("parse_ms", Better::Lower, [&wide(0.0), &wide(1.0)]);
    }

    #[test]
    fn our_own_clock_is_not_doubted() {
        let mut study = study("duration_s", Better::Lower, [&[0.1; 6], &[0.2; 6]]);
        for series in &mut study.measured.series {
            series.trust = Some(assay_study::findings::Trust::Trusted);
        }
        assert_eq!(study.findings().comparisons[0].verdict, Some(Verdict::Worse));
    }
}
