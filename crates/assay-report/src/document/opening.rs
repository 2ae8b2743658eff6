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
    let first = |matches: fn(&&Sentence) -> bool| findings.summary.iter().find(matches).cloned();
    first(|sentence| sentence.role == SentenceRole::Answer)
        .or_else(|| first(|sentence| sentence.role == SentenceRole::Caveat))
        .or_else(|| advised(findings, |kind| kind == AdviceKind::Use))
        .or_else(|| first(|sentence| sentence.role == SentenceRole::Conclusion))
        .or_else(|| none_better(findings))
        .or_else(|| differing_rows(findings))
        .or_else(|| first(|sentence| sentence.interval))
        .or_else(|| advised(findings, |kind| kind != AdviceKind::Use))
        .or_else(|| first_rows(findings))
        .or_else(|| clear_effect(findings))
        .or_else(|| first_judged(findings))
        .or_else(|| first(|sentence| sentence.role != SentenceRole::Disturbance))
        .or_else(|| findings.summary.first().cloned())
        .unwrap_or_else(|| headline_sentence("The result contains no measurements.", Vec::new()))
}

fn headline_sentence(text: impl Into<String>, about: Vec<MetricRef>) -> Sentence {
    Sentence { about, ..Sentence::new(SentenceRole::Answer, "headline", text) }
}

/// Sentences that a reader must not miss (the answer, its caveats and trust), and the other sentences of the summary.
pub fn leading_sentences(findings: &Findings) -> [Vec<String>; 2] {
    if !study::is_study(findings) {
        return [findings.summary_texts(), Vec::new()];
    }
    let answer = answer(findings).text;
    let mut leading = vec![answer.clone()];
    leading.extend(study::warning(findings));
    let mut others = Vec::new();
    for sentence in findings.summary.iter().filter(|sentence| sentence.text != answer) {
        let texts = match sentence.role {
            SentenceRole::Caveat
            | SentenceRole::Warning
            | SentenceRole::Disturbance
            | SentenceRole::Trust => &mut leading,
            SentenceRole::Answer | SentenceRole::Conclusion | SentenceRole::Finding => &mut others,
        };
        texts.push(sentence.text.clone());
    }
    [leading, others]
}

fn advised(findings: &Findings, wanted: fn(AdviceKind) -> bool) -> Option<Sentence> {
    let advice = findings.advice.iter().find(|advice| wanted(advice.kind))?;
    let about = advice.evidence.iter().filter_map(|id| findings.metric_of(id)).collect();
    // Findings of earlier versions have no separate sentence.
    let text = if advice.sentence.is_empty() { &advice.text } else { &advice.sentence };
    Some(headline_sentence(text, about))
}

const fn is_clear(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Better | Verdict::Worse))
}

fn clear_effect(findings: &Findings) -> Option<Sentence> {
    let effect = findings.effects.main.iter().find(|effect| is_clear(effect.verdict))?;
    Some(headline_sentence(&effect.text, vec![MetricRef::new(&effect.workload, &effect.metric)]))
}

/// The first significant comparison, else the first one; `None` without an interval.
fn first_judged(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|comparison| comparison.primary);
    let is_significant = |comparison: &&Comparison| is_clear(comparison.verdict);
    let comparison = primary().find(is_significant).or_else(|| primary().next())?;
    // Sentences across results contain the workload.
    let text = match comparison.kind {
        Kind::Paired | Kind::Unpaired => format!("{}: {}", comparison.workload, comparison.text),
        Kind::RerunBaseline | Kind::BetweenResults => comparison.text.clone(),
    };
    comparison.states_interval().then(|| Sentence::of_comparison(comparison, text))
}

