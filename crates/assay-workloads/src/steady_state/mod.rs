//! Rounds of cells until five are steady: the tests of the SNIA performance test specification, and similar ones.

mod detail;
mod judge;
mod planned;
mod rule;
mod running;
mod schedule;
mod tell;
#[cfg(test)]
mod tests;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Form, Need};
use assay_core::quantity::{Bytes, Metric, Time};
use serde::{Deserialize, Serialize};

use super::io::{self, Content};
use super::keys::{keys, runtime};
use super::place::Offer;
use super::tell::OwnRule;
use super::workload::{Basis, Complaints, InStudy, Needs, Touch, WorkloadKind, WorkloadSpec};
use crate::metrics::{higher, lower};

pub use assay_core::calc::pts::{Measure, PtsClass, PtsPoint, Test};
pub use detail::{CellResult, Prepared, Round, SteadyStateDetail};
pub use judge::{InWindow, SteadyJudgement, SteadyWindow, judge_trial, window};
pub use planned::SteadyStatePlan;
pub use tell::SteadyStateFacts;

const CELL: Time = Time(judge::MINUTE_NS);
/// Default time limit of a trial: rounds end earlier.
const BOUND: Time = Time(30 * 86_400 * 1_000_000_000);
const QUICK: Time = Time(30_000_000_000);
const MOST_THREADS: u64 = 1024;
const MOST_DEPTH: u64 = 4096;
/// The range is a multiple of this size, which all block sizes of the tests divide.
const PIECE: u64 = 1 << 20;

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SteadyStateSpec {
        test: Test = Test::Iops => {
            words: "test from the SNIA specification",
            form: Form::Word(|| Test::ALL.map(Test::name).to_vec()),
            need: Need::Always,
            example: "test = \"iops\"",
        }
        #[serde(default)]
        class: PtsClass = PtsClass::Enterprise => {
            words: "enterprise: whole drive, write cache off, 4 threads at queue depth 32; client: three quarters of the \
                    drive, write cache on, 2 threads at queue depth 16; enterprise by default",
            form: Form::Word(|| vec!["enterprise", "client"]),
            example: "class = \"client\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block_size: Option<Bytes> = None => {
            words: "block size for the throughput test; 128 KiB by default",
            form: Form::Size { least: Bytes(512), most: Bytes(PIECE) },
            example: "block_size = \"1 MiB\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<u32> = None => {
            words: "number of threads; the class sets the default",
            form: Form::Whole { least: 1, most: MOST_THREADS },
            example: "threads = 2",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue_depth: Option<u32> = None => {
            words: "queue depth of each thread; the class sets the default",
            form: Form::Whole { least: 1, most: MOST_DEPTH },
            example: "queue_depth = 16",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cell_time: Option<Time> = None => {
            words: "duration of each cell in a round; a minute by default, as in the specification",
            form: Form::Time { least: Time(1_000_000) },
            example: "cell_time = \"10 s\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "maximum duration of a trial; to fit seven rounds, Assay shortens or drops cells; no limit by default",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"2 h\"",
        }
    }
}

const IOPS: Metric = higher(
    "steady_iops",
    "steady-state IOPS",
    "IOPS of the tracking cell (4 KiB writes), mean over the measurement window",
);
const BANDWIDTH: Metric = higher(
    "steady_bytes_per_s",
    "steady bandwidth",
    "sequential write bandwidth, mean over the measurement window",
);
const LATENCY: Metric = lower(
    "steady_latency_mean_ns",
    "steady latency",
    "mean service time of 4 KiB writes at queue depth 1, mean over the measurement window",
);
const ROUNDS: Metric = lower(
    "rounds_until_steady",
    "rounds until steady state",
    "last round of the first steady-state measurement window; absent without steady state",
);

// In bytes, but derived from rates: these determine the round.
const WRITTEN: Metric = lower(
    "written_until_steady_bytes",
    "bytes written until steady state",
    "bytes written from the purge to the end of the measurement window; absent without steady state",
);

impl WorkloadKind for SteadyStateSpec {
    const ABOUT: About = About {
        name: "steady_state",
        summary: "SNIA PTS: rounds of read/write mixes and sizes until steady state",
        text: "Assay purges the target (discards all blocks) and preconditions it: except in the write saturation \
               test, Assay writes the whole target twice sequentially (128 KiB per operation, or the block size of the \
               `throughput` test). Rounds follow without a pause. Each round runs every cell (one read/write mix at \
               one block size) for one minute. Steady state: in five consecutive rounds, the tracking cell (writes of \
               4 KiB, or of the test's size) ranges by at most 20% of its mean, and its fitted line changes by at most \
               10%. These five rounds are the measurement window. Without steady state, Assay uses the last five of 25 \
               rounds, and rule `not-steady` flags the result. Write saturation runs until it has written the whole \
               target once, because a fresh drive looks steady; Assay uses the last five rounds. The data is random. \
               Assay lists each deviation from the specification: not a whole device, no purge, less preconditioning, \
               shorter or fewer cells, the wrong write cache state, no steady state. The conditions follow two public \
               implementations, because the specification was unavailable; Assay itself sets the limit of one day for \
               write saturation. Assay overwrites a target device (requires --destroy). In a directory, Assay fills \
               98% of the free space with a temporary file; to use less, set `area = { size = \"8 GiB\" }`.",
    };
    const EXAMPLE: &'static str = "steady_state = { test = \"iops\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[IOPS, BANDWIDTH, LATENCY, ROUNDS, WRITTEN]];
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Medium];
    const RULES: &'static [OwnRule] = &[rule::NOT_STEADY];
}

