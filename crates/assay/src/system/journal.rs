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

use serde::{Deserialize, Serialize};

use super::{Hold, HoldError, System};
use crate::failure::{Failure, Outcome};

pub use restore::{Report, Restored, setting_value};
pub use undo::{Lifetime, Mark, Undo};

/// Format of journals.
pub const FORMAT: &str = "assay-journal/1";
/// The name of a journal's file ends so.
const ENDING: &str = ".jsonl";
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
    _hold: Hold,
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
    boot: String,
    undos: Vec<Undo>,
}

impl Journal {
    /// Begins the journal of a run in a directory of journals.
    ///
    /// # Errors
    /// Refused where it cannot be written: nothing may be changed then.
    pub fn begin(system: &dyn System, directory: &Path, id: &str) -> Outcome<Self> {
        let hold = system.hold(&lock_name(id)).map_err(|error| busy(id, &error))?;
        let path = directory.join(format!("{id}{ENDING}"));
        let head = Head {
            format: FORMAT.to_owned(),
            id: id.to_owned(),
            boot: boot(system),
            started: system.now(),
        };
        system
            .create_directory(directory)
            .and_then(|()| system.append(&path, &line(&head)?))
            .map_err(|error| unwritable(&path, &error))?;
        Ok(Self { path, undos: Vec::new(), _hold: hold })
    }

    /// Notes how a change is undone, before it is made. What is noted already stays as it is: of a
    /// setting that is changed several times the first original counts.
    ///
    /// # Errors
    /// Refused where the journal cannot be written: the change must not be made then.
    pub fn record(&mut self, system: &dyn System, undo: Undo) -> Outcome<Warrant> {
        if !self.undos.iter().any(|known| known.is_for_the_same(&undo)) {
            let entry = Entry { lifetime: undo.lifetime(), undo: undo.clone() };
            line(&entry)
                .and_then(|line| system.append(&self.path, &line))
                .map_err(|error| unwritable(&self.path, &error))?;
            self.undos.push(undo);
        }
        Ok(Warrant(()))
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

/// Journals in a directory whose runs are gone, the oldest first.
///
/// # Errors
/// Refused where the directory is there and cannot be looked into, or holds a journal that cannot
/// be read.
pub fn unfinished(system: &dyn System, directory: &Path) -> Outcome<Vec<Unfinished>> {
    let names = match system.list(directory) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let place = directory.display();
            return Err(Failure::refused(format!(
                "the journals in {place} cannot be read: {error}"
            )));
        }
    };
    let ids = names.iter().filter_map(|name| name.strip_suffix(ENDING));
    let left: Vec<&str> = ids.filter(|id| system.hold(&lock_name(id)).is_ok()).collect();
    left.into_iter().map(|id| read(system, directory, id)).collect()
}

/// Undoes what an unfinished journal holds, backwards, and removes it; where something cannot be
/// undone, it stays.
///
/// # Errors
/// Refused while another process undoes the same one.
pub fn restore(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    let _hold = system.hold(&lock_name(&journal.id)).map_err(|error| busy(&journal.id, &error))?;
    let same_boot = journal.boot == boot(system);
    let left = journal.undos.iter();
    let left = left.filter(|undo| same_boot || undo.lifetime() == Lifetime::Persistent).cloned();
    Ok(conclude(system, &journal.path, &left.collect::<Vec<_>>()))
}

/// Undoes changes that were made to stay, backwards: after a restart of the machine, too, which has
/// brought them about again.
///
/// # Errors
/// Refused while another process undoes the same.
pub fn undo_lasting(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    let _hold = system.hold(&lock_name(&journal.id)).map_err(|error| busy(&journal.id, &error))?;
    let same_boot = journal.boot == boot(system);
    let now = |undo: Undo| if same_boot { undo } else { undo.after_restart(system) };
    let undos: Vec<Undo> = journal.undos.iter().cloned().map(now).collect();
    Ok(conclude(system, &journal.path, &undos))
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

fn read(system: &dyn System, directory: &Path, id: &str) -> Outcome<Unfinished> {
    let path = directory.join(format!("{id}{ENDING}"));
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::refused(format!("the journal {} cannot be read: {what}", path.display()))
    };
    let text = system.read_text(&path).map_err(|error| wrong(&error))?;
    // A last line without its end was cut off by a crash: what it told of was never done.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    let Some(first) = lines.next() else {
        let (boot, started) = (String::new(), String::new());
        return Ok(Unfinished { path, id: id.to_owned(), started, boot, undos: Vec::new() });
    };
    let head: Head = serde_json::from_str(first).map_err(|error| wrong(&error))?;
    if head.format != FORMAT {
        return Err(wrong(&format!("its format is {}, this version knows {FORMAT}", head.format)));
    }
    let entries: Result<Vec<Entry>, _> = lines.map(serde_json::from_str).collect();
    let entries = entries.map_err(|error| wrong(&error))?;
    let undos = entries.into_iter().map(|entry| entry.undo).collect();
    Ok(Unfinished { path, id: head.id, started: head.started, boot: head.boot, undos })
}

fn boot(system: &dyn System) -> String {
    system.read_text(Path::new(BOOT)).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn lock_name(id: &str) -> String {
    format!("journal-{id}")
}

fn busy(id: &str, error: &HoldError) -> Failure {
    match error {
        HoldError::Held { process, .. } => {
            let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
            Failure::refused(format!("{id} is being put back by another assay{process}"))
        }
        HoldError::Failed(error) => {
            Failure::refused(format!("the journal of {id} cannot be locked: {error}"))
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format!(
        "the journal {} cannot be written: {error}; without it nothing is changed: set ASSAY_HOME to a directory with room",
        path.display()
    ))
}
