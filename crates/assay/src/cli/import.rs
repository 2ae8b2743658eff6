//! `assay import`: numbers that were measured elsewhere, judged as those of a study are.

use std::path::Path;

use clap::Args;

use super::output;
use crate::store;
use assay_core::digest::{hexadecimal, sha256};
use assay_core::failure::{Failure, Kind, Outcome};
use assay_core::findings::Findings;
use assay_core::importers::{self, Imported};
use assay_core::quantity::{Bytes, Percent};
use assay_core::results::bundle::Label;
use assay_core::results::headline;
use assay_core::results::id;
use assay_core::results::imported::{self, FORMAT, Import, StoredImport};
use assay_core::results::plan::Arm;
use assay_core::system::{FileKind, System, identity};

/// Files above this are no tables of trials.
const LARGEST_BYTES: u64 = 1 << 30;

/// Judge numbers that were measured elsewhere
///
/// Reads a table of trials, compares its arms with the baseline as a study of assay does, and keeps
/// it as a result. Each file becomes a result of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay import trials.csv
  assay import trials.csv --baseline filesystem=ext4 --margin 2%
  assay import trials.csv --primary duration_s --title cards

A file for it, one row for each trial and metric:
  replicate,order,workload,metric,value,status,factor:filesystem
  1,1,build,duration_s:lower,61.4,ok,ext4
  1,2,build,duration_s:lower,58.9,ok,xfs
  2,3,build,duration_s:lower,58.1,ok,xfs
  2,4,build,duration_s:lower,,failed: no space,ext4

Columns may stand in any order; order and status may be missing. A replicate
is one pass over all arms; order says when the trial ran. A status is ok,
failed, disturbed or lead-in, with a reason after a colon. There may be any
number of factor:NAME columns.

