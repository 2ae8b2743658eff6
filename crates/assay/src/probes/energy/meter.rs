//! The file of an external meter: a time and watts in each line.

use std::path::Path;

use crate::seen::Seen;
use crate::system::{System, sysfs};

/// Bytes of a file that is read.
const MOST_BYTES: u64 = 256 << 20;
/// Lines further apart leave a gap, nanoseconds, unless all are.
const LONGEST_GAP_NS: u64 = 10_000_000_000;
/// Times above this many seconds are milliseconds.
const MOST_SECONDS: f64 = 1e11;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// Watts.
    pub watts: f64,
}

/// Reads a file as it is now; a line that is being written is passed over.
pub fn read(system: &dyn System, path: &Path) -> Seen<Vec<Sample>> {
    let what =
        |reason: &str| Seen::absent(format!("the meter's file {}: {reason}", path.display()));
    match system.status(path) {
        Ok(status) if status.size_bytes > MOST_BYTES => return what("too large"),
        Ok(_) => {}
        Err(error) => return what(&sysfs::reason(&error)),
    }
    match system.read_text(path) {
        Ok(text) => {
            let samples = parse(&text);
            if samples.is_empty() {
                return what("no line with a time and watts, such as 2026-07-30T12:00:00Z,4.2");
            }
            Seen::Present(samples)
        }
        Err(error) => what(&sysfs::reason(&error)),
    }
}

/// Lines `time,watts` in the order of time. A first line may name its columns.
pub fn parse(text: &str) -> Vec<Sample> {
    let mut columns = [0, 1];
    let mut samples = Vec::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let separator = if line.contains(';') { ';' } else { ',' };
        let cells: Vec<&str> =
            line.split([separator, '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        let cell = |column: usize| cells.get(column).copied();
        let sample = cell(columns[0]).and_then(time).zip(cell(columns[1]).and_then(watts));
        match sample {
            Some((at_ns, watts)) => samples.push(Sample { at_ns, watts }),
            None if samples.is_empty() => columns = named(&cells).unwrap_or(columns),
            None => {}
        }
    }
    samples.sort_by_key(|sample| sample.at_ns);
    samples
}

/// Columns that a header names.
fn named(cells: &[&str]) -> Option<[usize; 2]> {
    let find = |is: fn(&str) -> bool| cells.iter().position(|cell| is(&cell.to_lowercase()));
    let time = find(|cell| ["time", "date", "unix"].iter().any(|word| cell.contains(word)))?;
    let watts =
        find(|cell| cell == "w" || ["watt", "power"].iter().any(|word| cell.contains(word)))?;
    Some([time, watts])
}

/// Nanoseconds since 1970 of an RFC 3339 time, of seconds or of milliseconds.
fn time(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number > MOST_SECONDS { number / 1e3 } else { number };
        return (seconds > 0.0 && seconds < MOST_SECONDS).then_some((seconds * 1e9) as u64);
    }
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

fn watts(text: &str) -> Option<f64> {
    let number = text.strip_suffix('W').unwrap_or(text).trim().parse::<f64>().ok()?;
    number.is_finite().then_some(number)
}

/// Joules between two moments: straight lines between samples. At the ends the nearest sample
/// stands for at most the usual distance of two.
pub fn joules(samples: &[Sample], from_ns: u64, to_ns: u64) -> Result<f64, String> {
    let usual_ns = usual_distance_ns(samples);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Err("the meter's file is empty".to_owned());
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    if first.at_ns > from_ns + usual_ns {
        let late = seconds(first.at_ns - from_ns);
        return Err(format!("the meter's file begins {late:.1} s after the trial did"));
    }
    if last.at_ns + usual_ns < to_ns {
        let early = seconds(to_ns - last.at_ns);
        return Err(format!(
            "the meter's file ends {early:.1} s before the trial did: its program must write each \
             line at once"
        ));
    }
    let longest_ns = LONGEST_GAP_NS.max(5 * usual_ns);
    let mut joules = 0.0;
    for pair in samples.windows(2) {
        let (from, to) = (pair[0].at_ns.max(from_ns), pair[1].at_ns.min(to_ns));
        if from >= to {
            continue;
        }
        let gap_ns = pair[1].at_ns - pair[0].at_ns;
        if gap_ns > longest_ns {
            let gap = seconds(gap_ns);
            return Err(format!("the meter's file has a gap of {gap:.1} s in the trial"));
        }
        joules += seconds(to - from) * (at(pair, from) + at(pair, to)) / 2.0;
    }
    let before = first.at_ns.min(to_ns).saturating_sub(from_ns);
    let after = to_ns.saturating_sub(last.at_ns.max(from_ns));
    Ok(joules + seconds(before) * first.watts + seconds(after) * last.watts)
}

/// Watts at a moment between two samples.
fn at(pair: &[Sample], moment_ns: u64) -> f64 {
    let share = (moment_ns - pair[0].at_ns) as f64 / (pair[1].at_ns - pair[0].at_ns).max(1) as f64;
    pair[0].watts + share * (pair[1].watts - pair[0].watts)
}

/// The distance that half of the samples are within; none where there is one sample alone.
fn usual_distance_ns(samples: &[Sample]) -> u64 {
    let mut distances: Vec<u64> =
        samples.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}
