//! fio's logs (`write_bw_log`, `write_iops_log`, `write_lat_log`): one file is one run for each
//! direction. What the numbers are only the name of the file tells.

use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::lines;

use super::run::{Run, Runs};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "fio-log",
        summary: "logs of fio (_bw, _iops, _lat, _clat, _slat)",
        text: "Each file is one run per direction; its name gives the log type (NAME_bw.1.log). With log_avg_msec, \
               bandwidth and IOPS are means of the averaged entries; otherwise, totals divided by the log duration. \
               Single latency entries give mean, percentiles and maximum; averaged entries give only the mean.",
    },
    recognises: |start| {
        let mut lines = lines::lines(start).take(LINES).peekable();
        let some = lines.peek().is_some();
        // The last line of the beginning may be cut off.
        let all: Vec<bool> = lines.map(|(_, line)| entry(line).is_some()).collect();
        some && all.iter().rev().skip(1).all(|good| *good) && all.first() == Some(&true)
    },
    reads: Reads::Runs(read),
    unused: &[],
};

const LINES: usize = 20;

#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Bandwidth,
    Iops,
    Latency,
}

const KINDS: [(&str, Holds); 5] = [
    ("_bw", Holds::Bandwidth),
    ("_iops", Holds::Iops),
    ("_clat", Holds::Latency),
    ("_slat", Holds::Latency),
    ("_lat", Holds::Latency),
];
const DIRECTIONS: [&str; 3] = ["reads", "writes", "trims"];
const PERCENTILES: [(f64, &str); 5] = [
    (0.5, "latency_p50_ns"),
    (0.9, "latency_p90_ns"),
    (0.99, "latency_p99_ns"),
    (0.999, "latency_p999_ns"),
    (0.9999, "latency_p9999_ns"),
];

/// Time in ms, value, direction and bytes: `time, value, direction, bytes, offset ...`.
fn entry(line: &str) -> Option<(u64, f64, usize, u64)> {
    let mut fields = line.split(',').map(str::trim);
    let ms = fields.next()?.parse::<u64>().ok()?;
    let value = fields.next()?.parse::<u64>().ok()?;
    let direction = fields.next()?.parse::<usize>().ok().filter(|at| *at < DIRECTIONS.len())?;
    let bytes = fields.next()?.parse::<u64>().ok()?;
    // Offsets and priorities follow, in newer logs.
    let rest: Vec<&str> = fields.collect();
    let number = |field: &&str| {
        let digits = field.strip_prefix("0x").unwrap_or(field);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    rest.iter().all(number).then_some((ms, value as f64, direction, bytes))
}

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let stem = last.split('.').next().unwrap_or(last);
    // fio numbers the logs of jobs that ran at once.
    let number = last.split('.').nth(1).filter(|part| part.parse::<u32>().is_ok());
    let kind = KINDS.iter().find_map(|(end, holds)| Some((stem.strip_suffix(end)?, end, *holds)));
    let Some((job, end, holds)) = kind else {
        return Err(Failure::mistake(format!(
            "{name}: the file name lacks the type of the fio log; before the first point, it must \
             end in _bw, _iops, _lat, _clat or _slat"
        )));
    };
    let mut values = [Vec::new(), Vec::new(), Vec::new()];
    let mut moved = [0.0; 3];
    let (mut averaged, mut last_ms) = (false, 0);
    for (at, line) in lines::lines(text) {
        let Some((ms, value, direction, bytes)) = entry(line) else {
            return Err(Failure::mistake(format!(
                "{name}:{at}:1: not a fio log entry; the file may be truncated"
            )));
        };
        values[direction].push(value);
        moved[direction] += bytes as f64;
        last_ms = last_ms.max(ms);
        averaged |= bytes == 0;
    }
    let seconds = last_ms as f64 / 1000.0;
    let mut runs = Vec::new();
    for ((values, direction), moved) in values.iter_mut().zip(DIRECTIONS).zip(moved) {
        if values.is_empty() {
            continue;
        }
        let kind = end.trim_start_matches('_');
        let mut run = Run::new(format!("{job}, {kind} of {direction}"));
        if let Some(number) = number {
            run.set("job", number);
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let own = |count: f64| (seconds > 0.0).then(|| count / seconds);
        let why = "the log covers less than 1 ms, which is too short for a rate";
        match holds {
            Holds::Bandwidth if !averaged && last_ms == 0 => run.lack("bandwidth_bytes_per_s", why),
            Holds::Iops if !averaged && last_ms == 0 => run.lack("iops", why),
            // Entries of single operations are no rates: what they moved in the whole time is.
            Holds::Bandwidth if !averaged => run.add("bandwidth_bytes_per_s", own(moved)),
            Holds::Iops if !averaged => run.add("iops", own(values.len() as f64)),
            Holds::Bandwidth => run.add("bandwidth_bytes_per_s", Some(mean * 1024.0)),
            Holds::Iops => run.add("iops", Some(mean)),
            Holds::Latency => run.add("latency_mean_ns", Some(mean)),
        }
        if holds == Holds::Latency && !averaged {
            values.sort_unstable_by(f64::total_cmp);
            for (share, metric) in PERCENTILES {
                let rank = (share * values.len() as f64).ceil() as usize;
                let value = values.get(rank.saturating_sub(1)).copied();
                run.add_percentile(metric, share, value, values.len() as u64);
            }
            run.add("latency_max_ns", values.last().copied());
        }
        runs.push(run);
    }
    Ok(Runs { runs, ..Runs::default() })
}
