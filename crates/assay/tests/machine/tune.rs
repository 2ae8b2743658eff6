//! A real configuration space: a race finds the known best of 48 settings, and everything is restored after kills.

use std::fs;
use std::path::Path;

use assay_testkit::needs::count;
use assay_testkit::process::Assay;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::of;
use crate::turn::{LIMIT, Need, assay, require, word};

const SETTINGS: [&str; 4] = ["scheduler", "read_ahead_kb", "nr_requests", "wbt_lat_usec"];

fn condition(volume: &Volume, assay: &Assay) -> Vec<String> {
    let queue = format!("/sys/block/{}/queue", volume.device().unwrap().name());
    let setting = |name: &&str| {
        let text = fs::read_to_string(Path::new(&queue).join(name)).unwrap_or_default();
        format!("{name} {}", text.trim())
    };
    let journals = fs::read_dir(assay.home().join("journal")).into_iter().flatten().flatten();
    let journals = journals.map(|entry| entry.path().display().to_string());
    SETTINGS.iter().map(setting).chain(volume.names().unwrap()).chain(journals).collect()
}

fn trials(assay: &Assay) -> Vec<Value> {
    let bundles = fs::read_dir(assay.home().join("results")).into_iter().flatten().flatten();
    let texts = bundles.map(|entry| fs::read_to_string(entry.path().join("trials.jsonl")));
    let texts: Vec<String> = texts.flatten().collect();
    // The last line may be incomplete.
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn written(volume: &Volume, study: &str) -> String {
    let path = volume.scratch().path().join("study.toml");
    fs::write(&path, study).unwrap();
    word(&path)
}

const SMALL: &str = r#"
format     = "assay-study/1"
title      = "Killed again and again"
replicates = 6
area       = { size = "16 MiB" }
exclude    = ["scheduler = none and read_ahead > 2 MiB"]
stop       = { indifference_zone = "0.1%" }

[search]
scheduler  = ["current", "none", "mq-deadline"]
read_ahead = ["current", "256 KiB .. 4 MiB in doublings"]

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "20 ms", ramp_time = "1 ms" }
"#;

/// Each kill comes two trials after the last: ten settings have thirty trials before any elimination.
#[test]
fn a_race_that_is_killed_is_put_back_and_gone_on_with_to_its_end() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let assay = assay(&volume);
    let (study, target) = (written(&volume, SMALL), word(volume.directory()));
    let before = condition(&volume, &assay);
    let mut running = assay.start(&["run", &study, &target, "--quiet"]).unwrap();
    for kill in 0..count(2, 10) {
        let kept = trials(&assay).len();
        running.until(LIMIT, || trials(&assay).len() >= kept + 2).unwrap();
        running.signal("KILL").unwrap();
        drop(running.end(LIMIT).unwrap());
        let kept = trials(&assay);
        let restored = assay.run(&["restore"], LIMIT).unwrap();
        assert_eq!(restored.code, 0, "kill {kill}: {}", restored.stderr);
        assert_eq!(condition(&volume, &assay), before, "kill {kill}");
        assert_eq!(trials(&assay), kept, "kill {kill}: a trial was lost");
        running = assay.start(&["resume", "--quiet"]).unwrap();
    }
    let ended = running.end(LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(condition(&volume, &assay), before);
    let document = of(&assay.run(&["show", "--json"], LIMIT).unwrap());
    let race = &document["race"];
    assert!(race["end"].is_string() && race["winner"].is_object(), "{race}");
    // The current setting is the baseline, and invalid combinations are reported.
    assert_eq!(
        race["baseline"]["read_ahead"], document["study"]["factors"][0]["levels"][0],
        "{document}"
    );
    let absent = document["absent"].to_string();
    assert!(
        absent.contains("combinations") && absent.contains("excluded by the study"),
        "{absent}"
    );
}

