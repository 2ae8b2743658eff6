use std::collections::BTreeMap;

use assay_machine::system::Fake;

use super::*;
use crate::workload::DeclaredKeys as _;
use crate::{Measured, PlannedWork, testing};

fn planned() -> FilesPlan {
    FilesSpec::default().planned()
}

/// A tree that went through its phases at these nanoseconds a file.
fn measured(each_ns: [u64; 5]) -> Measured {
    let phase = |(act, ns): (FileAct, u64)| FilePhase {
        act,
        operations: 100,
        bytes: 0,
        elapsed_ns: 100 * ns,
        sync_ns: 0,
        left: 0,
    };
    let phases = FileAct::ALL.into_iter().zip(each_ns).map(phase).collect();
    Measured {
        window_ns: 100 * each_ns.iter().sum::<u64>(),
        values: BTreeMap::from([("read_p99_ns".to_owned(), 7.0)]),
        absent: BTreeMap::from([("stat_p99_ns".to_owned(), "too few".to_owned())]),
        ..measured_of(FilesDetail { phases, emptied_bytes: None })
    }
}

pub(super) fn measured_of(detail: FilesDetail) -> Measured {
    Measured::from_detail(detail)
}

#[test]
fn rates_are_made_of_what_was_counted() {
    let value = |metric: &str| planned().value(metric, &measured([400, 100, 200, 100, 200]));
    assert_eq!(value("create_per_s"), Some(Ok(2.5e6)));
    assert_eq!(value("stat_per_s"), Some(Ok(1e7)));
    // A microsecond through all of them.
    assert!((value("files_per_s").unwrap().unwrap() - 1e6).abs() < 1e-6);
    assert_eq!(value("read_p99_ns"), Some(Ok(7.0)));
    assert_eq!(value("stat_p99_ns"), Some(Err("too few".to_owned())));
    assert_eq!(value("iops"), None);
}

#[test]
fn a_phase_that_was_not_come_to_has_no_rate() {
    let mut stopped = measured([400, 100, 200, 100, 200]);
    FilesDetail::of_mut(&mut stopped).unwrap().phases.truncate(3);
    let value = |metric: &str| planned().value(metric, &stopped).unwrap();
    assert_eq!(value("rename_per_s"), Err("the phase rename processed no file".to_owned()));
    assert_eq!(value("files_per_s"), Err("the phase rename processed no file".to_owned()));
    assert_eq!(value("read_per_s"), Ok(5e6));
}

#[test]
fn a_metric_belongs_to_each_phase_and_is_named_by_it() {
    for own in acts() {
        let name = own.act.name();
        assert_eq!(own.rate.name, format!("{name}_per_s"));
        assert_eq!(own.half.name, format!("{name}_p50_ns"));
        assert_eq!(own.tail.name, format!("{name}_p99_ns"));
        assert_eq!(rate(own.rate.name), Some(own.act));
        for metric in [own.rate, own.half, own.tail] {
            assert!(metrics::METRICS.concat().contains(&metric), "{}", metric.name);
        }
    }
    assert_eq!(metrics::METRICS.concat().len(), 16);
}

#[test]
fn a_tree_that_takes_too_long_is_made_smaller_unless_it_is_a_level() {
    let mut own = planned();
    assert_eq!(own.drain_within(1_000, 20_000_000, &|_| false), None);
    let told = own.drain_within(10_000_000, 20_000_000_000, &|_| false);
    assert_eq!((own.files, own.directories), (2_000, 20));
    assert_eq!(
        told.as_deref(),
        Some(
            "2,000 files of 4 KiB in 20 directories instead of 10,000 files of 4 KiB in 100 directories, because each \
             file takes 10 ms"
        )
    );
    let mut level = planned();
    let told = level.drain_within(10_000_000, 20_000_000_000, &|name| name == "files").unwrap();
    assert!(told.contains("may end before it has processed all"), "{told}");
    assert_eq!(level, planned());
}

#[test]
fn there_is_a_file_for_each_thread_however_slow_it_is() {
    let mut own = FilesPlan { threads: 8, ..planned() };
    own.drain_within(u64::MAX, 1, &|_| false).unwrap();
    assert_eq!((own.files, own.directories), (8, 1));
}

#[test]
fn files_are_at_most_64_mib() {
    let size = &FilesSpec::FACTORS[3];
    assert!((size.set)(&mut FilesSpec::default(), "1 GiB").unwrap_err().contains("at most 64 MiB"));
}

#[test]
fn trees_that_cannot_be_say_why() {
    let told = |own: FilesSpec| own.obstacle();
    assert_eq!(told(FilesSpec::default()), None);
    let few = FilesSpec { files: 10, ..FilesSpec::default() };
    assert_eq!(told(few).unwrap(), "100 directories need at least 100 files, not 10");
    let crowded = FilesSpec { files: 3, directories: 1, threads: 4, ..FilesSpec::default() };
    assert_eq!(told(crowded).unwrap(), "4 threads need at least 4 files, not 3");
    let spread = FilesSpec { pattern: Pattern::Spaced, ..FilesSpec::default() };
    assert!(told(spread).unwrap().contains("not spaced"));
}

#[test]
fn a_quick_look_takes_a_tenth_of_the_tree() {
    let mut own = FilesSpec::default();
    WorkloadSpec::make_quick(&mut own, None);
    assert_eq!((own.files, own.directories), (1_000, 10));
    assert_eq!(own.runtime, Some(QUICK_BOUND));
}

#[test]
fn what_is_no_directory_has_no_pilot_and_one_without_room_is_told() {
    let fake = Fake::new();
    fake.put("/dev/loop7", "");
    let run = |path: &'static str, system: &Fake| {
        let path = std::path::Path::new(path);
        run::pilot(&planned(), &Run { path, ..testing::run_on(system, testing::NO_AREA, None) })
    };
    assert_eq!(run("/dev/loop7", &fake), Ok(None));
    fake.put("/home/me/notes", "");
    let told = run("/home/me", &fake).unwrap_err();
    assert!(told.contains("cannot create a directory in /home/me"), "{told}");
}

#[test]
fn the_line_by_hand_is_that_of_bonnie() {
    let how = testing::manual_run("small", "/mnt/a");
    let line = FilesPlan { fsync: FileSync::EachFile, threads: 2, ..planned() }.by_hand(&how);
    assert_eq!(line.words.join(" "), "bonnie++ -q -d /mnt/a -s 0 -n 10:4096:4096:100 -b");
    assert!(line.remarks.iter().any(|remark| remark.contains("10,240 files")));
    assert!(line.remarks.iter().any(|remark| remark.contains("one thread")));
}
