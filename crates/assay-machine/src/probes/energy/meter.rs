//! The file of an external meter: a time and watts in each line.

use std::path::Path;

use crate::system::{FileKind, System, sysfs};
use assay_core::presence::Presence;

const MOST_BYTES: u64 = 256 << 20;
/// Lines further apart leave a gap, nanoseconds, unless all are.
const LONGEST_GAP_NS: u64 = 10_000_000_000;
/// Times above this many seconds are milliseconds.
const MOST_SECONDS: f64 = 1e11;
/// Minimum number of lines within a span; fewer do not represent it.
const FEWEST_SAMPLES: usize = 3;
/// Error for a file without such a line.
const NO_LINE: &str = "no line has a time and watts, such as 2026-07-30T12:00:00Z,4.2";
/// Words of columns with other quantities than power in watts.
const NO_WATTS: [&str; 9] =
    ["apparent", "reactive", "factor", "hour", "wh", "kwh", "va", "var", "energy"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterSample {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    pub watts: f64,
}

/// Reads the current file; skips an incomplete last line.
pub fn read(system: &dyn System, path: &Path) -> Presence<Vec<MeterSample>> {
    let absent =
        |reason: &str| Presence::absent(format!("the meter's file {}: {reason}", path.display()));
    match system.status(path) {
        Ok(status) if status.size_bytes > MOST_BYTES => return absent("too large"),
        Ok(status) if status.kind != FileKind::File => return absent("not a regular file"),
        Ok(_) => {}
        Err(error) => return absent(&sysfs::reason(&error)),
    }
    let text = system.read_text(path).map_err(|error| sysfs::reason(&error));
    match text.and_then(|text| parse(&text)) {
        Ok(samples) if samples.is_empty() => absent(NO_LINE),
        Ok(samples) => Presence::Present(samples),
        Err(reason) => absent(&reason),
    }
}

/// Returns why an existing file cannot be a meter's log; `None` if it is one, may become one, or cannot be read.
pub fn mistaken(system: &dyn System, path: &Path) -> Option<String> {
    let status = system.status(path).ok()?;
    if status.kind != FileKind::File || status.size_bytes > MOST_BYTES {
        return None;
    }
    let text = system.read_text(path).ok()?;
    match parse(&text) {
        Err(reason) => Some(reason),
        // One line may be the names of the columns of a log that has just begun.
        Ok(samples) if samples.is_empty() && text.lines().count() > 1 => Some(NO_LINE.to_owned()),
        Ok(_) => None,
    }
}

/// Parses complete lines `time,watts`, sorted by time. A line before the first sample may name the columns.
pub fn parse(text: &str) -> Result<Vec<MeterSample>, String> {
    let mut columns = Columns { time: 0, power: 1, watts_per_unit: 1.0 };
    let mut samples = Vec::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let separator = if line.contains(';') { ';' } else { ',' };
        let cells: Vec<&str> =
            line.split([separator, '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        let cell = |column: usize| cells.get(column).copied();
        let sample =
            cell(columns.time).and_then(parse_time).zip(cell(columns.power).and_then(parse_watts));
        match sample {
            Some((at_ns, number)) => {
                samples.push(MeterSample { at_ns, watts: number * columns.watts_per_unit });
            }
            None if samples.is_empty() => columns = columns_of(&cells)?.unwrap_or(columns),
            None => {}
        }
    }
    samples.sort_by_key(|sample| sample.at_ns);
    Ok(samples)
}

#[derive(Clone, Copy, Debug)]
struct Columns {
    time: usize,
    power: usize,
    watts_per_unit: f64,
}

/// Returns the columns that a header names; `None` if it is not a header, or the only column besides the time has an
/// unknown name. An error if it names a time and other quantities than power.
fn columns_of(cells: &[&str]) -> Result<Option<Columns>, String> {
    let lower: Vec<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
    let is_time = |cell: &String| ["time", "date", "unix"].iter().any(|word| cell.contains(word));
    let Some(time) = lower.iter().position(is_time) else { return Ok(None) };
    // An exact name wins over names that only contain a unit, wherever it is.
    for name in ["power", "watts", "w"] {
        if let Some(power) = lower.iter().position(|cell| cell == name) {
            return Ok(Some(Columns { time, power, watts_per_unit: 1.0 }));
        }
    }
    for (power, cell) in lower.iter().enumerate().filter(|(column, _)| *column != time) {
        if let Some(watts_per_unit) = watts_per_unit(cell) {
            return Ok(Some(Columns { time, power, watts_per_unit }));
        }
    }
    match lower.as_slice() {
        // A line before the header, or a second column with an unknown name.
        [_] => Ok(None),
        [_, second] if time == 0 && !is_no_power(second) => Ok(None),
        _ => Err(format!("no power column among {}; name the column power", cells.join(", "))),
    }
}

/// Watts per unit of a column; `None` if it is not power. `cell` is lower case.
fn watts_per_unit(cell: &str) -> Option<f64> {
    let has = |unit: &str| words(cell).any(|word| word == unit);
    if is_no_power(cell) {
        None
    } else if has("mw") || cell.contains("milliw") {
        Some(1e-3)
    } else if has("kw") || cell.contains("kilow") {
        Some(1e3)
    } else {
        (has("w") || cell.contains("watt") || cell.contains("power")).then_some(1.0)
    }
}

/// Returns whether a column has the name of a quantity that resembles power.
fn is_no_power(cell: &str) -> bool {
    words(cell).any(|word| NO_WATTS.contains(&word)) || cell.contains("hour")
}

fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(|sign: char| !sign.is_alphanumeric())
}

/// Nanoseconds since 1970 of an RFC 3339 time, of seconds or of milliseconds.
fn parse_time(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number > MOST_SECONDS { number / 1e3 } else { number };
        return (seconds > 0.0 && seconds < MOST_SECONDS).then_some((seconds * 1e9) as u64);
    }
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

fn parse_watts(text: &str) -> Option<f64> {
    let number = text.strip_suffix('W').unwrap_or(text).trim().parse::<f64>().ok()?;
    number.is_finite().then_some(number)
}

/// Fails unless samples cover a span, with some tolerance at its ends, and several are in it.
fn check_coverage(samples: &[MeterSample], from_ns: u64, to_ns: u64) -> Result<(), String> {
    let allowed_ns = usual_distance_ns(samples).saturating_mul(2);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Err("the meter's file is empty".to_owned());
    };
    if first.at_ns > from_ns.saturating_add(allowed_ns) {
        let late = seconds(first.at_ns - from_ns);
        return Err(format!("the meter's file starts {late:.1} s after the trial started"));
    }
    if last.at_ns.saturating_add(allowed_ns) < to_ns {
        let early = seconds(to_ns - last.at_ns);
        return Err(format!(
            "the meter's file ends {early:.1} s before the trial's end; make the meter flush each line"
        ));
    }
    let inside = samples.iter().filter(|sample| (from_ns..=to_ns).contains(&sample.at_ns)).count();
    if inside < FEWEST_SAMPLES {
        return Err(format!(
            "the meter's file has {inside} lines during the trial, fewer than the required {FEWEST_SAMPLES}; write \
             more often, or use longer trials"
        ));
    }
    Ok(())
}

