//! Numbers that were brought along and that nothing is compared with: what each workload came to.

use super::numbers::{heading, value};
use super::{Block, Cell, Measured, NONE, Row, Section, Table, spread};
use crate::table::columns;
use assay_study::findings::Findings;
use assay_study::results::plan::{Arm, arm_in_words};

/// Of each workload and arm its metrics; none of findings that a target was measured for.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let mut told: Vec<(&str, &Arm, Vec<Row>)> = Vec::new();
    let is_own = findings.study.kind == "import" && findings.environment.targets.is_empty();
    for cell in findings.measurements.iter().filter(|cell| is_own && !cell.control) {
        let own = |(workload, arm, _): &(&str, &Arm, _)| {
            *workload == cell.workload && **arm == cell.configuration
        };
        match told.iter_mut().find(|one| own(one)) {
            Some((.., rows)) => rows.push(row(cell)),
            None => told.push((&cell.workload, &cell.configuration, vec![row(cell)])),
        }
    }
    let section = |(workload, arm, rows): (&str, &Arm, Vec<Row>)| {
        let caption = [workload, &arm_in_words(arm.iter())].join(" ");
        let columns = columns(&["metric", ">mean", ">spread", ">n"]);
        Section::titled(caption.trim_end(), vec![Block::Table(Table { columns, rows })])
    };
    told.into_iter().map(section).collect()
}

fn row(cell: &Measured) -> Row {
    let mean = cell.value().map_or_else(|| NONE.to_owned(), |mean| value(&cell.metric, mean));
    let words = [heading(&cell.metric).to_owned(), mean, spread(cell), cell.n.to_string()];
    let lost: Vec<&str> = cell.trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let (count, all) = (lost.len(), cell.trials.len());
    let lost = lost.first().map(|reason| match all {
        1 => (*reason).to_owned(),
        _ => format!("{count} of {all} trials are excluded; first reason: {reason}"),
    });
    Row {
        name: cell.metric.clone(),
        cells: words.map(Cell::from).into_iter().collect(),
        notes: lost.into_iter().collect(),
    }
}
