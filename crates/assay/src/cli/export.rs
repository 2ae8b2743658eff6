//! `assay export`: writes a result in another tool's format, or all of it as one file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{bundle, output};
use crate::store::{self, FORMATS_OF_FILES, iolog, parcel};
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::system::System;
use assay_report::exporters::{self, EXPORTERS, Exporter};
use assay_study::findings::Findings;

/// Export a result as CSV, JSON, JUnit, fio JSON or a bundle
///
/// Exports the numbers of the valid trials, without host names, serial numbers and paths. Each format omits data that
/// the format cannot express (assay list exporters). A bundle contains the complete result, including names and serial
/// numbers; recipients read the bundle with assay import.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay export --format trials-csv                latest result as a table
  assay export 20261120-1031 --format fio-json    for fio plotting tools
  assay export --format benchstat -o new.txt      then benchstat new.txt
  assay export --format junit -o gate.xml         gate of a study, for CI
  assay export busy --format fio-iolog -o busy.log        for fio --read_iolog
  assay export 20261120-1031 -o card.assay        complete result")]
pub struct ExportArguments {
    #[arg(value_name = "ID|PATH", help = format!("{}{}", super::ID_OR_BUNDLE, super::LATEST))]
    pub(super) result: Option<String>,
    /// Choose the format (assay list exporters); .assay files are bundles
    #[arg(long, value_name = "FORMAT", value_parser = names(), required_unless_present = "output")]
    format: Option<String>,
    /// Write to this file; - for standard output (bundles: a file by default)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Bytes of a recording that are in memory at once.
const PIECE_BYTES: usize = 1 << 16;

fn names() -> PossibleValuesParser {
    let all = EXPORTERS.iter().map(|exporter| exporter.about).chain(FORMATS_OF_FILES);
    PossibleValuesParser::new(all.map(|about| about.name))
}

fn format(arguments: &ExportArguments) -> Outcome<&str> {
    let ending = arguments.output.as_deref().and_then(Path::extension);
    match &arguments.format {
        Some(format) => Ok(format),
        None if ending.is_some_and(|ending| ending == parcel::ENDING) => Ok(parcel::ENTRY.name),
        None => Err(mistake!(
            "no format given; use --format FORMAT (assay list exporters), or -o FILE.assay for the complete result"
        )),
    }
}

pub fn run(system: &dyn System, arguments: &ExportArguments) -> Outcome<()> {
    let format = format(arguments)?;
    if format == parcel::ENTRY.name {
        return bundle::run(system, arguments);
    }
    if format == iolog::ENTRY.name {
        return requests(system, arguments);
    }
    let exporter = exporters::find(format).ok_or_else(|| mistake!("unknown format {format}"))?;
    let findings = store::findings_at(system, &store::find(system, arguments.result.as_deref())?)?;
    let to = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    write(system, exporter, &findings, to)
}

fn requests(system: &dyn System, arguments: &ExportArguments) -> Outcome<()> {
    let mut log = iolog::Iolog::open(system, &store::find(system, arguments.result.as_deref())?)?;
    let failed = |error: io::Error| refused!("cannot read the recording: {error}");
    if let Some(path) = arguments.output.as_deref().filter(|path| *path != Path::new("-")) {
        output::may_be_written(system, path)?;
        system.write_stream(path, &mut log).map_err(failed)?;
    } else {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let count = log.read(&mut piece).map_err(failed)?;
            if count == 0 {
                break;
            }
            output::bytes(&piece[..count]);
        }
    }
    if log.left_out > 0 {
        output::message(&format!(
            "{} requests are missing: fio cannot represent write-zeroes requests, and Assay did not observe the \
             arrival of some requests",
            show::count(log.left_out)
        ));
    }
    Ok(())
}

/// Writes findings in a format, to standard output if no file is given. Reports what the format omits. Fails if the
/// format can represent nothing of them, or if the file cannot be written.
pub fn write(
    system: &dyn System,
    exporter: &Exporter,
    findings: &Findings,
    to: Option<&Path>,
) -> Outcome<()> {
    for text in (exporter.left_out)(findings) {
        output::message(&text);
    }
    let no_numbers = || {
        mistake!(
            "{} has no numbers that format {} can represent; see assay list exporters",
            findings.study.id,
            exporter.about.name
        )
    };
    let text = (exporter.write)(findings).ok_or_else(no_numbers)?;
    if let Some(path) = to {
        return output::file(system, path, text.as_bytes());
    }
    output::document(text.trim_end_matches('\n'));
    Ok(())
}
