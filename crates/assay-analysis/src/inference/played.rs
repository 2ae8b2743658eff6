//! Classes of a replayed load (reads, writes, flushes, trims, zeroings), each reported, compared and judged separately.

use assay_core::quantity::played::{self, CLASSES, LatencyPoint, PlayedClass, PlayedMetric};
use assay_study::findings::{AbsentCell, measurements::Series};
use assay_study::results::design::Design;

use super::rows::RowTrials;
use super::series::{RowMetric, series_of};

/// One series per metric of each request class of a replayed row, and the missing numbers.
pub(super) fn class_series(design: &Design, row: &RowTrials<'_>) -> (Vec<Series>, Vec<AbsentCell>) {
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    // If nothing was measured, the row itself reports it.
    let classes = CLASSES.iter().filter(|class| row.trust.is_some() && is_reported(class, row));
    for class in classes {
        let primary = main_metric(design, row, class);
        let name = class_row_name(&row.workload.name, class);
        let missing = |metric: &str, reason| AbsentCell::new(&name, &row.arm, Some(metric), reason);
        if let Some(reason) = row.workload.work.missing_class(class) {
            let metric =
                primary.or_else(|| class.metric(default_metric(row)).map(|series| series.name));
            absent.extend(metric.map(|metric| missing(metric, reason)));
            continue;
        }
        if let Some(metric) = primary.filter(|metric| !is_defined(metric, row)) {
            absent.push(missing(metric, NO_CLOCK.to_owned()));
        }
        for metric in class.metrics.iter().filter(|metric| is_defined(metric.name, row)) {
            match series_of(design, row, &RowMetric::known(metric)) {
                Ok(series) => found.push(Series {
                    workload: name.clone(),
                    class_of: Some(row.workload.name.clone()),
                    primary: primary == Some(metric.name),
                    ..series
                }),
                Err(reason) => absent.push(missing(metric.name, reason)),
            }
        }
    }
    (found, absent)
}

fn class_row_name(workload: &str, class: &PlayedClass) -> String {
    format!("{workload}, {}", class.played)
}

/// The name of the rows of a metric's class, or `None` for other metrics.
pub(super) fn class_row_of_metric(workload: &str, metric: &str) -> Option<String> {
    played::find(metric).map(|(class, _)| class_row_name(workload, class))
}

/// Whether the kind of work of a row reports its classes.
fn is_reported(class: &PlayedClass, row: &RowTrials<'_>) -> bool {
    let mut metrics = row.workload.work.kind().metrics.iter().copied().flatten();
    class.metrics.first().is_some_and(|first| metrics.any(|metric| metric.name == first.name))
}

const NO_CLOCK: &str = "this replay has no intended starts, so response time is undefined";

/// Only work on a schedule has response times.
fn is_defined(metric: &str, row: &RowTrials<'_>) -> bool {
    let is_response = played::find(metric).is_some_and(|(_, played)| played.is_response());
    !is_response || row.workload.work.is_by_clock()
}

/// Default metric for comparing classes: a mean, which needs few operations.
fn default_metric(row: &RowTrials<'_>) -> PlayedMetric {
    if row.workload.work.is_by_clock() {
        PlayedMetric::Response(LatencyPoint::Mean)
    } else {
        PlayedMetric::Service(LatencyPoint::Mean)
    }
}

