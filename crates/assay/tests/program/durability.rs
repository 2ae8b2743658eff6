//! Work of the kind `durability` in a directory: acknowledged and lost writes, and the command's exit code.

use serde_json::Value;

use assay_testkit::home::WAIT;

use crate::{DRIVE, home, turn};

/// Directory of the files: a device that machine tests use at the same time.
const SHARED: &str = "/dev/shm";

fn study(own: &str) -> String {
    format!(
        "format     = \"assay-study/1\"
title      = \"Promises\"
replicates = 2
warmup_trial    = \"none\"
seed       = 7
area       = {{ size = \"16 MiB\" }}

[[workload]]
name       = \"own\"
durability = {{ acknowledged_writes = 60, {own} }}
"
    )
}

/// Runs it in a directory in memory; returns the exit code, and the facts and page of its row.
fn ran(test: &str, own: &str) -> (i32, Value, String) {
    let home = home(&format!("durability-{test}"));
    let file = home.file("study.toml", study(own));
    let _turn = turn();
    let ended = home.run(&["run", &file, SHARED, "--json", WAIT]);
    let found: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr));
    (ended.code, found, ended.stderr)
}

#[test]
fn an_honest_drive_loses_no_promise_and_the_bound_is_that_of_all_cuts() {
    for pattern in ["log", "in-place", "transaction"] {
        let (code, found, told) = ran(
            &format!("honest-{pattern}"),
            &format!("writer = \"{pattern}\", crash_points = 30"),
        );
        assert_eq!(code, 0, "{told}");
        let own = &found["durability"][0];
        assert_eq!((&own["crash_points"], &own["lost"]), (&60.into(), &0.into()), "{own}");
        assert_eq!(own["acknowledged_writes"], 120, "{own}");
        assert_eq!(own["read_again"][1], 0, "what is judged is what was written: {own}");
        let most = own["lost_share_bound95"].as_f64().unwrap();
        assert!((most - 0.048_703).abs() < 1e-6, "{own}");
        let first = found["summary"][0]["text"].as_str().unwrap();
        assert!(first.contains("0 of 60 crash points") && first.contains("4.88%"), "{first}");
        // Must not be mistaken for a number of the user's drive.
        assert!(first.starts_with("Replayed on an assumed drive"), "{first}");
        assert!(first.contains("The real drive was not tested"), "{first}");
    }
}

#[test]
fn a_loss_fails_the_command_and_tells_its_shortest_story() {
    let (code, found, told) = ran("liar", "crash_points = 20, assumed_drive = \"drops-flushes\"");
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("an acknowledged write was lost on an assumed drive"), "{told}");
    let own = &found["durability"][0];
    assert!(own["lost"].as_u64().unwrap() > 0, "{own}");
    let story = own["counterexample_text"].as_str().unwrap();
    assert!(story.contains("the crash follows step"), "{story}");
    assert!(
        own["counterexample"]["acknowledged_step"].as_u64()
            <= own["counterexample"]["crash_step"].as_u64(),
        "{own}"
    );
}

#[test]
fn without_a_sync_nothing_is_promised_and_nobody_accused() {
    let (code, found, told) = ran("none", "sync = \"none\", assumed_drive = \"drops-flushes\"");
    assert_eq!(code, 0, "{told}");
    let own = &found["durability"][0];
    assert_eq!((&own["acknowledged_writes"], &own["lost"]), (&0.into(), &0.into()), "{own}");
    assert_eq!(own["lost_share_bound95"], Value::Null, "{own}");
    assert!(own["text"].as_str().unwrap().starts_with("No write was acknowledged"), "{own}");
}

/// The baseline acknowledges nothing; this does not apply to another setting with acknowledged writes.
#[test]
fn what_promised_something_is_told_before_what_promised_nothing() {
    let home = home("durability-order");
    let file = home.file(
        "study.toml",
        study("crash_points = 30") + "\n[factors]\nsync = [\"none\", \"fdatasync\"]\n",
    );
    let _turn = turn();
    let ended = home.run(&["run", &file, SHARED, "--json", WAIT]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let told: Vec<&str> = found["summary"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|own| own["text"].as_str())
        .collect();
    let at = |words: &str| told.iter().position(|text| text.contains(words));
    let (kept, nothing) = (at("0 of 60 crash points"), at("No write was acknowledged"));
    assert!(kept.is_some() && nothing.is_some() && kept < nothing, "{told:?}");
}

#[test]
fn the_page_has_the_verdict_and_the_figure_of_cuts() {
    let home = home("durability-page");
    let file = home.file("study.toml", study("crash_points = 30"));
    {
        let _turn = turn();
        home.text(&["run", &file, SHARED, "--quiet", WAIT]);
    }
    let shown = home.text(&["show"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("0 of 60 crash points lost an acknowledged write"), "{shown}");
    assert!(shown.contains("not the real drive"), "{shown}");
    let page = home.text(&["report", "-o", "-"]);
    assert!(
        page.contains("outcomes of crash points") && page.contains("all pending writes present"),
        "no figure"
    );
}

#[test]
fn a_plan_says_how_many_cuts_give_which_bound_and_a_simulated_drive_keeps_nothing() {
    let home = home("durability-plan");
    let plan = home.text(&["plan", "durability", "/dev/shm", "--json"]);
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("0.3% with 1,000") && plan.contains("4.88%"), "{plan}");
    let file = home.file("study.toml", study("crash_points = 30"));
    let ended = home.run(&["plan", &file, DRIVE]);
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains("stores no data that could be lost"), "{told}");
}

/// A plan of virtual machines shows their time; they have no target on this machine.
#[test]
fn what_is_cut_in_virtual_machines_has_no_place_here() {
    let home = home("durability-machines");
    let own = "method = \"kill\", write_to = \"ext4\", crash_points = 60";
    let file = home.file("study.toml", study(own));
    let ended = home.run(&["run", &file, "."]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("remove TARGET"), "{}", ended.stderr);
    let ended = home.run(&["plan", &file, "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let plan: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(plan["trials_s"].as_f64().unwrap() > 60.0, "{plan}");
    let ended = home.run(&["plan", "durability", "--set", "write_to=floppy"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
}

/// A line with a command and a check equals a study with both.
#[test]
fn a_command_of_the_line_is_cut_off_where_it_has_a_check() {
    let home = home("durability-line");
    let line = ["plan", "--command", "my-db --fill"];
    let timed = home.run(&line);
    assert!(!timed.stdout.contains("checked by"), "{}", timed.stdout);
    let planned = home.run(&[&line[..], &["--set", "check_command=my-db --verify"]].concat());
    let told = planned.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    assert!(told.contains("`my-db --fill`, checked by `my-db --verify` on ext4"), "{told}");
    assert!(told.contains("0.3% with 1,000") && !told.contains("replicate 2"), "{told}");
    // A machine boots and checks a thousand crash points, regardless of the command's run time.
    assert!(told.contains("time about 2.1") && told.contains("min"), "{told}");
    for (wrong, says) in [
        (&["--command", "another"][..], "remove the other commands"),
        (&["--setup", "true"], "remove the other commands"),
        (&["--set", "write_to=nowhere"], "ext4, xfs"),
    ] {
        let words = [&line[..], &["--set", "check_command=my-db --verify"], wrong].concat();
        let refused = home.run(&words);
        assert_eq!(refused.code, 2, "{wrong:?}: {}", refused.stdout);
        assert!(refused.stderr.contains(says), "{wrong:?}: {}", refused.stderr);
    }
    assert_eq!(home.run(&["plan", "--set", "check_command=my-db --verify"]).code, 2);
}
