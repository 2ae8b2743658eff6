//! The directory that keeps one study (`<results>/<id>/`): written as the study goes, so that a
//! crash loses no finished trial.
//!
//! `study.toml` (resolved), `plan.json`, `environment.json`, `trials.jsonl` (one synced line a
//! trial), `histograms/`, `series/`, `label.json` (title and notes that the user adds). What was
//! imported is a bundle, too; its files stand in [`super::imported`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::histogram;
use super::imported::{self, StoredImport};
use super::log::{self, ENDED, Entry};
use super::plan::Plan;
use super::record::{Trial, TrialRecord};
use super::series::SeriesRow;
use super::tally::Tally;
use crate::failure::{Failure, Outcome};
use crate::study::{self, Study};
use crate::system::System;

/// Words that the user adds to a study (`label.json`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Title instead of the study's own.
    #[serde(default)]
    pub title: Option<String>,
    /// Notes, oldest first.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Histograms of service times in nanoseconds, by class of operations.
pub type Histograms = BTreeMap<String, Histogram<u64>>;

/// A bundle that is being written.
pub struct Bundle<'a> {
    system: &'a dyn System,
    directory: PathBuf,
}

impl<'a> Bundle<'a> {
    /// Makes the directory and writes what is known before the first trial.
    pub fn create(
        system: &'a dyn System,
        directory: &Path,
        study: &Study,
        plan: &Plan,
        environment: &Environment,
    ) -> io::Result<Self> {
        for part in ["histograms", "series"] {
            system.create_directory(&directory.join(part))?;
        }
        let study = study::file::write(study).map_err(io::Error::other)?;
        system.write_whole(&directory.join("study.toml"), study.as_bytes())?;
        system.write_whole(&directory.join("environment.json"), &json(environment)?)?;
        system.write_whole(&directory.join("plan.json"), &json(plan)?)?;
        Ok(Self { system, directory: directory.to_owned() })
    }

    /// Opens a bundle to go on with it. A last line that a crash cut off is taken away first, so
    /// that the next one does not begin in the middle of it.
    pub fn reopen(system: &'a dyn System, directory: &Path) -> io::Result<Self> {
        let path = directory.join("trials.jsonl");
        match system.read_text(&path) {
            Ok(text) if !text.is_empty() && !text.ends_with('\n') => {
                let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
                system.write_whole(&path, whole.as_bytes())?;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { system, directory: directory.to_owned() })
    }

    /// Adds one line to the log.
    pub fn log(&self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(io::Error::other)?;
        line.push(b'\n');
        self.system.append(&self.directory.join("log.jsonl"), &line)
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds one finished trial: histograms by class and series first, then its line.
    pub fn append(
        &self,
        record: &mut TrialRecord,
        histograms: &Histograms,
        series: &[SeriesRow],
    ) -> io::Result<()> {
        let stem = format!("{:04}", record.order);
        for (class, latencies) in histograms {
            let name = format!("histograms/{stem}-{class}.json");
            let text = histogram::to_json(class, latencies).map_err(io::Error::other)?;
            self.system.write_whole(&self.directory.join(&name), text.as_bytes())?;
            record.histograms.insert(class.clone(), name);
        }
        if !series.is_empty() {
            let name = format!("series/{stem}.json");
            let text = serde_json::to_vec(series).map_err(io::Error::other)?;
            self.system.write_whole(&self.directory.join(&name), &text)?;
            record.series = Some(name);
        }
        let mut line = serde_json::to_vec(record).map_err(io::Error::other)?;
        line.push(b'\n');
        self.system.append(&self.directory.join("trials.jsonl"), &line)
    }
}

pub(super) fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(io::Error::other)
}

/// A bundle as it was read.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its id: the name of its directory.
    pub id: String,
    /// The study.
    pub study: Study,
    /// The plan.
    pub plan: Plan,
    /// The environment.
    pub environment: Environment,
    /// Finished trials in the order in which they ran.
    pub trials: Vec<Trial>,
    /// What the user added.
    pub label: Label,
    /// Why it ended before its last planned trial, where a rule ended it.
    pub ended: Option<String>,
}

