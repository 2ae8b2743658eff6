//! Small files: rate and latency of each phase.

use super::{Block, Column, Measurement, Section, Table, cells_of, text_in_row};
use assay_core::quantity::Metric;
use assay_study::findings::Findings;
use assay_study::findings::shown::{Rating, table_of_cells};
use assay_workloads::files::{ActMetrics, FILES, acts};

pub(super) const FILES_PER_S: &str = FILES.name;

type Pick = fn(&ActMetrics) -> Metric;

const LEGEND: &str = "files/s: files created, looked up (stat), read, renamed and deleted per second. The other rates \
                      are per phase, including the sync. Times are per file, without the sync at the end of a phase.";

pub(super) fn section(findings: &Findings) -> Option<Section> {
    let cells = cells_of(findings, FILES_PER_S);
    if cells.is_empty() || findings.study.kind == "compare" {
        return None;
    }
    let blocks = vec![
        Block::Table(rates(findings, &cells)),
        Block::Table(times(findings, &cells)),
        Block::Text(vec![LEGEND.to_owned()]),
    ];
    Some(Section::titled("small files", blocks))
}

fn rates(findings: &Findings, cells: &[&Measurement]) -> Table {
    let mut table = table_of_cells(findings, cells);
    table.add(Column::right("files/s"), cells, |cell| text_in_row(findings, cell, FILES_PER_S));
    for (heading, metric) in phase_columns(&[("/s", |of| of.rate)]) {
        table.add(Column::right(heading), cells, |cell| text_in_row(findings, cell, metric.name));
    }
    table.add(Column::verdict("trust"), cells, |cell| Rating::cell(Rating::from_cell(cell)));
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        // The note says whether the created files differ from the requested ones, and why.
        let facts = findings.workload(&cell.workload, &cell.configuration);
        row.notes.extend(facts.and_then(|facts| facts.note.clone()));
    }
    table
}

fn times(findings: &Findings, cells: &[&Measurement]) -> Table {
    let mut table = table_of_cells(findings, cells);
    let quantiles = phase_columns(&[(" p50", |of| of.half), (" p99", |of| of.tail)]);
    for (index, (heading, metric)) in quantiles.into_iter().enumerate() {
        let mut column = Column::right(heading);
        // Each phase has two columns, of which the median is a detail; break the table after every second phase.
        column.breaks = index % 4 == 0 && index > 0;
        column.detail = index % 2 == 0;
        table.add(column, cells, |cell| text_in_row(findings, cell, metric.name));
    }
    table
}

/// The columns of all phases: for each quantity the heading, after the name of the phase, and the metric.
fn phase_columns(quantities: &[(&str, Pick)]) -> Vec<(String, Metric)> {
    let mut columns = Vec::new();
    for phase in acts() {
        for (heading, pick) in quantities {
            columns.push((format!("{}{heading}", phase.act.name()), pick(&phase)));
        }
    }
    columns
}
