//! "Intel SSD 520 Goodness": an SSD beside a disk.

use super::judges::{Judge, Topic};
use super::published::{Book, Place, place};
use super::rules::{BELIEVABLE_SCATTER, Ruling, scatter_that_hides};
use super::sheet::{Printed, Row};
use super::words::{list, percent};
use super::{Claim, Library};
use crate::failure::Outcome;

const DATA: &str = "ssd520.csv";
const BOOT: &str = "boot";
/// The drive that ratios are against.
const DISK: &str = "hdd";
const SSD: &str = "ssd";

pub(super) const TOPIC: Topic = Topic {
    article: "003",
    data: &[DATA],
    judges: &[
        Judge { claim: "boot improves by a factor of about 3.2", judge: boot },
        Judge { claim: "a job took the SSD 1/3 to 1/4 of the power of the disk", judge: power },
    ],
    numbers,
};

fn boot(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let row = sheet.one(&[("test", BOOT)])?;
    let (ssd, disk) = (row.positive(SSD)?, row.positive(DISK)?);
    let [said]: [Printed; 1] = claim.numbers()?;
    let ratio = disk / ssd;
    let told = format!("{disk} over {ssd} s is {ratio:.2}");
    if !said.says(ratio) {
        return Ok(Ruling::contradicted(format!("{told}, not {}.", said.value)));
    }
    let cut = if said.is_cut_off(ratio) { ", printed with its digits cut off" } else { "" };
    let hides = sheet.mean_of().and_then(|runs| scatter_that_hides(runs, ssd, disk));
    let statistic = sheet.statistic();
    Ok(match hides {
        Some(scatter) if scatter > BELIEVABLE_SCATTER => Ruling::supported(format!(
            "{told}{cut}. Each is a {statistic}, but the runs would have to scatter by {} to hide \
             the difference, and {} is the most that is believed of them.",
            percent(scatter, 0),
            percent(BELIEVABLE_SCATTER, 0)
        )),
        _ => Ruling::not_shown(format!(
            "{told}{cut}. But each is a {statistic}, and that cannot show a difference."
        )),
    })
}

/// Energy of a job over the disk's, times how much faster it was done, is the mean power over the disk's.
fn power(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let (mut jobs, mut ratios) = (Vec::new(), Vec::new());
    for row in sheet.rows() {
        let energy = row.text("energy_published")?;
        if energy.is_empty() {
            continue;
        }
        let wrong = || row.broken(&format!("energy_published is `{energy}`; write it like 1/3"));
        let (above, below) = energy.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| Printed::parse(text).map(|one| one.value).ok_or_else(wrong);
        let (above, below) = (number(above)?, number(below)?);
        if above <= 0.0 || below <= 0.0 {
            return Err(wrong());
        }
        let faster = row.positive("ratio_published")?;
        jobs.push(format!("{energy} at {faster} times the speed"));
        ratios.push((above / below, above / below * faster));
    }
    if ratios.is_empty() {
        return Err(claim.broken(&format!("{DATA} has no energy to hold it against")));
    }
    let powers: Vec<String> =
        ratios.iter().map(|(_, power)| crate::quantity::units::show::ratio(*power)).collect();
    let told = format!("{}: the mean power was {} times the disk's", list(&jobs), list(&powers));
    Ok(if ratios.iter().any(|(energy, power)| power > energy) {
        Ruling::contradicted(format!(
            "What was computed is the energy of a job, not power. {told}; the SSD draws more and is \
             done sooner. No voltage is printed, so neither watts nor joules can be had."
        ))
    } else {
        Ruling::not_shown(format!("{told}; no spread was published."))
    })
}

/// Metric of a row with what one of its unit is in the unit of the metric.
fn metric(unit: &str) -> Option<(&'static str, f64)> {
    match unit {
        "s" | "speedup" => Some(("duration_s", 1.0)),
        "MB/s" => Some(("bandwidth_bytes_per_s", 1e6)),
        "ms" => Some(("latency_mean_ns", 1e6)),
        _ => None,
    }
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    for row in sheet.rows() {
        let test = row.text("test")?;
        let Some((metric, unit)) = metric(row.text("unit")?) else {
            book.absent(&place(test, &[], "current_ma"), row.text("note")?);
            continue;
        };
        let at = |drive: &str| place(test, &[("drive", drive)], metric);
        for drive in [DISK, SSD] {
            if let Some(value) = row.optional(drive)? {
                book.number(&at(drive), value.value * unit, &sheet.statistic());
                let printed = format!("{} {}", row.text(drive)?, row.text("unit")?);
                book.printed(&at(drive), &printed);
            }
        }
        compared(row, [&at(DISK), &at(SSD)], book)?;
    }
    Ok(())
}

/// The two drives, by their numbers or by the ratio that was printed: how many times faster.
fn compared(row: Row<'_>, [disk, ssd]: [&Place; 2], book: &mut Book) -> Outcome<()> {
    if row.optional(DISK)?.is_some() {
        book.compare(disk, ssd);
        return Ok(());
    }
    let printed = row.text("ratio_published")?;
    let rate = row.text("unit")? == "MB/s";
    if let Some(Printed { value, .. }) = Printed::parse(printed).filter(|one| one.value > 0.0) {
        let ratio = if rate { value } else { 1.0 / value };
        let text =
            format!("{}: {printed} times as fast as the disk, as printed.", row.text("test")?);
        book.ratio(disk, ssd, ratio, text);
    }
    Ok(())
}
