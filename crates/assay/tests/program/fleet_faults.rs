//! Hosts of a fleet that die or stop at any time: the others end or continue, name the lost host, and retain all
//! finished trials.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use assay_testkit::fleet::{Rank, Ranks, below, below_ms, trials};
use assay_testkit::home::Home;
use assay_testkit::needs::count;
use assay_testkit::process::Ended;
use serde_json::Value;

use crate::{DRIVE, home};

/// Only hanging runs reach it.
const LIMIT: Duration = Duration::from_secs(100);
/// Far more trials than run before a host is lost.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 40
repeat_disturbed = false

[factors]
queue_depth = ["1", "4"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "50 ms" }
"#;
const RANKS: usize = 3;
/// The remaining hosts have ended by then: twice the trial's time plus 2 s, for which others wait twice, plus 10 s.
const ENDS_BY: Duration = Duration::from_secs(16);
/// The same for hosts that complete all trials.
const GOES_ON_BY: Duration = LIMIT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Dies,
    StandsStill,
}

struct Came {
    homes: Vec<Home>,
    ranks: Ranks,
    before: Vec<usize>,
    ended: Vec<Ended>,
}

fn lose(name: &str, lost: usize, fault: Fault, (more, by): (&[&str], Duration)) -> Came {
    let homes: Vec<Home> = (0..RANKS).map(|rank| home(&format!("{name}-{rank}"))).collect();
    let study = PathBuf::from(homes[0].file("study.toml", STUDY));
    let rank = |home: &Home| Rank { assay: home.assay.clone(), target: DRIVE.to_owned() };
    let ranks = Ranks::new(&study, homes.iter().map(rank).collect());
    let began = Instant::now();
    let mut running =
        ranks.start(&[&["--set", "hosts.barrier_timeout=2s"], more].concat()).unwrap();
    let moment = 1 + below(12) as usize;
    running[0].until(LIMIT, || ranks.kept(0) >= moment).unwrap();
    thread::sleep(below_ms(60));
    let before = (0..RANKS).map(|rank| ranks.kept(rank)).collect();
    running[lost].signal(if fault == Fault::Dies { "KILL" } else { "STOP" }).unwrap();
    let gone = running.remove(lost);
    let limit = began.elapsed() + by;
    let mut ended: Vec<Ended> = running
        .into_iter()
        .map(|own| own.end(limit).unwrap_or_else(|why| panic!("{fault:?} after {moment}: {why}")))
        .collect();
    if fault == Fault::StandsStill {
        gone.signal("CONT").unwrap();
    }
    ended.insert(lost, gone.end(began.elapsed() + ENDS_BY).unwrap());
    Came { homes, ranks, before, ended }
}

