//! The opening: the answer in one sentence with its interval, and its trust.

use std::collections::BTreeSet;

use super::numbers::value;
use super::{counted, study};
use assay_core::quantity::metric::class;
use assay_study::findings::shown::Rating;
use assay_study::findings::{
    AdviceKind, Findings, Kind, Measurement, MetricRef, Sentence, SentenceRole, Trust, Verdict,
};
use assay_study::results::plan::{Arm, arm_in_words};

/// The answer in one sentence: the first available one, from the study's own answer down to any sentence.
pub fn answer(findings: &Findings) -> Sentence {
    let summary = |matches: fn(&&Sentence) -> bool| findings.summary.iter().find(matches).cloned();
    summary(|sentence| sentence.role == SentenceRole::Answer)
        .or_else(|| summary(|sentence| sentence.role == SentenceRole::Caveat))
        .or_else(|| advice_sentence(findings, |kind| kind == AdviceKind::Use))
        .or_else(|| summary(|sentence| sentence.role == SentenceRole::Conclusion))
        .or_else(|| none_better(findings))
        .or_else(|| differing_rows(findings))
        .or_else(|| summary(|sentence| sentence.interval))
        .or_else(|| advice_sentence(findings, |kind| kind != AdviceKind::Use))
        .or_else(|| first_rows(findings))
        .or_else(|| significant_effect(findings))
        .or_else(|| first_comparison(findings))
        .or_else(|| summary(|sentence| sentence.role != SentenceRole::Disturbance))
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

fn advice_sentence(findings: &Findings, wanted: fn(AdviceKind) -> bool) -> Option<Sentence> {
    let advice = findings.advice.iter().find(|advice| wanted(advice.kind))?;
    let about = advice.evidence.iter().filter_map(|id| findings.metric_of(id)).collect();
    // Findings of earlier versions have no separate sentence.
    let text = if advice.sentence.is_empty() { &advice.text } else { &advice.sentence };
    Some(headline_sentence(text, about))
}

const fn is_significant(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Better | Verdict::Worse))
}

fn significant_effect(findings: &Findings) -> Option<Sentence> {
    let effect = findings.effects.main.iter().find(|effect| is_significant(effect.verdict))?;
    Some(headline_sentence(&effect.text, vec![MetricRef::new(&effect.workload, &effect.metric)]))
}

/// The sentence of the first significant comparison, else of the first one; `None` if it states no interval.
fn first_comparison(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|comparison| comparison.primary);
    let significant = primary().find(|comparison| is_significant(comparison.verdict));
    let comparison = significant.or_else(|| primary().next())?;
    // Sentences across results contain the workload.
    let text = match comparison.kind {
        Kind::Paired | Kind::Unpaired => format!("{}: {}", comparison.workload, comparison.text),
        Kind::RerunBaseline | Kind::BetweenResults => comparison.text.clone(),
    };
    comparison.states_interval().then(|| Sentence::of_comparison(comparison, text))
}

/// The sentence that no configuration is better than the baseline; `None` if one is, or with at most two verdicts.
fn none_better(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|it| it.primary);
    let count_of = |verdict| primary().filter(|it| it.verdict == Some(verdict)).count();
    let judged = primary().filter(|it| it.verdict.is_some()).count();
    let first = primary().next()?;
    if findings.study.kind != "study" || judged <= 2 || count_of(Verdict::Better) > 0 {
        return None;
    }
    // Name only the settings of the baseline that another configuration changes.
    let is_changed = |(name, level): &(&String, &String)| {
        primary().any(|found| {
            found.baseline.get(*name) == Some(*level)
                && found.configuration.get(*name) != Some(*level)
        })
    };
    let baseline = arm_in_words(first.baseline.iter().filter(is_changed));
    let counts = counted([
        (count_of(Verdict::Worse), "worse"),
        (count_of(Verdict::Equivalent), "equivalent"),
        (count_of(Verdict::Inconclusive), "inconclusive"),
    ]);
    let text =
        format!("No configuration is better than {baseline} ({judged} comparisons: {counts}).");
    Some(headline_sentence(text, Vec::new()))
}

