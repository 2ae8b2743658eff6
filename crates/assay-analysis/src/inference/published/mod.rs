//! Published numbers next to a study's. They describe another machine, so Assay gives no verdict on them.

mod figure;
mod table;

use assay_core::reference::sheet::{RoundedNumber, Sheet, SheetRow};
use assay_core::{exhibit::Exhibit, failure::Outcome, reference::Library};
use assay_study::findings::Findings;
use assay_study::results::design::{Design, Pointer};
use assay_study::results::plan::Arm;

pub use figure::PUBLISHED;

#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Title of the text that contains it.
    pub article: String,
    pub table: String,
    pub of: String,
    pub workload: String,
    /// Levels of the arms that it belongs to; empty for all arms.
    pub configuration: Arm,
    pub metric: String,
    /// Printed value with its unit: `513349 K/s`; `None` if it is illegible.
    pub text: String,
    /// In the unit of the metric, or as a ratio; `None` if it is not a single number.
    pub value: Option<f64>,
    pub unit: Option<PublishedUnit>,
    /// It is a ratio over the first level of this factor.
    pub ratio: Option<String>,
    /// Statistic of the value: `mean of 5 runs, spread not published`.
    pub statistic: String,
    pub flags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PublishedUnit {
    pub name: String,
    /// Value of one unit, in the unit of the metric.
    pub size: f64,
}

const TOPIC: &str = "published";

/// Tables and figures of published numbers next to the numbers of the study; `None` without published numbers.
pub fn exhibit(found: &Findings, published: &[Published]) -> Option<Exhibit> {
    let groups = table::groups(found, published);
    (!groups.is_empty()).then(|| Exhibit {
        topic: TOPIC.to_owned(),
        title: "next to published results".to_owned(),
        tables: table::tables(found, published, &groups),
        figures: figure::figures(&groups),
        ..Exhibit::default()
    })
}

/// The published numbers that a design names; none for an emulator. Rows missing from newer tables are left out.
pub(super) fn published_numbers(design: &Design, emulated: bool) -> Vec<Published> {
    if emulated || design.published.is_empty() {
        return Vec::new();
    }
    let library = Library::shipped();
    let rows = |pointer: &Pointer| published_rows(&library, pointer).unwrap_or_default();
    design.published.iter().flat_map(rows).collect()
}

fn published_rows(library: &Library, pointer: &Pointer) -> Outcome<Vec<Published>> {
    let sheet = library.sheet(&pointer.table)?;
    pointer.rows(&sheet)?.iter().map(|row| published_row(&sheet, pointer, row)).collect()
}

/// A number of a published table, converted to the unit of the metric.
fn published_row(sheet: &Sheet, pointer: &Pointer, row: &SheetRow<'_>) -> Outcome<Published> {
    let (digits, unit) = (pointer.digits(row)?, pointer.unit(row));
    let size = pointer.unit_size(unit);
    let number = parse_value(digits);
    // A ratio has no unit.
    let (value, unit_text) = match &pointer.ratio {
        Some(_) => (number, ""),
        None => (number.zip(size).map(|(number, size)| number * size), unit),
    };
    // A level is the name of a column, or else the level itself.
    let level = |(factor, level): (&String, &String)| {
        let level = row.text(level).map_or_else(|_| level.clone(), str::to_owned);
        (factor.clone(), level)
    };
    Ok(Published {
        article: pointer.article.clone().unwrap_or_default(),
        table: format!("{}:{}", pointer.table, row.line()),
        of: pointer.called(row),
        workload: pointer.workload.clone(),
        configuration: pointer.at.iter().map(level).collect(),
        metric: pointer.metric.clone(),
        text: format!("{digits} {unit_text}").trim().to_owned(),
        value,
        unit: size.map(|size| PublishedUnit { name: unit.to_owned(), size }),
        ratio: pointer.ratio.clone(),
        statistic: statistic(sheet, row),
        flags: row.flags(&pointer.column),
    })
}

/// A plain number, or a fraction of two of them.
fn parse_value(digits: &str) -> Option<f64> {
    let number = |text: &str| RoundedNumber::parse(text.trim()).map(|printed| printed.value);
    let value = match digits.split_once('/') {
        Some((above, below)) => number(above)? / number(below)?,
        None => number(digits)?,
    };
    Some(value).filter(|value| value.is_finite())
}

/// The row's own statistic, else that of the table's head.
fn statistic(sheet: &Sheet, row: &SheetRow<'_>) -> String {
    let own = row.text("kind").or_else(|_| row.text("statistic")).unwrap_or_default();
    if own.is_empty() { sheet.statistic() } else { own.to_owned() }
}

