//! Directories to work in: gone afterwards, and told from what others made.

use super::*;
use assay_machine::system::WorkDirectory;

const LEFT: &str = ".assay-files-0123456789abcdef";

fn made(scratch: &Scratch) -> WorkDirectory {
    Real.create_work_directory(&scratch.0).unwrap()
}

/// As a run that was killed leaves it: files below it, and nobody holds the lock of its mark.
fn left_behind(scratch: &Scratch) -> PathBuf {
    let work = made(scratch);
    let path = scratch.join(LEFT);
    std::fs::rename(&work.path, &path).unwrap();
    std::fs::create_dir_all(path.join("d0/d1")).unwrap();
    std::fs::write(path.join("d0/d1/f0"), "x").unwrap();
    unlock(&work.mark);
    path
}

#[test]
fn one_goes_with_all_that_is_in_it_and_what_links_lead_to_stays() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("mine"), "x").unwrap();
    let work = made(&scratch);
    std::fs::create_dir_all(work.path.join("a/b")).unwrap();
    std::fs::write(work.path.join("a/b/c"), "x").unwrap();
    symlink(&scratch.0, work.path.join("a/out")).unwrap();
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty(), "its maker is alive");
    Real.remove_work_directory(&work).unwrap();
    assert_eq!(scratch.names(), ["mine"]);
}

#[test]
fn one_that_was_left_behind_is_found_and_removed() {
    let scratch = Scratch::new();
    let path = left_behind(&scratch);
    let left = Real.leftovers(&scratch.0).unwrap();
    assert_eq!(left.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), [path]);
    Real.remove_leftover(&left[0]).unwrap();
    assert!(scratch.names().is_empty());
}

#[test]
fn one_that_a_living_run_holds_is_not_a_leftover() {
    let scratch = Scratch::new();
    let path = left_behind(&scratch);
    let _held = held_elsewhere(&path.join(".assay"));
    // Its mark names this process, which is alive.
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty());
}

#[test]
fn what_no_run_marked_is_never_removed() {
    let scratch = Scratch::new();
    let path = left_behind(&scratch);
    std::fs::remove_file(path.join(".assay")).unwrap();
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty());
    let left = assay_machine::system::Leftover { path: path.clone(), size_bytes: 0 };
    assert!(Real.remove_leftover(&left).is_err());
    assert!(path.join("d0/d1/f0").is_file());
}

#[test]
fn one_that_was_killed_before_its_mark_is_a_leftover_as_long_as_it_is_empty() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join(LEFT)).unwrap();
    let left = Real.leftovers(&scratch.0).unwrap();
    Real.remove_leftover(&left[0]).unwrap();
    assert!(scratch.names().is_empty());
}
