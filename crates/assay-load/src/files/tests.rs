use std::collections::{BTreeMap, BTreeSet};
use std::fs as real;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;

use assay_testkit::Scratch;

use super::*;

const HOUR_NS: u64 = 3_600_000_000_000;
static GOING: AtomicBool = AtomicBool::new(false);

fn job() -> FileJob {
    FileJob {
        files: 100,
        directories: 7,
        depth: 2,
        size_bytes: 3000,
        pattern: Pattern::Random,
        threads: 3,
        sync: FileSync::EachPhase,
        seed: 5,
    }
}

/// All files below a directory with their bytes, by their path in it.
fn found(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in real::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                all.insert(name, real::read(&path).unwrap());
            }
        }
    }
    all
}

/// Runs `work` in a directory created for it.
fn in_tree(job: &FileJob, work: impl FnOnce(&mut FileTree<'_>, &Path)) {
    let scratch = Scratch::new("files").unwrap();
    let root = real::File::open(scratch.path()).unwrap();
    work(&mut FileTree::make(job, root.as_fd()).unwrap(), scratch.path());
}

#[test]
fn a_tree_goes_through_all_that_is_done_to_it() {
    for sync in [FileSync::None, FileSync::EachPhase, FileSync::EachFile] {
        for (pattern, threads) in [(Pattern::Random, 1), (Pattern::Sequential, 3)] {
            let job = FileJob { pattern, threads, sync, ..job() };
            in_tree(&job, |tree, root| {
                for act in FileAct::ALL {
                    let before = found(root);
                    let done = tree.run(act, HOUR_NS, &GOING).unwrap();
                    assert_eq!((done.act, done.operations, done.left), (act, 100, 0));
                    assert_eq!(done.latency_ns.len(), 100);
                    assert!(done.elapsed_ns >= done.sync_ns, "{done:?}");
                    let moves = matches!(act, FileAct::Create | FileAct::Read);
                    assert_eq!(done.bytes, if moves { 300_000 } else { 0 });
                    let after = found(root);
                    match act {
                        FileAct::Create => assert_eq!(after.len(), 100),
                        FileAct::Stat | FileAct::Read => assert_eq!(after, before),
                        FileAct::Rename => {
                            assert!(before.keys().all(|name| !after.contains_key(name)));
                            let contents = |all: &BTreeMap<String, Vec<u8>>| {
                                all.values().cloned().collect::<BTreeSet<_>>()
                            };
                            assert_eq!(contents(&after), contents(&before));
                            assert_eq!(after.len(), 100);
                        }
                        FileAct::Delete => assert!(after.is_empty()),
                    }
                }
            });
        }
    }
}

#[test]
fn files_lie_as_they_are_asked_for_and_have_contents_of_their_own() {
    in_tree(&job(), |tree, root| {
        tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap();
        let all = found(root);
        let mut by_directory: BTreeMap<&str, u32> = BTreeMap::new();
        for (name, bytes) in &all {
            let (directory, file) = name.rsplit_once('/').unwrap();
            *by_directory.entry(directory).or_default() += 1;
            assert_eq!((directory.split('/').count(), file.len(), bytes.len()), (2, 17, 3000));
        }
        // Seven of the nine directories that three in each of three would be.
        let directories: Vec<&str> = by_directory.keys().copied().collect();
        assert_eq!(directories, ["d0/d0", "d0/d1", "d0/d2", "d1/d0", "d1/d1", "d1/d2", "d2/d0"]);
        assert!(by_directory.values().all(|files| (14..=15).contains(files)), "{by_directory:?}");
        let contents: BTreeSet<&Vec<u8>> = all.values().collect();
        assert_eq!(contents.len(), 100);
    });
}

#[test]
fn the_seed_says_names_and_contents() {
    let made = |seed| {
        let mut all = BTreeMap::new();
        in_tree(&FileJob { seed, ..job() }, |tree, root| {
            tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap();
            all = found(root);
        });
        all
    };
    let first = made(1);
    assert_eq!(first, made(1));
    assert!(made(2).keys().all(|name| !first.contains_key(name)));
}

/// Each thread processes at least one file; the rest of the tree is unchanged.
#[test]
fn the_time_ends_what_is_done_and_what_is_there_goes_on() {
    in_tree(&job(), |tree, root| {
        let made = tree.run(FileAct::Create, 0, &GOING).unwrap();
        assert_eq!((made.operations, made.left), (3, 97));
        assert_eq!(found(root).len(), 3);
        assert_eq!(tree.run(FileAct::Stat, HOUR_NS, &GOING).unwrap().operations, 3);
    });
    in_tree(&job(), |tree, root| {
        tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap();
        assert_eq!(tree.run(FileAct::Rename, 0, &GOING).unwrap().left, 97);
        // Each of them is found by the name that it has now.
        assert_eq!(tree.run(FileAct::Read, HOUR_NS, &GOING).unwrap().operations, 100);
        tree.run(FileAct::Delete, HOUR_NS, &GOING).unwrap();
        assert!(found(root).is_empty());
    });
}

#[test]
fn a_stop_ends_it() {
    let stop = AtomicBool::new(false);
    in_tree(&job(), |tree, _| {
        stop.store(true, Ordering::Relaxed);
        assert_eq!(tree.run(FileAct::Create, HOUR_NS, &stop).unwrap().operations, 3);
    });
}

#[test]
fn what_the_file_system_refuses_is_told_with_the_number_of_the_file() {
    in_tree(&FileJob { threads: 1, ..job() }, |tree, root| {
        tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap();
        let lost = found(root).into_keys().next().unwrap();
        real::remove_file(root.join(lost)).unwrap();
        let error = tree.run(FileAct::Stat, HOUR_NS, &GOING).unwrap_err();
        let LoadError::File { act, file, of, source, room } = error else { panic!("{error}") };
        assert_eq!((act, of, room), (FileAct::Stat, 100, None));
        assert!((1..=100).contains(&file) && source.kind() == io::ErrorKind::NotFound);
    });
    in_tree(&FileJob { threads: 1, ..job() }, |tree, root| {
        tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap();
        real::write(root.join(found(root).keys().next().unwrap()), "short").unwrap();
        let error = tree.run(FileAct::Read, HOUR_NS, &GOING).unwrap_err();
        assert!(error.to_string().contains("read of file"), "{error}");
    });
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let here = real::File::open(".").unwrap();
    for (wrong, told) in [
        (FileJob { files: 0, ..job() }, "number of files"),
        (FileJob { threads: 101, ..job() }, "number of threads; use 1 to 100"),
        (FileJob { directories: 101, ..job() }, "number of directories; use 1 to 100"),
        (FileJob { depth: 0, ..job() }, "depth"),
        (FileJob { size_bytes: u32::MAX, ..job() }, "small file"),
        (FileJob { pattern: Pattern::Spaced, ..job() }, "evenly spaced"),
        (FileJob { pattern: Pattern::Stride, ..job() }, "evenly spaced"),
    ] {
        let error = FileTree::make(&wrong, here.as_fd()).err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn empty_files_are_files() {
    in_tree(&FileJob { size_bytes: 0, ..job() }, |tree, root| {
        assert_eq!(tree.run(FileAct::Create, HOUR_NS, &GOING).unwrap().bytes, 0);
        assert!(found(root).values().all(Vec::is_empty));
        assert_eq!(tree.run(FileAct::Read, HOUR_NS, &GOING).unwrap().operations, 100);
    });
}

#[test]
fn directories_fan_out_as_little_as_they_can() {
    let told = [(1, 1, 1), (100, 1, 100), (100, 2, 10), (101, 2, 11), (1000, 3, 10), (8, 16, 2)];
    for (directories, depth, fan_out) in told {
        assert_eq!(paths::fan_out(directories, depth), fan_out, "{directories} {depth}");
    }
}
