//! iozone's table: one row per file size and record size. The column identifies the test: skipped ones are blank.

use assay_core::{catalogue::About, failure::Outcome};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "iozone",
        summary: "iozone 3 tables (automatic mode)",
        text: "Each number is one run of one test; file size and record size are factors. The banner states the \
               unit: KiB per second, operations per second or microseconds per operation. Without -e, -c or -I, \
               iozone mostly measures the page cache.",
    },
    recognises: |start| {
        start.lines().take(BANNER).any(|line| column_ends(line).is_some())
            && start.lines().take(BANNER).any(|line| {
                line.trim_start().starts_with("Iozone:")
                    || line.trim_start().starts_with("Output is in")
            })
    },
    reads: Reads::Runs(read),
    unused: &[],
};

const BANNER: usize = 80;
/// Tests in the order of the columns.
const TESTS: &str = "write,rewrite,read,reread,random read,random write,backward read,record rewrite,stride read,\
                     fwrite,frewrite,fread,freread";

#[derive(Clone, Copy)]
enum IozoneUnit {
    Kib,
    Operations,
    Microseconds,
}

/// End position of each column of a header; numbers are right-aligned below it.
fn column_ends(line: &str) -> Option<Vec<usize>> {
    let words = words_with_ends(line);
    let [("kB" | "KB", _), ("reclen", _), ..] = words.as_slice() else { return None };
    Some(words.into_iter().map(|(_, end)| end).collect())
}

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut unit = IozoneUnit::Kib;
    let mut columns: Option<Vec<usize>> = None;
    let mut runs = Vec::new();
    for line in text.lines() {
        let words = line.trim();
        if words.starts_with("Output is in ops/sec") || words.starts_with("OPS Mode") {
            unit = IozoneUnit::Operations;
        } else if words.starts_with("Microseconds/op Mode") {
            unit = IozoneUnit::Microseconds;
        } else if let Some(columns_in_file) = column_ends(line) {
            columns = Some(columns_in_file);
        } else if let Some(columns) = &columns {
            add_row(line, columns, unit, &mut runs);
        }
    }
    let notes = vec![
        "iozone does not report cache use; without -e, -c or -I, it may have measured memory"
            .to_owned(),
    ];
    let missing = "no numeric row below the header; Assay reads only the table of iozone's automatic mode, not of -t";
    ImportedRuns { notes, ..ImportedRuns::in_order(runs) }.require(name, missing)
}

/// Adds a run per value of a line of numbers; ignores other lines. `columns` has the end of each column's name.
fn add_row(line: &str, columns: &[usize], unit: IozoneUnit, runs: &mut Vec<ImportedRun>) {
    if !line.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ' || byte == b'\t') {
        return;
    }
    let words = words_with_ends(line).into_iter();
    let numbers: Vec<(u64, usize)> =
        words.filter_map(|(word, end)| Some((word.parse().ok()?, end))).collect();
    let [(size, _), (record, _), values @ ..] = numbers.as_slice() else { return };
    for (value, end) in values {
        // Values are right-aligned below the tests' names, which follow file and record size.
        let test_ends = columns.iter().skip(2).enumerate();
        let nearest = test_ends.min_by_key(|(_, test_end)| test_end.abs_diff(*end));
        let test = nearest.and_then(|(index, _)| TESTS.split(',').nth(index));
        let Some(test) = test else { continue };
        let mut run = ImportedRun::new(test);
        run.set("file size", format!("{size} KiB"));
        run.set("record size", format!("{record} KiB"));
        match unit {
            IozoneUnit::Kib => run.add("bandwidth_bytes_per_s", Some(*value as f64 * 1024.0)),
            IozoneUnit::Operations => run.add("iops", Some(*value as f64)),
            IozoneUnit::Microseconds => run.add("latency_mean_ns", Some(*value as f64 * 1000.0)),
        }
        run.may_be_buffered(*size as f64 * 1024.0);
        runs.push(run);
    }
}

/// Returns the words of a line with the column behind each.
fn words_with_ends(line: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut end = 0;
    for word in line.split([' ', '\t']) {
        end += word.len();
        found.push((word, end));
        end += 1;
    }
    found.retain(|(word, _)| !word.is_empty());
    found
}
