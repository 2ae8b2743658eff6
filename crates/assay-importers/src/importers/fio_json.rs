//! fio's JSON and JSON+: each job and direction is a run; jobs of one name that ran at once are one.

use std::collections::BTreeMap;

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_study::study::fio_job::ONLY_TOLD;
use serde_json::Value;

use super::json::{self, number, whole, word};
use super::run::{Run, Runs};
use super::{Importer, Reads, head};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "fio-json",
        summary: "JSON and JSON+ of fio 2.2 and later (--output-format=json)",
        text: "A workload for each kind of access and block size; job options (with global options) \
               that differ among the runs of a workload are the factors, and equal jobs are \
               replicates. Jobs of one group with equal options are one run, by what they did together. \
               Latencies are those of which fio tells percentiles, as a rule from the end of the \
               submission on (clat_ns). The order comes from the times in the files.",
    },
    recognises: |start| head::has_keys(start, &["fio version"]),
    reads: Reads::Runs(read),
};

/// Jobs of a file: each is held against the others, for those that ran at once.
const MOST_JOBS: usize = 10_000;
/// Directions with the words of workloads that do both.
const DIRECTIONS: [(&str, &str); 3] = [("read", "reads"), ("write", "writes"), ("trim", "trims")];
/// Options that say what a workload is.
const WORK: [&str; 4] = ["rw", "readwrite", "bs", "blocksize"];
/// Options that change nothing of what is measured, beside those that only say how fio reports.
const TOLD: [&str; 10] = [
    "stonewall",
    "wait_for_previous",
    "status_interval",
    "eta",
    "eta_interval",
    "output",
    "output-format",
    "randseed",
    "unlink",
    "write_iolog",
];
/// Options of reports that cost time while fio runs: where they differ, they are settings.
const COSTS: [&str; 5] =
    ["gtod_reduce", "disable_lat", "disable_clat", "disable_slat", "clocksource"];
/// Percentiles as fio names them, and as metrics do.
const PERCENTILES: [(f64, &str); 4] = [
    (50.0, "latency_p50_ns"),
    (90.0, "latency_p90_ns"),
    (99.0, "latency_p99_ns"),
    (99.9, "latency_p999_ns"),
];

/// One job of the file.
struct Job<'v> {
    value: &'v Value,
    workload: String,
    settings: BTreeMap<String, String>,
    group: u64,
}

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let whole = json::document(name, text)?;
    let jobs: &[Value] = match json::list(&whole, &["jobs"]) {
        [] => json::list(&whole, &["client_stats"]),
        jobs => jobs,
    };
    if jobs.is_empty() {
        return Err(Failure::mistake(format!(
            "{name}: there are no `jobs` in it: fio was ended before its end, or ran none"
        )));
    }
    if jobs.len() > MOST_JOBS {
        return Err(Failure::mistake(format!(
            "{name}: there are {} jobs in it; at most {MOST_JOBS} of a file are read: import parts",
            jobs.len()
        )));
    }
    let global = whole.get("global options");
    let is_own = whole.get("assay").is_some();
    let jobs = jobs.iter().filter(|job| !is_sum(job)).map(|job| job_of(job, global, is_own));
    let mut groups: Vec<Vec<Job<'_>>> = Vec::new();
    for job in jobs {
        let same = |other: &&mut Vec<Job<'_>>| {
            let first = &other[0];
            !is_own
                && first.group == job.group
                && first.workload == job.workload
                && first.settings == job.settings
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    let mut found = Runs { in_order: is_own || alone(&groups), ..Runs::default() };
    for group in &groups {
        for (direction, plural) in DIRECTIONS {
            if let Some(mut run) = run(group, direction, plural, &mut found.notes) {
                run.span_ms = span(&whole, &groups, group);
                found.runs.push(run);
            }
        }
    }
    if found.runs.is_empty() {
        return Err(Failure::mistake(format!(
            "{name}: no job of it read or wrote anything; look at `error` of its jobs"
        )));
    }
    Ok(found)
}

/// The entry that adds up what clients did.
fn is_sum(job: &Value) -> bool {
    word(job, &["jobname"]) == Some("All clients")
}

