//! Fleets of processes on real devices and links: a failing link, a full disk, and lost hosts while all hosts change
//! settings. Each at a random time.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use assay_testkit::fleet::{Rank, Ranks, below, below_ms, trials};
use assay_testkit::needs::count;
use assay_testkit::process::{Assay, Ended, Running};
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{Done, Scratch, call};
use serde_json::Value;

use crate::turn::{LIMIT, Need, assay, require, word};

const DRIVE: &str = "simulated:fixed,mean=100us,servers=4";
/// The remaining hosts have ended by then: twice the trial's time plus 2 s, for which others wait twice, plus 10 s.
const ENDS_BY: Duration = Duration::from_secs(18);

fn study(factors: &str, time: &str) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"Hosts\"\nreplicates = 40\nrepeat_disturbed = false\narea = {{ size = \
         \"16 MiB\" }}\n\n[factors]\n{factors}\n\n[[workload]]\nname = \"read\"\nio = {{ pattern = \"random\", mix = \
         \"read\", block_size = \"4 KiB\", queue_depth = 2, runtime = \"{time}\" }}\n"
    )
}

fn home(scratch: &Scratch, rank: usize) -> Assay {
    let home = scratch.folder(&format!("home-{rank}"), 0o755, None).unwrap();
    Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home)
}

fn file(scratch: &Scratch, text: &str) -> std::path::PathBuf {
    let path = scratch.path().join("study.toml");
    fs::write(&path, text).unwrap();
    path
}

/// Waits until some trials are stored, and a moment; returns the number of each rank.
fn in_some_trial(ranks: &Ranks, running: &mut [Running]) -> Vec<usize> {
    let moment = 1 + below(8) as usize;
    running[0].until(LIMIT, || ranks.kept(0) >= moment).unwrap();
    thread::sleep(below_ms(300));
    (0..running.len()).map(|rank| ranks.kept(rank)).collect()
}

fn no_trial_is_lost(ranks: &Ranks, before: &[usize]) {
    for (rank, before) in before.iter().enumerate() {
        assert!(ranks.kept(rank) >= *before, "rank {rank} had {before} trials");
    }
}

fn hosts(ended: &Ended) -> Value {
    let findings: Value = serde_json::from_str(&ended.stdout).unwrap();
    findings["environment"]["hosts"].clone()
}

/// Two network namespaces with a link between them, each with a separate host name.
struct Link {
    spaces: [String; 2],
}

/// Runs `ip` with arguments separated by spaces.
fn ip(words: &str) -> Done<()> {
    call("ip", &words.split(' ').collect::<Vec<_>>()).map(drop)
}

/// Reserved for documentation (RFC 5737).
const ADDRESSES: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

impl Link {
    fn new() -> Done<Self> {
        let spaces = ["a", "b"].map(|end| format!("assay-{}-{end}", std::process::id()));
        for space in &spaces {
            ip(&format!("netns add {space}"))?;
        }
        let link = Self { spaces };
        let [a, b] = &link.spaces;
        ip(&format!("-n {a} link add end type veth peer name end netns {b}"))?;
        for (space, address) in link.spaces.iter().zip(ADDRESSES) {
            ip(&format!("-n {space} addr add {address}/24 dev end"))?;
            for name in ["lo", "end"] {
                ip(&format!("-n {space} link set {name} up"))?;
            }
        }
        Ok(link)
    }

    fn cut(&self) {
        ip(&format!("-n {} link set end down", self.spaces[1])).unwrap();
    }

    fn at(&self, end: usize, assay: &Assay) -> Assay {
        let name = format!("echo node-{end} > /proc/sys/kernel/hostname; exec \"$@\"");
        let words =
            ["ip", "netns", "exec", &self.spaces[end], "unshare", "--uts", "sh", "-c", &name, "sh"];
        assay.through(&words)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for space in &self.spaces {
            // This also deletes the link.
            let _ = ip(&format!("netns delete {space}"));
        }
    }
}

fn linked(link: &Link, scratch: &Scratch, time: &str) -> Ranks {
    let rank = |end| Rank { assay: link.at(end, &home(scratch, end)), target: DRIVE.to_owned() };
    let study = study("queue_depth = [1, 2]", time);
    Ranks::new(&file(scratch, &study), vec![rank(0), rank(1)]).at(&format!("{}:7711", ADDRESSES[0]))
}

const LINK: [Need; 2] = [Need::Program("ip"), Need::Program("unshare")];

#[test]
#[ignore = "nightly: 7 s"]
fn a_link_that_goes_down_ends_both_ends_by_name() {
    let Some(_turn) = require(&LINK) else { return };
    for _ in 0..count(1, 10) {
        let (link, scratch) = (Link::new().unwrap(), Scratch::new("fleet-link").unwrap());
        let ranks = linked(&link, &scratch, "50 ms");
        let began = Instant::now();
        let mut running = ranks.start(&["--set", "hosts.barrier_timeout=2s"]).unwrap();
        let before = in_some_trial(&ranks, &mut running);
        link.cut();
        let limit = began.elapsed() + ENDS_BY;
        let ended: Vec<Ended> = running.into_iter().map(|own| own.end(limit).unwrap()).collect();
        let says = |rank: usize, words: &str| {
            let own = &ended[rank];
            assert!(own.code == 5 && own.stderr.contains(words), "{}: {}", own.code, own.stderr);
        };
        says(0, "lost rank 1 (node-1): no response within ");
        says(1, "rank 0 sent no message for ");
        assert_eq!(hosts(&ended[0])["finished"], 1);
        no_trial_is_lost(&ranks, &before);
    }
}

