//! Large content of a first screen: the subject, the measured system, and the numbers of a check.

use super::numbers::value;
use super::{answer, commands, exhibits, facts, files, micro, standing, study};
use assay_core::quantity::units::show;
use assay_study::findings::facts::{IoFacts, PlaceFacts};
use assay_study::findings::shown::MICRO_RATE;
use assay_study::findings::shown::Rating;
use assay_study::findings::{
    AdviceKind, Comparison, Findings, Kind, Measurement, TargetFacts, Trust, Verdict, WorkloadFacts,
};
use assay_study::results::design::Factor;
use assay_study::results::headline::Headline;
use assay_study::results::plan::arm_in_words;
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
    pub stands: Rating,
    pub io: Option<IoFacts>,
}

/// The large numbers of each target of a check; empty for a study.
pub fn large(findings: &Findings) -> Vec<Large> {
    if study::is_one(findings) {
        return Vec::new();
    }
    let targets = &findings.environment.targets;
    let several = targets.len() > 1;
    let one = |target: &TargetFacts| {
        let arm = facts::arm_of(findings, target);
        let own =
            findings.measurements.iter().filter(|cell| cell.primary && cell.configuration == arm);
        let numbers = own.filter_map(|cell| number(findings, cell)).take(MOST_NUMBERS).collect();
        Large { target: several.then(|| named(target)), numbers }
    };
    let all = targets.iter().map(one);
    all.filter(|large: &Large| !large.numbers.is_empty()).collect()
}

fn number(findings: &Findings, cell: &Measurement) -> Option<LargeNumber> {
    let of = |metric| findings.in_row_of(cell, metric);
    let (cell, other) = match cell.metric.as_str() {
        "iops" => (cell, of("bandwidth_bytes_per_s")),
        "bandwidth_bytes_per_s" => (cell, of("iops")),
        // The time per operation is easier to remember than the rate.
        MICRO_RATE => (of(micro::COST)?, Some(cell)),
        commands::DURATION | files::FILES_PER_S => (cell, None),
        metric if exhibits::are_known_by(metric) => (cell, None),
        _ => return None,
    };
    let interval = cell.ci95.map(|[low, high]| range(&cell.metric, low, high));
    Some(LargeNumber {
        workload: cell.workload.replace('-', " "),
        value: value(&cell.metric, cell.value()?),
        other: other.and_then(|cell| Some(value(&cell.metric, cell.value()?))),
        interval: interval.unwrap_or_else(|| format!("{} trials: no CI", cell.n)),
        wide: cell.is_wide(),
        stands: Rating::from_cell(cell)?,
        io: findings.workload(&cell.workload, &cell.configuration).and_then(|one| one.io),
    })
}

/// Both ends in the unit of the upper one, which is printed once.
fn range(metric: &str, low: f64, high: f64) -> String {
    let (told, shown) = (value(metric, low), value(metric, high));
    let Some((number, unit)) = shown.rsplit_once(' ') else { return format!("{told} to {shown}") };
    let low = told.strip_suffix(unit).map_or_else(
        || {
            let digits: String = number.chars().filter(|sign| *sign != ',').collect();
            let scaled = digits.parse().map(|number: f64| number * low / high);
            scaled.map_or_else(|_| told.clone(), |number| format!("{number:.2}"))
        },
        |low| low.trim_end().to_owned(),
    );
    format!("{low} to {shown}")
}

pub fn method(findings: &Findings) -> Option<String> {
    let trials =
        findings.measurements.iter().filter(|cell| cell.primary).map(|cell| cell.n).max()?;
    let work = findings.workloads.first()?;
    // If trials end for another reason, their time limit is irrelevant.
    let timed = |one: &WorkloadFacts| one.time_ns == work.time_ns && one.time_ns < DAY_NS;
    let timed = findings.workloads.iter().all(timed);
    let time = timed.then(|| format!(" of {}", show::duration(work.time_ns as f64)));
    let time = time.unwrap_or_default();
    // The workload names of a check need an explanation.
    let deep = |one: &WorkloadFacts| {
        let small = one.io.is_some_and(|io| io.pattern == Pattern::Random && io.size_bytes == 4096);
        small && one.requested_queue_depth > 1
    };
    let queue = findings.study.kind == "check" && findings.workloads.iter().any(deep);
    let names = if queue { "; q1 and q32 are queue depths of 4 KiB operations" } else { "" };
    Some(format!("Means of {trials} trials{time}, with 95% CIs below{names}."))
}

