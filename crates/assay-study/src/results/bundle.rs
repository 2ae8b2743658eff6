//! The directory of one study (`<results>/<id>/`), written during the study, so a crash loses no finished trial.
//!
//! `study.toml` (resolved), `plan.json`, `environment.json`, `trials.jsonl` (one synced line per trial), `histograms/`,
//! `series/`, `label.json` (title and notes of the user). [`super::imported`] describes bundles of imported results.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_core::{mistake, refused};
use assay_machine::system::{FileKind, HoldError, Locking, OwnFile, System};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::cache::{self, Cache};
use super::course;
use super::cut;
use super::environment::Environment;
use super::foreign;
use super::headline::{self, Headline};
use super::histogram;
use super::imported;
use super::log::{self, ENDED, LogEntry};
use super::plan::{Arm, Plan};
use super::record::Trial;
use super::series::SeriesRow;
use super::trials::Trials;
use crate::file::{self, Study};

pub use assay_workloads::Histograms;

/// The plan: a directory with this file is a bundle, and a process that works on the bundle locks the file.
const PLAN: &str = "plan.json";
const TRIALS: &str = "trials.jsonl";
const LIST: &str = ".list.json";
/// Maximum size of a file to read; far above that of any study.
const LARGEST_FILE_BYTES: u64 = 1 << 30;
const MOST_NOTES: usize = 100;
/// How often a bundle's lock is tried: who only looks has it for a moment.
const LOCK_ATTEMPTS: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub title: Option<String>,
    /// Notes, oldest first.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Name of the place, instead of the detected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The file of trials of a bundle, and whether its last line is that of a trial that has not ended.
pub struct SoFar<'a> {
    system: &'a dyn System,
    path: PathBuf,
    unended: AtomicBool,
}

impl<'a> SoFar<'a> {
    fn new(system: &'a dyn System, directory: &Path) -> Self {
        Self { system, path: directory.join(TRIALS), unended: AtomicBool::new(false) }
    }

    /// Stores an unfinished trial as a last line without an end; readers use it, resume drops it.
    pub fn keep(&self, record: &Trial) -> io::Result<()> {
        let line = serde_json::to_string(record).map_err(io::Error::other)?;
        self.unended.store(true, Ordering::Relaxed);
        self.system.write_whole(&self.path, (self.whole_lines()? + &line).as_bytes())
    }

