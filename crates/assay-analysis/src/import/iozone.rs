//! iozone's table: a row a file size and record size; which test a number is of, its place below the
//! header tells, as tests that were not chosen leave blanks.

use assay_core::catalogue::About;
use assay_core::failure::Outcome;

use super::run::{Run, Runs};
use super::{Importer, Reads, evidence};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "iozone",
        summary: "iozone 3 tables (automatic mode)",
        text: "Each number is one run of one test; file size and record size are factors. The banner states the \
               unit: KiB per second, operations per second or microseconds per operation. Without -e, -c or -I, \
               iozone mostly measures the page cache.",
    },
    recognises: |start| {
        start.lines().take(BANNER).any(|line| header(line).is_some())
            && start.lines().take(BANNER).any(|line| {
                line.trim_start().starts_with("Iozone:")
                    || line.trim_start().starts_with("Output is in")
            })
    },
    reads: Reads::Runs(read),
    unused: &[],
};

const BANNER: usize = 80;
/// Tests in the order of the columns; two lines of header make one name.
const TESTS: [(&str, &str); 13] = [
    ("write", "write"),
    ("rewrite", "rewrite"),
    ("read", "read"),
    ("reread", "reread"),
    ("read", "random read"),
    ("write", "random write"),
    ("read", "backward read"),
    ("rewrite", "record rewrite"),
    ("read", "stride read"),
    ("fwrite", "fwrite"),
    ("frewrite", "frewrite"),
    ("fread", "fread"),
    ("freread", "freread"),
];

#[derive(Clone, Copy)]
enum Unit {
    Kib,
    Operations,
    Microseconds,
}

/// Where each column of a header ends; numbers are set flush right below it.
fn header(line: &str) -> Option<Vec<usize>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let size = words.first().is_some_and(|word| ["kB", "KB"].contains(word));
    let own = size && words.get(1) == Some(&"reclen");
    let ends = || {
        let mut ends = Vec::new();
        let mut inside = false;
        for (at, byte) in line.bytes().chain([b' ']).enumerate() {
            if inside && byte == b' ' {
                ends.push(at);
            }
            inside = byte != b' ';
        }
        ends
    };
    own.then(ends)
}

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let mut unit = Unit::Kib;
    let mut columns: Option<Vec<usize>> = None;
    let mut runs = Vec::new();
    for line in text.lines() {
        let words = line.trim();
        if words.starts_with("Output is in ops/sec") || words.starts_with("OPS Mode") {
            unit = Unit::Operations;
        } else if words.starts_with("Microseconds/op Mode") {
            unit = Unit::Microseconds;
        } else if let Some(found) = header(line) {
            columns = Some(found);
        } else if let Some(columns) = &columns {
            row(line, columns, unit, &mut runs);
        }
    }
    let notes = vec![
        "iozone does not report cache use; without -e, -c or -I, it may have measured memory"
            .to_owned(),
    ];
    let missing = "no numeric row below the header; Assay reads only the table of iozone's automatic mode, not of -t";
    Runs { notes, ..Runs::in_order(runs) }.require(name, missing)
}

fn row(line: &str, columns: &[usize], unit: Unit, runs: &mut Vec<Run>) {
    let plain = line.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ' || byte == b'\t');
    let numbers = placed(line);
    if !plain || numbers.len() < 3 {
        return;
    }
    let [size, record] = [numbers[0].1, numbers[1].1];
    for (end, value) in &numbers[2..] {
        // Flush right below the name of its column: the nearest end.
        let near = columns.iter().enumerate().skip(2).min_by_key(|(_, at)| at.abs_diff(*end));
        let Some((_, test)) = near.and_then(|(at, _)| TESTS.get(at - 2)) else { continue };
        let mut run = Run::new(*test);
        run.set("file size", format!("{size} KiB"));
        run.set("record size", format!("{record} KiB"));
        match unit {
            Unit::Kib => run.add("bandwidth_bytes_per_s", Some(*value as f64 * 1024.0)),
            Unit::Operations => run.add("iops", Some(*value as f64)),
            Unit::Microseconds => run.add("latency_mean_ns", Some(*value as f64 * 1000.0)),
        }
        evidence::may_be_buffered(&mut run, size as f64 * 1024.0);
        runs.push(run);
    }
}

fn placed(line: &str) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    let mut from = None;
    for (at, byte) in line.bytes().chain([b' ']).enumerate() {
        match (byte.is_ascii_digit(), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                found.extend(line[start..at].parse::<u64>().ok().map(|value| (at, value)));
                from = None;
            }
            _ => {}
        }
    }
    found
}
