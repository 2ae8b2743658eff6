//! Output of the mode calculations.

use super::super::page::{CalcPage, decimal};
use assay_core::calc::edid::EdidMonitor;
use assay_core::calc::modeline::{
    At, BetterMode, CheckedLimit, Figures, Forms, Highest, Limits, ModeCheck, SolvedMode, TimingRow,
};
use assay_core::presence::Presence;
use assay_report::document::{Row, Tone};

const CAUTION: &str =
    "Assay applied nothing. A mode beyond the monitor's stated limits may damage the monitor.";

pub fn monitor_words(monitor: &EdidMonitor) -> String {
    let name = monitor.name.as_deref().unwrap_or("an unnamed monitor");
    let doubt = monitor.doubt.as_ref().map(|doubt| format!("; {doubt}; give --clock, --h and --v"));
    format!("{name} (EDID {}); options override it{}", monitor.version, doubt.unwrap_or_default())
}

fn size_words(size: [u32; 2]) -> String {
    let [width, height] = size;
    format!("{width}x{height}")
}

/// `165 MHz, 31 to 105 kHz, 12 to 60 Hz`.
fn limit_words(limits: &Limits) -> String {
    let range = |[low, high]: [f64; 2], unit: &str| {
        format!("{} to {} {unit}", decimal(low, 3), decimal(high, 3))
    };
    let clock = limits.clock_max_mhz.map(|mhz| format!("clock up to {} MHz", decimal(mhz, 3)));
    let h = limits.h_khz.map(|limit| range(limit, "kHz"));
    let v = limits.v_hz.map(|limit| range(limit, "Hz"));
    let texts: Vec<String> = [clock, h, v].into_iter().flatten().collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

fn limit_facts(limits: &Limits, monitor: Option<String>) -> Vec<(&'static str, String)> {
    let limits = ("limits", limit_words(limits));
    std::iter::once(limits).chain(monitor.map(|name| ("monitor", name))).collect()
}

/// `164.114 MHz, 41.866 kHz, 17.300 Hz; 3920 x 2420 in all, 97.1% of the pixels shown`.
fn figure_words(figures: &Figures) -> String {
    let Figures { clock_mhz, h_khz, v_hz, active_percent, total_pixels: h, total_lines: v, .. } =
        figures;
    format!(
        "{} MHz, {h_khz:.3} kHz, {v_hz:.3} Hz; {h} x {v} total, {active_percent:.1}% of the pixels shown",
        decimal(*clock_mhz, 3)
    )
}

fn rate(rate_hz: f64) -> String {
    let tenths = format!("{rate_hz:.1}");
    if tenths.parse() == Ok(rate_hz) { tenths } else { decimal(rate_hz, 3) }
}

fn timing_row(tried: &TimingRow, best: Option<&str>) -> Row {
    let found = match &tried.found {
        Presence::Absent(reason) => return Row::absent(tried.timing, reason),
        Presence::Present(found) => found,
    };
    let Figures { h_khz, v_hz, total_pixels: h, total_lines: v, .. } = &found.figures;
    let exceeded = found.limits.iter().filter(|limit| !limit.fits).map(CheckedLimit::verdict);
    let exceeded: Vec<String> = exceeded.collect();
    let verdict = if found.limits.is_empty() {
        "-".to_owned()
    } else if exceeded.is_empty() {
        "fits".to_owned()
    } else {
        exceeded.join(", ")
    };
    let row = Row::new([
        tried.timing.to_owned(),
        rate(found.nominal_hz),
        format!("{v_hz:.3}"),
        format!("{h_khz:.3}"),
        found.mode.clock_text(),
        format!("{h} x {v}"),
        verdict,
    ]);
    if best == Some(tried.timing) { row.toned(Tone::Good) } else { row }
}

const TITLES: [&str; 7] = ["timing", ">Hz", ">exact Hz", ">kHz", ">MHz", ">in all", "limits"];

fn add_timings(page: &mut CalcPage, tried: &[TimingRow], best: Option<&str>) {
    page.table("Timings", &TITLES, tried.iter().map(|tried| timing_row(tried, best)).collect());
    let titles = tried.iter().map(|tried| format!("{} is {}.", tried.timing, tried.title));
    page.text(vec![titles.collect::<Vec<_>>().join(" ")]);
}

fn solved_mode<'a>(tried: &'a [TimingRow], name: &str) -> Option<&'a SolvedMode> {
    tried.iter().find(|tried| tried.timing == name)?.found.value()
}

fn add_forms(page: &mut CalcPage, forms: &Forms) {
    for (program, line) in forms.lines() {
        page.copy(program, line);
    }
}

pub fn highest(highest: &Highest, monitor: Option<String>) -> CalcPage {
    let mut page =
        CalcPage::new(format!("assay calc: highest refresh of {}", size_words(highest.size)));
    let best = solved_mode(&highest.timings, highest.best);
    if let Some(found) = best {
        page.text(vec![format!(
            "{} Hz with {}: {}.",
            rate(found.nominal_hz),
            highest.best,
            figure_words(&found.figures)
        )]);
    }
    page.facts(limit_facts(&highest.limits, monitor));
    add_timings(&mut page, &highest.timings, Some(highest.best));
    if let Some(found) = best {
        add_remarks(&mut page, found);
        add_forms(&mut page, &found.forms);
    }
    page
}

