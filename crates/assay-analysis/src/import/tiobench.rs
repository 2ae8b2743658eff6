//! tiobench.pl's tables: one section per kind of access, one row per run.

use assay_core::{catalogue::About, failure::Outcome, quantity::Better};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "tiobench",
        summary: "tiobench.pl tables",
        text: "Each row is a run; identifier, sizes and threads are factors. 1 MB is 2^20 bytes. \
               tiobench runs all threads of a row at once, and the rows in sequence.",
    },
    recognises: |start| {
        let mut lines = start.lines().map(str::trim);
        lines.any(|line| SECTIONS.contains(&line)) && start.contains("Identifier")
    },
    reads: Reads::Runs(read),
    unused: &[
        ("(CPU%), CPU%", "processor time, of which the rate per share is read"),
        (">2s, >10s", "shares of slow operations"),
    ],
};

const SECTIONS: [&str; 4] =
    ["Sequential Reads", "Random Reads", "Sequential Writes", "Random Writes"];
const FIELDS: usize = 10;
const SETTINGS: [(&str, usize); 3] = [("file size MB", 0), ("block size", 1), ("threads", 2)];

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut section: Option<&str> = None;
    let mut runs = Vec::new();
    for line in text.lines() {
        let plain = line.trim();
        if SECTIONS.contains(&plain) {
            section = Some(plain);
            continue;
        }
        let (Some(section), Some((identifier, fields))) = (section, parse(line)) else { continue };
        let mut run = ImportedRun::new(section.to_lowercase());
        run.set("identifier", identifier);
        for (name, column) in SETTINGS {
            run.set(name, fields[column]);
        }
        // After the settings: MB/s, CPU %, mean and maximum latency in ms, two shares of slow requests, CPU efficiency.
        let number = |column: usize| fields[column].trim_end_matches('%').parse::<f64>().ok();
        run.add("bandwidth_bytes_per_s", number(3).map(|mb| mb * 1_048_576.0));
        run.add("latency_mean_ns", number(5).map(|ms| ms * 1e6));
        run.add("latency_max_ns", number(6).map(|ms| ms * 1e6));
        run.add_as("mb_per_cpu_share", Better::Higher, number(9));
        run.values.retain(|metric| metric.value.is_some());
        runs.push(run);
    }
    ImportedRuns::in_order(runs).require(name, "no tiobench section has a row")
}

/// The identifier and the fields of a row; asterisks are missing values.
fn parse(line: &str) -> Option<(&str, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let from = words.len().checked_sub(FIELDS).filter(|from| *from > 0)?;
    let number =
        |word: &&str| word.trim_end_matches('%').parse::<f64>().is_ok() || word.contains('*');
    let fields = words[from..].to_vec();
    fields.iter().all(number).then(|| (words[0], fields))
}
