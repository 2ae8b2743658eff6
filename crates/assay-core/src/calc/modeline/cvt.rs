//! VESA Coordinated Video Timings (CVT 1.1 of 2003, reduced blanking version 2 of CVT 1.2, 2013): the timings that a
//! display derives from a size and a rate.
//!
//! `cvt` and `cvt-r` follow the program `cvt` (libxcvt) to its printed digits, single precision included. It departs
//! from the standard in three places: it rounds widths up to a multiple of 8, lets the vertical back porch of standard
//! blanking shrink to 3 lines, and with reduced blanking derives the clock from the estimated line time, which is often
//! some steps lower than `rb1`, the standard's own. Assay also rounds widths up, so the picture is complete.

use serde::Serialize;

use super::{Mode, Sign};

/// Widths are multiples of this, except with `rb2` and a custom blanking.
const CELL_PIXELS: u32 = 8;
/// Least time of sync and back porch with standard blanking.
const SYNC_AND_BACK_US: f64 = 550.0;
/// Least vertical blanking time with reduced blanking.
const REDUCED_BLANK_US: f64 = 460.0;
/// Least front porch of standard, front porch of reduced blanking in lines.
const FRONT_PORCH_LINES: u32 = 3;
const CLOCK_STEP_KHZ: f64 = 250.0;
/// Clock step for a custom blanking: the resolution of a detailed timing of an EDID.
const OWN_STEP_KHZ: f64 = 10.0;

/// Drivers count pixels and lines in 16 bits.
pub(super) const MOST_COUNT: u32 = 65_535;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// CVT reduced blanking, version 1, by the standard.
    Rb1,
    Rb2,
    /// CVT with standard blanking, as the program `cvt` has it.
    Cvt,
    /// CVT reduced blanking as `cvt -r` has it.
    CvtR,
    Fixed(Blanking),
}

/// Blanked pixels and lines: at least 3 of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blanking {
    pub pixels: u32,
    pub lines: u32,
}

/// Timings compared by default. If two reach the same refresh rate, the first wins: more monitors support version 1
/// than 2, and both need a lower clock than standard blanking.
pub const TIMINGS: [Timing; 3] = [Timing::Rb1, Timing::Rb2, Timing::Cvt];

impl Timing {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rb1 => "rb1",
            Self::Rb2 => "rb2",
            Self::Cvt => "cvt",
            Self::CvtR => "cvt-r",
            Self::Fixed(_) => "fixed",
        }
    }

    pub fn title(self) -> String {
        match self {
            Self::Rb1 => "CVT reduced blanking v1".to_owned(),
            Self::Rb2 => "CVT reduced blanking v2".to_owned(),
            Self::Cvt => "CVT standard blanking".to_owned(),
            Self::CvtR => "CVT reduced blanking v1 as cvt -r computes it".to_owned(),
            Self::Fixed(Blanking { pixels, lines }) => {
                format!("{pixels} pixels and {lines} lines of blanking")
            }
        }
    }

    /// The mode of a size at a nominal rate; `None` if the rate leaves no time for the lines or a clock, or a very
    /// narrow picture no room for a sync. The real rate is a little lower because of clock steps.
    pub fn mode(self, size: [u32; 2], rate_hz: f64) -> Option<Mode> {
        let [width, height] = size;
        let mode = match self {
            Self::Rb1 => reduced_mode(width, height, rate_hz, true),
            Self::Rb2 => reduced_2_mode(width, height, rate_hz),
            Self::Cvt => standard_mode(width, height, rate_hz),
            Self::CvtR => reduced_mode(width, height, rate_hz, false),
            Self::Fixed(blanking) => Some(fixed_mode(width, height, rate_hz, blanking)),
        };
        mode.filter(|mode| mode.clock_khz > 0 && [mode.h, mode.v].into_iter().all(is_valid))
    }
    /// What the user should know about a mode with this timing, such as rounding and missing standards.
    pub fn remarks(self, size: [u32; 2], rate_hz: f64) -> Vec<String> {
        let mut remarks = Vec::new();
        if matches!(self, Self::Rb1 | Self::CvtR) && rate_hz % 60.0 != 0.0 {
            remarks.push(format!(
                "{}: the standard defines multiples of 60 Hz only (cvt -r rejects others); a \
                 monitor may not accept {rate_hz} Hz.",
                self.name()
            ));
        }
        if self == Self::Rb2 {
            remarks.push(
                "rb2: 80 pixels of blanking need CVT 1.2 (2013); an older monitor may show nothing."
                    .to_owned(),
            );
        }
        if matches!(self, Self::Fixed(_)) {
            remarks.push(
                "fixed: no standard defines this blanking; check that the monitor accepts it."
                    .to_owned(),
            );
        }
        let accepts_any_width = matches!(self, Self::Rb2 | Self::Fixed(_));
        if !accepts_any_width && !size[0].is_multiple_of(CELL_PIXELS) {
            remarks.push(format!(
                "{}: {} pixels are rounded up to {}, a multiple of 8, as cvt does.",
                self.name(),
                size[0],
                round_up_to_cells(size[0])
            ));
        }
        remarks
    }
}

