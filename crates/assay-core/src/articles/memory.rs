//! "Alleviating Memory Pressure on Toshiba AC100": what a smaller stack limit saves.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::Ruling;
use super::{Claim, Library};
use crate::failure::Outcome;

const DATA: &str = "memory.csv";
const STACK: &str = "stack soft limit";
/// What was measured for Assay follows this word in the remark of a row.
const MEASURED: &str = "measured:";

pub(super) const TOPIC: Topic = Topic {
    article: "000",
    data: &[DATA],
    judges: &[Judge {
        claim: "a 256 KB stack limit saves a rather substantial amount of memory",
        judge: stack,
    }],
    numbers,
};

fn stack(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let row = sheet.one(&[("item", STACK)])?;
    let limit = format!("{} {}", row.printed("value")?.value, row.text("unit")?);
    let told = row.text("flag")?.split_once(MEASURED).map(|(_, rest)| rest.trim());
    let aside = told.map_or_else(String::new, |told| format!(" Measured since: {told}."));
    Ok(match row.optional("recomputed")? {
        Some(saved) => Ruling::not_shown(format!(
            "One number, {}, stands for what the limit of {limit} saves, without repeats.{aside}",
            saved.value
        )),
        None => Ruling::no_data(format!(
            "The article names the limit of {limit} and no number for what it saves.{aside}"
        )),
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    let row = sheet.one(&[("item", STACK)])?;
    let at = place("stack-limit", &[("stack", "256 KB")], "peak_rss_bytes");
    if row.optional("recomputed")?.is_none() {
        book.absent(&at, "the article gives no number for what it saves");
    }
    Ok(())
}
