//! Waiting for several completions at once: an opt-in that saves CPU time and increases latencies.

use assay_load::Job;

use super::IoSpec;
use crate::workload::{Complaints, InStudy};

fn wait_count(io: &IoSpec) -> Option<u32> {
    io.batch_complete_min.filter(|count| *count > 1)
}

pub(super) fn configure_job(io: &IoSpec, job: &mut Job) {
    job.wait_for = wait_count(io).unwrap_or(1);
}

pub(super) fn describe(io: &IoSpec) -> Option<String> {
    wait_count(io).map(|count| format!("waits for {count} completions at once (higher latencies)"))
}

pub(super) fn fio(io: &IoSpec) -> Vec<String> {
    let words = wait_count(io).map(|count| format!("--iodepth_batch_complete_min={count}"));
    words.into_iter().collect()
}

/// Checks that enough operations are in flight, and that none has a start time.
pub(super) fn complain(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let key_path = format!("{path}/batch_complete_min");
    let Some(count) = wait_count(io).filter(|_| !to.is_wrong(&key_path)) else { return };
    let smallest_depth = match study.factors.get("queue_depth") {
        Some(levels) => levels.iter().filter_map(|level| level.parse::<u32>().ok()).min(),
        None => Some(io.queue_depth),
    };
    if let Some(depth) = smallest_depth
        && depth < count
        && !to.is_wrong(&format!("{path}/queue_depth"))
    {
        let message = format!(
            "batch_complete_min: {count} operations cannot complete at once at queue depth {depth}"
        );
        let hint = "increase queue_depth to at least this number".to_owned();
        to.value(&key_path, message, Some(hint));
    }
    let is_varied = |key: &str| study.factors.contains_key(key);
    let is_paced = io.is_held_back()
        || study.finds_rate
        || ["arrival_rate", "think_time"].into_iter().any(is_varied);
    if is_paced && !to.is_wrong(&key_path) {
        let message = "batch_complete_min does not work with arrival_rate or think_time, which need each completion \
                       immediately";
        to.value(&key_path, message.to_owned(), Some("remove batch_complete_min".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_core::quantity::Time;

    use super::*;
    use crate::io::told::Told;

    fn waits(depth: u32, wait_for: u32) -> IoSpec {
        IoSpec { queue_depth: depth, batch_complete_min: Some(wait_for), ..IoSpec::default() }
    }

    fn complaints(io: &IoSpec, depths: &[&str], finds_rate: bool) -> Vec<(String, String)> {
        let depths: Vec<String> = depths.iter().map(|level| (*level).to_owned()).collect();
        let mut factors = BTreeMap::new();
        if !depths.is_empty() {
            factors.insert("queue_depth".to_owned(), depths);
        }
        let mut told = Told::default();
        let study = InStudy { finds_rate, ..InStudy::new(&factors) };
        complain(io, "io", &study, &mut told);
        told.0
    }

    #[test]
    fn what_can_be_waited_for_is_not_complained_of() {
        assert!(complaints(&IoSpec::default(), &[], true).is_empty());
        assert!(complaints(&waits(32, 32), &[], false).is_empty());
        assert!(complaints(&waits(1, 8), &["8", "32"], false).is_empty());
        assert!(complaints(&waits(1, 1), &["1", "8"], true).is_empty());
    }

    #[test]
    fn what_never_comes_is_told_once() {
        let one = |io: &IoSpec, depths: &[&str], finds_rate: bool, text: &str| {
            let told = complaints(io, depths, finds_rate);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].0 == "io/batch_complete_min" && told[0].1.contains(text), "{told:?}");
        };
        one(&waits(31, 32), &[], false, "32 operations cannot complete at once at queue depth 31");
        one(&waits(64, 32), &["64", "8"], false, "queue depth 8");
        one(&waits(64, 32), &[], true, "with arrival_rate");
        let rests = IoSpec { think_time: Some(Time(1_000_000)), ..waits(64, 32) };
        one(&rests, &[], false, "or think_time");
        one(&IoSpec { queue_depth: 1, ..rests }, &[], false, "queue depth 1");
    }

    #[test]
    fn engines_and_fio_and_readers_are_told_of_more_than_one() {
        let job = |io: &IoSpec| {
            let mut job = Job::base(io.pattern, io.mix, 4096, 0..1 << 20, 1);
            configure_job(io, &mut job);
            job.wait_for
        };
        let several = waits(64, 32);
        assert_eq!(job(&several), 32);
        assert_eq!(fio(&several), ["--iodepth_batch_complete_min=32"]);
        assert!(describe(&several).unwrap().contains("higher latencies"));
        for one in [IoSpec::default(), waits(64, 1)] {
            assert!(job(&one) == 1 && fio(&one).is_empty() && describe(&one).is_none());
        }
    }
}
