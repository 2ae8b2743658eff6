//! `assay run`, `plan`, `resume`, `compare`, `confirm` and `aa-test` for users and scripts: the built program on the
//! simulated drive, without root.

use serde_json::Value;

use crate::{DRIVE, home};

/// The same drive, a fifth slower.
const SLOWER: &str = "simulated:lognormal,mean=125us,p99=500us,servers=4";

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 6
seed       = 5

[factors]
queue_depth = [1, 2, 4, 8]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "200 ms" }
"#;

fn id(findings: &Value) -> &str {
    findings["study"]["id"].as_str().unwrap()
}

fn primary(findings: &Value) -> Vec<&Value> {
    let all = findings["comparisons"].as_array().unwrap();
    all.iter().filter(|one| one["primary"] == true).collect()
}

fn without_identity(mut findings: Value) -> Value {
    findings["study"]["id"] = Value::Null;
    findings["study"]["started"] = Value::Null;
    findings
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_study_gives_verdicts_and_the_same_ones_again() {
    let home = home("run");
    let file = home.file("depth.toml", STUDY);
    let found = home.json(&["run", &file, DRIVE, "--json"]);
    let compared = primary(&found);
    assert_eq!(compared.len(), 3);
    // Four servers: depths 2 and 4 are twice and four times as fast, depth 8 no more than four times.
    for (one, expected) in compared.iter().zip([2.0, 4.0, 4.0]) {
        assert_eq!(one["verdict"], "better", "{one}");
        let ends = &one["ci95_simultaneous"];
        let (low, high) = (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap());
        assert!(low < expected * 1.02 && high > expected * 0.98, "{expected}: {ends}");
    }
    assert_eq!(found["noise_floor"]["different"], false, "{}", found["noise_floor"]);
    assert_eq!(found["trends"][0]["factor"], "queue_depth");
    assert_eq!(found["advice"][0]["status"], "candidate");
    let again = home.json(&["run", &file, DRIVE, "--json"]);
    assert_eq!(without_identity(found), without_identity(again));
}

#[test]
fn a_plan_changes_nothing_and_says_what_it_will_see() {
    let home = home("plan");
    let file = home.file("depth.toml", STUDY);
    let text = home.text(&["plan", &file, DRIVE]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "36: 5 configurations, 6 replicates, 6 warm-ups",
        "detects",
        "detectable difference",
        "95% confidence, 80% power",
        "reads at most",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("no earlier result") && !text.contains("(control)"), "{text}");
    assert!(home.text(&["plan", &file, DRIVE, "--order"]).contains("(control)"));
    assert!(!home.assay.home().join("results").exists());
    home.text(&["run", &file, DRIVE]);
    let preview = home.json(&["plan", &file, DRIVE, "--replicates", "12", "--json"]);
    assert_eq!(preview["format"], "assay-preview/1");
    assert_eq!(preview["trials"].as_array().unwrap().len(), 72);
    let text = preview["power_analysis"][0]["text"].as_str().unwrap();
    assert!(text.contains(", as in result "), "{text}");
}

#[test]
fn under_others_work_only_what_is_safe_there_is_taken() {
    let home = home("live");
    let file = home.file("depth.toml", STUDY);
    for (words, part) in [
        (
            ["production", "--set", "write_cache=flushes,no-flushes", "."],
            "cannot change write_cache",
        ),
        (["production", "--set", "filesystem=ext4,xfs", "."], "cannot change filesystem"),
        (
            ["production", "--set", "tunable:/sys/block/sda/queue/write_cache=a,b", "."],
            "to allow it",
        ),
        (["production", "--set", "rollback_threshold=7x", "."], "did you mean \"2x\"?"),
        (["production", "--set", "runtime=1s", "."], "the minimum is 3 s"),
        (["production", "--set", "aa_copy=a,b", DRIVE], "no production workload"),
        (
            [&file, "--set", "rollback_threshold=2x", DRIVE],
            "is a key of workloads of kind production",
        ),
    ] {
        for command in ["plan", "run"] {
            let told = home.told(2, &[&[command], &words[..]].concat());
            assert!(told.contains(part), "{words:?}: {told}");
        }
    }
    // Without root, the devices of --scratch are refused before the study.
    home.told(if assay_testkit::is_root() { 2 } else { 3 }, &["run", "production", "--scratch"]);
}

#[test]
#[ignore = "nightly: 3 s"]
fn another_day_is_told_in_weaker_words_and_a_gate_fails() {
    let home = home("compare");
    let file = home.file("depth.toml", STUDY);
    let run = |drive: &str| id(&home.json(&["run", &file, drive, "--json"])).to_owned();
    let (fast, slow) = (run(DRIVE), run(SLOWER));
    let found = home.json(&["compare", &fast, &slow, "--json"]);
    assert_eq!(found["study"]["kind"], "compare");
    let kinds: Vec<&Value> = primary(&found).iter().map(|one| &one["kind"]).collect();
    // The baseline itself, and three arms against their own baselines.
    assert_eq!(kinds, ["between-results", "rerun-baseline", "rerun-baseline", "rerun-baseline"]);
    let base = primary(&found)[0];
    assert!(base["min_detectable_ratios"][0].as_f64().unwrap() < 1.0, "{base}");
    assert!(primary(&found).iter().all(|one| one["verdict"] == "inconclusive"), "{found}");
    let checks = found["checks"].as_array().unwrap();
    assert_eq!(checks[0]["name"], "environment");
    let says =
        |part: &str| checks.iter().any(|check| check["text"].as_str().unwrap().contains(part));
    assert!(says("125us") && says("day-to-day variation 3%"), "{checks:?}");
    let wide = home.json(&["compare", &fast, &slow, "--between-day-sd", "10%", "--json"]);
    assert!(wide.to_string().contains("variation 10% (from --between-day-sd)"), "{wide}");
    let seen = |found: &Value| primary(found)[0]["min_detectable_ratios"][0].as_f64().unwrap();
    assert!(seen(&wide) < seen(&found));

    let gated = home.run(&["compare", &fast, &slow, "--gate", "5%"]);
    assert_eq!(gated.code, 1, "{}", gated.stderr);
    home.text(&["compare", &fast, &slow, "--gate", "50%"]);
    // Against another baseline, a ratio has another meaning: compares the plain numbers.
    let other = home.json(&["run", &file, DRIVE, "--baseline", "queue_depth=2", "--json"]);
    let found = home.json(&["compare", &fast, id(&other), "--json"]);
    for one in primary(&found) {
        assert_eq!(one["kind"], "between-results");
        assert_ne!(one["verdict"], "worse", "{one}");
    }
    home.text(&["compare", &slow, &fast, "--gate", "5%"]);
    home.refused(2, &["compare", &fast, &fast]);
    let check = home.json(&["check", DRIVE, "--quick", "--seed", "1", "--json"]);
    home.refused(2, &["compare", &fast, id(&check)]);
}

/// An inconclusive gate does not pass: exit code 5, and a list of inconclusive rows.
#[test]
#[ignore = "nightly: 3 s"]
fn a_gate_that_cannot_see_is_not_green() {
    let home = home("blind-gate");
    let study = |replicates: u32, workloads: &[&str]| {
        let io = "io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"50 ms\" }";
        let head = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = {replicates}\nseed = 5\n\
             margin = \"5%\"\nrepeat_disturbed = false\n"
        );
        let each = workloads.iter().map(|name| format!("[[workload]]\nname = \"{name}\"\n{io}\n"));
        home.file(
            &format!("study-{replicates}-{}.toml", workloads.len()),
            head + &each.collect::<String>(),
        )
    };
    let run = |file: &str, drive: &str| id(&home.json(&["run", file, drive, "--json"])).to_owned();
    let whole = study(3, &["a", "b"]);
    let (old, new) = (run(&whole, DRIVE), run(&whole, DRIVE));
    home.text(&["compare", &old, &new, "--gate", "5%"]);
    let shown = home.text(&["compare", &old, &new, "--gate", "5%"]);
    assert!(shown.contains("regression"), "{shown}");
    let blind = |first: &str, second: &str| {
        let ended = home.run(&["compare", first, second, "--gate", "5%"]);
        assert_eq!(ended.code, 5, "{}", ended.stderr);
        ended.stderr
    };
    // One side lacks a workload.
    let half = run(&study(3, &["a"]), DRIVE);
    for (first, second) in [(&old, &half), (&half, &old)] {
        let told = blind(first, second);
        assert!(told.contains("gate inconclusive"), "{told}");
        assert!(told.contains("has no number") && !told.contains("b: no statement"), "{told}");
        home.text(&["compare", first, second, "--gate", "5%", "--allow-inconclusive"]);
    }
    // Ten times slower, but two trials are too few.
    let few = study(2, &["a", "b"]);
    let (fast, slow) =
        (run(&few, DRIVE), run(&few, &DRIVE.replace("100us", "1ms").replace("400us", "4ms")));
    let told = blind(&fast, &slow);
    assert!(told.contains("only 2 valid trials; the gate needs 3"), "{told}");
    // Sides of three results each.
    let more: Vec<String> = (0..4).map(|_| run(&whole, DRIVE)).collect();
    let sessions = [
        "compare",
        &more[0],
        &more[1],
        &new,
        "--against",
        &more[2],
        &more[3],
        &old,
        "--gate",
        "5%",
    ];
    home.text(&sessions);
    let told = home.run(&["compare", &new, "--against", &old, &more[0], "--gate", "5%"]).stdout;
    assert!(told.contains("gate: pools 2 earlier and 1 later results"), "{told}");
    let day = |seed: u32| {
        let seed = seed.to_string();
        id(&home.json(&["run", &whole, DRIVE, "--seed", &seed, "--json"])).to_owned()
    };
    let days: Vec<String> = (1..=6).map(day).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let asked = ["--margin", "20%", "--json"];
    let found = home.json(&[&["compare"], &days[..3], &["--against"], &days[3..], &asked].concat());
    for row in found["comparisons"].as_array().unwrap().iter().filter(|one| one["primary"] == true)
    {
        assert!(
            ["equivalent", "inconclusive"].contains(&row["verdict"].as_str().unwrap()),
            "{row}"
        );
        assert_eq!(row["n"], 3);
    }
    // Ten other results of this study on this drive give the day-to-day variation; the smaller study has none.
    let apart = |first: &str, second: &str| {
        home.json(&["compare", first, second, "--json"])["checks"].to_string()
    };
    let told = apart(&old, &new);
    assert!(told.contains("from 10 earlier results of this study"), "{told}");
    let told = apart(&fast, &slow);
    assert!(told.contains("assumed; "), "{told}");
    home.told(2, &["compare", &old]);
    home.told(2, &["compare", &new, "--against", &old, "--margin", "5%"]);
    home.told(2, &["compare", &new, "--against", &old, &more[0]]);
    home.told(2, &["compare", &new, &old, "--against", &more[0], &old, "--gate", "5%"]);
    home.told(2, &["compare", &old, &new, "--must-detect", "10%"]);
}

