//! The documented example of a command of the user's and its check, without a machine: its study is one, and its script
//! promises what it has written and misses what is gone.

use std::path::Path;
use std::process::{Command, Output};

use assay_testkit::Scratch;
use assay_testkit::needs::{Need, have};

use crate::home;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/sqlite.sh");
const STUDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/sqlite.toml");

fn called(place: &Path, words: &[&str], promised: &Path) -> Output {
    let mut command = Command::new(SCRIPT);
    command.args(words).current_dir(place).env("ASSAY_ACKNOWLEDGED", promised);
    command.output().unwrap()
}

#[test]
fn the_plan_of_the_example_names_command_and_check() {
    let home = home("own-command-plan");
    let plan = home.text(&["plan", STUDY]);
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "`sqlite.sh fill WAL FULL`, checked by `sqlite.sh check`";
    assert!(plan.contains(told) && plan.contains("4.88% with 60 crash points"), "{plan}");
}

#[test]
#[ignore = "nightly: 4 s"]
fn the_script_promises_what_it_wrote_and_misses_what_is_gone() {
    if !have(&[Need::Program("sqlite3")]) {
        return;
    }
    let [place, beside] = ["rows", "promised"].map(|name| Scratch::new(name).unwrap());
    let promised = beside.path().join("promised");
    let filled = called(place.path(), &["fill", "WAL", "OFF"], &promised);
    let printed = String::from_utf8(filled.stdout).unwrap();
    assert!(filled.status.success() && printed.lines().count() == 1000, "{printed}");
    std::fs::write(&promised, &printed).unwrap();
    assert!(called(place.path(), &["check"], &promised).status.success());
    let remove = ["rows.db", "DELETE FROM rows WHERE n = 500;"];
    let removed = Command::new("sqlite3").args(remove).current_dir(place.path()).status();
    assert!(removed.unwrap().success());
    let lost = called(place.path(), &["check"], &promised);
    let said = String::from_utf8(lost.stdout).unwrap();
    assert_eq!((lost.status.code(), said.trim()), (Some(1), "of 1000 promised rows 999 are there"));
    let nothing = called(beside.path(), &["check"], &promised);
    assert!(nothing.status.code().is_some_and(|code| code != 0), "an empty directory passes");
}
