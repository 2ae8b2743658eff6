//! fio's JSON and JSON+: each job and direction is a run; concurrent jobs of the same name are one run.

use std::collections::BTreeMap;

use assay_core::{catalogue::About, failure::Outcome, quantity::level_number};
use assay_study::file::fio_job::REPORT_ONLY;
use assay_workloads::command::ImportEvidence;
use serde_json::Value;

use super::json::{self, number, whole, word};
use super::run::{ImportedRun, ImportedRuns, PERCENTILES};
use super::{Importer, Reads, grouped, head, mistake_in};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "fio-json",
        summary: "JSON and JSON+ of fio 2.2 and later (--output-format=json)",
        text: "Each combination of access type and block size is a workload. Job options (including global options) \
               that differ between runs of a workload are factors, and equal jobs are replicates. Assay combines jobs \
               of one group with equal options into one run and adds up their results. Latencies are the fio latencies \
               with percentiles, usually completion latencies (clat_ns). Assay orders the runs by time.",
    },
    recognises: |start| head::has_keys(start, &["fio version"]),
    reads: Reads::Runs(read),
    unused: &[
        (
            r#"bw_min, bw_max, bw_mean, bw_dev, bw_agg, bw_samples, iops_min, iops_max, iops_mean, iops_stddev,
                iops_samples, "stddev""#,
            "samples within a run are not replicates",
        ),
        (
            r#"slat_ns, lat_ns, "slat", "lat", latency_ns, latency_us, latency_ms, bins"#,
            "the same latencies in other forms",
        ),
        (r#""percentile""#, "other percentiles than p50, p90, p99, p99.9 and p99.99"),
        (r#"usr_cpu, sys_cpu, "ctx", majf, minf"#, "processor time and faults"),
        (
            "iodepth_submit, iodepth_complete, iodepth_level, disk_util",
            "evidence for the rules of trust, or how fio submitted",
        ),
        (
            r#"latency_depth, latency_target, latency_percentile, latency_window, elapsed, "eta""#,
            "progress and limits of the job",
        ),
        (
            r#"short_ios, drop_ios, io_kbytes, "bw", io_bytes, total_ios, "min", "N""#,
            "the same amounts in other forms",
        ),
    ],
};

/// Limit on jobs per file: each job is compared with all others to find concurrent ones.
const MOST_JOBS: usize = 10_000;
/// Directions, with their word for workloads that do both.
const DIRECTIONS: [(&str, &str); 3] = [("read", "reads"), ("write", "writes"), ("trim", "trims")];
/// Sections that fio reports separately: all directions together (unified_rw_reporting), and flushes.
const SEPARATE: [(&str, &str); 2] = [("mixed", "all"), ("sync", "syncs")];
const WORK: [&str; 4] = ["rw", "readwrite", "bs", "blocksize"];
/// Options that do not change what is measured, in addition to those that only control fio's report.
const WITHOUT_EFFECT: &str = "stonewall wait_for_previous status_interval eta eta_interval output output-format \
                              randseed unlink write_iolog";
/// Options of fio's reports that cost time during a run: if they differ, they are settings.
const COSTS: [&str; 5] =
    ["gtod_reduce", "disable_lat", "disable_clat", "disable_slat", "clocksource"];

struct FioJob<'v> {
    value: &'v Value,
    workload: String,
    settings: BTreeMap<String, String>,
    /// All options, including those that are not settings.
    options: BTreeMap<String, String>,
    group: u64,
}

/// Reads each run of a file; of the reports of one run, only the last.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut found = ImportedRuns { in_order: true, ..ImportedRuns::default() };
    let mut documents = json::documents(name, text)?.into_iter().peekable();
    let (mut skipped, mut runs) = (0_usize, 0_usize);
    while let Some(document) = documents.next() {
        if documents.peek().is_some_and(|next| is_later_report(&document, next)) {
            skipped += 1;
        } else {
            runs += 1;
            read_document(name, &document, &mut found)?;
        }
    }
    found.in_order &= runs <= 1;
    if skipped > 0 {
        found.notes.push(format!(
            "Assay skips {skipped} earlier reports of the same run (status-interval); the last report is cumulative"
        ));
    }
    Ok(found)
}