    /// Appends the line of an ended trial, in place of an unfinished last line.
    fn append(&self, line: &[u8]) -> io::Result<()> {
        if !self.unended.load(Ordering::Relaxed) {
            return self.system.append(&self.path, line);
        }
        let whole = [self.whole_lines()?.as_bytes(), line].concat();
        self.system.write_whole(&self.path, &whole)?;
        self.unended.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Reads the file without an unfinished last line; empty if there is no file.
    fn whole_lines(&self) -> io::Result<String> {
        match self.system.read_text(&self.path) {
            Ok(text) => {
                Ok(text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }
}

pub struct Bundle<'a> {
    system: &'a dyn System,
    directory: PathBuf,
    so_far: SoFar<'a>,
    /// Lock of this process on the bundle, released at any exit.
    _running: Option<OwnFile>,
}

impl<'a> Bundle<'a> {
    /// Creates the directory and writes the known files; removes the directory on failure.
    pub fn create(
        system: &'a dyn System,
        directory: &Path,
        study: &Study,
        plan: &Plan,
        environment: &Environment,
    ) -> io::Result<Self> {
        let existed = system.status(directory).is_ok();
        let write_files = || {
            for part in ["histograms", "series"] {
                system.create_directory(&directory.join(part))?;
            }
            let study = file::text::write(study).map_err(io::Error::other)?;
            system.write_whole(&directory.join("study.toml"), study.as_bytes())?;
            system.write_whole(&directory.join("environment.json"), &json(environment)?)?;
            // The plan is last: a directory without a plan is not a bundle.
            system.write_whole(&directory.join(PLAN), &json(plan)?)
        };
        if let Err(error) = write_files() {
            if !existed {
                let _ = system.remove_directory(directory);
            }
            return Err(error);
        }
        // The bundle is new, so another lock holder only reads; a study runs without the lock, too.
        let running = lock_busy(system, directory).unwrap_or_default();
        let (directory, so_far) = (directory.to_owned(), SoFar::new(system, directory));
        Ok(Self { system, directory, so_far, _running: running })
    }

    /// Opens a bundle to resume it, after removing a truncated last line; `WouldBlock` if it is in use.
    pub fn reopen(system: &'a dyn System, directory: &Path) -> io::Result<Self> {
        let running = lock_busy(system, directory)?;
        let path = directory.join(TRIALS);
        match system.read_text(&path) {
            Ok(text) => {
                let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
                if whole != text {
                    system.write_whole(&path, whole.as_bytes())?;
                }
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let (directory, so_far) = (directory.to_owned(), SoFar::new(system, directory));
        Ok(Self { system, directory, so_far, _running: running })
    }

    pub fn log(&self, entry: &LogEntry) -> io::Result<()> {
        add_to_log(self.system, &self.directory, entry)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn so_far(&self) -> &SoFar<'a> {
        &self.so_far
    }

    /// Stores the histograms and the series of a trial, then its record with the names of these files.
    pub fn append(
        &self,
        record: &mut Trial,
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
        self.so_far.append(&line)
    }

    /// Writes the environment again, with the facts known after the trials.
    pub fn keep_environment(&self, environment: &Environment) -> io::Result<()> {
        self.system.write_whole(&self.directory.join("environment.json"), &json(environment)?)
    }
}

/// Locks a bundle while this process works on it; `None` without filesystem locks.
fn lock_busy(system: &dyn System, directory: &Path) -> io::Result<Option<OwnFile>> {
    for _ in 0..LOCK_ATTEMPTS {
        match system.lock_file(&directory.join(PLAN), Locking::Mark) {
            Ok(file) => return Ok(Some(file)),
            Err(HoldError::Failed(_)) => return Ok(None),
            Err(HoldError::Held { .. }) => system.sleep(Duration::from_millis(10)),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is using the bundle"))
}

pub fn is_running(system: &dyn System, directory: &Path) -> bool {
    let found = system.lock_file(&directory.join(PLAN), Locking::Glance);
    matches!(found, Err(HoldError::Held { .. }))
}

pub(super) fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(io::Error::other)
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub id: String,
    pub study: Study,
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<Trial>,
    pub label: Label,
    pub ended: Option<String>,
}

impl Stored {
    pub fn title(&self) -> &str {
        self.label.title.as_deref().unwrap_or(&self.study.title)
    }
}

pub fn is_bundle(system: &dyn System, directory: &Path) -> bool {
    system.status(&directory.join(PLAN)).is_ok() || imported::is_one(system, directory)
}

pub fn id_of(directory: &Path) -> String {
    directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads the bundle of a study. A truncated last line is ignored: its trial never finished.
pub fn read(system: &dyn System, directory: &Path) -> Outcome<Stored> {
    let stored = read_as_planned(system, directory)?;
    let ran = stored.trials.iter().map(|trial| (trial.workload, trial.replicate, &trial.arm));
    let plan = course::as_run(stored.plan, ran, stored.ended.is_some());
    Ok(Stored { plan, ..stored })
}

pub(super) fn read_as_planned(system: &dyn System, directory: &Path) -> Outcome<Stored> {
    let mut stored = frame_as_planned(system, directory)?;
    stored.trials = Trials::open(system, directory, &stored.plan)?.all()?;
    Ok(stored)
}

/// Reads a bundle without its trials. The plan of a search for a rate has the rates that ran.
pub fn frame(system: &dyn System, directory: &Path) -> Outcome<Stored> {
    let stored = frame_as_planned(system, directory)?;
    if !course::is_of(&stored.plan) {
        return Ok(stored);
    }
    let mut ran: Vec<(usize, u32, Arm)> = Vec::new();
    Trials::open(system, directory, &stored.plan)?.each_record(&mut |record| {
        ran.push((record.workload, record.replicate, record.arm));
        Ok(())
    })?;
    let ran = ran.iter().map(|(workload, replicate, arm)| (*workload, *replicate, arm));
    let plan = course::as_run(stored.plan, ran, stored.ended.is_some());
    Ok(Stored { plan, ..stored })
}

/// Like [`frame`], without the rates that ran.
fn frame_as_planned(system: &dyn System, directory: &Path) -> Outcome<Stored> {
    let id = id_of(directory);
    plain_id(&id)?;
    if imported::is_one(system, directory) {
        return Err(mistake!("{id} was imported and contains no study that Assay can run"));
    }
    let study = study(directory, &text(system, &directory.join("study.toml"))?)?;
    let plan = plan(directory, &text(system, &directory.join(PLAN))?)?;
    let path = directory.join("environment.json");
    Ok(Stored {
        id,
        study,
        plan,
        environment: versioned(system, &path, super::environment::FORMAT)?,
        trials: Vec::new(),
        label: label(system, directory),
        ended: ended(system, directory),
    })
}

fn study(directory: &Path, text: &str) -> Outcome<Study> {
    file::text::stored(&format!("{}/study.toml", id_of(directory)), &cut::toml(text))
}

/// Parses a plan; fails for unknown targets or workloads, and for names that no study can have.
fn plan(directory: &Path, text: &str) -> Outcome<Plan> {
    let path = directory.join(PLAN);
    let plan: Plan = of_version(&path, text, super::plan::FORMAT)?;
    let mut targets = plan.workloads.iter().map(|workload| workload.target);
    let has_targets = targets.all(|target| target < plan.surveys.len())
        && plan.absent.iter().all(|absent| absent.target < plan.surveys.len());
    let has_workloads = plan.trials.iter().all(|trial| trial.workload < plan.workloads.len());
    if !has_targets || !has_workloads {
        return Err(mistake!(
            "{}: unknown target or workload number; the bundle is damaged",
            path.display()
        ));
    }
    plain_names(&plan)
        .map_err(|how| mistake!("{}: {how}; the bundle is damaged", path.display()))?;
    Ok(plan)
}

/// Rejects names of factors and levels that no study file can contain, anywhere in a plan.
fn plain_names(plan: &Plan) -> Result<(), String> {
    for factor in &plan.design.factors {
        outside::plain("a factor", &factor.name)?;
        factor.levels.iter().try_for_each(|level| outside::plain("a level", level))?;
    }
    let arms = plan.workloads.iter().map(|workload| &workload.arm);
    let arms = arms.chain(plan.trials.iter().map(|trial| &trial.arm));
    let arms = arms.chain(plan.absent.iter().map(|absent| &absent.configuration));
    let arms = arms.chain(plan.surveys.iter().map(|survey| &survey.under));
    arms.chain([&plan.design.baseline]).try_for_each(plain_arm)
}

fn plain_arm(arm: &Arm) -> Result<(), String> {
    arm.iter().try_for_each(|(factor, level)| {
        outside::plain("a factor", factor)?;
        outside::plain("a level", level)
    })
}

/// Rejects directory names with control characters, because files contain them.
pub(super) fn plain_id(id: &str) -> Outcome<()> {
    outside::plain("a result", id).map_err(|how| mistake!("{how}; rename the directory"))
}

/// How a study ended, according to its log; `None` if interrupted or without a log.
fn ended(system: &dyn System, directory: &Path) -> Option<String> {
    let ends = |entry: &LogEntry| entry.event == ENDED;
    log(system, directory).into_iter().rev().find(ends).map(|entry| entry.text)
}

/// Appends a line to the log of a bundle, from any process.
pub fn add_to_log(system: &dyn System, directory: &Path, entry: &LogEntry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry).map_err(io::Error::other)?;
    line.push(b'\n');
    system.append(&directory.join("log.jsonl"), &line)
}

pub fn log(system: &dyn System, directory: &Path) -> Vec<LogEntry> {
    let text = content(system, &directory.join("log.jsonl")).unwrap_or_default();
    log::entries(&text)
}

/// Reads title and notes of the user; empty without a readable file.
pub fn label(system: &dyn System, directory: &Path) -> Label {
    let text = content(system, &directory.join("label.json"));
    let read = text.ok().and_then(|text| cut::json(&text).ok());
    let mut label: Label = read.unwrap_or_default();
    let more = label.notes.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        label.notes.truncate(MOST_NOTES);
        label.notes.push(format!("[... cut: {more} more notes]"));
    }
    label
}

pub fn set_label(system: &dyn System, directory: &Path, label: &Label) -> Outcome<()> {
    json(label)
        .and_then(|bytes| system.write_whole(&directory.join("label.json"), &bytes))
        .map_err(|error| refused!("cannot change {}: {error}", directory.display()))
}

pub(super) fn known_format(directory: &Path, found: &str, known: &str) -> Outcome<()> {
    if found == known {
        return Ok(());
    }
    Err(mistake!(
        "{} has format {found}, this version reads {known}; use the version that wrote the result, or a newer one",
        directory.display()
    ))
}

/// Parses a line of `trials.jsonl`; fails for numbers or names that no trial can have.
pub fn record(line: &str) -> Result<Trial, String> {
    if cut::has_giant(line) {
        return Err("a number is too large".to_owned());
    }
    let record: Trial = cut::json(line).map_err(|error| error.to_string())?;
    plain_arm(&record.arm)?;
    Ok(record)
}

pub fn read_latencies(system: &dyn System, directory: &Path, trial: &mut Trial) -> Outcome<()> {
    for (class, name) in &trial.histograms {
        let path = inside(directory, name)?;
        let (_, latencies) = histogram::from_json(&text(system, &path)?)
            .map_err(|error| mistake!("{}: {error}", path.display()))?;
        trial.latency_ns.insert(class.clone(), latencies);
    }
    Ok(())
}

pub fn unlinked(system: &dyn System, path: &Path) -> Outcome<()> {
    if system.read_link(path).is_err() {
        return Ok(());
    }
    Err(refused!(
        "{} is a symbolic link; Assay acts only on results at their original path",
        path.display()
    ))
}

/// Path of a file of a bundle; fails for a name that leads out of the directory.
pub(super) fn inside(directory: &Path, name: &str) -> Outcome<PathBuf> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if plain {
        return Ok(directory.join(path));
    }
    Err(mistake!(
        "{}: the file name `{name}` points outside the bundle; the bundle is damaged",
        directory.display()
    ))
}

/// Text of a file of a bundle. A pipe, a device or a giant in its place is not waited for.
pub(super) fn content(system: &dyn System, path: &Path) -> io::Result<String> {
    size_bytes(system, path).and_then(|_| system.read_text(path))
}

pub(super) fn size_bytes(system: &dyn System, path: &Path) -> io::Result<u64> {
    let found = system.status(path)?;
    if found.kind != FileKind::File || found.size_bytes > LARGEST_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a result file"));
    }
    Ok(found.size_bytes)
}

pub(super) fn text(system: &dyn System, path: &Path) -> Outcome<String> {
    content(system, path).map_err(|error| refused!("cannot read {}: {error}", path.display()))
}

pub(super) fn parsed<T: DeserializeOwned>(system: &dyn System, path: &Path) -> Outcome<T> {
    cut::json(&text(system, path)?).map_err(|error| damaged(path, &error))
}

/// Reads a file after checking its format: other formats may have other fields.
pub(super) fn versioned<T: DeserializeOwned>(
    system: &dyn System,
    path: &Path,
    format: &str,
) -> Outcome<T> {
    of_version(path, &text(system, path)?, format)
}

fn of_version<T: DeserializeOwned>(path: &Path, text: &str, format: &str) -> Outcome<T> {
    known_format(path, &format_of(path, text)?, format)?;
    cut::json(text).map_err(|error| damaged(path, &error))
}

fn format_of(path: &Path, text: &str) -> Outcome<String> {
    #[derive(Deserialize)]
    struct BundleHead {
        #[serde(default)]
        format: String,
    }
    let head: BundleHead = cut::json(text).map_err(|error| damaged(path, &error))?;
    Ok(head.format)
}

fn damaged(path: &Path, error: &serde_json::Error) -> Failure {
    mistake!("{}: {error}; the bundle is damaged", path.display())
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub id: String,
    pub title: String,
    pub kind: String,
    /// Targets, as on the command line; empty for imported results.
    pub targets: Vec<String>,
    /// When it started, RFC 3339.
    pub started: String,
    pub bytes: u64,
    pub trials: usize,
    pub planned: usize,
    pub interrupted: bool,
    pub drives: Vec<String>,
    pub headline: Option<Headline>,
    /// Somebody else measured it.
    pub foreign: bool,
}

/// All bundles of a results directory, newest first, and a warning for each unreadable one.
pub fn list(system: &dyn System, results: &Path) -> (Vec<Listed>, Vec<String>) {
    let (mut cache, mut warnings) = (Cache::open(system, &results.join(LIST)), Vec::new());
    for id in ids(system, results) {
        let directory = results.join(&id);
        // A lock changes no file.
        let is_running = u64::from(is_running(system, &directory));
        let stamp = cache::stamp_below(system, &directory, "").wrapping_add(is_running);
        let added = cache.add(id, stamp, || listed(system, &directory));
        warnings.extend(added.err().map(|failure| failure.message));
    }
    (cache.keep().rev().collect(), warnings)
}

pub fn ids(system: &dyn System, results: &Path) -> Vec<String> {
    let mut names = system.list(results).unwrap_or_default();
    // A leading dot marks an incomplete transfer.
    names.retain(|name| !name.starts_with('.') && is_bundle(system, &results.join(name)));
    names.sort_unstable_by(|a, b| b.cmp(a));
    names
}

/// Summarizes a bundle for the list of results.
pub fn listed(system: &dyn System, directory: &Path) -> Outcome<Listed> {
    #[derive(Deserialize)]
    struct Planned {
        trials: Vec<IgnoredAny>,
    }
    let id = id_of(directory);
    plain_id(&id)?;
    if imported::is_one(system, directory) {
        return imported::listed(system, directory, id);
    }
    let path = directory.join(PLAN);
    let plan: Planned = versioned(system, &path, super::plan::FORMAT)?;
    let path = directory.join("environment.json");
    let environment: Environment = versioned(system, &path, super::environment::FORMAT)?;
    let study = study(directory, &text(system, &directory.join("study.toml"))?)?;
    let trials = content(system, &directory.join(TRIALS)).unwrap_or_default().lines().count();
    let planned = plan.trials.len();
    let is_abandoned = || ended(system, directory).is_none() && !is_running(system, directory);
    Ok(Listed {
        kind: study.kind().to_owned(),
        targets: study.targets(),
        title: label(system, directory).title.unwrap_or(study.title),
        drives: environment.drives(),
        started: environment.started,
        bytes: bytes_below(system, directory),
        trials,
        planned,
        interrupted: trials < planned && is_abandoned(),
        headline: headline::read(system, directory),
        foreign: foreign::is_one(system, directory),
        id,
    })
}

pub(super) fn bytes_below(system: &dyn System, directory: &Path) -> u64 {
    let mut bytes = 0;
    for name in system.list(directory).unwrap_or_default() {
        let path = directory.join(name);
        bytes += match system.status(&path) {
            Ok(status) if status.kind == FileKind::Directory => bytes_below(system, &path),
            Ok(status) => status.size_bytes,
            Err(_) => 0,
        };
    }
    bytes
}
