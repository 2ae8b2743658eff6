//! Comparison of revisions: trees of commits are built once and measured, and the user's repository is only read.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assay_testkit::commits::Repository;
use assay_testkit::needs::{Need, have};
use serde_json::Value;

use crate::commands::Bench;

const LIMIT: Duration = Duration::from_secs(100);
const SHORT: [&str; 5] = ["--replicates", "3", "--set", "runs_per_trial=1", "--quiet"];

/// A repository of two commits: `old` sleeps for less time than `main`.
struct Sides {
    bench: Bench,
    repository: Repository,
    /// The commits, the older one first.
    ids: [String; 2],
}

impl Sides {
    /// Returns `None`, with a message, if git is missing.
    fn new(test: &str) -> Option<Self> {
        if !have(&[Need::Program("git")]) {
            return None;
        }
        let bench = Bench::new(test);
        let repository = Repository::new(&bench.home.scratch.path().join("repository")).unwrap();
        let old = repository.commit("bench.sh", "sleep 0.02\n").unwrap();
        repository.git(&["branch", "old"]).unwrap();
        let new = repository.commit("bench.sh", "sleep 0.05\n").unwrap();
        Some(Self { bench, repository, ids: [old, new] })
    }

    /// Returns the arguments of a run with revisions of the repository.
    fn words<'a>(&'a self, revisions: &'a str, words: &[&'a str]) -> Vec<&'a str> {
        let path = self.repository.path().to_str().unwrap();
        [&["run", path, "--rev", revisions][..], words, &SHORT].concat()
    }

    fn trees(&self) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(self.bench.home.assay.home().join("trees")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Returns the levels of `revision` with numbers of a metric.
fn measured(found: &Value) -> Vec<String> {
    let cells = found["measurements"].as_array().unwrap().iter();
    let own = cells.filter(|cell| cell["metric"] == "duration_s");
    let mut levels: Vec<String> =
        own.map(|cell| cell["configuration"]["revision"].as_str().unwrap().to_owned()).collect();
    levels.sort();
    levels
}

#[test]
fn each_revision_is_built_once_and_measured_and_the_repository_is_as_it_was() {
    let Some(sides) = Sides::new("revisions") else { return };
    // The user's git state: a stash, another worktree, a changed index.
    fs::write(sides.repository.path().join("bench.sh"), "exit 1\n").unwrap();
    sides.repository.git(&["stash"]).unwrap();
    let other = sides.bench.path("other");
    sides.repository.git(&["worktree", "add", "--quiet", "--detach", &other]).unwrap();
    fs::write(sides.repository.path().join("staged"), "x").unwrap();
    sides.repository.git(&["add", "staged"]).unwrap();
    fs::write(sides.repository.path().join("bench.sh"), "exit 2\n").unwrap();
    let before = sides.repository.everything().unwrap();
    let count = sides.bench.path("count");
    let build = format!("cp bench.sh built; echo built >> {count}");
    let line = ["--build", &build, "--command", "sh built", "--json"];
    let words = sides.words("old,main", &line);
    let ran = sides.bench.home.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The work tree has changes, which is reported.
    assert!(ran.stderr.contains("uncommitted changes"), "{}", ran.stderr);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(measured(&found), ["main", "old"]);
    assert_eq!(found["comparisons"][0]["configuration"]["revision"], "main", "{found:#}");
    let workloads = found["workloads"].to_string();
    assert!(sides.ids.iter().all(|id| workloads.contains(id)), "{workloads}");
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2);
    // The second run builds nothing.
    assert_eq!(measured(&sides.bench.home.json(&words)), ["main", "old"]);
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2);
    assert!(sides.repository.everything().unwrap() == before, "the repository was written to");
    assert_eq!(sides.trees().len(), 2);
    sides.bench.home.text(&["remove", "--builds"]);
    assert!(sides.trees().is_empty());
}

