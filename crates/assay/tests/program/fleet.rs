//! Several hosts: processes of this program on this machine, each with a separate home.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use assay_testkit::fleet::{self, free_address};
use assay_testkit::home::Home;
use assay_testkit::process::{Ended, Running};
use serde_json::Value;

use crate::{DRIVE, home};

const SECRET: &str = "a token of sixteen letters and more";
const LIMIT: Duration = Duration::from_secs(100);
/// Two depths, three replicates.
const STUDY: &str = include_str!("../../../assay-testkit/src/depth.toml");

/// Returns an unused port.
fn address() -> String {
    free_address().unwrap()
}

/// Returns the command of one rank, which a launcher's environment may set.
fn rank(home: &Home, address: &str, more: &[&str]) -> Command {
    let study = home.file("study.toml", STUDY);
    let mut words = vec![
        "run",
        &study,
        DRIVE,
        "--json",
        "--quiet",
        "--coordinator",
        address,
        "--set",
        "hosts.barrier_timeout=2s",
    ];
    words.extend(more);
    let mut command = home.assay.command(&words);
    command.env("ASSAY_COORDINATOR_TOKEN", SECRET);
    for name in ["SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"] {
        command.env_remove(name);
    }
    command
}

/// Returns the same for a rank that `ASSAY_RANK` sets.
fn ranked(home: &Home, address: &str, place: &str, more: &[&str]) -> Command {
    let mut command = rank(home, address, more);
    command.env("ASSAY_RANK", place);
    command
}

fn all(name: &str, ranks: usize, more: &[&str]) -> (Vec<Home>, Vec<Ended>) {
    let address = address();
    let homes: Vec<Home> = (0..ranks).map(|own| home(&format!("{name}-{own}"))).collect();
    let started: Vec<Running> = homes
        .iter()
        .enumerate()
        .map(|(own, home)| {
            let place = format!("{own}/{ranks}");
            Running::start(&mut ranked(home, &address, &place, more)).unwrap()
        })
        .collect();
    let ended = started.into_iter().map(|own| own.end(LIMIT).unwrap()).collect();
    (homes, ended)
}

/// Returns the result directories of a home, oldest first.
fn results(home: &Home) -> Vec<PathBuf> {
    fleet::results(home.assay.home())
}

fn iops(findings: &Value) -> Vec<(Value, Value)> {
    let cells = findings["measurements"].as_array().unwrap().iter();
    let own = cells.filter(|cell| cell["metric"] == "iops");
    own.map(|cell| (cell["configuration"].clone(), cell["geometric_mean"].clone())).collect()
}

#[test]
#[ignore = "nightly: 1 s"]
fn four_ranks_give_one_result() {
    let (homes, ended) = all("fleet-four", 4, &[]);
    for own in &ended {
        assert_eq!(own.code, 0, "{}{}", own.stdout, own.stderr);
    }
    let findings: Value = serde_json::from_str(&ended[0].stdout).unwrap();
    assert!(ended[1..].iter().all(|own| own.stdout.is_empty()), "rank 0 alone shows the result");
    let hosts = &findings["environment"]["hosts"];
    assert_eq!((hosts["started"].as_u64(), hosts["finished"].as_u64()), (Some(4), Some(4)));
    assert_eq!(hosts["rows"].as_array().unwrap().len(), 4);
    let told = findings["comparisons"].as_array().unwrap();
    assert!(told.iter().any(|own| own["verdict"] == "better"), "depth 4 of four servers");
    // Each has a complete result, and rank 0 also the combined one.
    assert_eq!(homes.iter().map(|home| results(home).len()).collect::<Vec<_>>(), [2, 1, 1, 1]);
    let one = homes[1].json(&["show", "--json"]);
    let share = |own: &Value| iops(own)[0].1.as_f64().unwrap();
    let ratio = share(&findings) / share(&one);
    assert!((3.9..4.1).contains(&ratio), "four hosts have {ratio} times what one has");
    let whole = findings.to_string();
    assert!(whole.contains("ran on one machine"), "{}", findings["checks"]);
    for told in [&findings, &one] {
        let asked = told.to_string().contains("advise confirm");
        assert!(!asked, "what would be refused is not asked for: {}", told["advice"]);
    }
    let again = homes[0].json(&["show", "--json"]);
    assert_eq!(again["measurements"], findings["measurements"], "the newest is that of all");
    let page = homes[0].text(&["show"]);
    assert!(page.contains("hosts") && page.contains("rank 3"), "{page}");
    let confirmed = homes[0].refused(3, &["advise", "confirm"]);
    assert!(confirmed.contains("several hosts together"), "{confirmed}");
    let resumed = homes[0].refused(3, &["resume"]);
    assert!(resumed.contains("cannot apply or resume it"), "{resumed}");
}

