//! criterion's numbers of one benchmark: `sample.json`, `estimates.json`, `raw.csv`, or the lines of
//! `cargo criterion --message-format=json`. Samples within one process are no trials: one file is
//! one run, and several runs of the benchmark make a study.

use std::collections::BTreeMap;

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_base::lines::{self, Splitter};
use serde_json::Value;

use super::json::{self, number};
use super::run::{Run, Runs};
use super::{Importer, Reads, head};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "criterion",
        summary: "sample.json, estimates.json, raw.csv and messages of criterion",
        text: "One file is one run of its benchmarks: the samples within a process share whatever \
               that process met, so they are no trials. The number is the mean time of one \
               iteration. Run the benchmark several times, and name the files with --arm.",
    },
    recognises: |start| {
        let sample = head::has_keys(start, &["sampling_mode", "iters", "times"]);
        let estimates = head::has_keys(start, &["point_estimate", "confidence_interval"]);
        let message = head::has_keys(start, &["reason", "iteration_count", "measured_values"]);
        sample || estimates || message || start.starts_with(RAW)
    },
    reads: Reads::Runs(read),
};

const RAW: &str = "group,function,value,";
const TIME: &str = "time_per_iteration_ns";

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let runs = if text.starts_with(RAW) { raw(text) } else { documents(name, text)? };
    if runs.is_empty() {
        return Err(Failure::mistake(format!("{name}: no benchmark of it has a time")));
    }
    Ok(Runs::in_order(runs))
}

fn documents(name: &str, text: &str) -> Outcome<Vec<Run>> {
    let whole = json::document(name, text)?;
    if whole.get("reason").is_some() {
        return Ok(messages(text));
    }
    let mut run = Run::of("benchmark");
    let mean = number(&whole, &["mean", "point_estimate"]).or_else(|| {
        Some(sum(json::list(&whole, &["times"]))? / sum(json::list(&whole, &["iters"]))?)
    });
    run.tell(
        TIME,
        Some(mean.ok_or_else(|| {
            Failure::mistake(format!(
                "{name}: there are no `times` and `iters`, and no `mean` in it"
            ))
        })?),
    );
    Ok(vec![run])
}

/// The sum of numbers, of which there is at least one.
fn sum(values: &[Value]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// A message a line; other lines are passed over.
fn messages(text: &str) -> Vec<Run> {
    let one = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let mut run = Run::of(json::word(&message, &["id"])?);
        let unit = match json::word(&message, &["unit"])? {
            "ns" => 1.0,
            "us" | "\u{b5}s" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        let mean = number(&message, &["mean", "estimate"])?;
        run.tell(TIME, Some(mean * unit));
        Some(run)
    };
    text.lines().filter_map(one).collect()
}

/// Sums over the samples of each benchmark.
fn raw(text: &str) -> Vec<Run> {
    let mut splitter = Splitter::new();
    let mut sums: BTreeMap<String, (usize, f64, f64)> = BTreeMap::new();
    let mut lines = lines::lines(text);
    let names: Vec<String> = match lines.next() {
        Some((_, header)) if splitter.split(header).is_ok() => {
            (0..splitter.count()).map(|at| splitter.field(at).to_owned()).collect()
        }
        _ => Vec::new(),
    };
    let column = |name: &str| names.iter().position(|own| own == name).unwrap_or(usize::MAX);
    let [value, unit, count] = ["sample_measured_value", "unit", "iteration_count"].map(column);
    for (at, line) in lines {
        if splitter.split(line).is_err() || splitter.field(unit) != "ns" {
            continue;
        }
        let numbers = (splitter.field(value).parse::<f64>(), splitter.field(count).parse::<f64>());
        let (Ok(value), Ok(count)) = numbers else { continue };
        let parts = (0..3).map(|at| splitter.field(at)).filter(|part| !part.is_empty());
        let name = parts.collect::<Vec<_>>().join("/");
        let sum = sums.entry(name).or_insert((at, 0.0, 0.0));
        *sum = (sum.0, sum.1 + value, sum.2 + count);
    }
    let mut found: Vec<(String, (usize, f64, f64))> = sums.into_iter().collect();
    found.sort_by_key(|(_, (at, ..))| *at);
    let run = |(name, (_, value, count)): (String, (usize, f64, f64))| {
        let mut run = Run::of(name);
        run.tell(TIME, Some(value / count));
        run
    };
    found.into_iter().map(run).collect()
}
