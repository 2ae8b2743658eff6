//! Bundles that earlier versions wrote and this one converted say what they said; those of other formats are refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::home;

/// A check of two simulated drives, written before plans had factors and designs.
#[test]
fn a_check_from_before_factors_says_the_same() {
    let home = home("old-bundles");
    let folder =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles/check-before-factors");
    let expected: Value = serde_json::from_str(include_str!(
        "../fixtures/bundles/check-before-factors.expected.json"
    ))
    .unwrap();
    let found = home.json(&["show", folder, "--json"]);
    for (name, entries) in expected.as_object().unwrap() {
        let entries = entries.as_array().unwrap();
        // What was said is said in its order.
        let now = without_newer(found[name].as_array().unwrap(), entries);
        assert_eq!(entries.len(), now.len(), "{name}");
        for (entry, now) in entries.iter().zip(now) {
            for (key, value) in entry.as_object().unwrap() {
                assert!(same(value, &now[key]), "{name} {key}: {value} is now {}", now[key]);
            }
        }
    }
    assert!(home.text(&["show", folder]).contains("sync-write"));
}

/// Written in format 1 and converted: everything that a workload of it could say, a surface, and file systems on a real device with
/// requests by class: nothing that was said of them is said otherwise, but that several comparisons which tell
/// nothing have one sentence now.
#[test]
fn converted_bundles_say_the_same_to_the_byte() {
    let home = home("converted");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles");
    for name in ["every-workload", "surface", "file-systems"] {
        let expected = std::fs::read_to_string(format!("{folder}/{name}.expected.json")).unwrap();
        let mut expected: Value = serde_json::from_str(&expected).unwrap();
        say_again(&mut expected);
        let found = home.json(&["show", &format!("{folder}/{name}"), "--json"]);
        holds(&expected, &found, name);
    }
}

/// Says in full what the files say once: why values of one workload and setting are trusted, where it is what was said
/// of the metric before, and why a warm-up does not count.
fn say_again(expected: &mut Value) {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for cell in expected["measurements"].as_array_mut().unwrap() {
        let of = format!("{} {}", cell["workload"], cell["configuration"]);
        if let Some(because) = cell.get("reasons") {
            known.insert(of, because.clone());
        } else if let Some(because) = known.get(&of) {
            cell["reasons"] = because.clone();
        }
        for trial in cell["trials"].as_array_mut().unwrap() {
            if trial["status"] == "warmup" {
                trial["reason"] = "warm-up: excluded by design".into();
            }
        }
    }
}

/// Every value that was there is there unchanged; fields that are new are passed over.
fn holds(was: &Value, now: &Value, path: &str) {
    match (was, now) {
        (Value::Object(was), Value::Object(now)) => {
            let known: Vec<&String> = now.keys().filter(|key| was.contains_key(*key)).collect();
            assert_eq!(known, was.keys().collect::<Vec<_>>(), "{path}");
            was.iter().for_each(|(key, value)| holds(value, &now[key], &format!("{path} {key}")));
        }
        (Value::Array(was), Value::Array(now)) => {
            let now = without_newer(now, was);
            assert_eq!(was.len(), now.len(), "{path}");
            let pairs = was.iter().zip(now).enumerate();
            pairs.for_each(|(index, (was, now))| holds(was, now, &format!("{path} {index}")));
        }
        // Texts may change; numbers, verdicts and trust may not.
        (Value::String(was), Value::String(_)) if was.contains(' ') => {}
        _ => assert_eq!(was, now, "{path}"),
    }
}

fn metrics(entries: &[Value]) -> BTreeSet<&str> {
    entries.iter().filter_map(|entry| entry["metric"].as_str()).collect()
}

/// Entries without those of metrics that came later, where it was kept what they are of: newer versions may make
/// more of the same records.
fn without_newer<'a>(now: &'a [Value], was: &[Value]) -> Vec<&'a Value> {
    let known = metrics(was);
    let is_known =
        |entry: &&Value| entry["metric"].as_str().is_none_or(|name| known.contains(name));
    now.iter().filter(|entry| known.is_empty() || is_known(entry)).collect()
}

/// Equal, but for the last digits of numbers: a formula may be written another way.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(a, b)| same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (Value::String(one), Value::String(_)) if one.contains(' ') => true,
        _ => one == other,
    }
}

#[test]
fn another_format_is_refused_with_what_to_do() {
    let home = home("other-format");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles/surface");
    let plan = std::fs::read_to_string(format!("{folder}/plan.json")).unwrap();
    assert!(plan.contains("assay-plan/2"));
    let plan = home.file("plan.json", plan.replace("assay-plan/2", "assay-plan/1"));
    for name in ["study.toml", "environment.json", "trials.jsonl"] {
        home.file(name, std::fs::read_to_string(format!("{folder}/{name}")).unwrap());
    }
    let copy = std::path::Path::new(&plan).parent().unwrap().display().to_string();
    let refused = home.refused(2, &["show", &copy]);
    let told = "has format assay-plan/1, this version reads assay-plan/2; use the version that wrote the result";
    assert!(refused.contains(told), "{refused}");
}
