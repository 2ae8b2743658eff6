//! "File Vault 2 on the 2011 MacBook Air": 10 GiB written and read, with and without encryption.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::{BELIEVABLE_SCATTER, Ruling, is_beyond_scatter};
use super::sheet::{Printed, Sheet};
use super::words::{change, list, percent};
use super::{Claim, Library};
use crate::failure::Outcome;

const DATA: &str = "encryption.csv";
const OPERATIONS: [&str; 2] = ["read", "write"];

pub(super) const TOPIC: Topic = Topic {
    article: "002",
    data: &[DATA],
    judges: &[
        Judge { claim: "reads take a 5.5 % hit and writes 8.1 %", judge: hits },
        Judge { claim: "CPU was about the same with and without encryption", judge: processor },
    ],
    numbers,
};

/// One number of an operation without and with encryption.
fn pair(sheet: &Sheet, operation: &str, column: &str) -> Outcome<[f64; 2]> {
    let of = |state| sheet.one(&[("state", state), ("op", operation)])?.positive(column);
    Ok([of("off")?, of("on")?])
}

/// Encrypted over plain.
fn ratios(sheet: &Sheet, column: &str) -> Outcome<[f64; 2]> {
    let ratio = |operation: &str| {
        let [off, on] = pair(sheet, operation, column)?;
        Ok(on / off)
    };
    Ok([ratio(OPERATIONS[0])?, ratio(OPERATIONS[1])?])
}

fn hits(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let said: [Printed; 2] = claim.numbers()?;
    let longer = ratios(&sheet, "seconds")?.map(|ratio| ratio - 1.0);
    let slower = ratios(&sheet, "bytes_per_s")?.map(|ratio| 1.0 - ratio);
    let gives =
        |costs: [f64; 2]| said.iter().zip(costs).all(|(said, cost)| said.says(100.0 * cost));
    let shown = |costs: [f64; 2]| list(&costs.map(|cost| percent(cost, 2)));
    let (time, rate) = (shown(longer), shown(slower));
    let both = format!("{time} of the time, {rate} of the bandwidth");
    let printed = list(&said.map(|one| format!("{} %", one.value)));
    Ok(match (gives(longer), gives(slower)) {
        (false, false) => {
            Ruling::contradicted(format!("Reads and writes lost {both}: neither gives {printed}."))
        }
        (by_time, _) => Ruling::not_shown(format!(
            "{printed} are costs of {}: reads and writes lost {both}. Each rests on one run, so no \
             difference is shown.",
            if by_time { "time, not of bandwidth" } else { "bandwidth, not of time" }
        )),
    })
}

fn processor(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let pairs = [pair(&sheet, OPERATIONS[0], "cpu_s")?, pair(&sheet, OPERATIONS[1], "cpu_s")?];
    let sum = |state: usize| pairs[0][state] + pairs[1][state];
    let changed = |[off, on]: [f64; 2]| change(on / off, ["more", "less"]);
    let told = format!(
        "Reads took {} processor time with encryption, writes {}, both together {}",
        changed(pairs[0]),
        changed(pairs[1]),
        changed([sum(0), sum(1)])
    );
    let runs = sheet.mean_of();
    let differs =
        |[off, on]: &[f64; 2]| runs.is_some_and(|runs| is_beyond_scatter(runs, *off, *on));
    let statistic = sheet.statistic();
    Ok(if pairs.iter().any(differs) {
        Ruling::contradicted(format!(
            "{told}. Each is a {statistic}, and the runs would have to scatter by more than {} to \
             hide such a difference.",
            percent(BELIEVABLE_SCATTER, 0)
        ))
    } else {
        Ruling::not_shown(format!(
            "{told}. Each number is {statistic}, which shows neither that two things are the same \
             nor that they differ."
        ))
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    const COLUMNS: [(&str, &str, &str); 3] = [
        ("bytes_per_s", "bandwidth_bytes_per_s", "bytes/s"),
        ("seconds", "duration_s", "s"),
        ("cpu_s", "cpu_s", "s"),
    ];
    let sheet = library.sheet(DATA)?;
    let statistic = sheet.statistic();
    for (column, metric, unit) in COLUMNS {
        for operation in OPERATIONS {
            let at = |state: &str| place(operation, &[("encryption", state)], metric);
            let [off, on] = pair(&sheet, operation, column)?;
            for (state, value) in [("off", off), ("on", on)] {
                book.number(&at(state), value, &statistic);
                let printed = sheet.one(&[("state", state), ("op", operation)])?.text(column)?;
                book.printed(&at(state), &format!("{printed} {unit}"));
            }
            book.compare(&at("off"), &at("on"));
        }
    }
    Ok(())
}