const TOUCH: Touch =
    Touch { reads: true, writes: Some(Content::Random), finds: None, clears: false, direct: true };

impl SteadyStateSpec {
    /// Threads, and operations in flight per thread.
    fn in_flight(&self) -> [u32; 2] {
        let [threads, depth] = self.class.in_flight(self.test);
        [self.threads.unwrap_or(threads), self.queue_depth.unwrap_or(depth)]
    }

    /// The supported cells of a target, notes on the others, and the plan of one cell.
    fn plan_cells(&self, offer: &Offer<'_>) -> (Vec<PtsPoint>, Vec<String>, Option<io::IoPlan>) {
        let mut cells = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        let mut plan = None;
        for cell in self.test.cells(self.block_size) {
            match io::plan(&running::cell_io(self.test, cell, self.in_flight()), offer) {
                Ok((planned, _)) => {
                    cells.push(cell);
                    plan = Some(planned);
                }
                Err(why) => {
                    let size = Bytes(cell.size_bytes);
                    let note = format!("cells of {size} were skipped ({why})");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        (cells, notes, plan)
    }
}

impl WorkloadSpec for SteadyStateSpec {
    fn words(&self) -> String {
        let cells = self.test.cells(self.block_size).len();
        let of = if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") };
        format!(
            "PTS {} ({}): rounds of {of} until steady state",
            self.test.title(),
            self.class.name()
        )
    }

    fn needs(&self) -> Needs {
        Needs::Whole
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn complain(&self, path: &str, _: &InStudy<'_>, to: &mut dyn Complaints) {
        if self.block_size.is_some() && self.test != Test::Throughput {
            let message =
                format!("the specification sets the block sizes of test {}", self.test.name());
            let hint = "remove block_size, or use test = \"throughput\"".to_owned();
            to.key(&format!("{path}/block_size"), message, Some(hint));
        }
        if let Some(size) = self.block_size.filter(|size| !size.0.is_power_of_two()) {
            let message = format!("{size} is not a power of two");
            to.value(&format!("{path}/block_size"), message, None);
        }
    }

    runtime!(BOUND, QUICK);

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        if !offer.area.written {
            return Err("cannot overwrite the whole target: no consent given".to_owned());
        }
        let (cells, left_out, cell_plan) = self.plan_cells(offer);
        let tracked = self.test.tracked(self.block_size);
        let Some(cell_plan) = cell_plan.filter(|_| cells.contains(&tracked)) else {
            let why = left_out.last().cloned().unwrap_or_default();
            return Err(format!("cannot run the tracking cell: {why}"));
        };
        let range_bytes = offer.area.length / PIECE * self.class.range_percent() / 100 * PIECE;
        if range_bytes < 16 * PIECE {
            return Err(format!("{} is too small; the minimum is 16 MiB", Bytes(range_bytes)));
        }
        let [threads, depth] = self.in_flight();
        let notes: Vec<String> =
            left_out.iter().cloned().chain(offer.engine.note.clone()).collect();
        let planned = SteadyStatePlan {
            test: self.test,
            class: self.class,
            engine: cell_plan.engine,
            in_flight: [cell_plan.threads, cell_plan.queue_depth],
            asked_in_flight: threads.saturating_mul(depth),
            cells,
            left_out,
            cell_ns: self.cell_time.unwrap_or(CELL).0,
            most_rounds: self.test.most_rounds(),
            range_bytes,
            fill_bytes: self.test.fill_bytes(self.block_size),
            direct: offer.direct.value().is_some(),
        };
        Ok((planned.into(), (!notes.is_empty()).then(|| notes.join("; "))))
    }
}
