//! The opening: the answer in one sentence with its interval, and its trust.

use std::collections::BTreeSet;

use super::numbers::value;
use super::study;
use assay_core::quantity::metric::class;
use assay_study::findings::shown::Rating;
use assay_study::findings::{
    AdviceKind, Comparison, Findings, Kind, Measurement, MetricRef, Sentence, SentenceRole, Trust,
    Verdict,
};
use assay_study::results::plan::arm_in_words;

/// The answer in one sentence, by priority: the study's question, caveats on all numbers, advice, a significant
/// difference, any comparison.
pub fn answer(findings: &Findings) -> Sentence {
    let first = |role| findings.summary.iter().find(|one| one.role == role).cloned();
    first(SentenceRole::Answer)
        .or_else(|| first(SentenceRole::Caveat))
        .or_else(|| advised(findings, |kind| kind == AdviceKind::Use))
        .or_else(|| first(SentenceRole::Conclusion))
        .or_else(|| none_better(findings))
        .or_else(|| beside(findings))
        .or_else(|| findings.summary.iter().find(|one| one.interval).cloned())
        .or_else(|| advised(findings, |kind| kind != AdviceKind::Use))
        .or_else(|| measured(findings))
        .or_else(|| clear_effect(findings))
        .or_else(|| judged(findings))
        .or_else(|| {
            let mut all = findings.summary.iter();
            all.find(|one| one.role != SentenceRole::Disturbance).cloned()
        })
        .or_else(|| findings.summary.first().cloned())
        .unwrap_or_else(|| lead("The result contains no measurements.", Vec::new()))
}

fn lead(text: impl Into<String>, about: Vec<MetricRef>) -> Sentence {
    Sentence { about, ..Sentence::new(SentenceRole::Answer, "headline", text) }
}

/// Sentences that a reader must not miss (the answer, its caveats and trust), and the other sentences of the summary.
pub fn leading_sentences(findings: &Findings) -> [Vec<String>; 2] {
    if !study::is_one(findings) {
        return [findings.summary_texts(), Vec::new()];
    }
    let answer = answer(findings).text;
    let mut first = vec![answer.clone()];
    first.extend(study::warning(findings));
    let mut rest = Vec::new();
    for sentence in findings.summary.iter().filter(|sentence| sentence.text != answer) {
        let texts = match sentence.role {
            SentenceRole::Caveat
            | SentenceRole::Warning
            | SentenceRole::Disturbance
            | SentenceRole::Trust => &mut first,
            SentenceRole::Answer | SentenceRole::Conclusion | SentenceRole::Finding => &mut rest,
        };
        texts.push(sentence.text.clone());
    }
    [first, rest]
}

fn advised(findings: &Findings, wanted: fn(AdviceKind) -> bool) -> Option<Sentence> {
    let found = findings.advice.iter().find(|advice| wanted(advice.kind))?;
    let about = found.evidence.iter().filter_map(|id| findings.metric_of(id)).collect();
    // Findings of earlier versions have no separate sentence.
    let text = if found.sentence.is_empty() { &found.text } else { &found.sentence };
    Some(lead(text, about))
}

const fn is_clear(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Better | Verdict::Worse))
}

fn clear_effect(findings: &Findings) -> Option<Sentence> {
    let found = findings.effects.main.iter().find(|effect| is_clear(effect.verdict))?;
    Some(lead(&found.text, vec![MetricRef::new(&found.workload, &found.metric)]))
}

/// The first significant comparison, else the first one; `None` without an interval.
fn judged(findings: &Findings) -> Option<Sentence> {
    let all = || findings.comparisons.iter().filter(|found| found.primary);
    let found = all().find(|found| is_clear(found.verdict)).or_else(|| all().next())?;
    // Sentences across results contain the workload.
    let text = match found.kind {
        Kind::Paired | Kind::Unpaired => format!("{}: {}", found.workload, found.text),
        Kind::RerunBaseline | Kind::BetweenResults => found.text.clone(),
    };
    found.states_interval().then(|| Sentence::of_comparison(found, text))
}

