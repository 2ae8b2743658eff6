//! `assay bundle`: a whole result as one file.

use std::path::PathBuf;

use clap::Args;

use super::output;
use crate::store::{self, parcel};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_core::system::System;

/// A whole result as one compressed file, to be handed on
///
/// Who gets it adds it with assay add. Everything that was recorded is in it, names of the machine and
/// serial numbers of its drives as well: assay collection add takes them out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay bundle 20261120-1031                 as 20261120-103107-a3f9.assay
  assay bundle 20261120-1031 -o card.assay   in a file of that name")]
pub struct Arguments {
    /// Id, the beginning of one, or the path of a result; the newest by default
    #[arg(value_name = "ID|PATH")]
    result: Option<String>,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())?;
    let path = arguments.output.clone().unwrap_or_else(|| parcel::usual_name(&directory));
    output::may_be_written(system, &path)?;
    let packed = parcel::pack(system, &directory)?;
    system.write_whole(&path, &packed.bytes).map_err(|error| {
        Failure::refused(format!("{} cannot be written: {error}", path.display()))
    })?;
    for name in &packed.left_out {
        output::message(&format!("{name} is no part of a result and was left out"));
    }
    output::text(&path.display().to_string());
    output::message(&format!(
        "{} files, {} in {}; names of the machine and serial numbers are in it",
        packed.files,
        show::bytes(packed.unpacked_bytes),
        show::bytes(packed.bytes.len() as u64)
    ));
    Ok(())
}
