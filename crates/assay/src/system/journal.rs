//! What was changed on the machine, and how each change is undone: written and synced before the
//! change itself, so that nothing can be left behind without a trace, however a run ends.
//!
//! A journal is a file of its own for each run: a line about the run, then one line for each thing
//! to undo. Every undoing can be repeated: it looks first whether there is anything left to do. So
//! nothing is ever marked as undone; when all of it is, the file is removed. A journal whose run is
//! gone is *unfinished*: `assay restore` walks it backwards.

mod restore;
mod undo;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{FileKind, HoldError, Locking, OwnFile, System};
use crate::failure::{Failure, Outcome};

pub use restore::{Report, Restored, setting_value};
pub use undo::{Lifetime, Mark, Undo};

/// Format of journals.
pub const FORMAT: &str = "assay-journal/1";
/// The name of a journal's file ends so.
const ENDING: &str = ".jsonl";
/// Times that a new journal is locked: others lock it, too, for a moment, to see whose it is.
const ATTEMPTS: u32 = 25;
/// Time between two of them.
const PAUSE: Duration = Duration::from_millis(20);
/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
/// Where the kernel tells which start of the machine this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Proof that the journal knows how a change is undone. Only this module makes one.
#[derive(Clone, Copy, Debug)]
pub struct Warrant(());

/// First line of a journal: whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: String,
    /// Id of the run.
    id: String,
    /// The start of the machine during which it ran; what is volatile is gone after the next.
    boot: String,
    /// When it began, RFC 3339.
    started: String,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether it outlives a restart of the machine.
    lifetime: Lifetime,
    /// What is to be done.
    undo: Undo,
}

/// The journal of a run that goes on.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    undos: Vec<Undo>,
    /// Locked for as long as the run goes on: so others see that it does.
    file: OwnFile,
    /// Whether the file may end with a part of a line.
    torn: bool,
}

/// A journal whose run ended without putting everything back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Its file.
    pub path: PathBuf,
    /// Id of the run.
    pub id: String,
    /// When that began, RFC 3339; empty where it ended before that was written.
    pub started: String,
    /// Why it cannot be read, where it cannot.
    pub fault: Option<String>,
    boot: String,
    undos: Vec<Undo>,
}

impl Journal {
    /// Begins the journal of a run in a directory of journals.
    ///
    /// # Errors
    /// Refused where it cannot be written: nothing may be changed then.
    pub fn begin(system: &dyn System, directory: &Path, id: &str) -> Outcome<Self> {
        let path = directory.join(format!("{id}{ENDING}"));
        make_own_directory(system, directory).map_err(|error| unwritable(&path, &error))?;
        let file = lock_new(system, &path).map_err(|error| match error {
            HoldError::Failed(error) => unwritable(&path, &error),
            held @ HoldError::Held { .. } => busy(&path, &held),
        })?;
        let text = system.read_own(&file).map_err(|error| unwritable(&path, &error))?;
        if !text.is_empty() {
            return Err(Failure::refused(format!(
                "{id} was not put back: run assay restore first"
            )));
        }
        let head = Head {
            format: FORMAT.to_owned(),
            id: id.to_owned(),
            boot: boot(system),
            started: system.now(),
        };
        line(&head)
            .and_then(|line| system.append_own(&file, &line))
            .map_err(|error| unwritable(&path, &error))?;
        Ok(Self { path, undos: Vec::new(), file, torn: false })
    }

    /// Notes how a change is undone, before it is made. What is noted already stays as it is: of a
    /// setting that is changed several times the first original counts.
    ///
    /// # Errors
    /// Refused where the journal cannot be written: the change must not be made then.
    pub fn record(&mut self, system: &dyn System, undo: Undo) -> Outcome<Warrant> {
        if !self.undos.iter().any(|known| known.is_for_the_same(&undo)) {
            let entry = Entry { lifetime: undo.lifetime(), undo: undo.clone() };
            self.append(system, &entry).map_err(|error| unwritable(&self.path, &error))?;
            self.undos.push(undo);
        }
        Ok(Warrant(()))
    }

