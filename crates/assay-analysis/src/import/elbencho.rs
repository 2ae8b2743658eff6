//! elbencho's CSV: one line per phase, with a header.

use std::collections::BTreeSet;

use assay_core::lines::{self, Splitter};
use assay_core::{catalogue::About, failure::Outcome};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, mistakes::Mistakes, times};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "elbencho-csv",
        summary: "CSV results of elbencho (--csvfile)",
        text: "Each line is a run of one operation, with the rates measured when the last thread finished. Option \
               columns are factors.",
    },
    recognises: |start| {
        let header = lines::lines(start).next().map_or("", |(_, line)| line);
        HEADER.iter().all(|name| header.split(',').any(|own| own.trim() == *name))
    },
    reads: Reads::Runs(read),
    unused: &[
        (
            "time ms [first], entries/s [first], IOPS [first], MiB/s [first], IOs [first], MiB [first],
                entries [first]",
            "rates when the first thread was done, while others still ran",
        ),
        ("entries [last], IOs [last], MiB [last]", "amounts"),
        ("CPU% [first], CPU% [last]", "processor time"),
        ("IO lat us [min], Ent lat us [min], Ent lat us [max]", "one operation"),
    ],
};

const MIX: &str = "rwmix read ";
const HEADER: [&str; 4] = ["operation", "path type", "threads", "block size"];
const SETTINGS: &str = "label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,\
                        random aligned,IO depth,shared paths,truncate";
/// Columns with their metric and the factor to its unit.
const METRICS: [(&str, &str, f64); 7] = [
    ("MiB/s [last]", "bandwidth_bytes_per_s", 1_048_576.0),
    ("IOPS [last]", "iops", 1.0),
    ("entries/s [last]", "entries_per_s", 1.0),
    ("IO lat us [avg]", "latency_mean_ns", 1e3),
    ("IO lat us [max]", "latency_max_ns", 1e3),
    ("Ent lat us [avg]", "entry_latency_mean_ns", 1e3),
    ("time ms [last]", "duration_s", 1e-3),
];

/// The runs of each phase; notes unknown columns that contain numbers.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut mistakes = Mistakes::new(name);
    let mut splitter = Splitter::new();
    let mut names: Vec<String> = Vec::new();
    let mut runs = Vec::new();
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    for (line, text) in lines::lines(text) {
        if splitter.split(text).is_err() {
            mistakes.on(line, "unclosed quotation mark; the file may be truncated");
            continue;
        }
        let fields: Vec<&str> = (0..splitter.count()).map(|index| splitter.field(index)).collect();
        // Each run of elbencho may write its header again.
        if fields.contains(&HEADER[0]) {
            names = fields.iter().map(|field| (*field).to_owned()).collect();
            continue;
        }
        if fields.len() < names.len() {
            let message = format!("the line has {} fields, expected {}", fields.len(), names.len());
            mistakes.on(line, &message);
            continue;
        }
        let phase = PhaseLine { names: &names, fields };
        runs.extend(phase.runs());
        let is_number = |name: &str| phase.field(name).is_some_and(|f| f.parse::<f64>().is_ok());
        unknown.extend(names.iter().filter(|name| is_number(name) && !is_known(name)).cloned());
    }
    mistakes.outcome()?;
    let unknown = unknown.iter().map(|name| format!("not compared: {name} (unknown column)"));
    let runs = ImportedRuns { notes: unknown.collect(), ..ImportedRuns::in_order(runs) };
    runs.require(name, "contains no line below the header")
}

/// A line below the header: the results of one phase.
struct PhaseLine<'a> {
    names: &'a [String],
    fields: Vec<&'a str>,
}

impl PhaseLine<'_> {
    /// The field of a column; `None` if the column is absent or the field empty.
    fn field(&self, name: &str) -> Option<&str> {
        let index = self.names.iter().position(|title| title == name)?;
        Some(self.fields[index]).filter(|field| !field.is_empty())
    }

    /// The run of the phase; if it also read in a mix, its writes and its reads.
    fn runs(&self) -> Vec<ImportedRun> {
        let mut run = ImportedRun::new(self.field("operation").unwrap_or("phase").to_lowercase());
        for name in SETTINGS.split(',') {
            if let Some(level) = self.field(name) {
                run.set(name, level);
            }
        }
        let end_ms = self.field("ISO date").and_then(times::iso_ms);
        let took_ms = self.field("time ms [last]").and_then(|ms| ms.parse::<u64>().ok());
        run.span_ms = end_ms.map(|end_ms| (end_ms.saturating_sub(took_ms.unwrap_or(1)), end_ms));
        let mut reads = ImportedRun { workload: format!("{}, reads", run.workload), ..run.clone() };
        let number = |name: &str| self.field(name)?.parse().ok().filter(|value: &f64| *value > 0.0);
        for (column, metric, factor) in METRICS {
            if let Some(value) = number(column) {
                run.add(metric, Some(value * factor));
            }
            if let Some(value) = number(&format!("{MIX}{column}")) {
                reads.add(metric, Some(value * factor));
            }
        }
        let mut runs = vec![run];
        if !reads.values.is_empty() {
            runs[0].workload.push_str(", writes");
            runs.push(reads);
        }
        if self.field("direct IO").is_none_or(|direct| direct == "0") {
            let size = self.field("file size").and_then(|size| size.parse().ok());
            for run in &mut runs {
                run.may_be_buffered(size.unwrap_or(f64::INFINITY));
            }
        }
        runs
    }
}

fn is_known(column: &str) -> bool {
    let own = column.strip_prefix(MIX).unwrap_or(column);
    own == "version"
        || SETTINGS.split(',').any(|name| name == own)
        || METRICS.iter().any(|(column, ..)| *column == own)
        || IMPORTER.unused().any(|(names, _)| names.contains(&own))
}
