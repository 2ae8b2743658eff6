//! The T221 on one single link and the MacBook's screen in a guest: modes within limits.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::Ruling;
use super::sheet::{Row, Sheet};
use super::words::{digits, percent};
use super::{Claim, Library};
use crate::calc::modeline::{self, Better, Check, Figures, Limits, TIMINGS};
use crate::failure::Outcome;
use crate::presence::Presence;

const DATA: &str = "modelines.csv";
const T221: &str = "3840x2400@17.1";
const MACBOOK: &str = "2880x1800C";
/// Columns of a line in the order in which programs write it.
const LINE: [&str; 9] = [
    "clock_mhz",
    "hdisp",
    "hsyncstart",
    "hsyncend",
    "htotal",
    "vdisp",
    "vsyncstart",
    "vsyncend",
    "vtotal",
];

pub(super) const TOPIC: Topic = Topic {
    article: "000",
    data: &[DATA],
    judges: &[
        Judge { claim: "17.1 Hz is the limit on one single link", judge: highest },
        Judge { claim: "the mode fits the driver's limits", judge: fits },
    ],
    numbers,
};

/// A published mode, checked against its limits; its own clock is the most that is known to work.
fn checked(sheet: &Sheet, name: &str) -> Outcome<Check> {
    let row = sheet.one(&[("name", name)])?;
    let words: Vec<&str> = LINE.iter().map(|column| row.text(column)).collect::<Outcome<_>>()?;
    let line = modeline::parse(&words.join(" ")).map_err(|failure| row.broken(&failure.message))?;
    Ok(modeline::check(line, limits(row)?, &TIMINGS))
}

fn limits(row: Row<'_>) -> Outcome<Limits> {
    let range = |low: &str, high: &str| Ok(Some([row.positive(low)?, row.positive(high)?]));
    Ok(Limits {
        clock_max_mhz: Some(row.positive("clock_mhz")?),
        h_khz: range("hmin_khz", "hmax_khz")?,
        v_hz: range("vmin_hz", "vmax_hz")?,
    })
}

fn rates(figures: &Figures) -> String {
    format!("{} kHz and {} Hz", digits(figures.h_khz, 5), digits(figures.v_hz, 5))
}

fn other(better: &Better) -> String {
    format!(
        "{}: {} Hz at {} MHz ({} x {} in all)",
        better.title,
        digits(better.found.figures.v_hz, 4),
        better.found.mode.clock_text(),
        better.found.mode.h[3],
        better.found.mode.v[3]
    )
}

fn highest(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let check = checked(&sheet, T221)?;
    let own = format!("The line has {}", rates(&check.figures));
    Ok(match &check.better {
        Presence::Present(better) if better.is_better => Ruling::not_shown(format!(
            "{own}, and within the same limits there is more by {}. Whether the monitor takes that \
             blanking is not known: if it does, the published mode is no limit.",
            other(better)
        )),
        Presence::Present(better) => Ruling::supported(format!(
            "{own}, and no formula finds more within the same limits; the best is {}.",
            other(better)
        )),
        Presence::Absent(reason) => Ruling::not_shown(format!("{own}. {reason}.")),
    })
}

fn fits(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let check = checked(&sheet, MACBOOK)?;
    let own = format!("The line has {}", rates(&check.figures));
    if let Some(broken) = check.limits.iter().find(|limit| !limit.fits) {
        return Ok(Ruling::contradicted(format!("{own}, where {} is allowed.", broken.allowed())));
    }
    let active = percent(check.figures.active_percent / 100.0, 1);
    let more = match &check.better {
        Presence::Present(better) if better.is_better => {
            format!(" Within the same limits there is more by {}.", other(better))
        }
        _ => String::new(),
    };
    Ok(Ruling::supported(format!("{own}, within both ranges, with {active} of it shown.{more}")))
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    for name in [T221, MACBOOK] {
        let check = checked(&sheet, name)?;
        let size = format!("{}x{}", check.mode.h[0], check.mode.v[0]);
        let at = |mode: &str| place(&size, &[("mode", mode)], "refresh_hz").higher();
        book.number(&at("published"), check.figures.v_hz, "follows from the published line");
        if let Presence::Present(better) = &check.better {
            let title = format!("computed, {}", better.title);
            book.number(&at(better.timing), better.found.figures.v_hz, &title);
            book.compare(&at("published"), &at(better.timing));
        }
    }
    Ok(())
}
