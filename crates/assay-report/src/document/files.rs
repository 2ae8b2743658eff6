//! Small files: how many a second went through each phase, and how long one took.

use super::named::Named;
use super::numbers::under_heading;
use super::{Block, Cell, NONE, Row, Section, Table, find};
use crate::table::Column;
use assay_base::quantity::Metric;
use assay_kinds::work::files::{FILES, Of, of};
use assay_study::findings::{Cell as Measured, Findings};

/// The metric that small files are compared by.
pub(super) const FILES_PER_S: &str = FILES.name;

/// What of a phase a column holds.
type Pick = fn(&Of) -> Metric;

const LEGEND: &str = "files/s: files created, looked up (stat), read, renamed and deleted per second. The other rates \
                      are per phase, including the sync. Times are per file, without the sync.";

/// The section; none where no files were made.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let own =
        findings.measurements.iter().filter(|cell| cell.metric == FILES_PER_S && !cell.control);
    let cells: Vec<&Measured> = own.collect();
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

fn rates(findings: &Findings, cells: &[&Measured]) -> Table {
    let phases = columns(&[("", |of| of.rate)]);
    let named = Named::of_cells(findings, cells);
    let mut all = named.columns();
    all.push(Column::right("files/s"));
    all.extend(phases.iter().map(|(heading, ..)| Column::right(format!("{heading}/s"))));
    all.push(Column::left("trust").judged());
    let row = |cell: &&Measured| {
        let mut words = named.words(&cell.workload, &cell.configuration);
        words.push(cell.value().map_or_else(none, |value| under_heading(FILES_PER_S, value)));
        words.extend(phases.iter().map(|(_, metric)| told(findings, cell, metric)));
        Row {
            name: named.name(&cell.workload, &cell.configuration),
            cells: words.into_iter().map(Cell::from).chain([Cell::trust_of(cell)]).collect(),
            notes: note(findings, cell).into_iter().collect(),
        }
    };
    Table { columns: all, rows: cells.iter().map(row).collect() }
}

/// That its tree is not the one that was asked for, and why.
fn note(findings: &Findings, cell: &Measured) -> Option<String> {
    findings.workload(&cell.workload, &cell.configuration)?.note.clone()
}

/// Half and tail of each phase.
fn times(findings: &Findings, cells: &[&Measured]) -> Table {
    let quantiles = columns(&[(" p50", |of| of.half), (" p99", |of| of.tail)]);
    let named = Named::of_cells(findings, cells);
    let mut all = named.columns();
    all.extend(quantiles.iter().enumerate().map(|(at, (heading, _))| {
        // Broken where a phase begins.
        let column = Column::right(heading.as_str());
        let column = if at % 4 == 0 && at > 0 { column.breaks() } else { column };
        let is_half = at % 2 == 0;
        if is_half { column.detail() } else { column }
    }));
    let row = |cell: &&Measured| {
        let mut words = named.words(&cell.workload, &cell.configuration);
        words.extend(quantiles.iter().map(|(_, metric)| told(findings, cell, metric)));
        Row {
            name: named.name(&cell.workload, &cell.configuration),
            cells: words.into_iter().map(Cell::from).collect(),
            notes: Vec::new(),
        }
    };
    Table { columns: all, rows: cells.iter().map(row).collect() }
}

/// Headings with their metrics, a phase after the other.
fn columns(each: &[(&str, Pick)]) -> Vec<(String, Metric)> {
    let phase = |own: Of| {
        let one =
            |(heading, pick): &(&str, Pick)| (format!("{}{heading}", own.act.name()), pick(&own));
        each.iter().map(one).collect::<Vec<_>>()
    };
    of().flat_map(phase).collect()
}

fn told(findings: &Findings, cell: &Measured, metric: &Metric) -> String {
    let own = find(findings, &cell.workload, &cell.configuration, false, metric.name);
    own.and_then(Measured::value).map_or_else(none, |value| under_heading(metric.name, value))
}

fn none() -> String {
    NONE.to_owned()
}
