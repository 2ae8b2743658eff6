//! Go benchmark output for benchstat: one line per trial that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use assay_analysis::import::go_bench::{NAMES, UNITS_OF_METRICS as UNITS};
use assay_core::{catalogue::About, quantity::Better};
use assay_study::findings::{Findings, Measurement};

use super::{Exporter, counting_values, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "benchstat",
        summary: "Go benchmark lines, for benchstat",
        text: "One line per counted trial, with levels as /name=level, for example for benchstat -col /depth. \
            benchstat treats trials as unpaired and ignores their order. assay import can read the lines back.",
    },
    write,
    left_out: nothing,
};

/// The measurements in Go's benchmark format, a line per trial in run order if known; `None` without any.
fn write(findings: &Findings) -> Option<String> {
    // The key is the order of the lines: order of the trial, index of the row, and replicate.
    let mut lines: BTreeMap<(Option<u32>, usize, u32), String> = BTreeMap::new();
    let mut rows: Vec<String> = Vec::new();
    let mut names = BTreeSet::new();
    let mut units = BTreeMap::new();
    for cell in findings.measurements.iter().filter(|cell| !cell.control) {
        let name = name(cell, &mut names);
        let row = rows.iter().position(|known| *known == name).unwrap_or_else(|| {
            rows.push(name.clone());
            rows.len() - 1
        });
        units.insert(unit(&cell.metric), cell.better);
        for (trial, value) in counting_values(cell) {
            let key = (trial.order, row, trial.replicate);
            let line = lines.entry(key).or_insert_with(|| format!("Benchmark{name} 1"));
            let _ = write!(line, " {value} {}", unit(&cell.metric));
        }
    }
    if lines.is_empty() {
        return None;
    }
    // benchstat skips lines with this prefix; `assay import` restores names from them.
    let mut text = format!("{NAMES}\n");
    for (plain, original) in names {
        let _ = writeln!(text, "{NAMES} {plain} {original}");
    }
    for (unit, better) in units.into_iter().filter(|(_, better)| better.is_known()) {
        let better = if better == Better::Lower { "lower" } else { "higher" };
        let _ = writeln!(text, "Unit {unit} better={better}");
    }
    text.extend(lines.into_values().map(|line| line + "\n"));
    Some(text)
}

/// Units that benchstat prints with a prefix.
fn unit(metric: &str) -> &str {
    UNITS.iter().find(|(known, _)| *known == metric).map_or(metric, |(_, unit)| unit)
}

/// A name for Go benchmarks: first letter capital, no spaces. Adds changed names with their originals to `names`.
fn name(cell: &Measurement, names: &mut BTreeSet<(String, String)>) -> String {
    let mut go_name = |text: &str, capital: bool| -> String {
        let allowed =
            |c: char| if c.is_whitespace() || c.is_control() || "/=".contains(c) { '_' } else { c };
        let mut letters = text.chars().map(allowed);
        let first: String = match letters.next() {
            Some(first) if capital => first.to_uppercase().collect(),
            first => first.into_iter().collect(),
        };
        let plain = first + &letters.collect::<String>();
        if plain != text {
            names.insert((plain.clone(), text.replace(char::is_control, " ")));
        }
        plain
    };
    let mut name = go_name(&cell.workload, true);
    for (factor, level) in &cell.configuration {
        let _ = write!(name, "/{}={}", go_name(factor, false), go_name(level, false));
    }
    name
}