fn job_of<'v>(job: &'v Value, global: Option<&Value>, is_own: bool) -> Job<'v> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for source in [global, job.get("job options")].into_iter().flatten() {
        for (name, value) in source.as_object().into_iter().flatten() {
            options.insert(name.clone(), json::level(value).unwrap_or_default());
        }
    }
    let named = word(job, &["jobname"]).unwrap_or("job").to_owned();
    let first = |names: [&str; 2]| names.iter().find_map(|name| options.get(*name)).cloned();
    let workload = match first(["rw", "readwrite"]).filter(|_| !is_own) {
        None => named,
        Some(kind) => {
            let size = first(["bs", "blocksize"]).unwrap_or_else(|| "4k".to_owned());
            format!("{kind} {}", size.to_lowercase())
        }
    };
    let reports = |name: &str| ONLY_TOLD.contains(&name) && !COSTS.contains(&name);
    let passed = |name: &str| WORK.contains(&name) || TOLD.contains(&name) || reports(name);
    options.retain(|name, _| !passed(name));
    // What is ours says itself what its arm is.
    if let Some(arm) = json::at(job, &["assay", "arm"]).and_then(Value::as_object) {
        let level = |(name, value): (&String, &Value)| Some((name.clone(), json::level(value)?));
        options = arm.iter().filter_map(level).collect();
    }
    let group = whole(job, &["groupid"]).unwrap_or_default();
    Job { value: job, workload, settings: options, group }
}

