//! fio's results: all documents, all directions, and the evidence next to the numbers.

use assay_workloads::command::ImportEvidence;
use serde_json::{Value, json};

use super::{Imported, ImportedFile, Options, find, read};

/// Imports the documents as one file.
fn import(documents: &[Value]) -> Imported {
    let text = documents.iter().map(Value::to_string).collect::<Vec<String>>().join("\n");
    let file = ImportedFile {
        name: "f.json".to_owned(),
        bytes: text.into_bytes(),
        ..ImportedFile::default()
    };
    read(find("fio-json").unwrap(), &[file], &Options::default()).unwrap()
}

fn direction(ios: u64, ms: u64) -> Value {
    json!({"total_ios": ios, "io_bytes": ios * 4096, "bw_bytes": ios * 4096 * 1000 / ms, "runtime": ms,
           "iops": ios as f64 * 1000.0 / ms as f64,
           "clat_ns": {"min": 5, "mean": 90.0, "max": 200, "percentile": {"50.000000": 80, "99.900000": 150}}})
}

fn job(part: &str, ios: u64, ms: u64) -> Value {
    json!({"jobname": "a", "groupid": 0, "error": 0, "job_runtime": ms, part: direction(ios, ms),
           "job options": {"rw": "randread", "bs": "4k", "direct": "1"}})
}

fn document(end_ms: u64, job: &Value) -> Value {
    json!({"fio version": "fio-3.33", "timestamp_ms": end_ms, "jobs": [job]})
}

/// A document of one job with other options.
fn with(options: &[(&str, &str)], mut job: Value) -> Value {
    for (name, value) in options {
        job["job options"][*name] = json!(value);
    }
    document(9_000, &job)
}

fn values(imported: &Imported, metric: &str) -> Vec<(String, Vec<f64>)> {
    let all = imported.measurements.series.iter().filter(|series| series.metric == metric);
    all.map(|series| {
        (series.workload.clone(), series.trials.iter().filter_map(|trial| trial.value).collect())
    })
    .collect()
}

fn evidence(imported: &Imported) -> Vec<ImportEvidence> {
    imported.measurements.series[0].evidence.concat()
}

#[test]
fn reports_of_one_run_count_once() {
    let reports = [
        (10_000, 900, 1_000),
        (11_000, 2_000, 2_000),
        (12_000, 3_300, 3_000),
        (12_010, 3_300, 3_000),
    ];
    let found = import(&reports.map(|(end, ios, ms)| document(end, &job("read", ios, ms))));
    assert_eq!(values(&found, "iops"), [("randread 4k".to_owned(), vec![1_100.0])]);
    assert!(
        found.notes.iter().any(|note| note.starts_with("Assay skips 3 earlier reports")),
        "{:?}",
        found.notes
    );
}

#[test]
fn runs_in_one_file_are_all_read() {
    let runs = [(10_000, 900, 1_000), (11_500, 950, 1_000), (13_000, 980, 1_000)];
    let found = import(&runs.map(|(end, ios, ms)| document(end, &job("read", ios, ms))));
    assert_eq!(values(&found, "iops"), [("randread 4k".to_owned(), vec![900.0, 950.0, 980.0])]);
    let mut renamed = document(10_500, &job("read", 1_900, 1_500));
    renamed["jobs"][0]["jobname"] = json!("b");
    let found = import(&[document(10_000, &job("read", 900, 1_000)), renamed]);
    assert_eq!(values(&found, "iops")[0].1.len(), 2, "another job");
}

#[test]
fn mixed_reporting_is_read() {
    let found = import(&[document(9_000, &job("mixed", 500, 1_000))]);
    assert_eq!(values(&found, "iops"), [("randread 4k".to_owned(), vec![500.0])]);
    let mut both = job("read", 300, 1_000);
    both["mixed"] = direction(300, 1_000);
    assert_eq!(
        values(&import(&[document(9_000, &both)]), "iops")[0].1,
        [300.0],
        "the sum of what is read already"
    );
}

#[test]
fn times_of_flushes_are_read() {
    let mut own = job("write", 2_000, 1_000);
    own["sync"] = json!({"total_ios": 2_000, "lat_ns": {"mean": 700.0, "max": 900, "percentile": {"99.000000": 800}}});
    let found = import(&[document(9_000, &own)]);
    let means = values(&found, "latency_mean_ns");
    assert_eq!(means[1], ("randread 4k, syncs".to_owned(), vec![700.0]));
    assert_eq!(values(&found, "latency_p99_ns")[0].1, [800.0]);
    assert_eq!(values(&found, "iops").len(), 1);
    let mut none = job("write", 2_000, 1_000);
    none["sync"] = json!({"total_ios": 0, "lat_ns": {"mean": 0.0, "max": 0}});
    assert_eq!(values(&import(&[document(9_000, &none)]), "latency_mean_ns").len(), 1);
}

