//! `assay stacks`: has threads with stacks and says what they added to its memory. Nobody types it: a
//! study of the kind `stacks` starts it, a process for each trial.

use clap::Args;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use assay_workloads::stacks;

/// Start threads with stacks, and read this process's memory meanwhile
#[derive(Debug, Args)]
pub struct StacksArguments {
    /// How many threads
    #[arg(value_name = "N")]
    threads: u32,
    /// Bytes that are reserved for the stack of each
    #[arg(value_name = "BYTES")]
    limit_bytes: u64,
}

pub fn run(system: &dyn System, arguments: &StacksArguments) -> Outcome<()> {
    let StacksArguments { threads, limit_bytes } = *arguments;
    let held = stacks::hold(system, threads, limit_bytes);
    let held = held.map_err(|error| Failure::refused(format!("cannot start a thread: {error}")))?;
    output::json(&held);
    Ok(())
}