/// That no arm is better, if more than two arms were judged.
fn none_better(findings: &Findings) -> Option<Sentence> {
    let judged = || findings.comparisons.iter().filter(|found| found.primary);
    let of = |verdict| judged().filter(|found| found.verdict == Some(verdict)).count();
    let all = judged().filter(|found| found.verdict.is_some()).count();
    let first = judged().next()?;
    if findings.study.kind != "study" || all <= 2 || of(Verdict::Better) > 0 {
        return None;
    }
    // Of the baseline, name the settings that any arm changed: all others are equal.
    let differs = |(name, level): &(&String, &String)| {
        judged().any(|found| {
            found.baseline.get(*name) == Some(*level)
                && found.configuration.get(*name) != Some(*level)
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
    let text = format!(
        "No configuration is better than {baseline} ({all} comparisons: {}).",
        counts.join(", ")
    );
    Some(lead(text, Vec::new()))
}

fn beside(findings: &Findings) -> Option<Sentence> {
    let all = || findings.comparisons.iter().filter(|found| found.primary);
    let apart = |found: &&Comparison| found.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    let count = all().filter(|found| found.ci95.is_some()).count();
    if findings.study.kind != "check" || count == 0 {
        return None;
    }
    let told: Vec<&str> = all().filter(apart).map(|found| found.workload.as_str()).collect();
    let about = all().filter(apart).map(|found| MetricRef::new(&found.workload, &found.metric));
    let text = match told.as_slice() {
        [] => format!("No significant difference: the 95% CIs of all {count} ratios contain 1."),
        some => format!("{} of {count} rows differ: {}.", some.len(), some.join(", ")),
    };
    Some(lead(text, about.collect()))
}

/// Without a study: the first read and the first write row, for each primary metric.
fn measured(findings: &Findings) -> Option<Sentence> {
    if study::is_one(findings) {
        return None;
    }
    let mut known: Vec<(&str, Option<bool>)> = Vec::new();
    let (mut told, mut about) = (Vec::new(), Vec::new());
    for cell in findings.measurements.iter().filter(|cell| cell.primary) {
        let io = findings.workload(&cell.workload, &cell.configuration).and_then(|one| one.io);
        let kind = (cell.metric.as_str(), io.map(|io| io.mix.writes()));
        if known.contains(&kind) {
            continue;
        }
        if let Some(words) = row(cell) {
            known.push(kind);
            told.push(words);
            about.push(MetricRef::new(&cell.workload, &cell.metric));
        }
    }
    (!told.is_empty()).then(|| lead(format!("{}.", told.join("; ")), about))
}

fn row(cell: &Measurement) -> Option<String> {
    let mean = value(&cell.metric, cell.value()?);
    let ends = cell.ci95.map(|ends| ends.map(|end| value(&cell.metric, end)));
    let wide = if cell.is_wide() { ", wide" } else { "" };
    let interval = ends.map(|[low, high]| format!(" (95% CI {low} to {high}{wide})"));
    Some(format!("{}: {mean}{}", cell.workload, interval.unwrap_or_default()))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustOverview<'a> {
    /// Number of rows per rating, best first, without counts of zero.
    pub rows: Vec<(Rating, usize)>,
    /// Rules that lower trust, with the resulting trust, each once.
    pub rules: Vec<(Trust, &'a str)>,
    pub absent: usize,
    /// Whether all numbers come from single compared or observed trials, which cannot be trusted.
    pub is_single: bool,
}

/// The trust in the numbers. A row has the trust of its primary metric.
pub fn standing(findings: &Findings) -> TrustOverview<'_> {
    let cells = || findings.measurements.iter().filter(|cell| cell.primary);
    let others = others(findings);
    let count = |stands: Rating| {
        let own = cells().filter_map(Rating::from_cell).chain(others.iter().copied());
        (stands, own.filter(|own| *own == stands).count())
    };
    let [trusted, suspect, invalid] = [Trust::Trusted, Trust::Suspect, Trust::Invalid]
        .map(|trust| Rating { trust, is_lent: false });
    let one = |cell: &Measurement| {
        cell.n == 1 && (findings.study.kind == "compare" || class(&cell.metric).is_some())
    };
    let is_single = cells().next().is_some() && cells().all(one);
    let is_told = |stands: Rating| !is_single || stands.trust != Trust::Trusted;
    let rows = [trusted, Rating { is_lent: true, ..trusted }, suspect, invalid].map(count);
    let mut rules: Vec<(Trust, &str)> = Vec::new();
    for because in cells().flat_map(|cell| &cell.reasons) {
        let rule = (because.trust, because.rule.as_str());
        if because.trust != Trust::Trusted && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    TrustOverview {
        rows: rows.into_iter().filter(|(own, count)| *count > 0 && is_told(*own)).collect(),
        rules,
        is_single,
        absent: findings.absent.iter().filter(|absent| is_a_row(absent.metric.as_deref())).count(),
    }
}

/// The trust in rows without a number of the primary metric: none of their trials reached one, which is also a result.
fn others(findings: &Findings) -> Vec<Rating> {
    let row =
        |cell: &Measurement| (cell.workload.clone(), cell.configuration.clone(), cell.control);
    let mut known: BTreeSet<_> =
        findings.measurements.iter().filter(|cell| cell.primary).map(row).collect();
    let rest =
        findings.measurements.iter().filter_map(|cell| Some((row(cell), Rating::from_cell(cell)?)));
    rest.filter(|(row, _)| known.insert(row.clone())).map(|(_, own)| own).collect()
}

/// Whether a missing number is the row's main number, rather than a percentile.
fn is_a_row(metric: Option<&str>) -> bool {
    metric.is_none_or(|metric| matches!(metric, "iops" | "bandwidth_bytes_per_s"))
}
