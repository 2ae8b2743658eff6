//! `assay export`: a result in the format of another tool.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::output;
use crate::store;
use assay_core::failure::{Failure, Outcome};
use assay_core::system::System;
use assay_report::exporters::{self, EXPORTERS};

/// A result in the format of another tool
///
/// The numbers of the trials that count, without names of hosts, serial numbers and paths. What a
/// format cannot say is left out: assay list exporters.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay export --format trials-csv                the newest result as a table
  assay export 20261120-1031 --format fio-json    for what plots results of fio
  assay export --format benchstat -o new.txt      then benchstat new.txt")]
pub struct Arguments {
    /// Id, the beginning of one, or the path of a bundle; the newest by default
    #[arg(value_name = "ID|PATH")]
    result: Option<String>,
    /// Which format
    #[arg(long, value_name = "FORMAT", value_parser = names())]
    format: String,
    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(EXPORTERS.iter().map(|exporter| exporter.about.name))
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let exporter = exporters::find(&arguments.format)
        .ok_or_else(|| Failure::mistake(format!("there is no format {}", arguments.format)))?;
    let directory = store::find(system, arguments.result.as_deref())?;
    let findings = store::findings_at(system, &directory)?;
    let text = (exporter.write)(&findings).ok_or_else(|| {
        Failure::mistake(format!(
            "{} has no numbers that {} can hold: assay list exporters tells what each takes",
            findings.study.id, exporter.about.name
        ))
    })?;
    match arguments.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => output::document(text.trim_end_matches('\n')),
        Some(path) => {
            output::may_be_written(system, path)?;
            output::file(system, path, &text)?;
        }
    }
    Ok(())
}
