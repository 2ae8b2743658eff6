//! pytest-benchmark's JSON: each benchmark of a file is one run with its mean.

use assay_core::{catalogue::About, failure::Outcome};

use super::json::{self, level, number};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, head, times};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "pytest-benchmark",
        summary: "JSON of pytest-benchmark (--benchmark-json)",
        text: "Each benchmark in a file becomes one run with the mean of the rounds; rounds share one process and are \
               not trials. The parameters are factors. Assay orders the files by date.",
    },
    recognises: |start| {
        head::has_keys(start, &["machine_info", "benchmarks"])
            || head::has_keys(start, &["machine_info", "commit_info"])
    },
    reads: Reads::Runs(read),
    unused: &[(
        r#""min", "max", "stddev", "rounds", "median", "iqr", "q1", "q3", iqr_outliers, stddev_outliers,
            "outliers", ld15iqr, hd15iqr, "ops", "total", "iterations", "data""#,
        "rounds of one process are not replicates",
    )],
};

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let whole = json::document(name, text)?;
    let start = json::word(&whole, &["datetime"]).and_then(times::iso_ms);
    let mut runs = Vec::new();
    for benchmark in json::list(&whole, &["benchmarks"]) {
        let full_name = json::word(benchmark, &["name"]).unwrap_or("benchmark");
        let parameters = benchmark.get("params").and_then(serde_json::Value::as_object);
        let without_parameters = full_name.split_once('[').filter(|_| parameters.is_some());
        let mut run = ImportedRun::new(without_parameters.map_or(full_name, |(name, _)| name));
        // The file and the class of the test are before the last colons.
        let path = json::word(benchmark, &["fullname"]).unwrap_or_default();
        let path = path.split_once('[').map_or(path, |(path, _)| path);
        path.rsplit_once("::").map_or("", |(place, _)| place).clone_into(&mut run.place);
        for (parameter, value) in parameters.into_iter().flatten() {
            run.set(parameter, level(value).unwrap_or_else(|| value.to_string()));
        }
        // Only the order is known: one after the other, from the end of the first.
        run.span_ms = start.map(|start| (start + runs.len() as u64, start + runs.len() as u64 + 1));
        run.add("duration_s", number(benchmark, &["stats", "mean"]));
        runs.push(run);
    }
    ImportedRuns::in_order(runs).require(name, "contains no `benchmarks`")
}
