//! A volume with burst credits: a control group limits a loop device to one rate with credit, and to another without;
//! this test counts the credit.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_testkit::needs::is_busy;
use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{of, processors_taken};
use crate::turn::{LIMIT, Need, assay, require, skip, word};

/// Credit in operations, the rate while credit lasts, and the baseline and refill rate.
const CREDIT: f64 = 24_000.0;
const FIRST: f64 = 1500.0;
const BASE: f64 = 300.0;
const LOOK: Duration = Duration::from_millis(50);

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Burst"
replicates = 1
warmup_trial    = "none"
repeat_disturbed = false
area       = { size = "64 MiB" }

[[workload]]
name  = "burst"
burst = { mix = "write", block_size = "4 KiB", queue_depth = 8, runtime = "150 s" }
"#;

fn written(stat: &Path) -> f64 {
    let text = fs::read_to_string(stat).unwrap();
    text.split_whitespace().nth(4).unwrap().parse().unwrap()
}

/// Counts credit and sets the limit accordingly, until it is stopped.
fn keep_bucket(stat: &Path, limit: &Path, number: &str, stop: &AtomicBool) {
    let set = |rate: f64| fs::write(limit, format!("{number} {rate:.0}")).unwrap();
    let (mut credit, mut full, mut before) = (CREDIT, true, written(stat));
    let mut looked = Instant::now();
    set(FIRST);
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let (now, writes) = (Instant::now(), written(stat));
        let back = BASE * now.duration_since(looked).as_secs_f64();
        credit = (credit + back - (writes - before)).clamp(0.0, CREDIT);
        (looked, before) = (now, writes);
        // Returns to the fast rate only with some credit, to avoid oscillation.
        let wanted = if full { credit > 0.0 } else { credit > FIRST / 4.0 };
        if wanted != full {
            set(if wanted { FIRST } else { BASE });
            full = wanted;
        }
    }
}

fn value(document: &Value, metric: &str) -> Option<f64> {
    let cells = document["measurements"].as_array().unwrap();
    cells.iter().find(|cell| cell["metric"] == metric)?["median"].as_f64()
}

/// Returns whether busy CPUs kept the load far below the first rate.
fn is_kept_from_it(document: &Value) -> bool {
    let are_taken = processors_taken(document).is_some() || is_busy();
    let held = document["burst"][0]["timeline"]["held"]["per_s"]["value"].as_f64();
    are_taken && held.is_some_and(|held| held < 0.85 * FIRST)
}

/// Returns the findings of a burst study, on a device with or without credit.
fn found(has_bucket: bool, time: &str) -> Option<Value> {
    let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
    let device = volume.device().unwrap();
    let number = device.number().unwrap();
    let limit_per_s = FIRST as u32;
    let lane = match SlowLane::limited(&number, "write_iops_device", limit_per_s) {
        Ok(lane) => lane,
        Err(reason) => {
            skip(&reason);
            return None;
        }
    };
    let file = volume.scratch().path().join("burst.toml");
    fs::write(&file, STUDY.replace("150 s", time)).unwrap();
    let stat = Path::new("/sys/dev/block").join(&number).join("stat");
    let limit = lane.limit("write_iops_device");
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let (study, target) = (word(&file), word(volume.directory()));
    let words = ["run", &study, &target, "--json", "--quiet"];
    let stop = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        if has_bucket {
            scope.spawn(|| keep_bucket(&stat, &limit, &number, &stop));
        }
        let ended = assay(&volume).through(&through).run(&words, 2 * LIMIT);
        stop.store(true, Ordering::Relaxed);
        ended
    });
    Some(of(&ended.unwrap()))
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: minutes"]
    fn size_base_and_refill_of_a_bucket_are_found() {
        let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
        let Some(document) = found(true, "150 s") else { return };
        if is_kept_from_it(&document) {
            // A load below the first rate uses up no credit, and the result must say so.
            assert_eq!(value(&document, "burst_credits"), None, "{}", document["burst"]);
            return;
        }
        for (metric, wanted) in [
            ("burst_credits", CREDIT),
            ("burst_baseline_iops", BASE),
            ("burst_refill_iops", BASE),
            ("burst_duration_s", CREDIT / (FIRST - BASE)),
        ] {
            let told = value(&document, metric);
            let near = told.is_some_and(|told| (told / wanted - 1.0).abs() <= 0.15);
            assert!(near, "{metric}: {told:?} of {wanted}: {}", document["burst"]);
        }
        let text = document["burst"][0]["text"].as_str().unwrap();
        assert!(text.contains("Idle time refills"), "{text}");
    }

    #[test]
    #[ignore = "nightly: a minute"]
    fn a_device_with_one_rate_has_no_bucket() {
        let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
        let Some(document) = found(false, "60 s") else { return };
        assert_eq!(value(&document, "burst_duration_s"), None, "{}", document["burst"]);
        let first = value(&document, "burst_iops").unwrap();
        assert!((first / FIRST - 1.0).abs() <= 0.15, "{first}");
        let text = document["burst"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("the burst credits did not run out."), "{text}");
    }
}