fn add_remarks(page: &mut CalcPage, found: &SolvedMode) {
    let caution = std::iter::once(CAUTION.to_owned());
    let remarks = found.remarks.iter().chain(&found.forms.remarks).cloned().chain(caution);
    page.list("Remarks", remarks.collect());
}

pub fn at(at: &At, monitor: Option<String>) -> CalcPage {
    let title = format!("assay calc: {} at {} Hz", size_words(at.size), decimal(at.refresh_hz, 3));
    let mut page = CalcPage::new(title);
    page.facts(limit_facts(&at.limits, monitor));
    add_timings(&mut page, &at.timings, None);
    let solved: Vec<(&TimingRow, &SolvedMode)> =
        at.timings.iter().filter_map(|tried| Some((tried, tried.found.value()?))).collect();
    if let [(_, only)] = solved[..] {
        add_remarks(&mut page, only);
        add_forms(&mut page, &only.forms);
        return page;
    }
    let remarks = solved.iter().flat_map(|(_, mode)| mode.remarks.clone());
    let more = "Use --timing with one name to also print the mode for sway, niri and the kernel.";
    page.list("Remarks", remarks.chain([more.to_owned(), CAUTION.to_owned()]).collect());
    for (row, mode) in solved {
        page.copy(row.timing, &mode.forms.xorg);
    }
    page
}

pub fn check(check: &ModeCheck, monitor: Option<String>) -> CalcPage {
    let size = size_words([check.mode.h[0], check.mode.v[0]]);
    let mut page = CalcPage::new(format!("assay calc: check of a {size} mode"));
    page.text(vec![verdict(check)]);
    let Figures {
        clock_mhz,
        h_khz,
        v_hz,
        active_percent,
        blank_pixels,
        blank_lines,
        total_pixels: h,
        total_lines: v,
    } = &check.figures;
    let mut facts = vec![
        ("pixel clock", format!("{} MHz", decimal(*clock_mhz, 3))),
        ("lines", format!("{h_khz:.3} kHz")),
        ("refresh", format!("{v_hz:.3} Hz{}", scan_words(check))),
        ("in all", format!("{h} x {v}, {active_percent:.1}% of the pixels shown")),
        ("blanking", format!("{blank_pixels} pixels, {blank_lines} lines")),
    ];
    facts.extend(monitor.map(|name| ("monitor", name)));
    page.facts(facts);
    if !check.limits.is_empty() {
        let rows = check.limits.iter().map(limit_row).collect();
        page.table("Limits", &["limit", ">allowed", ">this mode", "verdict"], rows);
    }
    page.text(vec![better_words(&check.better)]);
    let better = check.better.value().filter(|better| better.is_better).map(|better| &better.found);
    let remarks = check.forms.remarks.iter().chain(better.iter().flat_map(|it| &it.remarks));
    page.list("Remarks", remarks.cloned().chain([CAUTION.to_owned()]).collect());
    if let Some(found) = better {
        page.copy("the better mode for xorg.conf", &found.forms.xorg);
    }
    add_forms(&mut page, &check.forms);
    page
}

fn scan_words(check: &ModeCheck) -> &'static str {
    match (check.mode.interlace, check.mode.doublescan) {
        (true, true) => ", counted in fields, each line sent twice",
        (true, false) => ", counted in fields",
        (false, true) => ", each line sent twice",
        (false, false) => "",
    }
}

fn verdict(check: &ModeCheck) -> String {
    let Figures { h_khz, v_hz, .. } = &check.figures;
    let figures = format!("{h_khz:.3} kHz, {v_hz:.3} Hz");
    if check.limits.is_empty() {
        return format!("{figures}. No limits given.");
    }
    let exceeded = check.limits.iter().filter(|limit| !limit.fits);
    let exceeded: Vec<String> =
        exceeded.map(|limit| format!("{} by {}", limit.limit, limit.verdict())).collect();
    if exceeded.is_empty() {
        return format!("{figures}. The mode is within the limits.");
    }
    format!("{figures}. The mode exceeds the limits: {}.", exceeded.join(", "))
}

fn limit_row(judged: &CheckedLimit) -> Row {
    let has = format!("{} {}", decimal(judged.has, 3), judged.unit);
    let row = Row::new([format!("--{}", judged.limit), judged.allowed(), has, judged.verdict()]);
    if judged.fits { row } else { row.toned(Tone::Bad) }
}

fn better_words(better: &Presence<BetterMode>) -> String {
    match better {
        Presence::Absent(reason) => format!("No better mode found: {reason}."),
        Presence::Present(BetterMode { is_better, timing, title, found }) => {
            let figures = figure_words(&found.figures);
            let best = format!("{} Hz with {timing} ({title}): {figures}", rate(found.nominal_hz));
            if *is_better {
                format!("Better mode within the same limits: {best}.")
            } else {
                format!("No timing is 0.1 Hz better within these limits; the best is {best}.")
            }
        }
    }
}
