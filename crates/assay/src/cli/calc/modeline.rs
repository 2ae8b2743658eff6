//! `assay calc modeline`: display modes.

mod page;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use assay_core::calc::edid::{self, EdidMonitor};
use assay_core::calc::modeline::{self, Blanking, Limits, TIMINGS, Timing};
use assay_core::calc::{number, pair, size_of};
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{FileKind, System};

/// An EDID is a few blocks of 128 bytes; a file that is larger is something else.
const LARGEST_EDID: u64 = 64 << 10;

/// Compute display modes and the highest refresh rate; check a modeline
///
/// Assay searches for the highest refresh rate in steps of 0.1 Hz with CVT reduced blanking version 1 (rb1) or 2
/// (rb2), CVT standard blanking (cvt), or custom blanking (--blanking). Assay prints the mode for xorg, sway, niri and
/// the kernel, but never applies the mode, because a mode beyond the monitor's limits may damage the monitor.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay calc modeline 3840x2400 --clock 165 --h 31-105 --v 12-60
      17.3 Hz with rb2: the limit of an IBM T221 on one DVI link
  assay calc modeline 2880x1800 --h 30-90 --v 30-60
      48.8 Hz at 273.25 MHz with rb1
  assay calc modeline --line '165.00 3840 3848 3880 4008 2400 2402 2404 2406'
      41.168 kHz, 17.110 Hz; --clock, --h and --v check the limits
  assay calc modeline 1920x1080 --refresh 60 --timing cvt
      output of the program cvt (--timing cvt-r: of cvt -r)
  assay calc modeline 3840x2400 --clock 165 --h 31-99 --v 12-60 --blanking 168x6
      17.1 Hz with the blanking of a known good mode
  assay calc modeline 2560x1440 --edid monitor.bin --clock 300
      limits from a copy of /sys/class/drm/*/edid, but another clock")]
pub struct ModelineArguments {
    /// Pixels and lines, e.g. 3840x2400
    #[arg(value_name = "WIDTHxHEIGHT", value_parser = size_of)]
    #[arg(required_unless_present = "line", conflicts_with = "line")]
    size: Option<[u32; 2]>,
    /// Highest pixel clock in MHz (165 for one DVI link, 340 for HDMI 1.4)
    #[arg(long, value_name = "MHZ", value_parser = |text: &str| number(text, "MHz"))]
    clock: Option<f64>,
    /// Range of horizontal frequencies in kHz
    #[arg(long, value_name = "LOW-HIGH", value_parser = |text: &str| modeline::range(text, "kHz", "31-105"))]
    h: Option<[f64; 2]>,
    /// Range of refresh rates in Hz
    #[arg(long, value_name = "LOW-HIGH", value_parser = |text: &str| modeline::range(text, "Hz", "50-75"))]
    v: Option<[f64; 2]>,
    /// Read missing limits from a monitor's EDID
    #[arg(long, value_name = "FILE")]
    edid: Option<PathBuf>,
    /// Compute a mode at this refresh rate in Hz
    #[arg(long, value_name = "HZ", value_parser = |text: &str| number(text, "Hz"))]
    #[arg(conflicts_with = "line")]
    refresh: Option<f64>,
    /// Use only this timing (repeatable)
    #[arg(long, value_enum)]
    timing: Vec<ModelineKind>,
    /// Also try this blanking, at least 3x3
    #[arg(long, value_name = "PIXELSxLINES", value_parser = blanking)]
    blanking: Option<Blanking>,
    /// Check a modeline: nine numbers, or a line of xorg, sway or niri
    #[arg(long, value_name = "MODELINE")]
    line: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModelineKind {
    /// CVT reduced blanking, version 1, by the standard
    Rb1,
    /// CVT reduced blanking, version 2
    Rb2,
    /// CVT with standard blanking
    Cvt,
    /// Reduced blanking as `cvt -r` computes it: a clock that is often some steps lower
    CvtR,
    /// The blanking of --blanking
    Fixed,
}

fn blanking(text: &str) -> Result<Blanking, String> {
    let [pixels, lines] = pair(text, "blanking in pixels and lines", "160x20")?;
    if pixels.min(lines) < 3 || pixels.max(lines) > 32_767 {
        return Err(format!(
            "`{text}`: horizontal and vertical blanking must be 3 to 32767; example: 160x20"
        ));
    }
    Ok(Blanking { pixels, lines })
}

pub fn run(system: &dyn System, arguments: &ModelineArguments) -> Outcome<String> {
    let timings = timings(arguments)?;
    let monitor = arguments.edid.as_deref().map(|path| read_monitor(system, path)).transpose()?;
    let given = Limits { clock_max_mhz: arguments.clock, h_khz: arguments.h, v_hz: arguments.v };
    let limits = given.or(monitor.as_ref().map(|monitor| monitor.limits).unwrap_or_default());
    let is_all_given =
        given.clock_max_mhz.is_some() && given.h_khz.is_some() && given.v_hz.is_some();
    if let Some(EdidMonitor { doubt: Some(doubt), limits, .. }) = &monitor
        && limits.is_empty()
        && !is_all_given
    {
        return Err(mistake!("{doubt}; give --clock, --h and --v"));
    }
    let name = monitor.as_ref().map(page::monitor_words);
    let json = arguments.json;
    if let Some(line) = &arguments.line {
        let check = modeline::check(modeline::parse(line)?, limits, &timings);
        return Ok(page::check(&check, name).render(system, json, "modeline", &check));
    }
    let Some(size) = arguments.size else {
        return Err(mistake!("no size; give a size such as 1920x1080, or use --line"));
    };
    // Limits that the monitor's own modes contradict may be why nothing fits.
    let doubted = |failure: Failure| match monitor.as_ref().and_then(|edid| edid.doubt.as_ref()) {
        Some(doubt) => Failure {
            message: format!("{}; {doubt}; give --clock, --h and --v", failure.message),
            ..failure
        },
        None => failure,
    };
    if let Some(rate) = arguments.refresh {
        let at = modeline::at(size, rate, limits, &timings).map_err(doubted)?;
        return Ok(page::at(&at, name).render(system, json, "modeline", &at));
    }
    let highest = modeline::highest(size, limits, &timings).map_err(doubted)?;
    Ok(page::highest(&highest, name).render(system, json, "modeline", &highest))
}

fn timings(arguments: &ModelineArguments) -> Outcome<Vec<Timing>> {
    let fixed = arguments.blanking.map(Timing::Fixed);
    if arguments.timing.is_empty() {
        return Ok(TIMINGS.into_iter().chain(fixed).collect());
    }
    let timing = |kind: &ModelineKind| match kind {
        ModelineKind::Rb1 => Ok(Timing::Rb1),
        ModelineKind::Rb2 => Ok(Timing::Rb2),
        ModelineKind::Cvt => Ok(Timing::Cvt),
        ModelineKind::CvtR => Ok(Timing::CvtR),
        ModelineKind::Fixed => fixed.ok_or_else(|| {
            mistake!("--timing fixed needs --blanking PIXELSxLINES, such as 160x20")
        }),
    };
    let requested: Vec<Timing> = arguments.timing.iter().map(timing).collect::<Outcome<_>>()?;
    let mut timings = Vec::new();
    for timing in requested.into_iter().chain(fixed) {
        if !timings.contains(&timing) {
            timings.push(timing);
        }
    }
    Ok(timings)
}

fn read_monitor(system: &dyn System, path: &Path) -> Outcome<EdidMonitor> {
    let wrong = |why: String| mistake!("{}: {why}", path.display());
    let status = system.status(path).map_err(|error| wrong(error.to_string()))?;
    if status.kind != FileKind::File || status.size_bytes > LARGEST_EDID {
        return Err(wrong("not an EDID; give a file of 128-byte blocks".to_owned()));
    }
    let bytes = system.read_bytes(path).map_err(|error| wrong(error.to_string()))?;
    edid::read(&bytes).map_err(|failure| wrong(failure.message))
}
