//! Classes of the requests that reached the target's devices: reads, writes, flushes and discards
//! of a workload are told, compared and judged each for itself. What helps one may starve another.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::observations_needed;

use super::rows::{Measured, Row};
use super::series::cell_trial;
use crate::quantity::metric::CLASS_METRICS;
use crate::quantity::units::show;
use crate::quantity::{Metric, Scale};
use crate::results::block::{BlockLatency, ClassSpan, Latencies};
use crate::results::environment::Environment;
use crate::results::findings::{AbsentCell, Comparison, Findings, Trust, Verdict};
use crate::results::measurements::Series;
use crate::results::plan::{Plan, arm_in_words, arm_words};
use crate::results::record::TrialRecord;
use crate::system::site::Site;

/// A class with a row of its own.
struct Class {
    /// In the names of metrics.
    key: &'static str,
    /// In tables and sentences.
    words: &'static str,
    /// Classes of records that belong to it: a write that must be on the medium is a write.
    of: &'static [&'static str],
}

static CLASSES: [Class; 4] = [
    Class { key: "read", words: "reads", of: &["read"] },
    Class { key: "write", words: "writes", of: &["write", "fua"] },
    Class { key: "flush", words: "flushes", of: &["flush"] },
    Class { key: "discard", words: "discards", of: &["discard"] },
];

/// What stands for all of it where nothing could be seen.
const ALL: &str = "latency by class";

/// Name of a class of a workload.
pub(super) fn name(workload: &str, class: &str) -> String {
    let words = CLASSES.iter().find(|own| own.key == class).map_or(class, |own| own.words);
    format!("{workload}, {words}")
}

/// The classes of requests that the devices of a site completed, added up over the devices.
pub(super) fn spans(
    block: &BlockLatency,
    site: Option<&Site>,
) -> Result<BTreeMap<&'static str, ClassSpan>, String> {
    let mut sums: BTreeMap<&'static str, ClassSpan> = BTreeMap::new();
    let devices = site.map(|site| site.counted.as_slice()).unwrap_or_default();
    for classes in block.of(devices)? {
        for class in &CLASSES {
            for span in class.of.iter().filter_map(|name| classes.get(*name)) {
                sums.entry(class.key).or_default().add(span);
            }
        }
    }
    Ok(sums)
}

/// Requests of a trial by class, each with the name that its cells have.
pub(super) fn of_trial(
    plan: &Plan,
    environment: &Environment,
    trial: &TrialRecord,
) -> Vec<(String, &'static str, ClassSpan)> {
    let workload = &plan.workloads[trial.workload];
    let site = environment.sites.get(workload.target);
    let told = trial.evidence.block.value().and_then(|block| spans(block, site).ok());
    let spans = told.into_iter().flatten();
    spans.map(|(class, span)| (name(&workload.name, class), class, span)).collect()
}

type Spans<'a> = Vec<(&'a Measured<'a>, Result<BTreeMap<&'static str, ClassSpan>, String>)>;