#[test]
#[ignore = "nightly: 2 s"]
fn two_checks_are_compared() {
    let home = home("compare-checks");
    let run = |drive: &str| {
        id(&home.json(&["check", drive, "--quick", "--seed", "1", "--json"])).to_owned()
    };
    let (fast, slow) = (run(DRIVE), run(SLOWER));
    let found = home.json(&["compare", &fast, &slow, "--json"]);
    let again = run(DRIVE);
    let same = home.json(&["compare", &fast, &again, "--json"]);
    let said = same["summary"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("None of 7 rows differs significantly: "), "{said}");
    assert_eq!(primary(&found).len(), 7);
    let is_open =
        |one: &&Value| one["kind"] == "between-results" && one["verdict"] == "inconclusive";
    assert!(primary(&found).iter().all(is_open), "{found}");
    let gated = home.run(&["compare", &fast, &slow, "--gate", "5%", "--json"]);
    assert_eq!(gated.code, 1, "{}", gated.stderr);
    assert!(serde_json::from_str::<Value>(&gated.stdout).is_ok());
}

#[test]
#[ignore = "nightly: 1 s"]
fn the_best_arm_is_confirmed_by_fresh_trials() {
    let home = home("confirm");
    let file = home.file("depth.toml", STUDY);
    let first = home.json(&["run", &file, DRIVE, "--json"]);
    let fresh = home.json(&["advise", "confirm", id(&first), "--seed", "9", "--json"]);
    assert_eq!(fresh["study"]["confirms"], first["study"]["id"]);
    let compared = primary(&fresh);
    assert_eq!(compared.len(), 1);
    // Four servers: depth 8 has the best mean by chance, and depth 4 equals it.
    assert_eq!(first["ranks"][0]["ranks"][0]["configuration"]["queue_depth"], "8");
    assert_eq!(compared[0]["configuration"]["queue_depth"], "4");
    assert_eq!(fresh["advice"][0]["status"], "confirmed");
    // Identical arms give no recommendation, and nothing to confirm.
    let same = home
        .file("same.toml", STUDY.replace("queue_depth = [1, 2, 4, 8]", "aa_copy = [\"a\", \"b\"]"));
    let null = home.json(&["run", &same, DRIVE, "--json"]);
    assert!(null["advice"].as_array().unwrap().is_empty(), "{}", null["advice"]);
    assert!(home.refused(2, &["advise", "confirm", id(&null)]).contains("nothing to confirm"));
}

