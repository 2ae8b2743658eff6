//! Exhibits of kinds of work: tables, to which this module adds names and trust, and lists.

use super::{Block, Cell, Column, Measurement, Section, SectionRole, Table, cells_of};
use assay_core::exhibit::{Exhibit, List, Subject};
use assay_study::findings::shown::{Rating, table_of_rows};
use assay_study::plan::arms::TARGET;
use assay_study::{file::lead, findings::Findings};
use assay_workloads::KINDS;
use assay_workloads::tell::{NumberedRow, ShownNumbers, StudyNumbers};

/// The sections of kinds with facts, one after the other; empty without any.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    findings.kind_exhibits().flat_map(|exhibit| sections_of_kind(findings, exhibit)).collect()
}

/// The exhibits of topics: one section each if titled, else one per table.
pub(super) fn of_topics(findings: &Findings) -> Vec<Section> {
    let mut sections = Vec::new();
    for exhibit in &findings.exhibits {
        let tables = exhibit.tables.iter().cloned().map(Section::from);
        let topic_sections = if exhibit.title.is_empty() {
            tables.collect()
        } else {
            vec![titled_section(exhibit, tables)]
        };
        let role = role_beside(Some(&exhibit.topic));
        sections.extend(topic_sections.into_iter().map(|section| section.with_role(role)));
    }
    sections
}

/// One section of all tables of an exhibit, below its notes; the title of each table is a line of text above it.
fn titled_section(exhibit: &Exhibit, tables: impl Iterator<Item = Section>) -> Section {
    let mut blocks = Vec::new();
    if !exhibit.notes.is_empty() {
        blocks.push(Block::Text(exhibit.notes.clone()));
    }
    for table in tables {
        blocks.extend(table.caption.map(|title| Block::Text(vec![title])));
        blocks.extend(table.blocks);
    }
    Section::titled(&exhibit.title, blocks)
}

/// The role of the tables of a kind of figure: next to that figure if it is the first of the page.
fn role_beside(figure: Option<&str>) -> SectionRole {
    figure.and_then(lead::find).map_or(SectionRole::Usual, SectionRole::Of)
}

/// The tables of an exhibit, then its lists. Rows with subjects (workload and arm) begin with their target or workload.
fn sections_of_kind(findings: &Findings, mut exhibit: Exhibit) -> Vec<Section> {
    let mut sections = Vec::new();
    for table in std::mem::take(&mut exhibit.tables) {
        let subjects = row_subjects(&table);
        if !subjects.is_empty() {
            let has_targets = subjects.iter().any(|of| of.arm.contains_key(TARGET));
            let title = if has_targets { TARGET } else { "workload" };
            let mut keys = Table::default();
            keys.add(Column::left(title), &subjects, |of| {
                of.arm.get(TARGET).unwrap_or(&of.workload)
            });
            sections.push(keyed_section(&exhibit, keys, table, |of| trust(findings, of)));
        } else if !table.rows.is_empty() {
            sections.push(Section::from(table));
        }
    }
    for List { title, items } in exhibit.lists {
        sections.push(Section::titled(title, vec![Block::List(items)]));
    }
    sections
}

/// Subjects of the rows of a table; empty for rows without subjects.
fn row_subjects(table: &Table) -> Vec<Subject> {
    table.rows.iter().filter_map(|row| row.subject.clone()).collect()
}

/// One section per kind of work that only has numbers; empty for compared results and races.
pub(super) fn of_numbers(findings: &Findings) -> Vec<Section> {
    // A list over all settings names the best one, but the survivors of a race are biased by luck.
    if findings.study.kind == "compare" || findings.race.is_some() {
        return Vec::new();
    }
    let shown = KINDS.iter().filter_map(|kind| kind.shown);
    shown.filter_map(|numbers| numbered_section(findings, numbers)).collect()
}

pub fn with_figure(findings: &Findings) -> Vec<Section> {
    let shown = KINDS.iter().filter_map(|kind| kind.shown).filter(|shown| shown.figure.is_some());
    shown.filter_map(|numbers| numbered_section(findings, numbers)).collect()
}

