//! The grade `plug` without a power cut: messages, and no false detection. Waits for other tests that measure in
//! memory.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use assay_testkit::home::{Home, LIMIT, WAIT};
use assay_testkit::process::{self, Ended, Running};

use crate::peer::{SECRET, peer};
use crate::{home, turn};

fn study(peer: &str, time: &str) -> String {
    format!(
        "format     = \"assay-study/1\"
title      = \"The plug\"
replicates = 1
warmup_trial    = \"none\"
seed       = 7
area       = {{ size = \"16 MiB\" }}

[[workload]]
name       = \"own\"
durability = {{ method = \"plug\", {peer} runtime = \"{time}\" }}
"
    )
}

/// Returns a home with a study whose acknowledged writes a peer records, and its target directory.
fn plugged(test: &str, address: SocketAddr, time: &str) -> (Home, String, PathBuf) {
    let home = Home::out_of_reach(env!("CARGO_BIN_EXE_assay"), test);
    let file = home.file("study.toml", study(&format!("peer = \"{address}\","), time));
    let target = home.assay.home().with_file_name("target");
    fs::create_dir(&target).unwrap();
    (home, file, target)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn ran(home: &Home, words: &[&str]) -> Ended {
    let mut command = home.assay.command(words);
    command.env("ASSAY_PEER_TOKEN", SECRET);
    process::run(&mut command, LIMIT).unwrap()
}

#[test]
fn who_is_called_and_pulls_nothing_has_no_cut() {
    let beside = home("plug-peer");
    let (peer, _output, address) = peer(&beside);
    let (home, file, target) = plugged("plug-nobody", address, "500 ms");
    let _turn = turn();
    let ended = ran(&home, &["run", &file, target.to_str().unwrap(), "--quiet", WAIT]);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(ended.stderr.contains("assay: pull the plug now"), "{}", ended.stderr);
    assert!(ended.stderr.contains("the power was not cut within"), "{}", ended.stderr);
    assert_eq!(names(&target), [""; 0]);
    peer.signal("INT").unwrap();
    assert_eq!(peer.end(LIMIT).unwrap().code, 0);
}

#[test]
fn a_program_that_was_killed_on_a_machine_that_has_its_power_is_no_cut() {
    let beside = home("plug-peer-killed");
    let (_peer, _output, address) = peer(&beside);
    let (home, file, target) = plugged("plug-killed", address, "5 min");
    let _turn = turn();
    let words = ["run", &file, target.to_str().unwrap(), "--quiet", WAIT];
    let mut command = home.assay.command(&words);
    let mut running = Running::start(command.env("ASSAY_PEER_TOKEN", SECRET)).unwrap();
    let is_written = || {
        let path = names(&target).into_iter().find(|name| name.starts_with(".assay-plug-"));
        let length = path.and_then(|name| fs::metadata(target.join(name)).ok());
        length.is_some_and(|found| found.len() > 1 << 20)
    };
    running.until(LIMIT, is_written).unwrap();
    running.signal("KILL").unwrap();
    running.end(LIMIT).unwrap();
    let plugs = || names(&target).iter().filter(|name| name.starts_with(".assay-plug-")).count();
    assert_eq!(plugs(), 1, "{:?}", names(&target));
    let named = home.text(&["restore"]);
    assert!(named.contains(".assay-plug-") && named.contains(", which assay resume "), "{named}");
    assert_eq!(plugs(), 1);
    let ended = ran(&home, &["resume", "--quiet", WAIT]);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(ended.stderr.contains("same boot ID"), "{}", ended.stderr);
    assert_eq!(names(&target), [""; 0]);
    assert!(!home.text(&["restore"]).contains(".assay-plug-"));

    // A completed study cannot check a file, and is therefore not named for it.
    fs::write(target.join(".assay-plug-0123456789abcdef"), "of another study").unwrap();
    assert!(!home.text(&["restore"]).contains(".assay-plug-"));
}

#[test]
fn a_plug_needs_a_peer_and_a_plan_says_what_one_cut_tells() {
    let home = home("plug-plan");
    let file = home.file("study.toml", study("", "1 s"));
    let told = home.told(3, &["run", &file, "/dev/shm", "--quiet", WAIT]);
    assert!(told.contains("no peer records acknowledged writes"), "{told}");
    let peer = ["--set", "peer=192.168.1.2:7710"];
    let told = home.told(3, &[&["run", &file, "/dev/shm", "--quiet", WAIT], &peer[..]].concat());
    assert!(told.contains("ASSAY_PEER_TOKEN"), "{told}");
    let plan = home.text(&[&["plan", &file, "/dev/shm"], &peer[..]].concat());
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["one manual power cut of this machine", "95% with 1 crash", "192.168.1.2:7710"] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    let ended = home.run(&["plan", &file, "/dev/shm", "--set", "peer=nowhere"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let wrong = study("peer = \"a:1\", writer = \"files\",", "1 s");
    let wrong = home.file("wrong.toml", wrong);
    let ended = home.run(&["plan", &wrong, "/dev/shm"]);
    assert!(
        ended.code == 2 && ended.stderr.contains("method plug requires writer"),
        "{}",
        ended.stderr
    );
}
