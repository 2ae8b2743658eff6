//! A whole result as one file: `assay export --format bundle`, and `assay bundle` as it was called.

use std::path::{Path, PathBuf};

use clap::Args;

use super::output;
use crate::store::{self, parcel};
use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::units::show;
use assay_system::system::System;

/// A whole result as one compressed file, to be handed on
///
/// Who gets it takes it in with assay import. Everything that was recorded is in it, names of the machine
/// and serial numbers of its drives as well: assay collection add takes them out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay export 20261120-1031 --format bundle   as 20261120-103107-a3f9.assay
  assay export 20261120-1031 -o card.assay     in a file of that name")]
pub struct Arguments {
    /// Id, the beginning of one, or the path of a result; the newest by default
    #[arg(value_name = "ID|PATH")]
    pub(super) result: Option<String>,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())?;
    let path = arguments.output.clone().unwrap_or_else(|| parcel::usual_name(&directory));
    let is_piped = path == Path::new("-");
    if is_piped && output::is_terminal() {
        return Err(Failure::mistake(
            "a bundle is no text for a terminal: name a file with -o FILE.assay",
        ));
    }
    if !is_piped {
        output::may_be_written(system, &path)?;
    }
    let packed = parcel::pack(system, &directory)?;
    if is_piped {
        output::bytes(&packed.bytes);
    } else {
        output::file(system, &path, &packed.bytes)?;
    }
    for name in &packed.left_out {
        output::message(&format!("{name} is no part of a result and was left out"));
    }
    if !is_piped {
        output::text(&path.display().to_string());
    }
    output::message(&format!(
        "{} files, {} in {}; names of the machine and serial numbers are in it",
        packed.files,
        show::bytes(packed.unpacked_bytes),
        show::bytes(packed.bytes.len() as u64)
    ));
    Ok(())
}
