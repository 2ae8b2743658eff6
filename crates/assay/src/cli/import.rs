//! `assay import`: evaluates numbers measured by other tools like those of a study, or adds a complete result.

mod requests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use super::{add, compare, output};
use crate::store::{self, parcel};
use assay_analysis::import::{
    self, HEAD_BYTES, Imported, ImportedFile, Importer, LARGEST_RUNS_BYTES, Options, Reads,
    criterion, pattern,
};
use assay_core::digest::{hexadecimal, sha256};
use assay_core::failure::{Failure, Kind, Outcome};
use assay_core::quantity::{Better, Bytes, Percent};
use assay_machine::system::{Caching, FileKind, System, identity};
use assay_report::document::Detail;
use assay_study::results::bundle::Label;
use assay_study::results::id;
use assay_study::results::imported::{
    self, FORMAT, FORMAT_OF_FILES, Import, SourceFile, StoredImport, hash_of_all,
};
use assay_study::results::plan::Arm;

/// Larger files are not accepted as tables of trials.
const LARGEST_BYTES: u64 = 1 << 30;

/// Import results of fio, hyperfine and other tools
///
/// Reads files of other tools (assay list importers) or tables of trials, compares the configurations with the
/// baseline as in a study, and stores the result. All files of another tool form one study; each table is a separate
/// study.
///
/// Assay stores individual requests (blkparse, fio-iolog) as a trace, like assay watch --record-trace.
///
/// A file from assay export --format bundle is a complete result. Assay stores the result as foreign: you can show,
/// compare and collect a foreign result, but not apply, confirm or resume it. A foreign result never replaces your
/// results, and is never the latest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay import run*.json              compare fio options that differ
  assay import --set scheduler=bfq b1.json --set scheduler=none n1.json n2.json
  assay import --filename-pattern {scheduler}-{run}.json --in-order *.json
  assay import trials.csv --baseline filesystem=ext4 --margin 2%
  assay import trials.csv --primary-metric duration_s --title cards
  assay import trace.txt              import a trace: blkparse text or fio iolog
  assay import card.assay             import a complete result

A table of trials has one row per trial and metric:
  replicate,order,workload,metric,value,status,reason,factor_filesystem
  1,1,build,duration_s:lower,61.4,ok,,ext4
  1,2,build,duration_s:lower,58.9,ok,,xfs
  2,3,build,duration_s:lower,58.1,ok,,xfs
  2,4,build,duration_s:lower,,failed,no space,ext4

Columns may be in any order; order, status and reason are optional. A replicate
is one pass over all configurations; order states when the trial ran. A status
is ok, failed, disturbed, superseded or warmup. Use one factor_NAME column per
factor.

