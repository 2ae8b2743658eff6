//! What micro-benchmarks came to: how often an operation was done, and what one takes.

use super::numbers::{span, under_heading};
use super::{Block, Cell, Measured, NONE, Row, Section, Table, find};
use crate::table::{Column, columns};
use assay_study::findings::Findings;

/// The metric that micro-benchmarks are compared by, and what one operation takes.
pub(super) const RATE: &str = "micro_operations_per_s";
pub(super) const COST: &str = "micro_operation_ns";

/// The section; none where there was no micro-benchmark.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let own = findings.measurements.iter().filter(|cell| cell.metric == RATE && !cell.control);
    let rows: Vec<Row> = own
        .map(|cell| {
            let each = find(findings, &cell.workload, &cell.configuration, false, COST)
                .and_then(Measured::value);
            let told = |metric: &str, value: Option<f64>| {
                value.map_or_else(|| NONE.to_owned(), |value| under_heading(metric, value))
            };
            let words = [
                cell.workload.clone(),
                told(RATE, cell.value()),
                span(RATE, cell.ci95),
                told(COST, each),
            ];
            Row {
                name: cell.workload.clone(),
                cells: words.map(Cell::from).into_iter().chain([Cell::trust_of(cell)]).collect(),
                notes: Vec::new(),
            }
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = columns(&["micro-benchmark", ">operations/s", ">95% CI", ">each"]);
    columns.push(Column::left("trust").judged());
    let table = Block::Table(Table { columns, rows });
    let legend = "Operations run one at a time in one thread; each: time per operation.";
    Some(Section::titled("micro-benchmarks", vec![table, Block::Text(vec![legend.to_owned()])]))
}
