//! From 100 to 100,000 operations per second, with each engine and arrival process: operations start on time, or the
//! result reports the delay.

use std::fmt::Write;
use std::fs;

use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{cells, of};
use crate::turn::{LIMIT, Need, assay, has, word};

const RATES: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// Share of the scheduled operations that may be late or missing without a message.
const HELD: f64 = 0.005;

fn study(arrivals: &str) -> String {
    let mut text = String::from(
        "format = \"assay-study/1\"\ntitle = \"Pace\"\nreplicates = 1\nwarmup_trial = \"none\"\n\
         repeat_disturbed = false\nprimary_metric = \"response_p50_ns\"\narea = { size = \"32 MiB\" }\n",
    );
    for (name, engine, depth) in [("psync", "psync", 1), ("ring", "io_uring", 64)] {
        for rate in RATES {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "[[workload]]\nname = \"{name}-{rate}\"\nio = {{ pattern = \"random\", mix = \"read\", \
                 block_size = \"4 KiB\", engine = \"{engine}\", queue_depth = {depth}, arrival_rate = \"{rate}/s\", \
                 arrival_process = \"{arrivals}\", runtime = \"1 s\", ramp_time = \"100 ms\" }}"
            );
        }
    }
    text
}

fn is_said(document: &Value, name: &str) -> bool {
    let own = cells(document).iter().filter(|cell| cell["workload"] == name);
    let mut because = own.filter_map(|cell| cell["reasons"].as_array()).flatten();
    because.any(|one| one["rule"] == "late-submission")
}

#[test]
#[ignore = "nightly: 5 s"]
fn what_is_scheduled_is_issued_in_time_at_every_rate_or_it_is_said() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    for arrivals in ["fixed", "poisson"] {
        let volume = Volume::new(Filesystem::Ext4, 128).unwrap();
        let file = volume.scratch().path().join("pace.toml");
        fs::write(&file, study(arrivals)).unwrap();
        let words = ["run", &word(&file), &word(volume.directory()), "--json"];
        let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
        for facts in document["workloads"].as_array().unwrap() {
            let name = facts["name"].as_str().unwrap();
            let rate: f64 = name.rsplit_once('-').unwrap().1.parse().unwrap();
            let count =
                |what: &str| facts["pace"][what].as_f64().unwrap_or_else(|| panic!("{facts}"));
            let [scheduled, issued, late] = ["scheduled", "issued", "late"].map(count);
            // For random arrivals, five standard deviations.
            let most_off = if arrivals == "fixed" { 1.0 } else { 5.0 * rate.sqrt() };
            assert!((scheduled - rate).abs() <= most_off, "{arrivals}: {facts}");
            let is_held = scheduled - issued <= HELD * scheduled && late <= HELD * scheduled;
            assert_eq!(is_said(&document, name), !is_held, "{arrivals}: {facts}");
        }
        assert_eq!(document["workloads"].as_array().unwrap().len(), 2 * RATES.len());
    }
}
