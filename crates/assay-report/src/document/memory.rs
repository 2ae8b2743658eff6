//! Pages under a limit of memory: how much of the set there was room for, and what that cost.

use super::named::Named;
use super::numbers::under_heading;
use super::{Block, Cell, NONE, Row, Section, Table, find};
use crate::table::Column;
use assay_base::quantity::Metric;
use assay_base::quantity::units::show;
use assay_kinds::work::memory::{
    EXPECTED, FULL, HELD, KILLED, LONGEST, P99, PROCESSOR, RATE, REACHED,
};
use assay_study::findings::{Cell as Measured, Findings, Trust};

const LEGEND: &[&str] = &[
    "Reached: bytes of the working set that fit. Set per memory: bytes of the working set per byte of memory used \
     (resident, zram and zswap); files on disk do not count.",
    "calc zram: prediction of `assay calc zram` with a compression ratio of 2 (kernel documentation); off by: \
     deviation of the measured value from the prediction.",
];

/// The section; none where no pages were gone to.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let own =
        findings.measurements.iter().filter(|cell| cell.metric == REACHED.name && !cell.control);
    let mut cells: Vec<&Measured> = own.collect();
    // A workload after the other, in the order of the page.
    let names: Vec<&str> = cells.iter().map(|cell| cell.workload.as_str()).collect();
    let places: Vec<usize> = cells
        .iter()
        .map(|cell| names.iter().position(|name| *name == cell.workload).unwrap_or_default())
        .collect();
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|at| places[*at]);
    cells = order.into_iter().map(|at| cells[at]).collect();
    if cells.is_empty() || findings.study.kind == "compare" {
        return None;
    }
    let text = LEGEND.iter().map(|line| (*line).to_owned()).collect();
    let blocks = vec![
        Block::Table(fits(findings, &cells)),
        Block::Table(costs(findings, &cells)),
        Block::Text(text),
    ];
    Some(Section::titled("memory: how much fits and at what cost", blocks))
}

fn row(named: &Named<'_>, cell: &Measured, words: Vec<String>, trust: Option<Trust>) -> Row {
    let cells = named.words(&cell.workload, &cell.configuration).into_iter().chain(words);
    Row {
        name: named.name(&cell.workload, &cell.configuration),
        cells: cells.map(Cell::from).chain([Cell::trust(trust)]).collect(),
        notes: Vec::new(),
    }
}

fn fits(findings: &Findings, cells: &[&Measured]) -> Table {
    let named = Named::of_cells(findings, cells);
    let mut columns = named.columns();
    let headings = ["reached", "killed", "set per memory", "calc zram", "off by"];
    columns.extend(headings.map(Column::right));
    columns.push(Column::left("trust").judged());
    let rows = cells.iter().map(|cell| {
        let (held, expected) = (mean(findings, cell, &HELD), mean(findings, cell, &EXPECTED));
        let off = held.zip(expected).map(|(held, expected)| {
            let share = held / expected - 1.0;
            let sign = if share < 0.0 { "-" } else { "+" };
            format!("{sign}{}", show::share(share.abs()))
        });
        let ratio = |value: Option<f64>| value.map_or_else(none, show::ratio);
        let words = vec![
            told(&REACHED, cell.value()),
            killed(findings, cell),
            ratio(held),
            ratio(expected),
            off.unwrap_or_else(none),
        ];
        row(&named, cell, words, worst(findings, cell, &[&REACHED, &KILLED, &HELD]))
    });
    Table { columns, rows: rows.collect() }
}

fn costs(findings: &Findings, cells: &[&Measured]) -> Table {
    let named = Named::of_cells(findings, cells);
    let mut columns = named.columns();
    let metrics: [(&str, &Metric); 5] = [
        ("accesses/s", &RATE),
        ("p99", &P99),
        ("longest", &LONGEST),
        ("CPU", &PROCESSOR),
        ("stalled", &FULL),
    ];
    columns.extend(metrics.iter().map(|(heading, _)| Column::right(*heading)));
    columns.push(Column::left("trust").judged());
    let rows = cells.iter().map(|cell| {
        let words = metrics.iter().map(|(_, metric)| told(metric, mean(findings, cell, metric)));
        row(&named, cell, words.collect(), worst(findings, cell, &metrics.map(|(_, own)| own)))
    });
    Table { columns, rows: rows.collect() }
}

/// In how many of the trials that count the process was killed.
fn killed(findings: &Findings, cell: &Measured) -> String {
    let Some(own) = find(findings, &cell.workload, &cell.configuration, false, KILLED.name) else {
        return none();
    };
    let values = own.values();
    let killed = values.iter().filter(|value| **value > 0.0).count();
    if killed == 0 { "no".to_owned() } else { format!("{killed} of {}", values.len()) }
}

/// The worst trust of some of the numbers of a row.
fn worst(findings: &Findings, cell: &Measured, metrics: &[&Metric]) -> Option<Trust> {
    let own = |metric: &&Metric| {
        find(findings, &cell.workload, &cell.configuration, false, metric.name)
            .and_then(|one| one.trust)
    };
    metrics.iter().filter_map(own).max()
}

fn mean(findings: &Findings, cell: &Measured, metric: &Metric) -> Option<f64> {
    find(findings, &cell.workload, &cell.configuration, false, metric.name)
        .and_then(Measured::value)
}

fn told(metric: &Metric, value: Option<f64>) -> String {
    value.map_or_else(none, |value| under_heading(metric.name, value))
}

fn none() -> String {
    NONE.to_owned()
}