The name of a metric implies the better direction (latency, ops/s, errors);
otherwise write it: score:higher, depth:lower, or use --better score=higher.
For a metric with zeros, Assay compares differences (errors:lower:difference).
Values are plain numbers. Lines that begin with # are comments.")]
pub struct ImportArguments {
    #[command(flatten)]
    named: NamedFiles,
    /// Read levels from file names, e.g. {scheduler}-qd{depth}-*.json
    #[arg(long, value_name = "PATTERN")]
    filename_pattern: Option<String>,
    /// Treat the order of the files as the order of measurement
    #[arg(long)]
    in_order: bool,
    /// Set the baseline level per factor [default: level of the first row]
    #[arg(long, value_name = "FACTOR=VALUE")]
    baseline: Vec<String>,
    /// Set the equivalence margin [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    margin: Option<String>,
    /// Choose the metric of the verdicts [default: first of each workload]
    #[arg(long, value_name = "METRIC")]
    primary_metric: Option<String>,
    /// State the better direction of a metric, e.g. score=higher
    #[arg(long, value_name = "METRIC=DIRECTION")]
    better: Vec<String>,
    /// Set the title [default: the file name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Do not print the path of the stored result
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command: reads all files before storing anything.
pub fn run(system: &dyn System, arguments: &ImportArguments) -> Outcome<()> {
    if let Some(parcels) = parcels(system, arguments)? {
        return bring(system, arguments, &parcels);
    }
    if let Some(texts) = requests::find(system, arguments)? {
        return requests::import_files(system, arguments, &texts);
    }
    let (baseline, margin) = (baseline(&arguments.baseline)?, margin(arguments.margin.as_deref())?);
    let (mut files, mut failed) = (Vec::new(), None);
    for (path, arm) in named_arms(arguments)? {
        match read_file(system, &path, arm) {
            Ok(file) => files.push(file),
            Err(failure) => add_failure(&mut failed, failure),
        }
    }
    let mut read = Vec::new();
    for study in studies(files, &mut failed) {
        let numbers = describe_import(system, arguments, &study, &baseline, margin)
            .and_then(|about| read_numbers(about, study));
        match numbers {
            Ok(file) => read.push(file),
            Err(failure) => add_failure(&mut failed, failure),
        }
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    for (given, option) in [(arguments.title.is_some(), "--title"), (arguments.json, "--json")] {
        if given && read.len() > 1 {
            return Err(mistake!("{option} supports only one file; import the files one by one"));
        }
    }
    store_and_show(system, arguments, read)
}

/// Shows each study, also if it cannot be stored.
fn store_and_show(
    system: &dyn System,
    arguments: &ImportArguments,
    studies: Vec<(StoredImport, Imported)>,
) -> Outcome<()> {
    let mut unstored = None;
    for (mut stored, imported) in studies {
        let written = write(system, &mut stored);
        let findings = store::findings_of_import(&stored, imported);
        if let (Ok(()), Ok(results)) = (&written, identity::results_directory(system)) {
            let directory = results.join(&stored.id);
            store::keep_headline(system, &directory, &findings);
            let screen = || Ok(output::screen(system, &findings, Detail::Usual));
            let _ = super::show::stored(system, &directory, Detail::Usual, screen);
        }
        compare::show(system, &findings, arguments.json);
        match written {
            Ok(()) if arguments.quiet => {}
            Ok(()) => output::message(&format!("stored as {}", stored.id)),
            // The printed output is then the only copy, as for trials measured here.
            Err(failure) => {
                let (file, why) = (&stored.about.file, &failure.message);
                let failure = Failure::partial(format!("cannot store the result of {file}: {why}"));
                add_failure(&mut unstored, failure);
            }
        }
    }
    unstored.map_or(Ok(()), Err)
}

/// Returns the files if they are complete results; `None` if they contain numbers.
fn parcels(system: &dyn System, arguments: &ImportArguments) -> Outcome<Option<Vec<PathBuf>>> {
    let files = arguments.named.files.iter().map(|(file, _)| PathBuf::from(file));
    let (parcels, others): (Vec<PathBuf>, Vec<PathBuf>) =
        files.partition(|file| parcel::is_one(system, file));
    let Some(first) = parcels.first() else { return Ok(None) };
    if let Some(other) = others.first() {
        return Err(mistake!(
            "{} is a complete result and {} is not; import the files separately",
            first.display(),
            other.display()
        ));
    }
    let titled = arguments.title.is_some().then_some("--title");
    match numbers_option(arguments, parcels.len() > 1).or(titled) {
        Some(option) => Err(mistake!(
            "{} is a complete result, which Assay imports unchanged; remove {option}",
            first.display()
        )),
        None => Ok(Some(parcels)),
    }
}

/// Returns the given option, if any, that only applies to numbers.
fn numbers_option(arguments: &ImportArguments, has_several: bool) -> Option<&'static str> {
    let options = [
        ("--set", arguments.named.files.iter().any(|(_, arm)| !arm.is_empty())),
        ("--filename-pattern", arguments.filename_pattern.is_some()),
        ("--in-order", arguments.in_order),
        ("--baseline", !arguments.baseline.is_empty()),
        ("--margin", arguments.margin.is_some()),
        ("--primary-metric", arguments.primary_metric.is_some()),
        ("--better", !arguments.better.is_empty()),
        ("--json of several files", arguments.json && has_several),
    ];
    options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

fn bring(system: &dyn System, arguments: &ImportArguments, parcels: &[PathBuf]) -> Outcome<()> {
    add::add_files(system, parcels, |id, file, how| {
        if arguments.json {
            let findings = store::findings_at(system, &store::find(system, Some(id))?)?;
            output::document(&assay_report::json(&findings));
        } else {
            output::text(id);
        }
        if !arguments.quiet {
            output::message(&format!("{}: {how}, {id}", file.display()));
        }
        Ok(())
    })
}

struct ImportedStudy {
    importer: &'static Importer,
    files: Vec<ImportedFile>,
}

/// Returns the studies: one per table, and one for all files of another tool.
fn studies(files: Vec<ImportedFile>, failed: &mut Option<Failure>) -> Vec<ImportedStudy> {
    let mut studies: Vec<ImportedStudy> = Vec::new();
    let mut runs: Vec<ImportedFile> = Vec::new();
    for file in files {
        match import::of_bytes(&file.name, &file.bytes) {
            Ok(importer) if matches!(importer.reads, Reads::Table(_)) => {
                studies.push(ImportedStudy { importer, files: vec![file] });
            }
            Ok(_) => runs.push(file),
            Err(failure) => add_failure(failed, failure),
        }
    }
    if runs.is_empty() {
        return studies;
    }
    if let Some(ImportedStudy { importer, files: tables }) = studies.first() {
        let (table, run, format) = (&tables[0].name, &runs[0].name, importer.about.name);
        let failure = mistake!(
            "{table} has the format {format} and {run} does not; import the files separately"
        );
        add_failure(failed, failure);
        return Vec::new();
    }
    if let Some((first, again)) = same_run(&runs) {
        let failure =
            mistake!("{first} and {again} contain the same run; remove one of the two files");
        add_failure(failed, failure);
        return Vec::new();
    }
    match import::of_all(&runs) {
        Ok(importer) => studies.push(ImportedStudy { importer, files: runs }),
        Err(failure) => add_failure(failed, failure),
    }
    studies
}

/// Returns two files with the same contents: as two trials they would agree perfectly, and show nothing.
fn same_run(runs: &[ImportedFile]) -> Option<(&str, &str)> {
    let mut names: BTreeMap<[u8; 32], &str> = BTreeMap::new();
    for run in runs {
        if let Some(first) = names.insert(sha256(&run.bytes), &run.name) {
            return Some((first, &run.name));
        }
    }
    None
}

/// Returns the files with their levels from `--set` and `--filename-pattern`.
fn named_arms(arguments: &ImportArguments) -> Outcome<Vec<(String, Arm)>> {
    let mut files = arguments.named.files.clone();
    if let Some(pattern) = &arguments.filename_pattern {
        for (file, arm) in &mut files {
            let name = file_name(file);
            let Some(levels) = pattern::levels(pattern, &name)? else {
                return Err(mistake!(
                    "--filename-pattern {pattern}: file name {name} does not match"
                ));
            };
            // `{run}` numbers the runs of an arm, and is not a setting.
            arm.extend(levels.into_iter().filter(|(name, _)| name != RUN));
        }
    }
    Ok(files)
}

const RUN: &str = "run";

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Joins a failure to earlier ones; the kind of one that the machine caused prevails over that of a mistake.
fn add_failure(failed: &mut Option<Failure>, failure: Failure) {
    let Some(first) = failed else {
        *failed = Some(failure);
        return;
    };
    if failure.kind == Kind::Refused {
        first.kind = Kind::Refused;
    }
    first.message = format!("{}\n{}", first.message, failure.message);
}

/// Parses `FACTOR=VALUE`.
fn parse_level(word: &str) -> Option<(&str, &str)> {
    let (name, level) = word.split_once('=').map(|(name, level)| (name.trim(), level.trim()))?;
    (!name.is_empty() && !level.is_empty()).then_some((name, level))
}

fn baseline(words: &[String]) -> Outcome<Arm> {
    let mut arm = Arm::new();
    for word in words {
        let Some((name, level)) = parse_level(word) else {
            return Err(mistake!("--baseline {word}: use FACTOR=VALUE, such as filesystem=ext4"));
        };
        if let Some(other) = arm.insert(name.to_owned(), level.to_owned()) {
            return Err(mistake!(
                "--baseline contains two levels of {name}: {other} and {level}; use one level"
            ));
        }
    }
    Ok(arm)
}

fn directions(words: &[String]) -> Outcome<BTreeMap<String, Better>> {
    let mut stated = BTreeMap::new();
    for word in words {
        let parts = word.rsplit_once('=').filter(|(metric, _)| !metric.is_empty());
        let better = parts.and_then(|(metric, direction)| match direction {
            "higher" => Some((metric, Better::Higher)),
            "lower" => Some((metric, Better::Lower)),
            _ => None,
        });
        let Some((metric, better)) = better else {
            return Err(mistake!(
                "--better {word}: no direction of the metric; use METRIC=higher or METRIC=lower"
            ));
        };
        if stated.insert(metric.to_owned(), better).is_some_and(|other| other != better) {
            return Err(mistake!("--better gives two directions for {metric}; use one direction"));
        }
    }
    Ok(stated)
}

fn margin(text: Option<&str>) -> Outcome<Option<f64>> {
    let Some(text) = text else { return Ok(None) };
    let margin: Percent = text.parse().map_err(|error| mistake!("--margin: {error}"))?;
    if margin.0 <= 0.0 {
        return Err(mistake!("--margin {text}: use a difference above 0%, such as 5%"));
    }
    Ok(Some(margin.fraction()))
}

/// Reads a file, up to the size limit of its format.
fn read_file(system: &dyn System, file: &str, arm: Arm) -> Outcome<ImportedFile> {
    let path = Path::new(file);
    let refused = |error| refused!("cannot read {file}: {error}");
    let status = system.status(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => mistake!("no such file: {file}"),
        _ => refused(error),
    })?;
    match status.kind {
        FileKind::File => {}
        FileKind::Directory => {
            return Err(mistake!("{file} is a directory; give a file in the directory"));
        }
        _ => {
            return Err(mistake!("{file} is not a regular file; save the table as a file first"));
        }
    }
    if status.size_bytes > LARGEST_RUNS_BYTES {
        let opened = system.open_for_reading(path, Caching::Buffered).map_err(refused)?;
        let mut head = vec![0; HEAD_BYTES];
        let read = system.read_at(&opened, 0, &mut head).map_err(refused)?;
        head.truncate(read);
        let importer = import::of_bytes(file, &head)?;
        if matches!(importer.reads, Reads::Runs(_)) {
            return Err(mistake!(
                "{file} ({}) is {}, above the limit of {}; remove unneeded parts such as logs, or import parts",
                importer.about.name,
                Bytes(status.size_bytes),
                Bytes(LARGEST_RUNS_BYTES)
            ));
        }
    }
    if status.size_bytes > LARGEST_BYTES {
        return Err(mistake!(
            "{file} is larger than {}, the limit for a table of trials; remove unneeded rows",
            Bytes(LARGEST_BYTES)
        ));
    }
    let bytes = system.read_bytes(path).map_err(refused)?;
    Ok(ImportedFile { name: file.to_owned(), arm, bytes })
}

/// Returns the description to store with an import. A table contains its levels, so `--set` is refused.
fn describe_import(
    system: &dyn System,
    arguments: &ImportArguments,
    study: &ImportedStudy,
    baseline: &Arm,
    margin: Option<f64>,
) -> Outcome<Import> {
    let ImportedStudy { importer, files } = study;
    let is_table = matches!(importer.reads, Reads::Table(_));
    let source = |file: &ImportedFile| SourceFile {
        file: criterion::named_path(&file.name).unwrap_or_else(|| file_name(&file.name)),
        sha256: hexadecimal(&sha256(&file.bytes)),
        arm: file.arm.clone(),
    };
    let sources: Vec<SourceFile> = files.iter().map(source).collect();
    let Some(first) = sources.first() else { return Err(mistake!("there is no file")) };
    let name = match sources.len() {
        1 => first.file.clone(),
        count => format!("{} and {} more", first.file, count - 1),
    };
    if is_table && let Some((name, level)) = files[0].arm.first_key_value() {
        return Err(mistake!(
            "{}: a table already contains the factors; add a column factor_{name} with {level}, and remove --set",
            files[0].name
        ));
    }
    Ok(Import {
        format: if is_table { FORMAT } else { FORMAT_OF_FILES }.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        importer: importer.about.name.to_owned(),
        sha256: if is_table { first.sha256.clone() } else { hash_of_all(&sources) },
        title: arguments.title.clone().unwrap_or_else(|| name.clone()),
        file: name,
        imported: system.now(),
        baseline: baseline.clone(),
        margin,
        primary: arguments.primary_metric.clone(),
        trials: 0,
        files: if is_table { Vec::new() } else { sources },
        in_order: arguments.in_order && !is_table,
        better: directions(&arguments.better)?,
    })
}

fn read_numbers(mut about: Import, study: ImportedStudy) -> Outcome<(StoredImport, Imported)> {
    let ImportedStudy { importer, files } = study;
    let imported = import::read(importer, &files, &Options::of(&about))?;
    about.trials = imported.trials;
    let contents = files.into_iter().map(|file| file.bytes).collect();
    let label = Label::default();
    Ok((StoredImport { id: String::new(), about, contents, label }, imported))
}

/// Stores an import under a new ID.
fn write(system: &dyn System, stored: &mut StoredImport) -> Outcome<()> {
    let results = identity::results_directory(system)?;
    stored.id = id::unused_id(system, &results, &stored.about.imported);
    let directory = results.join(&stored.id);
    imported::write(system, &directory, &stored.about, &stored.contents).map_err(|error| {
        refused!(
            "cannot write {}: {error}; set ASSAY_HOME to a directory that you own",
            directory.display()
        )
    })
}

/// Files with the levels of the `--set` options before each.
#[derive(Clone, Debug, Default)]
struct NamedFiles {
    files: Vec<(String, Arm)>,
}

const FILE: &str = "files";
const ARM: &str = "set";

impl Args for NamedFiles {
    fn augment_args(command: clap::Command) -> clap::Command {
        let file = Arg::new(FILE)
            .value_name("FILE")
            .help("Files to import")
            .required(true)
            .num_args(1..)
            .action(ArgAction::Append);
        let arm = Arg::new(ARM)
            .long("set")
            .value_name("FACTOR=VALUE")
            .help("Set a level for all files up to the next --set")
            .action(ArgAction::Append);
        command.arg(file).arg(arm)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Returns the values of an argument with their positions.
fn positioned(matches: &ArgMatches, name: &str) -> Vec<(usize, String)> {
    let words = matches.get_many::<String>(name).into_iter().flatten().cloned();
    matches.indices_of(name).into_iter().flatten().zip(words).collect()
}

impl FromArgMatches for NamedFiles {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // Files and levels in the order of the command line: position, whether it is a file, and text.
        let mut words: Vec<(usize, bool, String)> = Vec::new();
        words.extend(positioned(matches, FILE).into_iter().map(|(at, word)| (at, true, word)));
        words.extend(positioned(matches, ARM).into_iter().map(|(at, word)| (at, false, word)));
        words.sort();
        let (mut files, mut arm) = (Vec::new(), Arm::new());
        let mut has_files = false;
        for (_, is_file, word) in words {
            if is_file {
                has_files = true;
                files.push((word, arm.clone()));
                continue;
            }
            // The first level after files starts a new configuration.
            if has_files {
                arm.clear();
                has_files = false;
            }
            let Some((name, level)) = parse_level(&word) else {
                let message = format!("--set {word}: use FACTOR=VALUE, such as scheduler=bfq\n");
                return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, message));
            };
            arm.insert(name.to_owned(), level.to_owned());
        }
        Ok(Self { files })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
