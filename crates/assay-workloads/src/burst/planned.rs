//! The plan of a load that uses up burst credits.

use assay_core::{quantity::Bytes, quantity::units::show};
use serde::{Deserialize, Serialize};

use super::{
    BACK, BASE, BurstDetail, BurstDirection, CREDIT, Course, FIRST, HELD, REFILL, running, touch,
};
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstPlan {
    pub mix: BurstDirection,
    pub size_bytes: u64,
    pub engine: Engine,
    /// Threads, and operations in flight per thread.
    pub in_flight: [u32; 2],
    pub asked_in_flight: u32,
    pub direct: bool,
}

impl PlannedWork for BurstPlan {
    fn words(&self) -> String {
        let way = if self.direct { "direct" } else { "through the page cache" };
        format!(
            "random {}s of {}, queue depth {}, {}, {way}: load for 40% of the trial, then three idle periods, each \
             followed by another load",
            self.mix.name(),
            Bytes(self.size_bytes),
            show::count(u64::from(self.in_flight())),
            self.engine
        )
    }

    fn touches(&self) -> Touch {
        touch(self.mix)
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        running::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = BurstDetail::of(measured);
        detail.map_or_else(|| measured.value(metric), |detail| value(metric, detail))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        FIRST.name
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn asked_in_flight(&self) -> u32 {
        self.asked_in_flight
    }

    fn in_flight(&self) -> u32 {
        let [threads, depth] = self.in_flight;
        threads.saturating_mul(depth)
    }

    fn threads(&self) -> u32 {
        self.in_flight[0]
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let (mix, depth, direct) = (self.mix.name(), self.in_flight(), u8::from(self.direct));
        let words = how.fio(&format!(
            "--rw=rand{mix} --bs={} --iodepth={depth} --ioengine=io_uring --direct={direct} --offset={} --size={} \
             --time_based --runtime={} --write_iops_log=rate --log_avg_msec=1000",
            self.size_bytes,
            how.area.start,
            how.area.length,
            (how.time_ns / 5 * 2).div_ceil(1_000_000_000).max(1)
        ));
        let remarks = vec![
            "the log shows where the rate drops".to_owned(),
            "then sleep and repeat; operations above the baseline rate measure the refill"
                .to_owned(),
        ];
        ManualCommand { words, remarks }
    }
}

/// The value of one of its metrics, for views and comparisons alike.
fn value(metric: &str, detail: &BurstDetail) -> Option<Result<f64, String>> {
    if ![FIRST, HELD, BASE, CREDIT, REFILL, BACK].iter().any(|known| known.name == metric) {
        return None;
    }
    let bucket = match detail.course() {
        None => return Some(Err("the load was too short to determine a rate".to_owned())),
        Some(Course::Held { per_s, .. }) if metric == FIRST.name => return Some(Ok(per_s.value)),
        Some(Course::Held { seconds, .. }) => {
            let held = show::duration(seconds * 1e9);
            return Some(Err(format!("the rate did not drop within {held}")));
        }
        Some(Course::Fell(bucket)) => bucket,
    };
    let no_refill = || detail.ended.clone().unwrap_or_else(|| "no refill was measured".to_owned());
    let estimates = [
        (FIRST, Some(bucket.burst_per_s)),
        (HELD, Some(bucket.burst_s)),
        (BASE, Some(bucket.baseline_per_s)),
        (CREDIT, Some(bucket.credits)),
        (REFILL, bucket.refill_per_s),
        (BACK, bucket.refill_s),
    ];
    let (_, estimate) = estimates.into_iter().find(|(known, _)| known.name == metric)?;
    Some(estimate.map(|estimate| estimate.value).ok_or_else(no_refill))
}
