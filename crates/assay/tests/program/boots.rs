//! Boots from journals of real machines, read by the program.

use assay_testkit::journals::exported;
use serde_json::Value;

use crate::home;

fn recorded(name: &str) -> String {
    format!("{}/../assay-workloads/tests/fixtures/boots/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn cell<'a>(found: &'a Value, metric: &str) -> &'a Value {
    let cells = found["measurements"].as_array().unwrap();
    cells.iter().find(|cell| cell["metric"] == metric).unwrap_or_else(|| panic!("{metric}"))
}

#[test]
fn a_journal_that_was_brought_along_is_a_study_like_any_other() {
    let home = home("boots");
    let journal = format!("journal={}", recorded("clock-jump.json"));
    let words =
        ["run", "boot", "--set", &journal, "--set", "group_by=root_device", "--quiet", "--json"];
    let found = home.json(&words);
    let whole = cell(&found, "boot_s");
    assert_eq!(
        (whole["n"].as_u64(), &whole["configuration"]["root_device"]),
        (Some(3), &"/dev/nvme0n1".into())
    );
    let mean = whole["geometric_mean"].as_f64().unwrap();
    assert!((mean - 24.86).abs() < 0.01, "{mean}");
    assert!(whole["ci95"].is_array());
    assert_eq!(found["answers"].as_array().unwrap().len(), 2);
    assert_eq!(found["boots"][0]["units"].as_array().unwrap().len(), 10);
    let topics = found["summary"].as_array().unwrap().iter().map(|own| &own["topic"]);
    assert_eq!(topics.collect::<Vec<_>>(), ["boots"]);
    let shown = home.text(&["show"]);
    assert!(shown.contains("slowest units") && shown.contains("set forward"), "{shown}");
    assert!(!shown.contains("Site") && shown.contains("another machine"), "{shown}");
}

#[test]
fn a_boot_that_was_cut_off_is_shown_and_counts_in_no_mean() {
    let home = home("boots-cut-off");
    let export = exported(&std::fs::read(recorded("cut-off.json")).unwrap()).unwrap();
    let journal = format!("journal={}", home.file("cut-off.export", export));
    let all = format!("journal={}", recorded(""));
    let shown = home.text(&["run", "boot", "--set", &journal, "--quiet"]);
    assert!(shown.contains("excluded from the means"), "{shown}");
    assert!(shown.contains("3 more were"), "{shown}");
    let shown = home.json(&["show", "--json"]);
    assert_eq!(cell(&shown, "boot_s")["n"], 2);
    // All journals of a directory, including containers, which have no kernel.
    let found = home.json(&["run", "boot", "--set", &all, "--quiet", "--json"]);
    let groups: Vec<&str> = found["boots"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["configuration"]["kernel"].as_str())
        .collect();
    assert_eq!(groups, ["6.1.0-50-cloud-amd64", "unknown kernel"]);
    let planned = home.text(&["plan", "boot", "--set", &all]);
    assert!(
        planned.contains("changes nothing") && planned.contains("unknown kernel: 3"),
        "{planned}"
    );
}

#[test]
fn what_cannot_be_is_told_with_what_to_do() {
    let home = home("boots-mistakes");
    let journal = format!("journal={}", recorded("container.json"));
    let nothing = format!("journal={}", recorded("none"));
    for (words, code, told) in [
        (&["run", "boot", "--set", &nothing][..], 2, "no such file"),
        (&["run", "boot", "/tmp", "--set", &journal], 2, "remove TARGET"),
        (&["run", "queue-depth", "--set", &journal], 2, "is a key of workloads of kind boot"),
        (&["run", "boot", "--set", "journal=Cargo.toml"], 2, "no boot in this file"),
        (&["run", "queue-depth", "--until", "ssh.service"], 2, "use decided"),
        (&["run", "boot", "--yes"], 2, "--reboots"),
    ] {
        let ended = home.run(words);
        assert_eq!(ended.code, code, "{words:?}");
        let said = &ended.stderr;
        assert!(said.contains(told), "{words:?}: {said}");
    }
    for what in ["run", "plan"] {
        let words = [what, "boot", "--coordinator", "127.0.0.1:9"];
        let ended = home.assay.command(&words).env("ASSAY_RANK", "0/2").output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains("the records of one machine"), "{said}");
    }
}
