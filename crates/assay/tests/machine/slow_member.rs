//! A mirror with a slow member: its loop device uses a file on a filesystem whose device a control group throttles,
//! which slows it like a failing drive.

use std::fs;

use assay_testkit::process::Assay;
use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Mounted, call};
use serde_json::Value;

use crate::findings;
use crate::turn::{LIMIT, Need, assay, require, skip, word};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "A mirror"
replicates = 4
area       = { size = "16 MiB" }

[[workload]]
name = "write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", queue_depth = 4, runtime = "1 s" }
"#;

/// A btrfs mirror of two loop devices, each using a file on a separate ext4. Dropped in this order.
struct Mirror {
    mounted: Mounted,
    members: [LoopDevice; 2],
    below: [Volume; 2],
}

impl Mirror {
    fn new() -> Self {
        let below = [(); 2].map(|()| Volume::new(Filesystem::Ext4, 256).unwrap());
        let members = below.each_ref().map(|volume| {
            let image = volume.directory().join("member");
            // Unwritten blocks would be allocated during the measurement.
            call("fallocate", &["--length", "192MiB", &word(&image)]).unwrap();
            LoopDevice::over(image).unwrap()
        });
        let [one, other] = members.each_ref().map(LoopDevice::device);
        call("mkfs.btrfs", &["-q", "-f", "-m", "raid1", "-d", "raid1", one, other]).unwrap();
        let point = below[0].scratch().path().join("mirror");
        let mounted = Mounted::new(&["-t", "btrfs", one], &point).unwrap();
        Self { mounted, members, below }
    }

    fn study(&self, assay: &Assay) -> Value {
        let file = self.below[0].scratch().path().join("study.toml");
        fs::write(&file, STUDY).unwrap();
        let words = ["run", &word(&file), &word(self.mounted.point()), "--json"];
        findings::of(&assay.run(&words, LIMIT).unwrap())
    }
}

fn told(document: &Value) -> Vec<String> {
    let cells = document["measurements"].as_array().unwrap();
    let because = cells.iter().filter_map(|cell| cell["reasons"].as_array()).flatten();
    let own = because.filter(|because| because["rule"] == "slow-member");
    own.map(|because| because["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "nightly: 3 s"]
fn the_slow_member_of_a_mirror_is_named_and_none_where_both_are_alike() {
    let needs = [
        Need::Volume(Filesystem::Ext4),
        Need::Volume(Filesystem::Btrfs),
        Need::Program("fallocate"),
    ];
    let Some(_turn) = require(&needs) else { return };
    let mirror = Mirror::new();
    let [_, slow] = &mirror.members;
    let usual = assay(&mirror.below[0]);
    assert_eq!(told(&mirror.study(&usual)), [""; 0], "nobody is accused");

    let number = mirror.below[1].device().unwrap().number().unwrap();
    let lane = match SlowLane::new(&number, 80) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let watch = usual
        .start(&["watch", &word(mirror.mounted.point()), "--duration", "2m", "--json"])
        .unwrap();
    let found = told(&mirror.study(&usual.through(&through)));
    let expected = format!("{} is the slow member of btrfs of ", slow.name());
    assert!(!found.is_empty() && found.iter().all(|text| text.starts_with(&expected)), "{found:?}");

    watch.signal("INT").unwrap();
    let seen = watch.end(LIMIT).unwrap();
    let seen: Value = serde_json::from_str(&seen.stdout).unwrap();
    let slowest = &seen["members"][0]["slowest"];
    assert_eq!(slowest["device"], slow.name(), "{}", seen["members"]);
    // btrfs chooses the copy to read by process ID: a member that was read more often did more, and is then not
    // reported as slow, whatever its latency.
    let times = slowest["ratio"].as_f64().unwrap();
    assert!(slowest["is_slow"] == true || times > 10.0, "{slowest}");
    // Empties the throttled device before removing it, and removes the members before their filesystems.
    drop(lane);
}
