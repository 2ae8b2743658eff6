//! The first rows of every collection: device figures from the source articles.

use std::collections::BTreeMap;

use assay_core::lines::{Splitter, lines};

use super::numbers;
use super::row::{CollectionRow, FORMAT, PublishedRow, RowValue};

const TABLE: &str = include_str!("../../reference/collection.csv");

/// The rows of the bundled table, without checks. A column without text is a missing number.
pub fn rows() -> Vec<CollectionRow> {
    let split_fields = |line: &str| {
        let mut splitter = Splitter::new();
        // A bundled line with an unclosed quote becomes a row without fields, which the test finds.
        let _ = splitter.split(line);
        (0..splitter.count()).map(|index| splitter.field(index).to_owned()).collect::<Vec<_>>()
    };
    let mut lines = lines(TABLE).map(|(_, line)| split_fields(line));
    let titles = lines.next().unwrap_or_default();
    let parse_row = |fields: Vec<String>| {
        let field = |title: &str| {
            let index = titles.iter().position(|column| column == title)?;
            fields.get(index).filter(|field| !field.is_empty()).cloned()
        };
        let measured: BTreeMap<String, RowValue> = numbers::NUMBERS
            .iter()
            .filter_map(|kind| {
                let value = field(kind.name)?.parse::<f64>().ok()? * kind.unit;
                Some((kind.name.to_owned(), RowValue { value, ..RowValue::default() }))
            })
            .collect();
        let capacity_gb: Option<u64> = field("capacity_gb").and_then(|gb| gb.parse().ok());
        CollectionRow {
            format: FORMAT.to_owned(),
            device: field("device").unwrap_or_default(),
            capacity_bytes: capacity_gb.map(|gb| gb * 1_000_000_000),
            claimed: field("claimed")
                .map(|text| text.split("; ").map(str::to_owned).collect())
                .unwrap_or_default(),
            measured,
            published: Some(PublishedRow {
                article: field("article").unwrap_or_default(),
                title: field("title").unwrap_or_default(),
                kind: field("kind").unwrap_or_default(),
            }),
            ..CollectionRow::default()
        }
    };
    lines.map(parse_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::file;

    /// Figures of the same devices from the other reference tables.
    const ANCHORS: &str = include_str!("../../../../reference/anchors.csv");
    const SSD: &str = include_str!("../../../../reference/ssd520.csv");

    #[test]
    fn every_published_row_is_one_and_its_digits_stand_in_the_reference() {
        let rows = rows();
        assert_eq!(rows.len(), 9);
        let stands = |digits: &str| [ANCHORS, SSD].iter().any(|table| table.contains(digits));
        for row in &rows {
            file::write(row).unwrap_or_else(|error| panic!("{}: {error}", row.device));
            assert!(!row.measured.is_empty() || !row.claimed.is_empty(), "{}", row.device);
            for (name, number) in &row.measured {
                let shown = number.value / numbers::find(name).unwrap().unit;
                assert!(stands(&shown.to_string()), "{}: {name} {shown}", row.device);
            }
        }
        let ssd = rows.iter().find(|row| row.device == "Intel SSD 520").unwrap();
        let read = ssd.measured["read_mb_s"].value;
        assert!((read - 535.8e6).abs() < 1.0, "{read}");
    }
}
