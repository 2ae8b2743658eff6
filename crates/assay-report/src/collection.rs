//! Rows of a collection as tables in Markdown, and the columns of pages.

use super::document::{Column, Table};
use super::markdown;
use assay_analysis::collection::flat::{Flat, PUBLISHED};
use assay_analysis::collection::numbers::NUMBERS;
use assay_core::quantity::units::show;

pub use super::html::collection::{Contents, MOST_TOLD, device, device_parts, listing, page};

pub(super) struct Shown {
    pub title: &'static str,
    pub is_number: bool,
    /// Cell text of a row; empty without a value.
    pub text: Box<dyn Fn(&Flat) -> String>,
}

fn text_column(title: &'static str, text: fn(&Flat) -> String) -> Shown {
    Shown { title, is_number: false, text: Box::new(text) }
}

fn number_column(title: &'static str, text: fn(&Flat) -> String) -> Shown {
    Shown { title, is_number: true, text: Box::new(text) }
}

pub(super) fn columns() -> Vec<Shown> {
    let numbers = NUMBERS.iter().enumerate().map(|(index, kind)| Shown {
        title: kind.title,
        is_number: true,
        text: Box::new(move |row| number_text(row, index)),
    });
    let mut columns = vec![
        text_column("device", |row| row.device.clone()),
        number_column("GB", |row| row.capacity_gb.map(show::three_digits).unwrap_or_default()),
        text_column("claimed", claims),
    ];
    columns.extend(numbers);
    columns.extend([
        number_column("J/GiB written", |row| {
            row.energy_j_per_gib.map(show::three_digits).unwrap_or_default()
        }),
        number_column("price/GB", |row| {
            let price = row.price_per_gb.map(show::three_digits);
            price.map(|price| format!("{price} {}", row.currency)).unwrap_or_default()
        }),
        text_column("trust", |row| row.trust.clone()),
        text_column("date", |row| row.date.clone()),
        text_column("machine", |row| row.machine.clone()),
        text_column("by", |row| row.by.clone()),
    ]);
    columns
}

pub(super) fn filled_columns(rows: &[&Flat]) -> Vec<Shown> {
    let has_text = |column: &Shown| rows.iter().any(|row| !(column.text)(row).is_empty());
    columns().into_iter().filter(has_text).collect()
}

fn claims(row: &Flat) -> String {
    if row.reached.is_empty() { row.claimed.clone() } else { row.reached.clone() }
}

/// A number in the unit of its heading; a published row has the author's digits.
fn number_text(row: &Flat, index: usize) -> String {
    let Some(value) = row.numbers[index] else { return String::new() };
    if row.trust == PUBLISHED { value.to_string() } else { in_unit(index, value) }
}

/// A number of a kind in its shown unit.
pub(super) fn in_unit(index: usize, value: f64) -> String {
    let is_rate = NUMBERS.get(index).is_some_and(|kind| kind.unit != 1.0);
    if is_rate { show::mb_per_s(value * 1e6) } else { show::per_second(value) }
}

pub fn markdown(rows: &[&Flat]) -> String {
    let mut table = Table::default();
    for Shown { title, is_number, text } in filled_columns(rows) {
        let column = if is_number { Column::right(title) } else { Column::left(title) };
        table.add(column, rows, |row| Some(text(row)).filter(|text| !text.is_empty()));
    }
    format!("{HOW}\n\n{}\n", markdown::table(&table).join("\n"))
}

pub(super) const HOW: &str = "Each row is one measurement of one device. Published rows keep the author's rounding; \
    Assay did not measure these values. MB are 10^6 bytes; IOPS are 4 KiB operations per second at queue depth 1 \
    unless the row states otherwise.";

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Flat> {
        let mut published = Flat {
            device: "Intel SSD 520".to_owned(),
            trust: PUBLISHED.to_owned(),
            ..Flat::default()
        };
        published.numbers[0] = Some(535.8);
        let mut own = Flat {
            device: "a | <b>card</b>".to_owned(),
            trust: "trusted".to_owned(),
            claimed: "V30".to_owned(),
            reached: "V30 not reached".to_owned(),
            ..Flat::default()
        };
        own.numbers[0] = Some(82.437_1);
        own.numbers[3] = Some(2043.7);
        vec![published, own]
    }

    #[test]
    fn a_price_of_a_gigabyte_has_its_currency() {
        let mut rows = rows();
        rows[1].price_per_gb = Some(0.234);
        rows[1].currency = "GBP".to_owned();
        let text = markdown(&rows.iter().collect::<Vec<_>>());
        assert!(text.contains("price/GB") && text.contains("0\\.23 GBP"), "{text}");
    }

    #[test]
    fn markdown_has_no_marks_of_others() {
        let rows = rows();
        let text = markdown(&rows.iter().collect::<Vec<_>>());
        assert!(
            text.contains("| a \\| &lt;b&gt;card&lt;/b&gt; | V30 not reached | 82\\.4 |"),
            "{text}"
        );
        assert!(text.contains("| device | claimed | read MB/s | write IOPS | trust |"), "{text}");
    }
}
