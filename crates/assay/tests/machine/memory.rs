//! Real memory pressure: all kinds of swap under a limit, without leftovers.

use std::path::Path;

use assay_testkit::Scratch;
use assay_testkit::kills::{KillPlan, kill};
use assay_testkit::needs::count;
use assay_testkit::process::Assay;

use crate::turn::{LIMIT, Need, has, require, skip};

const NEEDS: [Need; 2] = [Need::Path("/proc/swaps"), Need::Path("/sys/class/zram-control/hot_add")];

fn has_groups() -> bool {
    let places = ["/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.stat"];
    places.iter().any(|path| Path::new(path).exists())
}

#[test]
#[ignore = "nightly: 15 s"]
fn without_swap_it_is_killed_and_with_zram_it_goes_on() {
    let Some(_turn) = require(&NEEDS) else { return };
    if !has_groups() {
        return skip("no control group limits memory here");
    }
    let scratch = Scratch::on_drive("memory").unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let place = scratch.folder("place", 0o755, None).unwrap();
    let swaps = || std::fs::read_to_string("/proc/swaps").unwrap();
    let before = swaps();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let place_word = place.display().to_string();
    let words = ["run", "small-memory", &place_word, "--set", "swap=none,zram", "--baseline"];
    let more = [
        "swap=zram",
        "--set",
        "memory_limit=32MiB",
        "--quick",
        "--replicates",
        "2",
        "--json",
        "--quiet",
    ];
    // Parallel tests use that drive, too.
    let wait = ["--wait", "2min"];
    let ended = assay.run(&[&words[..], &more[..], &wait].concat(), 2 * LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let found = ended.json().unwrap();
    let cells = found["measurements"].as_array().unwrap();
    let mean = |workload: &str, swap: &str, metric: &str| {
        let own = |cell: &&serde_json::Value| {
            cell["workload"] == workload
                && cell["configuration"]["swap"] == swap
                && cell["metric"] == metric
        };
        cells.iter().find(own).and_then(|cell| cell["median"].as_f64())
    };
    let set = (32_u64 << 20) as f64 * 2.5;
    assert_eq!(mean("250-percent", "none", "oom_killed_share"), Some(1.0));
    assert!(mean("250-percent", "none", "working_set_reached_bytes").unwrap() < 0.5 * set);
    assert_eq!(mean("250-percent", "none", "accesses_per_s"), None);
    assert_eq!(mean("250-percent", "zram", "working_set_reached_bytes"), Some(set));
    assert_eq!(mean("fits", "none", "oom_killed_share"), Some(0.0));
    assert!(!found["answers"].as_array().unwrap().is_empty());
    let sentence = found["summary"].to_string();
    assert!(sentence.contains("ran out of memory"), "{sentence}");
    assert_eq!(swaps(), before);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn killed_at_random_moments_it_is_put_back() {
    if !has(&NEEDS) {
        return;
    }
    if !has_groups() {
        return skip("no control group limits memory here");
    }
    let mut lines = Vec::new();
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let log = &mut |line: &str| lines.push(line.to_owned());
    let kills = kill("memory", KillPlan { program, count: count(3, 50), seed: 20_261_124, log });
    let kills = kills.unwrap_or_else(|left| panic!("{left}\n{}", lines.join("\n")));
    assert!(kills.killed > 0, "{kills:?}");
}

mod in_full {
    use super::*;

    /// Target and swap alternate on zram numbers that the kernel reuses.
    #[test]
    #[ignore = "nightly: minutes"]
    fn killed_on_names_that_are_given_again_it_is_put_back() {
        if !has(&NEEDS) {
            return;
        }
        let mut lines = Vec::new();
        let program = Path::new(env!("CARGO_BIN_EXE_assay"));
        let log = &mut |line: &str| lines.push(line.to_owned());
        let kills = kill("names", KillPlan { program, count: 20, seed: 20_261_125, log });
        let kills = kills.unwrap_or_else(|left| panic!("{left}\n{}", lines.join("\n")));
        assert!(kills.restored > 0, "{kills:?}");
    }
}
