//! Large content of a first screen: the subject, the measured system, and the numbers of a check.

use super::numbers::value;
use super::{answer, commands, exhibits, facts, files, micro, standing, study};
use assay_core::exhibit::parts::distinct;
use assay_core::quantity::units::show;
use assay_study::findings::facts::{IoFacts, PlaceFacts};
use assay_study::findings::shown::{MICRO_RATE, Rating};
use assay_study::findings::{
    AdviceKind, Comparison, Findings, Kind, Measurement, TargetFacts, Trust, Verdict, WorkloadFacts,
};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::{design::Factor, headline::Headline};
use assay_workloads::io::Pattern;
use assay_workloads::metrics::{change, noun};

const MOST_NUMBERS: usize = 7;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    pub target: Option<String>,
    pub numbers: Vec<LargeNumber>,
}

/// Timed trials are shorter than this.
const DAY_NS: u64 = 86_400_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeNumber {
    pub workload: String,
    /// The result on the workload's primary metric, with its unit.
    pub value: String,
    /// The other one of bandwidth and IOPS.
    pub other: Option<String>,
    /// Its 95% CI, or why there is none.
    pub interval: String,
    /// Whether the interval is too wide for the number to be useful.
    pub wide: bool,
    pub rating: Rating,
    pub io: Option<IoFacts>,
}

/// The large numbers of each target of a check; empty for a study.
pub fn large(findings: &Findings) -> Vec<Large> {
    if study::is_study(findings) {
        return Vec::new();
    }
    let targets = &findings.environment.targets;
    let mut large = Vec::new();
    for target in targets {
        let arm = facts::arm_of(findings, target);
        let is_of_arm = |cell: &&Measurement| cell.primary && cell.configuration == arm;
        let cells = findings.measurements.iter().filter(is_of_arm);
        let numbers: Vec<LargeNumber> =
            cells.filter_map(|cell| large_number(findings, cell)).take(MOST_NUMBERS).collect();
        if !numbers.is_empty() {
            large.push(Large { target: (targets.len() > 1).then(|| target_name(target)), numbers });
        }
    }
    large
}

/// The large number of a cell, with a second one if the metric has a counterpart; `None` for other metrics.
fn large_number(findings: &Findings, cell: &Measurement) -> Option<LargeNumber> {
    let in_row = |metric| findings.in_row_of(cell, metric);
    let (cell, other) = match cell.metric.as_str() {
        "iops" => (cell, in_row("bandwidth_bytes_per_s")),
        "bandwidth_bytes_per_s" => (cell, in_row("iops")),
        // The time per operation is easier to remember than the rate.
        MICRO_RATE => (in_row(micro::COST)?, Some(cell)),
        commands::DURATION | files::FILES_PER_S => (cell, None),
        metric if exhibits::are_known_by(metric) => (cell, None),
        _ => return None,
    };
    let interval = cell.ci95.map(|[low, high]| ci_text(&cell.metric, low, high));
    Some(LargeNumber {
        workload: cell.workload.replace('-', " "),
        value: value(&cell.metric, cell.value()?),
        other: other.and_then(|cell| Some(value(&cell.metric, cell.value()?))),
        interval: interval.unwrap_or_else(|| format!("{} trials: no CI", cell.n)),
        wide: cell.is_wide(),
        rating: Rating::from_cell(cell)?,
        io: findings.workload(&cell.workload, &cell.configuration).and_then(|facts| facts.io),
    })
}

/// An interval such as `0.95 to 1.02 ms`: both ends in the unit of the upper one.
fn ci_text(metric: &str, low: f64, high: f64) -> String {
    let (shown_low, shown_high) = (value(metric, low), value(metric, high));
    let Some((high_number, unit)) = shown_high.rsplit_once(' ') else {
        return format!("{shown_low} to {shown_high}");
    };
    if let Some(number) = shown_low.strip_suffix(unit) {
        return format!("{} to {shown_high}", number.trim_end());
    }
    // The lower end has another unit: compute it from the printed upper number and the ratio of both ends.
    match high_number.replace(',', "").parse::<f64>() {
        Ok(number) => format!("{:.2} to {shown_high}", number * low / high),
        Err(_) => format!("{shown_low} to {shown_high}"),
    }
}