/// A result in a few words: the first read and the first write number of a check, else the first sentence on verdicts.
pub fn headline(findings: &Findings) -> Headline {
    let large = large(findings);
    let numbers = large.iter().flat_map(|one| one.numbers.iter().map(move |own| (one, own)));
    let first = |wanted: fn(&IoFacts) -> bool| {
        let (of, own) = numbers.clone().find(|(_, own)| own.io.as_ref().is_some_and(wanted))?;
        let target = of.target.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        Some(format!("{} {}{target}", own.value, own.workload))
    };
    let wanted: [fn(&IoFacts) -> bool; 3] = [
        |io| io.pattern == Pattern::Sequential && io.only_reads(),
        |io| io.pattern == Pattern::Random && io.only_reads(),
        |io| io.data_sync && io.only_writes(),
    ];
    let told: Vec<String> = wanted.into_iter().filter_map(first).collect();
    let others = || numbers.clone().next().filter(|(_, own)| own.io.is_none());
    let text = match (told.is_empty(), others()) {
        (false, _) => told.join(", "),
        (true, Some((_, own))) => format!("{} {}", own.value, own.workload),
        (true, None) => answer(findings).text,
    };
    let standing = standing(findings);
    let single = standing.is_single.then(|| "n = 1 each".to_owned());
    let rows = standing.rows.iter().map(|(stands, count)| format!("{count} {}", stands.words()));
    let trust: Vec<String> = single.into_iter().chain(rows).collect();
    Headline { text: text.trim_end_matches('.').to_owned(), trust: trust.join(", ") }
}

/// The subject of a result: drive and file system of a check, else the question.
pub fn subject(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    if findings.study.title != facts::USUAL_TITLE || targets.is_empty() {
        return findings.study.title.clone();
    }
    let one = |target: &TargetFacts| {
        let size = target.size_bytes.map(show::bytes);
        let words = [Some(target.drive.clone()), size].into_iter().flatten();
        let drive = words.collect::<Vec<_>>().join(", ");
        match filesystem(target) {
            None => drive,
            Some(told) => format!("{drive}: {told}"),
        }
    };
    let mut told: Vec<String> = match targets.as_slice() {
        [alone] => vec![one(alone)],
        several => several.iter().map(named).collect(),
    };
    told.dedup();
    told.join(" and ")
}

/// A target with its file system: `/mnt/a (ext4)`.
fn named(target: &TargetFacts) -> String {
    match filesystem(target) {
        None => target.name.clone(),
        Some(told) => format!("{} ({told})", target.name),
    }
}

/// The file system without its options, and without the file system below a loop device's file; `None` if unknown.
fn filesystem(target: &TargetFacts) -> Option<String> {
    let own = target.filesystems.first().filter(|_| target.on_a_file);
    let told = own.map(|own| own.name.clone()).or_else(|| target.filesystem_name());
    let has_none = !target.filesystem.is_empty() && target.drive != "simulated";
    told.or_else(|| has_none.then(|| "none".to_owned()))
}

/// The measured system in one line: file system, drive, kernel and machine.
pub fn identity(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    let mut told: Vec<String> = Vec::new();
    // Unless the subject is the drive.
    if findings.study.title != facts::USUAL_TITLE || targets.len() > 1 {
        for target in targets {
            told.push(facts::drive(target));
            if targets.len() == 1 {
                told.extend(filesystem(target).filter(|name| name != "none"));
            }
        }
        told.dedup();
        told.retain(|text| !text.is_empty());
    }
    let environment = &findings.environment;
    for (name, value) in facts::machine(environment) {
        told.push(match (name.as_str(), &environment.platform) {
            ("kernel", _) => format!("Linux {value}"),
            ("platform", Some(place)) => place.name.clone(),
            _ => value,
        });
    }
    told.join(" \u{b7} ")
}

