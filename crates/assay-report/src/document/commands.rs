//! What commands took: time with its range, processors, memory.

use super::check::missing;
use super::numbers::{span, under_heading};
use super::{Block, NONE, Row, Section, Table, comparison_of, find, result};
use crate::table::{Column, columns};
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
    let is_run = |cell: &&Cell| range(findings, cell).is_some();
    let own = findings.cells.iter().filter(|cell| cell.metric == DURATION && !cell.control);
    let cells: Vec<&Cell> = own.filter(is_run).collect();
    let missing = missing(findings, |metric| metric == DURATION);
    // Results of several days are held against each other by their times alone.
    if cells.is_empty() && missing.is_empty() || findings.study.kind == "compare" {
        return None;
    }
    let legend = "Mean: geometric mean of the trials, with its 95 % interval; range: of all runs; user and \
                  system: processor time of a run; memory: the peak of the largest run.";
    let mut blocks = Vec::new();
    if !cells.is_empty() {
        blocks.push(Block::Table(table(findings, &cells)));
        blocks.push(Block::Text(vec![legend.to_owned()]));
    }
    blocks.extend((!missing.is_empty()).then_some(Block::Remarks(missing)));
    Some(Section::titled("commands", blocks))
}

fn table(findings: &Findings, cells: &[&Cell]) -> Table {
    let varies = cells.iter().any(|cell| cell.arm != cells[0].arm);
    let several = cells.iter().any(|cell| cell.workload != cells[0].workload);
    let mut all = Vec::new();
    all.extend((several || !varies).then(|| Column::left("workload").key()));
    all.extend(varies.then(|| Column::left("setting").key()));
    all.extend(columns(&[">mean", ">95 % interval", ">range"]));
    all.extend(BESIDE.iter().map(|(heading, ..)| Column::right(*heading)));
    let row = |cell: &&Cell| {
        let arm = arm_in_words(cell.arm.iter());
        let mut words = Vec::new();
        words.extend((several || !varies).then(|| cell.workload.clone()));
        words.extend(varies.then(|| arm.clone()));
        words.push(told(DURATION, result(cell, comparison_of(findings, cell))));
        words.push(span(DURATION, cell.ci95));
        words.push(span(DURATION, range(findings, cell)));
        words.extend(BESIDE.iter().map(|(_, metric, of)| {
            told(metric, find(findings, &cell.workload, &cell.arm, false, metric).and_then(of))
        }));
        Row {
            name: format!("{} {arm}", cell.workload).trim_end().to_owned(),
            cells: words.into_iter().map(super::Cell::from).collect(),
            notes: Vec::new(),
        }
    };
    Table { columns: all, rows: cells.iter().map(row).collect() }
}

/// The shortest and the longest of all runs.
fn range(findings: &Findings, cell: &Cell) -> Option<[f64; 2]> {
    let of = |metric| find(findings, &cell.workload, &cell.arm, false, metric);
    Some([of("duration_min_s")?.min?, of("duration_max_s")?.max?])
}

fn told(metric: &str, value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| under_heading(metric, value))
}
