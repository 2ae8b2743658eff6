//! Imports numbers of other tools as measurements. An importer only reads a text; it touches no file and judges
//! nothing. A table of trials names its comparison; for other files, `together` finds the settings that vary among all
//! runs of a study.

mod bonnie;
#[cfg(test)]
mod cases;
pub mod criterion;
mod dd;
#[cfg(test)]
mod differential;
mod diskmark;
mod elbencho;
#[cfg(test)]
mod fio_cases;
mod fio_json;
mod fio_log;
mod flent;
pub mod go_bench;
mod head;
mod hyperfine;
mod iozone;
mod json;
mod mistakes;
mod one_run;
mod order;
pub mod pattern;
mod phoronix;
mod prometheus;
mod pytest_benchmark;
pub mod requests;
pub mod run;
mod sysstat;
mod times;
mod tiobench;
mod together;
pub mod trials_csv;
pub(crate) mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use assay_core::failure::{Failure, Outcome};
use assay_core::{catalogue::About, quantity::Better};
use assay_study::file::{DEFAULT_MARGIN, Order};
use assay_study::findings::Measurements;
use assay_study::results::design::{Design, Factor};
use assay_study::results::{imported::Import, plan::Arm};
use assay_workloads::metrics;

pub use one_run::numbers;

use run::ImportedRuns;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Baseline levels; by default those of the first arm.
    pub baseline: Arm,
    /// Equivalence margin as a fraction.
    pub margin: Option<f64>,
    pub primary: Option<String>,
    /// The files were created in the order in which they are named.
    pub in_order: bool,
    pub better: BTreeMap<String, Better>,
}

impl Options {
    pub fn of(import: &Import) -> Self {
        Self {
            baseline: import.baseline.clone(),
            margin: import.margin,
            primary: import.primary.clone(),
            in_order: import.in_order,
            better: import.better.clone(),
        }
    }

