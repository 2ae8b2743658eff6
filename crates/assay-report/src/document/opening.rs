//! What is told first: the answer in one sentence with its interval, and how far to trust it.

use std::collections::BTreeSet;

use super::numbers::value;
use super::{Stands, study};
use assay_base::quantity::metric::class;
use assay_study::findings::fitness::FitBound;
use assay_study::findings::said::Said;
use assay_study::findings::{AdviceKind, Cell, Comparison, Findings, Kind, Trust, Verdict};
use assay_study::results::plan::arm_in_words;

/// The answer to what was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// One sentence, with its interval where one was found.
    pub text: String,
    /// The workloads and metrics that it is about.
    pub of: Vec<(String, String)>,
}

impl Answer {
    fn of_nothing(text: impl Into<String>) -> Self {
        Self { text: text.into(), of: Vec::new() }
    }
}

/// What can be the answer, if the findings have it.
type Lead = fn(&Findings) -> Option<Answer>;

/// The first of these that is there is the answer: what was asked before what was found, what takes all
/// numbers of a machine away before its advice, and a clear difference before whatever was compared.
const LEADS: &[Lead] = &[
    |findings| said(findings, |said| *said == Said::Gate),
    |findings| said(findings, |said| *said == Said::Fitness),
    |findings| said(findings, |said| *said == Said::Race),
    |findings| said(findings, |said| matches!(said, Said::Reserved { .. })),
    of_kind,
    |findings| said(findings, |said| *said == Said::MostLoad),
    |findings| said(findings, |said| *said == Said::Emulated),
    |findings| advised(findings, |kind| kind == AdviceKind::Use),
    |findings| said(findings, |said| matches!(said, Said::Factor { .. })),
    |findings| said(findings, |said| *said == Said::Alike),
    none_better,
    beside,
    with_interval,
    |findings| advised(findings, |kind| kind != AdviceKind::Use),
    measured,
    clear_effect,
    judged,
    |findings| said(findings, |said| *said != Said::NotAlone),
    |findings| said(findings, |_| true),
    |findings| findings.summary.first().map(Answer::of_nothing),
];

/// The answer in one sentence: what is advised, else what was found, with its interval where one
/// was found.
pub fn answer(findings: &Findings) -> Answer {
    let found = LEADS.iter().find_map(|lead| lead(findings));
    found.unwrap_or_else(|| Answer::of_nothing("The result contains no measurements."))
}

/// What a reader must not miss: the answer, what takes it away and how far to trust it; the other sentences of
/// the summary.
pub fn leading_sentences(findings: &Findings) -> [Vec<String>; 2] {
    if !study::is_one(findings) {
        return [findings.summary.clone(), Vec::new()];
    }
    let answer = answer(findings).text;
    let mut first = vec![answer.clone()];
    first.extend(study::warning(findings));
    let mut rest = Vec::new();
    for (index, text) in findings.summary.iter().enumerate().filter(|(_, text)| **text != answer) {
        match findings.summary_facts.get(index) {
            Some(
                Said::NotAlone
                | Said::Invalid
                | Said::Emulated
                | Said::Simulated
                | Said::NotConfirmed
                | Said::TakenBack { .. }
                | Said::Bench { .. }
                | Said::Trust,
            ) => first.push(text.clone()),
            _ => rest.push(text.clone()),
        }
    }
    [first, rest]
}

/// The first sentence of the summary that was said for one of these reasons.
fn said(findings: &Findings, wanted: impl Fn(&Said) -> bool) -> Option<Answer> {
    let (said, text) = findings.sentences().find(|(said, _)| wanted(said))?;
    Some(Answer { text: text.clone(), of: about(findings, said) })
}

/// What a kind of work is about, where that is what its study is run for.
fn of_kind(findings: &Findings) -> Option<Answer> {
    said(findings, |said| matches!(said, Said::OfKind { kind } if findings.leads(kind)))
}

fn with_interval(findings: &Findings) -> Option<Answer> {
    said(findings, |said| findings.tells_interval(said))
}

fn advised(findings: &Findings, wanted: fn(AdviceKind) -> bool) -> Option<Answer> {
    let found = findings.advice.iter().find(|advice| wanted(advice.kind))?;
    let of = found.evidence.iter().filter_map(|id| named(findings, id)).collect();
    // Findings that were stored before have no sentence of their own.
    let text = if found.sentence.is_empty() { &found.text } else { &found.sentence };
    Some(Answer { text: text.clone(), of })
}