/// What the classes of one row say, before it is known which classes its workload has at all.
pub(super) struct Classes {
    workload: String,
    /// Why nothing is told of any class.
    untold: Option<AbsentCell>,
    /// Classes that any of its trials has.
    held: Vec<&'static str>,
    /// Each metric of each class, or that it is not there.
    told: Vec<(&'static str, Result<Series, AbsentCell>)>,
}

/// The classes of one row.
pub(super) fn of_row(row: &Row<'_>) -> Classes {
    let spans = spans_of(row);
    let untold = untold(row, &spans);
    let mut told = Vec::new();
    let classes = CLASSES.iter().filter(|_| untold.is_none());
    for (class, metric) in classes.flat_map(|class| metrics(class).map(move |one| (class, one))) {
        let found = one(row, &spans, class, metric).map_err(|reason| {
            missing(row, name(&row.workload.name, class.key), metric.name, reason)
        });
        told.push((class.key, found));
    }
    let held = CLASSES.iter().map(|class| class.key).filter(|class| holds(&spans, class));
    Classes { workload: row.workload.name.clone(), untold, held: held.collect(), told }
}

/// Why nothing is told of any class of a row; none where there is something.
fn untold(row: &Row<'_>, spans: &Spans<'_>) -> Option<AbsentCell> {
    let all = |reason| missing(row, row.workload.name.clone(), ALL, reason);
    if let Some(reason) = unseen(spans) {
        return Some(all(reason));
    }
    (row.workload.is_only_watched() && idle(spans))
        .then(|| AbsentCell { metric: None, ..all("the devices completed no request".to_owned()) })
}

/// Series of every class that any trial of a workload has, and what is not there.
pub(super) fn series(rows: Vec<Classes>) -> (Vec<Series>, Vec<AbsentCell>) {
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    let mut held: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for row in &rows {
        held.entry(row.workload.clone()).or_default().extend(&row.held);
    }
    for row in rows {
        absent.extend(row.untold);
        let has = held.get(&row.workload);
        for (class, told) in row.told {
            match told {
                _ if has.is_none_or(|has| !has.contains(class)) => {}
                Ok(series) => found.push(series),
                Err(missing) => absent.push(missing),
            }
        }
    }
    (found, absent)
}

fn missing(row: &Row<'_>, workload: String, metric: &str, reason: String) -> AbsentCell {
    AbsentCell { workload, arm: row.arm.clone(), metric: Some(metric.to_owned()), reason }
}

/// The classes of each trial of a row; nothing where the study did not ask for them.
fn spans_of<'a>(row: &'a Row<'a>) -> Spans<'a> {
    let asked = row.trials.iter().filter(|trial| trial.record.evidence.asked_for_classes());
    let spans = asked.map(|trial| {
        let block = &trial.record.evidence.block;
        let told = block.value().ok_or_else(|| block.reason().unwrap_or_default().to_owned());
        (trial, told.and_then(|block| spans(block, row.site)))
    });
    spans.collect()
}

/// Why no trial that counts has any class; none where one has, or nobody asked.
fn unseen(spans: &Spans<'_>) -> Option<String> {
    let mut counting = spans.iter().filter(|(trial, _)| trial.counts()).peekable();
    counting.peek()?;
    let reasons: Vec<&String> = counting.filter_map(|(_, told)| told.as_ref().err()).collect();
    let all = spans.iter().filter(|(trial, _)| trial.counts()).count();
    (reasons.len() == all).then(|| reasons.first().map(|reason| (*reason).clone()))?
}

/// Whether nothing ended in any trial.
fn idle(spans: &Spans<'_>) -> bool {
    !spans.is_empty() && CLASSES.iter().all(|class| !holds(spans, class.key))
}

fn holds(spans: &Spans<'_>, class: &str) -> bool {
    let told = spans.iter().filter_map(|(_, told)| told.as_ref().ok());
    told.flat_map(BTreeMap::keys).any(|known| *known == class)
}

fn metrics(class: &Class) -> impl Iterator<Item = &'static Metric> {
    let start = format!("block_{}_", class.key);
    CLASS_METRICS.iter().filter(move |metric| metric.name.starts_with(&start))
}

fn one(row: &Row<'_>, spans: &Spans<'_>, class: &Class, metric: &Metric) -> Result<Series, String> {
    let mut trials = Vec::new();
    for (trial, told) in spans {
        let value = told.as_ref().map_err(Clone::clone).and_then(|classes| {
            let span = classes.get(class.key).ok_or_else(|| none_of(class, trial))?;
            value(metric.name, span, trial)
        });
        if trial.counts() {
            value.clone()?;
        }
        trials.push(cell_trial(trial, value.ok()));
    }
    Ok(Series {
        workload: name(&row.workload.name, class.key),
        arm: row.arm.clone(),
        control: row.workload.control,
        class_of: Some(row.workload.name.clone()),
        metric: metric.name.to_owned(),
        better: metric.better,
        scale: Scale::Ratio,
        primary: metric.name.ends_with("_mean_ns"),
        trials,
        trust: row.trust,
        because: row.remarks.iter().map(|(rule, remark)| remark.because(rule)).collect(),
    })
}

fn none_of(class: &Class, trial: &Measured<'_>) -> String {
    format!("the devices completed no {} in trial {}", class.words, trial.record.order)
}

/// The value of a metric of a class; the last part of its name says which.
fn value(metric: &str, span: &ClassSpan, trial: &Measured<'_>) -> Result<f64, String> {
    let queued: &Latencies = &span.queued;
    let quantile = |q: f64| {
        queued.percentile_ns(q).ok_or_else(|| {
            let needed = observations_needed(q).unwrap_or(u64::MAX);
            let had = show::count(queued.len());
            format!("needs {} requests per trial, had {had}", show::count(needed))
        })
    };
    match metric.rsplit('_').nth(1) {
        Some("p50") => quantile(0.5),
        Some("p90") => quantile(0.9),
        Some("p99") => quantile(0.99),
        Some("mean") => queued.mean_ns().ok_or_else(|| "no latency was seen".to_owned()),
        _ => {
            let span_ns = trial.record.evidence.block.value().map_or(0, |block| block.span_ns);
            let rate = span.requests as f64 / (span_ns as f64 / 1e9);
            if rate.is_finite() { Ok(rate) } else { Err("the span had no length".to_owned()) }
        }
    }
}