    fn append(&mut self, system: &dyn System, entry: &Entry) -> io::Result<()> {
        let line = line(entry)?;
        let line = if self.torn { [b"\n".as_slice(), &line].concat() } else { line };
        let written = system.append_own(&self.file, &line);
        self.torn = written.is_err();
        written
    }

    /// Undoes one change now; it stays in the journal, where undoing it again does nothing.
    ///
    /// # Errors
    /// Not restored, with the reason.
    pub fn take_back(&self, system: &dyn System, undo: &Undo) -> Outcome<()> {
        let done = restore::one(system, Warrant(()), undo);
        done.map(|_| ()).map_err(|reason| Failure::not_restored(format!("{undo}: {reason}")))
    }

    /// Undoes everything and removes the journal; where something cannot be undone, it stays.
    pub fn finish(self, system: &dyn System) -> Report {
        conclude(system, &self.path, &self.undos)
    }

    /// The undoings so far, the first one first.
    pub fn undos(&self) -> &[Undo] {
        &self.undos
    }
}

impl Unfinished {
    /// What is left to undo, the first change first.
    pub fn undos(&self) -> &[Undo] {
        &self.undos
    }
}

/// Makes a directory of the tool's own state, and makes sure that nobody else may write to it.
///
/// # Errors
/// The kernel's, or why root must not trust what lies there.
pub fn make_own_directory(system: &dyn System, directory: &Path) -> io::Result<()> {
    system.create_own_directory(directory)?;
    trusted_directory(system, directory)
}

/// Refuses a directory that somebody else could have put something into, or put there.
///
/// # Errors
/// The kernel's, or why root must not trust what lies there.
pub fn trusted_directory(system: &dyn System, directory: &Path) -> io::Result<()> {
    let found = system.status(directory)?;
    let fault = if system.read_link(directory).is_ok() {
        "it is a link".to_owned()
    } else if found.kind != FileKind::Directory {
        "it is no directory".to_owned()
    } else if found.user != 0 && found.user != system.user().id {
        format!("it belongs to user {}", found.user)
    } else if found.mode & OTHERS_WRITE != 0 {
        "others may write to it".to_owned()
    } else {
        return Ok(());
    };
    let message = format!(
        "{} is not to be trusted: {fault}, and what lies there is followed as if it were one's own; look through it, then remove it",
        directory.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Journals in a directory whose runs are gone, the oldest first; one that cannot be read is among
/// them, with the reason.
///
/// # Errors
/// Refused where the directory is there and cannot be looked into, or is not to be trusted.
pub fn unfinished(system: &dyn System, directory: &Path) -> Outcome<Vec<Unfinished>> {
    let names = match trusted_directory(system, directory).and_then(|()| system.list(directory)) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        // Root's: an ordinary user can neither change the machine nor put it back.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && system.user().id != 0 => {
            return Ok(Vec::new());
        }
        Err(error) => {
            let place = directory.display();
            return Err(Failure::refused(format!(
                "the journals in {place} cannot be read: {error}"
            )));
        }
    };
    let ids = names.iter().filter_map(|name| name.strip_suffix(ENDING));
    Ok(ids.filter_map(|id| look(system, directory, id)).collect())
}

/// The journal of a run that is gone; none where the run goes on or has just put everything back.
fn look(system: &dyn System, directory: &Path, id: &str) -> Option<Unfinished> {
    let path = directory.join(format!("{id}{ENDING}"));
    let read = match system.lock_file(&path, Locking::Look) {
        Ok(file) => read(system, &path, id, &file),
        Err(HoldError::Held { .. }) => return None,
        Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(HoldError::Failed(error)) => Err(unreadable(&path, &error)),
    };
    Some(read.unwrap_or_else(|failure| Unfinished {
        fault: Some(failure.message),
        ..nothing(&path, id)
    }))
}

/// Undoes what an unfinished journal holds, backwards, and removes it; where something cannot be
/// undone, it stays.
///
/// # Errors
/// Refused while another process undoes the same one, and where it cannot be read.
pub fn restore(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    again(system, journal, |undo| (undo.lifetime() == Lifetime::Persistent).then_some(undo))
}

