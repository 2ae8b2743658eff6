//! A background load during measured work: it is counted, but never compared.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use super::measured::{Measured, RunResult};
use super::place::{Area, Run, TestMedium};
use super::{PlannedWork, WorkPlan, io};

/// How much longer than the measured work the background may run; it is stopped long before.
const SLACK_NS: u64 = 600_000_000_000;

/// A planned background load in the second half of the area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    pub work: io::IoPlan,
    /// Deviations from the request, with reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

pub struct BackgroundLoad<'a> {
    pub work: &'a io::IoPlan,
    /// A separate handle, because only one of the two jobs may use the page cache.
    pub file: Option<File>,
    pub area: Area,
}

/// Runs some work with a background load, which starts slightly earlier and stops with it.
pub fn run(
    work: &WorkPlan,
    run: &Run<'_>,
    background: Option<&BackgroundLoad<'_>>,
) -> Result<(RunResult, Option<Measured>), String> {
    let Some(load) = background else { return work.run(run).map(|result| (result, None)) };
    // The simulated drive has a separate clock, on which both last equally long.
    let simulated = run.medium.law.is_some();
    let over = AtomicBool::new(false);
    let other = Run {
        medium: TestMedium { file: load.file.as_ref(), area: load.area, ..run.medium },
        time_ns: if simulated { run.time_ns } else { run.time_ns.saturating_add(SLACK_NS) },
        seed: run.seed.rotate_left(32),
        stop: &over,
        ..*run
    };
    let (result, other) = thread::scope(|scope| {
        let background = scope.spawn(|| load.work.run(&other));
        let result = work.run(run);
        over.store(!simulated, Ordering::Relaxed);
        let other = background.join();
        (result, other.unwrap_or_else(|_| Err("the background load failed".to_owned())))
    });
    let (result, measured) = apart(result?, other?);
    Ok((result, Some(measured)))
}

/// Splits the CPU time of the process between the two.
fn apart(mut result: RunResult, other: RunResult) -> (RunResult, Measured) {
    let taken_ns = result.measured.cpu_ns.saturating_sub(other.threads_cpu_ns);
    result.measured.cpu_ns = taken_ns.max(result.threads_cpu_ns);
    let mut measured = Measured { cpu_ns: other.threads_cpu_ns, ..other.measured };
    // Its single latencies are not needed.
    if let Some(detail) = io::IoDetail::of(&measured) {
        let silent = io::IoDetail { sample_latencies_ns: Vec::new(), ..detail.clone() };
        measured.detail = silent.into();
    }
    (result, measured)
}
