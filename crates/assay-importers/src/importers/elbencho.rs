//! elbencho's CSV of results: a line a phase, with a header that names its columns.

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_base::lines::{self, Splitter};

use super::mistakes::Mistakes;
use super::run::{Run, Runs};
use super::{Importer, Reads, times};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "elbencho-csv",
        summary: "CSV of results of elbencho (--csvfile)",
        text: "Each line is a run of its operation, by the rates when the last thread was done. The \
               columns that say how it was done are settings.",
    },
    recognises: |start| {
        let header = lines::lines(start).next().map_or("", |(_, line)| line);
        HEADER.iter().all(|name| header.split(',').any(|own| own.trim() == *name))
    },
    reads: Reads::Runs(read),
};

const HEADER: [&str; 4] = ["operation", "path type", "threads", "block size"];
const SETTINGS: [&str; 15] = [
    "label",
    "path type",
    "paths",
    "hosts",
    "threads",
    "dirs",
    "files",
    "file size",
    "block size",
    "direct IO",
    "random",
    "random aligned",
    "IO depth",
    "shared paths",
    "truncate",
];
/// Columns with the metric, and what makes it of the column.
const METRICS: [(&str, &str, f64); 7] = [
    ("MiB/s [last]", "bandwidth_bytes_per_s", 1_048_576.0),
    ("IOPS [last]", "iops", 1.0),
    ("entries/s [last]", "entries_per_s", 1.0),
    ("IO lat us [avg]", "latency_mean_ns", 1e3),
    ("IO lat us [max]", "latency_max_ns", 1e3),
    ("Ent lat us [avg]", "entry_latency_mean_ns", 1e3),
    ("time ms [last]", "duration_s", 1e-3),
];

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let mut mistakes = Mistakes::of(name);
    let mut splitter = Splitter::new();
    let mut names: Vec<String> = Vec::new();
    let mut runs = Vec::new();
    for (line, text) in lines::lines(text) {
        if splitter.split(text).is_err() {
            mistakes.on(line, "a quotation mark is left open; the file may be cut off");
            continue;
        }
        let fields: Vec<&str> = (0..splitter.count()).map(|at| splitter.field(at)).collect();
        // Each run of elbencho may write its header again.
        if fields.contains(&HEADER[0]) {
            names = fields.iter().map(|field| (*field).to_owned()).collect();
            continue;
        }
        if fields.len() < names.len() {
            let told = format!("the line has {} of {} fields", fields.len(), names.len());
            mistakes.on(line, &told);
            continue;
        }
        let field = |name: &str| {
            let at = names.iter().position(|own| own == name)?;
            Some(fields[at]).filter(|field| !field.is_empty())
        };
        let mut run = Run::of(field("operation").unwrap_or("phase").to_lowercase());
        for name in SETTINGS {
            if let Some(level) = field(name) {
                run.set(name, level);
            }
        }
        for (column, metric, factor) in METRICS {
            let value = field(column).and_then(|field| field.parse::<f64>().ok());
            if let Some(value) = value.filter(|value| *value > 0.0) {
                run.tell(metric, Some(value * factor));
            }
        }
        let end = field("ISO date").and_then(times::iso_ms);
        let took = field("time ms [last]").and_then(|ms| ms.parse::<u64>().ok()).unwrap_or(1);
        run.span_ms = end.map(|end| (end.saturating_sub(took), end));
        runs.push(run);
    }
    mistakes.outcome()?;
    if runs.is_empty() {
        return Err(Failure::mistake(format!("{name}: there is no line below the header")));
    }
    Ok(Runs::in_order(runs))
}
