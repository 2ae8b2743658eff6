//! A quiet device gives no alarm, and what is printed can be read by others.

use std::process::Command;

use crate::findings::of;
use crate::lab::clean::{Spoken, fault};
use crate::lab::process::run;
use crate::lab::volume::{Filesystem, Volume};
use crate::turn::{LIMIT, Need, assay, require, word};

/// `cargo xtask clean-checks` does the same fifty times.
#[test]
fn three_quick_checks_raise_no_alarm() {
    let test = "clean::three_quick_checks_raise_no_alarm";
    let Some(_turn) = require(test, &[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 2048).unwrap();
    let target = word(volume.directory());
    let one = || assay(&volume).run(&["check", &target, "--quick", "--json"], LIMIT).unwrap();
    let spoken: Vec<Spoken> = (0..3).map(|_| Spoken::of(&of(&one()))).collect();
    let lines: Vec<String> = spoken.iter().map(Spoken::line).collect();
    assert_eq!(fault(&spoken), None, "{}", lines.join("\n"));
}

#[test]
fn python_reads_the_document() {
    let test = "clean::python_reads_the_document";
    let needs = [Need::Volume(Filesystem::Ext4), Need::Program("python3")];
    let Some(_turn) = require(test, &needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let target = word(volume.directory());
    let ended = assay(&volume).run(&["check", &target, "--budget", "5s", "--json"], LIMIT).unwrap();
    let file = volume.scratch().path().join("document.json");
    std::fs::write(&file, &ended.stdout).unwrap();
    let read = run(Command::new("python3").args(["-m", "json.tool", &word(&file)]), LIMIT).unwrap();
    assert_eq!(read.code, 0, "{}", read.stderr);
}
