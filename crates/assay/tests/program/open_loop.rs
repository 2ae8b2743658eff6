//! Open-loop work, from the study file to the page, on a drive with known response times.

use std::fmt::Write;

use serde_json::Value;

use crate::home;

/// One server with 5,000 operations per second: with Poisson arrivals, M/M/1.
const QUEUE: &str = "simulated:exponential,mean=200us";

fn study(io: &str, factors: &str) -> String {
    let mut text = String::from(
        "format = \"assay-study/1\"\ntitle = \"How long does who comes by the clock wait?\"\n\
         replicates = 6\nseed = 11\nrepeat_disturbed = false\n",
    );
    writeln!(text, "{factors}\n[[workload]]\nname = \"read\"").unwrap();
    writeln!(
        text,
        "io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"4 s\", ramp_time = \"1 s\"{io} }}"
    )
    .unwrap();
    text
}

fn cells<'f>(found: &'f Value, metric: &str) -> Vec<&'f Value> {
    let all = found["measurements"].as_array().unwrap().iter();
    all.filter(|cell| cell["metric"] == metric).collect()
}

fn rate_of(cell: &Value) -> f64 {
    cell["configuration"]["arrival_rate"].as_str().unwrap().trim_end_matches("/s").parse().unwrap()
}

#[test]
fn a_queue_has_the_response_times_of_theory_at_each_rate_on_every_page() {
    let home = home("open-loop-rates");
    let io = ", arrival_process = \"poisson\", queue_depth = 64";
    let text = study(
        io,
        "baseline = { arrival_rate = \"1000/s\" }\n[factors]\narrival_rate = [1000, \"2500/s\"]\n",
    );
    let file = home.file("rates.toml", text);
    let found = home.json(&["run", &file, QUEUE, "--json"]);
    let responses = cells(&found, "response_p99_ns");
    assert_eq!(responses.iter().filter(|cell| cell["control"] != true).count(), 2);
    for cell in responses {
        assert_eq!(cell["primary"], true, "how many there are was asked for: {cell}");
        let truth = 100_f64.ln() / (5_000.0 - rate_of(cell)) * 1e9;
        let value = cell["geometric_mean"].as_f64().unwrap();
        // At half load, a trial's p99 has an error of a tenth, that of six 4%.
        assert!((value / truth - 1.0).abs() < 0.15, "{value} for {truth}");
    }
    // The service time of sequential operations is shorter, and is also shown.
    assert!(!cells(&found, "latency_p99_ns").is_empty());
    for facts in found["workloads"].as_array().unwrap() {
        let pace = &facts["pace"];
        assert!(pace["scheduled"].as_u64().unwrap() > 20_000, "{facts}");
        assert_eq!((&pace["issued"], &pace["late"]), (&pace["scheduled"], &0.into()));
        assert_eq!(facts["io"]["rate_limited"], true);
    }
    let id = found["study"]["id"].as_str().unwrap();
    let page = home.text(&["show", "--full", id]);
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["response p50", "service p99", "the intended start", "operations scheduled: all issued"]
    {
        assert!(flat.contains(words), "{words}: {page}");
    }
}

#[test]
fn a_closed_loop_says_nothing_of_responses_and_schedules() {
    let home = home("open-loop-closed");
    let file = home.file("closed.toml", study("", ""));
    let found = home.json(&["run", &file, QUEUE, "--json"]).to_string();
    for word in ["response_", "\"pace\"", "rate_limited", "behind"] {
        assert!(!found.contains(word), "{word}");
    }
}

#[test]
fn a_rate_that_is_not_carried_is_told_by_its_rule() {
    let home = home("open-loop-behind");
    let file = home.file("behind.toml", study(", arrival_rate = \"9000/s\"", ""));
    let ended = home.run(&["run", &file, QUEUE, "--json"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let [cell] = cells(&found, "response_p99_ns")[..] else { panic!("one cell") };
    assert_eq!(cell["trust"], "suspect", "{cell}");
    let because = cell["reasons"].as_array().unwrap();
    let behind = because.iter().find(|one| one["rule"] == "late-submission").unwrap();
    assert!(behind["text"].as_str().unwrap().contains("never issued"), "{behind}");
    // The completed rate is the drive's maximum, not the requested rate.
    let [iops] = cells(&found, "iops")[..] else { panic!("one cell") };
    assert!((iops["geometric_mean"].as_f64().unwrap() / 5_000.0 - 1.0).abs() < 0.2, "{iops}");
}