/// Whether `after` reports the same run as `before`, at a later time: its jobs have the same names, and one of them had
/// ended by `before`, or has run for longer than the time between the reports.
fn is_later_report(before: &Value, after: &Value) -> bool {
    let Some((before_ms, after_ms)) = end_ms(before).zip(end_ms(after)) else { return false };
    let between_ms = after_ms.saturating_sub(before_ms);
    let (jobs_before, jobs_after) = (json::list(before, &["jobs"]), json::list(after, &["jobs"]));
    let pairs = || jobs_before.iter().zip(jobs_after);
    if jobs_before.len() != jobs_after.len()
        || pairs().any(|(old, new)| word(old, &["jobname"]) != word(new, &["jobname"]))
    {
        return false;
    }
    pairs().any(|(old, new)| {
        let runtime_ms = |job| whole(job, &["job_runtime"]).unwrap_or_default();
        let is_equal = |direction: &str| old.get(direction) == new.get(direction);
        let had_ended = runtime_ms(old) > 0 && is_equal("read") && is_equal("write");
        had_ended || between_ms + 1 < runtime_ms(new)
    })
}

/// Time of the report since the Unix epoch.
fn end_ms(document: &Value) -> Option<u64> {
    whole(document, &["timestamp_ms"])
        .or_else(|| whole(document, &["timestamp"]).map(|s| s.saturating_mul(1000)))
}

/// Adds the runs of one report of fio: one per direction of each group of jobs.
fn read_document(name: &str, whole: &Value, found: &mut ImportedRuns) -> Outcome<()> {
    let jobs: &[Value] = match json::list(whole, &["jobs"]) {
        [] => json::list(whole, &["client_stats"]),
        jobs => jobs,
    };
    if jobs.is_empty() {
        return Err(mistake_in(name, "contains no `jobs`; fio was interrupted or ran no job"));
    }
    let count = jobs.len();
    if count > MOST_JOBS {
        let limit = format!("the limit is {MOST_JOBS} per file; import parts of the file");
        return Err(mistake_in(name, &format!("contains {count} jobs, {limit}")));
    }
    let global = whole.get("global options");
    // In Assay's own exports, each job is a run, in the order of the runs.
    let is_own = whole.get("assay").is_some();
    let clients = jobs.iter().filter(|job| word(job, &["jobname"]) != Some("All clients"));
    let jobs = clients.map(|job| parse_job(job, global, is_own));
    let groups = grouped(jobs, |one, other| {
        !is_own
            && one.group == other.group
            && one.workload == other.workload
            && one.settings == other.settings
    });
    found.in_order &= is_own || are_in_sequence(&groups);
    let runs_before = found.runs.len();
    for group in &groups {
        for (direction, plural) in DIRECTIONS.into_iter().chain(SEPARATE) {
            if let Some(mut run) = run_of_direction(group, direction, plural, &mut found.notes) {
                run.span_ms = span_ms(whole, &groups, group);
                add_evidence(&mut run, group, direction, whole);
                found.runs.push(run);
            }
        }
    }
    if found.runs.len() == runs_before {
        let text = "no job read or wrote data; check the `error` field of the jobs";
        return Err(mistake_in(name, text));
    }
    Ok(())
}

/// Parses a job; its settings are the options that change the work, or the arm in Assay's own exports.
fn parse_job<'v>(job: &'v Value, global: Option<&Value>, is_own: bool) -> FioJob<'v> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for source in [global, job.get("job options")].into_iter().flatten() {
        for (name, value) in source.as_object().into_iter().flatten() {
            options.insert(name.clone(), json::level(value).unwrap_or_default());
        }
    }
    let option = |names: [&str; 2]| names.iter().find_map(|name| options.get(*name)).cloned();
    let workload = match option(["rw", "readwrite"]).filter(|_| !is_own) {
        None => word(job, &["jobname"]).unwrap_or("job").to_owned(),
        Some(kind) => {
            let size = option(["bs", "blocksize"]).unwrap_or_else(|| "4k".to_owned());
            format!("{kind} {}", size.to_lowercase())
        }
    };
    let only_reports = |name: &str| REPORT_ONLY.contains(&name) && !COSTS.contains(&name);
    let is_of_run = |name: &str| WITHOUT_EFFECT.split(' ').any(|known| known == name);
    let mut settings = options.clone();
    settings.retain(|name, _| !WORK.contains(&&**name) && !is_of_run(name) && !only_reports(name));
    // Assay's own exports name their arm.
    if let Some(arm) = json::at(job, &["assay", "arm"]).and_then(Value::as_object) {
        let level = |(name, value): (&String, &Value)| Some((name.clone(), json::level(value)?));
        settings = arm.iter().filter_map(level).collect();
    }
    let group = whole(job, &["groupid"]).unwrap_or_default();
    FioJob { value: job, workload, settings, options, group }
}