/// That no arm is better, if more than two arms were judged.
fn none_better(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|it| it.primary);
    let count_of = |verdict| primary().filter(|it| it.verdict == Some(verdict)).count();
    let judged = primary().filter(|it| it.verdict.is_some()).count();
    let first = primary().next()?;
    if findings.study.kind != "study" || judged <= 2 || count_of(Verdict::Better) > 0 {
        return None;
    }
    // Of the baseline, name the settings that any arm changed: all others are equal.
    let is_changed = |(name, level): &(&String, &String)| {
        primary().any(|found| {
            found.baseline.get(*name) == Some(*level)
                && found.configuration.get(*name) != Some(*level)
        })
    };
    let baseline = arm_in_words(first.baseline.iter().filter(is_changed));
    let counts = [
        (count_of(Verdict::Worse), "worse"),
        (count_of(Verdict::Equivalent), "equivalent"),
        (count_of(Verdict::Inconclusive), "inconclusive"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let text = format!(
        "No configuration is better than {baseline} ({judged} comparisons: {}).",
        counts.join(", ")
    );
    Some(headline_sentence(text, Vec::new()))
}

/// For a check of several targets, the rows whose 95% CI excludes 1; `None` without an interval.
fn differing_rows(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|it| it.primary);
    let is_apart = |it: &&Comparison| it.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    let count = primary().filter(|it| it.ci95.is_some()).count();
    if findings.study.kind != "check" || count == 0 {
        return None;
    }
    let rows: Vec<&str> = primary().filter(is_apart).map(|it| it.workload.as_str()).collect();
    let about = primary().filter(is_apart).map(|it| MetricRef::new(&it.workload, &it.metric));
    let text = if rows.is_empty() {
        format!("No significant difference: the 95% CIs of all {count} ratios contain 1.")
    } else {
        format!("{} of {count} rows differ: {}.", rows.len(), rows.join(", "))
    };
    Some(headline_sentence(text, about.collect()))
}

/// Without a study: the first read and the first write row, for each primary metric.
fn first_rows(findings: &Findings) -> Option<Sentence> {
    if study::is_study(findings) {
        return None;
    }
    let mut known: Vec<(&str, Option<bool>)> = Vec::new();
    let (mut texts, mut about) = (Vec::new(), Vec::new());
    for cell in findings.measurements.iter().filter(|cell| cell.primary) {
        let io = findings.workload(&cell.workload, &cell.configuration).and_then(|facts| facts.io);
        let kind = (cell.metric.as_str(), io.map(|io| io.mix.writes()));
        if known.contains(&kind) {
            continue;
        }
        if let Some(words) = row_text(cell) {
            known.push(kind);
            texts.push(words);
            about.push(MetricRef::new(&cell.workload, &cell.metric));
        }
    }
    (!texts.is_empty()).then(|| headline_sentence(format!("{}.", texts.join("; ")), about))
}

fn row_text(cell: &Measurement) -> Option<String> {
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
    let others = other_ratings(findings);
    let count = |rating: Rating| {
        let ratings = cells().filter_map(Rating::from_cell).chain(others.iter().copied());
        (rating, ratings.filter(|other| *other == rating).count())
    };
    let [trusted, suspect, invalid] = [Trust::Trusted, Trust::Suspect, Trust::Invalid]
        .map(|trust| Rating { trust, is_lent: false });
    let is_one_trial = |cell: &Measurement| {
        cell.n == 1 && (findings.study.kind == "compare" || class(&cell.metric).is_some())
    };
    let is_single = cells().next().is_some() && cells().all(is_one_trial);
    let is_shown = |rating: Rating| !is_single || rating.trust != Trust::Trusted;
    let rows = [trusted, Rating { is_lent: true, ..trusted }, suspect, invalid].map(count);
    let mut rules: Vec<(Trust, &str)> = Vec::new();
    for reason in cells().flat_map(|cell| &cell.reasons) {
        let rule = (reason.trust, reason.rule.as_str());
        if reason.trust != Trust::Trusted && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    TrustOverview {
        rows: rows.into_iter().filter(|(rating, count)| *count > 0 && is_shown(*rating)).collect(),
        rules,
        is_single,
        absent: findings.absent.iter().filter(|absent| is_main(absent.metric.as_deref())).count(),
    }
}

/// The trust in rows without a number of the primary metric: none of their trials reached one, which is also a result.
fn other_ratings(findings: &Findings) -> Vec<Rating> {
    let row = |it: &Measurement| (it.workload.clone(), it.configuration.clone(), it.control);
    let mut known: BTreeSet<_> =
        findings.measurements.iter().filter(|cell| cell.primary).map(row).collect();
    let rated =
        findings.measurements.iter().filter_map(|cell| Some((row(cell), Rating::from_cell(cell)?)));
    rated.filter(|(row, _)| known.insert(row.clone())).map(|(_, rating)| rating).collect()
}

/// Whether a missing number is the row's main number, rather than a percentile.
fn is_main(metric: Option<&str>) -> bool {
    metric.is_none_or(|metric| matches!(metric, "iops" | "bandwidth_bytes_per_s"))
}
