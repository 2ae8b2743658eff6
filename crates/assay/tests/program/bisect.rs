//! The first bad commit of a repository: found, kept, and the repository is only read.

use std::fs;
use std::path::PathBuf;

use assay_base::draws::Draws;
use assay_lab::commits::Repository;
use assay_lab::history::{History as Known, Plan, Work};
use assay_lab::needs::{Need, count, have, is_busy};
use assay_lab::process::Ended;
use assay_stats::normal_quantile;
use serde_json::Value;

use crate::busy;
use crate::commands::Bench;

/// It tells the number of its commit, and a little more or less.
const TELLS: &str =
    "echo \"n = $(( $(head -n 1 number) + $(od -An -N1 -tu1 /dev/urandom) / 32 ))\"";
const READS: &str = "n = ([0-9]+):points:lower";

/// A repository whose commits have numbers.
struct History {
    bench: Bench,
    repository: Repository,
    ids: Vec<String>,
}

impl History {
    /// None where there is no git, which is said.
    fn new(test: &str, numbers: &[&str]) -> Option<Self> {
        if !have(&[Need::Program("git")]) {
            return None;
        }
        let bench = Bench::new(test);
        let repository = Repository::new(&bench.home.scratch.path().join("repository")).unwrap();
        let numbers = numbers.iter().enumerate();
        let commit = |(at, number): (usize, &&str)| {
            repository.commit("number", &format!("{number}\n{at}\n")).unwrap()
        };
        let ids = numbers.map(commit).collect();
        Some(Self { bench, repository, ids })
    }

    /// The words of a search from the first to the last commit.
    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let [good, bad] = [self.ids.first(), self.ids.last()].map(|id| id.unwrap().as_str());
        let repository = self.repository.path().to_str().unwrap();
        let words = ["bisect", good, bad, "--repository", repository, "--quiet", "--json"];
        let measured = ["--command", TELLS, "--reads", READS, "--runs", "1"];
        [&words[..], &measured, more].concat()
    }

    /// The search that is kept.
    fn kept(&self) -> PathBuf {
        let mut kept = fs::read_dir(self.bench.path("home/bisects")).unwrap();
        kept.next().unwrap().unwrap().path()
    }
}

/// How often a search is made at most: where others have the processors a study says nothing, as it should.
const ATTEMPTS: u32 = 3;

/// Whether others, or the host, kept a search from the processors, and it says so: it blames no commit then.
fn is_kept_away(ended: &Ended) -> bool {
    let told = format!("{}{}", ended.stdout, ended.stderr);
    let is_kept_away = busy::says_so(ended.code, &told);
    assert!(!is_kept_away || told_by(ended)["first_bad"].is_null(), "{told}");
    is_kept_away
}

/// The document of a search.
fn told_by(ended: &Ended) -> Value {
    ended.json().unwrap_or_else(|why| panic!("{why}"))
}

/// How a search ends that others did not keep from the processors, or did each time.
fn ended(history: &History, more: &[&str]) -> Ended {
    ended_by(&history.bench, &history.words(more))
}

/// The same of a line.
fn ended_by(bench: &Bench, words: &[&str]) -> Ended {
    let mut ended = bench.home.run(words);
    for _ in 1..ATTEMPTS {
        if !is_kept_away(&ended) {
            break;
        }
        ended = bench.home.run(&[words, &["--afresh"]].concat());
    }
    assert!(!is_kept_away(&ended) || is_busy(), "{}{}", ended.stdout, ended.stderr);
    ended
}

/// What a search tells that finds this commit; none where it was kept from the processors each time.
fn found(history: &History, more: &[&str], first_bad: &str) -> Option<Value> {
    let ended = ended(history, more);
    if is_kept_away(&ended) {
        return None;
    }
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let found = told_by(&ended);
    assert_eq!(found["first_bad"]["id"], first_bad, "{found:#}");
    Some(found)
}

fn fates(found: &Value) -> Vec<(&str, &str)> {
    let steps = found["steps"].as_array().unwrap().iter();
    steps
        .map(|step| (step["commit"]["id"].as_str().unwrap(), step["fate"].as_str().unwrap()))
        .collect()
}

