//! hyperfine's JSON: each time is a run; commands, or their parameters, are the arms.

use assay_core::{catalogue::About, failure::Outcome};
use serde_json::Value;

use super::json::{self, level};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, head, mistake_in};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "hyperfine-json",
        summary: "JSON of hyperfine (--export-json)",
        text: "Each time value is one run. Parameters are factors; without parameters, Assay compares the commands. \
               hyperfine runs the commands in sequence, so drift could explain the differences, and Assay gives \
               ratios without verdicts.",
    },
    recognises: |start| {
        head::has_keys(start, &["results", "command"]) && !head::has_keys(start, &["fio version"])
    },
    reads: Reads::Runs(read),
    unused: &[
        (r#""mean", "stddev", "median", "min", "max""#, "hyperfine's own summaries of the times"),
        (r#""user", "system""#, "processor time"),
    ],
};

const WORKLOAD: &str = "command";

/// One run per time of each result. Parameters are factors; so are commands, or their templates, that differ.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let document = json::document(name, text)?;
    let is_own = document.get("assay").is_some();
    let results = json::list(&document, &["results"]);
    let has_parameters = |result: &Value| result.get("parameters").is_some();
    let has_other_command =
        |result: &Value| json::word(result, &["command"]) != json::word(&results[0], &["command"]);
    // Without parameters, commands are the levels of a factor; with parameters, their templates may be.
    let by_command = !results.iter().any(has_parameters) && results.iter().any(has_other_command);
    let by_template = !is_own && shares_parameters(results);
    let mut runs = Vec::new();
    for result in results {
        let times = json::list(result, &["times"]);
        if times.is_empty() {
            let text =
                "a result has no `times` (hyperfine before 1.2, or removed); means are not trials";
            return Err(mistake_in(name, text));
        }
        let mut shared = ImportedRun::new(WORKLOAD);
        if let Some(workload) = json::word(result, &["workload"]).filter(|_| is_own) {
            workload.clone_into(&mut shared.workload);
        } else if by_command {
            shared.set("command", json::word(result, &["command"]).unwrap_or_default());
        }
        let parameters = result.get("parameters").and_then(Value::as_object);
        for (parameter, value) in parameters.into_iter().flatten() {
            shared.set(parameter, level(value).unwrap_or_default());
        }
        if by_template {
            shared.set("command", template(result));
        }
        let codes = json::list(result, &["exit_codes"]);
        let memory = json::list(result, &["memory_usage_byte"]);
        for (index, time) in times.iter().enumerate() {
            let mut run = shared.clone();
            run.add("duration_s", time.as_f64());
            if let Some(bytes) = memory.get(index) {
                run.add("peak_rss_bytes", bytes.as_f64());
            }
            let code = codes.get(index).and_then(Value::as_i64).filter(|code| *code != 0);
            run.failed = code.map(|code| format!("ended with exit code {code}"));
            runs.push(run);
        }
    }
    Ok(ImportedRuns::in_order(runs))
}

/// Whether two different commands have the same parameters, so that their templates must tell them apart.
fn shares_parameters(results: &[Value]) -> bool {
    let key = |result: &Value| result.get("parameters").map(Value::to_string);
    results.iter().enumerate().any(|(at, one)| {
        let mut later = results[at + 1..].iter();
        key(one).is_some()
            && later.any(|other| key(other) == key(one) && other["command"] != one["command"])
    })
}

/// The command with the values of its parameters replaced by their names.
fn template(result: &Value) -> String {
    let mut command = json::word(result, &["command"]).unwrap_or_default().to_owned();
    let parameters = result.get("parameters").and_then(Value::as_object);
    for (name, value) in parameters.into_iter().flatten() {
        command = command.replace(&level(value).unwrap_or_default(), &format!("{{{name}}}"));
    }
    command
}
