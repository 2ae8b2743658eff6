//! sysstat's JSON (`iostat -o JSON`, `sadf -j`): one run per device, the mean of its reports; reports are not trials.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use assay_core::{catalogue::About, failure::Outcome};
use serde_json::Value;

use super::json::{self, number, word};
use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, head};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "sysstat-json",
        summary: "JSON of sysstat (iostat -o JSON, sadf -j)",
        text: "Each device in a file becomes one run with the mean of each metric over all reports (wait times \
               weighted by number of requests). The first iostat report is the mean since boot, so Assay skips this \
               report if others follow. The file does not name the workload; set a name with --set.",
    },
    recognises: |start| head::has_keys(start, &["sysstat", "hosts"]),
    reads: Reads::Runs(read),
    unused: &[
        (r#"avg-cpu, cpu-load, "util", util-percent, svctm"#, "how busy it was"),
        (
            "rrqm, wrqm, drqm, rqm/s, areq-sz, rareq-sz, wareq-sz, dareq-sz, avgrq-sz",
            "sizes and merges of requests",
        ),
        (
            r#""kB_read", "kB_wrtn", "kB_dscd", "MB_read", "MB_wrtn", "MB_dscd", "Blk_read", "Blk_wrtn", "Blk_dscd""#,
            "sums since the machine was started",
        ),
    ],
};

/// Fields of latencies with their field of request counts: as in sysstat, idle seconds have no weight.
const WEIGHTS: [(&str, &str); 5] = [
    ("r_await", "r/s"),
    ("w_await", "w/s"),
    ("d_await", "d/s"),
    ("f_await", "f/s"),
    ("await", "tps"),
];
/// A field, its metric and the factor to it.
type Field = (&'static str, &'static str, f64);

static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let field = |line: &'static str| {
        let mut words = line.split(' ');
        let (name, metric) = (words.next()?, words.next()?);
        Some((name, metric, words.next()?.parse().ok()?))
    };
    include_str!("sysstat.txt").lines().skip(1).filter_map(field).collect()
});

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let document = json::document(name, text)?;
    let mut runs = ImportedRuns::default();
    for host in json::list(&document, &["sysstat", "hosts"]) {
        let reports = json::list(host, &["statistics"]);
        let has_time = |report: &Value| report.get("timestamp").is_some();
        let is_interval = |report: &Value| number(report, &["timestamp", "interval"]).is_some();
        let since_boot = host.get("date").is_some() && !reports.first().is_some_and(is_interval);
        let skipped = usize::from(since_boot && reports.len() > 1);
        if skipped > 0 {
            runs.notes.push("the first report is the mean since boot; skipped".to_owned());
        }
        if reports.len() == 1 && !has_time(&reports[0]) {
            runs.notes.push("the only report is the mean since boot".to_owned());
        }
        let mut host_runs = mean_runs(&reports[skipped..], &mut runs.notes);
        let place = word(host, &["nodename"]).unwrap_or_default();
        for run in &mut host_runs {
            place.clone_into(&mut run.place);
        }
        runs.runs.extend(host_runs);
    }
    runs.require(name, "no report has a `disk`; use iostat -x, or sadf -j -- -d")
}

/// One run per device; notes unknown fields.
fn mean_runs(reports: &[Value], notes: &mut Vec<String>) -> Vec<ImportedRun> {
    // By device and index in FIELDS: the weighted sum of the reports' values, and the sum of the weights.
    let mut sums: BTreeMap<&str, BTreeMap<usize, (f64, f64)>> = BTreeMap::new();
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for disk in reports.iter().flat_map(|report| json::list(report, &["disk"])) {
        let Some(device) = word(disk, &["disk_device"]).or_else(|| word(disk, &["disk-device"]))
        else {
            continue;
        };
        let device_sums = sums.entry(device.trim()).or_default();
        for (index, (field, ..)) in FIELDS.iter().enumerate() {
            let weight = match WEIGHTS.iter().find(|(name, _)| name == field) {
                Some((_, weight_field)) => number(disk, &[weight_field]),
                None => Some(1.0),
            };
            if let Some((value, weight)) = number(disk, &[field]).zip(weight) {
                let (sum, weights) = device_sums.entry(index).or_default();
                *sum += value * weight;
                *weights += weight;
            }
        }
        for (name, value) in disk.as_object().into_iter().flatten() {
            if value.is_number() && !FIELDS.iter().any(|(field, ..)| field == name) {
                unknown.insert(name);
            }
        }
    }
    // The importer names these in a note of its own.
    let is_unused = |name: &str| {
        let mut unused = IMPORTER.unused().flat_map(|(names, _)| names);
        unused.any(|one| one.trim_matches('"') == name || name.trim_end_matches("/s") == one)
    };
    for name in unknown.into_iter().filter(|name| !is_unused(name)) {
        notes.push(format!("not compared: {name} (unknown field)"));
    }
    let run = |(device, sums): (&str, BTreeMap<usize, (f64, f64)>)| {
        let mut run = ImportedRun::new(device);
        for (index, (sum, weights)) in sums {
            let (_, metric, factor) = FIELDS[index];
            if weights > 0.0 {
                run.add(metric, Some(sum / weights * factor));
            }
        }
        (!run.values.is_empty()).then_some(run)
    };
    sums.into_iter().filter_map(run).collect()
}
