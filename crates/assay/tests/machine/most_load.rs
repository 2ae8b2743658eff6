//! How much a device can take that a control group allows so much and no more: the truth is the group's.

mod in_full {
    use std::time::Duration;

    use assay_testkit::slow::SlowLane;
    use assay_testkit::volume::{Filesystem, Volume};
    use serde_json::Value;

    use crate::findings;
    use crate::turn::{Need, assay, has, skip, word};

    /// Reads per second that the group allows.
    const ALLOWED: u32 = 2000;
    /// Above and below that by what a group gives away at the edges of its slices.
    const NEAR: f64 = 0.05;
    const LIMIT: Duration = Duration::from_secs(600);

    #[test]
    #[ignore = "nightly: 180 s"]
    fn the_bracket_holds_what_the_group_allows() {
        if !has(&[Need::Volume(Filesystem::Ext4)]) {
            return;
        }
        let volume = Volume::new(Filesystem::Ext4, 512).unwrap();
        let number = volume.device().unwrap().number().unwrap();
        let lane = match SlowLane::limited(&number, "read_iops_device", ALLOWED) {
            Ok(lane) => lane,
            Err(reason) => return skip(&reason),
        };
        let through = lane.through();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let target = word(volume.directory());
        let words = [
            "run",
            "max-rate",
            "--set",
            "question.slo=p99 < 50ms",
            "--set",
            "runtime=2s",
            "--set",
            "area.size=64MiB",
            "--json",
            "--quiet",
            &target,
        ];
        let ended = assay(&volume).through(&through).run(&words, LIMIT).unwrap();
        let document = findings::of(&ended);
        let load = &document["answers"][0]["max_rate"];
        assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
        let sides = ["max_passing_rate", "min_failing_rate"].map(|side| per_s(&load[side]));
        let allowed = f64::from(ALLOWED);
        let [holds, fails] = sides;
        assert!(holds.is_none_or(|rate| rate <= allowed * (1.0 + NEAR)), "holds above: {load}");
        if findings::processors_taken(&document).is_some() {
            // What waits for a processor answers late at any rate.
            return;
        }
        assert!(fails.is_none_or(|rate| rate >= allowed * (1.0 - NEAR)), "fails below: {load}");
        let [Some(holds), Some(fails)] = sides else { panic!("one side is missing: {load}") };
        assert!(holds < fails && fails / holds < 1.6, "{load}");
        let first = document["summary"][0]["text"].as_str().unwrap();
        assert!(first.starts_with("p99 < 50 ms: passes at"), "{first}");
    }

    fn per_s(side: &Value) -> Option<f64> {
        side.as_str()?.trim_end_matches("/s").parse().ok()
    }
}
