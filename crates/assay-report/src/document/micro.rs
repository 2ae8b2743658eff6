//! Results of micro-benchmarks: rate and time per operation.

use super::numbers::span;
use super::{Column, Section, Table, cells_of, text_in_row};
use assay_study::findings::Findings;
use assay_study::findings::shown::{MICRO_RATE, Rating};

pub(super) const COST: &str = "micro_operation_ns";

pub(super) fn section(findings: &Findings) -> Option<Section> {
    let cells = cells_of(findings, MICRO_RATE);
    let mut table = Table::new("micro-benchmarks");
    table.add(Column::left("micro-benchmark"), &cells, |cell| &cell.workload);
    table.add(Column::right("operations/s"), &cells, |it| text_in_row(findings, it, MICRO_RATE));
    table.add(Column::right("95% CI"), &cells, |cell| span(MICRO_RATE, cell.ci95));
    table.add(Column::right("each"), &cells, |cell| text_in_row(findings, cell, COST));
    table.add(Column::verdict("trust"), &cells, |cell| Rating::cell(Rating::from_cell(cell)));
    let legend = "Operations run one at a time in one thread; each: time per operation.";
    table.notes.push(legend.to_owned());
    (!cells.is_empty()).then(|| Section::from(table))
}