#[test]
#[ignore = "nightly: 12 s"]
fn what_is_not_there_is_left_out_of_a_space_and_the_plan_says_how_much_it_is() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
    let assay = assay(&volume);
    let before = condition(&volume, &assay);
    let target = word(volume.directory());
    let ended =
        assay.run(&["plan", "tune", &target, "--set", "area.size=32MiB", "--json"], LIMIT).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let plan = ended.json().unwrap();
    let most = plan["trial_count"].as_u64().unwrap();
    let expected = plan["expected"]["trials"].as_u64().unwrap();
    assert!(plan["configurations"].as_u64().unwrap() > 1, "{plan}");
    assert!((1..most).contains(&expected), "{expected} of {most}");
    let level = |name: &str| {
        let arms = plan["trials"].as_array().unwrap();
        arms.iter().find_map(|trial| trial["configuration"][name].as_str()).map(str::to_owned)
    };
    // Each combination is a setting, or is excluded with a reason.
    let absent = plan["absent"].to_string();
    for name in ["scheduler", "read_ahead", "nr_requests", "wbt_latency"] {
        assert!(level(name).is_some() || absent.contains(name), "{name}: {absent}");
    }
    assert_eq!(condition(&volume, &assay), before, "a plan changes nothing");
}

mod in_full {
    use std::time::Duration;

    use assay_testkit::needs::is_crowded;
    use assay_testkit::slow::SlowLane;

    use super::*;
    use crate::turn::skip;

    /// Writes per second that the control group permits at any size: the largest move the most data.
    const ALLOWED: u32 = 400;
    const LONG: Duration = Duration::from_secs(900);
    const SPACE: &str = r#"
format  = "assay-study/1"
title   = "The best of 48"
margin  = "5%"
primary_metric = "bandwidth_bytes_per_s"
area    = { size = "32 MiB" }
stop    = { indifference_zone = "20%" }

[search]
scheduler  = ["none", "mq-deadline"]
read_ahead = "128 KiB .. 512 KiB in doublings"
queue_depth      = "1 .. 2 in doublings"
block_size       = "4 KiB .. 32 KiB in doublings"

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", runtime = "400 ms", ramp_time = "50 ms" }
"#;

    /// The control group limits the number of writes: those of 32 KiB move twice as much as others, and other factors
    /// have no effect.
    #[test]
    #[ignore = "nightly: minutes"]
    fn the_best_of_48_settings_is_found_in_half_of_the_trials_of_a_grid() {
        let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let number = volume.device().unwrap().number().unwrap();
        let lane = match SlowLane::new(&number, ALLOWED) {
            Ok(lane) => lane,
            Err(reason) => return skip(&reason),
        };
        let through = lane.through();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let assay = assay(&volume).through(&through);
        let (study, target) = (written(&volume, SPACE), word(volume.directory()));
        let before = condition(&volume, &assay);
        let ended = assay.run(&["run", &study, &target, "--json", "--quiet"], LONG).unwrap();
        let document = of(&ended);
        let race = &document["race"];
        let arms = race["entries"].as_array().unwrap().len();
        assert_eq!(arms, 48);
        assert_eq!(race["winner"]["block_size"], "32 KiB", "{race}");
        let is_smaller = |runner: &&Value| runner["configuration"]["block_size"] != "32 KiB";
        let stayed = race["entries"].as_array().unwrap().iter().filter(is_smaller);
        let stayed: Vec<&Value> = stayed.filter(|runner| runner["eliminated"].is_null()).collect();
        // The baseline is never eliminated.
        assert!(stayed.len() <= 1, "{stayed:?}");
        // Repeats of disturbed trials do not count.
        let counted = |trial: &&Value| trial["status"] != "warmup" && trial["repeats"].is_null();
        let ran = trials(&assay).iter().filter(counted).count();
        // Three of each, or half, are the minimum: disturbances cost another round.
        assert!(ran <= arms * 6 / 2 || is_crowded(), "{ran} of {}", arms * 6);
        assert_eq!(condition(&volume, &assay), before);
    }
}