#[test]
#[ignore = "nightly: 7 s"]
fn both_ends_of_a_link_are_in_the_result_by_their_own_names() {
    let Some(_turn) = require(&LINK) else { return };
    let (link, scratch) = (Link::new().unwrap(), Scratch::new("fleet-names").unwrap());
    let ranks = linked(&link, &scratch, "5 ms");
    let running = ranks.start(&["--replicates", "3"]).unwrap();
    let ended: Vec<Ended> = running.into_iter().map(|own| own.end(LIMIT).unwrap()).collect();
    assert!(ended.iter().all(|own| own.code == 0), "{ended:?}");
    let hosts = hosts(&ended[0]);
    let name = |at: usize| hosts["rows"][at]["name"].clone();
    assert!(name(0) == "node-0" && name(1) == "node-1" && hosts["finished"] == 2, "{hosts}");
    assert!(hosts["rows"].as_array().unwrap().iter().all(|row| row["lost"].is_null()), "{hosts}");
}

/// The result contains all hosts' numbers, and the host with the full disk reports its error.
#[test]
#[ignore = "nightly: 3 s"]
fn a_full_disk_on_one_rank_takes_nothing_from_the_result_of_all() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Tmpfs)]) else { return };
    for _ in 0..count(1, 10) {
        let small = Volume::new(Filesystem::Tmpfs, 8).unwrap();
        let scratch = Scratch::new("fleet-full").unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_assay"));
        let rank = |assay: Assay| Rank { assay, target: DRIVE.to_owned() };
        let full = rank(Assay::new(program, small.directory()));
        let own = vec![rank(home(&scratch, 0)), full, rank(home(&scratch, 2))];
        let ranks = Ranks::new(&file(&scratch, &study("queue_depth = [1, 2]", "50 ms")), own);
        let mut running = ranks.start(&["--set", "hosts.barrier_timeout=2s"]).unwrap();
        let before = in_some_trial(&ranks, &mut running);
        // Fills the remaining space.
        let filler = fs::write(small.directory().join("filler"), vec![1; 16 << 20]);
        assert!(filler.is_err(), "the disk is full now");
        let ended: Vec<Ended> = running.into_iter().map(|own| own.end(LIMIT).unwrap()).collect();
        let codes: Vec<i32> = ended.iter().map(|own| own.code).collect();
        assert_eq!(codes, [0, 5, 0], "{}{}", ended[0].stderr, ended[1].stderr);
        assert!(ended[1].stderr.contains("stored only the first"), "{}", ended[1].stderr);
        let whole = trials(&ranks.whole().unwrap());
        let has_all = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["together"]["hosts"].as_array().is_some_and(|hosts| hosts.len() == 3)
        };
        assert!(whole.lines().count() > before[0] && whole.lines().all(has_all));
        assert_eq!(hosts(&ended[0])["finished"], 3);
        no_trial_is_lost(&ranks, &before);
    }
}

const SCHEDULERS: &str = "scheduler = [\"none\", \"mq-deadline\"]";

/// Returns the I/O schedulers of a volume's device, and the active one.
fn scheduler(volume: &Volume) -> String {
    let name = volume.device().unwrap().name().to_owned();
    fs::read_to_string(format!("/sys/block/{name}/queue/scheduler")).unwrap()
}

#[test]
fn settings_are_put_back_on_each_host_whoever_is_lost() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    for round in 0..count(1, 10) {
        for (signal, lost) in [("KILL", 1), ("STOP", 1), ("KILL", 0), ("STOP", 0)] {
            let volumes: Vec<Volume> =
                (0..3).map(|_| Volume::new(Filesystem::Ext4, 128).unwrap()).collect();
            let before: Vec<String> = volumes.iter().map(scheduler).collect();
            let scratch = Scratch::new("fleet-settings").unwrap();
            let rank =
                |volume: &Volume| Rank { assay: assay(volume), target: word(volume.directory()) };
            let own = volumes.iter().map(rank).collect();
            let ranks = Ranks::new(&file(&scratch, &study(SCHEDULERS, "60 ms")), own);
            let began = Instant::now();
            let mut running = ranks.start(&["--set", "hosts.barrier_timeout=2s"]).unwrap();
            let kept = in_some_trial(&ranks, &mut running);
            running[lost].signal(signal).unwrap();
            let gone = running.remove(lost);
            let limit = began.elapsed() + ENDS_BY;
            for own in running {
                let ended = own.end(limit).unwrap_or_else(|why| panic!("{round} {signal}: {why}"));
                let named = format!("rank {lost}");
                assert!(ended.code == 5 && ended.stderr.contains(&named), "{}", ended.stderr);
            }
            let others = (0..3).filter(|rank| *rank != lost);
            for other in others {
                assert_eq!(scheduler(&volumes[other]), before[other], "{signal} of rank {lost}");
            }
            if signal == "STOP" {
                // It notices that it is alone, and restores its settings.
                gone.signal("CONT").unwrap();
                assert_eq!(gone.end(began.elapsed() + ENDS_BY).unwrap().code, 5);
            } else {
                gone.end(LIMIT).unwrap();
                // A killed process cannot: the next command restores, if necessary.
                let restored = assay(&volumes[lost]).run(&["restore"], LIMIT).unwrap();
                assert_eq!(restored.code, 0, "{}", restored.stderr);
            }
            assert_eq!(scheduler(&volumes[lost]), before[lost], "{signal} of rank {lost}");
            no_trial_is_lost(&ranks, &kept);
        }
    }
}
