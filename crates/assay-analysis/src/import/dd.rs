//! dd's last line: Assay computes the rate from bytes and seconds.

use assay_core::{catalogue::About, failure::Outcome, lines};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "dd",
        summary: "the summary of dd (GNU in any language, busybox, BSD)",
        text: "Each line with bytes and seconds is a run; Assay ignores other lines. Assay computes \
               the rate from bytes and seconds, because dd prints the rate with only two or three \
               digits. The line does not state whether dd read or wrote, or waited for the drive.",
    },
    recognises: |start| lines::lines(start).take(LINES).any(|(_, line)| parse_line(line).is_some()),
    reads: Reads::Runs(read),
    unused: &[("records in, records out", "blocks, whose bytes are read")],
};

const LINES: usize = 50;

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut runs = Vec::new();
    for (bytes, seconds) in lines::lines(text).filter_map(|(_, line)| parse_line(line)) {
        let mut run = ImportedRun::new("copy");
        run.set("bytes", (bytes as u64).to_string());
        run.add("bandwidth_bytes_per_s", (seconds > 0.0).then(|| bytes / seconds));
        run.add("duration_s", Some(seconds));
        run.may_be_buffered(bytes);
        runs.push(run);
    }
    let notes = vec!["dd prints its lines in order".to_owned()];
    let runs = ImportedRuns { notes, ..ImportedRuns::in_order(runs) };
    runs.require(name, "contains no dd summary line; dd prints it to stderr, so add 2>&1")
}

/// Bytes and seconds of a line in any language: `8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.043 s, 195 MB/s`.
fn parse_line(line: &str) -> Option<(f64, f64)> {
    // Progress (status=progress) is rewritten in place.
    let line = line.rsplit('\r').next().unwrap_or(line).trim();
    parse_english(line).or_else(|| parse_translated(line))
}

/// Bytes and seconds of an English summary line: `536870912 bytes (537 MB, 512 MiB) copied, 0.4 s, 1.3 GB/s`.
fn parse_english(line: &str) -> Option<(f64, f64)> {
    let (bytes, rest) = line.split_once(" bytes ")?;
    let bytes = bytes.parse::<u64>().ok()? as f64;
    let marks = ["copied, ", "copied in ", "transferred in "];
    let after = marks.iter().find_map(|mark| Some(rest.split_once(mark)?.1))?;
    let mut words = after.split_whitespace();
    let seconds = decimal(words.next()?)?;
    let unit = words.next()?.trim_end_matches(',');
    ["s", "sec", "secs", "seconds"].contains(&unit).then_some((bytes, seconds))
}

const RATES: [(&str, f64); 5] =
    [("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12), ("B/s", 1.0)];

/// Bytes and seconds of GNU's line in another language; `None` unless they give the printed rate within 10%.
fn parse_translated(line: &str) -> Option<(f64, f64)> {
    let line = line.replace(['\u{ff0c}', '\u{3001}', '\u{a0}', '\u{202f}'], " ");
    let digits = line.find(|sign: char| !sign.is_ascii_digit())?;
    let bytes = line[..digits].parse::<u64>().ok()? as f64;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., seconds, unit, rate, per] = words.as_slice() else { return None };
    let seconds = decimal(seconds).filter(|_| unit.trim_end_matches(',') == "s")?;
    let (_, factor) = RATES.iter().find(|(name, _)| name == per)?;
    let printed_rate = decimal(rate)? * factor;
    let ratio = bytes / seconds / printed_rate;
    (ratio > 0.9 && ratio < 1.1).then_some((bytes, seconds))
}

fn decimal(text: &str) -> Option<f64> {
    let text = text.trim_end_matches(',').replace(',', ".");
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}