/// How the numbers of a check were measured; `None` without any.
pub fn method(findings: &Findings) -> Option<String> {
    let trials = findings.measurements.iter().filter(|it| it.primary).map(|it| it.n).max()?;
    let time_ns = findings.workloads.first()?.time_ns;
    // Work that ends for another reason has a time limit of at least a day, which is irrelevant.
    let is_timed = |facts: &WorkloadFacts| facts.time_ns == time_ns && time_ns < DAY_NS;
    let time = if findings.workloads.iter().all(is_timed) {
        format!(" of {}", show::duration(time_ns as f64))
    } else {
        String::new()
    };
    // The workload names of a check end in `q1` or `q32`, which needs an explanation.
    let is_deep = |facts: &WorkloadFacts| {
        let is_4k = |io: IoFacts| io.pattern == Pattern::Random && io.size_bytes == 4096;
        facts.io.is_some_and(is_4k) && facts.requested_queue_depth > 1
    };
    let has_depths = findings.study.kind == "check" && findings.workloads.iter().any(is_deep);
    let names = if has_depths { "; q1 and q32 are queue depths of 4 KiB operations" } else { "" };
    Some(format!("Means of {trials} trials{time}, with 95% CIs below{names}."))
}

/// A result in a few words for a list: a few numbers of a check, else the answer; and how far to trust them.
pub fn headline(findings: &Findings) -> Headline {
    let text = headline_numbers(&large(findings)).unwrap_or_else(|| answer(findings).text);
    let standing = standing(findings);
    let mut trust: Vec<String> = Vec::new();
    if standing.is_single {
        trust.push("n = 1 each".to_owned());
    }
    trust.extend(standing.rows.iter().map(|(rating, count)| format!("{count} {}", rating.words())));
    Headline { text: text.trim_end_matches('.').to_owned(), trust: trust.join(", ") }
}

/// The first number of sequential reads, of random reads and of synchronous writes; without any, one of no I/O.
fn headline_numbers(large: &[Large]) -> Option<String> {
    let all = || large.iter().flat_map(|target| target.numbers.iter().map(move |it| (target, it)));
    let wanted: [fn(&IoFacts) -> bool; 3] = [
        |io| io.pattern == Pattern::Sequential && io.only_reads(),
        |io| io.pattern == Pattern::Random && io.only_reads(),
        |io| io.data_sync && io.only_writes(),
    ];
    let mut texts: Vec<String> = Vec::new();
    for is_wanted in wanted {
        let first = all().find(|(_, number)| number.io.as_ref().is_some_and(is_wanted));
        let Some((target, number)) = first else { continue };
        let on = target.target.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        texts.push(format!("{} {}{on}", number.value, number.workload));
    }
    if !texts.is_empty() {
        return Some(texts.join(", "));
    }
    let (_, number) = all().next().filter(|(_, number)| number.io.is_none())?;
    Some(format!("{} {}", number.value, number.workload))
}

/// The subject of a result: drive and file system of a check, else the question.
pub fn subject(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    if findings.study.title != facts::USUAL_TITLE || targets.is_empty() {
        return findings.study.title.clone();
    }
    if let [target] = targets.as_slice() {
        let size = target.size_bytes.map(|bytes| format!(", {}", show::bytes(bytes)));
        let filesystem = filesystem(target).map(|name| format!(": {name}"));
        return [Some(target.drive.clone()), size, filesystem].into_iter().flatten().collect();
    }
    distinct(targets.iter().map(target_name)).join(" and ")
}

/// A target with its file system: `/mnt/a (ext4)`.
fn target_name(target: &TargetFacts) -> String {
    match filesystem(target) {
        None => target.name.clone(),
        Some(filesystem) => format!("{} ({filesystem})", target.name),
    }
}

/// The file system without options, `none` for a bare device; `None` if unknown. For a file, only the top file system.
fn filesystem(target: &TargetFacts) -> Option<String> {
    if let Some(top) = target.filesystems.first()
        && target.on_a_file
    {
        return Some(top.name.clone());
    }
    let is_known = !target.filesystem.is_empty() && target.drive != "simulated";
    target.filesystem_name().or_else(|| is_known.then(|| "none".to_owned()))
}

/// The measured system in one line: file system, drive, kernel and machine, except what [`subject`] already says.
pub fn identity(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    let mut parts: Vec<String> = Vec::new();
    // Otherwise, the subject is already the drive with its file system.
    if findings.study.title != facts::USUAL_TITLE || targets.len() > 1 {
        for target in targets {
            parts.push(facts::drive(target));
            if targets.len() == 1 {
                parts.extend(filesystem(target).filter(|name| name != "none"));
            }
        }
        parts = distinct(parts);
        parts.retain(|text| !text.is_empty());
    }
    let environment = &findings.environment;
    for (name, value) in facts::machine(environment) {
        parts.push(match (name.as_str(), &environment.platform) {
            ("kernel", _) => format!("Linux {value}"),
            ("platform", Some(platform)) => platform.name.clone(),
            _ => value,
        });
    }
    parts.join(" \u{b7} ")
}