#[test]
fn latencies_that_were_not_measured_are_named() {
    let mut own = job("read", 90_000, 1_000);
    own["read"]["clat_ns"] = json!({"min": 0, "max": 0, "mean": 0.0, "N": 0});
    own["read"]["lat_ns"] = json!({"min": 0, "max": 0, "mean": 0.0, "N": 0});
    let found = import(&[with(&[("gtod_reduce", "1")], own)]);
    assert!(values(&found, "latency_mean_ns").is_empty());
    let note = found.notes.iter().find(|note| note.contains("fio did not measure it")).unwrap();
    assert!(note.contains("randread 4k"), "{note}");
    assert_eq!(
        values(&import(&[document(9_000, &job("read", 90_000, 1_000))]), "latency_mean_ns").len(),
        1
    );
}

#[test]
fn percentiles_need_their_operations() {
    let p999 = |ios: u64| {
        values(&import(&[document(9_000, &job("read", ios, 1_000))]), "latency_p999_ns").len()
    };
    assert_eq!([p999(9_999), p999(10_000)], [0, 1]);
    let p50 = |ios: u64| {
        values(&import(&[document(9_000, &job("read", ios, 1_000))]), "latency_p50_ns").len()
    };
    assert_eq!([p50(19), p50(20)], [0, 1]);
}

#[test]
fn queue_depth_is_weighed() {
    let depth = |options: &[(&str, &str)], levels: Value| {
        let mut own = job("read", 500, 1_000);
        own["iodepth_level"] = levels;
        evidence(&import(&[with(options, own)]))
    };
    let alone = json!({"1": 100.0, "2": 0.0, "32": 0.0, ">=64": 0.0});
    let expected = ImportEvidence::Depth { requested: 32.0, reached: 1.0 };
    assert_eq!(depth(&[("iodepth", "32")], alone.clone()), [expected]);
    let expected = ImportEvidence::Depth { requested: 8.0, reached: 15.0 };
    assert_eq!(depth(&[("iodepth", "8")], json!({"8": 100.0})), [expected]);
    let expected = ImportEvidence::Depth { requested: 256.0, reached: 256.0 };
    assert_eq!(depth(&[("iodepth", "256")], json!({">=64": 100.0})), [expected]);
    assert!(depth(&[], alone.clone()).is_empty(), "no depth was requested");
    assert!(
        depth(&[("iodepth", "32"), ("rate_iops", "100")], alone).is_empty(),
        "a rate sets the depth"
    );
}

#[test]
fn idle_disks_are_weighed() {
    let disks = |direct: &str, disk: Value| {
        let mut whole = with(&[("direct", direct)], job("read", 1_000_000, 1_000));
        whole["disk_util"] = disk;
        evidence(&import(&[whole]))
    };
    let disk = json!([{"name": "sda", "read_ios": 10, "read_merges": 2, "write_ios": 0}]);
    let expected = ImportEvidence::Disk { counted: 12.0, needed: 1e6, what: "reads".into() };
    assert_eq!(disks("1", disk.clone()), [expected]);
    let [ImportEvidence::Disk { counted, needed, .. }] = disks("0", disk)[..] else {
        panic!("no disk")
    };
    assert!(counted == 12.0 && needed < 1_000.0, "read-ahead merges {needed}");
    let sectors = json!([{"name": "sda", "read_ios": 10, "read_sectors": 8_000_000}]);
    let expected = ImportEvidence::Disk { counted: 4_096e6, needed: 4_096e6, what: "bytes".into() };
    assert_eq!(disks("0", sectors), [expected]);
    assert!(disks("1", json!([])).is_empty());
}

#[test]
fn buffered_jobs_are_weighed() {
    let is_buffered = |options: &[(&str, &str)], part: &str| {
        let found = import(&[with(options, job(part, 1_000_000, 1_000))]);
        evidence(&found).iter().any(|own| matches!(own, ImportEvidence::Buffered { .. }))
    };
    assert!(is_buffered(&[("direct", "0")], "read") && is_buffered(&[("direct", "0")], "write"));
    assert!(!is_buffered(&[("direct", "1")], "read"));
    assert!(!is_buffered(&[("direct", "0"), ("end_fsync", "1")], "write"));
    assert!(
        is_buffered(&[("direct", "0"), ("end_fsync", "1")], "read"),
        "fsync says nothing of reads"
    );
    assert!(!is_buffered(&[("direct", "0"), ("ioengine", "null")], "read"));
}
