//! Request classes of the target's devices, each judged separately: a setting that helps one may starve another.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::quantity::metric::{self, CLASS_METRICS, Statistic};
use assay_core::quantity::{Metric, Scale};
use assay_core::quantity::{played, units::show};
use assay_core::stats::observations_needed;
use assay_machine::probes::block_latency::counts::{BlockLatency, ClassSpan, Latencies};
use assay_machine::{probes::is_not_recorded, system::site::Site};
use assay_study::findings::measurements::Series;
use assay_study::findings::{
    AbsentCell, Comparison, Findings, MetricRef, Sentence, TrialValue, Trust, Verdict,
};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Arm, Plan, PlannedWorkload, arm_in_words};
use assay_study::results::record::{Status, Trial};
use assay_workloads::{metrics::change, production};

use super::rows::{MeasuredTrial, RowTrials};
use super::{series::cell_trial, verdicts::words};
use crate::import::grouped;
use crate::rules::{RuleRemark, unstable};

struct ClassColumn {
    key: &'static str,
    words: &'static str,
    /// Classes of records that it includes: a FUA write is a write.
    of: &'static [&'static str],
}

static CLASSES: [ClassColumn; 4] = [
    ClassColumn { key: "read", words: "reads", of: &["read"] },
    ClassColumn { key: "write", words: "writes", of: &["write", "fua"] },
    ClassColumn { key: "flush", words: "flushes", of: &["flush"] },
    ClassColumn { key: "discard", words: "discards", of: &["discard"] },
];

/// Label for all classes if no request was visible.
const ALL: &str = "latency by class";

pub(super) fn name(workload: &str, class: &str) -> String {
    let column = CLASSES.iter().find(|column| column.key == class);
    format!("{workload}, {}", column.map_or(class, |column| column.words))
}

/// Groups of devices whose requests are added, each with the name of its rows; observed devices stay separate.
fn device_groups(
    workload: &PlannedWorkload,
    site: Option<&Site>,
    block: Option<&BlockLatency>,
) -> Vec<(String, Vec<String>)> {
    let counted = site.map(|site| site.counted.clone()).unwrap_or_default();
    match block {
        Some(block) if workload.work.is_only_watched() && counted.len() > 1 => {
            block.devices.keys().map(|device| (device.clone(), vec![device.clone()])).collect()
        }
        _ => vec![(workload.name.clone(), counted)],
    }
}

/// Requests that the devices completed, by class, added over the devices.
fn sum_by_class(
    block: &BlockLatency,
    devices: &[String],
) -> Result<BTreeMap<&'static str, ClassSpan>, String> {
    let mut sums: BTreeMap<&'static str, ClassSpan> = BTreeMap::new();
    for classes in block.for_devices(devices)? {
        for class in &CLASSES {
            for span in class.of.iter().filter_map(|name| classes.get(*name)) {
                sums.entry(class.key).or_default().add(span);
            }
        }
    }
    Ok(sums)
}

/// Requests of one class that the devices of a trial's target completed.
pub struct ClassOfTrial {
    pub workload: String,
    pub class: &'static str,
    pub span: ClassSpan,
}

/// The requests of a trial by class; empty if they were not recorded.
pub fn classes(plan: &Plan, environment: &Environment, trial: &Trial) -> Vec<ClassOfTrial> {
    let workload = &plan.workloads[trial.workload];
    let site = environment.sites.get(workload.target);
    let Some(block) = trial.evidence.block_latency.value() else { return Vec::new() };
    let mut requests = Vec::new();
    for (part, devices) in device_groups(workload, site, Some(block)) {
        let mut spans = sum_by_class(block, &devices).unwrap_or_default();
        // Reads and writes first: most ask for them, and the first two lead a page of classes.
        for class in CLASSES.iter().map(|column| column.key) {
            let Some(span) = spans.remove(class) else { continue };
            requests.push(ClassOfTrial { workload: name(&part, class), class, span });
        }
    }
    requests
}

struct ClassSpans<'a> {
    classes: BTreeMap<&'static str, ClassSpan>,
    /// Duration in which they completed, nanoseconds.
    span_ns: u64,
    /// Why single requests were not visible, if the kernel's sums replace them.
    sums_alone: Option<&'a str>,
}

