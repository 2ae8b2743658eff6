//! The rate over the area: a table a workload whose operations were spread evenly over it.

use super::numbers::under_heading;
use super::study_tables::arm_name;
use super::{Block, Cell, NONE, Row, Section, Table};
use crate::table::{Column, columns};
use assay_core::findings::{Band, Findings, Surface};

const RATE: &str = "bandwidth_bytes_per_s";

/// One section a surface.
pub(super) fn sections(findings: &Findings) -> impl Iterator<Item = Section> + '_ {
    findings.surfaces.iter().map(|surface| {
        let name = if surface.arm.is_empty() {
            surface.workload.clone()
        } else {
            format!("{} {}", surface.workload, arm_name(&surface.arm))
        };
        let read = "Rate in each tenth of the area, from its first byte on: geometric mean of n \
                    trials, the lowest and the highest of them.";
        let note = surface.note.iter().map(|note| format!("Not whole: {note}."));
        let words = [read.to_owned()].into_iter().chain(note).collect();
        let blocks = vec![Block::Table(table(surface)), Block::Text(words)];
        Section::titled(format!("{name}: rate over the area"), blocks)
    })
}

fn table(surface: &Surface) -> Table {
    let mut columns = columns(&["of the area", ">rate", ">lowest", ">highest", ">n"]);
    columns.push(Column::left("trust").judged());
    Table { columns, rows: surface.bands.iter().map(|band| row(surface, band)).collect() }
}

fn row(surface: &Surface, band: &Band) -> Row {
    let name = format!("{}-{} %", band.from_percent, band.to_percent);
    let rate = |value: Option<f64>| {
        Cell::plain(value.map_or_else(|| NONE.to_owned(), |value| under_heading(RATE, value)))
    };
    let trust = Cell::trust(surface.trust.filter(|_| band.n > 0));
    let cells = vec![
        Cell::plain(name.clone()),
        rate(band.bandwidth_bytes_per_s),
        rate(band.min),
        rate(band.max),
        Cell::plain(band.n.to_string()),
        trust,
    ];
    Row { name, cells, notes: Vec::new() }
}