const fn is_clear(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Better | Verdict::Worse))
}

fn clear_effect(findings: &Findings) -> Option<Answer> {
    let found = findings.effects.iter().find(|effect| is_clear(effect.verdict))?;
    let of = vec![(found.workload.clone(), found.metric.clone())];
    Some(Answer { text: found.text.clone(), of })
}

/// The first clear comparison, else the first; without an interval it is no answer.
fn judged(findings: &Findings) -> Option<Answer> {
    let all = || findings.comparisons.iter().filter(|found| found.primary);
    let found = all().find(|found| is_clear(found.verdict)).or_else(|| all().next())?;
    // Sentences across results name the workload themselves.
    let text = match found.kind {
        Kind::Paired | Kind::Unpaired => format!("{}: {}", found.workload, found.text),
        Kind::RerunBaseline | Kind::BetweenResults => found.text.clone(),
    };
    let of = vec![(found.workload.clone(), found.metric.clone())];
    found.tells_interval().then_some(Answer { text, of })
}

/// The workload and metric of a comparison or an effect, by its id.
fn named(findings: &Findings, id: &str) -> Option<(String, String)> {
    if let Some(found) = findings.comparison(id) {
        return Some((found.workload.clone(), found.metric.clone()));
    }
    let effect = findings.effects.iter().find(|effect| effect.id() == id)?;
    Some((effect.workload.clone(), effect.metric.clone()))
}

