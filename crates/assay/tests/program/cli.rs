//! The built program for users and scripts, without root and without storage access (targets are simulated).
//! `machine.rs` has the tests on real devices.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use assay_testkit::needs::{Need, have};
use assay_testkit::process::{Assay, run};
use serde_json::Value;

use crate::home;

const LIMIT: Duration = Duration::from_secs(100);
const SIMULATED: &str = "simulated:lognormal,mean=100us,p99=400us";

#[test]
fn targets_that_are_none() {
    let home = home("targets");
    let folder = home.scratch.path();
    let missing = folder.join("missing").display().to_string();
    assert!(home.refused(2, &["check", &missing]).contains(&missing));
    let (one, other) = (folder.join("one"), folder.join("other"));
    symlink(&one, &other).unwrap();
    symlink(&other, &one).unwrap();
    home.refused(2, &["check", &one.display().to_string()]);
    home.refused(2, &["check", "/dev/null"]);
    home.refused(2, &["check", "simulated:lognormal,mean=1parsec,p99=2us"]);
    assert!(fs::read_dir(home.assay.home()).unwrap().next().is_none(), "a result was kept");
}

#[test]
fn numbers_that_cannot_be_meant() {
    let home = home("numbers");
    home.refused(2, &["check", SIMULATED, "--budget", "0"]);
    home.refused(2, &["check", SIMULATED, "--area", "3"]);
    home.refused(2, &["check", SIMULATED, "--mix", "70/40"]);
    // Each error names a valid unit.
    let area = home.refused(2, &["check", SIMULATED, "--area", "5parsec"]);
    assert!(area.contains("MiB") || area.contains("GiB") || area.contains("PiB"), "{area}");
    let budget = home.refused(2, &["check", SIMULATED, "--budget", "5 parsecs"]);
    assert!(["5 s", "5s", "min", "ms"].iter().any(|unit| budget.contains(unit)), "{budget}");
    let near = home.refused(2, &["check", SIMULATED, "--area", "64MiBs"]);
    assert!(near.contains("MiB"), "{near}");
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_result_is_kept_shown_named_and_removed() {
    let home = home("keep");
    let checked = home.json(&["check", SIMULATED, "--seed", "7", "--quick", "--json"]);
    let id = checked["study"]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["show", "--json"]), checked);
    assert_eq!(home.json(&["show", &id, "--json"]), checked);
    let listed = home.json(&["list", "results", "--json"]);
    assert_eq!((&listed["format"], &listed["kind"]), (&"assay-list/1".into(), &"results".into()));
    let item = &listed["items"][0];
    assert_eq!(item["id"], id.as_str());
    assert!(item["bytes"].as_u64().unwrap() > 0 && item["started"].is_string(), "{item}");
    home.text(&["note", &id, "with the new cable"]);
    home.text(&["note", &id, "--title", "card in slot 2"]);
    let shown = home.json(&["show", &id, "--json"]);
    assert_eq!(shown["study"]["title"], "card in slot 2");
    assert_eq!(shown["study"]["notes"][0], "with the new cable");
    assert!(home.text(&["show"]).contains("card in slot 2"));
    home.text(&["remove", &id]);
    home.refused(2, &["show", &id]);
    assert_eq!(home.json(&["list", "results", "--json"])["items"], Value::Array(Vec::new()));
}

#[test]
fn the_bundle_holds_what_the_contract_names() {
    let home = home("bundle");
    let checked = home.json(&["check", SIMULATED, "--quick", "--json"]);
    let bundle = fs::read_dir(home.assay.home()).unwrap().map(|entry| entry.unwrap().path());
    let id = checked["study"]["id"].as_str().unwrap().to_owned();
    let places: Vec<_> =
        bundle.flat_map(|path| [path.join(&id), path]).filter(|path| path.ends_with(&id)).collect();
    let place = places.iter().find(|path| path.is_dir()).expect("no directory has the id's name");
    for name in
        ["study.toml", "plan.json", "environment.json", "trials.jsonl", "histograms", "series"]
    {
        assert!(place.join(name).exists(), "{name} is missing");
    }
    let trials = fs::read_to_string(place.join("trials.jsonl")).unwrap();
    assert!(trials.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    let plan: Value =
        serde_json::from_str(&fs::read_to_string(place.join("plan.json")).unwrap()).unwrap();
    assert_eq!(plan["trials"].as_array().unwrap().len(), trials.lines().count());
}

#[test]
fn a_result_that_cannot_be_kept_is_refused_before_it_is_measured() {
    // Nobody can create a directory there, not even root.
    let nowhere = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), Path::new("/proc/nowhere"));
    let ended = nowhere.run(&["check", SIMULATED, "--quick", "--json"], LIMIT).unwrap();
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("ASSAY_HOME"), "{}", ended.stderr);
}

/// Returns the width of the widest line that could be broken: paths and IDs cannot.
fn widest(text: &str) -> usize {
    let breakable =
        text.lines().filter(|line| line.trim_end_matches(" \\").split_whitespace().count() > 1);
    breakable.map(|line| line.chars().count()).max().unwrap_or_default()
}

