//! "Intel SSD 520 Goodness": an SSD beside a disk.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::answers::Claim::NotShown;

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, Place, place};
use super::rules::{Ruling, held, hidden_by_none, scatter_that_hides};
use super::sheet::{Printed, Row, Sheet};
use super::words::list;

const BOOT: &str = "boot";
/// The drive that ratios are against.
const DISK: &str = "hdd";
const SSD: &str = "ssd";

pub(super) const JUDGES: &[Judge] = &[
    ("boot improves by a factor of about 3.2", boot),
    ("a job took the SSD 1/3 to 1/4 of the power of the disk", power),
];

fn boot(of: &Case<'_>) -> Outcome<Ruling> {
    let row = of.sheet.one(&[("test", BOOT)])?;
    let (ssd, disk) = (row.positive(SSD)?, row.positive(DISK)?);
    let [said]: [Printed; 1] = of.claim.numbers()?;
    let ratio = disk / ssd;
    let told = format!("{disk} over {ssd} s is {ratio:.2}");
    if !said.says(ratio) {
        return Ok(Ruling::contradicted(format!("{told}, not {}.", said.value)));
    }
    let cut = if said.is_cut_off(ratio) { ", printed with its digits cut off" } else { "" };
    let hides = of.sheet.mean_of().and_then(|runs| scatter_that_hides(runs, ssd, disk));
    let statistic = of.sheet.statistic();
    Ok(match hidden_by_none(hides, "the difference") {
        Some(so) => Ruling::supported(format!("{told}{cut}. Each is a {statistic}, but {so}.")),
        None => Ruling::not_shown(format!(
            "{told}{cut}. But each is a {statistic}, and that cannot show a difference."
        )),
    })
}

/// The energy of a job over the disk's, as a row prints it: `1/3`.
fn energy(row: Row<'_>) -> Outcome<f64> {
    let energy = row.text("energy_published")?;
    let number = |text| Printed::parse(text).map(|one| one.value).filter(|value| *value > 0.0);
    let parts = energy.split_once('/');
    let found = parts.and_then(|(above, below)| Some(number(above)? / number(below)?));
    found.ok_or_else(|| row.broken(&format!("energy_published is `{energy}`; write it like 1/3")))
}

/// Energy of a job over the disk's, times how much faster it was done, is the mean power over the disk's.
fn power(of: &Case<'_>) -> Outcome<Ruling> {
    let (mut jobs, mut powers, mut more) = (Vec::new(), Vec::new(), false);
    for row in of.sheet.rows() {
        let printed = row.text("energy_published")?;
        if printed.is_empty() {
            continue;
        }
        let (energy, faster) = (energy(row)?, row.positive("ratio_published")?);
        jobs.push(format!("{printed} at {faster} times the speed"));
        powers.push(show::ratio(energy * faster));
        more |= energy * faster > energy;
    }
    if jobs.is_empty() {
        return Err(of.claim.broken("no energy is printed to hold it against"));
    }
    let (jobs, powers) = (list(&jobs), list(&powers));
    let told = format!("{jobs}: the mean power was {powers} times the disk's");
    Ok(held(
        !more,
        "",
        NotShown,
        &format!("{told}; no spread was published."),
        &format!(
            "What was computed is the energy of a job, not power. {told}; the SSD draws more and is \
             done sooner. No voltage is printed, so neither watts nor joules can be had."
        ),
    ))
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

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for row in sheet.rows() {
        let (test, unit) = (row.text("test")?, row.text("unit")?);
        let Some((metric, one)) = metric(unit) else {
            book.absent(&place(test, &[], "current_ma"), row.text("note")?);
            continue;
        };
        let at = |drive: &str| place(test, &[("drive", drive)], metric);
        for drive in [DISK, SSD] {
            if let Some(value) = row.optional(drive)? {
                let printed = format!("{} {unit}", row.text(drive)?);
                book.number(&at(drive), value.value * one, &sheet.statistic(), &printed);
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
