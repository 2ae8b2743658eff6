//! The page of a collection: three cards and the rows of the articles.

use std::fs;
use std::path::Path;

use assay_analysis::collection::{CollectionRow, FORMAT, RowValue, file};
use assay_study::findings::Trust;
use serde_json::json;

use super::driver::Browser;
use super::pages::Bench;
use super::{Check, WIDTHS, need};
use crate::lab::Done;

/// Name, reads and writes in MB/s, reads and writes per second.
const CARDS: [(&str, [f64; 4]); 3] = [
    ("Card A", [90e6, 31e6, 1800.0, 300.0]),
    ("Card B", [45e6, 12e6, 900.0, 19.0]),
    ("Card C", [160e6, 88e6, 4100.0, 2200.0]),
];

/// Adds the page of the cards.
pub fn make(bench: &mut Bench) -> Done<()> {
    let folder = bench.folder.join("cards");
    write_cards(&folder)?;
    let folder = folder.display().to_string();
    bench.add("collection", &["collection", "build", "--dir", &folder])
}

fn write_cards(folder: &Path) -> Done<()> {
    let about = "{ \"format\": \"assay-collection/1\" }\n";
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join("collection.json"), about))
        .map_err(|error| error.to_string())?;
    for (name, values) in CARDS {
        let names = ["read_mb_s", "write_mb_s", "read_iops", "write_iops"];
        let measured = names.into_iter().zip(values);
        let row = CollectionRow {
            format: FORMAT.to_owned(),
            device: name.to_owned(),
            capacity_bytes: Some(32_000_000_000),
            claimed: vec!["95 MB/s".to_owned(), "V30".to_owned()],
            price: Some("12.50 GBP".to_owned()),
            measured: measured.map(|(name, value)| (name.to_owned(), number(value))).collect(),
            date: Some("2026-11-24".to_owned()),
            ..CollectionRow::default()
        };
        let (name, text) = file::write(&row)?;
        let path = folder.join("rows").join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A number with its interval, trials and latencies.
fn number(value: f64) -> RowValue {
    RowValue {
        value,
        ci95: Some([value * 0.97, value * 1.03]),
        trust: Some(Trust::Trusted),
        because: Vec::new(),
        how: "4 KiB, depth 1".to_owned(),
        trials: vec![value * 0.99, value, value * 1.01],
        latency_ns: vec![[0.5, 1e6], [0.9, 2e6], [0.99, 9e6], [0.999, 4e7]],
    }
}

pub const CHECKS: [Check; 1] = [("a collection sorts by each of its columns", sorts)];

/// Faults of the order of each column after both clicks: values rise, then fall; absent values are last.
const WRONG: &str = "
const table = document.querySelector('table.collection');
const letters = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
const wrong = [];
[...table.tHead.rows[0].cells].forEach((head, column) => {
  for (const way of ['ascending', 'descending']) {
    head.querySelector('button').click();
    const texts = [...table.tBodies[0].rows].map((row) => row.cells[column].textContent.trim());
    const there = texts.filter((text) => text !== '-');
    const size = (text) => Number(/^[\\d,.]+/.exec(text)[0].replaceAll(',', ''));
    const order = 'words' in head.dataset ? letters.compare : (a, b) => size(a) - size(b);
    const sign = way === 'ascending' ? 1 : -1;
    const sorted = there.every((text, at) => at === 0 || order(there[at - 1], text) * sign <= 0);
    const last = texts.slice(there.length).every((text) => text === '-');
    if (!sorted || !last || head.getAttribute('aria-sort') !== way) wrong.push(`${head.textContent} ${way}: ${texts}`);
  }
});
return wrong.join('; ');";

fn sorts(browser: &Browser, bench: &Bench) -> Done<()> {
    for pixels in WIDTHS {
        browser.at_width(pixels)?;
        browser.open_file(bench.page("collection")?)?;
        let wrong = browser.text(WRONG)?;
        need(wrong.is_empty(), || format!("at {pixels} px: {wrong}"))?;
        let columns = browser.number(
            "return document.querySelector('table.collection').tHead.rows[0].cells.length",
        )?;
        need(columns >= 9.0, || format!("{columns} columns"))?;
        let links = browser.script(
            "return [...document.querySelectorAll('table.collection tbody th a')]
               .every((link) => document.querySelector(link.getAttribute('href')))",
        )?;
        need(links == json!(true), || "a row leads to no evidence".to_owned())?;
    }
    browser.at_own_width()
}