impl Came {
    /// Checks that no finished trial is lost, nothing is left to restore, and no process remains.
    fn nothing_is_lost_or_left(&self) {
        for (rank, (home, before)) in self.homes.iter().zip(&self.before).enumerate() {
            let after = self.ranks.kept(rank);
            assert!(after >= *before, "of {before} trials {after} are kept");
            let journal = home.assay.home().join("journal");
            assert_eq!(fs::read_dir(journal).into_iter().flatten().count(), 0);
            let own = home.assay.home().display().to_string();
            let is_left = |process: &fs::DirEntry| {
                let environment = fs::read(process.path().join("environ")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains(&own)
            };
            let all = fs::read_dir("/proc").unwrap().flatten();
            assert_eq!(all.filter(is_left).count(), 0, "a process of {own} is left");
        }
    }

    /// Checks that the combined result has all hosts' numbers of every trial finished by all, except the one in which a
    /// rank was lost.
    fn is_in_the_result_of_all(&self) {
        let least = self.before.iter().min().unwrap().saturating_sub(1);
        let whole = self.ranks.whole().unwrap();
        let text = trials(&whole);
        assert!(text.lines().count() >= least, "{text}");
        for line in text.lines().take(least) {
            let record: Value = serde_json::from_str(line).unwrap();
            let hosts = record["together"]["hosts"].as_array();
            assert_eq!(hosts.map(Vec::len), Some(RANKS), "{record}");
        }
        // It is readable like any result, even if rank 0 could not close it.
        let id = whole.file_name().unwrap().to_str().unwrap();
        let shown = self.homes[0].json(&["show", id, "--json"]);
        assert_eq!(
            shown["environment"]["hosts"]["started"], RANKS,
            "{}",
            shown["environment"]["hosts"]
        );
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_rank_that_dies_or_stands_still_ends_the_others_by_name() {
    for round in 0..count(1, 10) {
        for (fault, why) in
            [(Fault::Dies, "): the connection "), (Fault::StandsStill, "): no response within ")]
        {
            let name = format!("fleet-lost-{round}-{fault:?}");
            let came = lose(&name, 2, fault, (&[], ENDS_BY));
            for own in &came.ended[..2] {
                assert_eq!(own.code, 5, "{}{}", own.stdout, own.stderr);
                let told = |words: &str| own.stderr.contains(words);
                assert!(told("rank 2 (") && told(why), "{fault:?}: {}", own.stderr);
            }
            let findings: Value = serde_json::from_str(&came.ended[0].stdout).unwrap();
            assert_eq!(
                findings["environment"]["hosts"]["finished"], 2,
                "{}",
                findings["environment"]["hosts"]
            );
            let told = findings["environment"]["hosts"]["rows"][2]["lost"].as_str().unwrap();
            assert!(told.starts_with("trial "), "{told}");
            if fault == Fault::StandsStill {
                let own = &came.ended[2];
                assert!(own.code == 5 && own.stderr.contains("lost rank 0"), "{}", own.stderr);
            }
            came.nothing_is_lost_or_left();
            came.is_in_the_result_of_all();
        }
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn the_others_go_on_without_one_where_that_is_asked_for() {
    for round in 0..count(1, 10) {
        let name = format!("fleet-on-{round}");
        let came =
            lose(&name, 1, Fault::Dies, (&["--set", "hosts.on_failure=continue"], GOES_ON_BY));
        let findings: Value = serde_json::from_str(&came.ended[0].stdout).unwrap();
        let [zero, _, other] = came.ended.as_slice() else { panic!("three ranks") };
        assert_eq!(zero.code, 5, "{}", zero.stderr);
        // Whether the trial has a number on the other host depends on timing.
        assert!(
            other.code == 0 || other.code == 5 && other.stderr.contains("rank 1 ("),
            "{other:?}"
        );
        assert_eq!(
            findings["environment"]["hosts"]["finished"], 2,
            "{}",
            findings["environment"]["hosts"]
        );
        assert!(findings.to_string().contains("missing-hosts"), "every number says so");
        let path = came.ranks.own(0).unwrap();
        let plan = fs::read_to_string(path.join("plan.json")).unwrap();
        let plan: Value = serde_json::from_str(&plan).unwrap();
        let whole = plan["trials"].as_array().unwrap().len();
        assert_eq!((came.ranks.kept(0), came.ranks.kept(2)), (whole, whole));
        came.nothing_is_lost_or_left();
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn rank_0_that_dies_or_stands_still_ends_all_others() {
    for round in 0..count(1, 10) {
        for (fault, why) in
            [(Fault::Dies, "lost rank 0"), (Fault::StandsStill, "rank 0 sent no message for ")]
        {
            let name = format!("fleet-zero-{round}-{fault:?}");
            let came = lose(&name, 0, fault, (&[], ENDS_BY));
            for own in &came.ended[1..] {
                assert_eq!(own.code, 5, "{}{}", own.stdout, own.stderr);
                assert!(own.stderr.contains(why), "{fault:?}: {}", own.stderr);
            }
            came.nothing_is_lost_or_left();
            came.is_in_the_result_of_all();
        }
    }
}
