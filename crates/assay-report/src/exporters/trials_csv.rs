//! A row for each trial and metric, which `assay import` reads again.

use std::fmt::Write as _;

use assay_base::catalogue::About;
use assay_base::lines::field;
use assay_base::quantity::{Better, Scale};
use assay_kinds::work::metrics;
use assay_study::findings::{Cell, Findings};

use super::trials::{Row, Trials};
use super::{Exporter, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV: one row for each trial and metric; assay import reads it again",
        text: "Everything that the cells hold: replicate, order, value, how the trial ended, and a \
               column for each factor. Baseline and margin are no part of a table: say them again \
               when it is imported.",
    },
    write,
    left_out: nothing,
};

fn write(findings: &Findings) -> Option<String> {
    let trials = Trials::of(findings);
    let is_ordered = trials.is_ordered();
    let mut text = "replicate,".to_owned();
    text.push_str(if is_ordered { "order," } else { "" });
    text.push_str("workload,metric,value,status");
    for factor in &trials.factors {
        text.push(',');
        text.push_str(&field(&format!("factor:{factor}")));
    }
    text.push('\n');
    for row in &trials.rows {
        let (cell, trial) = (row.cell, row.trial);
        let value = trial.value.map(|value| value.to_string()).unwrap_or_default();
        let order = trial.order.filter(|_| is_ordered).map(|order| format!("{order},"));
        let _ = write!(
            text,
            "{},{}{},{},{value},{}",
            trial.replicate.max(1),
            order.unwrap_or_default(),
            field(&cell.workload),
            field(&metric(cell)),
            field(&status(row))
        );
        for factor in &trials.factors {
            text.push(',');
            text.push_str(&field(row.level(factor).unwrap_or_default()));
        }
        text.push('\n');
    }
    (!trials.rows.is_empty()).then_some(text)
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

fn status(row: &Row<'_>) -> String {
    let word = row.status();
    row.reason().map_or_else(|| word.to_owned(), |reason| format!("{word}: {reason}"))
}
