//! The numbers behind a page as CSV, on the page or in a file. Histograms have at most 64 buckets per cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use maud::{Markup, html};

use super::{PagePlace, every_trial_name, is_large, site};
use crate::document::COMPARISONS;
use crate::evidence::{Evidence, RowLatencies};
use assay_core::{lines::field, quantity::units::show};
use assay_study::findings::{Comparison, Findings, TrialValue};
use assay_study::results::plan::{Arm, arm_words};
use assay_study::results::series;

pub(super) fn section(evidence: &Evidence, place: PagePlace<'_>) -> Markup {
    let findings = &evidence.findings;
    let is_elsewhere = is_large(findings);
    let trials = if is_elsewhere { String::new() } else { every_trial(findings) };
    let tables = [
        (EVERY_TRIAL, "All trials with all metrics", trials),
        (COMPARISONS, "All comparisons of all metrics", comparisons(&evidence.findings)),
        ("latencies.csv", "Latencies by configuration and class", latencies(&evidence.latencies)),
    ];
    html! {
        p { "Disturbed and excluded trials are included. The bundle contains all other data." }
        @if is_elsewhere { (file_reference(findings, place)) }
        @for (name, description, text) in tables.iter().filter(|(.., text)| line_count(text) > 0) {
            details {
                summary { (name) ": " (description) ", " (show::count(line_count(text) as u64)) " lines" }
                pre data-name=(name) { (text) }
            }
        }
    }
}

const EVERY_TRIAL: &str = "every-trial.csv";

/// A link to the file with all trials; without a file, the command that prints them.
fn file_reference(findings: &Findings, place: PagePlace<'_>) -> Markup {
    let id = &findings.study.id;
    let file = match place {
        PagePlace::Alone => None,
        PagePlace::Beside(stem) => Some(every_trial_name(stem, id)),
        PagePlace::Site => Some(site::encoded(&format!("../{}", site::trials_name(id)))),
    };
    html! { p {
        "All trials with all metrics: "
        @if let Some(file) = file { a href=(file) { (EVERY_TRIAL) } }
        @else { code { "assay show --json " (id) } }
    } }
}

/// Number of lines below the heading.
fn line_count(text: &str) -> usize {
    text.lines().count().saturating_sub(1)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TrialKey<'a> {
    order: u32,
    replicate: u32,
    workload: &'a str,
    arm: &'a Arm,
    control: bool,
}

/// All trials as CSV: a line per trial in run order, with the values of all metrics.
pub fn every_trial(findings: &Findings) -> String {
    let metrics: BTreeSet<_> = findings.measurements.iter().map(|it| it.metric.as_str()).collect();
    let mut rows: BTreeMap<TrialKey<'_>, (&TrialValue, Vec<Option<f64>>)> = BTreeMap::new();
    for cell in &findings.measurements {
        let column = metrics.range(..cell.metric.as_str()).count();
        for trial in &cell.trials {
            let key = TrialKey {
                order: trial.order.unwrap_or(0),
                replicate: trial.replicate,
                workload: &cell.workload,
                arm: &cell.configuration,
                control: cell.control,
            };
            let row = rows.entry(key).or_insert_with(|| (trial, vec![None; metrics.len()]));
            if trial.value.is_some() {
                row.1[column] = trial.value;
            }
        }
    }
    let factors = factors(findings);
    let mut text = String::from("order,replicate,workload");
    write_factors(&mut text, &factors);
    text.push_str(",second_copy,status,reason");
    for metric in &metrics {
        text.extend([",", &field(metric)]);
    }
    for (key, (trial, values)) in &rows {
        let status = format!("{:?}", trial.status).to_lowercase();
        let order = trial.order.map(|order| order.to_string()).unwrap_or_default();
        let reason = trial.reason.as_deref().unwrap_or_default();
        let _ = write!(text, "\n{order},{},{}", key.replicate, field(key.workload));
        write_levels(&mut text, &factors, key.arm);
        let _ = write!(text, ",{},{status},{}", u8::from(key.control), field(reason));
        for value in values {
            text.push(',');
            text.extend(value.map(five_digits));
        }
    }
    text.push('\n');
    text
}

/// All comparisons as CSV: a line per workload, arm (configuration) and baseline, with the ratios of all metrics.
fn comparisons(findings: &Findings) -> String {
    let factors = factors(findings);
    // The comparisons of each line, and the index of its line.
    let mut rows: Vec<Vec<&Comparison>> = Vec::new();
    let mut indices: BTreeMap<(&str, &Arm, &Arm), usize> = BTreeMap::new();
    for comparison in &findings.comparisons {
        let key = (comparison.workload.as_str(), &comparison.configuration, &comparison.baseline);
        let index = *indices.entry(key).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => row.push(comparison),
            None => rows.push(vec![comparison]),
        }
    }
    let metrics: BTreeSet<_> = findings.comparisons.iter().map(|it| it.metric.as_str()).collect();
    let mut text = String::from("workload");
    write_factors(&mut text, &factors);
    text.push_str(",against,n,judged_by,verdict,family_low95,family_high95,p_holm");
    for metric in &metrics {
        let _ = write!(text, ",{},low95,high95", field(metric));
    }
    for row in &rows {
        write_comparison(&mut text, row, &factors, &metrics);
    }
    text.push('\n');
    text
}

