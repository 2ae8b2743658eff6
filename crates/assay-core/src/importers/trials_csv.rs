//! Tidy trials: a row a trial and metric, a column a setting. All mistakes of a file are told at
//! once, each with its line and field; nothing is dropped or guessed without a word.

mod build;
mod cells;
mod checks;
mod header;
mod metrics;
mod table;

use super::mistakes::Mistakes;
use super::{Imported, Importer, Options, Reads};
use crate::catalogue::About;
use crate::failure::{Failure, Outcome};
use crate::lines::{self, Splitter};

use header::Header;
use table::Table;

/// Bytes of a line: its words are repeated on each page about it.
const LONGEST_LINE: usize = 16 * 1024;

/// The importer.
pub const IMPORTER: Importer = Importer {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV: one row for each trial and metric",
        text: "Columns replicate, workload, metric and value, optionally order and status, and a \
               column factor:NAME for each setting. A metric may be written latency:lower, \
               iops:higher or errors:lower:difference (compared by differences, so that zeros are \
               allowed). A status is ok, failed, disturbed or lead-in, with a reason after a colon. \
               Lines that begin with # are comments.",
    },
    // What has no header of another format is told what is wrong with it here.
    recognises: |_| false,
    reads: Reads::Table(read),
};

/// Reads a file; `name` is what messages call it.
pub fn read(name: &str, text: &str, options: &Options) -> Outcome<Imported> {
    let mut mistakes = Mistakes::of(name);
    for (number, line) in lines::lines(text).filter(|(_, line)| line.len() > LONGEST_LINE) {
        let text = format!("the line has {} bytes: no table of trials has such lines", line.len());
        mistakes.on(number, &text);
    }
    mistakes.outcome()?;
    let mut mistakes = Mistakes::of(name);
    let mut lines = lines::lines(text);
    let mut splitter = Splitter::new();
    let Some((number, first)) = lines.next() else {
        return Err(Failure::mistake(nothing(name, text)));
    };
    let Some(header) = Header::read(number, first, &mut splitter, &mut mistakes) else {
        mistakes.outcome()?;
        return Err(Failure::mistake(nothing(name, text)));
    };
    let mut table = Table::new(&header);
    for (number, line) in lines {
        if !table.read_row(&header, number, line, &mut splitter, &mut mistakes) {
            break;
        }
    }
    checks::check(&header, &table, options, &mut mistakes);
    mistakes.outcome()?;
    Ok(build::build(table, options))
}

fn nothing(name: &str, text: &str) -> String {
    let what = if text.trim().is_empty() { "is empty" } else { "holds only comments" };
    format!(
        "{name}:1:1: the file {what}; write a header and a row for each trial and metric (example: \
         assay import --help)"
    )
}
