//! A collection as pages: a table that sorts and filters; the evidence of many rows is on separate pages per device.

mod evidence;
pub(super) mod listed;

use std::collections::BTreeMap;
use std::ops::Range;

use maud::{Markup, html};

use super::shell;
use crate::collection::HOW;
use assay_analysis::collection::flat::{Flat, PUBLISHED};
use assay_analysis::collection::{CollectionRow, DeviceRows, groups, key};
use assay_core::digest::{hexadecimal, sha256};
use assay_core::{exhibit::figure::id_of, quantity::units::show};

/// Up to this number of rows, a page has their evidence.
pub const MOST_TOLD: usize = 120;
/// Up to this number of rows, a table lists each of them; beyond it, devices.
const MOST_ROWS: usize = 1_000;
const MOST_DEVICES: usize = 1_000;
/// Letters of a hash that distinguish devices with similar names.
const HASH_LETTERS: usize = 8;
const TITLE: &str = "Collection of devices";

#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    pub rows: &'a [Flat],
    /// Available rows with their evidence; at most [`MOST_TOLD`] are used.
    pub whole: &'a [(Flat, CollectionRow)],
    pub refused: &'a [(String, String)],
    pub refused_in_all: usize,
}

/// A part of a page: its anchor, its heading, its content.
type PagePart = (&'static str, &'static str, Markup);

/// A collection as one page: few rows with their evidence, more rows as a table, many rows as a table of devices.
pub fn page(contents: &Contents<'_>) -> String {
    let all: Vec<&Flat> = contents.rows.iter().collect();
    let devices = groups(contents.rows);
    let count = devices.len();
    if contents.rows.len() <= MOST_TOLD.min(contents.whole.len()) {
        let link = |row: &Flat| Some(format!("#{}", evidence::anchor(row)));
        let table = ("table", "Table", listed::rows(&all, &link));
        let evidence = ("evidence", "Evidence", evidence::devices(contents.whole));
        return full_page(contents, count, &html! {}, vec![table, evidence]);
    }
    let more = html! {
        p { "The evidence does not fit on one page. To write one page per device, run "
            code { "assay collection build -o FOLDER" } "." }
    };
    if contents.rows.len() <= MOST_ROWS {
        let table = ("table", "Table", listed::rows(&all, &|_| None));
        return full_page(contents, count, &more, vec![table]);
    }
    // The devices with the most rows: a page cannot have all.
    let mut most = devices;
    most.sort_by_key(|device| std::cmp::Reverse(device.rows.len()));
    most.truncate(MOST_DEVICES);
    let more = html! {
        (more)
        @if most.len() < count {
            p.warn { "Showing the " (show::count(most.len() as u64)) " of " (show::count(count as u64))
                " devices with the most rows. The pages in a folder cover all devices." }
        }
    };
    full_page(contents, count, &more, vec![("table", "Table", listed::devices(&most, &|_| None))])
}

/// The pages that list a collection in a folder, by name: the first one is `index.html`.
pub fn listing(contents: &Contents<'_>) -> Vec<(String, String)> {
    let all: Vec<&Flat> = contents.rows.iter().collect();
    let devices = groups(contents.rows);
    let count = devices.len();
    let of_device = |device: &DeviceRows<'_>| Some(device_page(device, 0));
    if all.len() <= MOST_ROWS {
        let places = places(&devices);
        let of_row = |row: &Flat| places.get(row.file.as_str()).cloned();
        let rows = ("table", "Table", listed::rows(&all, &of_row));
        let devices = ("devices", "Devices", listed::devices(&devices, &of_device));
        return vec![(listing_name(0), full_page(contents, count, &html! {}, vec![rows, devices]))];
    }
    let parts: Vec<&[DeviceRows<'_>]> = devices.chunks(MOST_DEVICES).collect();
    let mut pages = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let links = page_links(index, parts.len(), &listing_name);
        let table = ("table", "Table", listed::devices(part, &of_device));
        pages.push((listing_name(index), full_page(contents, count, &links, vec![table])));
    }
    pages
}

pub fn device_parts(rows: usize) -> Vec<Range<usize>> {
    (0..rows.max(1)).step_by(MOST_TOLD).map(|from| from..rows.min(from + MOST_TOLD)).collect()
}