/// Which class won and which lost under each arm: one sentence an arm whose classes do not agree, or
/// of which any is told apart.
pub(super) fn sentences(found: &Findings) -> Vec<String> {
    let mut told = Vec::new();
    let mut done: Vec<(&str, String)> = Vec::new();
    for first in found.comparisons.iter().filter(|one| one.primary) {
        let Some(of) = first.class_of.as_deref() else { continue };
        let arm = arm_words(&first.arm);
        if done.contains(&(of, arm.clone())) {
            continue;
        }
        let same = |one: &&Comparison| {
            one.primary && one.class_of == first.class_of && one.arm == first.arm
        };
        let classes: Vec<&Comparison> = found.comparisons.iter().filter(same).collect();
        told.extend(sentence(found, of, &classes));
        done.push((of, arm));
    }
    told
}

fn sentence(found: &Findings, of: &str, classes: &[&Comparison]) -> Option<String> {
    let first = classes.first()?;
    let judged = |one: &&&Comparison| {
        matches!(one.verdict, Some(Verdict::Better | Verdict::Worse | Verdict::Equivalent))
    };
    let (some, rest): (Vec<&Comparison>, Vec<&Comparison>) =
        classes.iter().partition(|one| judged(one));
    let parts: Vec<String> = some.iter().filter_map(|one| part(found, of, one)).collect();
    let differs = |(name, level): &(&String, &String)| first.baseline.get(*name) != Some(*level);
    let arm: BTreeMap<_, _> = first.arm.iter().filter(differs).collect();
    let levels = |arm: &crate::results::plan::Arm| {
        let own = arm.iter().filter(|(name, _)| first.arm.get(*name) != first.baseline.get(*name));
        arm_in_words(own)
    };
    if arm.is_empty() || first.verdict.is_none() {
        return None;
    }
    let rest: Vec<&str> = rest.iter().map(|one| class_words(of, &one.workload)).collect();
    let rest = listed(&rest).map(|classes| format!("{classes}: no difference shown"));
    let parts: Vec<String> = parts.into_iter().chain(rest).collect();
    Some(format!(
        "{of}, {} against {}: {}.",
        levels(&first.arm),
        levels(&first.baseline),
        parts.join("; ")
    ))
}

/// `reads, writes and flushes`; none of nothing.
fn listed(words: &[&str]) -> Option<String> {
    let (last, others) = words.split_last()?;
    let others = others.join(", ");
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{others} and {last}") })
}

/// What happened to one class.
fn part(found: &Findings, of: &str, one: &Comparison) -> Option<String> {
    let class = class_words(of, &one.workload);
    let (ratio, [low, high]) = (one.ratio?, one.ci95_family?);
    let suspect = found.cells.iter().any(|cell| {
        cell.workload == one.workload
            && (cell.arm == one.arm || cell.arm == one.baseline)
            && cell.trust == Some(Trust::Suspect)
    });
    let doubt = if suspect { ", suspect numbers" } else { "" };
    let interval = format!(
        "{} times the mean latency, 95 % interval {} to {}{doubt}",
        show::ratio(ratio),
        show::ratio(low),
        show::ratio(high)
    );
    Some(match one.verdict? {
        Verdict::Better => format!("{class} won ({interval})"),
        Verdict::Worse => format!("{class} lost ({interval})"),
        _ => format!("{class} are equivalent ({interval})"),
    })
}

fn class_words<'a>(of: &str, workload: &'a str) -> &'a str {
    workload.strip_prefix(of).map_or(workload, |rest| rest.trim_start_matches(", "))
}

#[cfg(test)]
mod tests {
    use assay_sys::{ClassTotals, DeviceTotals, latency_bucket};

    use super::super::tests::Bench;
    use super::*;
    use crate::results::block::{Means, between};
    use crate::results::record::{Evidence, TrialRecord};
    use crate::seen::Seen;

