//! Pages of collections: their content and size.

use std::collections::BTreeMap;

use super::*;
use assay_analysis::collection::published;
use assay_analysis::collection::{FORMAT, RowValue};
use assay_study::findings::Trust;
use assay_testkit::expected::Expected;

/// A row with every possible field at maximum length.
fn full(index: usize) -> (Flat, CollectionRow) {
    let number = |value: f64| RowValue {
        value,
        ci95: Some([value * 0.97, value * 1.03]),
        trust: Some(Trust::Suspect),
        because: vec!["cached".to_owned(), "a rule of tomorrow".to_owned()],
        how: "h".repeat(120),
        trials: vec![value; 200],
        latency_ns: vec![[0.5, 1e6], [0.9, 2e6], [0.99, 9e6], [0.999, 40e6]],
    };
    let names = assay_analysis::collection::numbers::NUMBERS.iter().map(|kind| kind.name);
    let measured: BTreeMap<String, RowValue> =
        names.map(|name| (name.to_owned(), number(1e6 + index as f64))).collect();
    let row = CollectionRow {
        format: FORMAT.to_owned(),
        device: format!("{}{index}", "D".repeat(100)),
        capacity_bytes: Some(64_000_000_000),
        claimed: vec!["95 MB/s".to_owned(), "V30".to_owned(), "A1".to_owned()],
        price: Some("12.50 GBP".to_owned()),
        measured,
        date: Some("2026-11-24".to_owned()),
        machine: "m".repeat(120),
        by: Some("b".repeat(120)),
        ..CollectionRow::default()
    };
    (Flat::new(&format!("rows/{index:02}/{index:032}.json"), &row), row)
}

fn contents(whole: &[(Flat, CollectionRow)], told: usize) -> String {
    let rows: Vec<Flat> = whole.iter().map(|(flat, _)| flat.clone()).collect();
    let refused = [("rows/zz/<script>x".to_owned(), "it is <b>no</b> row".to_owned())];
    page(&Contents { rows: &rows, whole: &whole[..told], refused: &refused, refused_in_all: 3 })
}

#[test]
fn every_row_leads_to_its_evidence_and_ids_are_unique() {
    let mut whole: Vec<(Flat, CollectionRow)> = published::rows()
        .into_iter()
        .enumerate()
        .map(|(index, row)| (Flat::new(&format!("published row {index}"), &row), row))
        .collect();
    whole.extend((0..3).map(full));
    let text = contents(&whole, whole.len());
    for (flat, _) in &whole {
        let anchor = evidence::anchor(flat);
        assert!(text.contains(&format!("href=\"#{anchor}\"")), "{anchor}");
        assert_eq!(text.matches(&format!(" id=\"{anchor}\"")).count(), 1, "{anchor}");
    }
    // Two programs measured the Pegasus: the page has both and their spread.
    assert!(text.contains("spread of Pegasus2 R4 RAID5 4x3TB, 9000 GB"), "no spread");
    assert!(text.contains(">535.8<") && text.contains(">539.5<"), "the author's digits");
    assert!(text.contains("cached: ") && text.contains("a rule of tomorrow"), "reasons of trust");
    assert!(
        text.contains("V30: cannot be determined (at least 30 MB/s"),
        "claims of suspect numbers"
    );
    assert_eq!(text.matches("<script>").count(), 1, "the page's own");
    assert!(text.contains("rows/zz/&lt;script&gt;x") && text.contains("And 2 more"), "left out");
}

#[test]
#[ignore = "nightly: 2 s"]
fn no_page_outgrows_its_bound_however_long_rows_are() {
    const MOST_BYTES: usize = 3_200_000;
    let whole: Vec<(Flat, CollectionRow)> = (0..5_000).map(full).collect();
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
    // Every device has a page, with a link in the list.
    for own in groups(&rows).iter().step_by(97) {
        let (name, page) = device(own, 0, &whole[..1]);
        assert!(pages.iter().any(|(_, list)| list.contains(&format!("href=\"{name}\""))), "{name}");
        assert!(page.contains("href=\"../index.html\""));
    }
}