#[cfg(test)]
mod tests {
    use assay_study::file::presets;

    use super::*;

    fn design(preset: &str) -> Design {
        let study = presets::find(preset).unwrap().unwrap();
        Design { published: study.published, ..Design::default() }
    }

    /// For each preset; the table contains the exact digits.
    #[test]
    fn what_presets_name_is_there_with_its_digits() {
        let library = Library::shipped();
        let mut named = 0;
        for (preset, _) in presets::all() {
            for one in published_numbers(&design(preset), false) {
                named += 1;
                let (table, line) = one.table.split_once(':').unwrap();
                let text = library.text(table).unwrap();
                let row = text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
                let digits = one.text.split(' ').next().unwrap();
                assert!(row.contains(digits), "{preset}: {digits} in {row}");
                assert!(one.value.is_some() && !one.of.contains('{'), "{preset}: {one:?}");
                assert!(!one.statistic.is_empty(), "{preset}: {one:?}");
            }
        }
        assert!(named >= 50, "{named}");
    }

    fn one(preset: &str, of: &str, metric: &str) -> Published {
        let all = published_numbers(&design(preset), false);
        let own = |one: &&Published| one.of == of && one.metric == metric;
        all.iter().find(own).cloned().unwrap_or_else(|| panic!("no {of} in {all:?}"))
    }

    #[test]
    fn digits_and_units_are_the_author_s() {
        let rate = "bandwidth_bytes_per_s";
        let noop = one("schedulers", "noop on ext4", rate);
        assert_eq!((noop.text.as_str(), noop.value), ("513349 K/s", Some(513_349.0 * 1024.0)));
        assert_eq!(noop.statistic, "mean of 5 runs, spread not published");
        let at = |factor: &str, level: &str| (factor.to_owned(), level.to_owned());
        assert_eq!(
            noop.configuration,
            Arm::from([at("filesystem", "ext4"), at("scheduler", "none")])
        );
        let ssd = one("surface", "SSD 520", rate);
        let whole = |one: &Published| one.value.map(f64::round);
        assert_eq!((ssd.text.as_str(), whole(&ssd)), ("535.8 MB/s", Some(535.8e6)));
        let bare = one("compile", "bare metal", "duration_s");
        assert_eq!((bare.text.as_str(), bare.value), ("1042.523 s", Some(1042.523)));
        let access = one("surface", "SSD 520, as \"sub 0.1\"", "latency_mean_ns");
        assert_eq!((access.text.as_str(), whole(&access)), ("0.1 ms", Some(100_000.0)));
        let third = one("energy", "SSD, dd write 16 GB", "energy_j");
        assert_eq!((third.text.as_str(), third.value), ("1/3", Some(1.0 / 3.0)));
        assert_eq!(third.ratio.as_deref(), Some("target"));
        let pegasus = one("large-files", "Pegasus2 R4 RAID5 4x3TB, BlackMagic", rate);
        assert_eq!((pegasus.text.as_str(), whole(&pegasus)), ("530 MB/s", Some(530e6)));
    }

    #[test]
    fn what_could_not_have_been_says_so_and_only_there() {
        let rate = "bandwidth_bytes_per_s";
        let read = design("schedulers");
        let read: Vec<Published> = published_numbers(&read, false)
            .into_iter()
            .filter(|one| one.workload == "sequential-read" && one.of.ends_with("btrfs"))
            .collect();
        assert_eq!(read.len(), 3);
        assert!(read.iter().all(|one| one.flags[0].contains("600 MB/s")), "{read:?}");
        let rewrite = |of: &str| {
            let all = published_numbers(&design("schedulers"), false);
            all.into_iter().find(|one| one.workload == "rewrite" && one.of == of).unwrap().flags
        };
        assert!(rewrite("deadline on xfs")[0].contains("copy"));
        assert!(rewrite("noop on xfs").is_empty() && rewrite("cfq on xfs").is_empty());
        assert!(one("schedulers", "noop on ext4", rate).flags.is_empty());
    }

    #[test]
    fn an_emulator_s_numbers_stand_beside_nobody_s_and_a_lost_row_is_left_out() {
        assert!(published_numbers(&design("surface"), true).is_empty());
        let mut lost = design("surface");
        lost.published[0].row = vec!["no such row".to_owned()];
        assert_eq!(published_numbers(&lost, false).len(), design("surface").published.len() - 1);
    }
}
