//! Settings under other programs' work: production processes on a loop device, and the limits of a study.

use std::path::Path;

use assay_testkit::live::{self, PUT_BACK};
use assay_testkit::needs::count;
use assay_testkit::volume::Filesystem;

use crate::turn::{Need, require};

const NEEDS: [Need; 4] = [
    Need::Volume(Filesystem::Ext4),
    Need::Program("fio"),
    Need::Program("addpart"),
    Need::Path("/sys/fs/cgroup/blkio"),
];

fn guide_line() -> &'static str {
    let guide = include_str!("../../../../docs/howto/live.md");
    guide.lines().find_map(|line| line.strip_prefix("sudo ")).unwrap()
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_assay"))
}

#[test]
#[ignore = "nightly: 11 s"]
fn a_study_that_is_killed_under_others_work_is_put_back_by_another_process() {
    let Some(_turn) = require(&NEEDS) else { return };
    let mut lines = Vec::new();
    let longest = live::kill(program(), count(2, 50), 18, |line| lines.push(line.to_owned()));
    let longest = longest.unwrap_or_else(|error| panic!("{error}\n{}", lines.join("\n")));
    println!("everything restored within {} ms", longest.as_millis());
    assert!(longest < PUT_BACK, "{}", lines.join("\n"));
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_study_that_is_asked_to_end_leaves_neither_a_setting_nor_its_watcher() {
    let Some(_turn) = require(&NEEDS) else { return };
    live::asked_to_end(program()).unwrap();
}

#[test]
fn a_drive_that_is_pulled_ends_the_study_and_the_next_of_its_name_is_not_touched() {
    let Some(_turn) = require(&[Need::Program("losetup")]) else { return };
    let (ended, setting) = live::pulled(program(), "80").unwrap();
    assert_eq!((ended.code, setting.as_str()), (3, "80"), "{}", ended.stderr);
    assert!(ended.stderr.contains("was replaced by another device"), "{}", ended.stderr);
    assert!(ended.stderr.contains("assay resume"), "{}", ended.stderr);
}

/// Returns whether a comparison has means of its rows or of its pairs; with fewer than three undisturbed pairs, it has
/// none.
fn has_means(told: &serde_json::Value) -> bool {
    let has_few = told["n"].as_u64().is_some_and(|pairs| pairs < 3);
    has_few || told["means"].is_array() || told["compared_means"].is_array()
}

#[test]
#[ignore = "nightly: 13 s"]
fn without_root_what_can_be_seen_is_seen_and_the_rest_is_absent_with_its_reason() {
    let Some(_turn) = require(&NEEDS) else { return };
    let (found, refused) = live::unprivileged(program()).unwrap();
    let (_, told) = live::verdict(&found, "reads").unwrap();
    assert!(has_means(told), "{told:#}");
    let absent = found["absent"].as_array().unwrap();
    let tail = absent.iter().find(|one| one["metric"] == "block_read_p99_ns").unwrap();
    let reason = tail["reason"].as_str().unwrap();
    assert!(reason.contains("did not record individual requests"), "{reason}");
    assert!(refused.contains("root"), "{refused}");
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: minutes"]
    fn a_level_that_hurts_is_taken_back_and_the_study_goes_on_without_it() {
        let Some(_turn) = require(&NEEDS) else { return };
        live::taken_back(program()).unwrap();
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn a_level_that_hurts_leaves_a_race() {
        let Some(_turn) = require(&NEEDS) else { return };
        live::raced(program()).unwrap();
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn where_the_load_doubles_in_one_level_no_verdict_stands() {
        let Some(_turn) = require(&NEEDS) else { return };
        live::doubled(program()).unwrap();
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn live_runs_in_a_reduced_form() {
        let Some(_turn) = require(&NEEDS) else { return };
        let found = live::preset(program(), guide_line()).unwrap();
        for class in ["reads", "writes", "flushes"] {
            let (_, told) = live::verdict(&found, class).unwrap();
            assert!(has_means(told), "{told:#}");
        }
        let cells = found["measurements"].as_array().unwrap();
        for metric in ["block_read_iops", "block_read_bytes_per_s", "device_read_share"] {
            let own = cells.iter().filter(|cell| cell["metric"] == metric);
            assert!(own.clone().count() == 2, "{metric}");
            assert!(own.into_iter().all(|cell| cell["geometric_mean"].as_f64() > Some(0.0)));
        }
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn a_level_that_holds_readers_back_is_worse_for_reads() {
        let Some(_turn) = require(&NEEDS) else { return };
        live::throttled(program()).unwrap();
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn a_closed_loop_that_becomes_faster_and_busier_is_better() {
        let Some(_turn) = require(&NEEDS) else { return };
        live::closed_loop(program()).unwrap();
    }

    #[test]
    #[ignore = "nightly: minutes"]
    fn of_six_studies_of_identical_levels_at_most_two_find_a_winner() {
        let Some(_turn) = require(&NEEDS) else { return };
        let mut lines = Vec::new();
        let winners = live::identical(program(), 6, |line| lines.push(line.to_owned())).unwrap();
        // The classes share a 5% error: three of six occur in 2 of 1,000 rounds.
        assert!(winners <= 2, "{}", lines.join("\n"));
    }
}
