//! Gates within a study: exit codes, messages, and the stored result.

use std::path::Path;

use assay_testkit::home::Home;
use assay_testkit::needs::count;
use serde_json::Value;

use crate::busy::is_kept_from_them;
use crate::{DRIVE, home};

/// Depths 4 and 8 reach the maximum of this drive; depth 1 reaches a quarter.
pub(super) const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 6
seed       = 5
baseline   = { queue_depth = 4 }

[factors]
queue_depth = [1, 4, 8]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "200 ms" }
"#;

/// Arms equal to the baseline, and others.
const ALIKE: [&str; 2] = ["--set", "queue_depth=4,8"];
const WORSE: [&str; 2] = ["--set", "queue_depth=1,4"];

/// Runs the study with a gate of 20%; returns the document and messages.
fn ended(home: &Home, code: i32, words: &[&str]) -> (Value, String) {
    let file = home.file("depth.toml", STUDY);
    let line = [&["run", &file, DRIVE, "--gate", "20%", "--json"], words].concat();
    let ended = home.run(&line);
    assert_eq!(ended.code, code, "{words:?}: {}{}", ended.stdout, ended.stderr);
    (serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

fn rows(found: &Value) -> &Vec<Value> {
    found["gate"]["rows"].as_array().unwrap()
}

#[test]
fn a_gate_passes_fails_or_says_that_it_is_blind() {
    let home = home("gates");
    let (passed, told) = ended(&home, 0, &ALIKE);
    assert_eq!(passed["gate"]["outcome"], "pass", "{}", passed["gate"]);
    assert!(rows(&passed)[0]["min_detectable"].as_f64().unwrap() > 0.2, "{}", passed["gate"]);
    assert!(!told.contains("gate"), "{told}");
    let (failed, told) = ended(&home, 1, &WORSE);
    assert_eq!(failed["gate"]["outcome"], "fail");
    assert!((rows(&failed)[0]["loss"].as_f64().unwrap() - 0.75).abs() < 0.05);
    assert!(told.contains("gate failed (limit 20%): read (queue_depth 1) fails (7"), "{told}");
    // Each row is judged, and one failure suffices.
    let (both, _) = ended(&home, 1, &[]);
    let ends: Vec<&str> = rows(&both).iter().map(|row| row["outcome"].as_str().unwrap()).collect();
    assert_eq!(ends, ["fail", "pass"]);
    // It could detect more than a loss of 20%; the required detection is lowered to that.
    let less = [&ALIKE[..], &["--set", "gate.must_detect=20%"]].concat();
    let (blind, told) = ended(&home, 5, &less);
    assert_eq!(blind["gate"]["outcome"], "inconclusive");
    assert!(
        told.contains("must_detect is 20%") && told.contains("gate.allow_inconclusive"),
        "{told}"
    );
    ended(&home, 125, &[&less[..], &["--exit-inconclusive", "125"]].concat());
    ended(&home, 0, &[&less[..], &["--set", "gate.allow_inconclusive=true"]].concat());
    // The exit code for inconclusive gates does not apply to failed ones.
    ended(&home, 1, &[&WORSE[..], &["--exit-inconclusive", "125"]].concat());
    ended(&home, 0, &[&ALIKE[..], &["--exit-inconclusive", "125"]].concat());
    let (few, told) = ended(&home, 5, &[&WORSE[..], &["--replicates", "2"]].concat());
    assert!(rows(&few)[0]["reason"].as_str().unwrap().contains("needs 3"), "{told}");
}

#[test]
#[ignore = "nightly: 2 s"]
fn the_answer_is_said_first_and_again() {
    let home = home("gates-said");
    let (found, _) = ended(&home, 1, &WORSE);
    let first = found["summary"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("Gate failed (limit 20%): "), "{first}");
    let answer = &found["answers"][0];
    assert_eq!(answer["ask"], "Is every configuration at most 20% worse than the baseline?");
    assert_eq!(answer["verdict"], "contradicted");
    let id = found["study"]["id"].as_str().unwrap();
    // Showing a result applies no gate.
    assert_eq!(home.json(&["show", id, "--json"])["gate"], found["gate"]);
    let file = home.file("depth.toml", STUDY);
    let words = ["run", &file, DRIVE, "--set", "queue_depth=4,8", "--gate", "20%", "--markdown"];
    let comment = home.text(&words);
    assert!(comment.contains("\n- Gate passed (limit 20%)"), "{comment}");
    assert!(!home.text(&["plan", &file, DRIVE]).contains("gate"));
    // Without a gate, nothing is reported.
    let none = home.json(&["run", &file, DRIVE, "--json"]);
    assert!(none.get("gate").is_none() && !none["summary"].to_string().contains("gate"));
    // A comparison of results has the same field.
    let other = home.json(&["run", &file, DRIVE, "--json"]);
    let [old, new] = [&none, &other].map(|one| one["study"]["id"].as_str().unwrap());
    let compared = home.json(&["compare", old, new, "--gate", "50%", "--json"]);
    assert_eq!(compared["gate"]["outcome"], "pass", "{}", compared["gate"]);
    assert_eq!(rows(&compared).len(), 3);
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_gate_is_told_to_pages_of_ci() {
    let home = home("gates-junit");
    let path = home.scratch.path().join("gate.xml").display().to_string();
    let told = |code, words: &[&str]| {
        ended(&home, code, &[words, &["--junit", &path]].concat());
        std::fs::read_to_string(&path).unwrap()
    };
    let counts = |tests: usize, failures: usize, skipped: usize| {
        format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">")
    };
    let both = told(1, &[]);
    assert!(both.contains(&counts(2, 1, 0)), "{both}");
    let (failed, passed) = both.split_once("</testcase>").unwrap();
    assert!(failed.contains("name=\"read (queue_depth 1): iops\">"), "{both}");
    assert!(failed.contains("<failure type=\"gate\" message=\"read (queue_depth 1) fails (7"));
    assert!(passed.contains("name=\"read (queue_depth 8): iops\">"), "{both}");
    assert!(passed.contains("name=\"replicates\" value=\"6\"/>"), "{both}");
    assert!(passed.contains("name=\"ratio_ci95_low\"") && !passed.contains("<failure"), "{both}");
    // The result reports it again.
    assert_eq!(home.text(&["export", "--format", "junit"]), both);
    let blind = told(5, &[&WORSE[..], &["--replicates", "2"]].concat());
    assert!(blind.contains(&counts(1, 0, 1)) && blind.contains("needs 3\"/>"), "{blind}");
    // Without a gate, no file is written.
    std::fs::remove_file(&path).unwrap();
    let file = home.file("depth.toml", STUDY);
    let folder = home.scratch.path().to_str().unwrap();
    for (words, why) in [
        (&["--junit", &path][..], "add --gate 5%"),
        (&["--gate", "5%", "--junit", "-"], "--junit -: Assay prints the result"),
        (&["--gate", "5%", "--junit", folder], "is not a regular file"),
    ] {
        let said = home.told(2, &[&["run", &file, DRIVE, "--quiet"], words].concat());
        assert!(said.contains(why), "{words:?}: {said}");
    }
    home.text(&["run", &file, DRIVE, "--quiet", "--seed", "6"]);
    home.told(2, &["export", "--format", "junit"]);
    assert!(!Path::new(&path).exists());
}

fn commands(home: &Home, lines: [&str; 2], more: &[&str]) -> (i32, Value, String) {
    let folder = home.scratch.path().to_str().unwrap();
    let lines = ["--command", lines[0], "--command", lines[1], "--gate", "5%"];
    let words = [&["run", folder, "--quiet", "--json"], &lines[..], more].concat();
    let ended = home.run(&words);
    (ended.code, serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

const SHORT: [&str; 4] = ["--replicates", "5", "--set", "runs_per_trial=2"];

/// `sleep 0.1` twenty times in full.
#[test]
#[ignore = "nightly: 1 s"]
fn a_command_against_itself_never_fails_and_a_longer_one_always_does() {
    let _turn = crate::turn();
    let home = home("gates-commands");
    for round in 0..count(1, 20) {
        let seed = round.to_string();
        let more = [&SHORT[..], &["--seed", &seed]].concat();
        let (code, found, told) = commands(&home, ["sleep 0.1", "sleep 0.10"], &more);
        // With busy CPUs, it may be inconclusive.
        assert!([0, 5].contains(&code), "{round}: {}: {told}", found["gate"]);
        let (code, found, told) = commands(&home, ["sleep 0.1", "sleep 0.12"], &more);
        let told = format!("{}: {told}", found["gate"]);
        assert!(code == 1 || is_kept_from_them(code, &told), "{round}: {told}");
        let ended = if code == 1 { "fail" } else { "inconclusive" };
        assert_eq!(found["gate"]["outcome"], ended);
        assert_eq!(rows(&found)[0]["name"], "command (sleep 0.12)");
    }
}

/// Counts that may be zero use an amount as their gate, and are decided.
#[test]
#[ignore = "nightly: 2 s"]
fn a_gate_of_a_count_that_may_be_zero_is_not_blind() {
    let _turn = crate::turn();
    let home = home("gates-counts");
    let folder = home.scratch.path().to_str().unwrap();
    let ended = |lines: [&str; 2], gate: &[&str]| {
        let lines = ["--command", lines[0], "--command", lines[1]];
        let ended =
            home.run(&[&["run", folder, "--quiet", "--json"], &lines[..], gate, &SHORT].concat());
        (ended.code, ended.stdout, ended.stderr)
    };
    // Neither reads from storage.
    let faults = ["--gate", "+10", "--set", "gate.metric=major_faults"];
    let (code, found, told) = ended(["sleep 0.01", "sleep 0.010"], &faults);
    assert!(code == 0 || is_kept_from_them(code, &told), "{found}{told}");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["gate"]["max_increase"], 10.0, "{}", found["gate"]);
    let surely = rows(&found)[0]["amount"]["bound95"].as_f64();
    assert!(code == 5 || surely.is_some_and(|most| most <= 10.0), "{}", found["gate"]);
    // A shell that starts sixty programs waits for each of them.
    let switches = ["--gate", "+20", "--set", "gate.metric=voluntary_switches"];
    let many = "for each in $(seq 60); do sleep 0.001; done";
    let (code, found, told) = ended(["sleep 0.01", many], &switches);
    assert!(code == 1 || is_kept_from_them(code, &told), "{found}{told}");
    assert!(code == 5 || told.contains("the gate of 20 on voluntary switches failed"), "{told}");
    let (code, _, told) =
        ended(["true", ":"], &["--gate", "5%", "--set", "gate.metric=major_faults"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("major_faults may be zero"), "{told}");
}
