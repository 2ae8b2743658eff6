//! Imported numbers without a comparison: the results of each workload.

use super::numbers::{heading, value};
use super::{Column, Measurement, Section, Table, spread};
use assay_study::findings::Findings;
use assay_study::results::plan::arm_in_words;

/// The metrics of each workload and arm; empty for findings measured by Assay.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let mut told: Vec<Vec<&Measurement>> = Vec::new();
    let is_own = findings.study.kind == "import" && findings.environment.targets.is_empty();
    for cell in findings.measurements.iter().filter(|cell| is_own && !cell.control) {
        let own = |one: &&mut Vec<&Measurement>| {
            one[0].workload == cell.workload && one[0].configuration == cell.configuration
        };
        match told.iter_mut().find(own) {
            Some(cells) => cells.push(cell),
            None => told.push(vec![cell]),
        }
    }
    told.iter().map(|cells| Section::from(table(cells))).collect()
}

fn table(cells: &[&Measurement]) -> Table {
    let title = [&cells[0].workload, &arm_in_words(cells[0].configuration.iter())[..]].join(" ");
    let mut table = Table::new(title.trim_end());
    table.add(Column::left("metric"), cells, |cell| heading(&cell.metric));
    table.add(Column::right("mean"), cells, |cell| {
        cell.value().map(|mean| value(&cell.metric, mean))
    });
    table.add(Column::right("spread"), cells, |cell| spread(cell));
    table.add(Column::right("n"), cells, |cell| cell.n.to_string());
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        row.name.clone_from(&cell.metric);
        row.notes.extend(excluded(cell));
    }
    table
}

fn excluded(cell: &Measurement) -> Option<String> {
    let lost: Vec<&str> = cell.trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let (count, all) = (lost.len(), cell.trials.len());
    lost.first().map(|reason| match all {
        1 => (*reason).to_owned(),
        _ => format!("{count} of {all} trials are excluded; first reason: {reason}"),
    })
}
