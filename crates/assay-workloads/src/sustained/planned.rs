//! The plan of a long write.

use assay_core::quantity::Bytes;
use serde::{Deserialize, Serialize};

use super::writing::{self, DEPTH};
use super::{BURST, CACHE, FALL, SUSTAINED, SustainedDetail, TOUCH, WriteTimeline, course};
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SustainedPlan {
    pub engine: Engine,
    pub bytes: u64,
    /// Whether each slice is synced within its time, because it uses the page cache.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub synced: bool,
}

impl PlannedWork for SustainedPlan {
    fn words(&self) -> String {
        let how = if self.synced { "each slice synced" } else { "direct" };
        format!(
            "sequential writes of random data to {}, 1 MiB per operation, {DEPTH} in flight, {}, {how}",
            Bytes(self.bytes),
            self.engine
        )
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        writing::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = SustainedDetail::of(measured);
        detail.map_or_else(|| measured.value(metric), |detail| value(metric, detail))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        SUSTAINED.name
    }

    fn in_flight(&self) -> u32 {
        DEPTH
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let words = how.fio(&format!(
            "--rw=write --bs=1M --iodepth={DEPTH} --ioengine=io_uring --direct=1 --time_based --runtime={} --size={} \
             --write_bw_log=rate --log_avg_msec=250",
            how.seconds(),
            self.bytes
        ));
        ManualCommand { words, remarks: vec!["the log shows where the rate drops".to_owned()] }
    }
}

/// The value of one of its metrics, for views and comparisons alike.
fn value(metric: &str, detail: &SustainedDetail) -> Option<Result<f64, String>> {
    if ![SUSTAINED, BURST, FALL, CACHE].iter().any(|known| known.name == metric) {
        return None;
    }
    let Some(course) = course(detail) else {
        return Some(Err("the trial ended before Assay had written a slice".to_owned()));
    };
    let rate = |level: Option<&super::RateLevel>| level.map(|level| Ok(level.rate_bytes_per_s));
    if metric == SUSTAINED.name {
        return rate(course.last());
    }
    if metric == BURST.name {
        return rate(course.levels.first());
    }
    Some(drop_value(metric, &course))
}

/// The position of the drop, or the bytes before it that are confirmed as a cache.
fn drop_value(metric: &str, course: &WriteTimeline) -> Result<f64, String> {
    if course.declines.is_some() {
        return Err("the rate decreased gradually".to_owned());
    }
    let Some(fall) = course.fall() else {
        let rested = course.rests.map_or_else(String::new, |rests| {
            format!(", but the drive was idle between slices for {} of the time", rests.percent())
        });
        let written = Bytes(course.written_bytes);
        return Err(format!("the rate did not drop permanently in {written}{rested}"));
    };
    if metric == FALL.name {
        return Ok(fall.from_bytes as f64);
    }
    let cache = course.fast_cache_bytes().map(|bytes| bytes as f64);
    cache.ok_or_else(|| "the rate dropped, but a full cache was not confirmed".to_owned())
}
