//! Rows of one device, side by side with their spread and never averaged.

use std::collections::{HashMap, HashSet};

use super::{flat::Flat, numbers::NUMBERS};

#[derive(Clone, Debug)]
pub struct DeviceRows<'a> {
    pub device: &'a str,
    pub rows: Vec<&'a Flat>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub most: f64,
    pub rows: usize,
}

impl Spread {
    pub fn ratio(&self) -> f64 {
        self.most / self.least
    }
}

/// Groups rows of one device: by its name, regardless of spelling, and its size.
pub fn key(device: &str, capacity_gb: Option<f64>) -> String {
    let device = device.to_lowercase();
    let words: Vec<&str> = device.split_whitespace().collect();
    let size = capacity_gb.map(|gb| format!(" {gb:.0} GB")).unwrap_or_default();
    words.join(" ") + &size
}

/// Groups rows by device, in the order of first appearance.
pub fn groups<'a>(rows: impl IntoIterator<Item = &'a Flat>) -> Vec<DeviceRows<'a>> {
    let mut group_indices: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<DeviceRows<'a>> = Vec::new();
    for row in rows {
        let index = *group_indices.entry(key(&row.device, row.capacity_gb)).or_insert_with(|| {
            groups.push(DeviceRows { device: &row.device, rows: Vec::new() });
            groups.len() - 1
        });
        groups[index].rows.push(row);
    }
    groups
}

impl<'a> DeviceRows<'a> {
    /// Rows without duplicates: a row added twice has identical numbers.
    fn measurements(&self) -> Vec<&'a Flat> {
        let mut known = HashSet::new();
        let mut is_new = |row: &'a Flat| {
            let numbers = row.numbers.map(|number| number.map(f64::to_bits));
            known.insert((numbers, &row.date, &row.machine))
        };
        self.rows.iter().copied().filter(|row| is_new(row)).collect()
    }

    pub fn spreads(&self) -> Vec<Option<Spread>> {
        let mut own = self.measurements();
        own.retain(|row| !row.is_invalid());
        (0..NUMBERS.len()).map(|index| spread(&own, index)).collect()
    }
}

fn spread(rows: &[&Flat], index: usize) -> Option<Spread> {
    let values: Vec<f64> = rows.iter().filter_map(|row| row.numbers[index]).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    Some(Spread { least, most, rows: values.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_was_added_twice_counts_once() {
        let row = |reads: f64, machine: &str, claimed: &str| {
            let mut row = Flat { device: "Card".to_owned(), ..Flat::default() };
            (row.machine, row.claimed) = (machine.to_owned(), claimed.to_owned());
            row.numbers[0] = Some(reads);
            row
        };
        let rows = [
            row(90.0, "one", ""),
            row(90.0, "one", "95 MB/s"),
            row(90.0, "another", ""),
            Flat { trust: "foreign invalid".to_owned(), ..row(9.0, "one", "") },
        ];
        let groups = groups(&rows);
        let spread = groups[0].spreads()[0].unwrap();
        assert_eq!(spread, Spread { least: 90.0, most: 90.0, rows: 2 });
    }
}
