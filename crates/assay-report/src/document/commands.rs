//! What commands took: time with its range, processors, memory.

use super::check::missing;
use super::numbers::{heading, span, under_heading};
use super::study::is_one;
use super::{Block, NONE, Row, Section, Table, comparison_of, find, result, spread};
use crate::table::{Column, columns};
use assay_kinds::work::metrics::is_told;
use assay_study::findings::{Cell, Findings};
use assay_study::results::plan::arm_in_words;

/// The metric that commands are compared by.
pub(super) const DURATION: &str = "duration_s";

/// What of the trials of a cell is told.
type Told = fn(&Cell) -> Option<f64>;

/// What stands beside it: heading, metric, and what of its trials is told.
const BESIDE: [(&str, &str, Told); 3] = [
    ("user", "user_s", Cell::value),
    ("system", "system_s", Cell::value),
    ("memory", "peak_memory_bytes", |cell| cell.max),
];

/// The section; none where no command was run.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    // Times that were brought along have no runs behind them.
    let is_run = |cell: &&Cell| longest(findings, cell).is_some();
    let own = findings.measurements.iter().filter(|cell| cell.metric == DURATION && !cell.control);
    let cells: Vec<&Cell> = own.filter(is_run).collect();
    let printed = printed(findings);
    let missing =
        missing(findings, |metric| metric == DURATION || !is_one(findings) && is_told(metric));
    // Results of several days are held against each other by their times alone.
    let is_empty = cells.is_empty() && missing.is_empty() && printed.is_empty();
    if is_empty || findings.study.kind == "compare" {
        return None;
    }
    let legend = "Mean: geometric mean of the trials, with its 95% CI; range: shortest to longest run; user and \
                  system: CPU time per run; memory: highest peak of all runs.";
    let mut blocks = Vec::new();
    blocks.extend((!printed.is_empty()).then(|| Block::Table(printed_table(&printed))));
    if !cells.is_empty() {
        blocks.push(Block::Table(table(findings, &cells)));
        blocks.push(Block::Text(vec![legend.to_owned()]));
    }
    blocks.extend((!missing.is_empty()).then_some(Block::Remarks(missing)));
    Some(Section::titled("commands", blocks))
}

/// Numbers that programs print of themselves, those that verdicts would be about first; none of a comparison, which
/// has tables of its own for them.
fn printed(findings: &Findings) -> Vec<&Cell> {
    let own = |cell: &&Cell| !cell.control && is_told(&cell.metric) && !is_one(findings);
    let mut found: Vec<&Cell> = findings.measurements.iter().filter(own).collect();
    found.sort_by_key(|cell| !cell.primary);
    found
}

fn printed_table(cells: &[&Cell]) -> Table {
    let several = cells.iter().any(|cell| cell.workload != cells[0].workload);
    let mut all = Vec::new();
    all.extend(several.then(|| Column::left("workload").key()));
    all.push(Column::left("printed number").key());
    all.extend(columns(&[">mean", ">95% CI", ">spread", ">n"]));
    let row = |cell: &&Cell| {
        let name = heading(&cell.metric).to_owned();
        let mut words = Vec::new();
        words.extend(several.then(|| cell.workload.clone()));
        words.extend([
            name.clone(),
            told(&cell.metric, cell.value()),
            span(&cell.metric, cell.ci95),
        ]);
        words.extend([spread(cell), cell.n.to_string()]);
        let cells = words.into_iter().map(super::Cell::from).collect();
        Row { name, cells, notes: Vec::new() }
    };
    Table { columns: all, rows: cells.iter().map(row).collect() }
}

fn table(findings: &Findings, cells: &[&Cell]) -> Table {
    let varies = cells.iter().any(|cell| cell.configuration != cells[0].configuration);
    let several = cells.iter().any(|cell| cell.workload != cells[0].workload);
    let mut all = Vec::new();
    all.extend((several || !varies).then(|| Column::left("workload").key()));
    all.extend(varies.then(|| Column::left("setting").key()));
    all.extend(columns(&[">mean", ">95% CI", ">range"]));
    all.extend(BESIDE.iter().map(|(heading, ..)| Column::right(*heading)));
    let row = |cell: &&Cell| {
        let arm = arm_in_words(cell.configuration.iter());
        let mut words = Vec::new();
        words.extend((several || !varies).then(|| cell.workload.clone()));
        words.extend(varies.then(|| arm.clone()));
        words.push(told(DURATION, result(cell, comparison_of(findings, cell))));
        words.push(span(DURATION, cell.ci95));
        words.push(span(DURATION, range(findings, cell)));
        words.extend(BESIDE.iter().map(|(_, metric, of)| {
            told(
                metric,
                find(findings, &cell.workload, &cell.configuration, false, metric).and_then(of),
            )
        }));
        Row {
            name: format!("{} {arm}", cell.workload).trim_end().to_owned(),
            cells: words.into_iter().map(super::Cell::from).collect(),
            notes: Vec::new(),
        }
    };
    Table { columns: all, rows: cells.iter().map(row).collect() }
}

/// The shortest and the longest of all runs; none where the shortest took no longer than the shell's start.
fn range(findings: &Findings, cell: &Cell) -> Option<[f64; 2]> {
    let shortest = find(findings, &cell.workload, &cell.configuration, false, "duration_min_s")?;
    Some([shortest.min?, longest(findings, cell)?])
}

fn longest(findings: &Findings, cell: &Cell) -> Option<f64> {
    find(findings, &cell.workload, &cell.configuration, false, "duration_max_s")?.max
}

fn told(metric: &str, value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| under_heading(metric, value))
}