#[test]
fn a_tree_that_is_not_dirty_and_a_single_revision_are_no_news() {
    let Some(sides) = Sides::new("revisions-clean") else { return };
    let ran = sides.bench.home.run(&sides.words("old", &["--command", "sh bench.sh", "--json"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for told in ["uncommitted", "the same commit"] {
        assert!(!ran.stderr.contains(told), "{}", ran.stderr);
    }
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(measured(&found), ["old"]);
}

#[test]
fn a_revision_that_does_not_build_ends_it_before_anything_is_run() {
    let Some(sides) = Sides::new("revisions-broken") else { return };
    let before = sides.repository.everything().unwrap();
    let ran = sides.bench.path("ran");
    let line = format!("touch {ran}");
    let build = "grep 0.02 bench.sh || { echo main.c:3: no such thing >&2; exit 7; }";
    let words = sides.words("old,main", &["--build", build, "--command", &line]);
    let told = sides.bench.home.told(3, &words);
    for word in [sides.ids[1].as_str(), "does not build", "exit code 7", "main.c:3: no such thing"]
    {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    // A gate is inconclusive for such a commit.
    for (code, gate) in
        [(5, &["--gate", "5%"][..]), (125, &["--gate", "5%", "--exit-inconclusive", "125"])]
    {
        let told = sides.bench.home.told(code, &[&words, gate].concat());
        assert!(told.contains("does not build"), "{told}");
    }
    assert!(fs::metadata(&ran).is_err() && sides.bench.results().is_empty());
    assert!(sides.repository.everything().unwrap() == before, "the repository was written to");
    // The side that was built is stored.
    assert_eq!(sides.trees().len(), 1);
}

#[test]
fn what_is_no_revision_or_no_repository_is_the_users_mistake() {
    let Some(sides) = Sides::new("revisions-mistakes") else { return };
    let refused = |words: &[&str]| sides.bench.home.refused(2, words);
    let command = ["--command", "true"];
    let told = refused(&sides.words("old,nowhere", &command));
    assert!(told.contains("nowhere is not a commit of"), "{told}");
    let told = refused(&sides.words("old,old", &command));
    assert!(told.contains("--rev old,old"), "{told}");
    let folder = sides.bench.home.scratch.path().to_str().unwrap();
    let told = refused(&["run", folder, "--rev", "old", "--command", "true"]);
    assert!(told.contains("is not in a git repository"), "{told}");
    let told = refused(&sides.words("old", &["--command", "true", "--scratch"]));
    assert!(told.contains("Assay builds revisions"), "{told}");
    let path = sides.repository.path().to_str().unwrap();
    let told = refused(&["run", path, "--command", "true", "--build", "true"]);
    assert!(told.contains("--rev <REV,REV>"), "{told}");
    assert!(sides.trees().is_empty());
}

#[test]
fn a_plan_builds_nothing() {
    let Some(sides) = Sides::new("revisions-plan") else { return };
    let before = sides.repository.everything().unwrap();
    let path = sides.repository.path().to_str().unwrap();
    let words =
        ["plan", path, "--rev", "old,main", "--build", "exit 1", "--command", "sh bench.sh"];
    let plan = sides.bench.home.text(&words);
    assert!(sides.ids.iter().all(|id| plan.contains(id.as_str())), "{plan}");
    assert!(sides.trees().is_empty());
    assert!(sides.repository.everything().unwrap() == before, "the repository was written to");
}

#[test]
fn a_submodule_is_part_of_its_revision() {
    let Some(sides) = Sides::new("revisions-submodule") else { return };
    let inner = Repository::new(&sides.bench.home.scratch.path().join("inner")).unwrap();
    inner.commit("wait.sh", "sleep 0.01\n").unwrap();
    let address = inner.path().to_str().unwrap();
    sides.repository.git(&["submodule", "--quiet", "add", address, "sub"]).unwrap();
    sides.repository.commit("bench.sh", "sh sub/wait.sh\n").unwrap();
    let before = sides.repository.everything().unwrap();
    let found =
        sides.bench.home.json(&sides.words("HEAD", &["--command", "sh bench.sh", "--json"]));
    assert_eq!(measured(&found), ["HEAD"]);
    assert!(sides.repository.everything().unwrap() == before, "the repository was written to");
}

#[test]
fn what_a_killed_build_leaves_is_removed_by_restore() {
    let Some(sides) = Sides::new("revisions-killed") else { return };
    let before = sides.repository.everything().unwrap();
    let started = sides.bench.path("started");
    let build = format!("touch {started}; sleep 5");
    let words = sides.words("old,main", &["--build", &build, "--command", "true"]);
    let mut running = sides.bench.home.assay.start(&words).unwrap();
    running.until(LIMIT, || fs::metadata(&started).is_ok()).unwrap();
    running.signal("KILL").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 137);
    assert_eq!(sides.trees().len(), 1);
    let told = sides.bench.home.text(&["restore"]);
    assert!(told.contains("remove the unfinished tree"), "{told}");
    assert!(sides.trees().is_empty());
    assert!(sides.repository.everything().unwrap() == before, "the repository was written to");
    // The next run is not affected.
    let found = sides.bench.home.json(&sides.words("old", &["--command", "sh bench.sh", "--json"]));
    assert_eq!(measured(&found), ["old"]);
}

#[test]
fn a_study_goes_on_in_the_same_commits_though_the_branch_has_moved() {
    let Some(sides) = Sides::new("revisions-resumed") else { return };
    let words = sides.words("old,main", &["--command", "sh bench.sh; sleep 0.2"]);
    let mut running = sides.bench.home.assay.start(&words).unwrap();
    let has_begun = || {
        let results = sides.bench.home.assay.home().join("results");
        let result = sides.bench.results().first().map(|id| results.join(id).join("trials.jsonl"));
        let text = result.and_then(|path| fs::read_to_string(path).ok());
        text.is_some_and(|text| text.lines().count() >= 2)
    };
    running.until(LIMIT, has_begun).unwrap();
    running.signal("INT").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 130);
    sides.repository.commit("bench.sh", "exit 1\n").unwrap();
    sides.bench.home.text(&["remove", "--builds"]);
    assert!(sides.trees().is_empty());
    let found = sides.bench.home.json(&["resume", "--json", "--quiet"]);
    assert_eq!(measured(&found), ["main", "old"]);
    let workloads = found["workloads"].to_string();
    assert!(sides.ids.iter().all(|id| workloads.contains(id)), "{workloads}");
}

#[test]
fn identical_builds_are_named_and_not_measured() {
    let Some(sides) = Sides::new("revisions-identical") else { return };
    let line = ["--command", "./built", "--gate", "5%", "--build"];
    let same = "printf '#!/bin/sh\nsleep 0.01\n' > built; chmod +x built";
    let ran = sides.bench.home.run(&sides.words("old,main", &[&line[..], &[same]].concat()));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("builds of old and main are identical (./built"), "{ran:?}");
    assert!(sides.bench.results().is_empty());
    let other = "(echo '#!/bin/sh'; cat bench.sh) > built; chmod +x built";
    let words = ["--command", "./built", "--json", "--build", other];
    let found = sides.bench.home.json(&sides.words("old,main", &words));
    assert_eq!(measured(&found), ["main", "old"]);
}
