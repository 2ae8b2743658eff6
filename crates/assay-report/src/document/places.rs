//! The page of platforms: the result of each workload on each platform, in percent of the baseline platform.

use super::facts::{self, Facts};
use super::numbers;
use super::remarks::{self, NameKind};
use super::{
    Block, Cell, Column, Detail, Document, NONE, Remark, Row, Section, SectionRole, Table, Tone,
    answers, exhibits,
};
use assay_core::quantity::units::show;
use assay_core::quantity::{Better, printed};
use assay_study::findings::facts::PlaceFacts;
use assay_study::findings::places::{PlaceRow, Placed, Places, PlatformUnit, PublishedBeside};
use assay_study::findings::{Comparison, EnvironmentFacts, Findings};
use assay_study::results::plan::{Arm, arm_in_words};

pub(super) fn document(findings: &Findings, places: &Places, detail: Detail) -> Document {
    let mut told = facts::study(findings);
    told.push(("baseline".to_owned(), places.baseline.clone()));
    let mut sections =
        vec![Section::new(Block::Facts(told)), super::summary(findings.summary_texts())];
    sections.extend(tables(findings, places).into_iter().map(Section::main));
    sections.push(Section::new(Block::Text(legend(places))).with_role(SectionRole::Closer));
    sections.extend(places.published.iter().map(beside));
    sections.extend(machines(places));
    sections.push(Section::new(Block::Remarks(all_remarks(findings, detail))));
    sections.extend(exhibits::of_topics(findings));
    sections.extend(answers::questions(findings));
    Document { title: facts::title(findings), sections }
}

pub(super) fn tables(findings: &Findings, places: &Places) -> Vec<Section> {
    let mut works: Vec<(&str, &Arm, &str)> = Vec::new();
    for row in &places.rows {
        let work = (row.workload.as_str(), &row.configuration, row.metric.as_str());
        if !works.contains(&work) {
            works.push(work);
        }
    }
    let section = |(workload, arm, metric): &(&str, &Arm, &str)| {
        let own = places.rows.iter().filter(|row| {
            row.workload == *workload && row.configuration == **arm && row.metric == *metric
        });
        let mut table = table(findings, &own.collect::<Vec<_>>());
        let way = better(places, metric);
        table.title = format!("{}: {}, {way}", work_name(workload, arm), heading(metric));
        Section::from(table)
    };
    works.iter().map(section).collect()
}

pub(crate) fn work_name(workload: &str, arm: &Arm) -> String {
    if arm.is_empty() {
        return workload.to_owned();
    }
    format!("{workload}, {}", arm_in_words(arm.iter()))
}

fn table(findings: &Findings, rows: &[&PlaceRow]) -> Table {
    let there: Vec<&PlaceRow> = rows.iter().copied().filter(|row| row.absent.is_none()).collect();
    let has_intervals = rows.iter().any(|row| row.percent_interval().is_some());
    let mut table = Table::default();
    table.add(Column::key("platform"), &there, |row| &row.platform);
    table.add(Column::right("result"), &there, |row| value(row));
    table.add(Column::right("% of base"), &there, |row| {
        let [percent, ..] = percents(row)?;
        Some(percent)
    });
    let decimals = rows.iter().filter_map(|row| Some(printed::decimals(row.printed?.percent)));
    if let Some(decimals) = decimals.max() {
        table.add(Column::right("printed"), &there, |row| printed_percent(row, decimals));
    }
    if has_intervals {
        table.add(Column::right("95% CI"), &there, |row| {
            let [_, low, high] = percents(row)?;
            row.percent_interval().map(|_| format!("{low} to {high}"))
        });
    }
    if rows.iter().any(|row| row.n > 1) {
        table.add(Column::right("n").detail(), &there, |row| count(row));
    }
    if has_intervals || rows.iter().any(|row| row.emulated || !row.is_sound()) {
        table.add(Column::verdict("verdict"), &there, |row| verdict(findings, row));
    }
    table.rows.extend(absent(rows));
    table
}

fn percents(row: &PlaceRow) -> Option<[String; 3]> {
    let percent = row.percent?;
    if row.comparison.is_none() {
        // The baseline is 100 by definition, without decimals.
        return Some(["100", NONE, NONE].map(str::to_owned));
    }
    Some(show::percents(percent, row.percent_interval()))
}

fn absent(rows: &[&PlaceRow]) -> Vec<Row> {
    let mut told: Vec<(&String, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some(reason) = &row.absent else { continue };
        match told.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, places)) => places.push(&row.platform),
            None => told.push((reason, vec![&row.platform])),
        }
    }
    let line = |(reason, places): (&String, Vec<&str>)| {
        Row::absent("absent", format!("{}: {reason}", places.join(", ")))
    };
    told.into_iter().map(line).collect()
}

fn better(places: &Places, metric: &str) -> &'static str {
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

