//! Lines of Go's benchmarks, which benchstat reads: a line for each trial that counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_core::catalogue::About;
use assay_core::findings::{Cell, Findings};

use super::{Exporter, Writes, counted};

/// The exporter.
pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "benchstat",
        summary: "lines of Go's benchmarks, for benchstat",
        text: "A line for each trial that counts, the arm as /name=level: benchstat -col /depth \
               compares by it. benchstat takes trials as unpaired and knows no order.",
    },
    write: Writes::Text(write),
};

fn write(findings: &Findings) -> Option<String> {
    let mut lines: BTreeMap<(usize, Option<u32>, u32), String> = BTreeMap::new();
    let mut rows: Vec<String> = Vec::new();
    for cell in findings.cells.iter().filter(|cell| !cell.control) {
        let name = name(cell);
        let row = rows.iter().position(|known| *known == name).unwrap_or_else(|| {
            rows.push(name.clone());
            rows.len() - 1
        });
        for (trial, value) in counted(cell) {
            let key = (row, trial.order, trial.replicate);
            let line = lines.entry(key).or_insert_with(|| format!("Benchmark{name} 1"));
            let _ = write!(line, " {value} {}", unit(&cell.metric));
        }
    }
    let text: String = lines.into_values().map(|line| line + "\n").collect();
    let head = "Unit iops better=higher\nUnit B/s better=higher\n";
    (!text.is_empty()).then(|| format!("{head}{text}"))
}

/// Units that benchstat tells with a prefix of its own.
fn unit(metric: &str) -> &str {
    match metric {
        "bandwidth_bytes_per_s" => "B/s",
        "duration_s" => "sec/op",
        metric => metric,
    }
}

/// A name as Go's benchmarks have it: a capital first, no spaces.
fn name(cell: &Cell) -> String {
    let plain = |text: &str| -> String {
        let letter =
            |c: char| if c.is_whitespace() || c.is_control() || c == '/' { '_' } else { c };
        text.chars().map(letter).collect()
    };
    let workload = plain(&cell.workload);
    let mut letters = workload.chars();
    let mut name: String = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    name.push_str(letters.as_str());
    for (factor, level) in &cell.arm {
        let _ = write!(name, "/{}={}", plain(factor), plain(level));
    }
    name
}
