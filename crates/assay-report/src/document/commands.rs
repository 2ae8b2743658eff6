//! Results of commands: time with its range, CPU, memory.

use super::check::missing;
use super::numbers::{heading, span, under_heading};
use super::study::is_study;
use super::{Block, Column, Section, Table, cells_of, comparison_of, result, spread};
use assay_study::findings::{Findings, Measurement};
use assay_study::results::plan::arm_in_words;
use assay_workloads::metrics::is_told;

pub(super) const DURATION: &str = "duration_s";

type Statistic = fn(&Measurement) -> Option<f64>;

/// Further columns: heading, metric, and statistic of its trials.
const MORE_COLUMNS: [(&str, &str, Statistic); 3] = [
    ("user", "user_s", Measurement::value),
    ("system", "system_s", Measurement::value),
    ("memory", "peak_memory_bytes", |cell| cell.max),
];

/// The numbers that commands printed, and their run times; `None` without any, and for compared results.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let mut cells = cells_of(findings, DURATION);
    // Imported times have no runs.
    cells.retain(|cell| longest_run(findings, cell).is_some());
    let printed = printed(findings);
    let missing = missing(findings, |it| it == DURATION || !is_study(findings) && is_told(it));
    // Results of several days are compared by their times only.
    let is_empty = cells.is_empty() && missing.is_empty() && printed.is_empty();
    if is_empty || findings.study.kind == "compare" {
        return None;
    }
    let legend = "Mean: geometric mean of the trials, with its 95% CI; range: shortest to longest run; user and \
                  system: CPU time per run; memory: highest peak of all runs.";
    let mut blocks = Vec::new();
    if !printed.is_empty() {
        blocks.push(Block::Table(printed_table(&printed)));
    }
    if !cells.is_empty() {
        blocks.push(Block::Table(table(findings, &cells)));
        blocks.push(Block::Text(vec![legend.to_owned()]));
    }
    if !missing.is_empty() {
        blocks.push(Block::Remarks(missing));
    }
    Some(Section::titled("commands", blocks))
}

/// Numbers that programs print, primary ones first; empty for a comparison, which has separate tables.
fn printed(findings: &Findings) -> Vec<&Measurement> {
    let is_printed = |it: &&Measurement| !it.control && is_told(&it.metric) && !is_study(findings);
    let mut cells: Vec<&Measurement> = findings.measurements.iter().filter(is_printed).collect();
    cells.sort_by_key(|cell| !cell.primary);
    cells
}

fn printed_table(cells: &[&Measurement]) -> Table {
    let mut table = Table::default();
    if cells.iter().any(|cell| cell.workload != cells[0].workload) {
        table.add(Column::key("workload"), cells, |cell| &cell.workload);
    }
    table.add(Column::key("printed number"), cells, |cell| heading(&cell.metric));
    table.add(Column::right("mean"), cells, |cell| {
        cell.value().map(|value| under_heading(&cell.metric, value))
    });
    table.add(Column::right("95% CI"), cells, |cell| span(&cell.metric, cell.ci95));
    table.add(Column::right("spread"), cells, |cell| spread(cell));
    table.add(Column::right("n"), cells, |cell| cell.n.to_string());
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        heading(&cell.metric).clone_into(&mut row.name);
    }
    table
}

fn table(findings: &Findings, cells: &[&Measurement]) -> Table {
    let varies = cells.iter().any(|cell| cell.configuration != cells[0].configuration);
    let several = cells.iter().any(|cell| cell.workload != cells[0].workload);
    let mut table = Table::default();
    if several || !varies {
        table.add(Column::key("workload"), cells, |cell| &cell.workload);
    }
    if varies {
        table.add(Column::key("setting"), cells, |cell| arm_in_words(cell.configuration.iter()));
    }
    table.add(Column::right("mean"), cells, |cell| {
        let mean = result(cell, comparison_of(findings, cell));
        mean.map(|mean| under_heading(DURATION, mean))
    });
    table.add(Column::right("95% CI"), cells, |cell| span(DURATION, cell.ci95));
    table.add(Column::right("range"), cells, |cell| span(DURATION, range(findings, cell)));
    // Means of few undisturbed trials and of many disturbed ones are hardly comparable.
    if cells.iter().any(|cell| cell.n != cells[0].n) {
        table.add(Column::right("n"), cells, |cell| cell.n.to_string());
    }
    for (heading, metric, statistic) in MORE_COLUMNS {
        table.add(Column::right(heading), cells, |cell| {
            let value = statistic(findings.in_row_of(cell, metric)?)?;
            Some(under_heading(metric, value))
        });
    }
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        let name = format!("{} {}", cell.workload, arm_in_words(cell.configuration.iter()));
        name.trim_end().clone_into(&mut row.name);
    }
    table
}

/// The shortest and the longest of all runs; `None` if the shortest was not longer than the shell's start.
fn range(findings: &Findings, cell: &Measurement) -> Option<[f64; 2]> {
    let shortest = findings.in_row_of(cell, "duration_min_s")?;
    Some([shortest.min?, longest_run(findings, cell)?])
}

fn longest_run(findings: &Findings, cell: &Measurement) -> Option<f64> {
    findings.in_row_of(cell, "duration_max_s")?.max
}