/// Whether no two runs of the file shared their time: only then do they stand in their order.
fn alone(groups: &[Vec<Job<'_>>]) -> bool {
    let times: Vec<u64> = groups.iter().map(|group| group[0].group).collect();
    times.windows(2).all(|pair| pair[0] < pair[1])
}

/// When a run began and ended. Where jobs do not tell, groups share the time of their file in order.
fn span(file: &Value, groups: &[Vec<Job<'_>>], group: &[Job<'_>]) -> Option<(u64, u64)> {
    let job = group[0].value;
    if let Some(start) = whole(job, &["job_start"]) {
        return Some((start, start + whole(job, &["job_runtime"]).unwrap_or_default()));
    }
    let end = whole(file, &["timestamp_ms"])
        .or_else(|| whole(file, &["timestamp"]).map(|s| s.saturating_mul(1000)))?;
    let runtime = |jobs: &[Job<'_>]| {
        let own = jobs.iter().map(|job| whole(job.value, &["job_runtime"]).unwrap_or_default());
        own.max().unwrap_or_default()
    };
    // What ran after this group, each group as long as its longest job.
    let mut later: BTreeMap<u64, u64> = BTreeMap::new();
    for other in groups.iter().filter(|other| other[0].group > group[0].group) {
        let longest = later.entry(other[0].group).or_default();
        *longest = (*longest).max(runtime(other));
    }
    let end = end.saturating_sub(later.values().fold(0, |sum: u64, one| sum.saturating_add(*one)));
    Some((end.saturating_sub(runtime(group)), end))
}

fn run(group: &[Job<'_>], direction: &str, plural: &str, notes: &mut Vec<String>) -> Option<Run> {
    let parts: Vec<&Value> =
        group.iter().filter_map(|job| job.value.get(direction)).filter(|part| did(part)).collect();
    let first = group.first()?;
    let other = |job: &Job<'_>| {
        let names = DIRECTIONS.iter().map(|(name, _)| *name).filter(|name| *name != direction);
        names.filter_map(|name| job.value.get(name)).any(did)
    };
    let mixed = group.iter().any(other);
    let error = group.iter().find_map(|job| whole(job.value, &["error"]).filter(|e| *e > 0));
    if parts.is_empty() && (error.is_none() || mixed || direction != "read") {
        return None;
    }
    let both = mixed && !parts.is_empty();
    let workload =
        if both { format!("{}, {plural}", first.workload) } else { first.workload.clone() };
    let mut run = Run { workload, settings: first.settings.clone(), ..Run::default() };
    run.failed = error.map(|error| format!("fio ended with error {error}"));
    match parts.as_slice() {
        [] => {}
        [part] => {
            run.tell("iops", number(part, &["iops"]));
            run.tell("bandwidth_bytes_per_s", bandwidth(part));
            latencies(&mut run, part);
        }
        several => {
            run.tell("iops", rate(several, |part| number(part, &["iops"])));
            run.tell("bandwidth_bytes_per_s", rate(several, bandwidth));
            merged(&mut run, several);
            let note = "jobs that ran at once with equal options are one run: what they did \
                        together in the time of the longest; percentiles only where the file has \
                        bins (json+)";
            if !notes.iter().any(|known| known == note) {
                notes.push(note.to_owned());
            }
        }
    }
    Some(run)
}

/// Whether a direction did anything.
fn did(part: &Value) -> bool {
    number(part, &["total_ios"]).or_else(|| number(part, &["io_bytes"])).is_some_and(|n| n > 0.0)
}

/// What jobs did together in a second, as fio adds them up: by the time of the longest. The sum of
/// their rates would count an end with fewer jobs as if all had been at work.
fn rate(parts: &[&Value], of: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    let (mut done, mut longest_ms) = (0.0, 0.0_f64);
    for part in parts {
        let ms = number(part, &["runtime"])?;
        done += of(part)? * ms;
        longest_ms = longest_ms.max(ms);
    }
    (longest_ms > 0.0).then(|| done / longest_ms)
}

/// Bytes a second; fio 3.1 tells KiB only.
fn bandwidth(part: &Value) -> Option<f64> {
    number(part, &["bw_bytes"]).or_else(|| number(part, &["bw"]).map(|kib| kib * 1024.0))
}

/// The latencies of which a direction tells percentiles, else those of completions, with the factor
/// to nanoseconds: fio 2 told microseconds.
fn told_latencies(part: &Value) -> Option<(&Value, f64)> {
    let all = [("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1000.0), ("lat", 1000.0)];
    let all = all.into_iter().filter_map(|(name, factor)| Some((part.get(name)?, factor)));
    let detailed = all.clone().find(|(latency, _)| latency.get("percentile").is_some());
    detailed.or_else(|| all.clone().next())
}

fn latencies(run: &mut Run, part: &Value) {
    let Some((latency, factor)) = told_latencies(part) else { return };
    run.tell("latency_mean_ns", number(latency, &["mean"]).map(|mean| mean * factor));
    for (wanted, metric) in PERCENTILES {
        let told = latency.get("percentile").and_then(Value::as_object).into_iter().flatten();
        let near = |name: &str| name.parse::<f64>().is_ok_and(|own| (own - wanted).abs() < 1e-6);
        let mut value = told.filter(|(name, _)| near(name)).filter_map(|(_, value)| value.as_f64());
        if let Some(value) = value.next() {
            run.tell(metric, Some(value * factor));
        }
    }
    run.tell("latency_max_ns", number(latency, &["max"]).map(|max| max * factor));
}

/// Means by their counts, the largest maximum, and percentiles of all bins together.
fn merged(run: &mut Run, parts: &[&Value]) {
    let all: Option<Vec<(&Value, f64)>> = parts.iter().map(|part| told_latencies(part)).collect();
    let Some(all) = all else { return };
    let counts: Option<Vec<f64>> = parts.iter().map(|part| number(part, &["total_ios"])).collect();
    let means: Option<Vec<f64>> =
        all.iter().map(|(one, factor)| Some(number(one, &["mean"])? * factor)).collect();
    let mean = counts.zip(means).map(|(counts, means)| {
        let weighted: f64 = counts.iter().zip(&means).map(|(count, mean)| count * mean).sum();
        weighted / counts.iter().sum::<f64>()
    });
    run.tell("latency_mean_ns", mean);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let mut is_whole = true;
    for (latency, _) in &all {
        let own = latency.get("bins").and_then(Value::as_object);
        is_whole &= own.is_some_and(|own| !own.is_empty());
        for (bin, count) in own.into_iter().flatten() {
            let (Ok(bin), Some(count)) = (bin.parse::<u64>(), count.as_u64()) else { continue };
            let sum = bins.entry(bin).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    for (wanted, metric) in PERCENTILES.into_iter().filter(|_| is_whole) {
        run.tell(metric, percentile(&bins, wanted));
    }
    let largest = all.iter().filter_map(|(one, factor)| Some(number(one, &["max"])? * factor));
    run.tell("latency_max_ns", largest.reduce(f64::max));
}

/// As fio takes it: the value of the bin in which the share of all is reached.
fn percentile(bins: &BTreeMap<u64, u64>, wanted: f64) -> Option<f64> {
    let all: u64 = bins.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let mut seen = 0.0;
    let reached = bins.iter().find(|(_, count)| {
        seen += **count as f64;
        seen >= wanted / 100.0 * all as f64
    });
    reached.map(|(bin, _)| *bin as f64)
}