impl<'a> ClassSpans<'a> {
    /// The classes of a period of production work, from the kernel's counters instead of single requests.
    fn summed(record: &'a Trial) -> Option<Self> {
        let detail = production::ProductionDetail::of(record.measured.as_ref()?)?;
        let class = |column: &ClassColumn| {
            let sums = detail.period.classes.get(column.key)?;
            let queued = Latencies { sum_ns: sums.sum_ns, buckets: Vec::new() };
            let (requests, bytes) = (sums.requests, sums.bytes);
            Some((column.key, ClassSpan { requests, bytes, queued, ..ClassSpan::default() }))
        };
        Some(Self {
            classes: CLASSES.iter().filter_map(class).collect(),
            span_ns: detail.period.span_ns,
            sums_alone: Some(detail.period.untraced.as_deref().unwrap_or("not traced")),
        })
    }
}

type Spans<'a> = Vec<(&'a MeasuredTrial<'a>, Result<ClassSpans<'a>, String>)>;

/// Metrics of the classes of one row, before the classes of its workload are known.
pub(super) struct ClassSeries {
    workload: String,
    /// Why no class has numbers.
    absent: Option<AbsentCell>,
    /// Classes with requests in any trial of the row.
    seen: Vec<&'static str>,
    /// Each metric of each class, or why it is missing.
    metrics: Vec<(&'static str, Result<Series, AbsentCell>)>,
}

/// The metrics of all request classes of a row, one entry per group of devices.
pub(super) fn class_series(row: &RowTrials<'_>) -> Vec<ClassSeries> {
    let block = row.trials.first().and_then(|trial| trial.record.evidence.block_latency.value());
    let parts = device_groups(row.workload, row.site, block).into_iter();
    parts.map(|(part, devices)| class_series_of_devices(row, part, &devices)).collect()
}

fn class_series_of_devices(row: &RowTrials<'_>, part: String, devices: &[String]) -> ClassSeries {
    let spans = spans_of(row, devices);
    let absent = absent_cell(row, &spans);
    let mut metrics = Vec::new();
    for class in CLASSES.iter().filter(|_| absent.is_none()) {
        for metric in metrics_of(class) {
            let workload = name(&part, class.key);
            let series = match metric_series(row, &spans, class, metric) {
                Ok(series) => Ok(Series { workload, class_of: Some(part.clone()), ..series }),
                Err(why) => Err(AbsentCell::new(&workload, &row.arm, Some(metric.name), why)),
            };
            metrics.push((class.key, series));
        }
    }
    let seen = CLASSES.iter().map(|class| class.key).filter(|class| has_requests(&spans, class));
    ClassSeries { workload: part, absent, seen: seen.collect(), metrics }
}

/// Why no class of a row has numbers; `None` if one has.
fn absent_cell(row: &RowTrials<'_>, spans: &Spans<'_>) -> Option<AbsentCell> {
    if let Some(reason) = reason_without_classes(spans) {
        return Some(row.absent(Some(ALL), reason));
    }
    let work = &row.workload.work;
    let may_be_idle = work.is_only_watched() || work.is_others();
    let is_idle = !spans.is_empty() && CLASSES.iter().all(|class| !has_requests(spans, class.key));
    (may_be_idle && is_idle)
        .then(|| row.absent(None, "the devices completed no requests".to_owned()))
}

/// The series of each class with requests in any arm of its workload, and the missing numbers.
pub(super) fn series_of_seen_classes(rows: Vec<ClassSeries>) -> (Vec<Series>, Vec<AbsentCell>) {
    let (mut all_series, mut absent) = (Vec::new(), Vec::new());
    let mut seen: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for row in &rows {
        seen.entry(row.workload.clone()).or_default().extend(&row.seen);
    }
    for row in rows {
        absent.extend(row.absent);
        let classes = &seen[&row.workload];
        for (_, series) in row.metrics.into_iter().filter(|(class, _)| classes.contains(class)) {
            match series {
                Ok(series) => all_series.push(series),
                Err(missing) => absent.push(missing),
            }
        }
    }
    (all_series, absent)
}

/// The request classes of each trial that recorded some, or why they are unknown.
fn spans_of<'a>(row: &'a RowTrials<'a>, devices: &[String]) -> Spans<'a> {
    let mut all_spans = Vec::new();
    for trial in &row.trials {
        let block = &trial.record.evidence.block_latency;
        if is_not_recorded(block) {
            continue;
        }
        let trial_spans = match block.value() {
            Some(block) => sum_by_class(block, devices).map(|classes| ClassSpans {
                classes,
                span_ns: block.span_ns,
                sums_alone: None,
            }),
            None => ClassSpans::summed(trial.record)
                .ok_or_else(|| block.reason().unwrap_or_default().to_owned()),
        };
        all_spans.push((trial, trial_spans));
    }
    all_spans
}

/// Why no trial that counts has any class; `None` if one has, or if classes were not requested.
fn reason_without_classes(spans: &Spans<'_>) -> Option<String> {
    let mut first_reason = None;
    for (_, classes) in spans.iter().filter(|(trial, _)| trial.counts()) {
        match classes {
            Ok(_) => return None,
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    first_reason.cloned()
}

fn has_requests(spans: &Spans<'_>, class: &str) -> bool {
    let valid = spans.iter().filter_map(|(_, spans)| spans.as_ref().ok());
    valid.flat_map(|spans| spans.classes.keys()).any(|known| *known == class)
}

fn metrics_of(class: &ClassColumn) -> impl Iterator<Item = &'static Metric> {
    CLASS_METRICS
        .iter()
        .filter(|metric| metric::class(metric.name).is_some_and(|(key, _)| key == class.key))
}

/// One metric of a request class in each trial of a row; an error if a trial that counts has no value.
fn metric_series(
    row: &RowTrials<'_>,
    spans: &Spans<'_>,
    class: &ClassColumn,
    metric: &Metric,
) -> Result<Series, String> {
    let mut trials = Vec::new();
    for (trial, trial_spans) in spans {
        let value = trial_spans.as_ref().map_err(Clone::clone).and_then(|spans| {
            let span = spans.classes.get(class.key).ok_or_else(|| no_requests(class, trial))?;
            metric_value(metric.name, span, spans)
        });
        if trial.counts() {
            value.clone()?;
        }
        trials.push(cell_trial(trial, value.ok()));
    }
    let (trust, because) = row.judged(metric.nature, metric.side());
    let statistic = metric::class(metric.name).map(|(_, statistic)| statistic);
    let primary = statistic == Some(Statistic::Mean);
    let remark = instability_remark(row, &trials).filter(|_| primary);
    let instability = remark.iter().map(|remark| remark.because(RULE));
    Ok(Series {
        workload: name(&row.workload.name, class.key),
        arm: row.arm.clone(),
        control: row.workload.control,
        class_of: Some(row.workload.name.clone()),
        metric: metric.name.to_owned(),
        better: metric.better,
        scale: Scale::Ratio,
        primary,
        trials,
        trust: trust.max(remark.as_ref().map(|remark| remark.trust)),
        because: because.into_iter().chain(instability).collect(),
        evidence: Vec::new(),
    })
}

/// The rule that judges each class of production work separately.
const RULE: &str = "unstable";

/// The remark if the trials of a class of production work vary too much for their mean.
fn instability_remark(row: &RowTrials<'_>, trials: &[TrialValue]) -> Option<RuleRemark> {
    if !row.workload.work.is_others() {
        return None;
    }
    let undisturbed = trials.iter().filter(|trial| trial.status == Status::Ok);
    let values: Vec<f64> = undisturbed.filter_map(|trial| trial.value).collect();
    unstable::latency_remark(&values)
}

fn no_requests(class: &ClassColumn, trial: &MeasuredTrial<'_>) -> String {
    format!("the devices completed no {} in trial {}", class.words, trial.record.order)
}

/// The value of a class metric in a trial; `None` for all other metrics.
pub(super) fn trial_value(metric: &str, row: &RowTrials<'_>) -> Option<Result<f64, String>> {
    let (key, _) = metric::class(metric)?;
    let class = CLASSES.iter().find(|class| class.key == key)?;
    let counted = row.site.filter(|_| !row.workload.work.is_only_watched());
    let spans = spans_of(row, counted.map(|site| site.counted.as_slice()).unwrap_or_default());
    Some(match spans.first() {
        None => Err("Assay did not record requests by class".to_owned()),
        Some((_, Err(reason))) => Err(reason.clone()),
        Some((trial, Ok(spans))) => match spans.classes.get(class.key) {
            Some(span) => metric_value(metric, span, spans),
            None => Err(no_requests(class, trial)),
        },
    })
}

/// The value of a metric of one class in one trial; `Err` has the reason why there is none.
fn metric_value(metric: &str, span: &ClassSpan, spans: &ClassSpans<'_>) -> Result<f64, String> {
    let queued: &Latencies = &span.queued;
    let need_single_requests = || match spans.sums_alone {
        Some(reason) => Err(format!("Assay did not record individual requests: {reason}")),
        None => Ok(()),
    };
    let quantile = |q: f64| {
        need_single_requests()?;
        queued.percentile_ns(q).ok_or_else(|| {
            let needed = observations_needed(q).unwrap_or(u64::MAX);
            let had = show::count(queued.len());
            format!("needs {} requests per trial, but had only {had}", show::count(needed))
        })
    };
    let mean = if spans.sums_alone.is_some() {
        (span.requests > 0).then(|| queued.sum_ns as f64 / span.requests as f64)
    } else {
        queued.mean_ns()
    };
    let per_s = |amount: u64| {
        let rate = amount as f64 / (spans.span_ns as f64 / 1e9);
        if rate.is_finite() { Ok(rate) } else { Err("the time span is zero".to_owned()) }
    };
    match metric::class(metric).map(|(_, statistic)| statistic) {
        Some(Statistic::P50) => quantile(0.5),
        Some(Statistic::P90) => quantile(0.9),
        Some(Statistic::P99) => quantile(0.99),
        Some(Statistic::Mean) => mean.ok_or_else(|| "no latency was recorded".to_owned()),
        Some(Statistic::Deviation) => need_single_requests().and_then(|()| {
            queued.sd_ns().ok_or_else(|| "needs 2 requests per trial, but had only 1".to_owned())
        }),
        Some(Statistic::Bytes) => per_s(span.bytes),
        Some(Statistic::Requests) => Ok(span.requests as f64),
        Some(Statistic::Size) => Ok(span.bytes as f64 / span.requests.max(1) as f64),
        Some(Statistic::Rate) | None => per_s(span.requests),
    }
}

/// The effect of each arm on the classes: one sentence per arm with a difference.
pub(super) fn sentences(found: &Findings) -> Vec<Sentence> {
    let classes = found.comparisons.iter().filter(|one| one.primary && one.class_of.is_some());
    let rows = grouped(classes, |one, other| {
        one.class_of == other.class_of && one.configuration == other.configuration
    });
    rows.iter().filter_map(|row| sentence(found, row[0].class_of.as_deref()?, row)).collect()
}

/// One sentence on all classes of an arm against its baseline; `None` without a verdict.
fn sentence(found: &Findings, workload: &str, classes: &[&Comparison]) -> Option<Sentence> {
    let first = classes.first()?;
    let differs = |name: &String| first.configuration.get(name) != first.baseline.get(name);
    let changed_levels = |arm: &Arm| arm_in_words(arm.iter().filter(|(name, _)| differs(name)));
    // No sentence for an arm without a pair.
    let is_baseline = !first.configuration.keys().any(differs);
    if is_baseline || first.verdict.is_none() || classes.iter().all(|one| one.n == 0) {
        return None;
    }
    let (judged, others): (Vec<&Comparison>, Vec<&Comparison>) = classes.iter().partition(|one| {
        matches!(one.verdict, Some(Verdict::Better | Verdict::Worse | Verdict::Equivalent))
    });
    let mut clauses: Vec<_> = judged.iter().filter_map(|one| verdict_clause(found, one)).collect();
    let interval = !clauses.is_empty();
    let mut undecided = Vec::new();
    for one in others {
        let class = class_words(one);
        match one.note_facts.iter().find_map(words::load) {
            None => undecided.push(class),
            Some(load) => {
                clauses.push(format!("{class}: no verdict, because the load differed ({load})"));
            }
        }
    }
    if !undecided.is_empty() {
        clauses.push(format!("{}: no significant difference", words::listed(&undecided)));
    }
    let (level, baseline) = (changed_levels(&first.configuration), changed_levels(&first.baseline));
    let text = format!("{workload}, {level} against {baseline}: {}.", clauses.join("; "));
    let about = vec![MetricRef::new(workload, "")];
    Some(Sentence { about, interval, ..Sentence::finding("classes", text) })
}

/// `reads improved (...)`; `None` without a verdict or a CI.
fn verdict_clause(found: &Findings, one: &Comparison) -> Option<String> {
    let class = class_words(one);
    let (ratio, [low, high]) = (one.ratio?, one.ci95_simultaneous?);
    let trust = |arm| found.cell(&one.workload, arm, &one.metric).and_then(|cell| cell.trust);
    let doubt = trust(&one.configuration).max(trust(&one.baseline)).map_or("", Trust::doubt);
    let [ratio, low, high] = [ratio, low, high].map(show::ratio);
    let change = change(&ratio, &one.metric);
    let interval = format!("{change}, ratio {ratio}, 95% CI {low}-{high}{doubt}");
    Some(match one.verdict? {
        Verdict::Better => format!("{class} improved ({interval})"),
        Verdict::Worse => format!("{class} regressed ({interval})"),
        _ => format!("{class} are equivalent ({interval})"),
    })
}

/// The class of a comparison, `reads`; its row's name if it compares no class.
fn class_words(one: &Comparison) -> &str {
    if let Some((class, _)) = played::find(&one.metric) {
        return class.played;
    }
    let class = metric::class(&one.metric);
    let column = class.and_then(|(class, _)| CLASSES.iter().find(|column| column.key == class));
    column.map_or(one.workload.as_str(), |column| column.words)
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::block_latency::counts::{Means, between};
    use assay_machine::probes::not_recorded;
    use assay_study::results::record::Trial;
    use assay_sys::{ClassTotals, DeviceTotals, latency_bucket};

    use super::super::tests::Bench;
    use super::*;

    /// The same number of requests of each class on one device, with one latency.
    fn block(classes: [(usize, u64, u64); 2]) -> BlockLatency {
        let mut after = DeviceTotals::default();
        for (class, requests, ns) in classes {
            after[class] = ClassTotals { requests, ..ClassTotals::default() };
            after[class].queued.sum_ns = requests * ns;
            after[class].queued.buckets[latency_bucket(ns)] = requests;
        }
        let classes = Presence::Present(between(&DeviceTotals::default(), &after));
        BlockLatency {
            means: Means::Bpf,
            span_ns: 2_000_000_000,
            devices: [("sda".to_owned(), classes)].into(),
            unseen_beginnings: 0,
            notes: Vec::new(),
        }
    }

    /// Two arms; the second has reads that take `times` as long, and equal writes.
    fn bench(times: u64) -> Bench {
        let with = |times: u64| {
            move |trial: &mut Trial| {
                let noise = u64::from(trial.replicate) * 1_000;
                let reads = (0, 2_000, times * (1_000_000 + noise));
                trial.evidence.block_latency =
                    Presence::Present(block([reads, (1, 500, 3_000_000 + 7 * noise)]));
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
        let rate =
            findings.measurements.iter().find(|cell| cell.metric == "block_write_iops").unwrap();
        assert_eq!(rate.max, Some(250.0));
        assert!(findings.summary_texts().contains(
            &"mixed-read, /b against /a: reads regressed (100% higher mean request latency, ratio 2, 95% CI 2-2); \
              writes are equivalent (no change in mean request latency, ratio 1, 95% CI 1-1)."
                .to_owned()
        ), "{:#?}", findings.summary_texts());
    }

    #[test]
    fn what_a_race_promised_of_a_class_stands_beside_what_fresh_trials_give_of_it() {
        let mut findings = bench(2).findings();
        findings.study.race_ratio = Some(0.5);
        let told = |metric: &str| {
            let sentence = super::super::race::confirmation(&findings, Some(metric)).unwrap();
            let own = found(&findings, metric);
            let [ratio, low, high] =
                show::ratios(own.ratio.unwrap(), own.ci95_simultaneous.unwrap());
            let given = format!("(ratio {ratio}, 95% CI {low}-{high})");
            assert!(sentence.text.contains(&given), "{}", sentence.text);
            sentence.text
        };
        let (reads, writes) = (told("block_read_mean_ns"), told("block_write_mean_ns"));
        assert!(reads.contains("for read requests") && writes.contains("for write requests"));
        assert!(reads.contains("(ratio 2,") && writes.contains("(ratio 1,"), "{reads} {writes}");
        // A study that confirms no race has no sentence on one.
        findings.study.race_ratio = None;
        assert!(super::super::race::confirmation(&findings, None).is_none());
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
            trial.evidence.block_latency = trial.evidence.block_latency.clone().map(only);
        }
        let alone = alone.findings();
        let p = |findings: &Findings| found(findings, "block_read_mean_ns").p_holm;
        let (shared, single) = (p(&findings).unwrap(), p(&alone).unwrap());
        assert!((shared - (2.0 * single).min(1.0)).abs() < 1e-12, "{shared} {single}");
    }

    /// The same as production work: observed only.
    fn live(mut bench: Bench) -> Findings {
        for workload in &mut bench.plan.workloads {
            let settle = "1s".parse().unwrap();
            let harm = production::Harm::default();
            workload.work = production::ProductionPlan { settle, harm }.into();
        }
        bench.findings()
    }

    #[test]
    fn others_work_is_unstable_by_the_class_and_not_by_how_much_there_was() {
        let trust = |found: &Findings, metric: &str| {
            // The test changes the second arm.
            let cell = found.measurements.iter().rfind(|cell| cell.metric == metric).unwrap();
            let rules: Vec<&str> = cell.reasons.iter().map(|one| &*one.rule).collect();
            (cell.trust, rules.contains(&RULE))
        };
        // Reads that take twenty times as long in every second trial.
        let jumping = || {
            bench(1).each(|trial| {
                let reads = if trial.replicate % 2 == 0 { 20_000_000 } else { 1_000_000 };
                trial.evidence.block_latency =
                    Presence::Present(block([(0, 2_000, reads), (1, 500, 3_000_000)]));
            })
        };
        let found = live(jumping());
        assert_eq!(trust(&found, "block_read_mean_ns"), (Some(Trust::Suspect), true));
        assert!(!trust(&found, "block_write_mean_ns").1);
        assert!(!trust(&found, "block_read_p99_ns").1, "tails may jump");
        // For a program, the rule judges its operations.
        assert!(!trust(&jumping().findings(), "block_read_mean_ns").1);
        // A varying load with a constant latency is not unstable.
        let loads = live(bench(1).each(|trial| {
            let reads = if trial.replicate % 2 == 0 { 20_000 } else { 1_000 };
            trial.evidence.block_latency =
                Presence::Present(block([(0, reads, 1_000_000), (1, 500, 3_000_000)]));
        }));
        assert!(!trust(&loads, "block_read_mean_ns").1);
    }

    #[test]
    fn what_was_not_seen_is_absent_with_its_reason() {
        let lost = bench(1)
            .each(|trial| trial.evidence.block_latency = Presence::absent("7 events were lost"));
        let findings = lost.findings();
        let absent = |metric: &str| {
            let mut all = findings.absent.iter();
            all.find(|one| one.metric.as_deref() == Some(metric)).map(|one| one.reason.as_str())
        };
        assert_eq!(absent(ALL), Some("7 events were lost"));
        let none = bench(1).each(|trial| {
            trial.evidence.block_latency =
                Presence::Present(block([(0, 0, 0), (1, 500, 3_000_000)]));
        });
        let findings = none.findings();
        let reads = |one: &&AbsentCell| one.metric.as_deref() == Some("block_read_mean_ns");
        let reason = &findings.absent.iter().find(reads).unwrap().reason;
        assert!(reason.starts_with("the devices completed no reads in trial"), "{reason}");
        let unasked = bench(1).each(|trial| trial.evidence.block_latency = not_recorded());
        assert!(unasked.findings().absent.iter().all(|one| one.metric.as_deref() != Some(ALL)));
    }
}
