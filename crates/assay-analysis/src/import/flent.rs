//! flent's data files (JSON, usually gzipped): each series of a file is a run with its mean.

use assay_core::{catalogue::About, failure::Outcome, quantity::direction};
use serde_json::Value;

use super::json::{self, level};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, head, times};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "flent",
        summary: "flent data files (.flent, .flent.gz)",
        text: "Each series in a file becomes one run with the mean of the samples; samples within a test are not \
               trials. The name and unit of a series imply the better direction. Assay orders the files by their \
               times; the title is a factor.",
    },
    recognises: |start| {
        head::has_keys(start, &["raw_values"])
            || (head::has_keys(start, &["metadata"]) && head::has_keys(start, &["BATCH_NAME"]))
    },
    reads: Reads::Runs(read),
    unused: &[
        ("raw_values, x_values", "samples within a test are not replicates"),
        ("MEAN_VALUE, MIN_VALUE, MAX_VALUE", "flent's own summaries"),
    ],
};

/// Settings of a test: tests with different settings are not replicates.
const SETTINGS: [(&str, &str); 4] =
    [("TITLE", "title"), ("HOST", "host"), ("LOCAL_HOST", "local host"), ("LENGTH", "length")];

/// One run per series, with the mean of its values.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let document = json::document(name, text)?;
    let metadata = |key: &str| json::at(&document, &["metadata", key]).and_then(level);
    let start_ms = metadata("TIME").and_then(|time| times::iso_ms(&time));
    let test = metadata("NAME").unwrap_or_else(|| "test".to_owned());
    let mut runs = Vec::new();
    let series = document.get("results").and_then(Value::as_object);
    for (series, values) in series.into_iter().flatten() {
        let values: Vec<f64> =
            values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        if values.is_empty() {
            continue;
        }
        let unit =
            json::word(&document, &["metadata", "SERIES_META", series, "UNITS"]).unwrap_or("");
        let metric = match unit {
            "ms" => "time_ms",
            "Mbits/s" => "rate_mbits_per_s",
            "" => "value",
            unit => unit,
        };
        // The name of the series gives the quantity.
        let better = direction::of_name(&format!("{series} {unit}"));
        let mut run = ImportedRun::new(format!("{test}: {series}"));
        for (key, name) in SETTINGS {
            if let Some(level) = metadata(key).filter(|level| !level.is_empty()) {
                run.set(name, level);
            }
        }
        run.add_as(metric, better, Some(values.iter().sum::<f64>() / values.len() as f64));
        run.span_ms = start_ms.map(|start_ms| (start_ms, start_ms + 1));
        runs.push(run);
    }
    ImportedRuns::in_order(runs).require(name, "no series in `results` has a number")
}
