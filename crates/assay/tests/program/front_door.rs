//! First contact: help, old names next to current ones, and the documented exit codes.

use std::fs;
use std::time::Duration;

use assay_testkit::home::Home;
use assay_testkit::process::run;

use crate::{DEPTH, DRIVE, home};

const LIMIT: Duration = Duration::from_secs(100);

/// Returns a home with a result whose second arm is better, and its ID.
fn with_result(test: &str) -> (Home, String) {
    let home = home(test);
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--replicates", "6", "--seed", "5", "--json"]);
    let id = found["study"]["id"].as_str().unwrap().to_owned();
    (home, id)
}

/// The table of gates contains the exit code for interruption.
#[test]
fn every_exit_code_of_the_contract_is_reached() {
    let (home, fast) = with_result("exit-codes");
    home.text(&["show"]);
    let study = home.file("slow.toml", DEPTH);
    let slow = DRIVE.replace("mean=100us,p99=400us", "mean=300us,p99=900us");
    let words = ["run", &study, &slow, "--replicates", "6", "--seed", "5", "--json"];
    let slow = home.json(&words)["study"]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["compare", &fast, &slow, "--gate", "5%"]).code, 1);
    home.refused(2, &["run", "--replicates"]);
    home.refused(3, &["export", &fast, "--format", "forum", "-o", "/proc/nowhere/x"]);
    // Two replicates are too few for a gate.
    let blind = home.run(&["run", &study, DRIVE, "--replicates", "2", "--gate", "5%"]);
    assert_eq!(blind.code, 5, "{}", blind.stderr);
    let journal = home.assay.home().join("journal");
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join("20261120-1031-aaaa.jsonl"), "not ours\n").unwrap();
    assert_eq!(home.run(&["restore"]).code, 4);
}

/// As users of fio, hyperfine, KDiskMark and git type them, with a part of the answer.
#[test]
fn foreign_words_are_answered_with_ours() {
    let home = home("foreign-words");
    for row in include_str!("../foreign-words.tsv").lines() {
        let (line, answer) = row.split_once('\t').unwrap();
        let words = shell_words::split(line).unwrap();
        let told = home.told(2, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(told.lines().count() <= 3, "{line}: {told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{line}: {told}");
        assert!(told.replace('\n', " ").contains(answer), "{line}: {told}");
    }
    for command in ["run", "plan"] {
        let told = home.told(2, &[command]);
        assert!(told.contains("  queue-depth") && told.contains("Usage: assay"), "{told}");
        assert!(told.lines().count() <= 20, "{told}");
    }
    let watched = home.run(&["watch", ".", "--duration", "100ms"]);
    assert!(watched.code == 0 || watched.stderr.contains("cannot watch .: "), "{}", watched.stderr);
}

fn printed(home: &Home, words: &[&str], columns: &str) -> String {
    let mut command = home.assay.command(words);
    let ended = run(command.env("COLUMNS", columns).env("NO_COLOR", "1"), LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{words:?}: {}", ended.stderr);
    assert!(!ended.stdout.contains('\u{1b}'), "{words:?}");
    ended.stdout
}

#[test]
fn help_is_found_by_each_way_and_in_each_width() {
    let home = home("help-ways");
    let top = printed(&home, &["--help"], "80");
    assert!(top.lines().count() <= 35, "{top}");
    for words in [&["-h"][..], &["help"]] {
        assert_eq!(printed(&home, words, "80"), top, "{words:?}");
    }
    assert!(printed(&home, &["help", "run"], "80").contains("--exit-inconclusive"));
    assert!(printed(&home, &["help", "advise", "confirm"], "80").contains("--workload"));
    assert!(printed(&home, &["run", "-h"], "80").lines().count() <= 40);
    for words in
        [&["--help"][..], &["run", "-h"], &["run", "queue-depth", "--help"], &["help", "restore"]]
    {
        let page = printed(&home, words, "40");
        // A name with its value has no spaces, and cannot be broken.
        let wide = page.lines().find(|line| line.chars().count() > 40 && line.trim().contains(' '));
        let is_fixed = |line: &str| line.starts_with("Usage: ") || line.trim().starts_with('-');
        assert!(wide.is_none_or(is_fixed), "{words:?}: {wide:?}");
    }
}

#[test]
fn the_help_of_a_study_has_its_options_alone() {
    let home = home("help-study");
    let file = home.file("mine.toml", DEPTH);
    let own = printed(&home, &["run", &file, "--help"], "80");
    assert!(own.contains("--budget") && own.contains("depth = "), "{own}");
    assert!(!own.contains("--as-root") && !own.contains("--reboots"), "{own}");
    assert!(printed(&home, &["run", "compile", "-h"], "80").contains("--as-root"));
    let commands = printed(&home, &["run", "--command", "true", "--help"], "80");
    assert!(commands.contains("--prepare") && !commands.contains("--reboots"), "{commands}");
    // Shows all options, with a message, for an unknown study.
    let ended = home.run(&["run", "chek", "--help"]);
    let all = ["--as-root", "--reboots", "--prepare"];
    let lacking: Vec<&str> =
        all.into_iter().filter(|option| !ended.stdout.contains(option)).collect();
    assert!(ended.code == 0 && lacking.is_empty(), "{lacking:?}: {}", ended.stdout);
    assert!(ended.stderr.contains("did you mean \"check\"?"), "{}", ended.stderr);
}
