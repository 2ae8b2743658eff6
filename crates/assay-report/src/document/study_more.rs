//! Sections of a study below its tables: effects, interactions, trends, ranks, other metrics, remarks, missing numbers.

use super::numbers::{self, value};
use super::remarks::{add, with_ranges};
use super::study::StudyPage;
use super::study_tables::add_factors;
use super::{Block, Cell, Column, Detail, Remark, Section, SectionRole, Table};
use assay_analysis::inference::note_words;
use assay_core::{exhibit::Unit, exhibit::parts::distinct, quantity::units::show};
use assay_study::findings::notes::Note;
use assay_study::findings::{AbsentCell, Comparison, Effect, Needed, Rank, RankRange, Verdict};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_workloads::metrics::noun;

const MOST_RANKS: usize = 12;
/// Ranks to print if there are more.
const SHOWN_RANKS: usize = 8;
/// Ranks to print for each of several workloads: their tables already have all arms.
const SHOWN_OF_MANY: usize = 3;
const MOST_NAMED: usize = 6;

pub(super) fn sections(page: &StudyPage<'_>) -> Vec<Section> {
    let findings = page.findings;
    let effects = &findings.effects;
    let mut interactions: Vec<String> =
        effects.interactions.iter().map(|effect| effect.text.clone()).collect();
    if interactions.is_empty() && !effects.main.is_empty() {
        let none = "No significant interaction was found (95% confidence); small ones, and those of levels with too \
                    few trials, may exist.";
        interactions.push(none.to_owned());
    }
    let trends: Vec<String> = effects.trends.iter().map(|effect| effect.text.clone()).collect();
    let mut sections: Vec<Section> = main_effects(page).into_iter().collect();
    for (caption, texts) in [("interactions", interactions), ("trends", trends)] {
        if !texts.is_empty() {
            sections.push(Section::titled(caption, vec![Block::List(texts)]));
        }
    }
    sections.extend(ranking(page));
    sections.extend(secondary_metrics(page));
    sections
}

/// A table whose first column is the workload, if there are several.
fn by_workload<'a, T>(
    page: &StudyPage<'_>,
    items: &'a [T],
    workload: impl Fn(&'a T) -> &'a String,
) -> Table {
    let mut table = Table::default();
    if page.workloads.len() > 1 {
        table.add(Column::key("workload"), items, workload);
    }
    table
}

fn main_effects(page: &StudyPage<'_>) -> Option<Section> {
    let found = &page.findings.effects.main;
    let ratio_and_ends = |effect: &Effect| {
        let ends = effect.ci95_simultaneous.or(effect.ci95);
        numbers::ratio_and_interval(Some(effect.ratio), ends)
    };
    let mut table = by_workload(page, found, |effect| &effect.workload);
    table.add(Column::key("level"), found, |effect| {
        arm_in_words(std::iter::once((&effect.factor, &effect.level)))
    });
    table.add(Column::key("against"), found, |effect| &effect.baseline);
    table.add(Column::right("ratio"), found, |effect| ratio_and_ends(effect)[0].clone());
    table.add(Column::right("95% CI"), found, |effect| ratio_and_ends(effect)[1].clone());
    table.add(Column::verdict("verdict"), found, |effect| {
        let (word, tone) = numbers::verdict_word(effect.verdict.filter(|_| !page.without_verdicts));
        Cell::toned(word, tone)
    });
    for (row, effect) in table.rows.iter_mut().zip(found) {
        row.name = format!("{}={} against {}", effect.factor, effect.level, effect.baseline);
        if page.workloads.len() > 1 {
            row.name = format!("{}: {}", effect.workload, row.name);
        }
    }
    let how = "Each level is averaged over all levels of the other factors. 95% CIs are simultaneous over all effects \
               and interactions of a workload.";
    (!found.is_empty()).then(|| {
        Section::titled("main effects", vec![Block::Text(vec![how.into()]), Block::Table(table)])
    })
}

/// How many ranks to show: all in full detail or if they are few, else the first ones.
fn shown_ranks(page: &StudyPage<'_>, rank: &Rank) -> usize {
    let all = rank.ranks.len();
    match page.workloads.len() {
        _ if page.full() => all,
        1 if all <= MOST_RANKS => all,
        1 => SHOWN_RANKS,
        _ => all.min(SHOWN_OF_MANY),
    }
}

