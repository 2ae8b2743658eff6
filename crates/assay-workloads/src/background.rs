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
    let stop_background = AtomicBool::new(false);
    let background_run = Run {
        medium: TestMedium { file: load.file.as_ref(), area: load.area, ..run.medium },
        time_ns: if simulated { run.time_ns } else { run.time_ns.saturating_add(SLACK_NS) },
        seed: run.seed.rotate_left(32),
        stop: &stop_background,
        ..*run
    };
    let (result, background) = thread::scope(|scope| {
        let thread = scope.spawn(|| load.work.run(&background_run));
        let result = work.run(run);
        // A simulated background must reach its end, which does not depend on the real time.
        stop_background.store(!simulated, Ordering::Relaxed);
        let background = thread.join();
        (result, background.unwrap_or_else(|_| Err("the background load failed".to_owned())))
    });
    let (result, measured) = split_cpu_time(result?, background?);
    Ok((result, Some(measured)))
}

/// Removes the background's CPU time from the result, whose `cpu_ns` is that of the whole process.
fn split_cpu_time(mut result: RunResult, background: RunResult) -> (RunResult, Measured) {
    let remaining_ns = result.measured.cpu_ns.saturating_sub(background.threads_cpu_ns);
    result.measured.cpu_ns = remaining_ns.max(result.threads_cpu_ns);
    let mut measured = Measured { cpu_ns: background.threads_cpu_ns, ..background.measured };
    // Nothing reads the background's single latencies.
    if let Some(detail) = io::IoDetail::of_mut(&mut measured) {
        detail.sample_latencies_ns = Vec::new();
    }
    (result, measured)
}
