//! Converted bundles of earlier versions show the same contents; other formats are refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::home;

/// The bundles contain a check from before factors, every workload of format 1, a surface, and filesystems on a real
/// device.
#[test]
fn converted_bundles_have_the_same_numbers() {
    let home = home("converted");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles");
    for name in ["check-before-factors", "every-workload", "surface", "file-systems"] {
        let expected = std::fs::read_to_string(format!("{folder}/{name}.expected.json")).unwrap();
        let mut expected: Value = serde_json::from_str(&expected).unwrap();
        say_again(&mut expected);
        let found = home.json(&["show", &format!("{folder}/{name}"), "--json"]);
        holds(&expected, &found, name);
    }
}

/// Expands shared texts: why values of a workload and setting are trusted, if stored once per metric, and why a warm-up
/// does not count.
fn say_again(expected: &mut Value) {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for cell in expected["measurements"].as_array_mut().unwrap() {
        let of = format!("{} {}", cell["workload"], cell["configuration"]);
        if let Some(because) = cell.get("reasons") {
            known.insert(of, because.clone());
        } else if let Some(because) = known.get(&of) {
            cell["reasons"] = because.clone();
        }
        for trial in cell.get_mut("trials").and_then(Value::as_array_mut).into_iter().flatten() {
            if trial["status"] == "warmup" {
                trial["reason"] = "warm-up: excluded by design".into();
            }
        }
    }
}

/// Checks that every old value is unchanged; ignores new fields.
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
        // A formula may be written differently.
        (Value::Number(was), Value::Number(now)) => {
            let (was, now) = (was.as_f64().unwrap(), now.as_f64().unwrap());
            assert!((was - now).abs() <= 1e-9 * was.abs().max(now.abs()), "{path}: {was}, {now}");
        }
        // Texts may change; numbers, verdicts and trust may not.
        (Value::String(was), Value::String(_)) if was.contains(' ') => {}
        _ => assert_eq!(was, now, "{path}"),
    }
}

fn metrics(entries: &[Value]) -> BTreeSet<&str> {
    entries.iter().filter_map(|entry| entry["metric"].as_str()).collect()
}

/// Returns entries without those of later metrics: newer versions may compute more from the same records.
fn without_newer<'a>(now: &'a [Value], was: &[Value]) -> Vec<&'a Value> {
    let known = metrics(was);
    let is_known =
        |entry: &&Value| entry["metric"].as_str().is_none_or(|name| known.contains(name));
    now.iter().filter(|entry| known.is_empty() || is_known(entry)).collect()
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