/// Whether no two runs of the file overlap in time: only then does their order count.
fn are_in_sequence(groups: &[Vec<FioJob<'_>>]) -> bool {
    groups.windows(2).all(|pair| pair[0][0].group < pair[1][0].group)
}

/// Start and end of a run. If jobs do not record times, groups share the time of their file in order.
fn span_ms(file: &Value, groups: &[Vec<FioJob<'_>>], group: &[FioJob<'_>]) -> Option<(u64, u64)> {
    let job = group[0].value;
    if let Some(start) = whole(job, &["job_start"]) {
        return Some((start, start + whole(job, &["job_runtime"]).unwrap_or_default()));
    }
    let end = end_ms(file)?;
    let runtime = |jobs: &[FioJob<'_>]| {
        jobs.iter().filter_map(|job| whole(job.value, &["job_runtime"])).max().unwrap_or_default()
    };
    // Total runtime of the later groups, each as long as its longest job.
    let mut later: BTreeMap<u64, u64> = BTreeMap::new();
    for other in groups.iter().filter(|other| other[0].group > group[0].group) {
        let longest = later.entry(other[0].group).or_default();
        *longest = (*longest).max(runtime(other));
    }
    let end = end.saturating_sub(later.values().fold(0, |sum: u64, one| sum.saturating_add(*one)));
    Some((end.saturating_sub(runtime(group)), end))
}

/// The run of a group in one direction, named after it if the group has several; `None` if it moved no data there. A
/// group that failed without moving any data becomes one failed run, in the direction `read`.
fn run_of_direction(
    group: &[FioJob<'_>],
    direction: &str,
    plural: &str,
    notes: &mut Vec<String>,
) -> Option<ImportedRun> {
    let reported = group.iter().filter_map(|job| job.value.get(direction));
    let parts: Vec<&Value> = reported.filter(|part| has_moved_data(part)).collect();
    let first = group.first()?;
    let did_other_direction = |job: &FioJob<'_>| {
        let names = DIRECTIONS.iter().map(|(name, _)| *name).filter(|name| *name != direction);
        names.filter_map(|name| job.value.get(name)).any(has_moved_data)
    };
    let has_other_direction = group.iter().any(did_other_direction);
    // With unified_rw_reporting=both, the directions are there as well.
    if direction == "mixed" && has_other_direction {
        return None;
    }
    let error = group.iter().find_map(|job| whole(job.value, &["error"]).filter(|e| *e > 0));
    let is_failed_group = error.is_some() && !has_other_direction && direction == "read";
    if parts.is_empty() && !is_failed_group {
        return None;
    }
    let mut run = ImportedRun::new(first.workload.clone());
    run.settings.clone_from(&first.settings);
    if direction == "sync" || has_other_direction {
        run.workload = format!("{}, {plural}", run.workload);
    }
    run.failed = error.map(|error| format!("fio ended with error {error}"));
    match parts.as_slice() {
        [] => {}
        // For flushes, fio reports latencies only.
        [part] if direction == "sync" => add_latencies(&mut run, part),
        several if direction == "sync" => add_merged_latencies(&mut run, several),
        [part] => {
            run.add("iops", number(part, &["iops"]));
            run.add("bandwidth_bytes_per_s", bandwidth(part));
            add_latencies(&mut run, part);
        }
        several => {
            run.add("iops", joint_rate(several, |part| number(part, &["iops"])));
            run.add("bandwidth_bytes_per_s", joint_rate(several, bandwidth));
            add_merged_latencies(&mut run, several);
            let note = "concurrent jobs with equal options form one run (total of all jobs over \
                        the time of the longest); percentiles need bins (json+)";
            if !notes.iter().any(|known| known == note) {
                notes.push(note.to_owned());
            }
        }
    }
    Some(run)
}

fn has_moved_data(part: &Value) -> bool {
    number(part, &["total_ios"]).or_else(|| number(part, &["io_bytes"])).is_some_and(|n| n > 0.0)
}

/// The joint rate over the runtime of the longest job, as in fio: a sum of rates would overestimate it.
fn joint_rate(parts: &[&Value], rate_of: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    let (mut done, mut longest_ms) = (0.0, 0.0_f64);
    for part in parts {
        let ms = number(part, &["runtime"])?;
        done += rate_of(part)? * ms;
        longest_ms = longest_ms.max(ms);
    }
    (longest_ms > 0.0).then(|| done / longest_ms)
}

/// Bytes per second; fio 3.1 reports KiB only.
fn bandwidth(part: &Value) -> Option<f64> {
    number(part, &["bw_bytes"]).or_else(|| number(part, &["bw"]).map(|kib| kib * 1024.0))
}

/// The latencies with percentiles, else completion latencies; and the factor to nanoseconds (fio 2: microseconds).
fn best_latencies(part: &Value) -> Option<(&Value, f64)> {
    let names = [("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1000.0), ("lat", 1000.0)];
    let mut reported = names.into_iter().filter_map(|(name, ns)| Some((part.get(name)?, ns)));
    let detailed = reported.clone().find(|(latency, _)| latency.get("percentile").is_some());
    detailed.or_else(|| reported.next())
}

fn add_latencies(run: &mut ImportedRun, part: &Value) {
    let Some((latency, factor)) = best_latencies(part) else { return };
    if is_unmeasured(latency) {
        return lack_latencies(run);
    }
    let count = number(latency, &["N"]).or_else(|| number(part, &["total_ios"]));
    let count = count.map_or(u64::MAX, |count| count as u64);
    run.add("latency_mean_ns", number(latency, &["mean"]).map(|mean| mean * factor));
    for (share, metric) in PERCENTILES {
        let reported = latency.get("percentile").and_then(Value::as_object).into_iter().flatten();
        let wanted = 100.0 * share;
        let is_wanted =
            |name: &str| name.parse::<f64>().is_ok_and(|percent| (percent - wanted).abs() < 1e-6);
        let mut values = reported.filter(|(name, _)| is_wanted(name));
        if let Some(value) = values.find_map(|(_, value)| value.as_f64()) {
            run.add_percentile(metric, wanted / 100.0, Some(value * factor), count);
        }
    }
    run.add("latency_max_ns", number(latency, &["max"]).map(|max| max * factor));
}

/// Whether fio timed no operation: no operation takes 0 ns.
fn is_unmeasured(latency: &Value) -> bool {
    number(latency, &["max"]) == Some(0.0) && number(latency, &["mean"]) == Some(0.0)
}

fn lack_latencies(run: &mut ImportedRun) {
    for metric in ["latency_mean_ns", "latency_max_ns"] {
        run.lack(metric, "fio did not measure it (gtod_reduce or disable_clat)");
    }
}

/// Adds the file's evidence on queue depth, disks and page cache to a run.
fn add_evidence(run: &mut ImportedRun, group: &[FioJob<'_>], direction: &str, file: &Value) {
    // For flushes, fio reports latencies only.
    let Some(first) = group.first().filter(|_| direction != "sync") else { return };
    let option = |name: &str| first.options.get(name).map(String::as_str);
    let is_set = |name: &str| option(name).is_some_and(|value| value != "0");
    // A rate limit or think time, and not the device, determines the depth.
    let is_paced =
        first.options.keys().any(|name| name.starts_with("rate") || name.starts_with("think"));
    let requested = option("iodepth").and_then(|depth| depth.parse().ok()).filter(|_| !is_paced);
    if let Some((requested, reached)) =
        requested.and_then(|depth| Some((depth, largest_mean_depth(first.value, depth)?)))
    {
        run.evidence.push(ImportEvidence::Depth { requested, reached });
    }
    let disks = disk_evidence(file, direction, option("direct") == Some("1"));
    let has_disks = disks.is_some();
    run.evidence.extend(disks);
    let is_flushed = direction != "read"
        && ["fsync", "fdatasync", "end_fsync", "fsync_on_close", "sync"]
            .iter()
            .any(|name| is_set(name));
    let is_buffered =
        !is_set("direct") && option("buffered") != Some("0") && !is_flushed && !has_disks;
    if is_buffered && option("ioengine") != Some("null") {
        let mut bytes = 0.0;
        for job in group {
            bytes += number(job.value, &[direction, "io_bytes"]).unwrap_or_default();
        }
        let size = option("size").and_then(level_number).map(|size| size * group.len() as f64);
        run.may_be_buffered(size.unwrap_or(bytes).min(bytes));
    }
}

/// Upper bound of the mean queue depth: fio's level 4 counts depths 4 to 7, its level `>=64` those up to `requested`.
fn largest_mean_depth(job: &Value, requested: f64) -> Option<f64> {
    let levels = job.get("iodepth_level")?.as_object()?;
    let (mut sum, mut shares) = (0.0, 0.0);
    for (level, share) in levels {
        let (least, share) = (level.trim_start_matches(">=").parse::<f64>().ok()?, share.as_f64()?);
        let most = if level.starts_with(">=") { requested.max(least) } else { 2.0 * least - 1.0 };
        sum += share * most;
        shares += share;
    }
    (shares > 0.0).then(|| sum / shares)
}

const LARGEST_REQUEST: f64 = 4_194_304.0;

/// Disk counters of a file next to the traffic that all its jobs needed in a direction.
fn disk_evidence(file: &Value, direction: &str, is_direct: bool) -> Option<ImportEvidence> {
    let plural = match direction {
        "read" => "reads",
        "write" => "writes",
        _ => return None,
    };
    let disks = json::list(file, &["disk_util"]);
    let (mut requests, mut sectors, mut has_sectors) = (0.0, 0.0, !disks.is_empty());
    for disk in disks {
        requests += number(disk, &[&format!("{direction}_ios")])?;
        requests += number(disk, &[&format!("{direction}_merges")]).unwrap_or_default();
        let disk_sectors = number(disk, &[&format!("{direction}_sectors")]);
        has_sectors &= disk_sectors.is_some();
        sectors += disk_sectors.unwrap_or_default();
    }
    if disks.is_empty() {
        return None;
    }
    let (mut operations, mut bytes) = (0.0, 0.0);
    for job in json::list(file, &["jobs"]) {
        operations += number(job, &[direction, "total_ios"]).unwrap_or_default();
        bytes += number(job, &[direction, "io_bytes"]).unwrap_or_default();
    }
    let (counted, needed, what) = if has_sectors {
        (sectors * 512.0, bytes, "bytes")
    } else if is_direct {
        (requests, operations, plural)
    } else {
        // The page cache may have merged operations up to the largest request.
        (requests, bytes / LARGEST_REQUEST, plural)
    };
    Some(ImportEvidence::Disk { counted, needed, what: what.into() })
}

/// Merges runs: means weighted by count, the largest maximum, and percentiles of all bins together.
fn add_merged_latencies(run: &mut ImportedRun, parts: &[&Value]) {
    let latencies = parts.iter().map(|part| best_latencies(part));
    let Some(latencies) = latencies.collect::<Option<Vec<(&Value, f64)>>>() else { return };
    if latencies.iter().all(|(latency, _)| is_unmeasured(latency)) {
        return lack_latencies(run);
    }
    let counts: Option<Vec<f64>> = parts.iter().map(|part| number(part, &["total_ios"])).collect();
    let in_ns =
        |(latency, factor): &(&Value, f64), field| Some(number(latency, &[field])? * factor);
    let means: Option<Vec<f64>> = latencies.iter().map(|one| in_ns(one, "mean")).collect();
    let mean = counts.zip(means).map(|(counts, means)| {
        let weighted: f64 = counts.iter().zip(&means).map(|(count, mean)| count * mean).sum();
        weighted / counts.iter().sum::<f64>()
    });
    run.add("latency_mean_ns", mean);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let mut all_have_bins = true;
    for (latency, _) in &latencies {
        let reported = latency.get("bins").and_then(Value::as_object);
        all_have_bins &= reported.is_some_and(|bins| !bins.is_empty());
        for (bin, count) in reported.into_iter().flatten() {
            let (Ok(bin), Some(count)) = (bin.parse::<u64>(), count.as_u64()) else { continue };
            let sum = bins.entry(bin).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let count = bins.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let percentiles: &[_] = if all_have_bins { &PERCENTILES } else { &[] };
    for (share, metric) in percentiles {
        let wanted = 100.0 * share;
        run.add_percentile(metric, wanted / 100.0, percentile(&bins, wanted, count), count);
    }
    let largest = latencies.iter().filter_map(|one| in_ns(one, "max"));
    run.add("latency_max_ns", largest.reduce(f64::max));
}

/// Returns the value of the bin in which a share of all operations is reached, as fio does.
fn percentile(bins: &BTreeMap<u64, u64>, wanted: f64, all: u64) -> Option<f64> {
    let mut seen = 0.0;
    let reached = bins.iter().find(|(_, count)| {
        seen += **count as f64;
        seen >= wanted / 100.0 * all as f64
    });
    reached.map(|(bin, _)| *bin as f64)
}