/// Undoes changes that were made to stay, backwards: after a restart of the machine, too, which has
/// brought them about again.
///
/// # Errors
/// Refused while another process undoes the same, and where it cannot be read.
pub fn undo_lasting(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    again(system, journal, Some)
}

/// Reads a journal again, now that nobody else has it, and undoes it; `left` tells what there is to
/// undo of it after a restart of the machine.
fn again(
    system: &dyn System,
    journal: &Unfinished,
    left: fn(Undo) -> Option<Undo>,
) -> Outcome<Report> {
    let Unfinished { path, id, .. } = journal;
    let file = match system.lock_file(path, Locking::Own) {
        Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Report::default());
        }
        other => other.map_err(|error| busy(path, &error))?,
    };
    let journal = read(system, path, id, &file)?;
    let same_boot = journal.boot == boot(system);
    let now = |undo: Undo| if same_boot { Some(undo) } else { left(undo.after_restart()) };
    let undos: Vec<Undo> = journal.undos.into_iter().filter_map(now).collect();
    Ok(conclude(system, path, &undos))
}

fn conclude(system: &dyn System, path: &Path, undos: &[Undo]) -> Report {
    let mut report = restore::all(system, Warrant(()), undos);
    if report.failed.is_empty()
        && let Err(error) = restore::remove_file(system, Warrant(()), path)
    {
        report.failed.push(format!("the journal {} stays: {error}", path.display()));
    }
    report
}

fn read(system: &dyn System, path: &Path, id: &str, file: &OwnFile) -> Outcome<Unfinished> {
    let text = system.read_own(file).map_err(|error| unreadable(path, &error))?;
    // A last line without its end was cut off by a crash: what it told of was never done.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    let Some(first) = lines.next() else { return Ok(nothing(path, id)) };
    let head: Head = serde_json::from_str(first).map_err(|error| unreadable(path, &error))?;
    if head.format != FORMAT {
        let other = format!("its format is {}, this version knows {FORMAT}", head.format);
        return Err(unreadable(path, &other));
    }
    let entries: Result<Vec<Entry>, _> =
        lines.map(serde_json::from_str).filter(|line| !is_cut_off(line)).collect();
    let entries = entries.map_err(|error| unreadable(path, &error))?;
    let undos = entries.into_iter().map(|entry| entry.undo).collect();
    let Head { id, boot, started, .. } = head;
    Ok(Unfinished { id, started, boot, undos, ..nothing(path, "") })
}

/// A line that could be written only in part: what it told of was never done.
fn is_cut_off(line: &serde_json::Result<Entry>) -> bool {
    line.as_ref().is_err_and(serde_json::Error::is_eof)
}

/// A journal with nothing in it.
fn nothing(path: &Path, id: &str) -> Unfinished {
    let (started, boot) = (String::new(), String::new());
    let (path, id) = (path.to_owned(), id.to_owned());
    Unfinished { path, id, started, fault: None, boot, undos: Vec::new() }
}

fn lock_new(system: &dyn System, path: &Path) -> Result<OwnFile, HoldError> {
    for _ in 1..ATTEMPTS {
        match system.lock_file(path, Locking::New) {
            Err(HoldError::Held { .. }) => system.sleep(PAUSE),
            // Found empty by `assay restore`, and removed.
            Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    system.lock_file(path, Locking::New)
}

pub(super) fn boot(system: &dyn System) -> String {
    system.read_text(Path::new(BOOT)).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn busy(path: &Path, error: &HoldError) -> Failure {
    let path = path.display();
    Failure::refused(match error {
        HoldError::Held { .. } => format!("another assay has the journal {path}: wait for it"),
        HoldError::Failed(error) => format!("the journal {path} cannot be locked: {error}"),
    })
}

fn unreadable(path: &Path, what: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format!("the journal {} cannot be read: {what}", path.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format!(
        "the journal {} cannot be written: {error}; without it nothing is changed: set ASSAY_HOME to a directory with room",
        path.display()
    ))
}