#[test]
fn many_rows_of_one_device_are_divided() {
    let whole: Vec<(Flat, CollectionRow)> = (0..=2 * MOST_TOLD)
        .map(full)
        .map(|(flat, row)| {
            let device = "../../<b>x".to_owned();
            (Flat { device: device.clone(), ..flat }, CollectionRow { device, ..row })
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

/// Rows of several kinds: published, with each rating, by somebody else, with a price, without an interval.
fn mixed() -> Vec<(Flat, CollectionRow)> {
    let mut rows: Vec<CollectionRow> = published::rows().into_iter().take(4).collect();
    let number = |value: f64, trust, ci95| RowValue {
        value,
        ci95,
        trust,
        because: if trust == Some(Trust::Trusted) { Vec::new() } else { vec!["cached".to_owned()] },
        how: "random, 4 KiB".to_owned(),
        trials: vec![value * 0.9, value * 1.1],
        latency_ns: vec![[0.5, 1e6], [0.99, 9e6]],
    };
    let row = |device: &str, trust, reads: f64, ci95| CollectionRow {
        format: FORMAT.to_owned(),
        device: device.to_owned(),
        capacity_bytes: Some(64_000_000_000),
        claimed: vec!["95 MB/s".to_owned(), "A1".to_owned()],
        price: Some("12.80 GBP".to_owned()),
        measured: [
            ("read_mb_s".to_owned(), number(reads * 1e6, trust, ci95)),
            ("write_iops".to_owned(), number(600.0, Some(Trust::Trusted), Some([590.0, 610.0]))),
        ]
        .into(),
        date: Some("2026-11-24".to_owned()),
        machine: "Linux 6.1, a processor, a place".to_owned(),
        filesystem: "ext4".to_owned(),
        by: Some("somebody".to_owned()),
        ..CollectionRow::default()
    };
    rows.push(row("Card", Some(Trust::Trusted), 96.0, Some([94.0, 98.0])));
    rows.push(row("card", Some(Trust::Suspect), 80.0, None));
    rows.push(CollectionRow { foreign: true, ..row("Card", Some(Trust::Invalid), 9.0, None) });
    rows.push(CollectionRow {
        claimed: Vec::new(),
        price: None,
        by: None,
        ..row("Alone & <b>", None, 50.0, None)
    });
    let flat = |(index, row): (usize, CollectionRow)| {
        (Flat::new(&format!("rows/{index}.json"), &row), row)
    };
    rows.into_iter().enumerate().map(flat).collect()
}

fn told(page: &str) -> String {
    const BEGIN: [&str; 13] = [
        "section", "h1", "h2", "h3", "h4", "p", "table", "tr", "dl", "div", "figure", "g",
        "details",
    ];
    let from = page.find("<main").unwrap();
    let own = page[from..page.find("</main>").unwrap()].to_owned();
    let divided = BEGIN
        .iter()
        .fold(own, |text, tag| text.replace(&format!("><{tag}"), &format!(">\n<{tag}")));
    divided + "\n"
}

/// `UPDATE_EXPECT=1` rewrites the files.
#[test]
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn pages_look_as_expected() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/collection");
    let whole = mixed();
    let rows: Vec<Flat> = whole.iter().map(|(flat, _)| flat.clone()).collect();
    let refused = [("rows/zz/x".to_owned(), "not a row".to_owned())];
    let of = |whole: &[(Flat, CollectionRow)], refused_in_all| {
        page(&Contents { rows: &rows, whole, refused: &refused, refused_in_all })
    };
    let devices = groups(&rows);
    let card = devices.iter().position(|own| own.device == "Card").unwrap();
    let own: Vec<(Flat, CollectionRow)> =
        whole.iter().filter(|(flat, _)| flat.device.to_lowercase() == "card").cloned().collect();
    let mut files = Expected::default();
    for (name, page) in [
        ("all", of(&whole, 1)),
        ("without-evidence", of(&[], 2)),
        ("device", device(&devices[card], 0, &own).1),
        (
            "list",
            listing(&Contents { rows: &rows, whole: &[], refused: &[], refused_in_all: 0 })
                .remove(0)
                .1,
        ),
    ] {
        let (path, found) = (format!("{folder}/{name}.html"), told(&page));
        files.hold(path, &found);
    }
}
