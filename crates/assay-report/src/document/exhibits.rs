//! What kinds of work show of their own, whatever kinds these are: a table each, how it is read, and parts
//! with headings of their own.

use std::iter;

use super::{Block, Cell, NONE, Role, Row, Section, Table};
use crate::table::Column;
use assay_base::exhibit::{self, Body, Exhibit, Part, Subject, Unit};
use assay_study::findings::Findings;
use assay_study::study::lead;

/// The sections, a kind after the other; none where no kind shows anything.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    findings.exhibits().flat_map(|(_, exhibit)| of_kind(findings, &exhibit)).collect()
}

fn of_kind(findings: &Findings, exhibit: &Exhibit) -> Vec<Section> {
    let has_rows = !exhibit.table.rows.is_empty();
    let own = has_rows.then(|| section(findings, exhibit));
    own.into_iter().chain(exhibit.parts.iter().map(part)).collect()
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

/// A part as it is.
fn part(own: &Part) -> Section {
    let body = match &own.body {
        Body::Table { columns, rows } => Block::Table(Table {
            columns: columns.iter().map(column).collect(),
            rows: rows.iter().map(|cells| of_cells(self::cells(columns, cells))).collect(),
        }),
        Body::List(told) => Block::List(told.clone()),
    };
    let remarks = (!own.remarks.is_empty()).then(|| Block::Text(own.remarks.clone()));
    Section::titled(&*own.title, [body].into_iter().chain(remarks).collect())
}

/// A row that is called by its first cell.
fn of_cells(cells: Vec<Cell>) -> Row {
    let name = cells.first().map(|cell| cell.text.clone()).unwrap_or_default();
    Row { name, cells, notes: Vec::new() }
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
    let cells = iter::once(Cell::from(name(&row.of)))
        .chain(self::cells(&table.columns, &row.cells))
        .chain([trust(findings, &row.of)])
        .collect();
    of_cells(cells)
}

/// The cells of a row, each in the unit of its column.
fn cells(columns: &[exhibit::Column], cells: &[exhibit::Cell]) -> Vec<Cell> {
    let cell = |(column, cell): (&exhibit::Column, &exhibit::Cell)| Cell {
        text: cell.value.text(column.unit).unwrap_or_else(|| NONE.to_owned()),
        tone: cell.tone,
    };
    columns.iter().zip(cells).map(cell).collect()
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
    use assay_study::findings::Trust;
    use assay_study::findings::said::Said;
    use assay_study::results::plan::Arm;

    /// What findings of a look and of a long write have below the names of their kinds.
    const TOLD: &str = r#"{
        "capacity": [{
            "workload": "capacity", "arm": {}, "verdict": "holds", "claimed_bytes": 68719476736,
            "held_bytes": 68719476736, "held_ci95_bytes": [68612102144, 68719476736],
            "full": false, "in_free_space": false, "checked_blocks": 2560, "wrong_blocks": 0,
            "again_blocks": [0, 0], "text": "It holds.", "limit_text": "Little was missed.",
            "limit": {"scattered_95_bytes": 1, "scattered_999_bytes": 1, "stretch_bytes": 1,
                "wraps": true, "cache_bytes": 1, "written_bytes": 1}
        }],
        "sustained": [{
            "workload": "long", "arm": {"target": "/mnt/a"}, "text": "It writes.",
            "course": {"written_bytes": 3145728, "levels": [
                {"from_bytes": 0, "rate_bytes_per_s": 4194304.0, "rate_ci95": [4194304.0, 5242880.0]},
                {"from_bytes": 1048576, "from_ci95_bytes": [1048576, 2097152], "rate_bytes_per_s": 1048576.0}
            ]}
        }]
    }"#;

    /// The findings of a check, with that and a number of the look.
    fn found() -> Findings {
        let mut found = fixture("card");
        found.of_kinds = serde_json::from_str(TOLD).unwrap();
        let mut cell = found.cells[0].clone();
        (cell.workload, cell.arm) = ("capacity".to_owned(), Arm::new());
        (cell.primary, cell.trust) = (true, Some(Trust::Suspect));
        found.cells.push(cell);
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
        let page = document(&found());
        let capacity = captioned(&page.sections, "capacity");
        let (headings, rows) = table(&capacity);
        assert_eq!(
            headings,
            ["capacity", ">claims", ">holds", "verdict", ">looked at", ">wrong", "trust"]
        );
        let row = ["capacity", "64 GiB", "63.9 GiB to 64 GiB", "nothing wrong in the sample"];
        let row = [&row[..], &["2,560 blocks", "0", "suspect"]].concat();
        assert_eq!(rows, [row]);
        let Block::Table(table) = &capacity.blocks[0] else { panic!("{capacity:?}") };
        let judged = table.columns.iter().map(|column| column.holds == Holds::Judgement);
        assert_eq!(judged.collect::<Vec<_>>(), [false, false, false, true, false, false, true]);
        let tones: Vec<Tone> = table.rows[0].cells.iter().map(|cell| cell.tone).collect();
        assert_eq!((tones[3], tones[6]), (Tone::Good, Tone::Doubtful));
        assert_eq!(capacity.role, Role::Usual);
        let Block::Text(legend) = &capacity.blocks[1] else { panic!("{capacity:?}") };
        assert!(legend[0].starts_with("Claims: what the device says"), "{legend:?}");
    }

    #[test]
    fn a_row_may_have_several_lines_and_stands_beside_its_figure() {
        let page = document(&found());
        let long = captioned(&page.sections, "sustained writes");
        let (headings, rows) = table(&long);
        let wanted = [">from", ">95 % interval", ">rate", ">95 % interval of the rate"];
        assert_eq!(headings, [&["sustained writes"][..], &wanted, &["trust"]].concat());
        assert_eq!(
            rows,
            [
                ["/mnt/a", "0 B", "-", "4 MiB/s", "4 MiB/s to 5 MiB/s", "-"],
                ["/mnt/a", "1 MiB", "1 MiB to 2 MiB", "1 MiB/s", "-", "-"],
            ]
        );
        assert_eq!(long.role, Role::Of("series"));
    }

    #[test]
    fn parts_stand_as_they_are_below_headings_of_their_own() {
        let sections = sections(&fixture("study-boots"));
        let captions: Vec<&str> =
            sections.iter().filter_map(|section| section.caption.as_deref()).collect();
        let group = "kernel 6.1.0-50-cloud-amd64";
        let units = format!("{group}: slowest units");
        assert_eq!(captions, ["phases", &units, "did not finish, in no mean"]);
        let (headings, rows) = table(&sections[0]);
        let told = ["boots", ">n", ">kernel", ">userspace", ">all from the kernel on"];
        assert_eq!(headings, [&told[..], &[">time until the unit"]].concat(), "no trust");
        assert_eq!(rows[0][..4], [group, "2", "16.4 s", "33.1 s"]);
        let Block::Table(phases) = &sections[0].blocks[0] else { panic!("{:?}", sections[0]) };
        assert_eq!(phases.rows[0].name, group);
        assert!(matches!(sections[1].blocks[..], [Block::Table(_), Block::Text(_)]));
        assert!(matches!(&sections[2].blocks[..], [Block::List(told)] if told.len() == 1));
    }

    #[test]
    fn the_sentence_of_a_kind_that_leads_is_the_answer() {
        let mut found = found();
        found.summary.insert(0, "It was written to.".to_owned());
        found.summary.insert(1, "It holds.".to_owned());
        let facts = ["sustained", "capacity"].map(|kind| Said::OfKind { kind: kind.to_owned() });
        found.summary_facts.splice(0..0, facts);
        assert_eq!(answer(&found).text, "It holds.");
    }

    #[test]
    fn where_no_kind_shows_anything_there_is_no_section() {
        assert!(sections(&fixture("card")).is_empty());
    }
}