#[test]
#[ignore = "nightly: 2 s"]
fn nothing_is_wider_than_the_terminal() {
    let home = home("narrow");
    home.text(&["check", SIMULATED, "--seed", "7", "--quick", "--json"]);
    for columns in [40, 80] {
        for words in [
            &["show"][..],
            &["list"],
            &["list", "drives"],
            &["list", "rules"],
            &["list", "metrics"],
            &["list", "workloads"],
            &["list", "factors"],
            &["list", "probes"],
            &["plan", "check", "--commands"],
            &["doctor"],
        ] {
            let mut command = home.assay.command(words);
            let ended = run(command.env("COLUMNS", columns.to_string()), LIMIT).unwrap();
            assert_eq!(ended.code, 0, "{}", ended.stderr);
            let wide = widest(&ended.stdout);
            assert!(wide <= columns, "{} in {columns}: {wide}\n{}", words.join(" "), ended.stdout);
        }
    }
}

#[test]
fn a_stored_result_is_explained_as_it_ran() {
    let home = home("explain");
    let checked = home.json(&["check", SIMULATED, "--seed", "7", "--quick", "--json"]);
    let id = checked["study"]["id"].as_str().unwrap();
    let explained = home.json(&["plan", id, "--json", "--commands"]);
    assert_eq!(explained["format"], "assay-explain/1");
    let lines = explained["commands"].as_array().unwrap();
    assert_eq!(lines.len(), 7);
    assert!(lines.iter().all(|line| line["target"] == SIMULATED), "{lines:?}");
    home.refused(2, &["plan", id, "/elsewhere", "--commands"]);
}

#[test]
fn plan_of_two_targets_has_the_replicates_of_their_check() {
    let home = home("plan-two");
    let targets = ["simulated:fixed,mean=1ms", "simulated:fixed,mean=2ms"];
    let plan = home.json(&["plan", "check", targets[0], targets[1], "--json"]);
    assert_eq!(plan["replicates"], 6);
    let plan = home.json(&["plan", "check", targets[0], "--json"]);
    assert_eq!(plan["replicates"], 3);
}

/// fio accepts the lines (it only parses them).
#[test]
#[ignore = "nightly: 6 s"]
fn fio_takes_the_lines() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let home = home("fio");
    let folder = home.scratch.path().display().to_string();
    let study = home.scratch.path().join("study.toml");
    fs::write(&study, EVERY_KIND).unwrap();
    let study = study.display().to_string();
    for words in [
        ["plan", "check", &folder, "--json", "--commands"],
        ["plan", &study, &folder, "--json", "--commands"],
    ] {
        let explained = home.json(&words);
        let lines = explained["commands"].as_array().unwrap();
        assert!(lines.len() >= 7, "{explained}");
        for line in lines {
            let command: Vec<&str> =
                line["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
            let parsed = [&command[1..], &["--parse-only"]].concat();
            let told = assay_testkit::call(command[0], &parsed);
            assert!(
                told.as_ref().is_ok_and(|text| text.trim().is_empty()),
                "{command:?}: {told:?}"
            );
        }
    }
    assert!(
        assay_testkit::call("fio", &["--parse-only", "--name=x", "--rw=randread", "--depht=3"])
            .is_err()
    );
}

const EVERY_KIND: &str = r#"
format  = "assay-study/1"
title   = "Every kind of line"
area    = { size = "16 MiB" }
factors = { direct = [true, false], engine = ["psync", "io_uring"], mix = ["read", "write", "70/30"] }

[[workload]]
name = "random"
io   = { pattern = "random", block_size = "512 B", queue_depth = 4, runtime = "20 ms", ramp_time = "1 us" }

[[workload]]
name = "slices"
io   = { pattern = "sequential", block_size = "12 KiB", threads = 3, compressibility = "100%", sync = "fdatasync" }
"#;

#[test]
#[ignore = "nightly: 1 s"]
fn several_targets_make_one_comparison() {
    let home = home("several");
    let slow = "simulated:lognormal,mean=200us,p99=800us";
    let both = home.json(&["check", SIMULATED, slow, "--seed", "7", "--quick", "--json"]);
    assert_eq!(both["environment"]["targets"].as_array().unwrap().len(), 2);
    let comparisons = both["comparisons"].as_array().unwrap();
    let rate = comparisons
        .iter()
        .find(|entry| entry["workload"] == "random-read-q1" && entry["metric"] == "iops");
    let ratio = rate.expect("no comparison of the rates")["ratio"].as_f64().unwrap();
    assert!((0.45..0.55).contains(&ratio), "half as fast, but {ratio}");
    assert!(comparisons.iter().all(|entry| entry["verdict"].is_null()), "no verdicts yet");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = home("pipe");
    let ended = home.assay.through(&["sh", "-c", "\"$@\" | head -n 1; echo", "sh"]);
    let ended = ended.run(&["list", "rules"], LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
}
