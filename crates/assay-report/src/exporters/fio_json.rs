//! fio's JSON for plotting programs: one job per trial.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use assay_core::catalogue::About;
use assay_study::findings::{Findings, facts::IoFacts};
use assay_workloads::io::Pattern;

use super::{Exporter, arm_words, counting_values, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "fio-json",
        summary: "fio-format JSON, for tools that plot or check fio results",
        text: "One job per counted trial: jobname is the workload, job options are the configuration. Rates and \
               latencies are in the section of their direction (read or write); the values of a mixed workload are \
               under read. Byte counts, operation counts and runtime are scaled to one second. Assay omits values that \
               it does not measure, such as context switches and CPU time, so programs that require these values fail.",
    },
    write,
    left_out: nothing,
};

const PERCENTILES: [(&str, &str); 5] = [
    ("50.000000", "latency_p50_ns"),
    ("90.000000", "latency_p90_ns"),
    ("99.000000", "latency_p99_ns"),
    ("99.900000", "latency_p999_ns"),
    ("99.990000", "latency_p9999_ns"),
];

/// Values of a trial by metric.
type Values<'f> = BTreeMap<&'f str, f64>;

/// One job per trial that has IOPS, in fio's JSON format; `None` without any.
fn write(findings: &Findings) -> Option<String> {
    // The values of each trial, in run order if known.
    let mut trials: BTreeMap<(Option<u32>, &str, String, u32), (&_, Values<'_>)> = BTreeMap::new();
    for cell in findings.measurements.iter().filter(|cell| !cell.control) {
        for (trial, value) in counting_values(cell) {
            let key = (trial.order, cell.workload.as_str(), arm_words(cell), trial.replicate);
            let (_, values) = trials.entry(key).or_insert((&cell.configuration, Values::new()));
            values.insert(&cell.metric, value);
        }
    }
    let mut jobs: Vec<Value> = Vec::new();
    for ((_, workload, ..), (arm, values)) in trials {
        if values.contains_key("iops") {
            let mut facts = findings.workloads.iter().filter(|facts| facts.name == workload);
            let io = facts.find_map(|facts| facts.io);
            jobs.push(job(jobs.len(), workload, arm, &values, io));
        }
    }
    if jobs.is_empty() {
        return None;
    }
    let document = json!({
        "fio version": format!("assay-{}", findings.environment.assay),
        "assay": { "format": "assay-fio/1", "id": findings.study.id },
        "timestamp": 0, "timestamp_ms": 0, "time": findings.study.started,
        "global options": {},
        "jobs": jobs,
        "disk_util": [],
    });
    Some(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n")
}

/// One trial as a job in fio's JSON; the sections of the other directions are empty.
fn job(
    group_id: usize,
    workload: &str,
    arm: &BTreeMap<String, String>,
    values: &Values<'_>,
    io: Option<IoFacts>,
) -> Value {
    let mut options = Map::new();
    options.insert("name".to_owned(), json!(workload));
    if let Some(io) = io {
        options.insert("rw".to_owned(), json!(rw_option(io)));
        // Several block sizes have no single value.
        if !io.shaped {
            options.insert("bs".to_owned(), json!(io.size_bytes.to_string()));
        }
    }
    for (name, level) in arm {
        options.insert(name.clone(), json!(level));
    }
    let (direction, others) = match io {
        Some(io) if io.only_writes() => ("write", ["read", "trim"]),
        Some(io) if io.only_trims() => ("trim", ["read", "write"]),
        _ => ("read", ["write", "trim"]),
    };
    let mut job = json!({
        "jobname": workload, "groupid": group_id, "error": 0, "eta": 0, "elapsed": 0,
        "job options": options, "assay": { "workload": workload, "arm": arm },
    });
    job[direction] = direction_section(values);
    for other in others {
        job[other] = empty_section();
    }
    job
}

fn rw_option(io: IoFacts) -> String {
    let random = if io.pattern == Pattern::Random { "rand" } else { "" };
    let mix = if io.only_reads() {
        "read"
    } else if io.only_writes() {
        "write"
    } else if io.only_trims() {
        "trim"
    } else {
        "rw"
    };
    format!("{random}{mix}")
}

/// The values of a job in its direction (read, write or trim), as if the job had run for one second.
fn direction_section(values: &Values<'_>) -> Value {
    let number = |metric: &str| values.get(metric).copied();
    let iops = number("iops").unwrap_or_default();
    let mut latency = Map::new();
    for (name, metric) in [("max", "latency_max_ns"), ("mean", "latency_mean_ns")] {
        latency.extend(number(metric).map(|value| (name.to_owned(), json!(value))));
    }
    // Only the completion latency has percentiles: this copy is the total latency.
    let total_latency = latency.clone();
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .filter_map(|(name, metric)| Some(((*name).to_owned(), json!(number(metric)?))))
        .collect();
    if !percentiles.is_empty() {
        latency.insert("percentile".to_owned(), Value::Object(percentiles));
    }
    let mut fields = json!({
        "iops": iops, "iops_mean": iops, "runtime": 1000, "total_ios": iops.ceil().max(1.0) as u64,
        "short_ios": 0, "drop_ios": 0, "clat_ns": latency, "lat_ns": total_latency,
    });
    if let Some(bandwidth) = number("bandwidth_bytes_per_s") {
        fields["io_bytes"] = json!(bandwidth.round() as u64);
        fields["io_kbytes"] = json!(bandwidth as u64 / 1024);
        fields["bw_bytes"] = json!(bandwidth);
        fields["bw"] = json!(bandwidth / 1024.0);
        fields["bw_mean"] = fields["bw"].clone();
    }
    fields
}

fn empty_section() -> Value {
    let latency = json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0 });
    json!({
        "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0,
        "total_ios": 0, "short_ios": 0, "drop_ios": 0, "clat_ns": latency, "lat_ns": latency,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_access_has_the_name_that_fio_has_for_it() {
        for (mix, name) in [
            ("read", "randread"),
            ("write", "randwrite"),
            ("trim", "randtrim"),
            ("70/30", "randrw"),
            ("write/50:trim/50", "randrw"),
        ] {
            let io = IoFacts {
                pattern: Pattern::Random,
                mix: mix.parse().unwrap(),
                size_bytes: 4096,
                data_sync: false,
                rate_limited: false,
                shaped: false,
                partly_synced: false,
            };
            assert_eq!(rw_option(io), name);
            let job = job(0, "it", &BTreeMap::new(), &Values::new(), Some(io));
            let fields = ["read", "write", "trim"].map(|field| job[field]["runtime"] == 1000);
            let expected = match name {
                "randtrim" => [false, false, true],
                "randwrite" => [false, true, false],
                _ => [true, false, false],
            };
            assert_eq!(fields, expected, "{name}");
        }
    }
}
