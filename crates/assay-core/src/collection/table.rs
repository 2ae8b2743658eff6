//! Rows of one device together: shown side by side with their spread, and never made one number.

use std::collections::BTreeMap;

use super::flat::Flat;
use super::numbers::NUMBERS;

/// Rows of one device.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The device as its first row spells it.
    pub device: &'a str,
    /// Its rows, as they came.
    pub rows: Vec<&'a Flat>,
}

/// How far numbers of one device lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How many.
    pub rows: usize,
}

impl Spread {
    /// The largest over the smallest.
    pub fn ratio(&self) -> f64 {
        self.most / self.least
    }
}

/// What two rows of one device have in common: its name, however it is spelled, and its size.
pub fn key(device: &str, capacity_gb: Option<f64>) -> String {
    let words: Vec<String> = device.split_whitespace().map(str::to_lowercase).collect();
    let size = capacity_gb.map(|gb| format!(" {gb:.0} GB")).unwrap_or_default();
    words.join(" ") + &size
}

/// The rows by device, in the order in which devices come first.
pub fn groups<'a>(rows: impl IntoIterator<Item = &'a Flat>) -> Vec<Group<'a>> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows {
        let at = *known.entry(key(&row.device, row.capacity_gb)).or_insert_with(|| {
            groups.push(Group { device: &row.device, rows: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(row);
    }
    groups
}

impl Group<'_> {
    /// The spread of a number over the rows that have it; invalid ones do not count.
    pub fn spread(&self, index: usize) -> Option<Spread> {
        let own = self.rows.iter().filter(|row| !row.is_invalid());
        let values: Vec<f64> = own.filter_map(|row| row.numbers[index]).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Spread { least, most, rows: values.len() })
    }

    /// All spreads, in the order of [`NUMBERS`].
    pub fn spreads(&self) -> Vec<Option<Spread>> {
        (0..NUMBERS.len()).map(|index| self.spread(index)).collect()
    }
}
