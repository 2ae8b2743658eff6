//! Bundles that earlier versions wrote stay readable and say what they said.

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
        // Newer versions may make more of the same records; what was said is said in its order.
        let now: Vec<&Value> =
            found[name].as_array().unwrap().iter().filter(|now| !is_newer(now)).collect();
        assert_eq!(entries.len(), now.len(), "{name}");
        for (entry, now) in entries.iter().zip(now) {
            for (key, value) in entry.as_object().unwrap() {
                assert!(same(value, &now[key]), "{name} {key}: {value} is now {}", now[key]);
            }
        }
    }
    assert!(home.text(&["show", folder]).contains("sync-write"));
}

/// Metrics that came after the bundle.
const NEWER: [&str; 5] = [
    "kernel_cpu_s_per_gib",
    "machine_cpu_s_per_gib",
    "cpu_s",
    "device_requests_per_operation",
    "device_busy_s_per_gib",
];

fn is_newer(entry: &Value) -> bool {
    entry["metric"].as_str().is_some_and(|metric| NEWER.contains(&metric))
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
        _ => one == other,
    }
}
