//! bonnie++'s CSV: one run of all tests per line.

use assay_core::lines::{self, Splitter};
use assay_core::{catalogue::About, failure::Outcome};

use super::mistakes::{Field, Mistakes};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, words::quoted};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "bonnie-csv",
        summary: "CSV of bonnie++ 1.96 to 2.00 (full output, its last line, or -q)",
        text: "Each line is one run of all tests; machine, sizes and concurrency are factors. Tests that are too fast \
               to measure (+++++) have no number instead of zero. Assay does not compare CPU time (%CP). Latencies are \
               maxima, because bonnie++ prints no other latencies.",
    },
    recognises: |start| {
        let lines = lines::lines(start).take(LINES).map(|(_, line)| line);
        lines.into_iter().any(|line| is_csv(line) && line.split(',').count() >= FIELDS)
    },
    reads: Reads::Runs(read),
    unused: &[("%CP, %CPU", "processor time")],
};

const VERSIONS: [&str; 4] = ["1.96", "1.97", "1.98", "2.00"];
/// The CSV may follow a printed table: one of the first lines has to be CSV.
const LINES: usize = 40;
/// Fewest fields of a line, without the latencies.
const FIELDS: usize = 36;
/// Versions without the two fields on seeks, and the first field after them.
const WITHOUT_SEEKS: [&str; 2] = ["1.96", "1.97"];
const BEHIND_SEEKS: usize = 9;
/// Metrics with the factor of their rate: KiB or operations per second.
type Rate = (&'static str, f64);
const BYTES: Rate = ("bandwidth_bytes_per_s", 1024.0);
const COUNT: Rate = ("operations_per_s", 1.0);
/// Tests with the field of their rate and of their largest latency.
const TESTS: [(&str, usize, usize, Rate); 12] = [
    ("write by character", 9, 38, BYTES),
    ("write by block", 11, 39, BYTES),
    ("rewrite", 13, 40, BYTES),
    ("read by character", 15, 41, BYTES),
    ("read by block", 17, 42, BYTES),
    ("seeks", 19, 43, COUNT),
    ("create in order", 26, 44, COUNT),
    ("stat in order", 28, 45, COUNT),
    ("delete in order", 30, 46, COUNT),
    ("create at random", 32, 47, COUNT),
    ("stat at random", 34, 48, COUNT),
    ("delete at random", 36, 49, COUNT),
];
const SETTINGS: [(&str, usize); 6] = [
    ("machine", 2),
    ("concurrency", 3),
    ("file size", 5),
    ("chunk size", 6),
    ("files x1024", 21),
    ("directories", 24),
];

fn is_csv(line: &str) -> bool {
    line.split_once(',').is_some_and(|(version, _)| VERSIONS.contains(&version.trim()))
}

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut mistakes = Mistakes::new(name);
    let mut splitter = Splitter::new();
    let mut runs = Vec::new();
    // A line without a comma belongs to the printed table.
    for (line, text) in lines::lines(text).filter(|(_, line)| line.contains(',')) {
        let good = splitter.split(text).is_ok() && splitter.count() >= FIELDS;
        if !good || !VERSIONS.contains(&splitter.field(0)) {
            let count = splitter.count();
            let expected = format!("expected at least {FIELDS}; the file may be truncated");
            mistakes.on(line, &format!("not a bonnie++ 1.96+ line: {count} fields, {expected}"));
            continue;
        }
        add_runs(line, &splitter, &mut runs, &mut mistakes);
    }
    mistakes.outcome()?;
    ImportedRuns::in_order(runs).require(name, "contains no test with a rate")
}

/// Adds one run per test of a row that ran.
fn add_runs(line: usize, row: &Splitter, runs: &mut Vec<ImportedRun>, mistakes: &mut Mistakes<'_>) {
    // TESTS and SETTINGS have the columns of version 2.00; earlier versions lack two of them.
    let absent = if WITHOUT_SEEKS.contains(&row.field(0)) { 2 } else { 0 };
    let column = |index: usize| if index < BEHIND_SEEKS { index } else { index - absent };
    for (test, rate_column, latency_column, (metric, factor)) in TESTS {
        let cell = |index: usize| {
            let index = column(index);
            Field { line, column: index + 1, name: test, text: row.field(index) }
        };
        let rate = parse(&cell(rate_column), &[("", 1.0)], mistakes);
        let max_latency = parse(&cell(latency_column), &TIMES, mistakes);
        // A test that was not run has neither.
        if rate.is_none() && max_latency.is_none() && !is_too_fast(row.field(column(rate_column))) {
            continue;
        }
        let mut run = ImportedRun::new(test);
        for (name, index) in SETTINGS {
            let level = row.field(column(index));
            if !level.is_empty() {
                run.set(name, level);
            }
        }
        match rate {
            Some(rate) => run.add(metric, Some(rate * factor)),
            None => run.lack(metric, TOO_FAST),
        }
        if max_latency.is_some() {
            run.add("latency_max_ns", max_latency);
        } else if is_too_fast(row.field(column(latency_column))) {
            run.lack("latency_max_ns", TOO_FAST);
        }
        runs.push(run);
    }
}

const TOO_FAST: &str = "too fast to measure (+++++)";

fn is_too_fast(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte == b'+')
}

const TIMES: [(&str, f64); 4] = [("us", 1e3), ("ms", 1e6), ("ns", 1.0), ("s", 1e9)];

/// Reads a number with one of the units; `None` if the field is empty or the test was too fast to time.
fn parse(cell: &Field<'_>, units: &[(&str, f64)], mistakes: &mut Mistakes<'_>) -> Option<f64> {
    if cell.text.is_empty() || is_too_fast(cell.text) {
        return None;
    }
    let found = units.iter().find_map(|(unit, factor)| {
        let number = cell.text.strip_suffix(unit)?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        number.parse::<f64>().ok().filter(|_| digits).map(|number| number * factor)
    });
    if found.is_none() {
        mistakes.at(cell, &format!("`{}` is not a bonnie++ number", quoted(cell.text)));
    }
    found
}
