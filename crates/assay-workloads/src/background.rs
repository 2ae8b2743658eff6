//! Others' work that goes on while some work is measured: it is counted, and never compared.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use super::measured::{Measured, Ran};
use super::place::{Area, Medium, Run};
use super::{PlannedWork, WorkPlan, io};

/// How much longer than the measured work the background may last; it is stopped long before.
const SLACK_NS: u64 = 600_000_000_000;

/// A planned background load, in the second half of the area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    pub work: io::IoPlan,
    /// What differs from what was asked for, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

pub struct Load<'a> {
    pub work: &'a io::IoPlan,
    /// A separate handle, because one of two jobs may use the page cache while the other does not.
    pub file: Option<File>,
    pub area: Area,
}

/// Runs some work and, from a moment before its start until its end, what goes on in the background.
pub fn run(
    work: &WorkPlan,
    own: &Run<'_>,
    background: Option<&Load<'_>>,
) -> Result<(Ran, Option<Measured>), String> {
    let Some(load) = background else { return work.run(own).map(|ran| (ran, None)) };
    // The simulated drive has a clock of its own, in which both last as long.
    let simulated = own.medium.law.is_some();
    let over = AtomicBool::new(false);
    let other = Run {
        medium: Medium { file: load.file.as_ref(), area: load.area, ..own.medium },
        time_ns: if simulated { own.time_ns } else { own.time_ns.saturating_add(SLACK_NS) },
        seed: own.seed.rotate_left(32),
        stop: &over,
        ..*own
    };
    let (ran, other) = thread::scope(|scope| {
        let background = scope.spawn(|| load.work.run(&other));
        let ran = work.run(own);
        over.store(!simulated, Ordering::Relaxed);
        let other = background.join();
        (ran, other.unwrap_or_else(|_| Err("the background load failed".to_owned())))
    });
    let (ran, measured) = apart(ran?, other?);
    Ok((ran, Some(measured)))
}

/// What each of the two took of the processors: the process is counted as one.
fn apart(mut own: Ran, other: Ran) -> (Ran, Measured) {
    let taken_ns = own.measured.cpu_ns.saturating_sub(other.threads_cpu_ns);
    own.measured.cpu_ns = taken_ns.max(own.threads_cpu_ns);
    let mut measured = Measured { cpu_ns: other.threads_cpu_ns, ..other.measured };
    // Its single latencies are nobody's question.
    if let Some(detail) = io::IoDetail::of(&measured) {
        let silent = io::IoDetail { sample_latencies_ns: Vec::new(), ..detail.clone() };
        measured.detail = silent.into();
    }
    (own, measured)
}
