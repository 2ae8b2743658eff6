//! Criterion's numbers: `sample.json`, `estimates.json`, `raw.csv`, or the lines of `--message-format=json`.
//! Samples of one process are not trials: one file is one run.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::lines::{self, Splitter};
use assay_core::{catalogue::About, failure::Outcome};
use serde_json::Value;

use super::json::{self, number};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, head, mistake_in, words::quoted};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "criterion",
        summary: "sample.json, estimates.json, raw.csv and JSON messages of Criterion.rs",
        text: "Each file is one run of its benchmarks; samples from one process share conditions, so they are not \
               trials. The imported number is the mean time per iteration. The path below target/criterion names the \
               benchmark. Run the benchmark several times, and add factors with --set.",
    },
    recognises: |start| {
        let sample = head::has_keys(start, &["sampling_mode", "iters", "times"]);
        let estimates = head::has_keys(start, &["point_estimate", "confidence_interval"]);
        let message = head::has_keys(start, &["reason", "iteration_count", "measured_values"]);
        sample || estimates || message || start.starts_with(RAW)
    },
    reads: Reads::Runs(read),
    unused: &[(
        r#""median", median_abs_dev, "slope", std_dev, "typical", confidence_interval, standard_error,
            lower_bound, upper_bound, "change", "throughput", "measured_values", "iteration_count",
            throughput_num"#,
        "criterion's own statistics of the samples of one process",
    )],
};

const RAW: &str = "group,function,value,";
const TIME: &str = "time_per_iteration_ns";
/// File names that are the same for each benchmark.
const FILES: [&str; 3] = ["sample.json", "estimates.json", "raw.csv"];
const SAVED: [&str; 2] = ["new", "base"];
/// Parts of a benchmark's name: group, function and value.
const NAME_PARTS: usize = 3;

/// Returns the end of a path that names a benchmark: from `criterion` on, else the parts before `new` or `base`.
pub fn named_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|dir| !dir.is_empty() && *dir != ".").collect();
    let [.., saved, file] = parts.as_slice() else { return None };
    if !FILES.contains(file) {
        return None;
    }
    let criterion = parts.iter().rposition(|part| *part == "criterion");
    if criterion.is_none() && !SAVED.contains(saved) {
        return None;
    }
    // Two parts follow the name: the saved measurement and the file.
    let start = criterion.unwrap_or(parts.len().saturating_sub(NAME_PARTS + 2));
    Some(parts[start..].join("/"))
}

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut skipped = BTreeSet::new();
    let path = named_path(name).unwrap_or_default();
    // The parts of the benchmark's name, then `new` or `base`, then the file.
    let mut parts: Vec<&str> = path.split('/').filter(|part| *part != "criterion").collect();
    parts.pop();
    let saved = parts.pop().unwrap_or_default();
    let mut runs = if text.starts_with(RAW) {
        read_raw_csv(text, &mut skipped)
    } else {
        read_document(name, text, &parts.join("/"), &mut skipped)?
    };
    let notes: Vec<String> = skipped.into_iter().collect();
    if runs.is_empty() {
        let why = if notes.is_empty() { String::new() } else { format!(": {}", notes.join("; ")) };
        return Err(mistake_in(name, &format!("contains no benchmark with a time{why}")));
    }
    for run in runs.iter_mut().filter(|_| !saved.is_empty()) {
        run.set("saved as", saved);
    }
    Ok(ImportedRuns { notes, ..ImportedRuns::in_order(runs) })
}

/// Returns a unit of time in ns; notes benchmarks in another unit.
fn unit_ns(unit: &str, benchmark: &str, skipped: &mut BTreeSet<String>) -> Option<f64> {
    let unit = match unit {
        "ps" => return Some(1e-3),
        "ns" => return Some(1.0),
        "us" | "\u{b5}s" | "\u{3bc}s" => return Some(1e3),
        "ms" => return Some(1e6),
        "s" => return Some(1e9),
        unit => quoted(unit),
    };
    let benchmark = quoted(benchmark);
    skipped.insert(format!("not compared: {benchmark} (measured in `{unit}`, not in time)"));
    None
}

