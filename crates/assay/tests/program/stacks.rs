//! The shipped study `stack-size` for real: what is reserved grows with the limit, what is used does not.

use serde_json::Value;

use crate::{DRIVE, home};

const THREADS: f64 = 200.0;

fn mean(found: &Value, metric: &str, limit: &str) -> f64 {
    let cells = found["measurements"].as_array().unwrap().iter();
    let own =
        |cell: &&Value| cell["metric"] == metric && cell["configuration"]["stack_size"] == limit;
    let cell = cells.into_iter().find(own).unwrap_or_else(|| panic!("{metric} under {limit}"));
    cell["geometric_mean"].as_f64().unwrap()
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_reserved_stack_is_not_used_memory() {
    let home = home("stack-limit");
    let found = home.json(&["run", "stack-size", DRIVE, "--replicates", "2", "--quiet", "--json"]);
    for (limit, bytes) in [("8 MiB", 8_388_608.0), ("256 KiB", 262_144.0)] {
        let reserved = mean(&found, "stacks_virtual_bytes", limit);
        let each = reserved / THREADS / bytes;
        // Guard pages and the stacks of signal handlers come to some pages a thread.
        assert!((1.0..1.3).contains(&each), "{limit}: {reserved}");
    }
    let reserved = mean(&found, "stacks_virtual_bytes", "8 MiB");
    let [large, small] =
        ["8 MiB", "256 KiB"].map(|limit| mean(&found, "stacks_resident_bytes", limit));
    assert!(large < 0.05 * reserved, "{large} of {reserved}");
    // The kernel may give whole huge pages to a large stack where it always does.
    let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if !huge.is_ok_and(|text| text.contains("[always]")) {
        assert!(large < 2.0 * small, "{large} and {small}");
    }
    let asked = found["answers"].as_array().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(home.text(&["plan", "stack-size", "--commands"]).contains("ulimit -s 256"));
}