#[test]
#[ignore = "nightly: 2 s"]
fn identical_arms_tell_what_the_machine_makes_of_nothing() {
    let home = home("aa-test");
    let file = home.file("depth.toml", STUDY);
    let null = home.json(&["aa-test", &file, DRIVE, "--seed", "3", "--json"]);
    assert_eq!(null["format"], "assay-aa-test/1");
    let work = &null["workloads"][0];
    assert_eq!((&work["copies"], &work["pairs"], &work["n"]), (&4.into(), &6.into(), &6.into()));
    assert!(null["false_verdicts"].as_u64().unwrap() <= 1, "{null}");
    let text = home.text(&["aa-test", "check", DRIVE, "--replicates", "3"]);
    assert!(text.contains("sync-write") && text.contains("identical configurations"), "{text}");
    home.told(2, &["aa-test", "check", DRIVE, "--copies", "1"]);
}

#[test]
fn looks_end_a_study_early_and_say_so() {
    let home = home("looks");
    let looks = STUDY.replace(
        "replicates = 6",
        "stop = { rule = \"interim\", interim_at = [3, 6, 12] }\naa_control = false",
    );
    let file = home.file("looks.toml", looks);
    let found = home.json(&["run", &file, DRIVE, "--json"]);
    let ended = found["study"]["stopped_by"].as_str().unwrap();
    assert!(ended.starts_with("ended after replicate 3"), "{ended}");
    assert_eq!(primary(&found)[0]["n"], 3);
    let shown = home.json(&["show", id(&found), "--json"]);
    assert_eq!(shown, found);
    assert!(home.refused(2, &["resume", id(&found)]).contains("has ended"));
}