#[test]
#[ignore = "nightly: 4 s"]
fn the_first_bad_commit_is_found_whatever_does_not_build_and_goes_on_where_it_was_left() {
    // The one in the middle, which is looked at first.
    let numbers = ["1000", "1000", "1000", "1000", "broken", "1000", "1100", "1100", "1100"];
    let Some(history) = History::new("bisect", &numbers) else { return };
    let before = history.repository.everything().unwrap();
    let with = ["--gate", "5%", "--build", "! grep broken number"];
    let words = history.words(&with);
    let found = found(&history, &with, &history.ids[6]);
    assert!(history.repository.everything().unwrap() == before, "the repository was written to");
    let Some(found) = found else { return };
    assert_eq!(found["format"], "assay-bisect/1");
    assert_eq!(found["once_more"]["before"]["id"], history.ids[5].as_str());
    assert_eq!(found["once_more"]["step"]["fate"], "bad");
    for (id, fate) in fates(&found) {
        let at = history.ids.iter().position(|own| own == id).unwrap();
        let expected = match at {
            4 => "no-build",
            0..=5 => "good",
            _ => "bad",
        };
        assert_eq!(fate, expected, "{at}: {found:#}");
    }
    assert!(fates(&found).iter().any(|(_, fate)| *fate == "no-build"), "{found:#}");
    // Once more: it is known.
    let results = history.bench.results().len();
    assert_eq!(history.bench.home.json(&words), found);
    assert_eq!(history.bench.results().len(), results);
    // As if it had been ended before its last step.
    let kept = history.kept();
    let mut cut: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    cut["steps"].as_array_mut().unwrap().pop();
    cut.as_object_mut().unwrap().remove("once_more");
    for _ in 0..ATTEMPTS {
        fs::write(&kept, cut.to_string()).unwrap();
        let results = history.bench.results().len();
        let ended = history.bench.home.run(&words);
        let more = history.bench.results().len() - results;
        assert!((1..=2).contains(&more), "{more}");
        if is_kept_away(&ended) {
            continue;
        }
        let again = told_by(&ended);
        assert_eq!((&again["first_bad"], fates(&again)), (&found["first_bad"], fates(&found)));
        break;
    }
}

