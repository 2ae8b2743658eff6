//! Compared commands must do the same work to get a verdict.

use std::fs;

use serde_json::Value;

use crate::commands::Bench;

const SHORT: [&str; 4] = ["--replicates", "3", "--set", "runs_per_trial=2"];

fn said(found: &Value, rule: &str) -> Vec<(String, String)> {
    let cells = found["measurements"].as_array().unwrap().iter();
    let own = cells.filter(|cell| cell["metric"] == "duration_s");
    let because = own.flat_map(|cell| {
        let all = cell["reasons"].as_array().unwrap().iter();
        all.filter(|one| one["rule"] == rule).map(|one| {
            (one["trust"].as_str().unwrap().to_owned(), one["text"].as_str().unwrap().to_owned())
        })
    });
    because.collect()
}

fn verdict(found: &Value) -> &Value {
    let mut all = found["comparisons"].as_array().unwrap().iter();
    &all.find(|one| one["metric"] == "duration_s").unwrap()["verdict"]
}

#[test]
#[ignore = "nightly: 1 s"]
fn sides_that_print_something_else_get_no_verdict_and_the_same_is_no_news() {
    let bench = Bench::new("same-output");
    let (one, other) = ("echo a; sleep 0.01", "echo b; sleep 0.2");
    let two = ["--command", one, "--command", other];
    let found = bench.json(&[&two[..], &["--set", "same_output=true"], &SHORT].concat());
    let rows = said(&found, "output-mismatch");
    assert!(rows.len() >= 2 && rows.iter().all(|(trust, _)| trust == "invalid"), "{rows:?}");
    assert!(rows[0].1.contains("the compared commands produced different outputs"), "{rows:?}");
    assert_eq!(*verdict(&found), Value::Null, "{found:#}");
    // Not requested, or the same output.
    let unasked = bench.json(&[&two[..], &SHORT].concat());
    assert!(said(&unasked, "output-mismatch").is_empty());
    let same = [
        "--command",
        "echo a; sleep 0.01",
        "--command",
        "echo a; sleep 0.2",
        "--set",
        "same_output=true",
    ];
    let found = bench.json(&[&same[..], &SHORT].concat());
    assert!(said(&found, "output-mismatch").is_empty());
    assert_ne!(*verdict(&found), Value::Null);
    let id = found["study"]["id"].as_str().unwrap();
    let result = bench.home.assay.home().join("results").join(id);
    let kept = fs::read_to_string(result.join("trials.jsonl")).unwrap();
    // SHA-256 of `a` and a newline.
    assert!(
        kept.contains("87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"),
        "{kept}"
    );
}

#[test]
fn runs_of_one_command_that_differ_are_invalid() {
    let bench = Bench::new("same-output-runs");
    let line = "echo x >> count; wc -l < count; sleep 0.01";
    let found =
        bench.json(&[&["--command", line, "--set", "same_output=true"], &SHORT[..]].concat());
    let rows = said(&found, "output-mismatch");
    assert!(rows[0].0 == "invalid" && rows[0].1.contains("different outputs"), "{rows:?}");
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_file_or_a_directory_is_what_is_compared() {
    let bench = Bench::new("same-output-files");
    let make = |text: &str| {
        format!(
            "mkdir -p out/in && echo {text} > out/in/file && echo {text} > file && date +%N; sleep 0.01"
        )
    };
    let (one, same, other) = (make("1"), make("1") + "; true", make("2"));
    for path in ["same_output=out", "same_output=file"] {
        let found = bench
            .json(&[&["--command", &one, "--command", &same, "--set", path], &SHORT[..]].concat());
        assert!(said(&found, "output-mismatch").is_empty(), "{path}");
        let found = bench
            .json(&[&["--command", &one, "--command", &other, "--set", path], &SHORT[..]].concat());
        let rows = said(&found, "output-mismatch");
        assert!(rows.iter().any(|(trust, _)| trust == "invalid"), "{path}: {found:#}");
    }
    let told = bench.refused(
        3,
        &[&["--command", "true", "--set", "same_output=not-there"], &SHORT[..]].concat(),
    );
    assert!(told.contains("not-there"), "{told}");
}

#[test]
#[ignore = "nightly: 1 s"]
fn other_exit_codes_are_told_without_being_asked() {
    let bench = Bench::new("same-output-codes");
    let two = [
        "--command",
        "sleep 0.01",
        "--command",
        "sleep 0.01; exit 3",
        "--set",
        "ignore_failure=true",
    ];
    let found = bench.json(&[&two[..], &SHORT].concat());
    let rows = said(&found, "output-mismatch");
    assert!(rows.iter().all(|(trust, _)| trust == "trusted"), "{rows:?}");
    assert!(
        rows[0].1.contains("exit code 0 of") && rows[0].1.contains("exit code 3 of"),
        "{rows:?}"
    );
    let two = ["--command", "sleep 0.01", "--command", "sleep 0.01; true"];
    let found = bench.json(&[&two[..], &SHORT].concat());
    assert!(said(&found, "output-mismatch").is_empty(), "{found:#}");
}
