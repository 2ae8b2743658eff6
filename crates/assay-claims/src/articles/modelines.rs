//! The T221 on one single link and the MacBook's screen in a guest: modes within limits.

use assay_base::calc::modeline::{self, Better, Check, Limits, TIMINGS};
use assay_base::failure::Outcome;
use assay_base::presence::Presence;

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::Ruling;
use super::sheet::{Row, Sheet};
use super::words::{digits, percent};

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

pub(super) const JUDGES: &[Judge] = &[
    ("17.1 Hz is the limit on one single link", highest),
    ("the mode fits the driver's limits", fits),
];

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

/// What a line has.
fn told(check: &Check) -> String {
    let [h, v] = [check.figures.h_khz, check.figures.v_hz].map(|rate| digits(rate, 5));
    format!("The line has {h} kHz and {v} Hz")
}

fn other(Better { title, found, .. }: &Better) -> String {
    let (hz, clock) = (digits(found.figures.v_hz, 4), found.mode.clock_text());
    format!("{title}: {hz} Hz at {clock} MHz ({} x {} in all)", found.mode.h[3], found.mode.v[3])
}

fn highest(of: &Case<'_>) -> Outcome<Ruling> {
    let check = checked(&of.sheet, T221)?;
    let told = told(&check);
    let better = match &check.better {
        Presence::Present(better) => better,
        Presence::Absent(reason) => return Ok(Ruling::not_shown(format!("{told}. {reason}."))),
    };
    let other = other(better);
    Ok(if better.is_better {
        Ruling::not_shown(format!(
            "{told}, and within the same limits there is more by {other}. Whether the monitor takes \
             that blanking is not known: if it does, the published mode is no limit."
        ))
    } else {
        Ruling::supported(format!(
            "{told}, and no formula finds more within the same limits; the best is {other}."
        ))
    })
}

fn fits(of: &Case<'_>) -> Outcome<Ruling> {
    let check = checked(&of.sheet, MACBOOK)?;
    let told = told(&check);
    if let Some(broken) = check.limits.iter().find(|limit| !limit.fits) {
        let allowed = broken.allowed();
        return Ok(Ruling::contradicted(format!("{told}, where {allowed} is allowed.")));
    }
    let active = percent(check.figures.active_percent / 100.0, 1);
    let more = match &check.better {
        Presence::Present(better) if better.is_better => {
            format!(" Within the same limits there is more by {}.", other(better))
        }
        _ => String::new(),
    };
    Ok(Ruling::supported(format!("{told}, within both ranges, with {active} of it shown.{more}")))
}

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for name in [T221, MACBOOK] {
        let check = checked(sheet, name)?;
        let size = format!("{}x{}", check.mode.h[0], check.mode.v[0]);
        let at = |mode: &str| place(&size, &[("mode", mode)], "refresh_hz").higher();
        book.number(&at("published"), check.figures.v_hz, "follows from the published line", "");
        if let Presence::Present(better) = &check.better {
            let title = format!("computed, {}", better.title);
            book.number(&at(better.timing), better.found.figures.v_hz, &title, "");
            book.compare(&at("published"), &at(better.timing));
        }
    }
    Ok(())
}
