//! Imported numbers without a comparison: the results of each workload.

use super::numbers::{heading, value};
use super::{Column, Measurement, Section, Table, spread};
use assay_core::exhibit::parts::parted;
use assay_study::{findings::Findings, results::plan::arm_in_words};

/// The metrics of each workload and arm; empty for findings measured by Assay.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    if findings.study.kind != "import" || !findings.environment.targets.is_empty() {
        return Vec::new();
    }
    let cells = findings.measurements.iter().filter(|cell| !cell.control);
    let groups = parted(cells, |cell| (&cell.workload, &cell.configuration));
    groups.iter().map(|(_, cells)| Section::from(table(cells))).collect()
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
        row.notes.extend(exclusion_note(cell));
    }
    table
}

/// Why trials are excluded; `None` if all count.
fn exclusion_note(cell: &Measurement) -> Option<String> {
    let reasons: Vec<&str> =
        cell.trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let first = reasons.first()?;
    Some(match cell.trials.len() {
        1 => (*first).to_owned(),
        trials => {
            format!("{} of {trials} trials are excluded; first reason: {first}", reasons.len())
        }
    })
}