#[test]
fn a_page_needs_a_terminal() {
    let home = home("page");
    let file = home.file("depth.toml", STUDY);
    let said = home.told(2, &["run", &file, DRIVE, "--watch"]);
    assert!(said.contains("needs a terminal") && said.contains("assay watch"), "{said}");
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_result_is_shared_found_by_its_drive_and_not_taken_for_a_study() {
    let home = home("share");
    let file = home.file("depth.toml", STUDY);
    let found = home.json(&["run", &file, DRIVE, "--json"]);
    let text = home.text(&["show", "--forum", id(&found)]);
    assert!(text.lines().all(|line| line.chars().count() <= 46), "{text}");
    let answer = text.lines().position(|line| line.contains("better")).unwrap();
    assert!(answer < 15 && text.contains("IOPS"), "{text}");
    let listed = |words: &[&str]| {
        let all = home.json(&[&["list", "--json"], words].concat());
        all["items"].as_array().unwrap().len()
    };
    assert_eq!([listed(&["--drive", "simulated"]), listed(&["--drive", "nvme7"])], [1, 0]);
    assert_eq!([listed(&[]), listed(&["--preset", "queue-depth"])], [1, 0]);
    let path = home.file("findings.json", found.to_string());
    let said = home.run(&["run", &path]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains(&format!("assay import {path}")), "{}", said.stderr);
}