    fn design(&self, factors: Vec<Factor>, baseline: Arm, order: Order) -> Design {
        let margin = self.margin.or(Some(DEFAULT_MARGIN.fraction()));
        let primary = self.primary.clone();
        Design { factors, baseline, margin, primary, order, ..Design::default() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub measurements: Measurements,
    /// Assumptions, one sentence each.
    pub notes: Vec<String>,
    /// Number of trials, each counted once regardless of its metrics.
    pub trials: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedFile {
    pub name: String,
    pub arm: Arm,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// A table that names its comparison: a complete study.
    Table(fn(name: &str, text: &str, options: &Options) -> Outcome<Imported>),
    /// Runs of another tool; several files are one study. Messages refer to the text by `name`.
    Runs(fn(name: &str, text: &str) -> Outcome<ImportedRuns>),
    /// Single requests, read line by line: a recording, without a comparison.
    Requests(requests::Begin),
}

#[derive(Clone, Copy, Debug)]
pub struct Importer {
    pub about: About,
    /// Whether only this format begins like this text.
    pub recognises: fn(head: &str) -> bool,
    pub reads: Reads,
    /// Numbers that Assay does not compare: names separated by commas, and the reason. A quoted name is a whole key.
    pub unused: &'static [(&'static str, &'static str)],
}

impl Importer {
    /// Returns the names of numbers that Assay does not compare, with the reason.
    fn unused(&self) -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
        self.unused
            .iter()
            .map(|(names, reason)| (names.split(',').map(str::trim).collect(), *reason))
    }
}

fn mistake_in(name: &str, text: &str) -> Failure {
    Failure::mistake(format!("{name}: {text}"))
}

/// Groups items that are the same, in the order of the first item of each group.
pub(crate) fn grouped<T>(
    items: impl IntoIterator<Item = T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| is_same(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Names the numbers of a text that Assay does not compare; `None` if there are none.
fn unused_note(importer: &Importer, text: &str) -> Option<String> {
    let mut parts = Vec::new();
    for (names, reason) in importer.unused() {
        let found: Vec<&str> = names.into_iter().filter(|name| has_number(text, name)).collect();
        if !found.is_empty() {
            parts.push(format!("{} ({reason})", found.join(", ").replace('"', "")));
        }
    }
    (!parts.is_empty()).then(|| format!("not compared: {}", parts.join("; ")))
}

/// Whether a text contains a name. In JSON, only parts of keys count; a name may include the closing quotation mark.
fn has_number(text: &str, name: &str) -> bool {
    if !text.trim_start().starts_with(['{', '[']) {
        return text.contains(name);
    }
    text.match_indices(name).any(|(at, _)| {
        let after_name = &text[at + name.len()..];
        let after_quote = if name.ends_with('"') {
            Some(after_name)
        } else {
            after_name.split_once('"').map(|(_, after_quote)| after_quote)
        };
        after_quote.is_some_and(|after| after.trim_start().starts_with(':'))
    })
}

/// The default first.
pub static IMPORTERS: &[Importer] = &[
    trials_csv::IMPORTER,
    fio_json::IMPORTER,
    fio_log::IMPORTER,
    hyperfine::IMPORTER,
    bonnie::IMPORTER,
    iozone::IMPORTER,
    tiobench::IMPORTER,
    elbencho::IMPORTER,
    criterion::IMPORTER,
    go_bench::IMPORTER,
    pytest_benchmark::IMPORTER,
    phoronix::IMPORTER,
    dd::IMPORTER,
    diskmark::K,
    diskmark::CRYSTAL,
    flent::IMPORTER,
    sysstat::IMPORTER,
    requests::blkparse::IMPORTER,
    requests::iolog::IMPORTER,
];

/// Bytes at the beginning of a file from which Assay recognizes its format.
pub const HEAD_BYTES: usize = 64 * 1024;
/// Size limit for files of other tools: Assay loads the file several times over into memory.
pub const LARGEST_RUNS_BYTES: u64 = 64 << 20;

fn recognize(text: &str) -> Option<&'static Importer> {
    let head = head::beginning(text);
    IMPORTERS.iter().find(|importer| (importer.recognises)(head))
}

pub fn find(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.about.name == name)
}

/// The importer for a file with this beginning; the one for tables of trials if it may be a table with a mistake. Fails
/// with a description of other unknown files.
pub fn of_bytes(name: &str, head: &[u8]) -> Outcome<&'static Importer> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let text = beginning(head);
    if let Some(importer) = recognize(&text) {
        return Ok(importer);
    }
    match head::describe_unknown(&text) {
        Some(what) => Err(mistake_in(name, &what)),
        None => Ok(&IMPORTERS[0]),
    }
}

/// The common importer of all files of a study; fails without files, for an unknown format, or for two formats.
pub fn of_all(files: &[ImportedFile]) -> Outcome<&'static Importer> {
    let mut first: Option<(&ImportedFile, &'static Importer)> = None;
    for file in files {
        let own = of_bytes(&file.name, &file.bytes)?;
        let (other, known) = *first.get_or_insert((file, own));
        if known.about.name != own.about.name {
            return Err(Failure::mistake(format!(
                "{} is {} and {} is {}; import each file separately, then use assay compare",
                other.name, known.about.name, file.name, own.about.name
            )));
        }
    }
    first.map(|(_, importer)| importer).ok_or_else(|| Failure::mistake("no file given"))
}

/// Reads files of one tool, and notes which metrics are compared by differences or get no verdict.
pub fn read(importer: &Importer, files: &[ImportedFile], options: &Options) -> Outcome<Imported> {
    let mut found = read_files(importer, files, options)?;
    state_directions(&mut found, &options.better)?;
    let zeros = found.measurements.compare_zeros_by_difference(|_| true);
    let series = &found.measurements.series;
    let compares = series.iter().any(|one| one.arm != series[0].arm);
    let zeros: BTreeSet<&str> = zeros.iter().map(|(_, metric)| metric.as_str()).collect();
    if compares && !zeros.is_empty() {
        let names = zeros.into_iter().collect::<Vec<_>>().join(", ");
        found.notes.push(format!("compared by differences because a value is zero: {names}"));
    }
    let unknown = series.iter().filter(|one| compares && !one.better.is_known());
    let unknown: BTreeSet<&str> = unknown.map(|one| one.metric.as_str()).collect();
    for metric in unknown {
        found.notes.push(format!(
            "no verdict for {metric}, because the better direction is unknown; set --better \
             {metric}=higher or --better {metric}=lower"
        ));
    }
    Ok(found)
}

/// Applies the options `--better`; fails for an unused metric and for a contradiction to a known metric.
fn state_directions(found: &mut Imported, stated: &BTreeMap<String, Better>) -> Outcome<()> {
    for (metric, better) in stated {
        let series = &mut found.measurements.series;
        if let Some(known) = metrics::find(metric).filter(|known| known.better != *better) {
            return Err(Failure::mistake(format!(
                "--better {metric}: {} for this metric; remove the option",
                known.better.words()
            )));
        }
        if !series.iter().any(|one| one.metric == *metric) {
            let names: BTreeSet<&str> = series.iter().map(|one| one.metric.as_str()).collect();
            return Err(Failure::mistake(format!(
                "--better {metric}: no run has this metric; {}",
                words::advice(metric, names.iter().copied())
            )));
        }
        for one in series.iter_mut().filter(|one| one.metric == *metric) {
            one.better = *better;
        }
    }
    Ok(())
}

/// Reads one table of trials, or combines the runs of all files; fails for files of single requests.
fn read_files(importer: &Importer, files: &[ImportedFile], options: &Options) -> Outcome<Imported> {
    match importer.reads {
        Reads::Table(read) => {
            let [file] = files else {
                return Err(Failure::mistake("import one table of trials at a time"));
            };
            if let Some((name, level)) = file.arm.iter().next() {
                let text = format!(
                    "a table defines its own factors; add a column factor_{name} with {level} instead of --set \
                     {name}={level}"
                );
                return Err(mistake_in(&file.name, &text));
            }
            read(&file.name, text(&file.name, &file.bytes)?, options)
        }
        Reads::Runs(read) => {
            let mut all = Vec::new();
            for file in files {
                let text = decode(&file.name, &file.bytes)?;
                let mut runs = read(&file.name, &text)?;
                run::add_write_rates(&mut runs.runs);
                runs.notes.extend(unused_note(importer, &text));
                all.push(runs);
            }
            run::name_places(&mut all);
            together::combine(&files.iter().zip(all).collect::<Vec<_>>(), options)
        }
        Reads::Requests(_) => Err(Failure::mistake(format!(
            "{} contains single requests ({}), not numbers to compare; convert it with assay import",
            files.first().map_or("the file", |file| file.name.as_str()),
            importer.about.name
        ))),
    }
}

/// Checks that a file is UTF-8; fails with the line of the first other byte.
pub fn text<'a>(name: &str, bytes: &'a [u8]) -> Outcome<&'a str> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let text = "the text is UTF-16; save the file as UTF-8";
        return Err(mistake_in(&format!("{name}:1:1"), text));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
        Failure::mistake(format!("{name}:{line}:1: the text is not UTF-8; save the file as UTF-8"))
    })
}

