//! Imported numbers without a comparison: the results of each workload.

use super::numbers::{heading, value};
use super::{Column, Measurement, Section, Table, spread};
use assay_study::findings::Findings;
use assay_study::results::plan::arm_in_words;

/// The metrics of each workload and arm; empty for findings measured by Assay.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    if findings.study.kind != "import" || !findings.environment.targets.is_empty() {
        return Vec::new();
    }
    let mut groups: Vec<Vec<&Measurement>> = Vec::new();
    for cell in findings.measurements.iter().filter(|cell| !cell.control) {
        let is_its = |group: &&mut Vec<&Measurement>| {
            group[0].workload == cell.workload && group[0].configuration == cell.configuration
        };
        match groups.iter_mut().find(is_its) {
            Some(cells) => cells.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups.iter().map(|cells| Section::from(table(cells))).collect()
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

/// Why trials are excluded; `None` if all count.
fn excluded(cell: &Measurement) -> Option<String> {
    let texts: Vec<&str> = cell.trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let (count, trials) = (texts.len(), cell.trials.len());
    texts.first().map(|reason| match trials {
        1 => (*reason).to_owned(),
        _ => format!("{count} of {trials} trials are excluded; first reason: {reason}"),
    })
}
