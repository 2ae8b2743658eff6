//! `assay micro`: repeats a basic operation and says how often it was done. Nobody types it: a study of the
//! kind `micro` starts it, so that nothing but the operation is in its process.

use clap::Args;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_load::{Micro, repeat};

/// Repeat a basic operation of the machine
#[derive(Debug, Args)]
pub struct MicroArguments {
    /// Which one
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// For how many nanoseconds
    #[arg(value_name = "NS")]
    time_ns: u64,
}

pub fn run(arguments: &MicroArguments) -> Outcome<()> {
    let name = &arguments.operation;
    let operation =
        Micro::find(name).ok_or_else(|| Failure::mistake(format!("unknown operation `{name}`")))?;
    let done = repeat(operation, arguments.time_ns)
        .map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    output::json(&done);
    Ok(())
}
