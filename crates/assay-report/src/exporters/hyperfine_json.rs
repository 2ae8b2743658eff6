//! hyperfine's JSON: a result for each workload and arm that has times.

use serde_json::{Value, json};

use assay_core::catalogue::About;
use assay_study::findings::{Findings, Measurement};

use super::{Exporter, arm_words, counting_values, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "hyperfine-json",
        summary: "hyperfine-format JSON, for workloads with a duration",
        text: "One result per workload and configuration, with the times of counted trials in seconds and the levels \
               as parameters. The format cannot express trial order or disturbances. CPU times (user, system) are not \
               included.",
    },
    write,
    left_out: nothing,
};

const TIME: &str = "duration_s";

fn write(findings: &Findings) -> Option<String> {
    let cells = findings.measurements.iter().filter(|cell| cell.metric == TIME && !cell.control);
    let results: Vec<Value> = cells.filter_map(result).collect();
    if results.is_empty() {
        return None;
    }
    let document = json!({
        "assay": { "format": "assay-hyperfine/1", "id": findings.study.id },
        "results": results,
    });
    Some(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n")
}

/// The run times of one command in seconds, with their statistics; `None` if no trial counts.
fn result(cell: &Measurement) -> Option<Value> {
    let times: Vec<f64> = counting_values(cell).into_iter().map(|(_, value)| value).collect();
    let count = times.len();
    if count == 0 {
        return None;
    }
    let mean = times.iter().sum::<f64>() / count as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let arm = arm_words(cell);
    let command =
        if arm.is_empty() { cell.workload.clone() } else { format!("{} ({arm})", cell.workload) };
    Some(json!({
        "command": command,
        "workload": cell.workload,
        "mean": mean,
        "stddev": (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        "median": cell.median,
        "min": times.iter().copied().reduce(f64::min),
        "max": times.iter().copied().reduce(f64::max),
        "exit_codes": vec![0; count],
        "times": times,
        "parameters": cell.configuration,
    }))
}