fn read_document(
    name: &str,
    text: &str,
    benchmark: &str,
    skipped: &mut BTreeSet<String>,
) -> Outcome<Vec<ImportedRun>> {
    // Messages are one document per line; any other file has a single document.
    let document = json::documents(name, text)?.swap_remove(0);
    if document.get("reason").is_some() {
        return Ok(read_messages(text, skipped));
    }
    let document = json::document(name, text)?;
    let is_estimate =
        ["slope", "std_dev", "median_abs_dev"].iter().any(|key| document.get(key).is_some());
    if document.get("mean").is_some() && !is_estimate {
        let text = "contains the change of a benchmark, not its time; import new/sample.json";
        return Err(mistake_in(name, text));
    }
    let mut run = ImportedRun::new(if benchmark.is_empty() { "benchmark" } else { benchmark });
    let mean = number(&document, &["mean", "point_estimate"]).or_else(|| {
        Some(sum(json::list(&document, &["times"]))? / sum(json::list(&document, &["iters"]))?)
    });
    let missing = "contains no `times` and `iters`, and no `mean`";
    run.add(TIME, Some(mean.ok_or_else(|| mistake_in(name, missing))?));
    Ok(vec![run])
}

fn sum(values: &[Value]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// One run per message with a mean in a unit of time; other lines are skipped.
fn read_messages(text: &str, skipped: &mut BTreeSet<String>) -> Vec<ImportedRun> {
    let one = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let id = json::word(&message, &["id"])?;
        let mut run = ImportedRun::new(id);
        // The mean has a unit field, which may differ from that of the samples.
        let unit =
            json::word(&message, &["mean", "unit"]).or_else(|| json::word(&message, &["unit"]))?;
        let unit = unit_ns(unit, id, skipped)?;
        run.add(TIME, Some(number(&message, &["mean", "estimate"])? * unit));
        Some(run)
    };
    text.lines().filter_map(one).collect()
}

/// One run per benchmark, in the order of the file: total time over total iterations.
fn read_raw_csv(text: &str, skipped: &mut BTreeSet<String>) -> Vec<ImportedRun> {
    let mut splitter = Splitter::new();
    // By benchmark: its first line, which gives the order of the runs; total ns; total iterations.
    let mut sums: BTreeMap<String, (usize, f64, f64)> = BTreeMap::new();
    let mut lines = lines::lines(text);
    let names: Vec<String> = match lines.next() {
        Some((_, header)) if splitter.split(header).is_ok() => {
            (0..splitter.count()).map(|index| splitter.field(index).to_owned()).collect()
        }
        _ => Vec::new(),
    };
    // A missing column gets an index beyond all fields, where the splitter returns empty text.
    let column = |name: &str| names.iter().position(|title| title == name).unwrap_or(usize::MAX);
    let [value_column, unit_column, count_column] =
        ["sample_measured_value", "unit", "iteration_count"].map(column);
    for (line_number, line) in lines {
        if splitter.split(line).is_err() {
            continue;
        }
        let parts = (0..NAME_PARTS).map(|index| splitter.field(index));
        let name = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let Some(ns) = unit_ns(splitter.field(unit_column), &name, skipped) else { continue };
        let Ok(value) = splitter.field(value_column).parse::<f64>() else { continue };
        let Ok(count) = splitter.field(count_column).parse::<f64>() else { continue };
        let (_, sum_ns, iterations) = sums.entry(name).or_insert((line_number, 0.0, 0.0));
        *sum_ns += value * ns;
        *iterations += count;
    }
    let mut benchmarks: Vec<_> = sums.into_iter().collect();
    benchmarks.sort_by_key(|(_, (first_line, ..))| *first_line);
    let mut runs = Vec::new();
    for (name, (_, sum_ns, iterations)) in benchmarks {
        let mut run = ImportedRun::new(name);
        run.add(TIME, Some(sum_ns / iterations));
        runs.push(run);
    }
    runs
}