/// Other properties of machine and target that affect the numbers: area, clock source, steal, vulnerabilities.
pub fn conditions(findings: &Findings) -> Vec<String> {
    let environment = &findings.environment;
    let area = environment.targets.first().filter(|target| target.area_bytes > 0);
    let mut conditions: Vec<String> = area.map(facts::area_words).into_iter().collect();
    conditions.extend(environment.platform.iter().flat_map(PlaceFacts::around));
    conditions
}

/// The advised change, or else the largest one with a verdict, in its unit:
/// `link: added latency 586 ms (none) -> 17.9 ms (80%), 97% lower`. `None` if the study has a different answer.
pub fn largest_change(findings: &Findings) -> Option<String> {
    let has_other_answer = findings.answers.gate.is_some()
        || findings.answers.requirements.is_some()
        || findings.kind_exhibits().any(|exhibit| exhibit.leads);
    if has_other_answer || findings.race.is_some() || super::no_verdict(findings).is_some() {
        return None;
    }
    let ([base_mean, changed_mean], pair) = most_different(findings)?;
    let different_levels = |arm: &Arm, other: &Arm| {
        arm_in_words(arm.iter().filter(|(name, level)| other.get(*name) != Some(*level)))
    };
    let base_levels = different_levels(&pair.baseline, &pair.configuration);
    let changed_levels = different_levels(&pair.configuration, &pair.baseline);
    let [before, after] = [base_mean, changed_mean].map(|mean| value(&pair.metric, mean));
    let noun = noun(&pair.metric);
    let metric = if before.ends_with(noun) { String::new() } else { format!("{noun} ") };
    let ratio = pair.ratio.unwrap_or(changed_mean / base_mean);
    let change = change(&show::ratio(ratio), &pair.metric);
    // A percentage needs no noun: the sentence begins with the noun.
    let change = change.strip_suffix(noun).filter(|text| text.contains('%')).unwrap_or(&change);
    let is_shared_choice = |(name, level): &(&String, &String)| {
        let factor = findings.study.factors.iter().find(|factor| factor.name == **name);
        pair.baseline.get(*name) == Some(*level) && factor.is_some_and(Factor::varies)
    };
    let shared = arm_in_words(pair.configuration.iter().filter(is_shared_choice));
    let workload = match shared.as_str() {
        "" => pair.workload.clone(),
        shared => format!("{} with {shared}", pair.workload),
    };
    Some(format!(
        "{workload}: {metric}{before} ({base_levels}) \u{2192} {after} ({changed_levels}), {}",
        change.trim_end()
    ))
}

/// The comparison with the largest ratio of means, and the means: an advised one, or else a better or worse one.
fn most_different(findings: &Findings) -> Option<([f64; 2], &Comparison)> {
    let advice = findings.advice.iter().filter(|advice| advice.kind == AdviceKind::Use);
    let advised: Vec<&String> = advice.flat_map(|advice| &advice.evidence).collect();
    let is_advised = |comparison: &Comparison| advised.contains(&&comparison.id);
    let has_advised = findings.comparisons.iter().any(is_advised);
    let is_candidate = |it: &&Comparison| {
        let is_significant = matches!(it.verdict, Some(Verdict::Better | Verdict::Worse));
        let is_within_result = matches!(it.kind, Kind::Paired | Kind::Unpaired);
        let is_judged = it.primary && is_significant && !it.withheld && is_within_result;
        is_judged && (is_advised(it) || !has_advised)
    };
    let (mut largest, mut largest_size) = (None, 0.0);
    for comparison in findings.comparisons.iter().filter(is_candidate) {
        let Some(means) = means(findings, comparison) else { continue };
        // The logarithm makes a halving as large as a doubling.
        let size = (means[1] / means[0]).ln().abs();
        if size.is_finite() && size > largest_size {
            largest_size = size;
            largest = Some((means, comparison));
        }
    }
    largest
}

/// The means of baseline and configuration: over their pairs if known. `None` if one is missing or invalid.
fn means(findings: &Findings, comparison: &Comparison) -> Option<[f64; 2]> {
    let cells = [&comparison.baseline, &comparison.configuration]
        .map(|arm| findings.cell(&comparison.workload, arm, &comparison.metric));
    let [Some(base), Some(configured)] = cells else { return None };
    if [base, configured].iter().any(|cell| cell.trust == Some(Trust::Invalid)) {
        return None;
    }
    match comparison.own_means() {
        Some([configuration, baseline]) => Some([baseline, configuration]),
        None => Some([base.value()?, configured.value()?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_told_in_the_unit_of_the_upper_one() {
        let mib = f64::from(1 << 20);
        let told = |low: f64, high: f64| ci_text("bandwidth_bytes_per_s", low * mib, high * mib);
        assert_eq!(told(10.0, 12.0), "10 to 12 MiB/s");
        // On its own, the lower end would have another unit.
        assert_eq!(told(0.5, 1020.0), "0.50 to 1020 MiB/s");
    }
}
