//! A device with four writes per second: time limits apply, not amounts.
//!
//! Without them, a check would write for hours. The bounds below are twice the time on a quiet machine, because a busy
//! one starts processes late.

use std::time::Duration;

use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};

use crate::findings::{self, WRITES, rate};
use crate::turn::{LIMIT, Need, assay, has, skip, word};

fn check_slowly(more: &[&str], most: Duration) {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
    let number = volume.device().unwrap().number().unwrap();
    let lane = match SlowLane::new(&number, 4) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
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
            && workload["queue_depth"].as_u64() < workload["requested_queue_depth"].as_u64()
    });
    assert!(lowered, "the depth was not lowered: {}", document["workloads"]);
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
}

#[test]
#[ignore = "nightly: 6 s"]
fn a_quick_check_of_a_slow_device_ends_by_its_time() {
    check_slowly(&["--quick"], Duration::from_secs(50));
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: 100 s"]
    fn a_check_of_a_slow_device_ends_by_its_time() {
        check_slowly(&[], Duration::from_secs(200));
    }
}
