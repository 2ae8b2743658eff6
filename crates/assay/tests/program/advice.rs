//! Recommendations apply to throttled drives, and never to identical arms; a confirmed result can be made permanent.
//! Runs the built program on the simulated drive, without root.

use assay_testkit::needs::sample;
use serde_json::Value;

use crate::{DRIVE, home};

const THROTTLED: &str = "simulated:lognormal,mean=250us,p99=1000us,servers=4";
/// The same as the first one, under another name.
const TWIN: &str = "simulated:lognormal,mean=100us,p99=400us,servers=04";

fn study(factors: &str) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"advice\"\nreplicates = 6\n{factors}\n\
         [[workload]]\nname = \"read\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"100 ms\" }}\n\
         [[workload]]\nname = \"deep\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", queue_depth = 4, runtime = \"100 ms\" }}\n"
    )
}

fn id(findings: &Value) -> &str {
    findings["study"]["id"].as_str().unwrap()
}

fn advice(findings: &Value) -> &[Value] {
    findings["advice"].as_array().unwrap()
}

fn against(findings: &Value) -> Vec<&str> {
    let own = advice(findings).iter().filter(|one| one["kind"] == "avoid");
    own.map(|one| one["text"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "nightly: 2 s"]
fn studies_of_identical_arms_advise_nothing() {
    let home = home("identical");
    // Twenty in full.
    let part = sample(10, 3);
    for (name, levels) in [("three", "[\"a\", \"b\", \"c\"]"), ("two", "[\"a\", \"b\"]")] {
        let file =
            home.file(&format!("{name}.toml"), study(&format!("[factors]\naa_copy = {levels}")));
        for seed in part.clone().map(|seed| seed + 1) {
            let found = home.json(&["run", &file, DRIVE, "--seed", &seed.to_string(), "--json"]);
            assert!(advice(&found).is_empty(), "{name}, seed {seed}: {}", found["advice"]);
        }
    }
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_throttled_level_is_advised_against_wherever_it_stands() {
    let home = home("throttled");
    let file = home.file("targets.toml", study("seed = 3"));
    for targets in [[DRIVE, TWIN, THROTTLED], [THROTTLED, DRIVE, TWIN]] {
        let found = home.json(&[&["run", file.as_str()][..], &targets, &["--json"]].concat());
        let told = against(&found);
        let start = format!("Avoid {THROTTLED}: ");
        assert!(told.len() == 1 && told[0].starts_with(&start), "{targets:?}: {}", found["advice"]);
        let ids = found["comparisons"].as_array().unwrap();
        let ids: Vec<&Value> = ids.iter().map(|one| &one["id"]).collect();
        for one in advice(&found) {
            let evidence = one["evidence"].as_array().unwrap();
            assert!(!evidence.is_empty() && evidence.iter().all(|id| ids.contains(&id)), "{one}");
        }
        let used = advice(&found).iter().any(|one| one["kind"].is_null());
        assert_eq!(used, targets[0] == THROTTLED, "{}", found["advice"]);
        assert!(
            home.refused(2, &["advise", "apply", id(&found)]).contains("run assay advise confirm")
        );
    }
}

/// Recommends against the throttled one of two levels, both as the baseline and as the other level.
#[test]
fn of_two_levels_the_throttled_one_is_advised_against() {
    let home = home("of-two");
    let file = home.file("targets.toml", study("seed = 4"));
    for targets in [[DRIVE, THROTTLED], [THROTTLED, DRIVE]] {
        let found = home.json(&[&["run", file.as_str()][..], &targets, &["--json"]].concat());
        let told = against(&found);
        assert!(told.len() == 1 && told[0].contains(THROTTLED), "{}", found["advice"]);
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn advice_is_told_with_its_evidence_and_applied_only_when_confirmed() {
    let home = home("advise");
    let text = study("seed = 5\n[factors]\nqueue_depth = [1, 4]").replace(", queue_depth = 4", "");
    let file = home.file("depth.toml", text);
    let first = home.json(&["run", &file, DRIVE, "--json"]);
    let told = home.json(&["advise", id(&first), "--json"]);
    assert_eq!((&told["format"], &told["id"]), (&"assay-advice/1".into(), &first["study"]["id"]));
    let best = &told["advice"][0];
    assert_eq!((&best["kind"], &best["status"]), (&"use".into(), &"candidate".into()));
    assert_eq!(best["comparisons"][0]["trust"], "trusted");
    assert!(best["comparisons"][0]["comparison"]["ci95_simultaneous"][0].is_number(), "{best}");
    assert_eq!(best["permanent"]["manual"][0]["line"], "queue_depth=4");
    let refusal = home.refused(2, &["advise", "apply", id(&first), "--yes"]);
    assert!(refusal.contains(&format!("run assay advise confirm {}", id(&first))), "{refusal}");

    let fresh = home.json(&["advise", "confirm", id(&first), "--seed", "9", "--json"]);
    let page = home.text(&["advise", id(&fresh)]);
    assert!(page.contains("in fresh trials: ") && page.contains(", trusted: "), "{page}");
    let line = "by hand: queue_depth=4 (a program setting, not a machine setting)";
    assert!(page.contains(line), "{page}");
    // A simulation does not describe the machine.
    for words in
        [&["advise", "apply", id(&fresh)][..], &["advise", "apply", id(&fresh), "--yes", "--json"]]
    {
        assert!(home.refused(3, words).contains("was simulated"), "{words:?}");
    }
    assert!(home.text(&["advise", "undo"]).contains("no applied changes"));
}