/// The workloads and metrics that a sentence of the summary is about.
fn about(findings: &Findings, said: &Said) -> Vec<(String, String)> {
    match said {
        Said::Gate => {
            let rows = findings.gate.iter().flat_map(|gate| &gate.rows);
            let ids = rows.filter_map(|row| row.comparison.as_ref());
            ids.filter_map(|id| named(findings, id)).collect()
        }
        Said::Fitness => {
            let bounds = findings.requirements.iter().flat_map(|fitness| &fitness.bounds);
            bounds.flat_map(|bound| of_bound(findings, bound)).collect()
        }
        Said::Race => {
            let race = findings.race.iter();
            race.map(|race| (race.workload.clone(), race.metric.clone())).collect()
        }
        Said::Bench { workload, metric } | Said::Rank { workload, metric } => {
            vec![(workload.clone(), metric.clone())]
        }
        Said::Factor { factor } => {
            let own = findings.effects.iter().filter(|effect| effect.factor == *factor);
            own.map(|effect| (effect.workload.clone(), effect.metric.clone())).collect()
        }
        Said::Classes { workload, .. } => vec![(workload.clone(), String::new())],
        Said::Comparison { id } => named(findings, id).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The workloads of a bound, each with the metric that it is on.
fn of_bound(findings: &Findings, bound: &FitBound) -> Vec<(String, String)> {
    let named = |workload: &String| Some((workload.clone(), bound.metric.clone()?));
    let primary = |workload: &String| {
        let cell =
            findings.measurements.iter().find(|cell| cell.primary && cell.workload == *workload)?;
        Some((workload.clone(), cell.metric.clone()))
    };
    bound.workloads.iter().filter_map(|own| named(own).or_else(|| primary(own))).collect()
}

/// That nothing is shown to be better, where more than two arms were judged and none is.
fn none_better(findings: &Findings) -> Option<Answer> {
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
    Some(Answer::of_nothing(format!(
        "No configuration is better than {baseline} ({all} comparisons: {}).",
        counts.join(", ")
    )))
}

/// How many rows of a check of several targets differ.
fn beside(findings: &Findings) -> Option<Answer> {
    let all = || findings.comparisons.iter().filter(|found| found.primary);
    let apart = |found: &&Comparison| found.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    let count = all().filter(|found| found.ci95.is_some()).count();
    if findings.study.kind != "check" || count == 0 {
        return None;
    }
    let told: Vec<&str> = all().filter(apart).map(|found| found.workload.as_str()).collect();
    let of = all().filter(apart).map(|found| (found.workload.clone(), found.metric.clone()));
    let of = of.collect();
    let text = match told.as_slice() {
        [] => format!("No significant difference: the 95% CIs of all {count} ratios contain 1."),
        some => format!("{} of {count} rows differ: {}.", some.len(), some.join(", ")),
    };
    Some(Answer { text, of })
}

/// Of what is no study: the first row that reads and the first that writes, of each metric that rows are told by.
fn measured(findings: &Findings) -> Option<Answer> {
    if study::is_one(findings) {
        return None;
    }
    let mut known: Vec<(&str, Option<bool>)> = Vec::new();
    let (mut told, mut of) = (Vec::new(), Vec::new());
    for cell in findings.measurements.iter().filter(|cell| cell.primary) {
        let io = findings.workload(&cell.workload, &cell.configuration).and_then(|one| one.io);
        let kind = (cell.metric.as_str(), io.map(|io| io.mix.writes()));
        if known.contains(&kind) {
            continue;
        }
        if let Some(words) = row(cell) {
            known.push(kind);
            told.push(words);
            of.push((cell.workload.clone(), cell.metric.clone()));
        }
    }
    (!told.is_empty()).then(|| Answer { text: format!("{}.", told.join("; ")), of })
}

fn row(cell: &Cell) -> Option<String> {
    let mean = value(&cell.metric, cell.value()?);
    let ends = cell.ci95.map(|ends| ends.map(|end| value(&cell.metric, end)));
    let wide = if cell.is_wide() { ", wide" } else { "" };
    let interval = ends.map(|[low, high]| format!(" (95% CI {low} to {high}{wide})"));
    Some(format!("{}: {mean}{}", cell.workload, interval.unwrap_or_default()))
}

/// How far numbers can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Rows by how they stand, best first; without those that there are none of.
    pub rows: Vec<(Stands, usize)>,
    /// Rules that take trust away, each once.
    pub rules: Vec<&'a str>,
    /// Numbers that are not there.
    pub absent: usize,
    /// Whether all are single numbers that were compared or only watched, which nothing makes trusted.
    pub is_single: bool,
}

/// How far the numbers can be trusted. The primary metric speaks for its row.
pub fn standing(findings: &Findings) -> Standing<'_> {
    let cells = || findings.measurements.iter().filter(|cell| cell.primary);
    let others = others(findings);
    let count = |stands: Stands| {
        let own = cells().filter_map(Stands::of).chain(others.iter().copied());
        (stands, own.filter(|own| *own == stands).count())
    };
    let [trusted, suspect, invalid] =
        [Trust::Trusted, Trust::Suspect, Trust::Invalid].map(|trust| Stands { trust, lent: false });
    let one = |cell: &Cell| {
        cell.n == 1 && (findings.study.kind == "compare" || class(&cell.metric).is_some())
    };
    let is_single = cells().next().is_some() && cells().all(one);
    let is_told = |stands: Stands| !is_single || stands.trust != Trust::Trusted;
    let rows = [trusted, Stands { lent: true, ..trusted }, suspect, invalid].map(count);
    let mut rules: Vec<&str> = Vec::new();
    for because in cells().flat_map(|cell| &cell.reasons) {
        if because.trust != Trust::Trusted && !rules.contains(&because.rule.as_str()) {
            rules.push(&because.rule);
        }
    }
    Standing {
        rows: rows.into_iter().filter(|(own, count)| *count > 0 && is_told(*own)).collect(),
        rules,
        is_single,
        absent: findings.absent.iter().filter(|absent| is_a_row(absent.metric.as_deref())).count(),
    }
}

/// The trust of rows without a number of the metric that matters: all their trials ended before they had one,
/// which is a result as well.
fn others(findings: &Findings) -> Vec<Stands> {
    let row = |cell: &Cell| (cell.workload.clone(), cell.configuration.clone(), cell.control);
    let mut known: BTreeSet<_> =
        findings.measurements.iter().filter(|cell| cell.primary).map(row).collect();
    let rest = findings.measurements.iter().filter_map(|cell| Some((row(cell), Stands::of(cell)?)));
    rest.filter(|(row, _)| known.insert(row.clone())).map(|(_, own)| own).collect()
}

/// Whether a number that is not there is a row's own, and not one of its percentiles.
fn is_a_row(metric: Option<&str>) -> bool {
    metric.is_none_or(|metric| matches!(metric, "iops" | "bandwidth_bytes_per_s"))
}