type Variables = &'static [(&'static str, &'static str)];

#[test]
#[ignore = "nightly: 1 s"]
fn the_environment_of_launchers_tells_the_ranks() {
    let launchers: [(Variables, Variables); 4] = [
        (
            &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")],
            &[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")],
        ),
        (
            &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")],
            &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")],
        ),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], &[("PMI_RANK", "1"), ("PMI_SIZE", "2")]),
        (
            &[("JOB_COMPLETION_INDEX", "0"), ("ASSAY_RANKS", "2")],
            &[("JOB_COMPLETION_INDEX", "1"), ("ASSAY_RANKS", "2")],
        ),
    ];
    for (at, (zero, one)) in launchers.into_iter().enumerate() {
        let address = address();
        let homes = [home(&format!("fleet-by-{at}-0")), home(&format!("fleet-by-{at}-1"))];
        let started: Vec<Running> = homes
            .iter()
            .zip([zero, one])
            .map(|(home, variables)| {
                let mut command = rank(home, &address, &[]);
                command.envs(variables.iter().copied());
                Running::start(&mut command).unwrap()
            })
            .collect();
        let ended: Vec<Ended> = started.into_iter().map(|own| own.end(LIMIT).unwrap()).collect();
        let findings: Value = serde_json::from_str(&ended[0].stdout).unwrap();
        assert_eq!(
            findings["environment"]["hosts"]["finished"], 2,
            "{zero:?}: {}",
            ended[0].stderr
        );
        assert_eq!(ended[1].code, 0, "{}", ended[1].stderr);
    }
}

#[test]
fn what_is_missing_is_told_before_anything_is_begun() {
    let own = home("fleet-missing");
    let address = address();
    let told = |command: &mut Command| {
        let ended = Running::start(command).unwrap().end(LIMIT).unwrap();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        ended.stderr
    };
    let text = told(&mut rank(&own, &address, &[]));
    assert!(text.contains("ASSAY_RANK=2/4"), "{text}");
    let text = told(ranked(&own, &address, "0/2", &[]).env_remove("ASSAY_COORDINATOR_TOKEN"));
    assert!(text.contains("ASSAY_COORDINATOR_TOKEN"), "{text}");
    let text = told(rank(&own, &address, &[]).env("JOB_COMPLETION_INDEX", "1"));
    assert!(text.contains("set ASSAY_RANKS"), "{text}");
    let text = told(&mut ranked(&own, &address, "0/2", &["--watch"]));
    assert!(text.contains("--watch"), "{text}");
    let mut late = ranked(&own, &address, "0/3", &["--set", "hosts.join_timeout=1s"]);
    let ended = Running::start(&mut late).unwrap().end(LIMIT).unwrap();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("missing: rank 1, 2"), "{}", ended.stderr);
    assert!(results(&own).is_empty());
}

/// Returns the same arguments with `plan` instead of `run`, without those for runs only.
fn planning(home: &Home, address: &str, place: &str) -> Command {
    let study = home.file("study.toml", STUDY);
    let words = ["plan", &study, DRIVE, "--json", "--coordinator", address];
    let mut command = home.assay.command(&words);
    command.env("ASSAY_COORDINATOR_TOKEN", SECRET).env("ASSAY_RANK", place);
    command
}

