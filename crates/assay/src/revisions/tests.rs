#![allow(clippy::disallowed_methods, reason = "these tests make a repository and look at trees")]

use std::fs;
use std::time::Duration;

use assay_testkit::Scratch;
use assay_testkit::commits::Repository as Lab;
use assay_testkit::needs::{Need, have, skip};

use super::*;
use assay_runner::real::Real;

struct Bench {
    scratch: Scratch,
    lab: Lab,
}

impl Drop for Bench {
    fn drop(&mut self) {
        assay_runner::real::leave();
    }
}

impl Bench {
    /// Returns `None`, with a message, if git cannot be tested.
    fn new(name: &str) -> Option<Self> {
        if !have(&[Need::Program("git")]) {
            return None;
        }
        if std::env::var_os("SUDO_UID").is_some() {
            skip(
                "git would be run by the caller of sudo, who may not look into folders of this test",
            );
            return None;
        }
        let scratch = Scratch::new(name).unwrap();
        let lab = Lab::new(&scratch.path().join("repository")).unwrap();
        Some(Self { scratch, lab })
    }

    fn repository(&self) -> Repository<'static> {
        Repository::open(self.lab.path()).unwrap()
    }

    fn trees(&self, build: Option<&str>) -> Trees<'static> {
        Trees::below(&self.scratch.path().join("home"), &self.repository(), build)
    }

    fn names(&self) -> Vec<String> {
        let home = self.scratch.path().join("home");
        let entries = fs::read_dir(directory(&home)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn a_revision_is_what_git_calls_one_and_what_is_none_is_the_users_mistake() {
    let Some(bench) = Bench::new("revisions-named") else { return };
    let first = bench.lab.commit("file", "1").unwrap();
    let second = bench.lab.commit("file", "2").unwrap();
    bench.lab.git(&["tag", "v1", "HEAD~1"]).unwrap();
    let repository = bench.repository();
    for (rev, id) in [("main", &second), ("HEAD", &second), ("v1", &first), (&first[..9], &first)] {
        assert_eq!(repository.resolve(rev).unwrap().id, *id, "{rev}");
    }
    assert_eq!(repository.resolve("v1").unwrap().subject, "file: 1");
    // Escapes control characters for the terminal.
    bench.lab.commit("file", "\u{1b}[31m3").unwrap();
    let subject = repository.resolve("HEAD").unwrap().subject;
    assert!(subject.contains("[31m3") && !subject.contains('\u{1b}'), "{subject:?}");
    for rev in ["nowhere", "", "--all", "HEAD:file", "main..v1", "a\0b"] {
        let told = repository.resolve(rev).unwrap_err();
        assert!(rev.contains('\0') || matches!(&told, Error::Mistake(_)), "{rev}: {told:?}");
    }
    let told = Repository::open(bench.scratch.path()).unwrap_err();
    assert!(
        matches!(&told, Error::Mistake(text) if text.contains("not in a git repository")),
        "{told:?}"
    );
}

#[test]
fn a_tree_is_built_once_and_the_repository_is_only_read() {
    let Some(bench) = Bench::new("revisions-once") else { return };
    bench.lab.commit("file", "1").unwrap();
    fs::write(bench.lab.path().join("file"), "changed").unwrap();
    bench.lab.git(&["stash"]).unwrap();
    let before = bench.lab.everything().unwrap();
    let count = bench.scratch.path().join("count");
    let build = format!("cp file made && echo built >> {}", count.display());
    let commit = bench.repository().resolve("HEAD").unwrap();
    let built = || {
        let trees = bench.trees(Some(&build));
        let tree = trees.get_or_create(&commit).unwrap();
        // The second request returns the same tree, even while it is in use.
        assert_eq!(trees.get_or_create(&commit).unwrap(), tree);
        (tree.path, fs::read_to_string(&count).unwrap().lines().count())
    };
    let (path, times) = built();
    assert_eq!((fs::read_to_string(path.join("made")).unwrap().as_str(), times), ("1", 1));
    assert_eq!(built(), (path.clone(), 1));
    // A command has changed this tree.
    fs::write(path.join("file"), "another").unwrap();
    assert_eq!(built(), (path.clone(), 2));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "1");
    // Other parts of this process use it, too.
    let kept = bench.trees(Some(&build));
    assert_eq!(kept.get_or_create(&commit).unwrap().path, built().0);
    drop(kept);
    // Another build line gives another tree.
    let other = bench.trees(None).get_or_create(&commit).unwrap();
    assert!(other.path != path && !other.path.join("made").exists());
    assert!(bench.lab.everything().unwrap() == before, "the repository was written to");
}

#[test]
fn a_commit_that_does_not_build_is_told_with_its_last_lines_and_nothing_of_it_stays() {
    let Some(bench) = Bench::new("revisions-broken") else { return };
    let id = bench.lab.commit("file", "1").unwrap();
    let commit = bench.repository().resolve("HEAD").unwrap();
    let build = "seq 1 30; echo far too bad >&2; exit 3";
    let told = bench.trees(Some(build)).get_or_create(&commit).unwrap_err();
    let Error::DoesNotBuild { commit: own, ending, lines, .. } = &told else {
        panic!("{told:?}");
    };
    assert_eq!((own, ending.as_str()), (&commit, "ended with exit code 3"));
    assert_eq!(lines.len(), 20);
    assert_eq!((lines[0].as_str(), lines[19].as_str()), ("12", "far too bad"));
    let text = told.to_string();
    assert!(text.contains(&id) && text.contains("(file: 1)") && text.ends_with("far too bad"));
    assert!(bench.names().is_empty());
    assert!(bench.trees(Some("exit 0")).get_or_create(&commit).is_ok());
}

#[test]
fn changes_that_are_not_committed_are_seen() {
    let Some(bench) = Bench::new("revisions-changed") else { return };
    bench.lab.commit("file", "1").unwrap();
    fs::write(bench.lab.path().join("new"), "of nobody").unwrap();
    assert!(!bench.repository().has_changes().unwrap());
    fs::write(bench.lab.path().join("file"), "two").unwrap();
    assert!(bench.repository().has_changes().unwrap());
}

#[test]
fn submodules_come_from_what_the_user_has_of_them_or_are_refused() {
    let Some(bench) = Bench::new("revisions-submodules") else { return };
    let origin = bench.scratch.path().join("origin");
    Lab::new(&origin).unwrap().commit("inner", "of the submodule").unwrap();
    let address = origin.display().to_string();
    bench.lab.git(&["submodule", "--quiet", "add", "--name", "in", &address, "sub"]).unwrap();
    bench.lab.commit("file", "1").unwrap();
    let commit = bench.repository().resolve("HEAD").unwrap();
    // Their origin no longer exists.
    fs::rename(&origin, bench.scratch.path().join("elsewhere")).unwrap();
    let before = bench.lab.everything().unwrap();
    let tree = bench.trees(None).get_or_create(&commit).unwrap();
    assert_eq!(fs::read_to_string(tree.path.join("sub/inner")).unwrap(), "of the submodule");
    assert!(bench.lab.everything().unwrap() == before, "the repository was written to");
    fs::remove_dir_all(bench.lab.path().join(".git/modules")).unwrap();
    let told = bench.trees(Some("true")).get_or_create(&commit).unwrap_err();
    let is_told = |text: &str| text.contains("cannot fetch submodule sub");
    assert!(matches!(&told, Error::Refused(text) if is_told(text)), "{told:?}");
}

#[test]
fn few_trees_are_kept_and_those_in_use_stay() {
    let Some(bench) = Bench::new("revisions-bound") else { return };
    let ids: Vec<String> =
        (0..11).map(|number| bench.lab.commit("file", &format!("{number}")).unwrap()).collect();
    let repository = bench.repository();
    let commits: Vec<Commit> = ids.iter().map(|id| repository.resolve(id).unwrap()).collect();
    let used = bench.trees(None);
    used.get_or_create(&commits[0]).unwrap();
    for commit in &commits[1..] {
        bench.trees(None).get_or_create(commit).unwrap();
    }
    let there: Vec<bool> = commits.iter().map(|commit| used.has(commit)).collect();
    assert!(there[0] && !there[1] && !there[2], "{there:?}");
    assert!(there[3..].iter().all(|is_there| *is_there), "{there:?}");
}

#[test]
fn what_is_unfinished_is_known_from_what_is_whole() {
    let Some(bench) = Bench::new("revisions-unfinished") else { return };
    bench.lab.commit("file", "1").unwrap();
    let commit = bench.repository().resolve("HEAD").unwrap();
    let trees = bench.trees(None);
    let tree = trees.get_or_create(&commit).unwrap();
    let home = bench.scratch.path().join("home");
    let half = directory(&home).join("0".repeat(32));
    fs::create_dir(&half).unwrap();
    fs::create_dir(directory(&home).join("mine")).unwrap();
    let paths = |all: Vec<StoredTree>| -> Vec<_> { all.into_iter().map(|one| one.path).collect() };
    assert_eq!(paths(incomplete_trees(&Real, &home)), [half]);
    assert_eq!(paths(complete_trees(&Real, &home)), [tree.path]);
    assert_eq!(remove(&Real, &incomplete_trees(&Real, &home)[0]), Removal::Removed);
    assert_eq!(remove(&Real, &complete_trees(&Real, &home)[0]), Removal::InUse);
    drop(trees);
    // A child process of a parallel test holds the lock, too, until it calls exec.
    let is_removed = |_: &u32| {
        std::thread::sleep(Duration::from_millis(20));
        remove(&Real, &complete_trees(&Real, &home)[0]) == Removal::Removed
    };
    assert!((0..100).find(is_removed).is_some());
    assert_eq!(bench.names(), ["mine"]);
}

#[test]
fn identical_builds_are_known_from_different_ones() {
    let Some(bench) = Bench::new("revisions-identical") else { return };
    let ids: Vec<String> = ["1\n", "1\n# a comment\n", "2\n"]
        .map(|text| bench.lab.commit("source", text).unwrap())
        .into();
    bench.lab.commit("data", "7").unwrap();
    bench.lab.commit("run.sh", "cat data").unwrap();
    // A build that removes comments, like a compiler.
    let build = "grep -v '#' source > prog; cp prog notes; date +%N >> notes; chmod +x prog";
    let trees = bench.trees(Some(build));
    let repository = bench.repository();
    let mut all: Vec<CommitTree> = Vec::new();
    for id in ids.iter().map(String::as_str).chain(["HEAD~1", "HEAD"]) {
        all.push(trees.get_or_create(&repository.resolve(id).unwrap()).unwrap());
    }
    let same = |which: [usize; 2], lines: &[&str]| {
        trees.are_identical(&which.map(|at| all[at].clone()), lines).unwrap()
    };
    assert!(same([0, 1], &["./prog 5"]));
    assert!(!same([1, 2], &["./prog 5"]), "the program differs");
    // Files on the lines count as part of the program; so may one that only a shell resolves.
    assert!(same([3, 4], &["./prog data"]));
    assert!(!same([2, 3], &["./prog data"]), "one of them is not there");
    assert!(!same([0, 1], &["./prog 5", "cat source"]), "a line beside it reads another file");
    assert!(!same([0, 1], &["./prog $(ls)"]));
    // A script may read any other file, and a system program is not from the build.
    assert!(!same([3, 4], &["sh run.sh"]) && !same([0, 1], &["cat prog"]));
    assert!(!same([0, 1], &["./notes"]), "no program");
    let unbuilt = bench.trees(None);
    let plain = [0, 1].map(|at| unbuilt.get_or_create(&all[at].commit).unwrap());
    assert!(!unbuilt.are_identical(&plain, &["./prog"]).unwrap());
    assert!(!trees.are_identical(&all[..1], &["./prog"]).unwrap());
}
