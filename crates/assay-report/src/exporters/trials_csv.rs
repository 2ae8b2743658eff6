//! A row for each trial and metric, which `assay import` reads again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_core::catalogue::About;
use assay_core::findings::{Cell, CellTrial, Findings};
use assay_core::quantity::{Better, Scale};
use assay_core::results::record::Status;
use assay_core::work::metrics;

use super::Exporter;

/// The exporter.
pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV: one row for each trial and metric; assay import reads it again",
        text: "Everything that the cells hold: replicate, order, value, how the trial ended, and a \
               column for each factor. Baseline and margin are no part of a table: say them again \
               when it is imported.",
    },
    write,
};

fn write(findings: &Findings) -> Option<String> {
    // A second copy of the baseline has no name of its own in a table.
    let cells: Vec<&Cell> = findings.cells.iter().filter(|cell| !cell.control).collect();
    let factors: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.arm.keys()).collect();
    let is_ordered = cells.iter().flat_map(|cell| &cell.trials).all(|trial| trial.order.is_some());
    let mut text = "replicate,".to_owned();
    text.push_str(if is_ordered { "order," } else { "" });
    text.push_str("workload,metric,value,status");
    for factor in &factors {
        text.push(',');
        text.push_str(&field(&format!("factor:{factor}")));
    }
    text.push('\n');
    let mut rows = 0;
    for cell in cells {
        // A trial that another one repeats would stand there twice.
        let repeated: BTreeSet<u32> = cell
            .trials
            .iter()
            .filter(|one| one.repeats.is_some())
            .map(|one| one.replicate)
            .collect();
        let own = |trial: &&CellTrial| {
            trial.repeats.is_some()
                || !repeated.contains(&trial.replicate)
                || trial.status == Status::LeadIn
        };
        for trial in cell.trials.iter().filter(own) {
            let value = trial.value.map(|value| value.to_string()).unwrap_or_default();
            let order = trial.order.map(|order| format!("{order},")).unwrap_or_default();
            let order = if is_ordered { order } else { String::new() };
            let _ = write!(
                text,
                "{},{order}{},{},{value},{}",
                trial.replicate.max(1),
                field(&cell.workload),
                field(&metric(cell)),
                field(&status(trial))
            );
            for factor in &factors {
                text.push(',');
                text.push_str(&field(cell.arm.get(*factor).map_or("", String::as_str)));
            }
            text.push('\n');
            rows += 1;
        }
    }
    (rows > 0).then_some(text)
}

/// The metric with what the importer would not know of it.
fn metric(cell: &Cell) -> String {
    let better = match cell.better {
        _ if metrics::find(&cell.metric).is_some() => "",
        Better::Lower => ":lower",
        Better::Higher => ":higher",
    };
    let scale = if cell.scale == Scale::Difference { ":difference" } else { "" };
    format!("{}{better}{scale}", cell.metric)
}

fn status(trial: &CellTrial) -> String {
    let word = match trial.status {
        Status::Ok if trial.value.is_some() => return "ok".to_owned(),
        Status::Ok | Status::Failed => "failed",
        Status::Disturbed => "disturbed",
        Status::LeadIn => "lead-in",
    };
    let reason = trial.reason.as_deref().filter(|reason| !reason.is_empty());
    reason.map_or_else(|| word.to_owned(), |reason| format!("{word}: {reason}"))
}

/// A field of CSV.
fn field(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.contains([',', '"', '#']) {
        format!("\"{}\"", plain.replace('"', "\"\""))
    } else {
        plain
    }
}
