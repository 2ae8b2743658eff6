//! What kinds of work show of their own, whatever kinds these are: a table each, and how it is read.

use std::iter;

use super::{Block, Cell, NONE, Role, Row, Section, Table};
use crate::table::Column;
use assay_base::exhibit::{self, Exhibit, Subject, Unit};
use assay_study::findings::Findings;
use assay_study::study::lead;

/// The sections, a kind each; none where no kind shows anything.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let shown = findings.of_kinds.exhibits().into_iter().map(|(_, exhibit)| exhibit);
    let has_rows = shown.filter(|exhibit| !exhibit.table.rows.is_empty());
    has_rows.map(|exhibit| section(findings, &exhibit)).collect()
}

fn section(findings: &Findings, exhibit: &Exhibit) -> Section {
    let table = &exhibit.table;
    let columns = iter::once(Column::left(&*table.title))
        .chain(table.columns.iter().map(column))
        .chain([Column::left("trust").judged()])
        .collect();
    let rows = table.rows.iter().map(|row| self::row(findings, table, row)).collect();
    let mut blocks = vec![Block::Table(Table { columns, rows })];
    if !exhibit.remarks.is_empty() {
        blocks.push(Block::Text(exhibit.remarks.clone()));
    }
    let figure = exhibit.beside.as_deref().and_then(lead::find);
    Section::titled(&*table.title, blocks).with_role(figure.map_or(Role::Usual, Role::Of))
}

/// Numbers stand to the right.
fn column(own: &exhibit::Column) -> Column {
    let column = if own.unit == Unit::Words {
        Column::left(&*own.title)
    } else {
        Column::right(&*own.title)
    };
    if own.judges { column.judged() } else { column }
}

fn row(findings: &Findings, table: &exhibit::Table, row: &exhibit::Row) -> Row {
    let name = name(&row.of);
    let cell = |(column, cell): (&exhibit::Column, &exhibit::Cell)| Cell {
        text: cell.value.text(column.unit).unwrap_or_else(|| NONE.to_owned()),
        tone: cell.tone,
    };
    let cells = iter::once(Cell::from(name.clone()))
        .chain(table.columns.iter().zip(&row.cells).map(cell))
        .chain([trust(findings, &row.of)])
        .collect();
    Row { name, cells, notes: Vec::new() }
}

/// The name of a row: its target where there are several.
fn name(of: &Subject) -> String {
    of.arm.get("target").unwrap_or(&of.workload).clone()
}