/// The configurations of each workload by result, the best first; `None` without ranks.
fn ranking(page: &StudyPage<'_>) -> Option<Section> {
    let ranks = &page.findings.effects.ranks;
    let mut places: Vec<(&Rank, &RankRange)> = Vec::new();
    for rank in ranks {
        places.extend(rank.ranks[..shown_ranks(page, rank)].iter().map(|place| (rank, place)));
    }
    let mut table = by_workload(page, &places, |(rank, _)| &rank.workload);
    let rank = Column { unit: Unit::Number, ..Column::key("rank") };
    table.add(rank, &places, |(_, place)| rank_text(place));
    for (row, (rank, place)) in table.rows.iter_mut().zip(&places) {
        let workload = if page.workloads.len() > 1 { &rank.workload } else { "" };
        let levels = arm_in_words(place.configuration.iter());
        let name = format!("{workload} {} {levels}", rank_text(place));
        name.trim_start().clone_into(&mut row.name);
    }
    add_factors(&mut table, page, &places, |(_, place)| &place.configuration);
    table.add(Column::right("result"), &places, |(rank, place)| {
        value(&rank.metric, place.geometric_mean)
    });
    let hidden = ranks.iter().map(|rank| rank.ranks.len()).sum::<usize>() - places.len();
    let mut how =
        vec!["Best first; overlapping ranges of ranks mean no significant difference.".to_owned()];
    if hidden > 0 {
        how.push(format!("{hidden} more configurations: {}", page.more()));
    }
    // The tables of the workloads have the same numbers: only details need a long list.
    let role = if places.len() > MOST_RANKS { SectionRole::Closer } else { SectionRole::Usual };
    (!ranks.is_empty()).then(|| {
        Section::titled("ranking", vec![Block::Text(how), Block::Table(table)]).with_role(role)
    })
}

/// `2`, or `2-5`.
fn rank_text(place: &RankRange) -> String {
    match place.rank_range {
        [from, to] if from == to => from.to_string(),
        [from, to] => format!("{from}-{to}"),
    }
}

/// Comparisons of metrics that are not primary: a table in full detail, else their number.
fn secondary_metrics(page: &StudyPage<'_>) -> Option<Section> {
    let comparisons: Vec<_> = page.findings.comparisons.iter().filter(|it| !it.primary).collect();
    if comparisons.is_empty() {
        return None;
    }
    let metrics = distinct(comparisons.iter().map(|it| it.metric.as_str()));
    let plural =
        |count: usize, thing: &str| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
    if page.detail != Detail::Full {
        let text = format!(
            "{} of {} (unadjusted, no verdicts):",
            plural(comparisons.len(), "comparison"),
            plural(metrics.len(), "other metric"),
        );
        let lines = match page.detail {
            Detail::Page => vec![format!("{text} {}", page.more())],
            _ => vec![text, page.more()],
        };
        return Some(Section::new(Block::Text(lines)));
    }
    let has_differences = comparisons.iter().any(|it| it.difference.is_some());
    let mut table = by_workload(page, &comparisons, |it| &it.workload);
    add_factors(&mut table, page, &comparisons, |it| &it.configuration);
    table.add(Column::key("metric"), &comparisons, |it| noun(&it.metric));
    let title = if has_differences { "ratio or difference" } else { "ratio" };
    table.add(Column::right(title), &comparisons, |it| numbers::ratio(it));
    table.add(Column::right("95% CI"), &comparisons, |it| numbers::interval(it));
    for (row, it) in table.rows.iter_mut().zip(&comparisons) {
        row.name = format!("{} {}", arm_in_words(it.configuration.iter()), noun(&it.metric));
        if page.workloads.len() > 1 {
            row.name = format!("{} {}", it.workload, row.name);
        }
    }
    let how = "The 95% CIs of these secondary metrics are individual; there are no verdicts.";
    let blocks = vec![Block::Text(vec![how.to_owned()]), Block::Table(table)];
    Some(Section::titled("other metrics", blocks))
}

/// Remarks on comparisons, each text once with its configurations; then the replicates that inconclusive ones need.
pub(super) fn notes(page: &StudyPage<'_>) -> Vec<Remark> {
    let name = |pair: &Comparison| match page.workloads.len() {
        1 => page.findings.arm_words(&pair.configuration),
        _ => format!("{} {}", pair.workload, page.findings.arm_words(&pair.configuration)),
    };
    let ids = page.findings.summary.iter().flat_map(|sentence| &sentence.comparisons);
    let in_summary: Vec<&Comparison> = ids.filter_map(|id| page.findings.comparison(id)).collect();
    let has_numbers = in_summary.iter().any(|it| it.ratio.is_some() || it.difference.is_some());
    let is_repetition = |note: Option<&Note>| match note {
        // The sentence of a comparison with numbers says why the order rules out a verdict.
        Some(Note::NoOrder { .. }) => has_numbers,
        // The trust column already shows it for each number.
        Some(Note::Trust { .. }) => !page.full(),
        _ => false,
    };
    let mut remarks: Vec<Remark> = Vec::new();
    for pair in page.primary() {
        for (note, words) in pair.remarks().filter(|(note, _)| !is_repetition(*note)) {
            add(&mut remarks, "note", None, &without_names(page, note, words), &name(pair));
        }
    }
    if !page.full() {
        remarks = with_ranges(remarks);
    }
    let all = page.primary().count();
    for Remark { rows, .. } in &mut remarks {
        *rows = shortened_rows(page, std::mem::take(rows), all);
    }
    let mut inconclusive: Vec<(u32, String)> = Vec::new();
    for pair in page.primary().filter(|it| it.verdict == Some(Verdict::Inconclusive)) {
        let is_in_summary = in_summary.iter().any(|it| it.id == pair.id);
        if let Some(needed) = pair.replicates_needed.filter(|_| !is_in_summary) {
            inconclusive.push((needed, name(pair)));
        }
    }
    remarks.extend(needed_replicates(page, inconclusive, all));
    remarks
}

