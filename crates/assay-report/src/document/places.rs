//! The page of platforms: the result of each workload on each platform, in percent of the baseline platform.

use super::facts::{self, Facts};
use super::numbers;
use super::remarks::{self, NameKind};
use super::{
    Block, Cell, Column, Detail, Document, NONE, Remark, Row, Section, SectionRole, Table, Tone,
    answers, exhibits,
};
use assay_core::quantity::{Better, printed};
use assay_core::{exhibit::parts::parted, quantity::units::show};
use assay_study::findings::facts::PlaceFacts;
use assay_study::findings::places::{PlaceRow, Placed, Places, PlatformUnit, PublishedBeside};
use assay_study::findings::{EnvironmentFacts, Findings};
use assay_study::results::plan::{Arm, arm_in_words};

pub(super) fn document(findings: &Findings, places: &Places, detail: Detail) -> Document {
    let mut fact_rows = facts::study(findings);
    fact_rows.push(("baseline".to_owned(), places.baseline.clone()));
    let mut sections =
        vec![Section::new(Block::Facts(fact_rows)), super::summary(findings.summary_texts())];
    sections.extend(tables(findings, places).into_iter().map(Section::into_main));
    sections.push(Section::new(Block::Text(legend(places))).with_role(SectionRole::Closer));
    sections.extend(places.published.iter().map(published_section));
    sections.extend(machines(places));
    sections.push(Section::new(Block::Remarks(all_remarks(findings, detail))));
    sections.extend(exhibits::of_topics(findings));
    sections.extend(answers::questions(findings));
    Document { title: facts::title(findings), sections }
}

pub(super) fn tables(findings: &Findings, places: &Places) -> Vec<Section> {
    let works = parted(&places.rows, |row| (&row.workload, &row.configuration, &row.metric));
    let mut sections = Vec::new();
    for ((workload, arm, metric), rows) in works {
        let mut table = table(findings, &rows);
        let direction = direction(places, metric);
        table.title = format!("{}: {}, {direction}", work_name(workload, arm), heading(metric));
        sections.push(Section::from(table));
    }
    sections
}

pub(crate) fn work_name(workload: &str, arm: &Arm) -> String {
    if arm.is_empty() {
        return workload.to_owned();
    }
    format!("{workload}, {}", arm_in_words(arm.iter()))
}

/// The platforms of one table: measured ones with the columns that have values, then those without a number.
fn table(findings: &Findings, rows: &[&PlaceRow]) -> Table {
    let measured: Vec<_> = rows.iter().copied().filter(|row| row.absent.is_none()).collect();
    let has_intervals = rows.iter().any(|row| row.percent_interval().is_some());
    let mut table = Table::default();
    table.add(Column::key("platform"), &measured, |row| &row.platform);
    table.add(Column::right("result"), &measured, |row| value(row));
    table.add(Column::right("% of base"), &measured, |row| {
        let [percent, ..] = percents(row)?;
        Some(percent)
    });
    let decimals = rows.iter().filter_map(|row| Some(printed::decimals(row.printed?.percent)));
    if let Some(decimals) = decimals.max() {
        table.add(Column::right("printed"), &measured, |row| printed_percent(row, decimals));
    }
    if has_intervals {
        table.add(Column::right("95% CI"), &measured, |row| {
            let [_, low, high] = percents(row)?;
            row.percent_interval().map(|_| format!("{low} to {high}"))
        });
    }
    if rows.iter().any(|row| row.n > 1) {
        table.add(Column::right("n").detail(), &measured, |row| count_text(row));
    }
    if has_intervals || rows.iter().any(|row| row.emulated || !row.is_sound()) {
        table.add(Column::verdict("verdict"), &measured, |row| verdict(findings, row));
    }
    table.rows.extend(absent_rows(rows));
    table
}

/// The percentage with the ends of its interval.
fn percents(row: &PlaceRow) -> Option<[String; 3]> {
    let percent = row.percent?;
    if row.comparison.is_none() {
        // The baseline is 100 by definition, without decimals.
        return Some(["100", NONE, NONE].map(str::to_owned));
    }
    Some(show::percents(percent, row.percent_interval()))
}

/// A row per reason for missing numbers, with its platforms.
fn absent_rows(rows: &[&PlaceRow]) -> Vec<Row> {
    let missing = rows.iter().filter_map(|row| Some((row.absent.as_ref()?, row.platform.as_str())));
    let mut absent = Vec::new();
    for (reason, entries) in parted(missing, |(reason, _)| reason) {
        let platforms: Vec<&str> = entries.into_iter().map(|(_, platform)| platform).collect();
        absent.push(Row::absent("absent", format!("{}: {reason}", platforms.join(", "))));
    }
    absent
}

fn direction(places: &Places, metric: &str) -> &'static str {
    let row = places.rows.iter().find(|row| row.metric == metric);
    row.map_or(Better::Higher, |row| row.better).words()
}

fn heading(metric: &str) -> String {
    numbers::heading(metric).replace('_', " ")
}

/// The number of a row; a number from a published table has its printed digits.
pub(crate) fn value(row: &PlaceRow) -> String {
    let Some(value) = row.value else { return NONE.to_owned() };
    match row.metric.as_str() {
        "duration_s" if row.n == 1 && row.unit == PlatformUnit::Trials => format!("{value} s"),
        metric => numbers::under_heading(metric, value),
    }
}

