//! The highest refresh rate within limits, a mode at a rate, and the check of a line.

use serde::Serialize;

use super::cvt::Timing;
use super::forms::Forms;
use super::limits::shown;
use super::{CheckedLimit, Figures, Limits, Mode, ModeLine};
use crate::failure::{Failure, Outcome};
use crate::presence::Presence;

/// Rates are tried in steps of this: a tenth of 1 Hz.
const STEPS_PER_HZ: f64 = 10.0;
/// Highest rate of the search, in steps.
pub(super) const MOST_STEPS: u32 = 100_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingRow {
    pub timing: &'static str,
    pub title: String,
    pub found: Presence<SolvedMode>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolvedMode {
    /// Requested rate; the clock's steps lower the real one a little.
    pub nominal_hz: f64,
    pub mode: Mode,
    pub figures: Figures,
    pub limits: Vec<CheckedLimit>,
    pub forms: Forms,
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Highest {
    pub task: &'static str,
    #[serde(rename = "size_pixels")]
    pub size: [u32; 2],
    pub limits: Limits,
    pub best: &'static str,
    pub timings: Vec<TimingRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct At {
    pub task: &'static str,
    #[serde(rename = "size_pixels")]
    pub size: [u32; 2],
    pub refresh_hz: f64,
    pub limits: Limits,
    pub timings: Vec<TimingRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModeCheck {
    pub task: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub mode: Mode,
    pub figures: Figures,
    pub fits: bool,
    pub limits: Vec<CheckedLimit>,
    pub forms: Forms,
    pub better: Presence<BetterMode>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BetterMode {
    /// Whether it refreshes at least 0.1 Hz faster, or fits while the line does not.
    pub is_better: bool,
    pub timing: &'static str,
    pub title: String,
    pub found: SolvedMode,
}

/// The highest refresh of a size under each timing, in steps of 0.1 Hz.
pub fn highest(size: [u32; 2], limits: Limits, timings: &[Timing]) -> Outcome<Highest> {
    if limits.is_empty() {
        return Err(Failure::mistake(
            "no limit given; use --clock, --h, --v or --edid, or --refresh for a mode at a fixed rate",
        ));
    }
    let mut searches: Vec<(Timing, SearchResult)> = Vec::new();
    let mut best: Option<(Timing, f64)> = None;
    for timing in timings {
        let result = find_highest(*timing, size, &limits);
        if let Ok((rate, _)) = &result
            && best.is_none_or(|(_, highest)| *rate > highest)
        {
            best = Some((*timing, *rate));
        }
        searches.push((*timing, result));
    }
    let Some((best, _)) = best else { return Err(nothing_fits(size, &searches)) };
    let row = |search: &(Timing, SearchResult)| timing_row(search.0, size, &limits, &search.1);
    let timings = searches.iter().map(row).collect();
    Ok(Highest { task: "highest_refresh", size, limits, best: best.name(), timings })
}

/// The mode of a size at a rate under each timing; fails if no timing has a mode.
pub fn at(size: [u32; 2], refresh_hz: f64, limits: Limits, timings: &[Timing]) -> Outcome<At> {
    let rows = timings.iter().map(|timing| {
        let mode = timing.mode(size, refresh_hz).map(|mode| (refresh_hz, mode));
        timing_row(*timing, size, &limits, &mode.ok_or_else(|| no_time(*timing, refresh_hz)))
    });
    let timings: Vec<TimingRow> = rows.collect();
    if timings.iter().all(|row| row.found.value().is_none()) {
        return Err(Failure::mistake(timings[0].found.reason().unwrap_or_default()));
    }
    Ok(At { task: "at_refresh", size, refresh_hz, limits, timings })
}

/// Checks a line against limits and looks for a better mode.
pub fn check(line: ModeLine, limits: Limits, timings: &[Timing]) -> ModeCheck {
    let ModeLine { name, mode } = line;
    let figures = mode.figures();
    let judged = limits.judge(&figures);
    let fits = judged.iter().all(|judged| judged.fits);
    let better = find_better(&mode, &figures, fits, limits, timings);
    let forms = Forms::new(&mode, name.as_deref(), None);
    ModeCheck { task: "check", name, forms, fits, limits: judged, better, figures, mode }
}

/// The fastest mode within the limits; it is better if it is faster, or if the line does not fit.
fn find_better(
    mode: &Mode,
    figures: &Figures,
    fits: bool,
    limits: Limits,
    timings: &[Timing],
) -> Presence<BetterMode> {
    if limits.is_empty() {
        return Presence::absent("no limits given, so Assay cannot search for a better mode");
    }
    if mode.interlace || mode.doublescan {
        return Presence::absent(
            "the search covers only progressive modes, and this line is interlaced or doublescan",
        );
    }
    let highest = match highest([mode.h[0], mode.v[0]], limits, timings) {
        Ok(highest) => highest,
        Err(failure) => return Presence::absent(failure.message),
    };
    let best = highest.timings.into_iter().find(|row| row.timing == highest.best);
    let Some(TimingRow { timing, title, found: Presence::Present(found) }) = best else {
        return Presence::absent("no timing fits");
    };
    // At least one step of the search faster, but for rounding.
    let is_faster = found.figures.v_hz >= figures.v_hz + 1.0 / STEPS_PER_HZ - 1e-9;
    Presence::Present(BetterMode { is_better: is_faster || !fits, timing, title, found })
}

/// The row of a timing: its mode with figures, or the reason why there is none.
fn timing_row(timing: Timing, size: [u32; 2], limits: &Limits, found: &SearchResult) -> TimingRow {
    let found = match found {
        Ok((rate, mode)) => {
            let figures = mode.figures();
            Presence::Present(SolvedMode {
                nominal_hz: *rate,
                limits: limits.judge(&figures),
                figures,
                forms: Forms::new(mode, None, Some((timing, *rate))),
                remarks: timing.remarks(size, *rate),
                mode: mode.clone(),
            })
        }
        Err(stop) => Presence::absent(stop.text.clone()),
    };
    TimingRow { timing: timing.name(), title: timing.title(), found }
}

/// A timing's nominal rate with its mode, or why there is none.
type SearchResult = Result<(f64, Mode), NoMode>;

/// Why a timing has no mode, and by which share of a limit the nearest mode exceeds it.
#[derive(Debug)]
struct NoMode {
    text: String,
    share: f64,
}

fn no_time(timing: Timing, rate_hz: f64) -> NoMode {
    let text = format!(
        "{} has no mode at {} Hz: too little time for the lines or the sync pulse; use another rate, size or timing",
        timing.name(),
        shown(rate_hz)
    );
    NoMode { text, share: f64::INFINITY }
}

fn nothing_fits(size: [u32; 2], searches: &[(Timing, SearchResult)]) -> Failure {
    let reasons = searches.iter().filter_map(|(_, found)| found.as_ref().err());
    let nearest = reasons.min_by(|one, other| one.share.total_cmp(&other.share));
    let text = nearest.map_or("no timing was tried", |reason| &reason.text);
    Failure::mistake(format!("no refresh rate fits {}x{}: {text}", size[0], size[1]))
}

/// Finds the highest step whose mode fits.
fn find_highest(timing: Timing, size: [u32; 2], limits: &Limits) -> SearchResult {
    let mode = |step: u32| {
        let rate = f64::from(step) / STEPS_PER_HZ;
        timing.mode(size, rate).map(|mode| (rate, mode))
    };
    let fitting = (1..=highest_step(size, limits)).rev().filter_map(mode).find(|(_, mode)| {
        let figures = mode.figures();
        limits.judge(&figures).iter().all(|judged| judged.fits)
    });
    fitting.ok_or_else(|| explain_no_mode(timing, limits, mode))
}

/// Upper bound of the search, in steps: the rate at the limits without blanking, plus the most by which the nominal
/// rate exceeds the real one: blanking lines (at most 64 assumed), a clock step, and 1 Hz of reserve.
fn highest_step(size: [u32; 2], limits: &Limits) -> u32 {
    const MOST_BLANK_LINES: f64 = 64.0;
    const LARGEST_CLOCK_STEP_HZ: f64 = 250e3;
    let [width, height] = size.map(f64::from);
    let by_clock = limits.clock_max_mhz.map(|mhz| mhz * 1e6 / (width * height));
    let by_lines = limits.h_khz.map(|[_, khz]| khz * 1e3 / height);
    let by_rate = limits.v_hz.map(|[_, hz]| hz);
    let real_hz = [by_clock, by_lines, by_rate].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let clock_step_hz = LARGEST_CLOCK_STEP_HZ / (width * height);
    let nominal_hz = real_hz * (1.0 + MOST_BLANK_LINES / height) + 1.0 + clock_step_hz;
    (nominal_hz * STEPS_PER_HZ).min(f64::from(MOST_STEPS)) as u32
}

/// Explains why no rate fits: the lowest rate that meets every minimum exceeds a maximum, or no rate meets a minimum.
fn explain_no_mode(
    timing: Timing,
    limits: &Limits,
    mode: impl Fn(u32) -> Option<(f64, Mode)>,
) -> NoMode {
    let name = timing.name();
    let first_above_minimums = (1..=MOST_STEPS).filter_map(mode).find_map(|(rate, mode)| {
        let misfits = limits.misfits(&mode.figures());
        misfits.iter().all(|misfit| misfit.above).then(|| (rate, misfits.into_iter().next()))
    });
    let Some((rate, Some(misfit))) = first_above_minimums else {
        let text = format!("{name} never reaches the minimum of --h or --v; use a lower minimum");
        return NoMode { text, share: f64::INFINITY };
    };
    let text = format!(
        "at {} Hz, the lowest rate that meets the minimum of --h and --v, {name} has {}",
        shown(rate),
        misfit.text()
    );
    NoMode { share: misfit.share(), text }
}
