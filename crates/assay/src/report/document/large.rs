//! What a first screen shows large: the subject, what it was measured on, and of a check its numbers.

use super::numbers::value;
use super::{answer, centre, facts, find, standing, study, trust_word};
use crate::quantity::units::show;
use crate::results::findings::{Cell, Findings, TargetFacts, Trust};
use crate::results::headline::Headline;

/// Numbers of a target that are shown large.
const MOST_NUMBERS: usize = 7;

/// The numbers of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// Its name, where there are several.
    pub target: Option<String>,
    /// One a workload.
    pub numbers: Vec<LargeNumber>,
}

/// Upper end of an interval over the lower one from which on it is called wide.
const WIDE: f64 = 2.0;

/// One number with what a reader needs beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeNumber {
    /// What was done.
    pub workload: String,
    /// The result on the metric that the workload is known by, with its unit.
    pub value: String,
    /// The other of rate and operations per second.
    pub other: Option<String>,
    /// Its 95 % interval, or why there is none.
    pub interval: String,
    /// Whether the interval is so wide that the number says little.
    pub wide: bool,
    /// Trust.
    pub trust: Trust,
}

/// The large numbers of each target of a check; none of a study.
pub fn large(findings: &Findings) -> Vec<Large> {
    if study::is_one(findings) {
        return Vec::new();
    }
    let targets = &findings.environment.targets;
    let several = targets.len() > 1;
    let one = |target: &TargetFacts| {
        let arm = facts::arm_of(findings, target);
        let own = findings.cells.iter().filter(|cell| cell.primary && cell.arm == arm);
        let numbers = own.filter_map(|cell| number(findings, cell)).take(MOST_NUMBERS).collect();
        Large { target: several.then(|| named(target)), numbers }
    };
    let all = targets.iter().map(one);
    all.filter(|large: &Large| !large.numbers.is_empty()).collect()
}

fn number(findings: &Findings, cell: &Cell) -> Option<LargeNumber> {
    let other = match cell.metric.as_str() {
        "iops" => "bandwidth_bytes_per_s",
        "bandwidth_bytes_per_s" => "iops",
        _ => return None,
    };
    let other = find(findings, &cell.workload, &cell.arm, false, other);
    let interval = cell.ci95.map(|ends| range(&cell.metric, ends));
    let wide = cell.ci95.is_some_and(|[low, high]| high > WIDE * low);
    Some(LargeNumber {
        workload: cell.workload.replace('-', " "),
        value: value(&cell.metric, centre(cell)?),
        other: other.and_then(|cell| Some(value(&cell.metric, centre(cell)?))),
        interval: interval.unwrap_or_else(|| format!("{} trials: no interval", cell.n)),
        wide,
        trust: cell.trust?,
    })
}

/// Both ends in the unit of the upper one, which is told once.
fn range(metric: &str, [low, high]: [f64; 2]) -> String {
    let (told, shown) = (value(metric, low), value(metric, high));
    let Some((number, unit)) = shown.rsplit_once(' ') else { return format!("{told} to {shown}") };
    let low = told.strip_suffix(unit).map_or_else(
        || {
            let number = number.parse().map_or(f64::NAN, |number: f64| number * low / high);
            format!("{number:.2}")
        },
        |low| low.trim_end().to_owned(),
    );
    format!("{low} to {shown}")
}

/// How the large numbers came about.
pub fn method(findings: &Findings) -> Option<String> {
    let trials = findings.cells.iter().filter(|cell| cell.primary).map(|cell| cell.n).max()?;
    let work = findings.workloads.first()?;
    let time = show::duration(work.time_ns as f64);
    let queue = findings.workloads.iter().any(|one| one.name.ends_with("-q32"));
    let names = if queue { "; q1, q32: operations of 4 KiB in flight at once" } else { "" };
    Some(format!("Means of {trials} trials of {time}, below them their 95 % intervals{names}."))
}

/// A result in a few words: the first number that reads and the first that writes of a check, else
/// the first sentence of the verdicts.
pub fn headline(findings: &Findings) -> Headline {
    let large = large(findings);
    let numbers = large.iter().flat_map(|one| one.numbers.iter().map(move |own| (one, own)));
    let first = |word: &str| {
        let (of, own) = numbers.clone().find(|(_, own)| own.workload.contains(word))?;
        let target = of.target.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        Some(format!("{} {}{target}", own.value, own.workload))
    };
    let told: Vec<String> =
        ["sequential read", "random read", "sync write"].into_iter().filter_map(first).collect();
    let text = if told.is_empty() { answer(findings) } else { told.join(", ") };
    let standing = standing(findings);
    let rows = standing.rows.iter();
    let trust: Vec<String> =
        rows.map(|(trust, count)| format!("{count} {}", trust_word(*trust))).collect();
    Headline { text: text.trim_end_matches('.').to_owned(), trust: trust.join(", ") }
}

/// What a result is about: of a check the drive and its file system, else the question.
pub fn subject(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    if findings.study.title != facts::USUAL_TITLE || targets.is_empty() {
        return findings.study.title.clone();
    }
    let one = |target: &TargetFacts| {
        let size = target.size_bytes.map(show::bytes);
        let words = [Some(target.drive.clone()), size].into_iter().flatten();
        let drive = words.collect::<Vec<_>>().join(", ");
        if target.filesystem.is_empty() {
            return drive;
        }
        format!("{drive}: {}", filesystem(target))
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
        "" => target.name.clone(),
        told => format!("{} ({told})", target.name),
    }
}

/// The file system alone: without its options, and without what a loop device's file lies on.
fn filesystem(target: &TargetFacts) -> &str {
    let told = target.filesystem.split(" (").next().unwrap_or_default();
    let own = if target.drive.starts_with("loop") { told.split(" on ").next() } else { None };
    own.unwrap_or(told)
}

/// Where and how it was measured, in one line.
pub fn measured_on(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    // Where the subject is the drive, it has been told.
    let asked = findings.study.title != facts::USUAL_TITLE || targets.len() > 1;
    let drive = asked.then(|| match targets.as_slice() {
        [] => String::new(),
        [one] => format!("{}, {}", facts::drive(one), one.filesystem),
        several => {
            let mut names: Vec<String> = several.iter().map(facts::drive).collect();
            names.dedup();
            names.join("; ")
        }
    });
    let machine = facts::machine(&findings.environment);
    let kernel = |(name, value): (String, String)| {
        if name == "kernel" { format!("Linux {value}") } else { value }
    };
    let machine = machine.into_iter().filter(|(_, value)| !facts::unrecorded(value)).map(kernel);
    let area = targets.first().filter(|target| target.area_bytes > 0).map(facts::area_words);
    let told = drive.into_iter().filter(|text| !text.is_empty()).chain(area).chain(machine);
    told.collect::<Vec<_>>().join(" \u{b7} ")
}