type Join = fn([u8; 2]) -> u16;

const UTF_16: [([u8; 2], Join); 2] =
    [([0xff, 0xfe], u16::from_le_bytes), ([0xfe, 0xff], u16::from_be_bytes)];

fn utf_16(bytes: &[u8]) -> Option<String> {
    let (_, join) = UTF_16.iter().find(|(mark, _)| bytes.starts_with(mark))?;
    let units = bytes[2..].chunks_exact(2).map(|pair| join([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks at most `most` bytes; also returns whether the data goes beyond them or is damaged.
fn unpack(bytes: &[u8], most: u64) -> (Vec<u8>, bool) {
    let mut whole = Vec::new();
    let read = flate2::read::GzDecoder::new(bytes).take(most + 1).read_to_end(&mut whole);
    let more = whole.len() as u64 > most;
    whole.truncate(most as usize);
    (whole, more || read.is_err())
}

/// The text of a file in UTF-8 or UTF-16, or in UTF-8 compressed with gzip.
fn decode<'a>(name: &str, bytes: &'a [u8]) -> Outcome<Cow<'a, str>> {
    if bytes.starts_with(&GZIP) {
        let (whole, is_cut) = unpack(bytes, LARGEST_RUNS_BYTES);
        if is_cut {
            let text = "its compressed content is damaged, truncated, or longer than 64 MiB";
            return Err(mistake_in(name, text));
        }
        return text(name, &whole).map(|text| Cow::Owned(text.to_owned()));
    }
    if let Some(text) = utf_16(bytes) {
        return Ok(Cow::Owned(text));
    }
    text(name, bytes).map(|text| Cow::Borrowed(text.trim_start_matches('\u{feff}')))
}

/// The valid text at the beginning of a file.
fn beginning(head: &[u8]) -> String {
    if head.starts_with(&GZIP) {
        return String::from_utf8_lossy(&unpack(head, HEAD_BYTES as u64).0).into_owned();
    }
    utf_16(head)
        .unwrap_or_else(|| String::from_utf8_lossy(head).trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests;
