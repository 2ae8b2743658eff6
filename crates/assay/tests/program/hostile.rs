//! Foreign results on the command line: shown safely, or refused in one line.

use std::fs;
use std::path::{Path, PathBuf};

use assay::store;
use assay_report::{document, html, text};
use assay_runner::real::Real;
use assay_testkit::home::Home;
use assay_testkit::hostile::{self, ALIVE, Expect};
use assay_testkit::needs::count;
use serde_json::{Value, json};

use crate::{DEPTH, DRIVE, home};

/// Maximum size of a page about a hostile result.
const LARGEST: usize = 2 << 20;

/// Returns a home with one valid result, and the result's path.
fn good(test: &str) -> (Home, PathBuf) {
    let home = home(test);
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json"]);
    let id = found["study"]["id"].as_str().unwrap().to_owned();
    let good = home.assay.home().join("results").join(id);
    (home, good)
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_hostile_result_is_shown_without_harm_or_refused_with_its_reason() {
    let (home, good) = good("hostile");
    let results = good.parent().unwrap();
    let cases = hostile::make(results, &good);
    for case in &cases {
        match case.expect {
            Expect::Shown => {
                let shown = home.text(&["show", "--full", &case.id]);
                assert!(shown.len() < LARGEST, "{}: {} bytes", case.what, shown.len());
                assert!(!shown.contains('\u{1b}'), "{}", case.what);
                let page = match store::evidence_at(&Real::new(), &results.join(&case.id)) {
                    Ok(evidence) => html::page(&evidence, html::PagePlace::Alone),
                    // Pages need files that tables do not.
                    Err(failure) => failure.message,
                };
                assert!(page.len() < LARGEST, "{}: {} bytes", case.what, page.len());
                assert!(ALIVE.iter().all(|alive| !page.contains(alive)), "{}", case.what);
            }
            Expect::Refused(word) => {
                let ended = home.run(&["show", &case.id]);
                assert!([2, 3].contains(&ended.code), "{}: {}", case.what, ended.stderr);
                assert!(ended.stderr.contains(word), "{}: {}", case.what, ended.stderr);
                assert_eq!(ended.stderr.lines().count(), 1, "{}: {}", case.what, ended.stderr);
            }
        }
    }
    let listed = home.run(&["list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.stdout.len() < LARGEST);
    assert!(listed.stderr.contains("assay-plan/9"), "{}", listed.stderr);
    let site = home.scratch.path().join("site");
    home.text(&["report", "--all", "-o", site.to_str().unwrap()]);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.len() < LARGEST, "{} bytes", index.len());
    assert!(ALIVE.iter().all(|alive| !index.contains(alive)));
    for case in &cases {
        assert!(index.contains(&case.id), "{}", case.what);
    }
}

#[test]
fn numbers_that_were_brought_along_are_texts_of_others_too() {
    let home = home("hostile-import");
    let script = hostile::SCRIPT.replace('"', "\"\"");
    let table = |cable: &str| {
        let rows = (1..=3).map(|replicate| {
            format!(
                "{replicate},\"{script}\",\"{cable}\",duration_s,{replicate}\n\
                 {replicate},\"{script}\",\"b\",duration_s,2\n"
            )
        });
        format!("replicate,workload,factor_cable,metric,value\n{}", rows.collect::<String>())
    };
    let file = home.file("<img src=x>.csv", table(&"x".repeat(hostile::LONG)));
    assert!(home.told(2, &["import", &file]).contains("too long for a table of trials"));
    let file = home.file("<img src=x>.csv", table(&script));
    home.text(&["import", &file, "--baseline", "cable=b"]);
    let results = fs::read_dir(home.assay.home().join("results")).unwrap();
    let directory = results.map(|entry| entry.unwrap().path()).next().unwrap();
    let page =
        html::page(&store::evidence_at(&Real::new(), &directory).unwrap(), html::PagePlace::Alone);
    assert!(ALIVE.iter().all(|alive| !page.contains(alive)));
}

fn rendered(directory: &Path) {
    let Ok(evidence) = store::evidence_at(&Real::new(), directory) else { return };
    let full = document::build(&evidence.findings, document::Detail::Full);
    assert!(!text::render(&full, 80, false).is_empty());
    assert!(!html::page(&evidence, html::PagePlace::Alone).is_empty());
    let watched = store::progress::WatchedStudy::new(&Real::new(), directory).unwrap();
    assert!(watched.progress(&Real::new()).planned < usize::MAX);
}

fn device() -> Value {
    let traffic = json!({
        "span_ns": 400_000_000, "reads": 9000, "read_bytes": 36_000_000, "writes": 20,
        "write_bytes": 81_920, "discard_bytes": 4096, "busy_ms": 390, "weighted_ms": 1500
    });
    json!({ "vda": { "gap": traffic, "run": traffic, "settle": traffic } })
}

fn on_a_drive(good: &Path) -> PathBuf {
    let copy = good.with_file_name("20260102-000000-vda");
    hostile::copy(good, &copy);
    let path = copy.join("environment.json");
    let mut environment: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let site = &mut environment["sites"][0];
    (site["counted"], site["shared"]) = (json!(["vda"]), json!(["vda"]));
    (site["kind"], site["backing"]) = (json!("directory"), json!("blocks"));
    fs::write(&path, environment.to_string()).unwrap();
    let path = copy.join("trials.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    let lines = lines.lines().map(|line| {
        let mut trial: Value = serde_json::from_str(line).unwrap();
        let evidence = &mut trial["evidence"];
        let many = json!({ "present": 1_000_000 });
        let pages = json!({ "present": { "cached": 3, "of": 4096 } });
        for (name, observed) in [
            ("disk", device()),
            ("process-io", json!({ "read_bytes": 4096, "write_bytes": 0 })),
            (
                "cpu-throttling",
                json!({
                    "ticks": { "present": { "total": 80, "steal": 2 } },
                    "throttle_events": many, "group_throttled": many
                }),
            ),
            ("cpu-time", json!({ "kernel_threads_ns": many, "busy_ns": many })),
            ("page-cache", json!({ "before": pages, "after": pages })),
        ] {
            evidence[name] = json!({ "present": observed });
        }
        format!("{trial}\n")
    });
    fs::write(&path, lines.collect::<String>()).unwrap();
    copy
}

#[test]
#[ignore = "nightly: 5 s"]
fn no_number_of_a_result_ends_the_program() {
    let (_home, good) = good("odd-numbers");
    let mut wrong = Vec::new();
    for directory in [on_a_drive(&good), good] {
        for name in ["plan.json", "environment.json", "trials.jsonl", "series/0001.json"] {
            wrong.extend(changed_one_by_one(&directory, name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes each number of a file in turn; returns changes that crash the program.
fn changed_one_by_one(directory: &Path, name: &str) -> Vec<String> {
    let path = directory.join(name);
    let whole = fs::read_to_string(&path).unwrap();
    // Uses one counting trial.
    let one = if name == "trials.jsonl" { whole.lines().nth(3).unwrap() } else { whole.as_str() };
    let document: Value = serde_json::from_str(one).unwrap();
    let mut wrong = Vec::new();
    // Six consecutive changes belong to one number: every fifth meets each number with varying values.
    let every = count(5, 1) as usize;
    for (place, changed) in hostile::odd_numbers(&document).into_iter().step_by(every) {
        fs::write(&path, whole.replace(one, &changed.to_string())).unwrap();
        if std::panic::catch_unwind(|| rendered(directory)).is_err() {
            wrong.push(format!("{name}: {place}"));
        }
    }
    fs::write(&path, &whole).unwrap();
    wrong
}