A metric says which direction is better: latency:lower, throughput:higher.
What can be zero is compared by differences: errors:lower:difference.
Values are plain numbers. Lines that begin with # are comments.")]
pub struct Arguments {
    /// Files to import, as CSV
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Level that the others are compared with, once for each factor [default: the first row's]
    #[arg(long, value_name = "NAME=LEVEL")]
    baseline: Vec<String>,
    /// Difference that does not matter, such as 2% [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    margin: Option<String>,
    /// Metric that verdicts are about [default: the first one of each workload]
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// Title of the result [default: the file's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// One JSON document instead of the tables
    #[arg(long)]
    json: bool,
    /// No message about where the result is kept
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command: every file is read before anything is kept.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    for (given, option) in [(arguments.title.is_some(), "--title"), (arguments.json, "--json")] {
        if given && arguments.files.len() > 1 {
            return Err(Failure::mistake(format!(
                "{option} is for one file: import the files one by one"
            )));
        }
    }
    let (baseline, margin) = (baseline(&arguments.baseline)?, margin(arguments.margin.as_deref())?);
    let mut read = Vec::new();
    let mut failed: Option<Failure> = None;
    for file in &arguments.files {
        let about = |text: &str| about(system, arguments, file, text, &baseline, margin);
        match read_file(system, file).and_then(|text| numbers(file, about(&text), text)) {
            Ok(file) => read.push(file),
            Err(failure) => failed = Some(both(failed, failure)),
        }
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    for (mut stored, imported) in read {
        let kept = keep(system, &mut stored);
        let findings = store::findings_of_import(&stored, imported);
        if let (Ok(()), Ok(results)) = (&kept, identity::results_directory(system)) {
            // Where it cannot be kept, a list has a line less.
            let told = assay_report::document::headline(&findings);
            let _ = headline::keep(system, &results.join(&stored.id), &told);
        }
        show(system, arguments, &findings);
        match kept {
            Ok(()) if arguments.quiet => {}
            Ok(()) => output::message(&format!("kept as {}", stored.id)),
            Err(failure) => {
                output::message(&format!("the result is not kept: {}", failure.message));
            }
        }
    }
    Ok(())
}

/// Two failures as one, each on lines of its own.
fn both(first: Option<Failure>, second: Failure) -> Failure {
    match first {
        None => second,
        Some(first) => {
            let refused = [first.kind, second.kind].contains(&Kind::Refused);
            let kind = if refused { Kind::Refused } else { first.kind };
            Failure { kind, message: format!("{}\n{}", first.message, second.message) }
        }
    }
}

/// The levels that `--baseline` names.
fn baseline(words: &[String]) -> Outcome<Arm> {
    let mut arm = Arm::new();
    for word in words {
        let parts = word.split_once('=').map(|(name, level)| (name.trim(), level.trim()));
        let Some((name, level)) =
            parts.filter(|(name, level)| !name.is_empty() && !level.is_empty())
        else {
            return Err(Failure::mistake(format!(
                "--baseline {word}: say NAME=LEVEL, such as filesystem=ext4"
            )));
        };
        if let Some(other) = arm.insert(name.to_owned(), level.to_owned()) {
            return Err(Failure::mistake(format!(
                "--baseline names two levels of {name}, {other} and {level}: name one"
            )));
        }
    }
    Ok(arm)
}

/// The margin as a fraction.
fn margin(text: Option<&str>) -> Outcome<Option<f64>> {
    let Some(text) = text else { return Ok(None) };
    let margin: Percent =
        text.parse().map_err(|error| Failure::mistake(format!("--margin: {error}")))?;
    if margin.0 <= 0.0 {
        return Err(Failure::mistake(format!(
            "--margin {text}: say a difference above 0 %, such as 5 %"
        )));
    }
    Ok(Some(margin.fraction()))
}

fn read_file(system: &dyn System, file: &str) -> Outcome<String> {
    let path = Path::new(file);
    let refused = |error| Failure::refused(format!("{file} cannot be read: {error}"));
    let status = system.status(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::mistake(format!("there is no file {file}")),
        _ => refused(error),
    })?;
    match status.kind {
        FileKind::File => {}
        FileKind::Directory => {
            return Err(Failure::mistake(format!("{file} is a directory: name a file in it")));
        }
        _ => {
            return Err(Failure::mistake(format!(
                "{file} is no regular file: save the table as a file first"
            )));
        }
    }
    if status.size_bytes > LARGEST_BYTES {
        return Err(Failure::mistake(format!(
            "{file} has more than {}: that is no table of trials; leave out what is not needed",
            Bytes(LARGEST_BYTES)
        )));
    }
    importers::text(file, system.read_bytes(path).map_err(refused)?)
}

fn about(
    system: &dyn System,
    arguments: &Arguments,
    file: &str,
    text: &str,
    baseline: &Arm,
    margin: Option<f64>,
) -> Import {
    let name = Path::new(file)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Import {
        format: FORMAT.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        importer: importers::of_text(text).about.name.to_owned(),
        sha256: hexadecimal(&sha256(text)),
        title: arguments.title.clone().unwrap_or_else(|| name.clone()),
        file: name,
        imported: system.now(),
        baseline: baseline.clone(),
        margin,
        primary: arguments.primary.clone(),
        trials: 0,
    }
}

/// Reads the numbers, and counts the trials for lists of results.
fn numbers(name: &str, mut about: Import, text: String) -> Outcome<(StoredImport, Imported)> {
    let imported = store::read_import(&about, &text, name)?;
    about.trials = imported.trials;
    Ok((StoredImport { id: String::new(), about, text, label: Label::default() }, imported))
}

/// Writes the bundle and gives it its id.
fn keep(system: &dyn System, stored: &mut StoredImport) -> Outcome<()> {
    stored.id = id::new_id(&stored.about.imported, id::entropy(system));
    let results = identity::results_directory(system)?;
    stored.id = id::unused_id(system, &results, &stored.about.imported);
    let directory = results.join(&stored.id);
    imported::write(system, &directory, &stored.about, &stored.text).map_err(|error| {
        Failure::refused(format!(
            "{} cannot be written: {error}; set ASSAY_HOME to a directory of yours",
            directory.display()
        ))
    })
}

fn show(system: &dyn System, arguments: &Arguments, findings: &Findings) {
    if arguments.json {
        output::document(&assay_report::json(findings));
        return;
    }
    let document = assay_report::document::make(findings);
    output::painted(&assay_report::text::render(
        &document,
        output::columns(system),
        output::colour(system),
    ));
}
