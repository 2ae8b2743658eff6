//! One row per trial and metric, which `assay import` reads again.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use assay_core::quantity::{Better, Scale};
use assay_core::{catalogue::About, lines::field};
use assay_study::findings::{Findings, Measurement, TrialValue};
use assay_study::results::record::Status;
use assay_workloads::metrics;

use super::{Exporter, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV, one row per trial and metric; assay import can read it back",
        text: "The table contains all trials of all metrics, and one factor_NAME column per factor. `counted` is true \
               for the trials that the printed mean includes; other rows have a status (warmup, failed, disturbed, \
               superseded by a repeat) and often a reason. `mean_kind` is the kind of the printed mean: geometric, \
               arithmetic (metrics compared by differences) or median (if a value is 0). The table does not contain \
               the baseline or the margin; specify them again for the import. Histograms of trials are only in a bundle; single operations \
               only in a trace (assay watch --record-trace).",
    },
    write,
    left_out: nothing,
};

/// A line per trial and metric, in the format that `assay import` reads; `None` without trials.
fn write(findings: &Findings) -> Option<String> {
    // A table cannot name an A/A control.
    let cells: Vec<&Measurement> = findings
        .measurements
        .iter()
        .filter(|cell| !cell.control && !cell.trials.is_empty())
        .collect();
    let factors: BTreeSet<_> = cells.iter().flat_map(|cell| cell.configuration.keys()).collect();
    let is_ordered = cells.iter().flat_map(|cell| &cell.trials).all(|trial| trial.order.is_some());
    let mut text = "replicate,".to_owned();
    text.push_str(if is_ordered { "order," } else { "" });
    text.push_str("workload,metric,value,status,counted,reason,mean_kind");
    for factor in &factors {
        text.push(',');
        text.push_str(&field(&format!("factor_{factor}")));
    }
    text.push('\n');
    for cell in &cells {
        // By address, because two trials may have equal values.
        let counting: HashSet<*const TrialValue> =
            cell.counting().into_iter().map(std::ptr::from_ref).collect();
        for trial in &cell.trials {
            let counted = counting.contains(&std::ptr::from_ref(trial));
            let value = trial.value.map(|value| value.to_string()).unwrap_or_default();
            let order = trial.order.filter(|_| is_ordered).map(|order| format!("{order},"));
            let _ = write!(
                text,
                "{},{}{},{},{value},{},{counted},{},{}",
                trial.replicate.max(1),
                order.unwrap_or_default(),
                field(&cell.workload),
                field(&column_name(cell)),
                status(trial, counted),
                field(trial.reason.as_deref().unwrap_or_default()),
                mean_kind(cell)
            );
            for factor in &factors {
                text.push(',');
                text.push_str(&field(cell.configuration.get(*factor).map_or("", String::as_str)));
            }
            text.push('\n');
        }
    }
    (!cells.is_empty()).then_some(text)
}

/// The metric as `assay import` reads it: with its direction unless Assay knows the metric.
fn column_name(cell: &Measurement) -> String {
    let better = match cell.better {
        _ if metrics::find(&cell.metric).is_some() => "",
        Better::Lower => ":lower",
        Better::Higher => ":higher",
        Better::Unknown => "",
    };
    let scale = if cell.scale == Scale::Difference { ":difference" } else { "" };
    format!("{}{better}{scale}", cell.metric)
}

/// How a trial ended. A valid trial that does not count was repeated, or is an unnecessary repeat.
fn status(trial: &TrialValue, counted: bool) -> &'static str {
    match trial.status {
        Status::Ok if counted => "ok",
        Status::Ok if trial.value.is_some() => "superseded",
        Status::Ok | Status::Failed => "failed",
        Status::Disturbed => "disturbed",
        Status::Warmup => "warmup",
    }
}

fn mean_kind(cell: &Measurement) -> &'static str {
    if cell.mean.is_some() {
        "arithmetic"
    } else if cell.geometric_mean.is_some() {
        "geometric"
    } else {
        cell.median.map_or("", |_| "median")
    }
}