impl Stored {
    /// The user's title, or the study's own.
    pub fn title(&self) -> &str {
        self.label.title.as_deref().unwrap_or(&self.study.title)
    }
}

/// A bundle of either sort.
#[derive(Clone, Debug)]
pub enum Kept {
    /// A study that ran here.
    Study(Box<Stored>),
    /// Numbers that were brought along.
    Import(Box<StoredImport>),
}

/// Reads a bundle of either sort.
pub fn open(system: &dyn System, directory: &Path) -> Outcome<Kept> {
    if imported::is_one(system, directory) {
        return imported::read(system, directory).map(|import| Kept::Import(Box::new(import)));
    }
    read(system, directory).map(|study| Kept::Study(Box::new(study)))
}

/// Whether a directory is a bundle.
pub fn is_bundle(system: &dyn System, directory: &Path) -> bool {
    system.status(&directory.join("plan.json")).is_ok() || imported::is_one(system, directory)
}

/// The id of a bundle: the name of its directory.
pub(super) fn id_of(directory: &Path) -> String {
    directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads the bundle of a study. A last line that was cut off by a crash is passed over: its trial
/// never finished.
pub fn read(system: &dyn System, directory: &Path) -> Outcome<Stored> {
    let id = id_of(directory);
    if imported::is_one(system, directory) {
        return Err(Failure::mistake(format!(
            "{id} was imported: there is no study in it that could be run"
        )));
    }
    let study_text = text(system, &directory.join("study.toml"))?;
    let plan: Plan = parsed(system, &directory.join("plan.json"))?;
    known_format(directory, &plan.format, super::plan::FORMAT)?;
    let environment: Environment = parsed(system, &directory.join("environment.json"))?;
    known_format(directory, &environment.format, super::environment::FORMAT)?;
    Ok(Stored {
        study: study::file::stored(&format!("{id}/study.toml"), &study_text)?,
        trials: trials(system, directory, plan.workloads.len())?,
        label: label(system, directory),
        ended: ended(system, directory),
        id,
        plan,
        environment,
    })
}

/// How a study ended, by its log; none where it was interrupted, or never wrote one.
pub fn ended(system: &dyn System, directory: &Path) -> Option<String> {
    let text = system.read_text(&directory.join("log.jsonl")).ok()?;
    let ends = |entry: &Entry| entry.event == ENDED;
    log::entries(&text).into_iter().rev().find(ends).map(|entry| entry.text)
}

/// What the user added to a bundle.
pub fn label(system: &dyn System, directory: &Path) -> Label {
    system
        .read_text(&directory.join("label.json"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Stores what the user added.
pub fn set_label(system: &dyn System, directory: &Path, label: &Label) -> Outcome<()> {
    json(label).and_then(|bytes| system.write_whole(&directory.join("label.json"), &bytes)).map_err(
        |error| Failure::refused(format!("{} cannot be changed: {error}", directory.display())),
    )
}

pub(super) fn known_format(directory: &Path, found: &str, known: &str) -> Outcome<()> {
    if found == known {
        return Ok(());
    }
    Err(Failure::mistake(format!(
        "{} has format {found}; this version of assay reads {known}: use the version that wrote it, or a newer one",
        directory.display()
    )))
}

fn trials(system: &dyn System, directory: &Path, workloads: usize) -> Outcome<Vec<Trial>> {
    let path = directory.join("trials.jsonl");
    let text = match system.read_text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| unreadable(&path, &error))?,
    };
    let mut trials = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        match serde_json::from_str::<TrialRecord>(line) {
            Ok(record) if record.workload < workloads => {
                trials.push(with_histograms(system, directory, record)?);
            }
            Ok(record) => {
                let place = format!("{}:{}", path.display(), index + 1);
                return Err(Failure::mistake(format!(
                    "{place}: workload {} is not in the plan; the bundle is damaged",
                    record.workload
                )));
            }
            Err(_) if index + 1 == lines.len() && !text.ends_with('\n') => {}
            Err(error) => {
                let place = format!("{}:{}", path.display(), index + 1);
                return Err(Failure::mistake(format!("{place}: {error}; the bundle is damaged")));
            }
        }
    }
    Ok(trials)
}

fn with_histograms(system: &dyn System, directory: &Path, record: TrialRecord) -> Outcome<Trial> {
    let mut latency_ns = BTreeMap::new();
    for (class, name) in &record.histograms {
        let path = inside(directory, name)?;
        let text = text(system, &path)?;
        let (_, latencies) = histogram::from_json(&text)
            .map_err(|error| Failure::mistake(format!("{}: {error}", path.display())))?;
        latency_ns.insert(class.clone(), Tally::from(&latencies));
    }
    Ok(Trial { record, latency_ns })
}

/// A bundle names only files of its own.
pub(super) fn inside(directory: &Path, name: &str) -> Outcome<PathBuf> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if plain {
        return Ok(directory.join(path));
    }
    Err(Failure::mistake(format!(
        "{}: the file name `{name}` leaves the bundle; it is damaged",
        directory.display()
    )))
}

