//! References to published numbers that reports print next to measured ones.

use std::collections::BTreeMap;

use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_core::reference::Library;
use assay_core::reference::sheet::{Sheet, SheetRow};
use serde::{Deserialize, Serialize};

use super::Amount;
use super::text::mistakes::{Mistakes, ValuePlaces};
use super::{Study, words};

/// Reference to numbers of a published table, and the workload to compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pointer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub article: Option<String>,
    pub table: String,
    pub row: Vec<String>,
    pub column: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub workload: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<String>,
}

impl Pointer {
    /// Rows of the table that the reference names, at least one, each with its number.
    pub fn rows<'s>(&self, sheet: &'s Sheet) -> Outcome<Vec<SheetRow<'s>>> {
        let is_meant = |row: &SheetRow<'_>| {
            self.row.iter().all(|word| row.cells().iter().any(|cell| cell == word))
        };
        let found: Vec<SheetRow<'_>> = sheet.rows().filter(is_meant).collect();
        if found.is_empty() {
            let words = self.row.join(", ");
            return Err(sheet.broken(&format!("no row contains {words}")));
        }
        for row in &found {
            row.text(&self.column)?;
        }
        Ok(found)
    }

    /// Returns the number in a row as printed: the whole cell, or its part; empty if the cell lacks the part.
    pub fn digits<'r>(&self, row: &SheetRow<'r>) -> Outcome<&'r str> {
        let text = row.text(&self.column)?;
        let Some(part) = self.part else { return Ok(text) };
        // Parts are numbered from 1.
        let index = part.saturating_sub(1) as usize;
        Ok(text.split('/').nth(index).unwrap_or_default().trim())
    }

    pub fn unit<'r>(&'r self, row: &SheetRow<'r>) -> &'r str {
        self.unit.as_deref().unwrap_or_else(|| row.text("unit").unwrap_or_default())
    }

    /// Size of the author's unit in the unit of the metric; `None` for a ratio.
    pub fn unit_size(&self, unit: &str) -> Option<f64> {
        if self.ratio.is_some() {
            return None;
        }
        let one_unit = format!("1 {unit}");
        if let Ok(amount) = one_unit.parse::<Amount>() {
            return Some(amount.in_unit_of(&self.metric));
        }
        one_unit.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64)
    }

    /// Returns the label of a row, with its cells in place of `{column}`.
    pub fn called(&self, row: &SheetRow<'_>) -> String {
        let Some(name) = &self.name else { return self.row.join(", ") };
        let mut text = name.clone();
        for (column, cell) in row.columns().iter().zip(row.cells()) {
            text = text.replace(&format!("{{{column}}}"), cell);
        }
        text
    }
}

pub fn check(study: &Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    let library = Library::shipped();
    for (index, pointer) in study.published.iter().enumerate() {
        let path = format!("published/{index}");
        let mut keys = ["table", "row", "column", "workload", "metric"].iter();
        if keys.any(|key| mistakes.is_wrong(&format!("{path}/{key}"))) {
            continue;
        }
        if let Some((key, message, hint)) = find_mistake(study, pointer, &library) {
            let path = format!("{path}/{key}");
            let span = places.find(&path).value;
            mistakes.add(&path, span, message, hint);
        }
    }
}

/// Returns key, message and hint of the first mistake.
fn find_mistake(
    study: &Study,
    pointer: &Pointer,
    library: &Library,
) -> Option<(&'static str, String, Option<String>)> {
    let names: Vec<&str> = study.workload.iter().map(|work| work.name.as_str()).collect();
    // A row of a class of requests is called `WORKLOAD, CLASS`.
    let workload = pointer.workload.split(", ").next().unwrap_or_default();
    if !names.contains(&workload) {
        let hint = words::did_you_mean(workload, &names);
        return Some(("workload", format!("unknown workload \"{workload}\""), hint));
    }
    let tables: Vec<&str> = library.names().collect();
    let Ok(sheet) = library.sheet(&pointer.table) else {
        let hint = words::did_you_mean(&pointer.table, &tables)
            .unwrap_or_else(|| format!("use one of {}", tables.join(", ")));
        return Some(("table", format!("unknown table {}", pointer.table), Some(hint)));
    };
    if !sheet.columns().contains(&pointer.column) {
        let hint = format!("the columns are {}", sheet.columns().join(", "));
        let message = format!("{} has no column {}", pointer.table, pointer.column);
        return Some(("column", message, Some(hint)));
    }
    let rows = match pointer.rows(&sheet) {
        Ok(rows) => rows,
        Err(failure) => return Some(("row", failure.message, None)),
    };
    let unit = rows.first().map(|row| pointer.unit(row)).unwrap_or_default();
    let fits = pointer.ratio.is_some() || pointer.unit_size(unit).is_some();
    (!fits).then(|| {
        let message = format!("`{unit}` is not a unit of {}", pointer.metric);
        ("unit", message, Some("use a unit such as \"MB/s\", \"ms\" or \"IOPS\"".to_owned()))
    })
}
