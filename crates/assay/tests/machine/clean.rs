//! A quiet device raises no alarm, and other programs can read the output.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assay_testkit::Scratch;
use assay_testkit::clean::{Spoken, fault};
use assay_testkit::needs::count;
use assay_testkit::process::{Assay, NOBODY, run};
use assay_testkit::volume::{Filesystem, Volume};

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, require, word};

/// Time limit that `--quick` promises.
const QUICK: Duration = Duration::from_secs(25);

/// The rows of docs/data/clean-checks.csv are the lines of 50 checks.
#[test]
#[ignore = "nightly: 5 s"]
fn quick_checks_raise_no_alarm() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 2048).unwrap();
    let target = word(volume.directory());
    let one = || {
        let ended = assay(&volume).run(&["check", &target, "--quick", "--json"], LIMIT).unwrap();
        assert!(ended.time < QUICK, "took {:?}", ended.time);
        Spoken::of(&of(&ended))
    };
    let spoken: Vec<Spoken> = (0..count(1, 50)).map(|_| one()).collect();
    let lines: Vec<String> = spoken.iter().map(Spoken::line).collect();
    println!("{}", lines.join("\n"));
    // A check with busy CPUs is not clean.
    let alone = |spoken: &Spoken| !spoken.suspect.contains_key("cpu-starved");
    let clean: Vec<Spoken> = spoken.into_iter().filter(alone).collect();
    assert!(clean.is_empty() || fault(&clean).is_none(), "{}", lines.join("\n"));
}

#[test]
#[ignore = "nightly: 8 s"]
fn python_reads_the_document() {
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("python3")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let target = word(volume.directory());
    let ended = assay(&volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let file = volume.scratch().path().join("document.json");
    fs::write(&file, &ended.stdout).unwrap();
    let read = run(Command::new("python3").args(["-m", "json.tool", &word(&file)]), LIMIT).unwrap();
    assert_eq!(read.code, 0, "{}", read.stderr);
}

fn of_others(directory: &Path, user: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().uid() != user {
            found.push(word(&path));
        }
        if path.is_dir() {
            found.extend(of_others(&path, user));
        }
    }
    found
}

#[test]
fn under_sudo_results_belong_to_the_caller() {
    let Some(_turn) = require(&[]) else {
        return;
    };
    let scratch = Scratch::new("sudo").unwrap();
    let home = scratch.folder("home", 0o755, Some(NOBODY)).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let mut command = assay.command(&["check", "simulated:fixed,mean=100us", "--quick", "--json"]);
    command.env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
    of(&run(&mut command, LIMIT).unwrap());
    assert_eq!(of_others(&home, NOBODY), Vec::<String>::new());
    assert!(home.read_dir().unwrap().next().is_some(), "no result was kept");
}