/// Other properties of machine and target that affect the numbers: area, clock source, steal, vulnerabilities.
pub fn conditions(findings: &Findings) -> Vec<String> {
    let environment = &findings.environment;
    let area = environment.targets.first().filter(|target| target.area_bytes > 0);
    let around = environment.platform.iter().flat_map(PlaceFacts::around);
    area.map(facts::area_words).into_iter().chain(around).collect()
}

/// The advised change, or else the largest one with a verdict, in its unit:
/// `link: added latency 586 ms (none) -> 17.9 ms (80%), 97% lower`. `None` if the study has a different answer.
pub fn largest_change(findings: &Findings) -> Option<String> {
    let is_asked = findings.answers.gate.is_some()
        || findings.answers.requirements.is_some()
        || findings.kind_exhibits().any(|exhibit| exhibit.leads);
    if is_asked || findings.race.is_some() || super::no_verdict(findings).is_some() {
        return None;
    }
    let advice = findings.advice.iter().filter(|advice| advice.kind == AdviceKind::Use);
    let advised: Vec<&String> = advice.flat_map(|advice| &advice.evidence).collect();
    let is_advised = |found: &Comparison| advised.contains(&&found.id);
    let has_advised = findings.comparisons.iter().any(is_advised);
    let is_within = |kind: Kind| matches!(kind, Kind::Paired | Kind::Unpaired);
    let is_clear = |found: &&Comparison| {
        let judged = matches!(found.verdict, Some(Verdict::Better | Verdict::Worse));
        let leads = is_advised(found) || !has_advised;
        leads && found.primary && judged && !found.withheld && is_within(found.kind)
    };
    let (mut most, mut largest) = (0.0, None);
    for found in findings.comparisons.iter().filter(is_clear) {
        let Some(means) = means(findings, found) else { continue };
        let ratio = means[1] / means[0];
        let size = ratio.ln().abs();
        if size.is_finite() && size > most {
            (most, largest) = (size, Some((ratio, means, found)));
        }
    }
    let (ratio, means, found) = largest?;
    let arms = [(&found.baseline, &found.configuration), (&found.configuration, &found.baseline)];
    let [base, own] = arms.map(|(arm, other)| {
        arm_in_words(arm.iter().filter(|(name, level)| other.get(*name) != Some(*level)))
    });
    let [before, after] = means.map(|mean| value(&found.metric, mean));
    let noun = noun(&found.metric);
    let what = if before.ends_with(noun) { String::new() } else { format!("{noun} ") };
    let change = change(&show::ratio(found.ratio.unwrap_or(ratio)), &found.metric);
    let change = change.strip_suffix(noun).filter(|text| text.contains('%')).unwrap_or(&change);
    let is_shared = |(name, level): &(&String, &String)| {
        let factor = findings.study.factors.iter().find(|factor| factor.name == **name);
        found.baseline.get(*name) == Some(*level) && factor.is_some_and(Factor::varies)
    };
    let shared = arm_in_words(found.configuration.iter().filter(is_shared));
    let workload = match shared.as_str() {
        "" => found.workload.clone(),
        shared => format!("{} with {shared}", found.workload),
    };
    Some(format!(
        "{workload}: {what}{before} ({base}) \u{2192} {after} ({own}), {}",
        change.trim_end()
    ))
}

/// The means of baseline and configuration, unless one is invalid.
fn means(findings: &Findings, found: &Comparison) -> Option<[f64; 2]> {
    let cells = [&found.baseline, &found.configuration]
        .map(|arm| findings.cell(&found.workload, arm, &found.metric));
    let [Some(base), Some(own)] = cells else { return None };
    if [base, own].iter().any(|cell| cell.trust == Some(Trust::Invalid)) {
        return None;
    }
    match found.own_means() {
        Some([own, base]) => Some([base, own]),
        None => Some([base.value()?, own.value()?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_told_in_the_unit_of_the_upper_one() {
        let mib = f64::from(1 << 20);
        let told = |low: f64, high: f64| range("bandwidth_bytes_per_s", low * mib, high * mib);
        assert_eq!(told(10.0, 12.0), "10 to 12 MiB/s");
        // On its own, the lower end would have another unit.
        assert_eq!(told(0.5, 1020.0), "0.50 to 1020 MiB/s");
    }
}