    /// As many requests of each class of one device with one latency.
    fn block(classes: [(usize, u64, u64); 2]) -> BlockLatency {
        let mut after = DeviceTotals::default();
        for (class, requests, ns) in classes {
            after[class] = ClassTotals { requests, ..ClassTotals::default() };
            after[class].queued.sum_ns = requests * ns;
            after[class].queued.buckets[latency_bucket(ns)] = requests;
        }
        let classes = Seen::Present(between(&DeviceTotals::default(), &after));
        BlockLatency {
            means: Means::Bpf,
            span_ns: 2_000_000_000,
            devices: [("sda".to_owned(), classes)].into(),
            unseen_beginnings: 0,
            notes: Vec::new(),
        }
    }

    /// Two arms of which the second has reads that take so many times as long, and writes that take
    /// as long.
    fn bench(times: u64) -> Bench {
        let with = |times: u64| {
            move |trial: &mut TrialRecord| {
                let noise = u64::from(trial.replicate) * 1_000;
                let reads = (0, 2_000, times * (1_000_000 + noise));
                trial.evidence.block =
                    Seen::Present(block([reads, (1, 500, 3_000_000 + 7 * noise)]));
            }
        };
        let rates = [2000, 2010, 1990, 2005, 1995, 2002];
        let mut bench = Bench::new(&["/a", "/b"])
            .row(0, "mixed-read", 4096, &rates)
            .each(with(1))
            .row(1, "mixed-read", 4096, &rates)
            .each(with(times));
        bench.plan.design.margin = Some(0.05);
        bench
    }

    fn found<'a>(findings: &'a Findings, metric: &str) -> &'a Comparison {
        findings.comparisons.iter().find(|one| one.metric == metric).unwrap()
    }

    #[test]
    fn each_class_has_cells_and_a_verdict_of_its_own() {
        let findings = bench(2).findings();
        let read = found(&findings, "block_read_mean_ns");
        assert_eq!(read.workload, "mixed-read, reads");
        assert_eq!(read.class_of.as_deref(), Some("mixed-read"));
        assert_eq!((read.verdict, read.primary), (Some(Verdict::Worse), true));
        assert!((read.ratio.unwrap() - 2.0).abs() < 1e-9);
        let write = found(&findings, "block_write_mean_ns");
        assert_eq!(write.verdict, Some(Verdict::Equivalent));
        assert!(!found(&findings, "block_read_p99_ns").primary);
        let rate = findings.cells.iter().find(|cell| cell.metric == "block_write_iops").unwrap();
        assert_eq!(rate.max, Some(250.0));
        assert!(findings.summary.contains(
            &"mixed-read, /b against /a: reads lost (2 times the mean latency, 95 % interval 2 to 2); \
              writes are equivalent (1 times the mean latency, 95 % interval 1 to 1)."
                .to_owned()
        ), "{:#?}", findings.summary);
    }

    #[test]
    fn the_classes_of_a_workload_share_one_error() {
        let findings = bench(2).findings();
        let mut alone = bench(2);
        for trial in &mut alone.trials {
            let only = |mut block: BlockLatency| {
                for classes in block.devices.values_mut() {
                    *classes = classes.clone().map(|mut classes| {
                        classes.remove("write");
                        classes
                    });
                }
                block
            };
            trial.record.evidence.block = trial.record.evidence.block.clone().map(only);
        }
        let alone = alone.findings();
        let p = |findings: &Findings| found(findings, "block_read_mean_ns").p_holm;
        let (shared, single) = (p(&findings).unwrap(), p(&alone).unwrap());
        assert!((shared - (2.0 * single).min(1.0)).abs() < 1e-12, "{shared} {single}");
    }

    #[test]
    fn what_was_not_seen_is_absent_with_its_reason() {
        let lost = bench(1).each(|trial| trial.evidence.block = Seen::absent("7 events were lost"));
        let findings = lost.findings();
        let absent = |metric: &str| {
            let mut all = findings.absent.iter();
            all.find(|one| one.metric.as_deref() == Some(metric)).map(|one| one.reason.as_str())
        };
        assert_eq!(absent(ALL), Some("7 events were lost"));
        let none = bench(1).each(|trial| {
            trial.evidence.block = Seen::Present(block([(0, 0, 0), (1, 500, 3_000_000)]));
        });
        let findings = none.findings();
        let reads = |one: &&AbsentCell| one.metric.as_deref() == Some("block_read_mean_ns");
        let reason = &findings.absent.iter().find(reads).unwrap().reason;
        assert!(reason.starts_with("the devices completed no reads in trial"), "{reason}");
        let unasked = bench(1).each(|trial| trial.evidence.block = Evidence::absent("-").block);
        assert!(unasked.findings().absent.iter().all(|one| one.metric.as_deref() != Some(ALL)));
    }
}
