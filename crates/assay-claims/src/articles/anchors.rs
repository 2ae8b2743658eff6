//! Single readings of the flash cards and drives of the AC100 texts, of an uplink before and after
//! a cap, and of an array by two programs.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::answers::Claim::{NoData, Supported};

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{FEWEST, FRACTION_TOLERANCE, Ruling, fraction, held, is_called, quotient};
use super::sheet::{Printed, Sheet};
use super::words::{percent, several};

const WRITES: &str = "random write 4K";
/// The disk that modules are held against.
const DISK: &str = "5400 rpm laptop disk";
const BEST_CARD: &str = "best SD card (part 1)";
const VENDOR: &str = "InnoDisk miniDOM-U";
/// What a reading is called, beside rules, prose and vendors' figures.
const MEASURED: &str = "measured";
const FREE: &str = "5 Mbit/s uplink unshaped";
const CAPPED: &str = "5 Mbit/s uplink capped 4 Mbit/s";
const ARRAY: &str = "Pegasus2 R4 RAID5 4x3TB";

pub(super) const OF_CARDS: &[Judge] = &[
    ("a 5400 rpm laptop disk does 90 random IOPS and most cards far fewer writes", most_cards),
    ("19 write IOPS is two thirds of the vendor's 30", two_thirds),
];

pub(super) const OF_THE_UPLINK: &[Judge] =
    &[("a cap of 4 on a 5 Mbit/s link brings 600 ms to 20 ms", cap)];

fn most_cards(of: &Case<'_>) -> Outcome<Ruling> {
    let disk = of.sheet.one(&[("item", DISK), ("metric", WRITES)])?;
    let (line, kind) = (disk.positive("value")?, disk.text("kind")?);
    let mut measured = Vec::new();
    for row in of.sheet.rows() {
        let is_reading = row.text("metric")? == WRITES && row.text("kind")? == MEASURED;
        if is_reading && row.text("item")? != DISK {
            measured.extend(row.optional("value")?.map(|printed| printed.value));
        }
    }
    let below = measured.iter().filter(|value| **value < line).count();
    let have = several(measured.len(), "module");
    if measured.len() < FEWEST {
        let because = format!(
            "Random writes of {have} stand in the article as measured, too few to speak of most; \
             its table of cards is elsewhere. The disk's {line} IOPS are: {kind}."
        );
        return Ok(Ruling { verdict: NoData, because });
    }
    let told = format!("{below} of {have} measured stay below the disk's {line} IOPS");
    Ok(held(2 * below > measured.len(), &told, Supported, ".", ": not most."))
}

fn two_thirds(of: &Case<'_>) -> Outcome<Ruling> {
    let writes = |item| of.sheet.one(&[("item", item), ("metric", WRITES)])?.positive("value");
    let (own, vendor) = (writes(BEST_CARD)?, writes(VENDOR)?);
    let wanted = fraction(of.claim.limit('=')?.value);
    let (top, below) = wanted;
    let [share, words] = [own / vendor, quotient(wanted)].map(|share| percent(share, 0));
    let (named, points) = (format!("{top}/{below}, {words}"), 100.0 * FRACTION_TOLERANCE);
    Ok(held(
        is_called(wanted, own / vendor),
        &format!("{own} of {vendor} is {share}"),
        Supported,
        &format!(
            ", within {points:.0} points of {named}: words round to one digit. One reading of a \
             card beside a vendor's figure."
        ),
        &format!(", more than {points:.0} points from {named}."),
    ))
}

fn cap(of: &Case<'_>) -> Outcome<Ruling> {
    let [cap, link, before, after]: [Printed; 4] = of.claim.numbers()?;
    let delay = |item| of.sheet.one(&[("item", item)])?.positive("value");
    let (free, capped) = (delay(FREE)?, delay(CAPPED)?);
    let told = format!("{free} ms without the cap, {capped} ms with it");
    if capped >= free {
        return Ok(Ruling::contradicted(format!("{told}: not less.")));
    }
    if !(before.says(free) && after.says(capped)) {
        let (before, after) = (before.value, after.value);
        return Ok(Ruling::contradicted(format!("{told}, not {before} and {after} ms.")));
    }
    let (times, share) = (show::times(free / capped), percent(cap.value / link.value, 0));
    Ok(Ruling::not_shown(format!(
        "{told}: {times} times less, but two single readings of a web test, with the cap at \
         {share} of the link. Without repeats nobody knows what else changed between them."
    )))
}

pub(super) fn rates_of_cards(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    let at = |metric: &str, item: &str| {
        place(&metric.to_lowercase().replace(' ', "-"), &[("module", item)], "iops")
    };
    for row in sheet.rows() {
        if row.text("unit")? != "IOPS" {
            continue;
        }
        let (at, kind) = (at(row.text("metric")?, row.text("item")?), row.text("kind")?);
        match row.optional("value")? {
            None => book.absent(&at, kind),
            Some(value) => {
                book.number(&at, value.value, kind, &format!("{} IOPS", row.text("value")?));
            }
        }
    }
    book.compare(&at(WRITES, DISK), &at(WRITES, BEST_CARD));
    Ok(())
}

pub(super) fn delays_and_rates(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    let at = |cap: &str| place("upload", &[("cap", cap)], "latency_under_load_ms");
    for (cap, item) in [("none", FREE), ("4 Mbit/s", CAPPED)] {
        let row = sheet.one(&[("item", item)])?;
        let statistic = format!("one reading, {}", row.text("kind")?);
        let printed = format!("{} ms", row.text("value")?);
        book.number(&at(cap), row.positive("value")?, &statistic, &printed);
    }
    book.compare(&at("none"), &at("4 Mbit/s"));
    array(sheet, book)
}

/// The array's rates: `480 / 475` by two programs, named in the metric.
fn array(sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for row in sheet.rows() {
        if row.text("item")? != ARRAY {
            continue;
        }
        let (metric, values) = (row.text("metric")?, row.text("value")?);
        let workload = format!("large-file-{}", metric.split(' ').next().unwrap_or_default());
        let programs = metric.split(['(', ')']).nth(1).unwrap_or_default().split(" / ");
        for (program, text) in programs.zip(values.split(" / ")) {
            let value = Printed::parse(text).ok_or_else(|| row.broken("a rate is no number"))?;
            let at = place(&workload, &[("program", program)], "bandwidth_bytes_per_s");
            book.number(&at, value.value * 1e6, "one reading", &format!("{text} MB/s"));
        }
    }
    Ok(())
}