/// Whether a metric is the main one of a kind that only has numbers.
pub(super) fn are_known_by(metric: &str) -> bool {
    KINDS.iter().filter_map(|kind| kind.shown).any(|numbers| numbers.known_by == metric)
}

/// The table of a kind that only has numbers; `None` if the study did not measure the kind.
fn numbered_section(findings: &Findings, shown: &ShownNumbers) -> Option<Section> {
    let cells = cells_of(findings, shown.known_by);
    if cells.is_empty() {
        return None;
    }
    let mut exhibit = (shown.exhibit)(&study_numbers(findings, &cells));
    let table = exhibit.tables.pop()?;
    let subjects = row_subjects(&table);
    let mut keys = table_of_rows(findings, &subjects, |of| (of.workload.as_str(), &of.arm));
    for (row, of) in keys.rows.iter_mut().zip(&subjects) {
        let facts = findings.workload(&of.workload, &of.arm);
        row.notes.extend(facts.and_then(|facts| facts.note.clone()));
    }
    let trust = |of: &Subject| {
        let cell = cells.iter().find(|cell| belongs_to(cell, of));
        Rating::cell(cell.and_then(|cell| Rating::from_cell(cell)))
    };
    Some(keyed_section(&exhibit, keys, table, trust))
}

/// The input of a kind's table: a row per cell with all numbers of its workload and arm, and all metrics with a value.
fn study_numbers<'f>(findings: &'f Findings, cells: &[&'f Measurement]) -> StudyNumbers<'f> {
    let mut rows = Vec::new();
    for cell in cells {
        let of = Subject { workload: cell.workload.clone(), arm: cell.configuration.clone() };
        let in_row = findings.measurements.iter().filter(|it| !it.control && belongs_to(it, &of));
        let numbers = in_row.filter_map(|it| Some((it.metric.as_str(), it.value()?))).collect();
        let facts = findings.workload(&of.workload, &of.arm);
        let lasting = facts.map(|facts| facts.permanent_commands.as_slice()).unwrap_or_default();
        rows.push(NumberedRow { of, numbers, lasting });
    }
    let known = findings.measurements.iter().filter(|cell| cell.value().is_some());
    StudyNumbers { rows, known: known.map(|cell| cell.metric.as_str()).collect() }
}

fn belongs_to(cell: &Measurement, of: &Subject) -> bool {
    cell.workload == of.workload && cell.configuration == of.arm
}

/// Joins a table: the `keys` columns before its `data`, the trust of each row after it; below, which row is the best.
fn keyed_section(
    shown: &Exhibit,
    keys: Table,
    data: Table,
    trust: impl Fn(&Subject) -> Cell,
) -> Section {
    let subjects = row_subjects(&data);
    let mut table = Table { title: data.title, notes: data.notes, ..keys };
    table.columns.extend(data.columns);
    for (row, data_row) in table.rows.iter_mut().zip(data.rows) {
        row.cells.extend(data_row.cells);
    }
    table.add(Column::verdict("trust"), &subjects, trust);
    let best = shown.best.as_ref().and_then(|best| {
        let index = subjects.iter().position(|of| *of == best.of)?;
        let mut lines = vec![format!("{} {}", table.name_of(&table.rows[index]), best.text)];
        lines.extend(best.lines.iter().cloned());
        Some(Block::List(lines))
    });
    let mut section = Section::from(table).with_role(role_beside(shown.beside));
    section.blocks.extend(best);
    section
}

/// The trust in the primary metric of a row, else in its first judged one.
fn trust(findings: &Findings, of: &Subject) -> Cell {
    let has_trust =
        |cell: &&Measurement| belongs_to(cell, of) && !cell.control && cell.trust.is_some();
    let mut cells = findings.measurements.iter().filter(has_trust);
    let cell = cells.clone().find(|cell| cell.primary).or_else(|| cells.next());
    Rating::cell(cell.and_then(Rating::from_cell))
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::document::{NONE, Tone, usual as document};
    use crate::tests::fixture;
    use assay_core::exhibit::{BestRow, Role as ColumnRole, Row, Unit};
    use assay_study::findings::{OfKinds, Trust};
    use assay_study::results::plan::Arm;
    use assay_testkit::kinds::kept;

    fn told_by_kind() -> Vec<(String, OfKinds)> {
        let kept = kept("told.json").unwrap();
        assert!(!kept.is_empty());
        kept.into_iter().map(|(kind, text)| (kind, serde_json::from_str(&text).unwrap())).collect()
    }

    /// The findings of a check with these facts, and a suspect number in its first row.
    fn found(told: &OfKinds) -> Findings {
        let mut found = fixture("card");
        let mut cell = found.measurements[0].clone();
        let Subject { workload, arm } = told.all().next().unwrap().subject();
        (cell.workload, cell.configuration) = (workload, arm);
        (cell.primary, cell.trust) = (true, Some(Trust::Suspect));
        found.measurements.push(cell);
        found.of_kinds = told.clone();
        found
    }

    fn tabled() -> Vec<(String, Findings, Exhibit)> {
        let shown = |(kind, told): (String, OfKinds)| {
            let found = found(&told);
            let exhibit = found.kind_exhibits().next().unwrap();
            (!row_subjects(&exhibit.tables[0]).is_empty()).then_some((kind, found, exhibit))
        };
        let all: Vec<_> = told_by_kind().into_iter().filter_map(shown).collect();
        assert!(!all.is_empty());
        all
    }

    /// Headings and rows of a section's table, as printed.
    fn table(section: &Section) -> (Vec<String>, Vec<Vec<String>>) {
        let Block::Table(table) = &section.blocks[0] else { panic!("no table: {section:?}") };
        let rows = table.rows.iter().map(|row| table.texts(row)).collect();
        (table.columns.iter().map(heading).collect(), rows)
    }

    fn heading(column: &Column) -> String {
        format!("{}{}", if column.is_right() { ">" } else { "" }, column.title)
    }

    fn captioned(sections: &[Section], caption: &str) -> Section {
        let own = |section: &&Section| section.caption.as_deref() == Some(caption);
        sections.iter().find(own).unwrap().clone()
    }

    #[test]
    fn a_kind_gets_a_table_with_the_names_of_its_rows_and_the_trust_in_them() {
        for (kind, found, exhibit) in tabled() {
            let own = &exhibit.tables[0];
            let subjects = row_subjects(own);
            let section = captioned(&document(&found).sections, &own.title);
            let (headings, rows) = table(&section);
            let has_targets = subjects.iter().any(|of| of.arm.contains_key("target"));
            let called = if has_targets { "target" } else { "workload" };
            let wanted = iter::once(called.to_owned())
                .chain(own.columns.iter().map(heading))
                .chain(["trust".to_owned()]);
            assert_eq!(headings, wanted.collect::<Vec<_>>(), "{kind}");
            assert_eq!(rows.len(), own.rows.len(), "{kind}");
            for ((texts, row), of) in rows.iter().zip(&own.rows).zip(&subjects) {
                let name = of.arm.get("target").unwrap_or(&of.workload);
                let trust = if *of == subjects[0] { "suspect" } else { NONE };
                let wanted = [vec![name.clone()], own.texts(row), vec![trust.to_owned()]].concat();
                assert_eq!(*texts, wanted, "{kind}");
            }
        }
    }

    #[test]
    fn trust_in_a_row_is_not_that_of_a_second_copy_of_it() {
        for (kind, mut found, exhibit) in tabled() {
            let of = &row_subjects(&exhibit.tables[0])[0];
            assert_eq!(trust(&found, of).text(Unit::Words), "suspect", "{kind}");
            found.measurements.last_mut().unwrap().control = true;
            assert_eq!(trust(&found, of).text(Unit::Words), NONE, "{kind}");
        }
    }

    #[test]
    fn cells_have_the_tone_of_their_kind_and_what_judges_is_marked() {
        for (kind, found, exhibit) in tabled() {
            let own = &exhibit.tables[0];
            let section = captioned(&document(&found).sections, &own.title);
            let Block::Table(table) = &section.blocks[0] else { panic!("{section:?}") };
            let is_verdict = |column: &Column| column.role == ColumnRole::Verdict;
            let judged = table.columns.iter().map(is_verdict);
            let wanted = iter::once(false).chain(own.columns.iter().map(is_verdict)).chain([true]);
            assert_eq!(judged.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{kind}");
            let tones = table.rows[0].cells.iter().map(|cell| cell.tone);
            let cells = own.rows[0].cells.iter().map(|cell| cell.tone);
            let wanted = iter::once(Tone::Plain).chain(cells).chain([Tone::Doubtful]);
            assert_eq!(tones.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{kind}");
            let legend = (!own.notes.is_empty()).then(|| Block::Text(own.notes.clone()));
            assert_eq!(section.blocks.get(1), legend.as_ref(), "{kind}");
            let beside = exhibit.beside.and_then(lead::find);
            assert_eq!(section.role, beside.map_or(SectionRole::Main, SectionRole::Of), "{kind}");
        }
    }

    #[test]
    fn parts_stand_as_they_are_below_headings_of_their_own() {
        let sections = sections(&fixture("study-boots"));
        let captions: Vec<&str> =
            sections.iter().filter_map(|section| section.caption.as_deref()).collect();
        let group = "kernel 6.1.0-50-cloud-amd64";
        let units = format!("{group}: slowest units");
        assert_eq!(captions, ["phases", &units, "unfinished boots, excluded from the means"]);
        let (headings, rows) = table(&sections[0]);
        let told = ["boots", ">n", ">kernel", ">userspace", ">total from kernel start"];
        assert_eq!(headings, [&told[..], &[">time until the unit started"]].concat(), "no trust");
        assert_eq!(rows[0][..4], [group, "2", "16.4 s", "33.1 s"]);
        let Block::Table(phases) = &sections[0].blocks[0] else { panic!("{:?}", sections[0]) };
        assert_eq!(phases.name_of(&phases.rows[0]), group);
        assert!(matches!(sections[1].blocks[..], [Block::Table(_), Block::Text(_)]));
        assert!(matches!(&sections[2].blocks[..], [Block::List(told)] if told.len() == 1));
    }

    static MADE_UP: ShownNumbers =
        ShownNumbers { known_by: "pace_ns", exhibit: pace, figure: None };

    fn pace(numbers: &StudyNumbers<'_>) -> Exhibit {
        let value = |row: &NumberedRow<'_>, metric: &str| row.numbers.get(metric).copied();
        let row = |row: &NumberedRow<'_>| {
            Row::about(row.of.clone(), [value(row, "pace_ns"), value(row, "carried_bits_per_s")])
        };
        let best = numbers.rows.iter().find(|row| !row.lasting.is_empty());
        let mut table = Table::new("pace");
        table.columns =
            vec![Column::new("steps", Unit::Nanoseconds), Column::new("rate", Unit::BitsPerS)];
        table.rows = numbers.rows.iter().map(row).collect();
        table.notes.push(format!("Of {} metrics.", numbers.known.len()));
        Exhibit {
            tables: vec![table],
            best: best.map(|row| BestRow {
                of: row.of.clone(),
                text: "is best:".to_owned(),
                lines: row.lasting.to_vec(),
            }),
            ..Exhibit::default()
        }
    }

    /// Findings of this kind with two settings, one with the commands to apply it permanently.
    fn paced() -> Findings {
        let mut found = fixture("study-two-arms");
        let plain = found.measurements[0].clone();
        let workload = &mut found.workloads[0];
        workload.configuration = arm("none");
        workload.permanent_commands = vec!["type this".to_owned()];
        workload.note = Some("it was slow".to_owned());
        let workload = workload.name.clone();
        let cell = |(level, metric, value): (&str, &str, f64)| assay_study::findings::Measurement {
            workload: workload.clone(),
            configuration: arm(level),
            metric: metric.to_owned(),
            geometric_mean: Some(value),
            mean: None,
            control: false,
            trust: Some(if level == "none" { Trust::Suspect } else { Trust::Trusted }),
            reasons: Vec::new(),
            ..plain.clone()
        };
        let told = [
            ("mq-deadline", "pace_ns", 580e6),
            ("none", "pace_ns", 4e6),
            ("none", "carried_bits_per_s", 4e6),
        ];
        found.measurements = told.into_iter().map(cell).collect();
        found
    }

    fn arm(scheduler: &str) -> Arm {
        [("scheduler".to_owned(), scheduler.to_owned())].into()
    }

    #[test]
    fn a_kind_without_facts_gets_a_table_of_its_numbers_and_what_that_comes_to() {
        let shown = numbered_section(&paced(), &MADE_UP).unwrap();
        assert_eq!(shown.caption.as_deref(), Some("pace"));
        let (headings, rows) = table(&shown);
        assert_eq!(headings, ["setting", ">steps", ">rate", "trust"]);
        assert_eq!(rows[0][1..], ["580 ms", NONE, "trusted"]);
        assert_eq!(rows[1][1..], ["4 ms", "4 Mbit/s", "suspect"]);
        let Block::Table(table) = &shown.blocks[0] else { panic!("{shown:?}") };
        let notes: Vec<&[String]> = table.rows.iter().map(|row| row.notes.as_slice()).collect();
        assert_eq!(notes, [&[] as &[String], &["it was slow".to_owned()][..]]);
        assert_eq!(shown.blocks[1], Block::Text(vec!["Of 2 metrics.".to_owned()]));
        let Block::List(best) = &shown.blocks[2] else { panic!("{shown:?}") };
        assert_eq!(
            *best,
            [format!("{} is best:", table.name_of(&table.rows[1])), "type this".to_owned()]
        );
    }

    #[test]
    fn numbers_of_a_kind_are_not_shown_of_a_second_copy_and_of_other_work() {
        let mut copies = paced();
        copies.measurements.iter_mut().for_each(|cell| cell.control = true);
        assert!(numbered_section(&copies, &MADE_UP).is_none());
        assert!(numbered_section(&fixture("study-two-arms"), &MADE_UP).is_none());
    }

    /// Findings of a kind with numbers only: the primary metrics of its rows.
    fn known_by(shown: &ShownNumbers) -> Findings {
        let mut found = paced();
        let own = found.measurements.iter_mut().filter(|cell| cell.metric == MADE_UP.known_by);
        own.for_each(|cell| shown.known_by.clone_into(&mut cell.metric));
        found
    }

    #[test]
    fn each_kind_that_shows_its_numbers_has_one_section_and_none_across_results() {
        for kind in KINDS {
            let Some(shown) = kind.shown else { continue };
            let mut found = known_by(shown);
            let sections = of_numbers(&found);
            let [section] = &sections[..] else { panic!("{kind:?}: {sections:?}") };
            assert_eq!(Some(section), numbered_section(&found, shown).as_ref(), "{kind:?}");
            let (headings, rows) = table(section);
            assert!(rows.len() == 2 && headings.len() >= 3, "{kind:?}: {headings:?}");
            assert!(are_known_by(shown.known_by), "{kind:?}");
            found.study.kind = "compare".to_owned();
            assert!(of_numbers(&found).is_empty(), "{kind:?}");
        }
        assert!(of_numbers(&paced()).is_empty() && !are_known_by(MADE_UP.known_by));
    }

    #[test]
    fn where_no_kind_shows_anything_there_is_no_section() {
        let plain = fixture("card");
        assert!(sections(&plain).is_empty() && of_numbers(&plain).is_empty());
        assert!(!are_known_by("iops"));
    }
}