/// The number of trials or results; `5/6` if one of 6 failed.
fn count_text(row: &PlaceRow) -> String {
    match row.unit {
        PlatformUnit::Sessions if row.n == 1 => "1 result".to_owned(),
        PlatformUnit::Sessions => format!("{} results", row.n),
        _ if row.failed > 0 => format!("{}/{}", row.n, row.n + row.failed),
        PlatformUnit::Trials | PlatformUnit::TrialsOfResults => row.n.to_string(),
    }
}

/// The published percentage, with the decimals of the others; flagged if it contradicts the published times.
fn printed_percent(row: &PlaceRow, decimals: usize) -> Cell {
    let Some(printed) = row.printed else { return "".into() };
    let text = if printed.percent == 100.0 {
        "100".to_owned()
    } else {
        format!("{:.decimals$}", printed.percent)
    };
    if printed.follows {
        return text.into();
    }
    Cell::toned(format!("inconsistent: {text}"), Tone::Bad)
}

fn verdict(findings: &Findings, row: &PlaceRow) -> Cell {
    if row.emulated {
        return Cell::toned("emulated", Tone::Doubtful);
    }
    if !row.is_sound() {
        return Cell::toned("invalid", Tone::Bad);
    }
    match row.comparison.as_ref().and_then(|id| findings.comparison(id)) {
        Some(comparison) => numbers::verdict_cell(comparison, false),
        None => "baseline".into(),
    }
}

fn legend(places: &Places) -> Vec<String> {
    let mut texts =
        vec![format!("% of base: speed relative to {}; 50 means half as fast.", places.baseline)];
    let has_simultaneous = places.rows.iter().any(|row| row.percent_ci95_simultaneous.is_some());
    if has_simultaneous {
        let text = "95% CIs are simultaneous over all platforms of a workload. Across machines, verdicts are only \
                    suggestions, because the CIs do not cover other differences between machines.";
        texts.push(text.to_owned());
    }
    let workloads = places.rows.iter().filter(|row| row.platform == places.baseline).count();
    if workloads > 1 {
        let text = "Assay does not average over workloads, because a platform that is fast for one workload can be \
                    slow for another.";
        texts.push(text.to_owned());
    }
    let is_single = places.rows.iter().any(|row| row.n == 1 && row.unit == PlatformUnit::Trials);
    if is_single && !has_simultaneous {
        texts.push("With one number per platform, there is no CI and no verdict.".to_owned());
    }
    texts
}

/// The numbers of an article next to the measured ones, marked if its percentages contradict its times.
fn published_section(table: &PublishedBeside) -> Section {
    let text = format!(
        "Published in {}: {}; {}. Percentages are relative to the article's own {} result.",
        table.title, table.work, table.statistic, table.baseline
    );
    let rows = &table.rows;
    let mut published = Table::new(format!("published: {}", table.source));
    published
        .add(Column::key("published"), rows, |row| format!("{}: {}", table.source, row.platform));
    published.add(Column::right("printed"), rows, |row| &row.value);
    published.add(Column::right("printed %"), rows, |row| {
        Cell::toned(&row.percent, if row.printed.follows { Tone::Plain } else { Tone::Bad })
    });
    published.add(Column::sentences("remark"), rows, |row| {
        if !row.printed.follows {
            let percent = row.printed.computed;
            return format!("the published times in seconds give {percent:.2}%");
        }
        row.remark.clone().unwrap_or_default()
    });
    let mut section = Section::from(published);
    section.blocks.insert(0, Block::Text(vec![text]));
    section
}

/// Descriptions of the platforms, one line each; `None` for imported tables.
fn machines(places: &Places) -> Option<Section> {
    let facts = places.platforms.iter().map(|place| (place.name.clone(), machine_text(place)));
    let facts: Facts = facts.filter(|(_, text)| !text.is_empty()).collect();
    (!facts.is_empty()).then(|| Section::titled("platforms", vec![Block::Facts(facts)]))
}

/// The machine of a platform and the days of its results; empty if nothing is known of it.
fn machine_text(place: &Placed) -> String {
    let mut parts: Vec<String> = Vec::new();
    // The name of the platform is already in the same row.
    parts.extend(place.found.clone().filter(|it| *it != place.name));
    parts.extend(place.machine.platform.iter().flat_map(PlaceFacts::around));
    // Leave out platform and virtualization: the parts above describe them.
    let machine = EnvironmentFacts {
        virtualization: "none".to_owned(),
        platform: None,
        ..place.machine.clone()
    };
    parts.extend(facts::machine(&machine).into_iter().map(|(name, value)| match name.as_str() {
        "kernel" => format!("Linux {value}"),
        _ => value,
    }));
    if parts.is_empty() {
        return String::new();
    }
    parts.push(result_days(place));
    parts.join("; ")
}

/// The results of a platform: `2 results from 2026-11-22 and 2026-11-23`; one result by its ID.
fn result_days(place: &Placed) -> String {
    let mut days: Vec<&str> =
        place.results.iter().map(|it| it.started.get(..10).unwrap_or_default()).collect();
    days.sort_unstable();
    days.dedup();
    let count = match place.results.as_slice() {
        [result] => result.id.clone(),
        several => format!("{} results", several.len()),
    };
    format!("{count} from {}", days.join(" and "))
}

fn all_remarks(findings: &Findings, detail: Detail) -> Vec<Remark> {
    let mut remarks = remarks::rules(findings, NameKind::Arm, detail);
    remarks.extend(findings.checks.iter().map(|check| Remark {
        rule: check.name.clone(),
        trust: None,
        text: check.text.clone(),
        rows: Vec::new(),
    }));
    remarks
}
