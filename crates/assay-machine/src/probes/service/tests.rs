use super::*;
use crate::probes::disk::Traffic;

const MS: f64 = 1e6;

/// A member with so many completed 4 KiB writes of this duration.
fn writes(device: &str, requests: u64, each_ms: f64) -> Work {
    let sum_ns = requests as f64 * each_ms * MS;
    let writes = Served { requests, bytes: requests * 4096, sum_ns };
    Work { device: device.to_owned(), writes, busy_ns: sum_ns, ..Work::default() }
}

fn reads(device: &str, requests: u64, each_ms: f64) -> Work {
    let work = writes(device, requests, each_ms);
    Work { reads: work.writes, writes: Served::default(), ..work }
}

fn is_slow(members: &[Work]) -> bool {
    slowest(members).unwrap().is_slow
}

#[test]
fn the_slow_one_is_named_by_the_median_of_the_others() {
    let three = [writes("sda", 100, 9.0), writes("sdb", 100, 10.0), writes("sdc", 100, 38.0)];
    let found = slowest(&three).unwrap();
    assert_eq!((found.device.as_str(), found.class, found.is_slow), ("sdc", "write", true));
    assert_eq!((found.mean_ns, found.others_ns, found.ratio), (38.0 * MS, 9.5 * MS, 4.0));
    assert_eq!(found.words(), "sdc, 38 ms per write, 4 times the median of the others");
}

#[test]
fn of_two_the_other_one_is_the_median() {
    assert!(is_slow(&[writes("sda", 100, 9.0), writes("sdb", 100, 27.0)]));
    let alike = slowest(&[writes("sda", 100, 9.0), writes("sdb", 100, 16.0)]).unwrap();
    assert_eq!((alike.device.as_str(), alike.is_slow), ("sdb", false));
}

#[test]
fn who_does_more_or_larger_work_is_not_slow() {
    let usual = || writes("sda", 100, 1.0);
    assert!(!is_slow(&[usual(), writes("sdb", 126, 10.0)]), "more of it");
    assert!(is_slow(&[usual(), writes("sdb", 125, 10.0)]));
    let mut larger = writes("sdb", 100, 10.0);
    larger.writes.bytes *= 8;
    assert!(!is_slow(&[usual(), larger]), "larger");
    // A queue that backs up is merged: fewer and larger requests of the same bytes.
    let mut merged = writes("sdb", 50, 20.0);
    merged.writes.bytes *= 2;
    assert!(is_slow(&[usual(), merged]));
    let mut reading_too = writes("sdb", 100, 10.0);
    reading_too.reads = Served { requests: 100, bytes: 409_600, sum_ns: 5.0 * MS };
    assert!(!is_slow(&[usual(), reading_too]), "reads besides");
}

#[test]
fn reads_that_are_pinned_to_one_side_make_it_no_slow_member() {
    // Four readers on one side and one on the other, of drives that serve one at a time: as many
    // requests of each, and both busy all the time.
    let mut four = reads("sda", 1000, 4.0);
    four.busy_ns = 1000.0 * MS;
    let one = reads("sdb", 1000, 1.0);
    assert!(!is_slow(&[four.clone(), one.clone()]));
    four.busy_ns = 4000.0 * MS;
    assert!(is_slow(&[four, one]));
}

#[test]
fn too_few_requests_say_nothing() {
    let few = [writes("sda", 31, 1.0), writes("sdb", 100, 10.0)];
    assert_eq!(slowest(&few), None);
    assert_eq!(slowest(&[writes("sda", 100, 1.0)]), None);
    assert_eq!(slowest(&[]), None);
    // Those that did enough are compared.
    let found = slowest(&[few[0].clone(), few[1].clone(), writes("sdc", 100, 2.0)]).unwrap();
    assert_eq!((found.device.as_str(), found.others_ns), ("sdb", 2.0 * MS));
}

#[test]
fn the_steps_of_the_kernels_sums_are_no_slow_member() {
    // 40 requests of 20 us each: 0.8 ms count as 0, or as 1 if a tick falls within the span.
    assert!(!is_slow(&[writes("sda", 40, 0.0), writes("sdb", 40, 0.05)]));
    assert!(!is_slow(&[writes("sda", 40, 0.025), writes("sdb", 40, 0.1)]));
    let all_in_no_time = slowest(&[writes("sda", 40, 0.0), writes("sdb", 40, 0.0)]).unwrap();
    assert_eq!((all_in_no_time.ratio, all_in_no_time.is_slow), (1.0, false));
}

#[test]
fn the_class_in_which_one_is_slow_is_told_first() {
    let both = |device: &str, read_ms: f64, write_ms: f64| Work {
        reads: reads(device, 100, read_ms).reads,
        busy_ns: 100.0 * (read_ms + write_ms) * MS,
        ..writes(device, 100, write_ms)
    };
    let found = slowest(&[both("sda", 9.0, 1.0), both("sdb", 9.5, 4.0)]).unwrap();
    assert_eq!((found.device.as_str(), found.class, found.is_slow), ("sdb", "write", true));
    let alike = slowest(&[both("sda", 9.0, 1.0), both("sdb", 9.5, 1.1)]).unwrap();
    assert_eq!((alike.class, alike.is_slow), ("read", false));
}

#[test]
fn counters_become_work_and_old_records_do_not() {
    let run = Traffic {
        writes: 10,
        write_bytes: 40_960,
        read_ms: Some(0),
        write_ms: Some(30),
        busy_ms: 50,
        weighted_ms: 30,
        ..Traffic::default()
    };
    let seen = DeviceEvidence { run, settle: run, gap: run };
    let work = Work::of_evidence("sda", &seen).unwrap();
    assert_eq!(work.writes, Served { requests: 20, bytes: 81_920, sum_ns: 60.0 * MS });
    // Busy for no longer than its requests took together.
    assert_eq!(work.busy_ns, 60.0 * MS);
    let old = DeviceEvidence { settle: Traffic { write_ms: None, ..run }, ..seen };
    assert_eq!(Work::of_evidence("sda", &old), None);
}