/// The words of a note. If there are many comparisons, without configurations: they are in the rows of the remark.
fn without_names(page: &StudyPage<'_>, note: Option<&Note>, words: &str) -> String {
    let keeps_names = page.full() || page.primary().count() <= MOST_NAMED;
    let Some(note) = note.filter(|_| !keeps_names) else { return words.to_owned() };
    let sides = match note {
        // Results of different days have no baseline in the sense of a study.
        Note::TrustOfResult { .. } => ["the earlier", "the later"],
        _ => ["the baseline", "the configuration"],
    };
    note_words(note, sides)
}

/// The rows of a remark, or their number if they are many. `all` comparisons need no names.
fn shortened_rows(page: &StudyPage<'_>, rows: Vec<String>, all: usize) -> Vec<String> {
    if rows.len() == all {
        return if all > 1 { vec!["all comparisons".to_owned()] } else { Vec::new() };
    }
    if rows.len() > MOST_NAMED && !page.full() {
        return vec![format!("{} of {all} comparisons", rows.len())];
    }
    rows
}

/// A remark on the replicates that inconclusive comparisons need. `open`: the number and the name of each row.
fn needed_replicates(page: &StudyPage<'_>, open: Vec<(u32, String)>, all: usize) -> Option<Remark> {
    let counts = || open.iter().map(|(count, _)| u64::from(*count));
    let (least, most) = (counts().min()?, counts().max()?);
    let margin = page.primary().find_map(|it| it.margin).unwrap_or_default();
    let needed = Needed::from_counts(open.iter().map(|(count, _)| *count), margin)?;
    let text = format!("inconclusive; {}", needed.words());
    let differ = show::about(least) != show::about(most);
    let rows = if differ && page.full() {
        let row =
            |(count, row): (u32, String)| format!("{row} ({})", show::about(u64::from(count)));
        open.into_iter().map(row).collect()
    } else {
        shortened_rows(page, open.into_iter().map(|(_, row)| row).collect(), all)
    };
    Some(Remark { rule: "note".to_owned(), trust: None, text, rows })
}

/// Configurations that were not measured, each reason once; in full detail, also missing numbers. `None` without any.
pub(super) fn absent(page: &StudyPage<'_>) -> Option<Section> {
    let mut remarks: Vec<Remark> = Vec::new();
    for entry in &page.findings.absent {
        let row = format!("{} {}", entry.workload, page.findings.arm_words(&entry.configuration));
        match &entry.metric {
            None => add(&mut remarks, "not measured", None, reason_of(entry), row.trim_end()),
            Some(metric) if page.full() => {
                let number = format!("{} of {row}", noun(metric));
                add(&mut remarks, "no number", None, &entry.reason, &number);
            }
            Some(_) => {}
        }
    }
    let has_many = |remark: &&mut Remark| remark.rows.len() > MOST_NAMED && !page.full();
    for remark in remarks.iter_mut().filter(has_many) {
        let mut entries = page.findings.absent.iter().collect::<Vec<_>>();
        entries.retain(|entry| entry.metric.is_none() && reason_of(entry) == remark.text);
        let arms: Vec<&Arm> = entries.iter().map(|entry| &entry.configuration).collect();
        remark.rows = vec![count_with_shared_levels(&arms, remark.rows.len())];
    }
    (!remarks.is_empty()).then(|| Section::new(Block::Remarks(remarks)))
}

/// A reason without the words of its label.
fn reason_of(entry: &AbsentCell) -> &str {
    entry.obstacle.as_ref().unwrap_or(&entry.reason)
}

/// The number of rows, with the levels that their configurations share: `8 rows with xfs`.
fn count_with_shared_levels(arms: &[&Arm], rows: usize) -> String {
    let Some((first, others)) = arms.split_first() else { return format!("{rows} rows") };
    let is_shared = |(name, level): &(&String, &String)| {
        others.iter().all(|other| other.get(*name) == Some(*level))
    };
    match arm_in_words(first.iter().filter(is_shared)) {
        words if words.is_empty() => format!("{rows} rows"),
        words => format!("{rows} rows with {words}"),
    }
}
