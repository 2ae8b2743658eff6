//! Display modes: the meaning of a line of timings, the refresh rates within limits, and the syntax of several
//! programs. Nothing here applies a mode.

pub mod cvt;
mod forms;
mod limits;
mod line;
mod solve;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use cvt::{Blanking, TIMINGS, Timing};
pub use forms::Forms;
pub use limits::{CheckedLimit, Limits, Misfit, range};
pub use line::{ModeLine, parse};
pub use solve::{At, BetterMode, Highest, ModeCheck, SolvedMode, TimingRow, at, check, highest};

/// A mode: pixel clock, and the begin and end of lines and fields in pixels and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// Pixel clock in kHz, the unit of programs.
    pub clock_khz: u64,
    /// Pixels across: shown, begin of sync, end of sync, in all.
    #[serde(rename = "horizontal_pixels")]
    pub h: [u32; 4],
    /// Lines down: shown, begin of sync, end of sync, in all.
    #[serde(rename = "vertical_lines")]
    pub v: [u32; 4],
    /// Horizontal sync polarity, if given.
    pub hsync: Option<Sign>,
    /// Vertical sync polarity, if given.
    pub vsync: Option<Sign>,
    /// Two fields make one picture.
    pub interlace: bool,
    /// Each line is sent twice.
    pub doublescan: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    Positive,
    Negative,
}

impl Sign {
    pub const fn mark(self) -> char {
        match self {
            Self::Positive => '+',
            Self::Negative => '-',
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    pub clock_mhz: f64,
    pub h_khz: f64,
    /// Frames per second; fields per second for interlaced modes, as X counts.
    pub v_hz: f64,
    /// Active share of the clock, in percent.
    pub active_percent: f64,
    pub blank_pixels: u32,
    pub blank_lines: u32,
    pub total_pixels: u32,
    pub total_lines: u32,
}

impl Mode {
    pub fn figures(&self) -> Figures {
        let [shown_h, .., total_h] = self.h;
        let [shown_v, .., total_v] = self.v;
        let pixels = f64::from(total_h) * f64::from(total_v);
        let fields = if self.interlace { 2.0 } else { 1.0 };
        let scans = if self.doublescan { 2.0 } else { 1.0 };
        Figures {
            clock_mhz: self.clock_khz as f64 / 1e3,
            h_khz: self.clock_khz as f64 / f64::from(total_h),
            v_hz: self.clock_khz as f64 * 1e3 / pixels * fields / scans,
            active_percent: 100.0 * f64::from(shown_h) * f64::from(shown_v) / pixels,
            blank_pixels: total_h - shown_h,
            blank_lines: total_v - shown_v,
            total_pixels: total_h,
            total_lines: total_v,
        }
    }

    /// The clock in MHz as in a modeline: two decimals, or three if needed.
    pub fn clock_text(&self) -> String {
        let digits = if self.clock_khz.is_multiple_of(10) { 2 } else { 3 };
        format!("{:.digits$}", self.clock_khz as f64 / 1e3)
    }
}