#[test]
#[ignore = "nightly: 4 s"]
fn without_a_gate_half_of_what_both_ends_differ_by_is_one() {
    let Some(history) = History::new("bisect-half", &["1000", "1000", "1100", "1100"]) else {
        return;
    };
    let Some(found) = found(&history, &[], &history.ids[2]) else { return };
    let allowed = found["allowed"].as_f64().unwrap();
    assert!((0.04..0.06).contains(&allowed), "{allowed}");
    // Pairs that something disturbed do not count.
    let pairs = found["ends"]["replicates"].as_u64().unwrap();
    let fewest = if is_busy() { 3 } else { 10 };
    assert!((fewest..=30).contains(&pairs), "{pairs}");
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_commit_in_which_the_command_fails_is_left_out_and_stays_suspected() {
    let Some(history) = History::new("bisect-fails", &["1000", "1000 +* 1", "1100"]) else {
        return;
    };
    let ended = ended(&history, &["--gate", "5%"]);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    let found = told_by(&ended);
    assert!(found["first_bad"].is_null(), "{found:#}");
    if !is_kept_away(&ended) {
        assert_eq!(fates(&found), [(history.ids[1].as_str(), "no-run")]);
        let summary = found["summary"].as_str().unwrap();
        assert!(summary.contains("could not be judged") && summary.contains(&history.ids[1][..12]));
        assert_eq!(found["once_more"]["before"]["id"], history.ids[0].as_str());
    }
    // Where it fails in both ends there is nothing to look for.
    let words = history.words(&["--gate", "5%", "--cleanup", "exit 1"]);
    assert!(history.bench.home.told(3, &words).contains("exit code 1"));
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_commit_of_a_branch_that_was_merged_is_found_and_compared_with_its_own_parent() {
    let Some(mut history) = History::new("bisect-merge", &["1000"]) else { return };
    let [before, worse, merged] = {
        let repository = &history.repository;
        let git = |words: &[&str]| repository.git(words).unwrap();
        git(&["checkout", "--quiet", "-b", "side"]);
        let before = repository.commit("note", "before\n").unwrap();
        let worse = repository.commit("number", "1100\nside\n").unwrap();
        repository.commit("note", "after\n").unwrap();
        git(&["checkout", "--quiet", "main"]);
        repository.commit("other", "meanwhile\n").unwrap();
        git(&["merge", "--quiet", "--no-edit", "side"]);
        [before, worse, git(&["rev-parse", "HEAD"]).trim().to_owned()]
    };
    history.ids.push(merged);
    let Some(found) = found(&history, &["--gate", "5%"], &worse) else { return };
    assert_eq!(found["once_more"]["before"]["id"], before.as_str());
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_submodule_that_became_worse_is_the_fault_of_the_commit_that_took_it_in() {
    let Some(mut history) = History::new("bisect-submodule", &[]) else { return };
    let inner = Repository::new(&history.bench.home.scratch.path().join("inner")).unwrap();
    inner.commit("number", "1000\n").unwrap();
    let repository = &history.repository;
    let git = |words: &[&str]| repository.git(words).unwrap();
    git(&["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "sub"]);
    let mut ids = vec![repository.commit("note", "0\n").unwrap()];
    for (at, number) in ["1000\nagain\n", "1100\n"].into_iter().enumerate() {
        inner.commit("number", number).unwrap();
        git(&["submodule", "--quiet", "update", "--remote", "sub"]);
        git(&["add", "sub"]);
        ids.push(repository.commit("note", &format!("{}\n", at + 1)).unwrap());
    }
    ids.push(repository.commit("note", "3\n").unwrap());
    let before = repository.everything().unwrap();
    history.ids = ids;
    found(&history, &["--gate", "5%", "--build", "cp sub/number number"], &history.ids[2]);
    assert!(history.repository.everything().unwrap() == before, "the repository was written to");
}

#[test]
#[ignore = "nightly: 2 s"]
fn what_is_not_committed_is_not_measured_and_that_is_said() {
    let Some(history) = History::new("bisect-dirty", &["1000", "1100"]) else { return };
    let changed = history.repository.path().join("number");
    fs::write(&changed, "9000\n").unwrap();
    let before = history.repository.everything().unwrap();
    let mut words = history.words(&["--gate", "5%"]);
    (words[1], words[2]) = ("main~1", "main");
    let told = ended_by(&history.bench, &words);
    assert!(told.stderr.contains("not committed are not measured"), "{}", told.stderr);
    if !is_kept_away(&told) {
        assert_eq!(told.code, 0, "{}", told.stderr);
        let found = told_by(&told);
        assert_eq!(found["first_bad"]["id"], history.ids[1].as_str(), "{found:#}");
        assert!(found["ends"]["loss"].as_f64().unwrap() < 0.2, "{found:#}");
    }
    assert!(history.repository.everything().unwrap() == before, "the repository was written to");
    // It is known now, and nothing is to be said of a tree without changes.
    history.repository.git(&["checkout", "--quiet", "--", "number"]).unwrap();
    let told = history.bench.home.run(&words);
    assert!(!told.stderr.contains("not committed"), "{}", told.stderr);
}

#[test]
#[ignore = "nightly: 6 s"]
fn of_histories_whose_truth_is_known_the_right_commit_is_found() {
    if !have(&[Need::Program("git")]) {
        return;
    }
    let bench = Bench::new("bisect-histories");
    // One of sixteen commits, and another in full; cargo xtask bench-bisect has twenty of 128.
    for (seed, first_bad) in [(1_u64, 5), (2, 12)].into_iter().take(count(1, 2) as usize) {
        let plan = Plan { work: Work::Told, commits: 16, first_bad, step: 0.1, noise: 0.03 };
        let folder = bench.home.scratch.path().join(seed.to_string());
        let mut draws = Draws::new(seed, "a test");
        let deviate = || {
            let share = (draws.below(1 << 20) as f64 + 0.5) / f64::from(1_u32 << 20);
            normal_quantile(share).unwrap()
        };
        let known = Known::new(&folder, plan, deviate).unwrap();
        let [good, bad] = known.ends();
        let repository = known.repository().path().to_str().unwrap();
        let line = known.line();
        let words = ["bisect", good, bad, "--repository", repository, "--command", line.as_str()];
        // Of so short runs nobody says that they waited for a processor.
        let reads = ["--reads", "took ([0-9]+) us:us:lower", "--runs", "4", "--gate", "5%"];
        let ended = ended_by(&bench, &[&words[..], &reads, &["--quiet", "--json"]].concat());
        let found = told_by(&ended);
        if !is_kept_away(&ended) {
            assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
            assert_eq!(found["first_bad"]["id"], known.first_bad(), "{found:#}");
        }
        assert_eq!(
            found["asked"]["options"], "--reads 'took ([0-9]+) us:us:lower' --runs 4",
            "{found:#}"
        );
    }
}

#[test]
fn what_would_vary_something_else_is_not_shown() {
    let home = crate::home("bisect-help");
    let help = home.text(&["bisect", "--help"]);
    for refused in ["--rev", "--name", "--levels", "--env", "again to compare"] {
        assert!(!help.contains(refused), "{refused}: {help}");
    }
    for taken in ["--command <LINE>", "--reads <SPEC>", "--build <LINE>", "--setup <LINE>"] {
        assert!(help.contains(taken), "{taken} is not in {help}");
    }
    // Studies of commands have them.
    assert!(home.text(&["run", "--help"]).contains("--env"));
}

#[test]
fn a_bad_end_that_is_the_first_bad_commit_needs_no_step() {
    let Some(history) = History::new("bisect-adjacent", &["1000", "1100"]) else { return };
    let Some(found) = found(&history, &["--gate", "5%"], &history.ids[1]) else { return };
    assert!(fates(&found).is_empty(), "{found:#}");
    assert_eq!(found["once_more"]["before"]["id"], history.ids[0].as_str());
}

#[test]
fn where_nothing_became_worse_that_is_said_and_no_commit_is_blamed() {
    let Some(history) = History::new("bisect-nothing", &["1000", "1000", "1000"]) else { return };
    let ended = history.bench.home.run(&history.words(&["--gate", "5%"]));
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let summary = found["summary"].as_str().unwrap();
    assert!(summary.starts_with("Nothing to look for: BAD is not surely worse than GOOD"));
    assert!(found["first_bad"].is_null() && found["steps"].as_array().unwrap().is_empty());
    assert!(ended.stderr.contains("Nothing to look for"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_looked_for_is_the_users_mistake() {
    let Some(history) = History::new("bisect-mistakes", &["1000", "1100"]) else { return };
    let repository = history.repository.path().to_str().unwrap();
    let [good, bad] = [history.ids[0].as_str(), history.ids[1].as_str()];
    let told = |ends: [&str; 2], words: &[&str]| {
        let line = [&["bisect", ends[0], ends[1], "--repository", repository][..], words].concat();
        history.bench.home.told(2, &line)
    };
    let one = ["--command", "true"];
    for (ends, words, expected) in [
        ([bad, good], &one[..], "does not come from"),
        ([good, good], &one, "does not come from"),
        ([good, "nowhere"], &one, "nowhere is no commit of"),
        ([good, bad], &[], "--command LINE"),
        ([good, bad], &["--command", "true", "--command", "false"], "--command once"),
        ([good, bad], &["--command", "true", "--env", "A=1,2"], "--env: in assay bisect"),
        ([good, bad], &["--command", "true", "--rev", "a,b"], "--rev: in assay bisect"),
        ([good, bad], &["--command", "true", "--gate", "much"], "--gate: "),
    ] {
        let told = told(ends, words);
        assert!(told.contains(expected), "{expected} is not in {told}");
    }
    assert!(history.bench.results().is_empty());
}
