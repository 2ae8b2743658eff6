//! Pages of collections: what stands on them, and how large they get.

use std::collections::BTreeMap;

use super::*;
use assay_core::collection::published;
use assay_core::collection::{FORMAT, Number};
use assay_core::findings::Trust;

/// A row with everything that one can have, as long as it may be.
fn full(index: usize) -> (Flat, Row) {
    let number = |value: f64| Number {
        value,
        ci95: Some([value * 0.97, value * 1.03]),
        trust: Some(Trust::Suspect),
        because: vec!["cached".to_owned(), "a rule of tomorrow".to_owned()],
        how: "h".repeat(120),
        trials: vec![value; 200],
        latency_ns: vec![[0.5, 1e6], [0.9, 2e6], [0.99, 9e6], [0.999, 40e6]],
    };
    let names = assay_core::collection::numbers::NUMBERS.iter().map(|kind| kind.name);
    let measured: BTreeMap<String, Number> =
        names.map(|name| (name.to_owned(), number(1e6 + index as f64))).collect();
    let row = Row {
        format: FORMAT.to_owned(),
        device: format!("{}{index}", "D".repeat(100)),
        capacity_bytes: Some(64_000_000_000),
        claimed: vec!["95 MB/s".to_owned(), "V30".to_owned(), "A1".to_owned()],
        price: Some("12.50 GBP".to_owned()),
        measured,
        date: Some("2026-11-24".to_owned()),
        machine: "m".repeat(120),
        by: Some("b".repeat(120)),
        ..Row::default()
    };
    (Flat::of(&format!("rows/{index:02}/{index:032}.json"), &row), row)
}

fn contents(whole: &[(Flat, Row)], told: usize) -> String {
    let rows: Vec<Flat> = whole.iter().map(|(flat, _)| flat.clone()).collect();
    let refused = [("rows/zz/<script>x".to_owned(), "it is <b>no</b> row".to_owned())];
    page(&Contents { rows: &rows, whole: &whole[..told], refused: &refused, refused_in_all: 3 })
}

#[test]
fn every_row_leads_to_its_evidence_and_ids_are_unique() {
    let mut whole: Vec<(Flat, Row)> = published::rows()
        .into_iter()
        .enumerate()
        .map(|(index, row)| (Flat::of(&format!("published row {index}"), &row), row))
        .collect();
    whole.extend((0..3).map(full));
    let text = contents(&whole, whole.len());
    for (flat, _) in &whole {
        let anchor = evidence::anchor(flat);
        assert!(text.contains(&format!("href=\"#{anchor}\"")), "{anchor}");
        assert_eq!(text.matches(&format!(" id=\"{anchor}\"")).count(), 1, "{anchor}");
    }
    // Two programs measured the Pegasus: side by side, and how far they lie apart.
    assert!(text.contains("spread of Pegasus2 R4 RAID5 4x3TB, 9000 GB"), "no spread");
    assert!(text.contains(">535.8<") && text.contains(">539.5<"), "the author's digits");
    assert!(text.contains("cached: ") && text.contains("a rule of tomorrow"), "reasons of trust");
    assert!(text.contains("V30: not reached (at least 30 MB/s"), "claims");
    assert_eq!(text.matches("<script>").count(), 1, "the page's own");
    assert!(text.contains("rows/zz/&lt;script&gt;x") && text.contains("And 2 more"), "left out");
}

#[test]
fn no_page_outgrows_its_bound_however_long_rows_are() {
    const MOST_BYTES: usize = 3_000_000;
    let whole: Vec<(Flat, Row)> = (0..5_000).map(full).collect();
    for (count, told) in [(MOST_TOLD, MOST_TOLD), (MOST_ROWS, MOST_TOLD), (5_000, MOST_TOLD)] {
        let size = contents(&whole[..count], told).len();
        assert!(size < MOST_BYTES, "{count} rows: {size} bytes");
    }
    let rows: Vec<Flat> = whole.iter().map(|(flat, _)| flat.clone()).collect();
    let contents = Contents { rows: &rows, whole: &[], refused: &[], refused_in_all: 0 };
    let pages = listing(&contents);
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["index.html", "index-2.html"]);
    assert!(pages.iter().all(|(_, page)| page.len() < MOST_BYTES));
    // Every device has its page, and the list leads to it.
    for own in groups(&rows).iter().step_by(97) {
        let (name, page) = device(own, 0, &whole[..1]);
        assert!(pages.iter().any(|(_, list)| list.contains(&format!("href=\"{name}\""))), "{name}");
        assert!(page.contains("href=\"../index.html\""));
    }
}

#[test]
fn many_rows_of_one_device_are_divided() {
    let whole: Vec<(Flat, Row)> = (0..=2 * MOST_TOLD)
        .map(full)
        .map(|(flat, row)| {
            let device = "../../<b>x".to_owned();
            (Flat { device: device.clone(), ..flat }, Row { device, ..row })
        })
        .collect();
    let rows: Vec<Flat> = whole.iter().map(|(flat, _)| flat.clone()).collect();
    let devices = groups(&rows);
    let parts = device_parts(devices[0].rows.len());
    assert_eq!(parts.len(), 3);
    let (name, page) = device(&devices[0], 2, &whole[parts[2].clone()]);
    assert!(name.starts_with("devices/d-b-x-64-gb-") && name.ends_with("-3.html"), "{name}");
    assert!(page.contains("Part 3") && page.contains("&lt;b&gt;x") && !page.contains("<b>x"));
    let first = page.find("Part 1").unwrap();
    assert!(page[..first].ends_with(&format!("href=\"{}\">", &device_page(&devices[0], 0)[8..])));
}
