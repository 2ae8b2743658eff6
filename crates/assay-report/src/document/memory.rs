//! Pages under a memory limit: the share of the working set that fit, and the cost of the rest.

use super::{
    Block, Cell, Column, Measurement, Section, Table, cells_of, text_in_row, value_in_row,
};
use assay_core::quantity::{Metric, units::show};
use assay_study::findings::Findings;
use assay_study::findings::shown::{Rating, table_of_cells};
use assay_workloads::memory::{
    EXPECTED, FULL, HELD, KILLED, LONGEST, P99, PROCESSOR, RATE, REACHED,
};

const LEGEND: &[&str] = &[
    "Reached: bytes of the working set that fit. Set per memory: bytes of the working set per byte of memory used \
     (resident, zram and zswap); files on disk do not count.",
    "calc zram: prediction of `assay calc zram` with a compression ratio of 2 (kernel documentation); off by: \
     deviation of the measured value from the prediction.",
];

pub(super) fn section(findings: &Findings) -> Option<Section> {
    let mut cells = cells_of(findings, REACHED.name);
    // Sort by the first appearance of the workload; the sort is stable.
    let names: Vec<&str> = cells.iter().map(|cell| cell.workload.as_str()).collect();
    cells.sort_by_key(|cell| names.iter().position(|name| *name == cell.workload));
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

/// How much memory each workload could use, and how far `assay calc zram` (compressed swap in memory) is off.
fn fits(findings: &Findings, cells: &[&Measurement]) -> Table {
    let value = |cell: &Measurement, metric: &Metric| value_in_row(findings, cell, metric.name);
    let mut table = table_of_cells(findings, cells);
    table.add(Column::right("reached"), cells, |cell| text_in_row(findings, cell, REACHED.name));
    table.add(Column::right("killed"), cells, |cell| killed(findings, cell));
    table.add(Column::right("set per memory"), cells, |cell| value(cell, &HELD).map(show::ratio));
    table.add(Column::right("calc zram"), cells, |cell| value(cell, &EXPECTED).map(show::ratio));
    table.add(Column::right("off by"), cells, |cell| {
        let share = value(cell, &HELD)? / value(cell, &EXPECTED)? - 1.0;
        let sign = if share < 0.0 { "-" } else { "+" };
        Some(format!("{sign}{}", show::share(share.abs())))
    });
    table.add(Column::verdict("trust"), cells, |cell| {
        worst_trust(findings, cell, &[REACHED, KILLED, HELD])
    });
    table
}

fn costs(findings: &Findings, cells: &[&Measurement]) -> Table {
    const METRICS: [Metric; 5] = [RATE, P99, LONGEST, PROCESSOR, FULL];
    let headings = ["accesses/s", "p99", "longest", "CPU", "stalled"];
    let mut table = table_of_cells(findings, cells);
    for (heading, metric) in headings.into_iter().zip(METRICS) {
        table.add(Column::right(heading), cells, |cell| text_in_row(findings, cell, metric.name));
    }
    table.add(Column::verdict("trust"), cells, |cell| worst_trust(findings, cell, &METRICS));
    table
}

fn killed(findings: &Findings, cell: &Measurement) -> Option<String> {
    let values = findings.in_row_of(cell, KILLED.name)?.values();
    let killed = values.iter().filter(|value| **value > 0.0).count();
    Some(if killed == 0 { "no".to_owned() } else { format!("{killed} of {}", values.len()) })
}

fn worst_trust(findings: &Findings, cell: &Measurement, metrics: &[Metric]) -> Cell {
    let trust_of = |metric: &Metric| findings.in_row_of(cell, metric.name)?.trust;
    let trust = metrics.iter().filter_map(trust_of).max();
    Rating::cell(trust.map(|trust| Rating { trust, is_lent: false }))
}