/// The metric for comparing a class; if the study names one class's metric, only that one is compared.
fn main_metric(design: &Design, row: &RowTrials<'_>, class: &PlayedClass) -> Option<&'static str> {
    let wanted = match design.primary.as_deref().and_then(played::find) {
        Some((named, _)) if named.key != class.key => return None,
        Some((_, wanted)) => wanted,
        None => default_metric(row),
    };
    class.metric(wanted).map(|metric| metric.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_load::Act;
    use assay_study::findings::gate::{Ended, GateEnd};
    use assay_study::findings::{Comparison, Findings, Trust, Verdict};
    use assay_study::results::design::Gate;
    use assay_study::results::tally::Tally;
    use assay_workloads::Count;
    use assay_workloads::io::Engine;
    use assay_workloads::replay::{
        Clock, Fidelity, Fitted, Placing, ReplayDetail, ReplayPlan, TimeScale, TraceSource,
    };

    use super::super::tests::{Bench, cell};
    use super::*;
    use crate::rules::testing;

    const MS: u64 = 1_000_000;

    fn planned(clock: Clock) -> ReplayPlan {
        let mut source = TraceSource { length_ns: 1_000 * MS, ..TraceSource::default() };
        for act in [Act::Read, Act::Write, Act::Flush] {
            source.acts[act as usize].operations = 2_000;
        }
        ReplayPlan {
            source,
            clock,
            scale: TimeScale::ONE,
            length_ns: 1_000 * MS,
            engine: Engine::IoUring,
            depth: 128,
            direct: true,
            unit_bytes: 512,
            placing: Placing::Kept,
        }
    }

    /// A replay whose starts deviate this much from the recorded ones.
    fn detail(distance: f64) -> ReplayDetail {
        let count = |operations: u64, bytes: u64| Count { operations, bytes: operations * bytes };
        let classes = [("read", count(2_000, 4096)), ("write", count(500, 8192))];
        let classes = classes.into_iter().chain([("flush", count(100, 0))]);
        ReplayDetail {
            classes: classes.map(|(name, own)| (name.to_owned(), own)).collect(),
            pace: None,
            fidelity: Fidelity {
                requests: BTreeMap::new(),
                recorded_ns: 1_000 * MS,
                replayed_ns: 1_000 * MS,
                ks_distance: Some(distance),
                late_share: Some(0.0),
                max_delay_ns: Some(0),
                dependent: None,
                in_flight: [1.0; 2],
                skipped: 0,
                placing: Placing::Kept,
                adjusted: Fitted::default(),
                drawn: BTreeMap::new(),
            },
        }
    }

    /// Two arms; writes of the second take `slower` times as long, everything else is equal.
    fn bench(clock: Clock, slower: u64, distance: f64) -> Bench {
        let rates = [2000, 2010, 1990, 2005, 1995, 2002];
        let mut bench = Bench::new(&["/a", "/b"]).row(0, "mixed-read", 4096, &rates).row(
            1,
            "mixed-read",
            4096,
            &rates,
        );
        bench.plan.design.margin = Some(0.05);
        for workload in &mut bench.plan.workloads {
            workload.work = planned(clock).into();
        }
        for trial in &mut bench.trials {
            testing::measured(trial).detail = detail(distance).into();
            let slower = if trial.workload == 1 { slower } else { 1 };
            let noise = u64::from(trial.replicate) * MS / 1000;
            let times = [
                ("read", MS + noise, 2_000),
                ("write", (2 * MS + noise) * slower, 500),
                ("flush", 5 * MS + noise, 100),
            ];
            trial.latency_ns.clear();
            for (class, ns, count) in times {
                for (name, ns) in [(class.to_owned(), ns), (format!("{class}-response"), 2 * ns)] {
                    let mut tally = Tally::default();
                    tally.record(ns, count);
                    trial.latency_ns.insert(name, tally);
                }
            }
        }
        bench
    }

    fn compared<'a>(findings: &'a Findings, metric: &str) -> &'a Comparison {
        findings.comparisons.iter().find(|one| one.metric == metric).unwrap()
    }

    fn primaries(findings: &Findings) -> Vec<&str> {
        let primary = findings.comparisons.iter().filter(|one| one.primary);
        primary.map(|one| one.metric.as_str()).collect()
    }

    #[test]
    fn each_class_of_a_play_has_numbers_and_a_verdict_of_its_own() {
        let findings = bench(Clock::Open, 3, 0.0).findings();
        assert_eq!(
            primaries(&findings),
            [
                "response_p99_ns",
                "read_response_mean_ns",
                "write_response_mean_ns",
                "flush_response_mean_ns"
            ]
        );
        let writes = compared(&findings, "write_response_mean_ns");
        assert_eq!(writes.workload, "mixed-read, replayed writes");
        assert_eq!(writes.class_of.as_deref(), Some("mixed-read"));
        assert_eq!(writes.verdict, Some(Verdict::Worse));
        assert!((writes.ratio.unwrap() - 3.0).abs() < 0.02, "{writes:?}");
        for same in ["read_response_mean_ns", "flush_response_mean_ns"] {
            assert_eq!(compared(&findings, same).verdict, Some(Verdict::Equivalent), "{same}");
        }
        assert!(!compared(&findings, "write_latency_p50_ns").primary);
        let row = |class: &str| format!("mixed-read, replayed {class}");
        let number = |class: &str, metric: &str| cell(&findings, &row(class), metric).max.unwrap();
        assert!((number("writes", "write_iops") - 500.0).abs() < 1e-9);
        let bandwidth = number("reads", "read_bandwidth_bytes_per_s");
        assert!((bandwidth - 2_000.0 * 4096.0).abs() < 1e-6, "{bandwidth}");
        assert!((number("flushes", "flush_latency_p50_ns") / 5e6 - 1.0).abs() < 0.01);
        let is_reported = |one: &&String| {
            one.contains("replayed writes regressed (")
                && one.contains("higher mean response of writes, ratio ")
                && one.contains("replayed reads are equivalent (no change in mean response of")
        };
        let told = findings.summary_texts().iter().filter(is_reported).count();
        assert_eq!(told, 1, "{:#?}", findings.summary_texts());
    }

    #[test]
    fn what_takes_as_long_in_every_class_is_equivalent_in_each() {
        let findings = bench(Clock::Open, 1, 0.0).findings();
        let classes =
            findings.comparisons.iter().filter(|one| one.primary && one.class_of.is_some());
        let verdicts: Vec<Option<Verdict>> = classes.map(|one| one.verdict).collect();
        assert_eq!(verdicts, [Some(Verdict::Equivalent); 3]);
    }

    #[test]
    fn a_class_that_was_not_recorded_is_absent_with_its_reason() {
        let findings = bench(Clock::Open, 1, 0.0).findings();
        for (class, key) in [("trims", "trim"), ("zeroings", "zero")] {
            let name = format!("mixed-read, replayed {class}");
            let own: Vec<&AbsentCell> =
                findings.absent.iter().filter(|one| one.workload == name).collect();
            assert_eq!(own.len(), 2, "one an arm: {own:?}");
            let metric = format!("{key}_response_mean_ns");
            for one in own {
                assert_eq!(one.metric.as_ref(), Some(&metric));
                assert_eq!(one.reason, format!("the trace contains no {class}"));
            }
            assert!(findings.measurements.iter().all(|cell| cell.workload != name));
        }
        // Percentiles need enough operations.
        let few = findings
            .absent
            .iter()
            .find(|one| one.metric.as_deref() == Some("write_response_p99_ns"));
        assert_eq!(few.unwrap().reason, "needs 1,000 operations per trial, but had only 500");
    }

    #[test]
    fn without_a_clock_classes_are_compared_by_their_latency_and_have_no_response() {
        let findings = bench(Clock::Closed, 3, 0.0).findings();
        let classes = ["read_latency_mean_ns", "write_latency_mean_ns", "flush_latency_mean_ns"];
        assert_eq!(primaries(&findings)[1..], classes);
        assert_eq!(compared(&findings, classes[1]).verdict, Some(Verdict::Worse));
        assert_eq!(compared(&findings, classes[0]).verdict, Some(Verdict::Equivalent));
        assert!(findings.measurements.iter().all(|cell| !cell.metric.contains("response")));
    }

    #[test]
    fn a_study_may_name_one_metric_of_one_class() {
        let mut bench = bench(Clock::Open, 3, 0.0);
        bench.plan.design.primary = Some("write_latency_p50_ns".to_owned());
        let findings = bench.findings();
        assert_eq!(primaries(&findings), ["write_latency_p50_ns"]);
        assert_eq!(compared(&findings, "write_latency_p50_ns").verdict, Some(Verdict::Worse));
        // Without a schedule it is missing, with a reason.
        bench.plan.design.primary = Some("write_response_p50_ns".to_owned());
        for workload in &mut bench.plan.workloads {
            workload.work = planned(Clock::Closed).into();
        }
        let own = bench.findings();
        let named: Vec<&AbsentCell> =
            own.absent.iter().filter(|one| one.metric == bench.plan.design.primary).collect();
        assert_eq!(named.len(), 2, "one an arm: {named:?}");
        assert!(named.iter().all(|one| one.reason == NO_CLOCK), "{named:?}");
        assert!(primaries(&own).is_empty());
        for workload in &mut bench.plan.workloads {
            workload.work = planned(Clock::Open).into();
        }
        // A metric of all classes does not change their primary metrics.
        bench.plan.design.primary = Some("iops".to_owned());
        let own = bench.findings();
        assert_eq!(primaries(&own).len(), 4);
        assert_eq!(primaries(&own)[0], "iops");
    }

    #[test]
    fn a_gate_does_not_pass_where_an_arm_starved_a_class() {
        let gated = |metric: Option<&str>, starved: bool| {
            let mut bench = bench(Clock::Open, 1, 0.0);
            bench.plan.design.gate = Some(Gate {
                max_regression: 0.2,
                more: None,
                must_detect: None,
                metric: metric.map(str::to_owned),
                until_decided: false,
                allow_inconclusive: false,
            });
            let mut second = bench.trials.iter_mut().filter(|trial| trial.workload == 1);
            if let Some(trial) = second.next().filter(|_| starved) {
                trial.latency_ns.retain(|class, _| !class.starts_with("write"));
            }
            bench.findings().answers.gate.unwrap()
        };
        let whole = gated(None, false);
        assert_eq!((whole.outcome, whole.rows.len()), (GateEnd::Pass, 4), "{}", whole.text);
        for (metric, rows) in [(None, 4), (Some("write_response_mean_ns"), 1)] {
            let own = gated(metric, true);
            assert_eq!(
                (own.outcome, own.rows.len()),
                (GateEnd::Inconclusive, rows),
                "{}",
                own.text
            );
            let why = own.rows.iter().find_map(|row| match &row.outcome {
                Ended::Inconclusive(why) => Some(why.as_str()),
                _ => None,
            });
            let wanted = "the row has no number: no operation completed in the measured time";
            assert_eq!(why, Some(wanted));
        }
    }

    #[test]
    fn what_speaks_against_a_play_speaks_against_each_class() {
        let trust = |distance: f64| {
            let findings = bench(Clock::Open, 3, distance).findings();
            let verdict = compared(&findings, "write_response_mean_ns").verdict;
            (cell(&findings, "mixed-read, replayed writes", "write_iops").trust, verdict)
        };
        let (own, verdict) = trust(0.5);
        assert_eq!((own, verdict), (Some(Trust::Invalid), None));
        let (own, verdict) = trust(0.0);
        assert_ne!(own, Some(Trust::Invalid));
        assert_eq!(verdict, Some(Verdict::Worse));
    }

    #[test]
    fn other_work_has_no_played_classes() {
        let findings = Bench::new(&["."]).row(0, "random-read", 4096, &[100; 3]).findings();
        let named = |workload: &str| workload.contains("played");
        assert!(findings.measurements.iter().all(|cell| !named(&cell.workload)));
        assert!(findings.absent.iter().all(|one| !named(&one.workload)));
    }
}