/// The rows in which targets differ: their 95% CI of the ratio excludes 1. `None` for studies, and without intervals.
fn differing_rows(findings: &Findings) -> Option<Sentence> {
    let primary = || findings.comparisons.iter().filter(|it| it.primary);
    let count = primary().filter(|it| it.ci95.is_some()).count();
    if findings.study.kind != "check" || count == 0 {
        return None;
    }
    let (mut rows, mut about): (Vec<&str>, Vec<MetricRef>) = (Vec::new(), Vec::new());
    let excludes_1 = |[low, high]: [f64; 2]| low > 1.0 || high < 1.0;
    for differing in primary().filter(|it| it.ci95.is_some_and(excludes_1)) {
        rows.push(&differing.workload);
        about.push(MetricRef::new(&differing.workload, &differing.metric));
    }
    let text = if rows.is_empty() {
        format!("No significant difference: the 95% CIs of all {count} ratios contain 1.")
    } else {
        format!("{} of {count} rows differ: {}.", rows.len(), rows.join(", "))
    };
    Some(headline_sentence(text, about))
}

/// The first row with reads and the first with writes for each primary metric; `None` for a study.
fn first_rows(findings: &Findings) -> Option<Sentence> {
    if study::is_study(findings) {
        return None;
    }
    // The metrics of the chosen rows, and whether the rows write.
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
    let Some(ends) = cell.ci95 else { return Some(format!("{}: {mean}", cell.workload)) };
    let [low, high] = ends.map(|end| value(&cell.metric, end));
    let wide = if cell.is_wide() { ", wide" } else { "" };
    Some(format!("{}: {mean} (95% CI {low} to {high}{wide})", cell.workload))
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

/// Counts the rows by trust, and lists the rules that lowered it. A row has the trust of its primary metric.
pub fn standing(findings: &Findings) -> TrustOverview<'_> {
    let cells = || findings.measurements.iter().filter(|cell| cell.primary);
    let mut ratings: Vec<Rating> = cells().filter_map(Rating::from_cell).collect();
    ratings.extend(ratings_without_primary(findings));
    let is_one_trial = |cell: &Measurement| {
        cell.n == 1 && (findings.study.kind == "compare" || class(&cell.metric).is_some())
    };
    let is_single = cells().next().is_some() && cells().all(is_one_trial);
    let mut rows: Vec<(Rating, usize)> = Vec::new();
    for (trust, is_lent) in [
        (Trust::Trusted, false),
        (Trust::Trusted, true),
        (Trust::Suspect, false),
        (Trust::Invalid, false),
    ] {
        let rating = Rating { trust, is_lent };
        let count = ratings.iter().filter(|other| **other == rating).count();
        if count > 0 && !(is_single && trust == Trust::Trusted) {
            rows.push((rating, count));
        }
    }
    let mut rules: Vec<(Trust, &str)> = Vec::new();
    for reason in cells().flat_map(|cell| &cell.reasons) {
        let rule = (reason.trust, reason.rule.as_str());
        if reason.trust != Trust::Trusted && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    TrustOverview {
        rows,
        rules,
        is_single,
        absent: findings.absent.iter().filter(|absent| is_main(absent.metric.as_deref())).count(),
    }
}

/// The trust in rows without a number of the primary metric: none of their trials reached one, which is also a result.
fn ratings_without_primary(findings: &Findings) -> Vec<Rating> {
    fn row_of(it: &Measurement) -> (&str, &Arm, bool) {
        (&it.workload, &it.configuration, it.control)
    }
    let primary = findings.measurements.iter().filter(|cell| cell.primary);
    let mut known: BTreeSet<_> = primary.map(row_of).collect();
    let mut ratings = Vec::new();
    for cell in &findings.measurements {
        let Some(rating) = Rating::from_cell(cell) else { continue };
        // The first rated cell of a row rates the row.
        if known.insert(row_of(cell)) {
            ratings.push(rating);
        }
    }
    ratings
}

/// Whether a missing number is the row's main number, rather than a percentile.
fn is_main(metric: Option<&str>) -> bool {
    metric.is_none_or(|metric| matches!(metric, "iops" | "bandwidth_bytes_per_s"))
}
