//! `assay hold-pages`: has pages of memory and goes to them. Nobody types it: a study of the kind `memory`
//! starts it, a process for each trial, which the kernel may kill.

use clap::Args;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use assay_workloads::memory::{Job, hold};

/// Have pages of memory, go to them, and say what that took
#[derive(Debug, Args)]
pub struct HoldPagesArguments {
    /// What is to be done, as JSON
    #[arg(value_name = "JOB")]
    job: String,
}

pub fn run(system: &dyn System, arguments: &HoldPagesArguments) -> Outcome<()> {
    let job: Job = serde_json::from_str(&arguments.job)
        .map_err(|error| Failure::mistake(format!("not a job: {error}")))?;
    hold(system, &job, &mut |line| output::text(line))
        .map_err(|error| Failure::refused(format!("cannot allocate the pages: {error}")))
}