pub(super) fn text(system: &dyn System, path: &Path) -> Outcome<String> {
    system.read_text(path).map_err(|error| unreadable(path, &error))
}

pub(super) fn parsed<T: DeserializeOwned>(system: &dyn System, path: &Path) -> Outcome<T> {
    serde_json::from_str(&text(system, path)?).map_err(|error| {
        Failure::mistake(format!("{}: {error}; the bundle is damaged", path.display()))
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format!("{} cannot be read: {error}", path.display()))
}

/// One bundle in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Id.
    pub id: String,
    /// Title.
    pub title: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Finished trials, lead-in included.
    pub trials: usize,
    /// Trials of the plan.
    pub planned: usize,
}

/// All bundles below a results directory, newest first; what cannot be read is left out with a
/// warning each.
pub fn list(system: &dyn System, results: &Path) -> (Vec<Listed>, Vec<String>) {
    let (mut listed, mut warnings) = (Vec::new(), Vec::new());
    for id in ids(system, results) {
        match entry(system, &results.join(&id), id) {
            Ok(entry) => listed.push(entry),
            Err(failure) => warnings.push(failure.message),
        }
    }
    (listed, warnings)
}

/// Ids of all bundles, newest first.
pub fn ids(system: &dyn System, results: &Path) -> Vec<String> {
    let mut names = system.list(results).unwrap_or_default();
    names.retain(|name| is_bundle(system, &results.join(name)));
    names.sort_unstable_by(|a, b| b.cmp(a));
    names
}

fn entry(system: &dyn System, directory: &Path, id: String) -> Outcome<Listed> {
    if imported::is_one(system, directory) {
        return imported::listed(system, directory, id);
    }
    let plan: Plan = parsed(system, &directory.join("plan.json"))?;
    let environment: Environment = parsed(system, &directory.join("environment.json"))?;
    let study = study::file::stored(&id, &text(system, &directory.join("study.toml"))?)?;
    let lines = system.read_text(&directory.join("trials.jsonl")).unwrap_or_default();
    Ok(Listed {
        title: label(system, directory).title.unwrap_or(study.title),
        started: environment.started,
        bytes: bytes_below(system, directory),
        trials: lines.lines().count(),
        planned: plan.trials.len(),
        id,
    })
}

pub(super) fn bytes_below(system: &dyn System, directory: &Path) -> u64 {
    let names = system.list(directory).unwrap_or_default();
    names
        .iter()
        .map(|name| {
            let path = directory.join(name);
            match system.status(&path) {
                Ok(status) if status.kind == crate::system::FileKind::Directory => {
                    bytes_below(system, &path)
                }
                Ok(status) => status.size_bytes,
                Err(_) => 0,
            }
        })
        .sum()
}
