//! A link: round trips while it is idle and while it is loaded, what the load adds, and how it is graded.

use super::named::Named;
use super::numbers::under_heading;
use super::{Block, Cell, NONE, Row, Section, Table, find};
use crate::table::Column;
use assay_base::quantity::Metric;
use assay_kinds::work::network::{ADDED, Grade, SCALE, UP_RATE, of};
use assay_study::findings::{Cell as Measured, Findings};
use assay_system::system::network::Load;

/// The metric that links are compared by.
pub(super) const ADDED_LATENCY: &str = ADDED.name;

/// What load may add to be hardly felt: the bound of grade A.
const SHORT_NS: f64 = 30e6;

/// The section; none where no link was loaded.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let own = findings.cells.iter().filter(|cell| cell.metric == ADDED.name && !cell.control);
    let cells: Vec<&Measured> = own.collect();
    if cells.is_empty() || findings.study.kind == "compare" {
        return None;
    }
    let legend = format!(
        "Round trips of datagrams: half stay below p50, 95 % below p95. What load adds is against the idle \
         link; the rate is of data that reached the peer while the link was loaded up alone, the loss of the \
         datagrams meanwhile. Grade: of what up and down add in the mean, {SCALE}."
    );
    let mut blocks = vec![Block::Table(table(findings, &cells)), Block::Text(vec![legend])];
    blocks.extend(advised(findings, &cells).map(Block::List));
    Some(Section::titled("link", blocks))
}

fn table(findings: &Findings, cells: &[&Measured]) -> Table {
    let loads: Vec<Load> = Load::ALL.into_iter().filter(|load| told_of(findings, *load)).collect();
    let named = Named::of_cells(findings, cells);
    let mut columns = named.columns();
    columns.extend(["grade", "added"].map(Column::right));
    let mut metrics: Vec<Metric> = Vec::new();
    for load in &loads {
        let own = of(*load);
        for (what, metric) in [("p50", own.half), ("p95", own.tail)] {
            columns.push(Column::right(format!("{} {what}", load.name())));
            metrics.push(metric);
        }
    }
    if loads.contains(&Load::Up) {
        let up = of(Load::Up);
        for (heading, metric) in [("up max", up.most), ("rate up", UP_RATE), ("up lost", up.lost)] {
            columns.push(Column::right(heading));
            metrics.push(metric);
        }
    }
    columns.push(Column::left("trust").judged());
    let row = |cell: &&Measured| {
        let added = cell.value();
        let grade = added.map_or_else(none, |added| Grade::of(added).to_string());
        let mut words = named.words(&cell.workload, &cell.arm);
        words.push(grade);
        words.push(added.map_or_else(none, |added| under_heading(ADDED.name, added)));
        words.extend(metrics.iter().map(|metric| told(findings, cell, metric)));
        Row {
            name: named.name(&cell.workload, &cell.arm),
            cells: words.into_iter().map(Cell::from).chain([Cell::trust_of(cell)]).collect(),
            notes: note(findings, cell).into_iter().collect(),
        }
    };
    Table { columns, rows: cells.iter().map(row).collect() }
}

/// The arm that carries most up of those that add little to nearly every round trip; none
/// where nothing varies.
fn advised(findings: &Findings, cells: &[&Measured]) -> Option<Vec<String>> {
    let metric = of(Load::Up).added_tail?;
    let carried = |cell: &&&Measured| {
        let rate = find(findings, &cell.workload, &cell.arm, false, UP_RATE.name)?;
        rate.value()
    };
    let is_short = |cell: &&&Measured| {
        let own = find(findings, &cell.workload, &cell.arm, false, metric.name);
        own.and_then(Measured::value).is_some_and(|value| value < SHORT_NS)
    };
    let is_shaped = |cell: &&&Measured| {
        findings.workload(&cell.workload, &cell.arm).is_some_and(|own| !own.lasting.is_empty())
    };
    let own = cells.iter().filter(is_short).filter(is_shaped);
    let best = own.max_by(|one, other| {
        let both = (carried(one).unwrap_or(0.0), carried(other).unwrap_or(0.0));
        both.0.total_cmp(&both.1)
    })?;
    let rate = carried(&best).map(|rate| under_heading(UP_RATE.name, rate));
    let mut told = vec![format!(
        "{} carries most ({} up) of what adds less than {} to 95 % of the round trips up. To make it \
         permanent:",
        Named::of_cells(findings, cells).name(&best.workload, &best.arm),
        rate.unwrap_or_else(none),
        under_heading(metric.name, SHORT_NS)
    )];
    let facts = findings.workload(&best.workload, &best.arm)?;
    told.extend(facts.lasting.iter().cloned());
    Some(told)
}

fn told_of(findings: &Findings, load: Load) -> bool {
    findings.cells.iter().any(|cell| cell.metric == of(load).half.name && cell.value().is_some())
}

fn note(findings: &Findings, cell: &Measured) -> Option<String> {
    findings.workload(&cell.workload, &cell.arm)?.note.clone()
}

fn told(findings: &Findings, cell: &Measured, metric: &Metric) -> String {
    let own = find(findings, &cell.workload, &cell.arm, false, metric.name);
    own.and_then(Measured::value).map_or_else(none, |value| under_heading(metric.name, value))
}

fn none() -> String {
    NONE.to_owned()
}