#[test]
fn a_plan_tells_what_each_host_will_do_and_runs_nothing() {
    let at = address();
    let homes: Vec<Home> = (0..3).map(|own| home(&format!("fleet-plan-{own}"))).collect();
    let started: Vec<Running> = homes
        .iter()
        .enumerate()
        .map(|(own, home)| Running::start(&mut planning(home, &at, &format!("{own}/3"))).unwrap())
        .collect();
    let ended: Vec<Ended> = started.into_iter().map(|own| own.end(LIMIT).unwrap()).collect();
    for own in &ended {
        assert_eq!(own.code, 0, "{}{}", own.stdout, own.stderr);
    }
    assert!(ended[1..].iter().all(|own| own.stdout.is_empty()), "rank 0 alone shows it");
    let preview = ended[0].json().unwrap();
    let hosts = preview["hosts"].as_array().unwrap();
    assert_eq!(
        hosts.iter().map(|own| own["rank"].as_u64()).collect::<Vec<_>>(),
        [Some(0), Some(1), Some(2)]
    );
    let does = |own: &Value| own["actions"].to_string().contains("nothing (simulated)");
    assert!(hosts.iter().all(does), "{hosts:?}");
    assert!(homes.iter().all(|home| results(home).is_empty()), "nothing was run");
    // A single host has nothing to combine.
    let study = homes[0].file("study.toml", STUDY);
    assert!(homes[0].json(&["plan", &study, DRIVE, "--json"])["hosts"].is_null());
}

#[test]
fn who_only_plans_is_no_rank_of_a_run() {
    let address = address();
    let homes = ["zero", "one"].map(|name| home(&format!("fleet-plan-{name}")));
    let zero = Running::start(&mut ranked(&homes[0], &address, "0/2", &[])).unwrap();
    let one = Running::start(&mut planning(&homes[1], &address, "1/2")).unwrap();
    for own in [zero, one].map(|own| own.end(LIMIT).unwrap()) {
        assert_eq!(own.code, 3, "{}", own.stderr);
        assert!(own.stderr.contains("only plans the study, and rank 0 runs it"), "{}", own.stderr);
    }
    assert!(results(&homes[0]).is_empty());
}

#[test]
fn another_token_is_turned_away_and_the_token_is_in_no_result() {
    let address = address();
    let homes = ["zero", "one", "two"].map(|name| home(&format!("fleet-token-{name}")));
    let zero = Running::start(&mut ranked(&homes[0], &address, "0/2", &[])).unwrap();
    let mut stranger = ranked(&homes[2], &address, "1/2", &[]);
    stranger.env("ASSAY_COORDINATOR_TOKEN", "another token of sixteen letters");
    let stranger = Running::start(&mut stranger).unwrap().end(LIMIT).unwrap();
    assert_eq!(stranger.code, 3, "{}", stranger.stderr);
    assert!(stranger.stderr.contains("use the same token on all hosts"), "{}", stranger.stderr);
    let one = Running::start(&mut ranked(&homes[1], &address, "1/2", &[])).unwrap();
    let [zero, one] = [zero, one].map(|own| own.end(LIMIT).unwrap());
    assert_eq!((zero.code, one.code), (0, 0), "{}{}", zero.stderr, one.stderr);
    let findings: Value = serde_json::from_str(&zero.stdout).unwrap();
    // On a busy machine, an attempt may be repeated.
    assert!(
        findings["environment"]["hosts"]["rejected"].as_u64() >= Some(1),
        "{}",
        findings["environment"]["hosts"]
    );
    for directory in homes[..2].iter().flat_map(results) {
        let found =
            Command::new("grep").args(["-r", "-F", SECRET]).arg(&directory).output().unwrap();
        assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    }
}