/// Writes a line: `row` has the comparisons of all metrics of a workload, an arm and its baseline.
fn write_comparison(
    text: &mut String,
    row: &[&Comparison],
    factors: &BTreeSet<&str>,
    metrics: &BTreeSet<&str>,
) {
    let Some(first) = row.first() else { return };
    let _ = write!(text, "\n{}", field(&first.workload));
    write_levels(text, factors, &first.configuration);
    // Name only the levels of the baseline that differ.
    let mut against = first.baseline.clone();
    against.retain(|factor, level| first.configuration.get(factor) != Some(level));
    let primary = row.iter().find(|comparison| comparison.primary);
    let n = primary.unwrap_or(first).n;
    let _ = write!(text, ",{},{n}", field(&arm_words(&against)));
    let verdict = primary.and_then(|comparison| comparison.verdict);
    let verdict = verdict.map(|verdict| format!("{verdict:?}").to_lowercase());
    let metric = primary.map_or("", |comparison| comparison.metric.as_str());
    let _ = write!(text, ",{},{}", field(metric), verdict.unwrap_or_default());
    let [low, high] = ends(primary.and_then(|comparison| comparison.ci95_simultaneous));
    write_numbers(text, [low, high, primary.and_then(|comparison| comparison.p_holm)]);
    for metric in metrics {
        let comparison = row.iter().find(|comparison| comparison.metric == *metric);
        write_numbers(text, comparison.map_or([None; 3], |comparison| effect_numbers(comparison)));
    }
}

/// The ratio or difference of a comparison, and the ends of its 95% CI.
fn effect_numbers(comparison: &Comparison) -> [Option<f64>; 3] {
    let (value, interval) = match comparison.difference {
        Some(difference) => (Some(difference.value), difference.ci95),
        None => (comparison.ratio, comparison.ci95),
    };
    let [low, high] = ends(interval);
    [value, low, high]
}

fn write_numbers(text: &mut String, numbers: [Option<f64>; 3]) {
    for number in numbers {
        text.push(',');
        text.extend(number.map(five_digits));
    }
}

fn factors(findings: &Findings) -> BTreeSet<&str> {
    let factors = findings.measurements.iter().flat_map(|cell| cell.configuration.keys());
    factors.map(String::as_str).collect()
}

fn write_factors(text: &mut String, factors: &BTreeSet<&str>) {
    for factor in factors {
        text.extend([",", &field(&format!("factor_{factor}"))]);
    }
}

fn write_levels(text: &mut String, factors: &BTreeSet<&str>, arm: &Arm) {
    for factor in factors {
        text.push(',');
        text.push_str(&field(arm.get(*factor).map_or("", String::as_str)));
    }
}

fn ends(interval: Option<[f64; 2]>) -> [Option<f64>; 2] {
    interval.map_or([None; 2], |ends| ends.map(Some))
}

/// Latency histograms as CSV: a line per workload, arm and class; each bucket is its start in ns with its count.
fn latencies(rows: &[RowLatencies]) -> String {
    let mut text = String::from("workload,arm,second_copy,class,trials,operations,buckets_ns");
    for row in rows {
        let arm = arm_words(&row.arm);
        let buckets: Vec<String> =
            buckets(row).iter().map(|(from, count)| format!("{from}:{count}")).collect();
        let _ = write!(
            text,
            "\n{},{},{},{},{},{},{}",
            field(&row.workload),
            field(&arm),
            u8::from(row.control),
            field(&row.class),
            row.trials,
            row.nanoseconds.len(),
            buckets.join(" ")
        );
    }
    text.push('\n');
    text
}

/// Start and count of each bucket.
fn buckets(latencies: &RowLatencies) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for (latency_ns, count) in latencies.nanoseconds.steps() {
        let from = series::bucket_from_ns(series::bucket(latency_ns));
        *counts.entry(from).or_insert(0) += count;
    }
    counts
}

/// A number with five digits, more than the precision of any trial.
fn five_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_what_it_is() {
        assert_eq!(field("ext4"), "ext4");
        assert_eq!(field("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(field("a=1,b=\"2\""), "\"a=1,b=\"\"2\"\"\"");
    }

    #[test]
    fn numbers_have_five_digits() {
        assert_eq!(five_digits(123_456_789.0), "123460000");
        assert_eq!(five_digits(0.000_123_456_78), "0.00012346");
        assert_eq!(five_digits(0.0), "0");
    }
}
