//! A row for each trial and metric, which `assay import` reads again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_base::catalogue::About;
use assay_base::lines::field;
use assay_base::quantity::{Better, Scale};
use assay_kinds::work::metrics;
use assay_study::findings::{Cell, CellTrial, Findings};
use assay_study::results::record::Status;

use super::{Exporter, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV, one row per trial and metric; assay import can read it back",
        text: "The table contains all measurements with replicate, order, value and trial status, and one column per \
               factor. The table does not contain the baseline or the margin; specify them again for the import.",
    },
    write,
    left_out: nothing,
};

fn write(findings: &Findings) -> Option<String> {
    // A second copy of the baseline has no name of its own in a table.
    let cells: Vec<&Cell> = findings.measurements.iter().filter(|cell| !cell.control).collect();
    let factors: BTreeSet<&String> =
        cells.iter().flat_map(|cell| cell.configuration.keys()).collect();
    let rows: Vec<(&Cell, &CellTrial)> = cells.into_iter().flat_map(rows_of).collect();
    let is_ordered = rows.iter().all(|(_, trial)| trial.order.is_some());
    let mut text = "replicate,".to_owned();
    text.push_str(if is_ordered { "order," } else { "" });
    text.push_str("workload,metric,value,status");
    for factor in &factors {
        text.push(',');
        text.push_str(&field(&format!("factor:{factor}")));
    }
    text.push('\n');
    for (cell, trial) in &rows {
        let value = trial.value.map(|value| value.to_string()).unwrap_or_default();
        let order = trial.order.filter(|_| is_ordered).map(|order| format!("{order},"));
        let _ = write!(
            text,
            "{},{}{},{},{value},{}",
            trial.replicate.max(1),
            order.unwrap_or_default(),
            field(&cell.workload),
            field(&metric(cell)),
            field(&status(trial))
        );
        for factor in &factors {
            text.push(',');
            text.push_str(&field(cell.configuration.get(*factor).map_or("", String::as_str)));
        }
        text.push('\n');
    }
    (!rows.is_empty()).then_some(text)
}

/// The metric with what the importer would not know of it.
fn metric(cell: &Cell) -> String {
    let better = match cell.better {
        _ if metrics::find(&cell.metric).is_some() => "",
        Better::Lower => ":lower",
        Better::Higher => ":higher",
        Better::Unknown => "",
    };
    let scale = if cell.scale == Scale::Difference { ":difference" } else { "" };
    format!("{}{better}{scale}", cell.metric)
}

/// How a trial ended, and why it does not count.
fn status(trial: &CellTrial) -> String {
    let word = match trial.status {
        Status::Ok if trial.value.is_some() => return "ok".to_owned(),
        Status::Ok | Status::Failed => "failed",
        Status::Disturbed => "disturbed",
        Status::Warmup => "warmup",
    };
    match trial.reason.as_deref() {
        None | Some("") => word.to_owned(),
        Some(reason) => format!("{word}: {reason}"),
    }
}

/// The trials of a cell, each once: a trial that another one repeats is left out.
fn rows_of(cell: &Cell) -> impl Iterator<Item = (&Cell, &CellTrial)> {
    let again = cell.trials.iter().filter(|one| one.repeats.is_some());
    let repeated: BTreeSet<u32> = again.map(|one| one.replicate).collect();
    let own = move |trial: &&CellTrial| {
        trial.repeats.is_some()
            || !repeated.contains(&trial.replicate)
            || trial.status == Status::Warmup
    };
    cell.trials.iter().filter(own).map(move |trial| (cell, trial))
}
