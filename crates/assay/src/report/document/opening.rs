//! What is told first: the answer in one sentence with its interval, and how far to trust it.

use super::numbers::value;
use super::study;
use crate::results::findings::{AdviceKind, Cell, Comparison, Findings, Trust, Verdict};
use crate::results::plan::arm_in_words;

/// What a sentence with an interval contains.
const INTERVAL: &str = "95 %";

/// The answer in one sentence: what is advised, else what was found, with its interval where one
/// was found.
pub fn answer(findings: &Findings) -> String {
    let advised = |wanted: fn(AdviceKind) -> bool| {
        let found = findings.advice.iter().find(|advice| wanted(advice.kind));
        found.map(|advice| sentence(&advice.text))
    };
    let told = || findings.summary.iter().find(|text| text.contains(INTERVAL)).cloned();
    // A clear difference first, then whatever was compared.
    let clear = |verdict| matches!(verdict, Some(Verdict::Better | Verdict::Worse));
    let effect = || {
        let found = findings.effects.iter().find(|effect| clear(effect.verdict));
        found.map(|effect| sentence(&effect.text))
    };
    let judged = || {
        let all = || findings.comparisons.iter().filter(|found| found.primary);
        let told = |found: &Comparison| match sentence(&found.text) {
            text if text.starts_with(&found.workload) => text,
            text => format!("{}: {text}", found.workload),
        };
        let found = all().find(|found| clear(found.verdict)).or_else(|| all().next());
        found.map(told).filter(|text| text.contains(INTERVAL))
    };
    advised(|kind| kind == AdviceKind::Use)
        .or_else(|| findings.summary.iter().find(|text| text.starts_with(ALIKE)).cloned())
        .or_else(|| none_better(findings))
        .or_else(|| beside(findings))
        .or_else(told)
        .or_else(|| advised(|kind| kind != AdviceKind::Use))
        .or_else(|| (!study::is_one(findings)).then(|| measured(findings)).flatten())
        .or_else(effect)
        .or_else(judged)
        .or_else(|| findings.summary.first().cloned())
        .unwrap_or_else(|| "There are no numbers.".to_owned())
}

/// How a sentence on rows that agree begins.
const ALIKE: &str = "In all ";

/// That nothing is shown to be better, where more than two arms were judged and none is.
fn none_better(findings: &Findings) -> Option<String> {
    let judged = || findings.comparisons.iter().filter(|found| found.primary);
    let of = |verdict| judged().filter(|found| found.verdict == Some(verdict)).count();
    let all = judged().filter(|found| found.verdict.is_some()).count();
    let first = judged().next()?;
    if findings.study.kind != "study" || all <= 2 || of(Verdict::Better) > 0 {
        return None;
    }
    // Of the baseline what any of them changed: the rest all have in common.
    let differs = |(name, level): &(&String, &String)| {
        judged().any(|found| {
            found.baseline.get(*name) == Some(*level) && found.arm.get(*name) != Some(*level)
        })
    };
    let baseline = arm_in_words(first.baseline.iter().filter(differs));
    let counts = [
        (of(Verdict::Worse), "worse"),
        (of(Verdict::Equivalent), "equivalent"),
        (of(Verdict::Inconclusive), "inconclusive"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    Some(format!(
        "Nothing is shown to be better than {baseline}: of {all} comparisons {}.",
        counts.join(", ")
    ))
}

/// How many rows of a check of several targets differ.
fn beside(findings: &Findings) -> Option<String> {
    let all = || findings.comparisons.iter().filter(|found| found.primary);
    let apart = |found: &&Comparison| found.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    let count = all().filter(|found| found.ci95.is_some()).count();
    if findings.study.kind != "check" || count == 0 {
        return None;
    }
    let told: Vec<&str> = all().filter(apart).map(|found| found.workload.as_str()).collect();
    Some(match told.as_slice() {
        [] => format!("No difference is shown: the intervals of all {count} ratios hold 1."),
        some => format!("{} of {count} rows differ: {}.", some.len(), some.join(", ")),
    })
}

/// A text up to the end of the sentence that has the interval.
fn sentence(text: &str) -> String {
    let after = text.find(INTERVAL).unwrap_or(0);
    let end = text[after..].find(". ").map_or(text.len(), |end| after + end + 1);
    text[..end].to_owned()
}

/// The first row that reads and the first that writes, of each metric that rows are told by.
fn measured(findings: &Findings) -> Option<String> {
    let mut known: Vec<(&str, bool)> = Vec::new();
    let mut told = Vec::new();
    for cell in findings.cells.iter().filter(|cell| cell.primary) {
        let kind = (cell.metric.as_str(), cell.workload.contains("write"));
        if known.contains(&kind) {
            continue;
        }
        if let Some(words) = row(cell) {
            known.push(kind);
            told.push(words);
        }
    }
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

fn row(cell: &Cell) -> Option<String> {
    let mean = value(&cell.metric, cell.geometric_mean.or(cell.median)?);
    let ends = cell.ci95.map(|ends| ends.map(|end| value(&cell.metric, end)));
    let interval = ends.map(|[low, high]| format!(" ({INTERVAL} interval {low} to {high})"));
    Some(format!("{}: {mean}{}", cell.workload, interval.unwrap_or_default()))
}

/// How far numbers can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Rows by their trust, best first; without those that there are none of.
    pub rows: Vec<(Trust, usize)>,
    /// Rules that take trust away, each once.
    pub rules: Vec<&'a str>,
    /// Numbers that are not there.
    pub absent: usize,
}

/// How far the numbers can be trusted. The primary metric speaks for its row.
pub fn standing(findings: &Findings) -> Standing<'_> {
    let cells = || findings.cells.iter().filter(|cell| cell.primary);
    let count = |trust: Trust| (trust, cells().filter(|cell| cell.trust == Some(trust)).count());
    let rows = [Trust::Trusted, Trust::Suspect, Trust::Invalid].map(count);
    let mut rules: Vec<&str> = Vec::new();
    for because in cells().flat_map(|cell| &cell.because) {
        if because.trust != Trust::Trusted && !rules.contains(&because.rule.as_str()) {
            rules.push(&because.rule);
        }
    }
    Standing {
        rows: rows.into_iter().filter(|(_, count)| *count > 0).collect(),
        rules,
        absent: findings.absent.iter().filter(|absent| is_a_row(absent.metric.as_deref())).count(),
    }
}

/// Whether a number that is not there is a row's own, and not one of its percentiles.
fn is_a_row(metric: Option<&str>) -> bool {
    metric.is_none_or(|metric| matches!(metric, "iops" | "bandwidth_bytes_per_s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_sentence() {
        let advice =
            "A is the candidate (2.4 times B, 95 % interval 1.6 to 3.6). What comes out. Do.";
        assert_eq!(sentence(advice), "A is the candidate (2.4 times B, 95 % interval 1.6 to 3.6).");
        assert_eq!(sentence("Nothing is told."), "Nothing is told.");
    }
}
