//! The flash cards and drives of the AC100 texts, and the array: single numbers in prose.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::{FEWEST, FRACTION_TOLERANCE, Ruling, fraction, is_called};
use super::sheet::{Row, Sheet};
use super::words::{percent, several};
use super::{Claim, Library};
use crate::failure::Outcome;

const DATA: &str = "anchors.csv";
const WRITES: &str = "random write 4K";
/// The disk that modules are held against.
const DISK: &str = "5400 rpm laptop disk";
const BEST_CARD: &str = "best SD card (part 1)";
const VENDOR: &str = "InnoDisk miniDOM-U";
/// What a reading is called, beside rules, prose and vendors' figures.
const MEASURED: &str = "measured";

pub(super) const TOPIC: Topic = Topic {
    article: "000",
    data: &[DATA],
    judges: &[
        Judge {
            claim: "a 5400 rpm laptop disk does 90 random IOPS and most cards far fewer writes",
            judge: most_cards,
        },
        Judge { claim: "19 write IOPS is two thirds of the vendor's 30", judge: two_thirds },
    ],
    numbers,
};

fn writes<'a>(sheet: &'a Sheet, item: &str) -> Outcome<Row<'a>> {
    sheet.one(&[("item", item), ("metric", WRITES)])
}

fn most_cards(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let disk = writes(&sheet, DISK)?;
    let (line, kind) = (disk.positive("value")?, disk.text("kind")?);
    let mut measured = Vec::new();
    for row in sheet.rows() {
        let is_reading = row.text("metric")? == WRITES && row.text("kind")? == MEASURED;
        if is_reading && row.text("item")? != DISK {
            measured.extend(row.optional("value")?.map(|printed| printed.value));
        }
    }
    let below = measured.iter().filter(|value| **value < line).count();
    let have = several(measured.len(), "module");
    if measured.len() < FEWEST {
        return Ok(Ruling::no_data(format!(
            "Random writes of {have} stand in the article as measured, too few to speak of most; \
             its table of cards is elsewhere. The disk's {line} IOPS are: {kind}."
        )));
    }
    let told = format!("{below} of {have} measured stay below the disk's {line} IOPS");
    Ok(if 2 * below > measured.len() {
        Ruling::supported(format!("{told}."))
    } else {
        Ruling::contradicted(format!("{told}: not most."))
    })
}

fn two_thirds(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let own = writes(&sheet, BEST_CARD)?.positive("value")?;
    let vendor = writes(&sheet, VENDOR)?.positive("value")?;
    let wanted = fraction(claim.limit('=')?.value);
    let (top, below) = wanted;
    let told = format!("{own} of {vendor} is {}", percent(own / vendor, 0));
    let named = format!("{top}/{below}, {}", percent(f64::from(top) / f64::from(below), 0));
    let points = format!("{:.0} points", 100.0 * FRACTION_TOLERANCE);
    Ok(if is_called(wanted, own / vendor) {
        Ruling::supported(format!(
            "{told}, within {points} of {named}: words round to one digit. One reading of a card \
             beside a vendor's figure."
        ))
    } else {
        Ruling::contradicted(format!("{told}, more than {points} from {named}."))
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    for row in sheet.rows() {
        let (item, metric) = (row.text("item")?, row.text("metric")?);
        if row.text("unit")? != "IOPS" {
            continue;
        }
        let workload = metric.to_lowercase().replace(' ', "-");
        let at = place(&workload, &[("module", item)], "iops");
        match row.optional("value")? {
            Some(value) => {
                book.number(&at, value.value, row.text("kind")?);
                book.printed(&at, &format!("{} IOPS", row.text("value")?));
            }
            None => book.absent(&at, row.text("kind")?),
        }
        if metric == WRITES && item == BEST_CARD {
            book.compare(&place(&workload, &[("module", VENDOR)], "iops"), &at);
        }
    }
    let base = |item: &str| place("random-write-4k", &[("module", item)], "iops");
    book.compare(&base(DISK), &base(BEST_CARD));
    Ok(())
}