/// Joules between two moments, with linear interpolation. Beyond the ends, the nearest sample counts.
pub fn joules(samples: &[MeterSample], from_ns: u64, to_ns: u64) -> Result<f64, String> {
    check_coverage(samples, from_ns, to_ns)?;
    // A slow meter may miss some lines.
    let longest_ns = LONGEST_GAP_NS.max(usual_distance_ns(samples).saturating_mul(5));
    let mut joules = 0.0;
    for pair in samples.windows(2) {
        let (from, to) = (pair[0].at_ns.max(from_ns), pair[1].at_ns.min(to_ns));
        if from >= to {
            continue;
        }
        let gap_ns = pair[1].at_ns - pair[0].at_ns;
        if gap_ns > longest_ns {
            let gap = seconds(gap_ns);
            return Err(format!("the meter's file has a gap of {gap:.1} s during the trial"));
        }
        joules += seconds(to - from) * (watts_at(pair, from) + watts_at(pair, to)) / 2.0;
    }
    if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
        let before_ns = first.at_ns.min(to_ns).saturating_sub(from_ns);
        let after_ns = to_ns.saturating_sub(last.at_ns.max(from_ns));
        joules += seconds(before_ns) * first.watts;
        joules += seconds(after_ns) * last.watts;
    }
    Ok(joules)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn watts_at(pair: &[MeterSample], moment_ns: u64) -> f64 {
    let share = (moment_ns - pair[0].at_ns) as f64 / (pair[1].at_ns - pair[0].at_ns).max(1) as f64;
    pair[0].watts + share * (pair[1].watts - pair[0].watts)
}

/// Median distance between samples; 0 for a single sample.
fn usual_distance_ns(samples: &[MeterSample]) -> u64 {
    let mut distances: Vec<u64> =
        samples.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}
