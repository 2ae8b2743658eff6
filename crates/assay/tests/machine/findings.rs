//! Reads the document of `check --json`, and checks its contract.

use assay_testkit::process::Ended;
use assay_workloads::metrics;
use serde_json::Value;

pub const WORKLOADS: [&str; 7] = [
    "sequential-read",
    "sequential-write",
    "random-read-q1",
    "random-read-q32",
    "random-write-q1",
    "random-write-q32",
    "sync-write",
];
pub const READS: [&str; 3] = ["sequential-read", "random-read-q1", "random-read-q32"];
pub const WRITES: [&str; 4] =
    ["sequential-write", "random-write-q1", "random-write-q32", "sync-write"];

const TAKEN: [&str; 2] = ["cpu-starved", "steal"];

/// Returns a document's message on busy CPUs if they make its numbers suspect; on such a machine, tests require no
/// finding.
pub fn processors_taken(document: &Value) -> Option<String> {
    let cells = document["measurements"].as_array().into_iter().flatten();
    let spoken = cells.flat_map(|cell| cell["reasons"].as_array().into_iter().flatten());
    let is_own =
        |own: &&Value| own["trust"] == "suspect" && TAKEN.iter().any(|rule| own["rule"] == *rule);
    spoken.filter(is_own).find_map(|own| own["text"].as_str().map(str::to_owned))
}

/// Fields of every `assay-findings/1` document.
const FIELDS: [&str; 22] = [
    "/format",
    "/study/id",
    "/study/title",
    "/study/kind",
    "/study/plan_sha256",
    "/environment/kernel",
    "/environment/cpu",
    "/environment/memory_bytes",
    "/environment/virtualization",
    "/environment/targets/0/name",
    "/environment/targets/0/model",
    "/environment/targets/0/serial",
    "/environment/targets/0/filesystem",
    "/environment/targets/0/scheduler",
    "/absent",
    "/comparisons",
    "/effects",
    "/interactions",
    "/trends",
    "/ranks",
    "/checks",
    "/advice",
];
const CELL_FIELDS: [&str; 14] = [
    "workload",
    "configuration",
    "metric",
    "better",
    "trials",
    "n",
    "geometric_mean",
    "min",
    "median",
    "max",
    "ci95",
    "control",
    "trust",
    "reasons",
];
const TRIAL_FIELDS: [&str; 5] = ["replicate", "order", "value", "status", "reason"];
pub fn of(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    ended.json().unwrap()
}

/// Checks that every documented field is present with a value of the right type.
pub fn keep_the_contract(document: &Value) {
    for field in FIELDS {
        assert!(document.pointer(field).is_some(), "{field} is missing");
    }
    assert_eq!(document["format"], "assay-findings/1");
    assert_eq!(document["study"]["kind"], "check");
    for cell in cells(document) {
        for field in CELL_FIELDS {
            assert!(cell.get(field).is_some(), "{field} is missing in {cell}");
        }
        assert!(metrics::find(cell["metric"].as_str().unwrap()).is_some(), "{}", cell["metric"]);
        let trust = ["trusted", "suspect", "invalid"];
        assert!(cell["trust"].as_str().is_none_or(|word| trust.contains(&word)));
        for trial in cell["trials"].as_array().unwrap() {
            for field in TRIAL_FIELDS {
                assert!(trial.get(field).is_some(), "{field} is missing in {trial}");
            }
        }
        for because in cell["reasons"].as_array().unwrap() {
            assert!(because["rule"].is_string() && because["text"].is_string(), "{because}");
        }
    }
}

/// Checks the number of replicates of a cell, which may be higher because disturbed trials are repeated.
pub fn was_replicated(cell: &Value, replicates: u64) {
    assert!(cell["n"].as_u64().unwrap() >= replicates, "less than {replicates}: {cell}");
}

pub fn cells(document: &Value) -> &[Value] {
    document["measurements"].as_array().unwrap()
}

pub fn rate<'a>(document: &'a Value, workload: &str) -> Option<&'a Value> {
    cells(document).iter().find(|cell| cell["workload"] == workload && cell["metric"] == "iops")
}

pub fn without_row(document: &Value) -> Vec<&'static str> {
    let has_number = |cell: &Value| cell["geometric_mean"].as_f64().is_some_and(|rate| rate > 0.0);
    WORKLOADS.into_iter().filter(|name| !rate(document, name).is_some_and(has_number)).collect()
}

pub fn says(document: &Value, workload: &str, rule: &str, trust: &str) -> bool {
    let Some(cell) = rate(document, workload) else { return false };
    let rules = cell["reasons"].as_array().unwrap();
    cell["trust"] == trust && rules.iter().any(|because| because["rule"] == rule)
}

pub fn told(document: &Value) -> String {
    let line =
        |cell: &Value| format!("{} {} {}\n", cell["workload"], cell["trust"], cell["reasons"]);
    cells(document).iter().filter(|cell| cell["metric"] == "iops").map(line).collect()
}

pub fn absence(document: &Value, workload: &str) -> Option<String> {
    let absent = document["absent"].as_array().unwrap();
    let entry = absent.iter().find(|entry| entry["workload"] == workload)?;
    entry["reason"].as_str().map(str::to_owned)
}