/// Returns whether the blanking contains a sync, in numbers that drivers support.
pub(super) fn is_valid(timings: [u32; 4]) -> bool {
    let [shown, begin, end, total] = timings;
    shown <= begin && begin < end && end <= total && total <= MOST_COUNT
}

fn round_up_to_cells(width: u32) -> u32 {
    width.div_ceil(CELL_PIXELS) * CELL_PIXELS
}

/// Lines of vertical sync, which encode the aspect ratio; 10 for any other ratio.
fn sync_lines(width: u32, height: u32) -> u32 {
    for (x, y, lines) in [(4, 3, 4), (16, 9, 5), (16, 10, 6), (5, 4, 7), (15, 9, 7)] {
        if height.is_multiple_of(y) && height * x / y == width {
            return lines;
        }
    }
    10
}

/// Whole steps of a clock, tolerating a rounding error of one bit.
fn round_down_to_step(clock_khz: f64, step_khz: f64) -> u64 {
    ((clock_khz + 1e-6) / step_khz).floor() as u64 * step_khz as u64
}

/// Time of a line as `cvt` estimates it: single precision between the steps.
fn line_us_as_cvt(rate_hz: f64, blank_us: f64, lines: u32) -> f64 {
    let lines_us = (1e6 / f64::from(rate_hz as f32) - blank_us) as f32;
    f64::from(lines_us / lines as f32)
}

/// CVT with blanking for cathode-ray tubes; `None` if the rate leaves no time for the lines.
fn standard_mode(wanted: u32, height: u32, rate_hz: f64) -> Option<Mode> {
    let line_us = line_us_as_cvt(rate_hz, SYNC_AND_BACK_US, height + FRONT_PORCH_LINES);
    if line_us <= 0.0 {
        return None;
    }
    let width = round_up_to_cells(wanted);
    let sync = sync_lines(width, height);
    let sync_and_back = ((SYNC_AND_BACK_US / line_us) as u32 + 1).max(sync + FRONT_PORCH_LINES);
    // Ideal blanking: a duty cycle of 30% minus 0.3% per us of a line, at least 20%; 8% sync.
    let share = (30.0 - 300.0 * line_us / 1000.0).max(20.0);
    let blank = (f64::from(width) * share / (100.0 - share)) as u32;
    let blank = blank - blank % (2 * CELL_PIXELS);
    let total = width + blank;
    let sync_end = width + blank / 2;
    let sync_begin = sync_end - total * 8 / 100;
    // Adds one cell even at a cell boundary, as cvt does.
    let sync_begin = sync_begin + CELL_PIXELS - sync_begin % CELL_PIXELS;
    Some(Mode {
        clock_khz: round_down_to_step(f64::from(total) * 1000.0 / line_us, CLOCK_STEP_KHZ),
        h: [width, sync_begin, sync_end, total],
        v: vertical_timings(height, FRONT_PORCH_LINES, sync, FRONT_PORCH_LINES + sync_and_back),
        hsync: Some(Sign::Negative),
        vsync: Some(Sign::Positive),
        ..Mode::default()
    })
}

