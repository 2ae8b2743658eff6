//! Energy of the work: a table if a meter exists, else the reason for its absence.

use super::{Block, Column, Row, Section, SectionRole, Table, cells_of, spread, value_in_row};
use assay_core::exhibit::Value;
use assay_core::exhibit::parts::{distinct, parted};
use assay_core::quantity::units::show;
use assay_study::findings::{Findings, Measurement, Trust, shown::table_of_cells};

const POWER: &str = "mean W";
/// Capacity of the battery of the example, a typical laptop battery.
const BATTERY_WH: f64 = 50.0;
const HOUR_NS: f64 = 3600e9;
const ENERGY: &str = "energy_j";

/// The section; `None` if energy was neither requested nor measured.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let (invalid, cells): (Vec<&Measurement>, Vec<&Measurement>) =
        cells_of(findings, ENERGY).into_iter().partition(|cell| cell.trust == Some(Trust::Invalid));
    let mut blocks = Vec::new();
    if !cells.is_empty() {
        blocks.extend([Block::Text(source(findings)), Block::Table(table(findings, &cells))]);
    }
    let missing = missing(findings, &invalid);
    if !missing.is_empty() {
        blocks.push(Block::List(missing));
    }
    (!blocks.is_empty())
        .then(|| Section::titled("energy", blocks).with_role(SectionRole::Of("energy")))
}

fn source(findings: &Findings) -> Vec<String> {
    let activity = &findings.environment.activity;
    let meter = activity.energy_of.as_ref().map(|meter| format!("Source: {meter}."));
    let idle = activity.idle_w.filter(|power| *power > 0.0).map(|idle_power_w| {
        let watts = show::three_digits(idle_power_w);
        let battery = show::duration(BATTERY_WH / idle_power_w * HOUR_NS);
        format!(
            "The idle machine used {watts} W; \"above idle\" excludes this power. A battery of {BATTERY_WH} Wh lasts \
             {battery} at idle."
        )
    });
    meter.into_iter().chain(idle).collect()
}

fn table(findings: &Findings, cells: &[&Measurement]) -> Table {
    let mut table = table_of_cells(findings, cells);
    let metrics = [
        ("J/trial", ENERGY),
        ("above idle", "energy_above_idle_j"),
        ("J/GiB", "energy_j_per_gib"),
        (POWER, "power_w"),
    ];
    for (heading, metric) in metrics {
        table.add(Column::right(heading), cells, |cell| value_in_row(findings, cell, metric));
    }
    table.add(Column::right("spread"), cells, |cell| spread(cell));
    table.add(Column::right("n"), cells, |cell| cell.n.to_string());
    if let Some(idle_w) = findings.environment.activity.idle_w {
        let mut idle = Row::new(vec![Value::Missing; table.columns.len()]);
        "idle".clone_into(&mut idle.name);
        idle.cells[0] = "idle".into();
        if let Some(power) = table.columns.iter().position(|column| column.title == POWER) {
            idle.cells[power] = idle_w.into();
        }
        table.rows.push(idle);
    }
    table
}

/// A sentence per reason for missing energy, with its workloads: those without a number, and the `invalid` ones.
fn missing(findings: &Findings, invalid: &[&Measurement]) -> Vec<String> {
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for absent in findings.absent.iter().filter(|it| it.metric.as_deref() == Some(ENERGY)) {
        entries.push((&absent.reason, &absent.workload));
    }
    for cell in invalid {
        let because = cell.reasons.iter().find(|because| because.trust == Trust::Invalid);
        let reason = because.map_or("the numbers are invalid", |because| &because.text);
        entries.push((reason, &cell.workload));
    }
    let mut sentences = Vec::new();
    for (reason, entries) in parted(distinct(entries), |(reason, _)| reason) {
        let workloads: Vec<&str> = entries.into_iter().map(|(_, workload)| workload).collect();
        sentences.push(format!("No energy data for {}: {reason}.", workloads.join(", ")));
    }
    sentences
}
