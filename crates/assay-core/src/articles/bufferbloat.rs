//! "Fixing BufferBloat" and "Pegasus2 Impressions": an uplink before and after a cap, an array by
//! two programs.

use super::judges::{Judge, Topic};
use super::published::{Book, Place, place};
use super::rules::Ruling;
use super::sheet::{Printed, Sheet};
use super::words::percent;
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::quantity::units::show;

const DATA: &str = "anchors.csv";
const FREE: &str = "5 Mbit/s uplink unshaped";
const CAPPED: &str = "5 Mbit/s uplink capped 4 Mbit/s";
const ARRAY: &str = "Pegasus2 R4 RAID5 4x3TB";

pub(super) const TOPIC: Topic = Topic {
    article: "002",
    data: &[DATA],
    judges: &[Judge { claim: "a cap of 4 on a 5 Mbit/s link brings 600 ms to 20 ms", judge: cap }],
    numbers,
};

fn reading(sheet: &Sheet, item: &str) -> Outcome<f64> {
    sheet.one(&[("item", item)])?.positive("value")
}

fn cap(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let [cap, link, before, after]: [Printed; 4] = claim.numbers()?;
    let (free, capped) = (reading(&sheet, FREE)?, reading(&sheet, CAPPED)?);
    let told = format!("{free} ms without the cap, {capped} ms with it");
    if capped >= free {
        return Ok(Ruling::contradicted(format!("{told}: not less.")));
    }
    if !(before.says(free) && after.says(capped)) {
        let (before, after) = (before.value, after.value);
        return Ok(Ruling::contradicted(format!("{told}, not {before} and {after} ms.")));
    }
    Ok(Ruling::not_shown(format!(
        "{told}: {} times less, but two single readings of a web test, with the cap at {} of the \
         link. Without repeats nobody knows what else changed between them.",
        show::times(free / capped),
        percent(cap.value / link.value, 0)
    )))
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    let at = |cap: &str| place("upload", &[("cap", cap)], "latency_under_load_ms");
    let kind = |item: &str| -> Outcome<String> {
        Ok(format!("one reading, {}", sheet.one(&[("item", item)])?.text("kind")?))
    };
    for (cap, item) in [("none", FREE), ("4 Mbit/s", CAPPED)] {
        book.number(&at(cap), reading(&sheet, item)?, &kind(item)?);
        let printed = sheet.one(&[("item", item)])?.text("value")?;
        book.printed(&at(cap), &format!("{printed} ms"));
    }
    book.compare(&at("none"), &at("4 Mbit/s"));
    array(&sheet, book)
}

/// The array's rates: `480 / 475` by two programs, named in the metric.
fn array(sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for row in sheet.rows() {
        if row.text("item")? != ARRAY {
            continue;
        }
        let (metric, values) = (row.text("metric")?, row.text("value")?);
        let operation = metric.split(' ').next().unwrap_or_default();
        let programs = metric.split(['(', ')']).nth(1).unwrap_or_default().split(" / ");
        for (program, text) in programs.zip(values.split(" / ")) {
            let value = Printed::parse(text).ok_or_else(|| row.broken("a rate is no number"))?;
            let at: Place = place(
                &format!("large-file-{operation}"),
                &[("program", program)],
                "bandwidth_bytes_per_s",
            );
            book.number(&at, value.value * 1e6, "one reading");
            book.printed(&at, &format!("{text} MB/s"));
        }
    }
    Ok(())
}
