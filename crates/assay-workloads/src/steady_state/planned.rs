//! The plan of rounds.

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::judge::{FILLS, InWindow, cell_means, judge_trial};
use super::{BANDWIDTH, IOPS, LATENCY, ROUNDS, SteadyStateDetail, TOUCH, WRITTEN, running};
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};
use assay_core::calc::pts::{Measure, PtsClass, PtsPoint, Test};

/// Assumed write time per byte on an untested target: 200 MB/s.
const SUPPOSED_NS_OF_BYTE: u64 = 5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadyStatePlan {
    pub test: Test,
    pub class: PtsClass,
    pub engine: Engine,
    /// Threads, and operations in flight per thread.
    pub in_flight: [u32; 2],
    /// Requested number of operations in flight, over all threads.
    pub asked_in_flight: u32,
    pub cells: Vec<PtsPoint>,
    /// Excluded cells and reasons, one phrase each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    pub cell_ns: u64,
    pub most_rounds: u32,
    pub range_bytes: u64,
    /// Block size of the fill before the rounds, if any, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_bytes: Option<u64>,
    pub direct: bool,
}

impl SteadyStatePlan {
    pub fn tracked(&self) -> PtsPoint {
        self.test.tracked(self.fill_bytes.map(Bytes))
    }

    pub fn is_simulated(&self) -> bool {
        self.engine == Engine::Simulated
    }

    pub(super) fn operations_words(&self) -> String {
        let how = if self.test.is_sequential() { "sequential" } else { "random" };
        format!("{how}, {} in flight, {}", show::count(u64::from(self.in_flight())), self.engine)
    }
}

impl PlannedWork for SteadyStatePlan {
    fn words(&self) -> String {
        let cells = self.cells.len();
        let round_ns = self.cell_ns.saturating_mul(cells as u64);
        let of = if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") };
        let fill = self.fill_bytes.map_or_else(String::new, |size| {
            let twice = Bytes(FILLS.saturating_mul(self.range_bytes));
            format!("{twice} of sequential writes of {}, then ", Bytes(size))
        });
        let way = if self.direct { "direct" } else { "through the page cache" };
        format!(
            "PTS {} ({}): purge of {}, {fill}rounds of {of} of {} each ({} per round) until five rounds are steady, at \
             most {}; {}, {way}",
            self.test.title(),
            self.class.name(),
            Bytes(self.range_bytes),
            show::duration(self.cell_ns as f64),
            show::duration(round_ns as f64),
            show::count(u64::from(self.most_rounds)),
            self.operations_words()
        )
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        running::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = SteadyStateDetail::of(measured);
        detail.map_or_else(|| measured.value(metric), |detail| value(self, metric, detail))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        match self.test.measure() {
            Measure::Iops => IOPS.name,
            Measure::Bandwidth => BANDWIDTH.name,
            Measure::Latency => LATENCY.name,
        }
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    /// With all rounds: an upper bound for the user.
    fn expected_ns(&self, _: u64) -> Option<u64> {
        let filled = self.fill_bytes.map_or(0, |_| FILLS.saturating_mul(self.range_bytes));
        let fill_ns = filled.saturating_mul(SUPPOSED_NS_OF_BYTE);
        let round_ns = self.cell_ns.saturating_mul(self.cells.len() as u64);
        Some(fill_ns.saturating_add(round_ns.saturating_mul(u64::from(self.most_rounds))))
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
        let tracked = self.tracked();
        let [threads, depth] = self.in_flight;
        let pattern = if self.test.is_sequential() { "write" } else { "randwrite" };
        let words = how.fio(&format!(
            "--rw={pattern} --bs={} --numjobs={threads} --iodepth={depth} --ioengine=io_uring --direct={} --size={} \
             --time_based --runtime={} --refill_buffers --group_reporting",
            tracked.size_bytes,
            u8::from(self.direct),
            self.range_bytes,
            self.cell_ns.div_ceil(1_000_000_000).max(1)
        ));
        let mut remarks = vec![
            "this command runs the tracking cell; a round runs all cells in sequence".to_owned(),
            "five rounds are steady if their range is at most 20% of their mean and the fitted line changes by at \
             most 10%; fio's ss= checks only one of these conditions, once per second"
                .to_owned(),
        ];
        if let Some(size) = self.fill_bytes {
            remarks.push(format!(
                "before the first round, run blkdiscard and write the whole target twice, {} per operation",
                Bytes(size)
            ));
        } else {
            remarks.push("before the first round, run blkdiscard but write nothing".to_owned());
        }
        ManualCommand { words, remarks }
    }
}

/// The value of one of its metrics, for views and comparisons alike.
fn value(
    planned: &SteadyStatePlan,
    metric: &str,
    detail: &SteadyStateDetail,
) -> Option<Result<f64, String>> {
    let primary = planned.primary(&|_| false);
    if ![primary, ROUNDS.name, WRITTEN.name].contains(&metric) {
        return None;
    }
    let Some(judgement) = judge_trial(planned, detail) else {
        return Some(Err("the tracking cell has no results".to_owned()));
    };
    let rounds = detail.rounds.len();
    let Some(window) = judgement.window else {
        return Some(Err(format!("only {rounds} of the required five rounds ran")));
    };
    if metric == primary {
        return Some(Ok(window.mean));
    }
    if !window.steady {
        return Some(Err(format!("no steady state within {rounds} rounds")));
    }
    if metric == WRITTEN.name
        && let Some(round) = detail.rounds.get(window.last - 1)
    {
        return Some(Ok(round.written_bytes as f64));
    }
    Some(Ok(window.last as f64))
}

pub(super) fn cells_in_window(
    planned: &SteadyStatePlan,
    detail: &SteadyStateDetail,
) -> Vec<InWindow> {
    let window = judge_trial(planned, detail).and_then(|judgement| judgement.window);
    cell_means(detail, planned.test.measure(), window.as_ref())
}
