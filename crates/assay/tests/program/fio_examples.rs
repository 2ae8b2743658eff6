//! The examples of fio: each is planned completely or in part, or is refused with its reason. They are read where
//! installed, and are not part of this repository.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::home::Home;
use assay_testkit::needs::skip;
use assay_testkit::process::Ended;

use crate::{DRIVE, home};

/// Variable with their folder, such as that of a clone of fio.
const FOLDER: &str = "ASSAY_FIO_EXAMPLES";
/// Debian's package of them, and its folder.
const PACKAGE: &str = "fio-examples";
const PACKAGED: &str = "usr/share/doc/fio/examples";
/// Minimum number that runs, and the total.
const LEAST: (usize, usize) = (40, 107);
const FORGETFUL: &str = ": a simulated drive stores no data";

/// Returns the folder of the examples; `None` if they are unavailable.
fn folder(scratch: &Path) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(FOLDER) {
        return Some(PathBuf::from(named));
    }
    let installed = Path::new("/").join(PACKAGED);
    if installed.is_dir() {
        return Some(installed);
    }
    // The package contains them even if dpkg excludes files below /usr/share/doc.
    let ends_well = |program: &str, words: &[&str]| {
        let ran = Command::new(program).args(words).current_dir(scratch).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    if !ends_well("apt-get", &["download", PACKAGE]) {
        return None;
    }
    let file = ending_with(scratch, "deb").pop()?;
    let unpacked = ends_well("dpkg-deb", &["-x", &file.display().to_string(), "."]);
    Some(scratch.join(PACKAGED)).filter(|folder| unpacked && folder.is_dir())
}

fn ending_with(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Whole,
    Partly,
    Refused,
}

fn fate(home: &Home, path: &Path) -> Fate {
    let file = path.display().to_string();
    let whole = home.run(&["plan", &file, DRIVE]);
    if is_planned(&whole) {
        return Fate::Whole;
    }
    is_refused_by_name(path, &whole);
    let partly = home.run(&["plan", "--set", "ignore_unsupported=true", &file, DRIVE]);
    if is_planned(&partly) {
        // Messages for ignored options, or for another area size.
        let told = [" ignored: ", "without size=, fio"];
        assert!(told.iter().any(|told| partly.stderr.contains(told)), "{file}: {}", partly.stderr);
        return Fate::Partly;
    }
    is_refused_by_name(path, &partly);
    Fate::Refused
}

/// Returns whether a study was planned, or prevented only by this drive.
fn is_planned(ended: &Ended) -> bool {
    let is_for_devices = ended.code == 3 && ended.stderr.trim_end().ends_with(FORGETFUL);
    ended.code == 0 || is_for_devices
}

/// Checks that each line of a refusal gives the position, and starts with the key or the job there.
fn is_refused_by_name(path: &Path, ended: &Ended) {
    let (file, told) = (path.display().to_string(), &ended.stderr);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{file}: {told}");
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let from = told.find("assay: ").map(|at| &told[at + "assay: ".len()..]).unwrap();
    let mut named = 0;
    for line in from.lines().filter(|line| !line.starts_with("--set ")) {
        let rest = line.strip_prefix(&format!("{file}:"));
        let rest = rest.unwrap_or_else(|| panic!("{file}: {line}"));
        let (number, reason) = rest.split_once(":1: ").unwrap();
        let number: usize = number.parse().unwrap();
        assert!(is_reason_of(reason, text.lines().nth(number - 1).unwrap_or_default()), "{line}");
        named += 1;
    }
    assert!(named > 0, "{file}: {told}");
}

/// Returns whether a reason names the key of its line, the refused job, or what was ignored for all.
fn is_reason_of(reason: &str, line: &str) -> bool {
    let key = reason.split([':', '=']).next().unwrap_or_default();
    let is_key = !key.is_empty() && line.trim_start().to_lowercase().starts_with(key);
    is_key
        || reason.starts_with('[') && reason.contains("]: ")
        || reason.starts_with("Assay does not support any of the jobs: line ")
}

fn is_enough(run: usize, files: usize) -> bool {
    run * LEAST.1 >= files * LEAST.0
}

#[test]
#[ignore = "nightly: 3 s"]
fn forty_of_the_107_examples_run_and_the_others_say_why_not() {
    let home = home("fio-examples");
    let Some(folder) = folder(home.scratch.path()) else {
        return skip(&format!(
            "needs Debian's package {PACKAGE}, installed or from apt-get download, or {FOLDER}"
        ));
    };
    let files = ending_with(&folder, "fio");
    assert!(files.len() >= 50, "{} files in {}", files.len(), folder.display());
    let fates: Vec<Fate> = files.iter().map(|path| fate(&home, path)).collect();
    let count = |wanted: Fate| fates.iter().filter(|fate| **fate == wanted).count();
    let (whole, partly) = (count(Fate::Whole), count(Fate::Partly));
    let sentence =
        format!("of {} examples {whole} are planned whole and {partly} in part", files.len());
    // Bypasses the test harness's capture to show the counts.
    let told = format!("{sentence}, {} are refused\n", count(Fate::Refused));
    let _ = std::io::stderr().write_all(told.as_bytes());
    assert!(is_enough(whole + partly, files.len()), "{sentence}: {files:?} {fates:?}");
}

#[test]
fn fewer_files_need_as_large_a_share() {
    assert!(is_enough(40, 107) && !is_enough(39, 107));
    assert!(is_enough(33, 86) && !is_enough(32, 86));
}

#[test]
fn a_reason_names_what_stands_in_its_line() {
    assert!(is_reason_of("verify: each block is read again", " Verify=md5"));
    assert!(is_reason_of("rw=trim: there are read and write", "rw=trim"));
    assert!(is_reason_of("[a]: its place is another one", "filename=/dev/x"));
    assert!(!is_reason_of("verify: each block is read again", "bs=4k"));
    assert!(!is_reason_of(": nothing", "bs=4k"));
    assert!(!is_reason_of("something is wrong", "bs=4k"));
}
