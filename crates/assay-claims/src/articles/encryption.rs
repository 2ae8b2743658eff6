//! "File Vault 2 on the 2011 MacBook Air": 10 GiB written and read, with and without encryption.

use assay_base::failure::Outcome;
use assay_study::findings::answers::Claim::NotShown;

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{BELIEVABLE_SCATTER, Ruling, held, is_beyond_scatter};
use super::sheet::{Printed, Sheet};
use super::words::{change, list, percent};

const OPERATIONS: [&str; 2] = ["read", "write"];
const STATES: [&str; 2] = ["off", "on"];

pub(super) const JUDGES: &[Judge] = &[
    ("reads take a 5.5 % hit and writes 8.1 %", hits),
    ("CPU was about the same with and without encryption", processor),
];

/// One number of reads and of writes, each without and with encryption.
fn pairs(sheet: &Sheet, column: &str) -> Outcome<[[f64; 2]; 2]> {
    let one = |op, state| sheet.one(&[("state", state), ("op", op)])?.positive(column);
    let pair = |op| -> Outcome<[f64; 2]> { Ok([one(op, STATES[0])?, one(op, STATES[1])?]) };
    Ok([pair(OPERATIONS[0])?, pair(OPERATIONS[1])?])
}

fn hits(of: &Case<'_>) -> Outcome<Ruling> {
    let said: [Printed; 2] = of.claim.numbers()?;
    let longer = pairs(&of.sheet, "seconds")?.map(|[off, on]| on / off - 1.0);
    let slower = pairs(&of.sheet, "bytes_per_s")?.map(|[off, on]| 1.0 - on / off);
    let gives =
        |costs: [f64; 2]| said.iter().zip(costs).all(|(said, cost)| said.says(100.0 * cost));
    let [time, rate] = [longer, slower].map(|costs| list(&costs.map(|cost| percent(cost, 2))));
    let printed = list(&said.map(|one| format!("{} %", one.value)));
    let lost = format!("{time} of the time, {rate} of the bandwidth");
    let of_what = if gives(longer) { "time, not of bandwidth" } else { "bandwidth, not of time" };
    Ok(held(
        gives(longer) || gives(slower),
        "",
        NotShown,
        &format!(
            "{printed} are costs of {of_what}: reads and writes lost {lost}. Each rests on one run, \
             so no difference is shown."
        ),
        &format!("Reads and writes lost {lost}: neither gives {printed}."),
    ))
}

fn processor(of: &Case<'_>) -> Outcome<Ruling> {
    let pairs = pairs(&of.sheet, "cpu_s")?;
    let sums = [0, 1].map(|state| pairs[0][state] + pairs[1][state]);
    let [reads, writes, both] =
        [pairs[0], pairs[1], sums].map(|[off, on]| change(on / off, ["more", "less"]));
    let (runs, statistic) = (of.sheet.mean_of(), of.sheet.statistic());
    let differs =
        |[off, on]: &[f64; 2]| runs.is_some_and(|runs| is_beyond_scatter(runs, *off, *on));
    let believed = percent(BELIEVABLE_SCATTER, 0);
    Ok(held(
        !pairs.iter().any(differs),
        &format!(
            "Reads took {reads} processor time with encryption, writes {writes}, both together \
             {both}"
        ),
        NotShown,
        &format!(
            ". Each number is {statistic}, which shows neither that two things are the same nor \
             that they differ."
        ),
        &format!(
            ". Each is a {statistic}, and the runs would have to scatter by more than {believed} \
             to hide such a difference."
        ),
    ))
}

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    const COLUMNS: [(&str, &str, &str); 3] = [
        ("bytes_per_s", "bandwidth_bytes_per_s", "bytes/s"),
        ("seconds", "duration_s", "s"),
        ("cpu_s", "cpu_s", "s"),
    ];
    for (column, metric, unit) in COLUMNS {
        for operation in OPERATIONS {
            let at = |state: &str| place(operation, &[("encryption", state)], metric);
            for state in STATES {
                let row = sheet.one(&[("state", state), ("op", operation)])?;
                let printed = format!("{} {unit}", row.text(column)?);
                book.number(&at(state), row.positive(column)?, &sheet.statistic(), &printed);
            }
            book.compare(&at("off"), &at("on"));
        }
    }
    Ok(())
}
