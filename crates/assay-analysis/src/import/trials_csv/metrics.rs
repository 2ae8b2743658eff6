//! Metrics as declared in their cells: `latency:lower`, `errors:lower:difference`.

use std::collections::HashMap;

use assay_core::quantity::{Better, Scale};
use assay_workloads::metrics;

use super::{cells, table::Names};
use crate::import::mistakes::{Field, Mistakes};
use crate::import::words::{advice, quoted};

const NAME_IT: &str = "write the name of the metric, such as `duration_s`";
const WORDS: [&str; 3] = ["lower", "higher", "difference"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Suffix {
    better: Option<Better>,
    scale: Scale,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub name: String,
    /// The first suffix, with its line and cell.
    suffix: Option<(Suffix, usize, String)>,
}

impl Declared {
    pub(super) fn better(&self) -> Better {
        let declared = self.suffix.as_ref().and_then(|(suffix, ..)| suffix.better);
        declared.unwrap_or_else(|| metrics::better(&self.name))
    }

    pub(super) fn scale(&self) -> Scale {
        self.suffix.as_ref().map(|(suffix, ..)| suffix.scale).unwrap_or_default()
    }

    /// The declaration that compares the metric by differences.
    pub(super) fn by_difference(&self) -> String {
        let direction = match self.better() {
            Better::Lower => ":lower",
            Better::Higher => ":higher",
            Better::Unknown => "",
        };
        format!("{}{direction}:difference", self.name)
    }
}

#[derive(Default)]
pub(super) struct Metrics {
    pub all: Vec<Declared>,
    names: Names,
    /// By cell text; `None` for a text whose mistake has been reported.
    cells: HashMap<String, Option<usize>>,
}

impl Metrics {
    /// Index of the metric that a cell names; parses equal cells only once.
    pub(super) fn read(&mut self, cell: &Field<'_>, mistakes: &mut Mistakes<'_>) -> Option<usize> {
        if let Some(known) = self.cells.get(cell.text) {
            return *known;
        }
        let name = mistakes.read(cell, cells::word(cell.text, NAME_IT))?;
        let read = mistakes.read(cell, self.declare(cell));
        self.cells.insert(name.to_owned(), read);
        read
    }

    /// The index of the metric that a cell names; `Err` if its suffix contradicts an earlier one.
    fn declare(&mut self, cell: &Field<'_>) -> Result<usize, String> {
        let mut parts = cell.text.split(':').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err(format!("no name before the colon; {NAME_IT}"));
        }
        let index = self.names.add(name);
        if index == self.all.len() {
            self.all.push(Declared { name: name.to_owned(), suffix: None });
        }
        let suffix = parse_suffix(parts)?;
        contradiction_to_known(name, suffix)?;
        let declared = &mut self.all[index];
        match (&declared.suffix, suffix) {
            (Some((first, line, text)), Some(second)) if *first != second => {
                return Err(format!(
                    "`{}` contradicts `{}` in line {line}; write the same in all rows",
                    quoted(cell.text),
                    quoted(text)
                ));
            }
            (None, Some(first)) => {
                declared.suffix = Some((first, cell.line, cell.text.to_owned()));
            }
            _ => {}
        }
        Ok(index)
    }
}

/// Parses the words after the colons of a metric.
fn parse_suffix<'a>(words: impl Iterator<Item = &'a str>) -> Result<Option<Suffix>, String> {
    let mut found: Option<Suffix> = None;
    for word in words {
        let mut suffix = found.unwrap_or_default();
        let better = match word {
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            "difference" => None,
            _ => {
                return Err(format!(
                    "unknown `{}` after a colon; {}",
                    quoted(word),
                    advice(word, WORDS.into_iter())
                ));
            }
        };
        if better.is_some() && suffix.better.is_some_and(|other| Some(other) != better) {
            return Err("both lower and higher are given; use one of them".to_owned());
        }
        suffix.better = suffix.better.or(better);
        if better.is_none() {
            suffix.scale = Scale::Difference;
        }
        found = Some(suffix);
    }
    Ok(found)
}

/// Fails if a suffix contradicts the better direction of one of Assay's metrics.
fn contradiction_to_known(name: &str, suffix: Option<Suffix>) -> Result<(), String> {
    let Some(known) = metrics::find(name) else { return Ok(()) };
    let declared = suffix.and_then(|suffix| suffix.better);
    if declared.is_none_or(|better| better == known.better) {
        return Ok(());
    }
    let right = if known.better == Better::Lower { "lower" } else { "higher" };
    Err(format!("for `{name}`, {right} is better; write `{name}:{right}`, or use another name"))
}