fn count(row: &PlaceRow) -> String {
    let lost = if row.failed > 0 {
        format!("{}/{}", row.n, row.n + row.failed)
    } else {
        row.n.to_string()
    };
    match row.unit {
        PlatformUnit::Sessions if row.n == 1 => "1 result".to_owned(),
        PlatformUnit::Sessions => format!("{} results", row.n),
        PlatformUnit::Trials | PlatformUnit::TrialsOfResults => lost,
    }
}

/// Published percentages with the decimals of the others.
fn printed_percent(row: &PlaceRow, decimals: usize) -> Cell {
    let Some(told) = row.printed else { return "".into() };
    let text = if told.percent == 100.0 {
        "100".to_owned()
    } else {
        format!("{:.decimals$}", told.percent)
    };
    if told.follows {
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
    let found = row.comparison.as_ref().and_then(|id| findings.comparison(id));
    found.map_or_else(|| "baseline".into(), |found: &Comparison| numbers::judged(found, false))
}

fn legend(places: &Places) -> Vec<String> {
    let mut told =
        vec![format!("% of base: speed relative to {}; 50 means half as fast.", places.baseline)];
    let families = places.rows.iter().any(|row| row.percent_ci95_simultaneous.is_some());
    told.extend(families.then(|| {
        "95% CIs are simultaneous over all platforms of a workload. Across machines, verdicts are only suggestions, \
         because the CIs do not cover other differences between machines."
            .to_owned()
    }));
    let works = places.rows.iter().filter(|row| row.platform == places.baseline).count();
    told.extend((works > 1).then(|| {
        "Assay does not average over workloads, because a platform that is fast for one workload can be slow for \
         another."
            .to_owned()
    }));
    let alone = places.rows.iter().any(|row| row.n == 1 && row.unit == PlatformUnit::Trials);
    told.extend(
        (alone && !families)
            .then(|| "With one number per platform, there is no CI and no verdict.".to_owned()),
    );
    told
}

fn beside(table: &PublishedBeside) -> Section {
    let text = format!(
        "Published in {}: {}; {}. Percentages are relative to the article's own {} result.",
        table.title, table.work, table.statistic, table.baseline
    );
    let rows = &table.rows;
    let mut own = Table::new(format!("published: {}", table.source));
    own.add(Column::key("published"), rows, |row| format!("{}: {}", table.source, row.platform));
    own.add(Column::right("printed"), rows, |row| &row.value);
    own.add(Column::right("printed %"), rows, |row| {
        Cell::toned(&row.percent, if row.printed.follows { Tone::Plain } else { Tone::Bad })
    });
    own.add(Column::sentences("remark"), rows, |row| {
        if !row.printed.follows {
            let percent = row.printed.computed;
            return format!("the published times in seconds give {percent:.2}%");
        }
        row.remark.clone().unwrap_or_default()
    });
    let mut section = Section::from(own);
    section.blocks.insert(0, Block::Text(vec![text]));
    section
}

/// Descriptions of the platforms, one line each; `None` for imported tables.
fn machines(places: &Places) -> Option<Section> {
    let told: Facts = places
        .platforms
        .iter()
        .map(|place| (place.name.clone(), machine(place)))
        .filter(|(_, told)| !told.is_empty())
        .collect();
    (!told.is_empty()).then(|| Section::titled("platforms", vec![Block::Facts(told)]))
}

fn machine(place: &Placed) -> String {
    let mut told: Vec<String> = Vec::new();
    // Unless the name contains it.
    told.extend(place.found.clone().filter(|found| *found != place.name));
    told.extend(place.machine.platform.iter().flat_map(PlaceFacts::around));
    let machine = EnvironmentFacts {
        virtualization: "none".to_owned(),
        platform: None,
        ..place.machine.clone()
    };
    told.extend(facts::machine(&machine).into_iter().map(|(name, value)| match name.as_str() {
        "kernel" => format!("Linux {value}"),
        _ => value,
    }));
    if told.is_empty() {
        return String::new();
    }
    told.push(results(place));
    told.join("; ")
}

/// `2 results of 2026-11-22 and 2026-11-23`.
fn results(place: &Placed) -> String {
    let mut days: Vec<&str> =
        place.results.iter().map(|one| one.started.get(..10).unwrap_or_default()).collect();
    days.sort_unstable();
    days.dedup();
    let count = match place.results.as_slice() {
        [one] => one.id.clone(),
        several => format!("{} results", several.len()),
    };
    format!("{count} from {}", days.join(" and "))
}

fn all_remarks(findings: &Findings, detail: Detail) -> Vec<Remark> {
    let mut told = remarks::rules(findings, NameKind::Arm, detail);
    told.extend(findings.checks.iter().map(|check| Remark {
        rule: check.name.clone(),
        trust: None,
        text: check.text.clone(),
        rows: Vec::new(),
    }));
    told
}
