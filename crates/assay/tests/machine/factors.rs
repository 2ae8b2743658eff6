//! Factors on real loop devices take effect, are restored, and survive kills.

use std::path::Path;

use assay_testkit::call;
use assay_testkit::home::Home;
use assay_testkit::kills::{KillPlan, kill};
use assay_testkit::needs::count;
use assay_testkit::volume::Filesystem;

use crate::findings::was_replicated;
use crate::turn::{LIMIT, Need, has, require};

#[test]
fn a_study_killed_at_any_moment_is_put_back_and_loses_no_trial() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    // `cargo xtask kills` runs more suites and kills (docs/data/kills.csv).
    let count = count(4, 20);
    let mut lines = Vec::new();
    let log = &mut |line: &str| lines.push(line.to_owned());
    let kills = kill("settings", KillPlan { program, count, seed: 20_261_120, log });
    let kills = kills.unwrap_or_else(|error| panic!("{error}\n{}", lines.join("\n")));
    assert_eq!(kills.killed + kills.ended, count);
    let has_trials = count < 20 || kills.trials > 0;
    assert!(kills.restored > 0 && has_trials, "{kills:?}\n{}", lines.join("\n"));
}

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Two file systems, two schedulers"
replicates = 2
margin     = "5%"
area       = { size = "32 MiB", offset = "25%", align = "2 MiB" }

[factors]
filesystem = ["ext4", "btrfs", "f2fs"]
scheduler  = ["none", "bfq", "no-such-one"]

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "200 ms", ramp_time = "20 ms" }

[[workload]]
name = "cached-read"
io   = { pattern = "sequential", mix = "read", block_size = "64 KiB", direct = false, runtime = "200 ms" }
"#;

/// Returns leftovers of a run: loop devices over files in the home, mounts there, journals.
fn left(home: &Home) -> Vec<String> {
    let own = home.assay.home().display().to_string();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let loops = call("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"]).unwrap();
    let mut left: Vec<String> = mounts
        .lines()
        .chain(loops.lines())
        .filter(|line| line.contains(&own))
        .map(str::to_owned)
        .collect();
    for folder in ["room", "journal"] {
        let names = std::fs::read_dir(home.assay.home().join(folder)).into_iter().flatten();
        left.extend(names.map(|entry| entry.unwrap().path().display().to_string()));
    }
    left
}

#[test]
#[ignore = "nightly: 6 s"]
fn levels_that_can_be_had_fill_their_cells_and_the_others_say_why() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Btrfs)]) else { return };
    let home = Home::new(env!("CARGO_BIN_EXE_assay"), "factors");
    let study = home.file("study.toml", STUDY);
    let found = home.json(&["run", &study, "--scratch", "--json", "--quiet"]);
    assert_eq!(left(&home), Vec::<String>::new());
    let cells = found["measurements"].as_array().unwrap();
    for filesystem in ["ext4", "btrfs"] {
        for scheduler in ["none", "bfq"] {
            for workload in ["random-write", "cached-read"] {
                let own = cells.iter().find(|cell| {
                    cell["workload"] == workload
                        && cell["configuration"]["filesystem"] == filesystem
                        && cell["configuration"]["scheduler"] == scheduler
                        && cell["metric"] == "iops"
                });
                let own = own.unwrap_or_else(|| panic!("{workload} {filesystem} {scheduler}"));
                was_replicated(own, 2);
            }
        }
    }
    let why = |factor: &str, level: &str| {
        let absent = found["absent"].as_array().unwrap();
        let own = absent.iter().find(|cell| cell["configuration"][factor] == level);
        own.unwrap_or_else(|| panic!("{level} is not told"))["reason"].as_str().unwrap().to_owned()
    };
    assert!(why("filesystem", "f2fs").contains("f2fs"), "{}", why("filesystem", "f2fs"));
    let refused = why("scheduler", "no-such-one");
    assert!(refused.contains("the kernel refused no-such-one"), "{refused}");
    let levels = found["checks"].to_string();
    assert!(levels.contains("recreated each filesystem in every replicate"), "{levels}");
    let targets = found["environment"]["targets"].to_string();
    assert!(targets.contains("ext4") && targets.contains("btrfs"), "{targets}");
}

#[test]
fn an_interrupted_study_puts_the_machine_back_and_goes_on_later() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Btrfs)]) else { return };
    let home = Home::out_of_reach(env!("CARGO_BIN_EXE_assay"), "interrupted");
    let study = home.file("study.toml", STUDY);
    let mut running = home.assay.start(&["run", &study, "--scratch", "--quiet"]).unwrap();
    let results = home.assay.home().join("results");
    let trials = || {
        let bundles = std::fs::read_dir(&results).into_iter().flatten().flatten();
        let texts = bundles.map(|entry| std::fs::read_to_string(entry.path().join("trials.jsonl")));
        texts.flatten().map(|text| text.lines().count()).sum::<usize>()
    };
    running.until(LIMIT, || trials() >= 3).unwrap();
    running.signal("INT").unwrap();
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert_eq!(left(&home), Vec::<String>::new());
    let before = trials();
    let found = home.json(&["resume", "--json", "--quiet"]);
    assert_eq!(left(&home), Vec::<String>::new());
    assert!(trials() > before);
    let cells = found["measurements"].as_array().unwrap();
    cells.iter().filter(|cell| cell["metric"] == "iops").for_each(|cell| was_replicated(cell, 2));
}

/// The kernel silently rounds read-ahead to complete pages.
#[test]
fn a_value_that_the_kernel_rounds_is_told_and_left_out() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let home = Home::new(env!("CARGO_BIN_EXE_assay"), "rounded");
    let text = r#"
format     = "assay-study/1"
title      = "Rounded"
replicates = 1
area       = { size = "32 MiB" }
target     = { loop = "64 MiB" }

[factors]
read_ahead = ["64 KiB", "6 KiB", "128 KiB"]

[[workload]]
name = "cached-read"
io   = { pattern = "sequential", mix = "read", block_size = "64 KiB", direct = false, runtime = "100 ms" }
"#;
    let study = home.file("study.toml", text);
    let found = home.json(&["run", &study, "--json", "--quiet"]);
    assert_eq!(left(&home), Vec::<String>::new());
    let absent = found["absent"].as_array().unwrap();
    let own = absent.iter().find(|cell| cell["configuration"]["read_ahead"] == "6 KiB");
    let reason = own.expect("it is told")["reason"].as_str().unwrap();
    assert!(reason.ends_with("6 requested, the kernel uses 4"), "{reason}");
    let refused = home.refused(3, &["run", &study, "--baseline", "read_ahead=6 KiB", "--quiet"]);
    assert!(refused.contains("the baseline read_ahead=6 KiB is unavailable"), "{refused}");
    assert_eq!(left(&home), Vec::<String>::new());
}
