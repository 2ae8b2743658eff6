//! Starvation by a busy writer: the bundled study on real volumes, with separate verdicts for reads and writes.

use std::fs;

use assay_testkit::slow::SlowLane;
use assay_testkit::volume::{Filesystem, Volume};
use serde_json::Value;

use crate::findings::{of, processors_taken};
use crate::turn::{LIMIT, Need, assay, require, skip, word};

const SHIPPED: &str = include_str!("../../../../studies/starvation.toml");
const READS: &str = "reads-during-writes, reads";
const WRITES: &str = "reads-during-writes, writes";

fn study(volume: &Volume, factors: &str) -> String {
    let text = SHIPPED
        .replace("512 MiB", "96 MiB")
        // A slow volume completes few of them in the time.
        .replace("block_size = \"8 MiB\"", "block_size = \"4 MiB\"")
        .replace(
            "runtime = \"10 s\", ramp_time = \"1 s\"",
            "runtime = \"400 ms\", ramp_time = \"100 ms\"",
        )
        .replace("wbt_latency = [\"2 ms\", \"off\"]", factors)
        .replace("replicates = 6", "replicates = 5\nrepeat_disturbed = false")
        .replace("preset     = \"starvation\"\n", "");
    let path = volume.scratch().path().join("starvation.toml");
    fs::write(&path, text).unwrap();
    word(&path)
}

fn class<'a>(document: &'a Value, workload: &str) -> &'a Value {
    let all = document["comparisons"].as_array().unwrap();
    let own = |one: &&Value| one["workload"] == workload && one["primary"] == true;
    all.iter().find(own).unwrap_or_else(|| {
        panic!("{workload}: {:#?} {:#?}", document["absent"], document["summary"])
    })
}

fn sentences(document: &Value) -> Vec<&str> {
    let all = document["summary"].as_array().unwrap().iter();
    all.filter_map(|own| own["text"].as_str()).collect()
}

#[test]
#[ignore = "nightly: 6 s"]
fn writes_that_are_throttled_are_found_worse_and_said_to_lose() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let fast = Volume::new(Filesystem::Ext4, 256).unwrap();
    let slow = Volume::new(Filesystem::Ext4, 256).unwrap();
    let number = slow.device().unwrap().number().unwrap();
    let lane = match SlowLane::limited(&number, "write_iops_device", 60) {
        Ok(lane) => lane,
        Err(reason) => return skip(&reason),
    };
    let through = lane.through();
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    let [quick, throttled] = [&fast, &slow].map(|volume| word(volume.directory()));
    let file = study(&fast, "aa_copy = [\"one\"]");
    let words = ["run", &file, &quick, &throttled, "--json", "--quiet"];
    let document = of(&assay(&fast).through(&through).run(&words, LIMIT).unwrap());
    let writes = class(&document, WRITES);
    let cells = document["measurements"].as_array().unwrap().iter();
    let because: Vec<&Value> = cells.map(|cell| &cell["reasons"]).collect();
    if processors_taken(&document).is_some() && writes["verdict"] != "worse" {
        // Suspect numbers must give no verdict.
        assert_eq!(writes["verdict"], "inconclusive", "{because:?} {writes:#}");
        return;
    }
    assert_eq!(writes["verdict"], "worse", "{because:?} {writes:#}");
    assert!(writes["ratio"].as_f64().unwrap() > 2.0, "{writes:#}");
    assert!(class(&document, READS)["verdict"].is_string());
    let told = sentences(&document);
    let lost = told.iter().find(|text| text.contains("writes regressed")).expect("it is said");
    assert!(lost.contains(&format!("{throttled} against {quick}")), "{lost}");
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: minutes"]
    fn of_eight_studies_of_identical_levels_at_most_two_find_a_winner() {
        let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let file = study(&volume, "aa_copy = [\"a\", \"b\"]");
        let mut found = Vec::new();
        for seed in 1..=8 {
            let (target, seed) = (word(volume.directory()), seed.to_string());
            let words = ["run", &file, &target, "--seed", &seed, "--json", "--quiet"];
            let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
            let told = [READS, WRITES].map(|name| class(&document, name)["verdict"].clone());
            if told.iter().any(|verdict| verdict == "better" || verdict == "worse") {
                found.push((seed, told));
            }
        }
        // The classes share a 5% error: three of eight occur in 6 of 1,000 rounds.
        assert!(found.len() <= 2, "{found:#?}");
    }
}
