//! What the work cost in energy: a table where something tells it, else the reason why nothing does.

use super::named::Named;
use super::{Block, NONE, Role, Row, Section, Table, find, spread};
use crate::table::columns;
use assay_base::quantity::units::show;
use assay_study::findings::{Cell, Findings, Trust};

/// Energy of one trial.
const ENERGY: &str = "energy_j";

/// The section; none where nobody asked for energy and nothing tells it.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let own = findings.measurements.iter().filter(|cell| cell.metric == ENERGY && !cell.control);
    let (invalid, cells): (Vec<&Cell>, Vec<&Cell>) =
        own.partition(|cell| cell.trust == Some(Trust::Invalid));
    let mut blocks = Vec::new();
    blocks.extend((!cells.is_empty()).then(|| Block::Text(source(findings))));
    blocks.extend((!cells.is_empty()).then(|| Block::Table(table(findings, &cells))));
    let missing = missing(findings, &invalid);
    blocks.extend((!missing.is_empty()).then_some(Block::List(missing)));
    (!blocks.is_empty()).then(|| Section::titled("energy", blocks).with_role(Role::Of("energy")))
}

/// Who tells it, and what is in the number.
fn source(findings: &Findings) -> Vec<String> {
    let around = &findings.system_activity;
    let of = around.energy_of.as_ref().map(|of| format!("Source: {of}."));
    let idle = around.idle_w.map(|watts| {
        format!("The idle machine used {} W; \"above idle\" excludes this power.", digits(watts))
    });
    of.into_iter().chain(idle).collect()
}

fn digits(value: f64) -> String {
    show::three_digits(value)
}

fn table(findings: &Findings, cells: &[&Cell]) -> Table {
    let named = Named::of_cells(findings, cells);
    let mut titles = columns(&[">J/trial", ">above idle", ">J/GiB", ">mean W", ">spread", ">n"]);
    let mut columns = named.columns();
    columns.append(&mut titles);
    let row = |cell: &&Cell| {
        let of = |metric: &str| {
            let found = find(findings, &cell.workload, &cell.configuration, false, metric)
                .and_then(Cell::value);
            found.map_or_else(|| NONE.to_owned(), digits)
        };
        let mut words = named.words(&cell.workload, &cell.configuration);
        words.extend([ENERGY, "energy_above_idle_j", "energy_j_per_gib", "power_w"].map(of));
        words.extend([spread(cell), cell.n.to_string()]);
        Row {
            name: named.name(&cell.workload, &cell.configuration),
            cells: words.into_iter().map(super::Cell::from).collect(),
            notes: Vec::new(),
        }
    };
    Table { columns, rows: cells.iter().map(row).collect() }
}

/// Why there is no energy of some workloads, each reason once.
fn missing(findings: &Findings, invalid: &[&Cell]) -> Vec<String> {
    let absent = findings.absent.iter().filter(|entry| entry.metric.as_deref() == Some(ENERGY));
    let absent = absent.map(|entry| (entry.workload.as_str(), entry.reason.as_str()));
    let invalid = invalid.iter().map(|cell| {
        let why = cell.reasons.iter().find(|because| because.trust == Trust::Invalid);
        (cell.workload.as_str(), why.map_or("the numbers are invalid", |because| &because.text))
    });
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for (workload, reason) in absent.chain(invalid) {
        match told.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, whose)) if whose.contains(&workload) => {}
            Some((_, whose)) => whose.push(workload),
            None => told.push((reason, vec![workload])),
        }
    }
    let sentence = |(reason, whose): (&str, Vec<&str>)| {
        format!("No energy data for {}: {reason}.", whose.join(", "))
    };
    told.into_iter().map(sentence).collect()
}