/// One of the pages of a device in a folder, with its name: all rows in the table, and the given evidence.
pub fn device(
    device: &DeviceRows<'_>,
    index: usize,
    evidence: &[(Flat, CollectionRow)],
) -> (String, String) {
    let count = device_parts(device.rows.len()).len();
    let shown: Vec<&Flat> = evidence.iter().map(|(flat, _)| flat).collect();
    let title = listed::name(device.rows[0]);
    let link = |row: &Flat| Some(format!("#{}", evidence::anchor(row)));
    let within = |index| device_page(device, index).trim_start_matches("devices/").to_owned();
    let body = html! {
        h1 { (title) }
        p { a href="../index.html" { "All devices" } }
        (page_links(index, count, &within))
        @if device.rows.len() > 1 {
            section id="spread" aria-labelledby="spread-h" { h2 id="spread-h" { "Spread" } (listed::spread(device)) }
        }
        section id="table" aria-labelledby="table-h" {
            h2 id="table-h" { "Rows" }
            p { (HOW) }
            (listed::rows(&shown, &link))
        }
        section id="evidence" aria-labelledby="evidence-h" {
            h2 id="evidence-h" { "Evidence" }
            @for (flat, row) in evidence { (evidence::row(flat, row, false)) }
        }
    };
    let names = [("#table".to_owned(), "Rows"), ("#evidence".to_owned(), "Evidence")];
    (device_page(device, index), shell(&title, &names, &body))
}

fn full_page(
    contents: &Contents<'_>,
    devices: usize,
    before: &Markup,
    mut parts: Vec<PagePart>,
) -> String {
    if contents.refused_in_all > 0 {
        parts.push(("left-out", "Skipped", refused(contents)));
    }
    let names: Vec<_> = parts.iter().map(|(id, name, _)| (format!("#{id}"), *name)).collect();
    let body = html! {
        h1 { (TITLE) }
        p.answer { (summary(contents, devices)) }
        p { (HOW) " Rows for one device from several people are listed with their spread and not averaged." }
        (before)
        @for (id, name, markup) in &parts {
            section id=(id) aria-labelledby={ (id) "-h" } { h2 id={ (id) "-h" } { (name) } (markup) }
        }
    };
    shell(TITLE, &names, &body)
}

fn summary(contents: &Contents<'_>, devices: usize) -> String {
    let rows = contents.rows;
    let published = rows.iter().filter(|row| row.trust == PUBLISHED).count();
    let counted = |count: usize, noun: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!("{} {noun}{ending}", show::count(count as u64))
    };
    let left_out = match contents.refused_in_all {
        0 => String::new(),
        1 => " Skipped 1 file that is not a valid row.".to_owned(),
        count => format!(" Skipped {} that are not valid rows.", counted(count, "file")),
    };
    format!(
        "{} of {}: {} measured, {} published.{left_out}",
        counted(rows.len(), "row"),
        counted(devices, "device"),
        show::count((rows.len() - published) as u64),
        show::count(published as u64),
    )
}

fn refused(contents: &Contents<'_>) -> Markup {
    let more = contents.refused_in_all - contents.refused.len().min(contents.refused_in_all);
    html! {
        p { "These files are not valid rows and were not imported." }
        ul { @for (file, why) in contents.refused { li { code { (file) } ": " (why) } } }
        @if more > 0 { p { "And " (show::count(more as u64)) " more." } }
    }
}

fn page_links(index: usize, count: usize, name: &dyn Fn(usize) -> String) -> Markup {
    html! {
        @if count > 1 {
            nav aria-label="Parts" { ul { @for part in 0..count { li {
                @if part == index { strong aria-current="page" { "Part " (part + 1) } }
                @else { a href=(name(part)) { "Part " (part + 1) } }
            } } } }
        }
    }
}

fn listing_name(index: usize) -> String {
    if index == 0 { "index.html".to_owned() } else { format!("index-{}.html", index + 1) }
}

/// Path of a part of a device's page; the hash keeps devices with similar names apart.
fn device_page(device: &DeviceRows<'_>, part: usize) -> String {
    let key = key(device.device, device.rows[0].capacity_gb);
    let hash = hexadecimal(&sha256(&key));
    let hash = &hash[..HASH_LETTERS];
    let mut name = id_of(&["d", &key, hash]);
    // A long name was truncated, with its hash.
    if !name.ends_with(hash) {
        name = format!("{name}-{hash}");
    }
    let part = if part == 0 { String::new() } else { format!("-{}", part + 1) };
    format!("devices/{name}{part}.html")
}

/// Links to the evidence of each row in a folder, by the file name of the row.
fn places<'a>(devices: &[DeviceRows<'a>]) -> BTreeMap<&'a str, String> {
    let mut places = BTreeMap::new();
    for device in devices {
        for (part, range) in device_parts(device.rows.len()).into_iter().enumerate() {
            for row in &device.rows[range] {
                let place = format!("{}#{}", device_page(device, part), evidence::anchor(row));
                places.insert(row.file.as_str(), place);
            }
        }
    }
    places
}

#[cfg(test)]
#[path = "collection/tests.rs"]
mod tests;
