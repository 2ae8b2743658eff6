//! Rule `unequal-load`: a difference in the live load may explain a difference between levels.

use assay_core::quantity::metric::{self, Statistic};
use assay_core::{catalogue::About, stats::Sample};
use assay_study::findings::{Check, Comparison, Verdict, notes::Note};
use assay_study::results::design::Design;

use super::arms::{Question, Runs};
use super::comparisons::{IntervalBounds, withdraw};
use super::{is_gated, pairs::pairs, words};

pub(super) static ABOUT: About = About {
    name: "unequal-load",
    summary: "the load differed between two levels and may explain the difference",
    text: "Applies to live workloads (`production`), to each request class separately. Assay compares the served rates \
           (requests and bytes per second) between the levels like latency: paired, with simultaneous 95% CIs for all \
           comparisons of the workload. Better latency with a significantly lower rate, or worse latency with a \
           significantly higher one, gets no verdict, because fewer requests complete sooner. Better latency with a \
           rate that is not lower keeps its verdict, as does worse latency with a rate that is not higher. \
           Equivalence requires equal rates: the CI of the rate ratio is within the margin.",
};

const RATES: [Statistic; 2] = [Statistic::Rate, Statistic::Bytes];
const EQUAL_LOAD_MARGIN: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadDirection {
    Lower,
    Higher,
}

