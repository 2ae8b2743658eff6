//! A mode as the programs that take one write it.

use serde::Serialize;

use super::cvt::Timing;
use super::{Mode, Sign};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forms {
    /// A line of xorg.conf, also for `xrandr --newmode` without its first word.
    pub xorg: String,
    /// A command of sway and other compositors of its family.
    pub sway: String,
    /// A line in an `output` section of niri.
    pub niri: String,
    pub kernel: String,
    pub remarks: Vec<String>,
}

/// Name of a display that the user replaces.
const DISPLAY: &str = "DP-1";

impl Forms {
    /// Formats a mode; `origin` is the timing and nominal rate that a computed mode comes from.
    pub fn new(mode: &Mode, name: Option<&str>, origin: Option<(Timing, f64)>) -> Self {
        let numbers = numbers(mode);
        let rate = origin.map_or_else(|| mode.figures().v_hz, |(_, rate)| rate);
        let [width, height] = [mode.h[0], mode.v[0]];
        let name = name.map_or_else(|| format!("{width}x{height}_{rate:.2}"), str::to_owned);
        let (signs, quoted) = (signs(mode, ""), signs(mode, "\""));
        let interlace = if mode.interlace { " interlace" } else { "" };
        let scan = format!("{interlace}{}", if mode.doublescan { " doublescan" } else { "" });
        let (kernel, loss) = kernel_option(mode, origin.map(|(timing, _)| timing), rate);
        let mut remarks = vec![format!("Replace {DISPLAY} with the name of your output.")];
        if !scan.is_empty() {
            remarks.push(format!("The syntax of sway and niri does not support{scan}."));
        }
        if mode.hsync.is_none() || mode.vsync.is_none() {
            remarks.push("No sync polarity given; the sway and niri lines use -.".to_owned());
        }
        remarks.push(loss);
        Self {
            xorg: format!("Modeline \"{name}\" {numbers}{scan}{}", sync_options(mode)),
            sway: format!("output {DISPLAY} modeline {numbers}{signs}"),
            niri: format!("output \"{DISPLAY}\" {{ modeline {numbers}{quoted}; }}"),
            kernel,
            remarks,
        }
    }

    /// What to copy, with the program that takes it.
    pub fn lines(&self) -> [(&'static str, &str); 4] {
        let Self { xorg, sway, niri, kernel, .. } = self;
        [("xorg.conf", xorg), ("sway", sway), ("niri", niri), ("kernel", kernel)]
    }
}

fn numbers(mode: &Mode) -> String {
    let all = mode.h.iter().chain(&mode.v).map(u32::to_string).collect::<Vec<_>>();
    format!("{} {}", mode.clock_text(), all.join(" "))
}

fn sync_options(mode: &Mode) -> String {
    let word = |sign: Option<Sign>, name: &str| sign.map(|sign| format!(" {}{name}", sign.mark()));
    [word(mode.hsync, "hsync"), word(mode.vsync, "vsync")].into_iter().flatten().collect()
}

/// Both signs, as compositors want them.
fn signs(mode: &Mode, quote: &str) -> String {
    let mark = |sign: Option<Sign>| sign.map_or('-', Sign::mark);
    let [h, v] = [mark(mode.hsync), mark(mode.vsync)];
    format!(" {quote}{h}hsync{quote} {quote}{v}vsync{quote}")
}

/// Returns the kernel option that is nearest to a mode, and a remark on what the option cannot express.
fn kernel_option(mode: &Mode, timing: Option<Timing>, rate_hz: f64) -> (String, String) {
    let reduced = match timing {
        Some(Timing::Cvt) => "",
        Some(_) => "R",
        None if mode.hsync == Some(Sign::Positive) => "R",
        None => "",
    };
    let whole = rate_hz.round().max(1.0);
    let scan = if mode.interlace { "i" } else { "" };
    let word = format!("video={DISPLAY}:{}x{}M{reduced}@{whole:.0}{scan}", mode.h[0], mode.v[0]);
    let kind = if reduced.is_empty() { "standard blanking" } else { "reduced blanking v1" };
    let near = match timing {
        Some(Timing::Cvt | Timing::CvtR | Timing::Rb1) if rate_hz == whole => "nearly this mode",
        _ => "not this mode",
    };
    let loss = format!(
        "video= accepts only a size, whole Hz and CVT; the line requests {kind} at {whole:.0} Hz, \
         {near}. To set clock, porches and sync polarity, use a custom EDID (drm.edid_firmware=)."
    );
    (word, loss)
}