/// The trust in the number that a workload is known by.
fn trust(findings: &Findings, of: &Subject) -> Cell {
    let own = |cell: &&assay_study::findings::Cell| {
        cell.workload == of.workload && cell.arm == of.arm && cell.trust.is_some()
    };
    let own = || findings.cells.iter().filter(own);
    let known = own().find(|cell| cell.primary).or_else(|| own().next());
    known.map_or_else(|| Cell::trust(None), Cell::trust_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Tone, answer, make as document};
    use crate::table::Holds;
    use crate::tests::fixture;
    use assay_lab::kinds::kept;
    use assay_study::findings::said::Said;
    use assay_study::findings::{OfKinds, Trust};

    /// What each kind tells, by its name.
    fn told_by_kind() -> Vec<(String, OfKinds)> {
        let kept = kept("told.json").unwrap();
        assert!(!kept.is_empty());
        kept.into_iter().map(|(kind, text)| (kind, serde_json::from_str(&text).unwrap())).collect()
    }

    /// The findings of a check, with that and a suspect number of its first row.
    fn found(told: &OfKinds) -> Findings {
        let mut found = fixture("card");
        let mut cell = found.cells[0].clone();
        let Subject { workload, arm } = told.all().next().unwrap().subject();
        (cell.workload, cell.arm) = (workload, arm);
        (cell.primary, cell.trust) = (true, Some(Trust::Suspect));
        found.cells.push(cell);
        found.of_kinds = told.clone();
        found
    }

    /// Headings and rows of the table of a section, as they are read.
    fn table(section: &Section) -> (Vec<String>, Vec<Vec<String>>) {
        let Block::Table(table) = &section.blocks[0] else { panic!("no table: {section:?}") };
        let heading =
            |column: &Column| format!("{}{}", if column.right { ">" } else { "" }, column.title);
        let words = |row: &Row| row.cells.iter().map(|cell| cell.text.clone()).collect();
        (table.columns.iter().map(heading).collect(), table.rows.iter().map(words).collect())
    }

    fn captioned(sections: &[Section], caption: &str) -> Section {
        let own = |section: &&Section| section.caption.as_deref() == Some(caption);
        sections.iter().find(own).unwrap().clone()
    }

    #[test]
    fn a_kind_gets_a_table_with_the_names_of_its_rows_and_the_trust_in_them() {
        for (kind, told) in told_by_kind() {
            let shown = told.exhibits();
            let own = &shown[0].1.table;
            let section = captioned(&document(&found(&told)).sections, &own.title);
            let (headings, rows) = table(&section);
            let heading = |column: &exhibit::Column| {
                format!("{}{}", if column.unit == Unit::Words { "" } else { ">" }, column.title)
            };
            let wanted = iter::once(own.title.clone())
                .chain(own.columns.iter().map(heading))
                .chain(["trust".to_owned()]);
            assert_eq!(headings, wanted.collect::<Vec<_>>(), "{kind}");
            assert_eq!(rows.len(), own.rows.len(), "{kind}");
            for (texts, row) in rows.iter().zip(&own.rows) {
                let name = row.of.arm.get("target").unwrap_or(&row.of.workload);
                let cells = row.cells.iter().zip(&own.columns).map(|(cell, column)| {
                    cell.value.text(column.unit).unwrap_or_else(|| NONE.to_owned())
                });
                let trust = if row.of == own.rows[0].of { "suspect" } else { NONE };
                let wanted = iter::once(name.clone()).chain(cells).chain([trust.to_owned()]);
                assert_eq!(*texts, wanted.collect::<Vec<_>>(), "{kind}");
            }
        }
    }

    #[test]
    fn cells_have_the_tone_of_their_kind_and_what_judges_is_marked() {
        for (kind, told) in told_by_kind() {
            let shown = told.exhibits();
            let exhibit = &shown[0].1;
            let section = captioned(&document(&found(&told)).sections, &exhibit.table.title);
            let Block::Table(table) = &section.blocks[0] else { panic!("{section:?}") };
            let judged = table.columns.iter().map(|column| column.holds == Holds::Judgement);
            let judges = exhibit.table.columns.iter().map(|column| column.judges);
            let wanted = iter::once(false).chain(judges).chain([true]);
            assert_eq!(judged.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{kind}");
            let tones = table.rows[0].cells.iter().map(|cell| cell.tone);
            let own = exhibit.table.rows[0].cells.iter().map(|cell| cell.tone);
            let wanted = iter::once(Tone::Plain).chain(own).chain([Tone::Doubtful]);
            assert_eq!(tones.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{kind}");
            let legend =
                (!exhibit.remarks.is_empty()).then(|| Block::Text(exhibit.remarks.clone()));
            assert_eq!(section.blocks.get(1), legend.as_ref(), "{kind}");
            let beside = exhibit.beside.as_deref().and_then(lead::find);
            assert_eq!(section.role, beside.map_or(Role::Usual, Role::Of), "{kind}");
        }
    }

    #[test]
    fn the_sentence_of_a_kind_that_leads_is_the_answer() {
        let (leading, others): (Vec<_>, Vec<_>) =
            told_by_kind().into_iter().partition(|(kind, told)| told.leads(kind));
        for (kind, told) in &leading {
            let mut found = found(told);
            let all = told.all().chain(others.iter().flat_map(|(_, told)| told.all()));
            found.of_kinds = all.cloned().collect::<Vec<_>>().into();
            for one in others.iter().map(|(kind, _)| kind).chain([kind]).rev() {
                found.summary.insert(0, format!("Told by {one}."));
                found.summary_facts.insert(0, Said::OfKind { kind: one.clone() });
            }
            assert_eq!(answer(&found).text, format!("Told by {kind}."));
        }
    }

    #[test]
    fn where_no_kind_shows_anything_there_is_no_section() {
        assert!(sections(&fixture("card")).is_empty());
    }
}