/// Withdraws verdicts on production work if the load differed between the arms; the note also informs the gate.
pub(super) fn withdraw_for_load(
    design: &Design,
    questions: &[Question<'_>],
    live: &[String],
    comparisons: &mut [Comparison],
) {
    for one in comparisons {
        let is_live = one.class_of.as_ref().is_some_and(|workload| live.contains(workload));
        if !is_live || !one.primary && !is_gated(design, &one.metric, one.primary) {
            continue;
        }
        if let Some(note) = load_difference(design, questions, one) {
            withdraw(one);
            add_note(one, note);
            one.text = words::without_verdict(one, design, &unequal_load(one).unwrap_or_default());
        }
    }
}

/// A note on the rate whose difference may explain a verdict: of several, the one that differs most.
fn load_difference(design: &Design, questions: &[Question<'_>], one: &Comparison) -> Option<Note> {
    let (class, statistic) = metric::class(&one.metric)?;
    // A gate also judges without a verdict, and a different load may hide a loss; for a rate it judges the load itself.
    let is_gated = is_gated(design, &one.metric, one.primary) && !RATES.contains(&statistic);
    let verdict = one.verdict.filter(|verdict| *verdict != Verdict::Inconclusive);
    let verdict = verdict.or(is_gated.then_some(Verdict::Equivalent))?;
    let of_workload = || questions.iter().filter(|question| question.workload == one.workload);
    let primary = of_workload().find(|question| question.primary)?;
    let has_baseline = |arm: &&Runs<'_>| primary.baseline_of(design, arm.arm).is_some();
    // The rates have the simultaneous CI of the verdict.
    let family = primary.arms.iter().filter(has_baseline).count() * primary.sharing;
    let rates = RATES.into_iter().filter_map(|statistic| {
        let rate = metric::of_requests(class, statistic)?;
        let of_rate = of_workload().find(|question| question.metric == rate.name)?;
        let (baseline, arm) = (of_rate.find(&one.baseline)?, of_rate.find(&one.configuration)?);
        let sample = Sample::of(&pairs(baseline, arm).differences())?;
        let bounds = IntervalBounds::new(design, family, rate.better);
        let ends = bounds.intervals(&sample)[1]?.map(f64::exp);
        rate_difference(rate.name, sample.mean.exp(), ends, design.margin.unwrap_or_default())
    });
    largest_explanation(rates, verdict)
}

/// The direction and size of a significant difference in a rate, and the note on it; `None` if the rates may be equal.
fn rate_difference(
    metric: &str,
    ratio: f64,
    ends: [f64; 2],
    margin: f64,
) -> Option<(LoadDirection, f64, Note)> {
    let [low, high] = ends;
    // Loads within the margin count as equal.
    if low > 1.0 / (1.0 + margin) && high < 1.0 + margin {
        return None;
    }
    let direction = if high < 1.0 {
        LoadDirection::Lower
    } else if low > 1.0 {
        LoadDirection::Higher
    } else {
        return None;
    };
    let note = Note::UnequalLoad { metric: metric.to_owned(), ratio, ci95_family: ends };
    Some((direction, ratio.ln().abs(), note))
}

/// The note on the largest of the differences that may explain the verdict.
fn largest_explanation(
    differences: impl Iterator<Item = (LoadDirection, f64, Note)>,
    verdict: Verdict,
) -> Option<Note> {
    let explanations = differences.filter(|(direction, ..)| explains(*direction, verdict));
    let largest = explanations.max_by(|(_, size, _), (_, other, _)| size.total_cmp(other));
    largest.map(|(.., note)| note)
}

/// Withdraws verdicts between two results, whose rates are also compared; `is_live`: a class was production work.
pub(crate) fn judge_across(found: &mut [Comparison], is_live: impl Fn(&str, &'static str) -> bool) {
    let notes: Vec<_> = found.iter().map(|one| explaining_rate(found, one, &is_live)).collect();
    for (one, note) in found.iter_mut().zip(notes) {
        let Some(note) = note else { continue };
        one.verdict = Some(Verdict::Inconclusive);
        one.within_margin = false;
        let numbers = words::across(one);
        add_note(one, note);
        let why = unequal_load(one).unwrap_or_default();
        one.text = format!("{} No verdict: {why}.", numbers.trim_end());
    }
}

/// Adds a remark that names neither side.
pub(crate) fn add_note(one: &mut Comparison, note: Note) {
    let words = words::note(&note, ["", ""]);
    one.add(note, words);
}

/// A note on the rate (requests or bytes per second) that may explain a verdict on its request class; of two rates, the
/// one that differs more. `is_live`: whether a class is of production work, whose load is not controlled.
fn explaining_rate(
    comparisons: &[Comparison],
    one: &Comparison,
    is_live: &impl Fn(&str, &'static str) -> bool,
) -> Option<Note> {
    let verdict = one.verdict.filter(|verdict| *verdict != Verdict::Inconclusive)?;
    let (class, _) = metric::class(&one.metric)?;
    if !one.primary || !is_live(&one.workload, class) {
        return None;
    }
    let margin = one.margin.unwrap_or(EQUAL_LOAD_MARGIN);
    let is_of_class = |other: &&Comparison| {
        other.workload == one.workload && other.configuration == one.configuration
    };
    let differences = RATES.into_iter().filter_map(|statistic| {
        let metric = metric::of_requests(class, statistic)?.name;
        let mut of_class = comparisons.iter().filter(is_of_class);
        let rate = of_class.find(|other| other.metric == metric)?;
        rate_difference(metric, rate.ratio?, rate.ci95?, margin)
    });
    largest_explanation(differences, verdict)
}

/// Whether a different load may explain a verdict: fewer requests complete sooner, more later; both can hide a change.
fn explains(direction: LoadDirection, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Better => direction == LoadDirection::Lower,
        Verdict::Worse => direction == LoadDirection::Higher,
        Verdict::Equivalent => true,
        Verdict::Inconclusive => false,
    }
}

pub(super) fn is_unequal(one: &Comparison) -> bool {
    unequal_load(one).is_some()
}

/// Why a comparison is inconclusive, if the load is the reason.
pub(super) fn unequal_load(one: &Comparison) -> Option<String> {
    let unequal = one.note_facts.iter().find(|note| matches!(note, Note::UnequalLoad { .. }))?;
    let load = words::load(unequal)?;
    Some(format!("the load differed ({load}) and could explain the result"))
}

pub(super) fn load_checks(found: &[Comparison]) -> Vec<Check> {
    let unequal = found.iter().filter(|one| is_unequal(one));
    unequal.map(|one| Check::new(ABOUT.name, format!("{}: {}", one.workload, one.text))).collect()
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Better;
    use assay_study::findings::Findings;
    use assay_study::findings::answers::Claim;
    use assay_study::findings::gate::{GateAnswer, GateEnd};
    use assay_study::findings::measurements::Series;
    use assay_study::results::design::{AskKind, Gate};
    use assay_workloads::production::metrics::ARRIVALS;

    use super::super::answers_tests::two;
    use super::super::tests::Study;
    use super::*;

    fn found(latency: f64, rate: f64) -> Findings {
        study(latency, rate).findings()
    }

    /// Reads of production work under two levels; the second has this many times the latency and the rate.
    fn study(latency: f64, rate: f64) -> Study {
        let noise = [1.0, 1.02, 0.99, 1.01, 0.995, 1.005];
        let other = [1.01, 1.0, 1.0, 0.99, 1.005, 0.995];
        let scaled = |of: [f64; 6], by: f64| of.map(|one| one * by);
        let of = |metric: &str, by: f64, base: f64, primary: bool| {
            let (one, two) = (scaled(noise, base), scaled(other, base * by));
            let study = Study::of(&[("old", &one), ("new", &two)]);
            let series = study.measured.series.into_iter().map(|series| Series {
                workload: "live, reads".to_owned(),
                class_of: Some("live".to_owned()),
                metric: metric.to_owned(),
                better: if primary { Better::Lower } else { Better::Higher },
                primary,
                ..series
            });
            series.collect::<Vec<_>>()
        };
        let mut study = Study::of(&[("old", &noise), ("new", &other)]);
        study.measured.series = of("block_read_mean_ns", latency, 1e6, true);
        study.measured.series.extend(of("block_read_iops", rate, 400.0, false));
        study.measured.live = vec!["live".to_owned()];
        study
    }

    fn verdict(found: &Findings) -> (Option<Verdict>, bool) {
        let own = found.comparisons.iter().find(|one| one.primary).unwrap();
        (own.verdict, is_unequal(own))
    }

    #[test]
    fn the_load_decides_which_verdict_stands() {
        for (latency, rate, expected) in [
            (0.5, 1.0, (Verdict::Better, false)),
            (0.5, 1.6, (Verdict::Better, false)),
            (0.5, 0.6, (Verdict::Inconclusive, true)),
            (2.0, 1.6, (Verdict::Inconclusive, true)),
            (2.0, 0.6, (Verdict::Worse, false)),
            (2.0, 1.0, (Verdict::Worse, false)),
            (1.0, 1.0, (Verdict::Equivalent, false)),
            (1.0, 1.6, (Verdict::Inconclusive, true)),
            // A significantly different rate, within the margin of equality.
            (0.5, 0.98, (Verdict::Better, false)),
        ] {
            let told = verdict(&found(latency, rate));
            assert_eq!(told, (Some(expected.0), expected.1), "{latency} {rate}");
        }
    }

    #[test]
    fn the_rule_is_named_and_nothing_is_advised() {
        let found = found(0.5, 0.6);
        let check = found.checks.iter().find(|check| check.name == ABOUT.name).unwrap();
        assert!(check.text.contains("no verdict: the load differed (40.2% fewer"), "{check:?}");
        assert!(found.advice.is_empty() && found.effects.ranks.is_empty(), "{:?}", found.advice);
    }

    /// A day on which both levels had this many times the latency and the rate of another day.
    fn day(id: &str, latency: f64, rate: f64) -> Findings {
        let mut found = found(1.0, 1.0);
        id.clone_into(&mut found.study.id);
        for cell in &mut found.measurements {
            let by = if cell.metric == "block_read_mean_ns" { latency } else { rate };
            cell.trials.iter_mut().for_each(|trial| trial.value = trial.value.map(|own| own * by));
        }
        let mut arrivals = found.measurements[0].clone();
        "live".clone_into(&mut arrivals.workload);
        ARRIVALS.clone_into(&mut arrivals.metric);
        arrivals.primary = false;
        found.measurements.push(arrivals);
        found
    }

    fn week(id: &str, latency: f64, rate: f64) -> [Findings; 3] {
        [1.0, 1.01, 0.99].map(|luck| day(&format!("{id}{luck}"), latency * luck, rate * luck))
    }

    #[test]
    fn the_load_of_two_weeks_decides_as_well() {
        let before = week("one", 1.0, 1.0);
        for (latency, rate, expected) in [
            (0.5, 1.0, (Verdict::Better, false)),
            (0.5, 0.6, (Verdict::Inconclusive, true)),
            (2.0, 1.6, (Verdict::Inconclusive, true)),
            (2.0, 0.6, (Verdict::Worse, false)),
        ] {
            // Single days suggest no direction, whatever the load was.
            let days = crate::inference::days::Days::default();
            let told = crate::inference::compare(&before[0], &[day("two", latency, rate)], days);
            assert!(told.comparisons.iter().all(|one| !is_unequal(one)));
            let after = week("two", latency, rate);
            let told = crate::inference::compare_sides(&before, &after, None).unwrap();
            let own = told.comparisons.iter().find(|one| one.primary).unwrap();
            let expected = (Some(expected.0), expected.1);
            assert_eq!((own.verdict, is_unequal(own)), expected, "{}", own.text);
            assert_eq!(own.text.contains("No verdict: the load differed"), expected.1);
        }
    }

    #[test]
    fn a_claim_is_not_shown_by_what_the_load_may_explain() {
        let asked = |rate: f64| {
            let mut study = study(0.5, rate);
            let mut ask = two(AskKind::Better, "new", "old");
            ask.workloads = vec!["live, reads".to_owned()];
            study.measured.design.questions = vec![ask];
            study.findings().answers.all.remove(0)
        };
        assert_eq!(asked(1.0).verdict, Claim::Supported);
        let found = asked(0.6);
        assert_eq!(found.verdict, Claim::NotShown);
        assert!(found.reasons[0].contains("the load differed"), "{found:?}");
    }

    #[test]
    fn a_gate_says_nothing_of_what_the_load_may_hide_also_where_no_verdict_does() {
        let gated = |margin: Option<f64>, rate: f64| -> GateAnswer {
            let mut study = study(1.0, rate);
            let metric = None;
            study.measured.design.margin = margin;
            study.measured.design.gate = Some(Gate {
                max_regression: 0.1,
                more: None,
                must_detect: None,
                metric,
                until_decided: false,
                allow_inconclusive: false,
            });
            study.findings().answers.gate.unwrap()
        };
        // Without a margin there is no verdict; a margin this small is never met.
        for margin in [None, Some(0.0001)] {
            let same = gated(margin, 1.0);
            assert_eq!(same.outcome, GateEnd::Pass, "{}", same.text);
            for rate in [0.6, 1.6] {
                let other = gated(margin, rate);
                assert_eq!(other.outcome, GateEnd::Inconclusive, "{}", other.text);
                assert!(other.text.contains("the load differed"), "{}", other.text);
            }
        }
    }

    #[test]
    fn work_of_ones_own_is_served_as_it_can_be() {
        let mut study = Study::of(&[("old", &[1.0, 1.1, 0.9]), ("new", &[2.0, 2.1, 1.9])]);
        study.measured.live = vec!["other".to_owned()];
        assert!(study.findings().checks.iter().all(|check| check.name != ABOUT.name));
    }

    /// Reads and writes of two kinds of production work: four classes, one study.
    #[test]
    fn all_classes_of_a_live_study_share_one_error() {
        let width = |live: &[&str]| {
            let mut measured = study(0.9, 1.0).measured;
            let own = measured.series.clone();
            for (workload, class_of) in
                [("live, writes", "live"), ("other, reads", "other"), ("other, writes", "other")]
            {
                measured.series.extend(own.iter().map(|series| Series {
                    workload: workload.to_owned(),
                    class_of: Some(class_of.to_owned()),
                    ..series.clone()
                }));
            }
            measured.live = live.iter().map(|name| (*name).to_owned()).collect();
            let study = Study { measured, emulated: false };
            let found = study.findings();
            let own = found.comparisons.iter().find(|one| one.primary).unwrap();
            let [low, high] = own.ci95_simultaneous.unwrap();
            (high / low).ln()
        };
        // Classes of programs share the error of their workload only.
        let (alone, together) = (width(&[]), width(&["live", "other"]));
        let t = |family: f64| assay_core::stats::t_quantile(1.0 - 0.025 / family, 5.0).unwrap();
        assert!((together / alone - t(4.0) / t(2.0)).abs() < 1e-9, "{together} {alone}");
    }

    #[test]
    fn a_load_explains_what_it_pushes_in_the_same_direction() {
        for (verdict, lower, higher) in [
            (Verdict::Better, true, false),
            (Verdict::Worse, false, true),
            (Verdict::Equivalent, true, true),
            (Verdict::Inconclusive, false, false),
        ] {
            assert_eq!(explains(LoadDirection::Lower, verdict), lower, "{verdict:?}");
            assert_eq!(explains(LoadDirection::Higher, verdict), higher, "{verdict:?}");
        }
    }
}