/// Version 1: 48 + 32 + 80 pixels, at least 6 lines of back porch. The clock follows the rate (`by_rate`), or the
/// estimated line time as `cvt -r` rounds it.
fn reduced_mode(wanted: u32, height: u32, rate_hz: f64, by_rate: bool) -> Option<Mode> {
    const BACK_LINES: u32 = 6;
    let line_us = if by_rate {
        (1e6 / rate_hz - REDUCED_BLANK_US) / f64::from(height)
    } else {
        line_us_as_cvt(rate_hz, REDUCED_BLANK_US, height)
    };
    if line_us <= 0.0 {
        return None;
    }
    let width = round_up_to_cells(wanted);
    let sync = sync_lines(width, height);
    let least = FRONT_PORCH_LINES + sync + BACK_LINES;
    let blank = ((REDUCED_BLANK_US / line_us) as u32).saturating_add(1).max(least);
    let h = [width, width + 48, width + 80, width + 160];
    let v = vertical_timings(height, FRONT_PORCH_LINES, sync, blank);
    let clock = if by_rate { clock_khz(h, v, rate_hz) } else { f64::from(h[3]) * 1000.0 / line_us };
    Some(reduced_blanking_mode(round_down_to_step(clock, CLOCK_STEP_KHZ), h, v))
}

/// Version 2: 8 + 32 + 40 pixels, 8 lines of sync, 6 of back porch; the front porch gets the rest.
fn reduced_2_mode(width: u32, height: u32, rate_hz: f64) -> Option<Mode> {
    const FRONT: u32 = 1;
    const SYNC: u32 = 8;
    const BACK: u32 = 6;
    let line_us = (1e6 / rate_hz - REDUCED_BLANK_US) / f64::from(height);
    if line_us <= 0.0 {
        return None;
    }
    let blank = ((REDUCED_BLANK_US / line_us) as u32).saturating_add(1).max(FRONT + SYNC + BACK);
    let h = [width, width + 8, width + 40, width + 80];
    let v = vertical_timings(height, blank - SYNC - BACK, SYNC, blank);
    Some(reduced_blanking_mode(round_down_to_step(clock_khz(h, v, rate_hz), 1.0), h, v))
}

/// A custom blanking, divided as version 1 divides its pixels: 3/10 front porch, 2/10 sync, the rest back porch.
fn fixed_mode(width: u32, height: u32, rate_hz: f64, blanking: Blanking) -> Mode {
    let divide = |shown: u32, blank: u32| {
        let [front, sync] = [(3 * blank / 10).max(1), (blank / 5).max(1)];
        [shown, shown + front, shown + front + sync, shown + blank]
    };
    let h = divide(width, blanking.pixels);
    let v = divide(height, blanking.lines);
    reduced_blanking_mode(round_down_to_step(clock_khz(h, v, rate_hz), OWN_STEP_KHZ), h, v)
}

fn clock_khz(h: [u32; 4], v: [u32; 4], rate_hz: f64) -> f64 {
    rate_hz * f64::from(h[3]) * f64::from(v[3]) / 1e3
}

fn vertical_timings(shown: u32, front: u32, sync: u32, blank: u32) -> [u32; 4] {
    let begin = shown + front;
    [shown, begin, begin + sync, shown.saturating_add(blank)]
}

/// A mode with the sync polarities of reduced blanking.
fn reduced_blanking_mode(clock_khz: u64, h: [u32; 4], v: [u32; 4]) -> Mode {
    let (hsync, vsync) = (Some(Sign::Positive), Some(Sign::Negative));
    Mode { clock_khz, h, v, hsync, vsync, ..Mode::default() }
}
