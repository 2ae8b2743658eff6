//! fio's logs (`write_bw_log`, `write_iops_log`, `write_lat_log`): one run per direction; the file name gives the type.

use assay_core::{catalogue::About, failure::Outcome, lines};

use super::run::{ImportedRun, ImportedRuns, PERCENTILES};
use super::{Importer, Reads, mistake_in};

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
        // The last line of the head may be truncated.
        let all: Vec<bool> = lines.map(|(_, line)| entry(line).is_some()).collect();
        some && all.iter().rev().skip(1).all(|good| *good) && all.first() == Some(&true)
    },
    reads: Reads::Runs(read),
    unused: &[],
};

const LINES: usize = 20;
const LATENCY: &str = "latency_mean_ns";
/// Name suffixes, with the metric of the mean and its factor.
const KINDS: [(&str, &str, f64); 5] = [
    ("_bw", "bandwidth_bytes_per_s", 1024.0),
    ("_iops", "iops", 1.0),
    ("_clat", LATENCY, 1.0),
    ("_slat", LATENCY, 1.0),
    ("_lat", LATENCY, 1.0),
];
const DIRECTIONS: [&str; 3] = ["reads", "writes", "trims"];

/// Time in ms, value, direction (an index of `DIRECTIONS`) and bytes: `time, value, direction, bytes, offset ...`.
fn entry(line: &str) -> Option<(u64, f64, usize, u64)> {
    let mut fields = line.split(',').map(str::trim);
    let ms = fields.next()?.parse::<u64>().ok()?;
    let value = fields.next()?.parse::<u64>().ok()?;
    let direction = fields.next()?.parse::<usize>().ok().filter(|at| *at < DIRECTIONS.len())?;
    let bytes = fields.next()?.parse::<u64>().ok()?;
    let is_number = |field: &str| {
        let digits = field.strip_prefix("0x").unwrap_or(field);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    // Offsets and priorities follow, in newer logs.
    fields.all(is_number).then_some((ms, value as f64, direction, bytes))
}

/// One run per direction of a log of fio; the file name states the metric.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    let stem = file_name.split('.').next().unwrap_or(file_name);
    // fio numbers the logs of concurrent jobs: `job_bw.1.log`.
    let job_number = file_name.split('.').nth(1).filter(|part| part.parse::<u32>().is_ok());
    let Some((end, metric, factor)) = KINDS.iter().find(|(end, ..)| stem.ends_with(end)) else {
        let text = "the file name lacks the type of the fio log; before the first point, it must end in _bw, _iops, \
                    _lat, _clat or _slat";
        return Err(mistake_in(name, text));
    };
    let job = stem.strip_suffix(end).unwrap_or(stem);
    let is_latency = *metric == LATENCY;
    let mut logged: [LoggedDirection; DIRECTIONS.len()] = Default::default();
    // Entries that are averages over a time (log_avg_msec) have a size of 0.
    let (mut averaged, mut last_ms) = (false, 0);
    for (at, line) in lines::lines(text) {
        let Some((ms, value, direction, bytes)) = entry(line) else {
            let text = "not a fio log entry; the file may be truncated";
            return Err(mistake_in(&format!("{name}:{at}:1"), text));
        };
        logged[direction].values.push(value);
        logged[direction].bytes += bytes as f64;
        last_ms = last_ms.max(ms);
        averaged |= bytes == 0;
    }
    let mut runs = Vec::new();
    for (logged, direction) in logged.into_iter().zip(DIRECTIONS) {
        if logged.values.is_empty() {
            continue;
        }
        let kind = end.trim_start_matches('_');
        let mut run = ImportedRun::new(format!("{job}, {kind} of {direction}"));
        if let Some(job_number) = job_number {
            run.set("job", job_number);
        }
        if is_latency || averaged {
            run.add(metric, Some(logged.mean() * factor));
        } else if last_ms == 0 {
            run.lack(metric, "the log covers less than 1 ms, which is too short for a rate");
        } else {
            // Entries of single operations are not rates; the total divided by the time is.
            let done = if *metric == "iops" { logged.values.len() as f64 } else { logged.bytes };
            run.add(metric, Some(done / (last_ms as f64 / 1000.0)));
        }
        if is_latency && !averaged {
            logged.add_percentiles(&mut run);
        }
        runs.push(run);
    }
    Ok(ImportedRuns { runs, ..ImportedRuns::default() })
}

/// All entries of one direction.
#[derive(Default)]
struct LoggedDirection {
    values: Vec<f64>,
    bytes: f64,
}

impl LoggedDirection {
    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    fn add_percentiles(mut self, run: &mut ImportedRun) {
        self.values.sort_unstable_by(f64::total_cmp);
        let count = self.values.len();
        for (share, metric) in PERCENTILES {
            let rank = (share * count as f64).ceil() as usize;
            let value = self.values.get(rank.saturating_sub(1)).copied();
            run.add_percentile(metric, share, value, count as u64);
        }
        run.add("latency_max_ns", self.values.last().copied());
    }
}
