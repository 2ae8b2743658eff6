//! A device that takes four writes a second: the time limits rule.

use std::time::Duration;

use crate::findings::{self, WRITES, rate};
use crate::lab::slow::SlowLane;
use crate::lab::volume::{Filesystem, Volume};
use crate::turn::{LIMIT, Need, assay, require, skip, word};

fn check_slowly(test: &str, more: &[&str], most: Duration) {
    let Some(_turn) = require(test, &[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let number = volume.device().unwrap().number().unwrap();
    let lane = match SlowLane::new(&number, 4) {
        Ok(lane) => lane,
        Err(reason) => return skip(test, &reason),
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let target = word(volume.directory());
    let words = [&["check", &target, "--json"], more].concat();
    let ended = assay(&volume).through(&through).run(&words, LIMIT).unwrap();
    let document = findings::of(&ended);
    assert!(ended.time < most, "took {:?}", ended.time);
    for name in WRITES.into_iter().filter(|name| name.starts_with("random")) {
        let count = rate(&document, name).map_or(0, |cell| cell["n"].as_u64().unwrap());
        assert!(count > 0, "{name} has no number: {}", document["absent"]);
    }
    let lowered = document["workloads"].as_array().unwrap().iter().any(|workload| {
        workload["name"] == "random-write-q32"
            && workload["depth"].as_u64() < workload["asked_depth"].as_u64()
    });
    assert!(lowered, "the depth was not lowered: {}", document["workloads"]);
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
}

#[test]
fn a_quick_check_of_a_slow_device_ends_within_25_s() {
    let test = "slow_device::a_quick_check_of_a_slow_device_ends_within_25_s";
    check_slowly(test, &["--quick"], Duration::from_secs(25));
}

#[test]
#[ignore = "takes up to 100 s: cargo xtask test --long"]
fn a_check_of_a_slow_device_ends_within_100_s() {
    let test = "slow_device::a_check_of_a_slow_device_ends_within_100_s";
    check_slowly(test, &[], Duration::from_secs(100));
}
