//! What a first screen shows large: the subject, what it was measured on, and of a check its numbers.

use super::numbers::value;
use super::{centre, facts, find, standing, study, trust_word};
use crate::quantity::units::show;
use crate::results::findings::{Cell, Findings, NOT_ALONE, TargetFacts, Trust};
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
        Large { target: several.then(|| target.name.clone()), numbers }
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
    let interval = cell.ci95.map(|[low, high]| {
        let [low, high] = [low, high].map(|end| value(&cell.metric, end));
        // Both have the unit, which is told once.
        let unit = high.rsplit_once(' ').map_or("", |(_, unit)| unit);
        let low = low.strip_suffix(unit).unwrap_or(&low).trim_end();
        format!("{low} to {high}")
    });
    Some(LargeNumber {
        workload: cell.workload.replace('-', " "),
        value: value(&cell.metric, centre(cell)?),
        other: other.and_then(|cell| Some(value(&cell.metric, centre(cell)?))),
        interval: interval.unwrap_or_else(|| format!("{} trials: no interval", cell.n)),
        trust: cell.trust?,
    })
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
    let said = || {
        let plain = |said: &&String| !said.starts_with(NOT_ALONE);
        let first = findings.summary.iter().find(plain).map_or("", |said| said.as_str());
        first.split("; ").next().unwrap_or_default().to_owned()
    };
    let text = if told.is_empty() { said() } else { told.join(", ") };
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
        format!("{drive}: {}", target.filesystem)
    };
    let mut told: Vec<String> = targets.iter().map(one).collect();
    told.dedup();
    told.join(" and ")
}

/// Where and how it was measured, in one line.
pub fn measured_on(findings: &Findings) -> String {
    let targets = &findings.environment.targets;
    // Where the subject is the drive, it has been told.
    let asked = findings.study.title != facts::USUAL_TITLE;
    let drive = asked.then(|| match targets.as_slice() {
        [] => String::new(),
        [one] => format!("{}, {}", facts::drive(one), one.filesystem),
        several => {
            let mut names: Vec<&str> = several.iter().map(|one| one.name.as_str()).collect();
            names.dedup();
            names.join(", ")
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
