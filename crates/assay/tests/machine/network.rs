//! Links in the laboratory's network namespaces: bufferbloat and its mitigation, without leftovers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_testkit::needs::is_pressed;
use assay_testkit::process::Assay;
use assay_testkit::{Scratch, call};
use serde_json::Value;

use crate::presets;
use crate::turn::{LIMIT, Need, require, skip};

const NEEDS: [Need; 2] = [Need::Program("ip"), Need::Program("tc")];

/// Runs of a study whose probe may be late.
const TRIES: usize = 5;

struct Place {
    assay: Assay,
    scratch: Scratch,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::new("network").unwrap();
        let home = scratch.folder("home", 0o755, None).unwrap();
        Self { assay: Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home), scratch }
    }

    fn study(&self, factor: &str, more: &str) -> PathBuf {
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"A link\"\nreplicates = 1\nwarmup_trial = \"none\"\naa_control = false\n\
             [factors]\n{factor}\n[[workload]]\nname = \"link\"\nnetwork = {{ peer = \"local\", interface = \
             \"to-router\", phases = [\"idle\", \"up\"], phase_time = \"2500 ms\", probe_interval = \"10 ms\"{more} }}\n"
        );
        let path = self.scratch.path().join("study.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a study repeatedly while its probe reports that busy CPUs delayed it. Returns `None` if every attempt was
    /// late.
    fn run(&self, factor: &str, more: &str) -> Option<Value> {
        let path = self.study(factor, more);
        let words = ["run", path.to_str().unwrap(), "--json", "--quiet"];
        for _ in 0..TRIES {
            let ended = self.assay.run(&words, LIMIT).unwrap();
            let stalled = ended.stdout.contains("the probe stalled");
            assert!(ended.code == 0 || stalled, "{}{}", ended.stderr, ended.stdout);
            if ended.code == 0 {
                return Some(ended.json().unwrap());
            }
        }
        assert!(is_pressed(), "the probe stalled {TRIES} times");
        None
    }

    /// Runs a study until the added latency is as expected. With busy CPUs, packets wait as long as in a queue, and
    /// this may never happen.
    fn shows(
        &self,
        factors: &str,
        added: impl Fn(&Value) -> [f64; 3],
        is_so: impl Fn([f64; 3]) -> bool,
    ) {
        for _ in 0..TRIES {
            let Some(found) = self.run(factors, "") else { return };
            let added = added(&found);
            if is_so(added) {
                return;
            }
            assert!(is_pressed(), "{added:?} ns");
        }
    }
}

fn value(found: &Value, metric: &str, arm: &[(&str, &str)]) -> f64 {
    let cells = found["measurements"].as_array().unwrap();
    let is_of =
        |cell: &&Value| arm.iter().all(|(factor, level)| cell["configuration"][factor] == *level);
    let own = cells.iter().filter(is_of).find(|cell| cell["metric"] == metric);
    own.and_then(|cell| cell["geometric_mean"].as_f64())
        .unwrap_or_else(|| panic!("{metric} of {arm:?} is not there: {}", found["absent"]))
}

fn condition() -> String {
    call("ip", &["netns", "list"]).unwrap() + &call("tc", &["qdisc", "show"]).unwrap()
}

#[test]
#[ignore = "nightly: 13 s"]
fn a_short_queue_cures_a_deep_one_and_the_rate_alone_does_not() {
    let Some(_turn) = require(&NEEDS) else { return };
    let (place, before) = (Place::new(), condition());
    let levels = ["none", "tbf:80%", "deep:80%"];
    place.shows(
        "shaper = [\"none\", \"tbf:80%\", \"deep:80%\"]",
        |found| levels.map(|level| value(found, "up_added_ns", &[("shaper", level)])),
        |[none, short, deep]| none > 5.0 * short && deep > 5.0 * short,
    );
    assert_eq!(condition(), before);
}

#[test]
#[ignore = "nightly: 12 s"]
fn a_packet_of_the_laboratory_is_one_segment_and_it_goes_when_it_is_interrupted() {
    let Some(_turn) = require(&NEEDS) else { return };
    let (place, before) = (Place::new(), condition());
    let path = place.study("streams = [16]", "");
    let mut running = place.assay.start(&["run", path.to_str().unwrap(), "--quiet"]).unwrap();
    let until = Instant::now() + LIMIT;
    let shown = loop {
        let shown = call("ip", &["-n", "assay-client", "-d", "link", "show", "dev", "to-router"]);
        if let Ok(shown) = shown
            && shown.contains("state UP")
        {
            break shown;
        }
        assert!(Instant::now() < until && !running.has_ended(), "no laboratory was made");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(shown.contains("gso_max_segs 1 "), "{shown}");
    running.signal("INT").unwrap();
    running.end(LIMIT).unwrap();
    assert_eq!(condition(), before);
}

#[test]
fn without_a_peer_an_interface_or_rights_it_says_what_to_do() {
    let Some(_turn) = require(&NEEDS) else { return };
    let place = Place::new();
    let told = |words: &[&str], code: i32, what: &str| {
        let ended = place.assay.run(words, LIMIT).unwrap();
        assert_eq!(ended.code, code, "{words:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(what) && ended.stderr.lines().count() == 1,
            "{}",
            ended.stderr
        );
    };
    told(&["run", "bufferbloat", "--quiet"], 2, "start `assay peer");
    let nobody = ["run", "bufferbloat", "--quiet", "--set", "peer=127.0.0.1:9", "--set"];
    told(&[&nobody[..], &["interface=lo"]].concat(), 3, "ASSAY_PEER_TOKEN");
    told(&[&nobody[..], &["interface=no-such0"]].concat(), 3, "no such interface");
}

mod in_full {
    use super::*;

    const ARMS: [(u32, &str); 3] = [(16, "cubic"), (1, "cubic"), (1, "bbr")];

    #[test]
    #[ignore = "nightly: minutes"]
    fn its_shipped_study_has_all_its_numbers() {
        presets::runs("bufferbloat", &["--set", "shaper=none,deep:80%,80%"]);
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn one_stream_and_a_congestion_control_that_keeps_queues_short_hide_the_buffer() {
        let Some(_turn) = require(&NEEDS) else { return };
        let known =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
        if !known.split_whitespace().any(|name| name == "bbr") {
            return skip("this kernel has no BBR");
        }
        let arms = ARMS.map(|(streams, name)| {
            format!("[[configurations]]\nstreams = {streams}\ncongestion_control = \"{name}\"\n")
        });
        let factors = "streams = [1, 16]\ncongestion_control = [\"cubic\", \"bbr\"]\n".to_owned();
        let added = |found: &Value| {
            ARMS.map(|(streams, name)| {
                let streams = streams.to_string();
                value(found, "up_added_ns", &[("streams", &streams), ("congestion_control", name)])
            })
        };
        Place::new().shows(&(factors + &arms.concat()), added, |[many, one, short]| {
            many > 1.5 * one && one > 1.5 * short
        });
    }
}
