//! A workload with others' work beside it: both at the same time, and only the first is compared.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_load::{Bystanders, LoadError, Outcome};

use super::io::{self, Medium};
use crate::results::plan::{Area, PlannedWorkload};
use crate::results::record::Counted;

/// How much longer than the workload the work beside it may last; it is stopped long before.
const SLACK: Duration = Duration::from_secs(600);

/// What goes on beside a workload.
pub struct Beside<'a> {
    /// The work.
    pub workload: &'a PlannedWorkload,
    /// A handle of the target of its own: one may go through the page cache while the other does
    /// not.
    pub file: Option<File>,
}

/// A workload that is run, with what it is run on.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The work.
    pub workload: &'a PlannedWorkload,
    /// Where.
    pub medium: Medium<'a>,
    /// All that may be touched; work beside has the second half.
    pub area: &'a Area,
    /// Seed of its draws.
    pub seed: u64,
}

/// Runs a workload, and what goes on beside it from a moment before its start until its end.
///
/// # Errors
/// Either could not be run.
pub fn run(
    own: &Run<'_>,
    beside: Option<&Beside<'_>>,
    stop: &AtomicBool,
) -> Result<(Outcome, Option<Outcome>), LoadError> {
    let job = io::job(own.workload, own.area, own.seed)?;
    // Those of the one are none of the other.
    let bystanders = Bystanders::now();
    let foreground = || io::run_beside(&bystanders, &own.workload.engine, &job, &own.medium, stop);
    let Some(beside) = beside else { return foreground().map(|outcome| (outcome, None)) };
    let mut other = io::job(beside.workload, &own.area.halves()[1], own.seed.rotate_left(32))?;
    // The simulated drive has a clock of its own, in which both last as long.
    let simulated = own.medium.law.is_some();
    (other.ramp, other.time) = (job.ramp, if simulated { job.time } else { job.time + SLACK });
    let medium = Medium { file: beside.file.as_ref(), ..own.medium };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let background = scope
            .spawn(|| io::run_beside(&bystanders, &beside.workload.engine, &other, &medium, &over));
        let outcome = foreground();
        over.store(!simulated, Ordering::Relaxed);
        let other = background.join().unwrap_or_else(|_| {
            Err(LoadError::Panicked { thread: 0, message: "the work beside it".to_owned() })
        });
        Ok((outcome?, Some(other?)))
    })
}

/// The counts of both, as they are recorded.
pub fn counted(own: &Outcome, beside: Option<&Outcome>) -> Counted {
    let other = beside.map(|outcome| {
        // Neither its single latencies nor its engine's remarks are anybody's question.
        let counted = io::counted(outcome);
        Box::new(Counted { sample_latencies_ns: Vec::new(), cpu_ns: outcome.cpu_ns, ..counted })
    });
    let counted = io::counted(own);
    // What the process took for both: the threads beside are told for themselves.
    let others_ns = beside.map_or(0, |outcome| outcome.cpu_ns);
    let cpu_ns = counted.cpu_ns.saturating_sub(others_ns).max(own.cpu_ns);
    Counted { beside: other, cpu_ns, ..counted }
}
