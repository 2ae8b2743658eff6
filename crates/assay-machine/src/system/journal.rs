//! The journal of changes: undo entries, written and synced before each change, so every change of a run is recorded.
//!
//! Each run has a journal file: a line about the run, then one line per undo entry. Undoing can be repeated, because
//! each step checks first whether there is anything left to do. Therefore entries are never marked as undone; after the
//! last one, Assay removes the file. A journal of a dead run is *unfinished*: `assay restore` processes it backward.

mod restore;
mod undo;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::failure::{Failure, Outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{HoldError, Locking, OwnFile, System, sysfs, trust};

pub use restore::{RUNNING, Report, Restored, setting_value};
pub use undo::{Lifetime, Mark, MemberMark, UNITS, Undo, excluded_by, unit_files};

pub const FORMAT: &str = "assay-journal/1";
const ENDING: &str = ".jsonl";
/// Tries to lock a new journal: others briefly lock it, too, to see who has it.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Proof that the journal contains the undo entry of a change. Only this module creates one.
#[derive(Clone, Copy, Debug)]
pub struct Warrant(());

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: String,
    id: String,
    /// Boot during which it ran; volatile changes are gone after the next boot.
    boot: String,
    /// When it began, RFC 3339.
    started: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UndoEntry {
    /// Whether it survives a reboot.
    lifetime: Lifetime,
    undo: Undo,
    /// Whether the entry is void, because the change did not happen.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    struck: bool,
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    undos: Vec<Undo>,
    /// Locked during the run, which shows others that the run is alive.
    file: OwnFile,
    /// Whether the file may end with a partial line.
    torn: bool,
}

/// A journal whose run ended without restoring everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub path: PathBuf,
    pub id: String,
    /// Start of the run, RFC 3339; empty if it ended before writing it.
    pub started: String,
    /// Unreadable parts with reasons: they may contain changes that cannot be undone.
    pub faults: Vec<String>,
    boot: String,
    undos: Vec<Undo>,
}

/// A journal in use by a process: of a running study, or one being restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    pub id: String,
    pub process: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journals {
    /// Journals of dead runs, the oldest first.
    pub unfinished: Vec<Unfinished>,
    pub busy: Vec<Busy>,
}

impl Journal {
    /// Begins the journal of a run in a directory of journals. Nothing may be changed if this fails.
    pub fn begin(system: &dyn System, directory: &Path, id: &str) -> Outcome<Self> {
        let path = directory.join(format!("{id}{ENDING}"));
        make_own_directory(system, directory).map_err(|error| write_failure(&path, &error))?;
        let file = lock_new_journal(system, &path).map_err(|error| match error {
            HoldError::Failed(error) => write_failure(&path, &error),
            held @ HoldError::Held { .. } => lock_failure(&path, &held),
        })?;
        let text = system.read_own(&file).map_err(|error| {
            // Only a file that is certainly empty needs no undoing.
            if system.status(&path).is_ok_and(|found| found.size_bytes == 0) {
                remove_empty(system, &path);
            }
            write_failure(&path, &error)
        })?;
        if !text.is_empty() {
            return Err(Failure::refused(format!(
                "the settings of {id} are not restored; run assay restore first"
            )));
        }
        write_head(system, &file, id).map_err(|error| {
            remove_empty(system, &path);
            write_failure(&path, &error)
        })?;
        Ok(Self { path, undos: Vec::new(), file, torn: false })
    }

    /// Continues a run's journal after a reboot; `None` if it was restored. Refused if it is in use or damaged.
    pub fn resume(system: &dyn System, directory: &Path, id: &str) -> Outcome<Option<Self>> {
        let path = directory.join(format!("{id}{ENDING}"));
        let file = match system.lock_file(&path, Locking::Own) {
            Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            other => other.map_err(|error| lock_failure(&path, &error))?,
        };
        let found = read_journal(system, &path, id, &file);
        match found.faults.first() {
            Some(fault) => Err(Failure::refused(format!("{fault}; run assay restore"))),
            None => Ok(Some(Self { path, undos: found.undos, file, torn: false })),
        }
    }

    /// Records the undo entry of a change before the change; if this fails, the change must not happen. For a setting
    /// the first original counts; things created again under the same name are undone first.
    pub fn record(&mut self, system: &dyn System, undo: Undo) -> Outcome<Warrant> {
        if !is_in_place(&self.undos, &undo) {
            self.note(system, vec![undo], false)?;
        }
        Ok(Warrant(()))
    }

    /// Writes several lines at once; `struck` ones need no undo. The change must not be made if this fails.
    pub fn note(&mut self, system: &dyn System, undos: Vec<Undo>, struck: bool) -> Outcome<()> {
        let to_entry = |undo: Undo| UndoEntry { lifetime: undo.lifetime(), undo, struck };
        let entries: Vec<UndoEntry> = undos.into_iter().map(to_entry).collect();
        if !entries.is_empty() {
            self.append(system, &entries).map_err(|error| write_failure(&self.path, &error))?;
        }
        for entry in entries {
            insert_entry(&mut self.undos, entry);
        }
        Ok(())
    }

    /// Permits a further step on something that exists: its undo entry and position stay.
    pub fn warrant_for(&self, undo: &Undo) -> Outcome<Warrant> {
        if self.undos.contains(undo) {
            return Ok(Warrant(()));
        }
        Err(Failure::refused(format!("the journal does not contain: {undo}")))
    }

    /// Appends entries to the file; after a failure, the file may end with a partial line (`torn`).
    fn append(&mut self, system: &dyn System, entries: &[UndoEntry]) -> io::Result<()> {
        // The line break separates the new lines from a partial one.
        let mut lines = if self.torn { b"\n".to_vec() } else { Vec::new() };
        for entry in entries {
            lines.extend(to_line(entry)?);
        }
        let written = system.append_own(&self.file, &lines);
        self.torn = written.is_err();
        written
    }

    /// Undoes one change now; the entry stays in the journal, where undoing it again does nothing.
    pub fn undo(&self, system: &dyn System, undo: &Undo) -> Outcome<()> {
        let done = restore::undo_one(system, Warrant(()), undo);
        done.map(|_| ()).map_err(|reason| Failure::not_restored(format!("{undo}: {reason}")))
    }

    /// Undoes everything and removes the journal, which stays if something cannot be undone.
    pub fn finish(self, system: &dyn System) -> Report {
        undo_and_remove(system, &self.path, &self.undos, &[])
    }

    pub fn undos(&self) -> &[Undo] {
        &self.undos
    }
}

impl Unfinished {
    pub fn undos(&self) -> &[Undo] {
        &self.undos
    }
}

fn write_head(system: &dyn System, file: &OwnFile, id: &str) -> io::Result<()> {
    let (format, id) = (FORMAT.to_owned(), id.to_owned());
    let head = Head { format, id, boot: boot_id(system)?, started: system.now() };
    system.append_own(file, &to_line(&head)?)
}

/// Removes a journal without undo entries that could not be started, because it would block other studies.
fn remove_empty(system: &dyn System, path: &Path) {
    // If this fails, too, `assay restore` removes it.
    let _ = restore::remove_file(system, Warrant(()), path);
}

/// Creates a directory for Assay's state that others cannot write to.
pub fn make_own_directory(system: &dyn System, directory: &Path) -> io::Result<()> {
    system.create_own_directory(directory)?;
    check_trusted(system, directory)
}

/// Rejects a directory that others could have created or written to.
fn check_trusted(system: &dyn System, directory: &Path) -> io::Result<()> {
    let own = [system.user().id];
    let Some(fault) = trust::fault(system, directory, &own, trust::OTHERS_WRITE)? else {
        return Ok(());
    };
    let message = format!(
        "root does not trust {}: {fault}, and Assay would execute the contents; check and remove the directory",
        directory.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Journals of dead runs, the oldest first, also unreadable ones. Refused if the directory is not readable or trusted.
pub fn unfinished(system: &dyn System, directory: &Path) -> Outcome<Vec<Unfinished>> {
    list_journals(system, directory).map(|found| found.unfinished)
}

/// All journals in a directory: those of dead runs, and those in use.
pub fn list_journals(system: &dyn System, directory: &Path) -> Outcome<Journals> {
    let mut found = Journals::default();
    let names = match check_trusted(system, directory).and_then(|()| system.list(directory)) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        // Root's journals: other users can neither change the machine nor restore it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && system.user().id != 0 => {
            return Ok(found);
        }
        Err(error) => {
            let place = directory.display();
            return Err(Failure::refused(format!("cannot read the journals in {place}: {error}")));
        }
    };
    for id in names.iter().filter_map(|name| name.strip_suffix(ENDING)) {
        add_journal(system, directory, id, &mut found);
    }
    Ok(found)
}

/// Adds a journal to the list, unless its run has just restored everything.
fn add_journal(system: &dyn System, directory: &Path, id: &str, found: &mut Journals) {
    let path = directory.join(format!("{id}{ENDING}"));
    match system.lock_file(&path, Locking::Look) {
        Ok(file) => found.unfinished.push(read_journal(system, &path, id, &file)),
        Err(HoldError::Held { process, .. }) => {
            found.busy.push(Busy { id: id.to_owned(), process });
        }
        Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {}
        Err(HoldError::Failed(error)) => {
            found.unfinished.push(unreadable_journal(&path, id, &error));
        }
    }
}

/// Undoes the entries of an unfinished journal backward and removes the journal; it stays if something cannot be undone
/// or read. Refused while another process undoes it.
pub fn restore(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    undo_unowned(system, journal, |undo| undo.lifetime() == Lifetime::Persistent)
}

/// Undoes permanent changes, including those that a reboot applied again.
pub fn undo_lasting(system: &dyn System, journal: &Unfinished) -> Outcome<Report> {
    undo_unowned(system, journal, |_| true)
}

/// Reads a journal without an owner and undoes it; after a reboot, only the entries that `survives_reboot` selects.
fn undo_unowned(
    system: &dyn System,
    journal: &Unfinished,
    survives_reboot: fn(&Undo) -> bool,
) -> Outcome<Report> {
    let Unfinished { path, id, .. } = journal;
    let file = match system.lock_file(path, Locking::Own) {
        Err(HoldError::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Report::default());
        }
        other => other.map_err(|error| lock_failure(path, &error))?,
    };
    let Unfinished { boot, mut undos, faults, .. } = read_journal(system, path, id, &file);
    let unknown = |error| Failure::refused(format!("cannot determine the boot ID: {error}"));
    if boot != boot_id(system).map_err(unknown)? {
        undos = undos.into_iter().map(Undo::after_restart).filter(survives_reboot).collect();
    }
    Ok(undo_and_remove(system, path, &undos, &faults))
}

/// Returns whether the known entries, the first change first, already contain an undo entry at the right position.
fn is_in_place(undos: &[Undo], undo: &Undo) -> bool {
    let Some(at) = undos.iter().position(|known| known.is_for_the_same(undo)) else { return false };
    // A thing that is created again must be the last entry, because it may be on things created since.
    undo.has_original() || at + 1 == undos.len()
}

/// Applies a line of a journal to the list of undo entries: moves the entry to the end, unless it is in place, or
/// removes a struck one. Readers apply line by line, and get the order of the run.
fn insert_entry(undos: &mut Vec<Undo>, UndoEntry { undo, struck, .. }: UndoEntry) {
    if struck {
        undos.retain(|known| *known != undo);
    } else if !is_in_place(undos, &undo) {
        undos.retain(|known| *known != undo);
        undos.push(undo);
    }
}

/// Undoes all known entries and removes the journal, which stays after damage or a failure.
fn undo_and_remove(system: &dyn System, path: &Path, undos: &[Undo], faults: &[String]) -> Report {
    let mut report = restore::undo_all(system, Warrant(()), undos);
    let by_hand = "restore the settings manually, then remove the journal";
    report.failed.extend(faults.iter().map(|fault| format!("{fault}; {by_hand}")));
    if report.failed.is_empty()
        && let Err(error) = restore::remove_file(system, Warrant(()), path)
    {
        report.failed.push(format!("cannot remove the journal {}: {error}", path.display()));
    }
    report
}

/// Reads a journal line by line: an unreadable line does not prevent undoing the others.
fn read_journal(system: &dyn System, path: &Path, id: &str, file: &OwnFile) -> Unfinished {
    let text = match system.read_own(file) {
        Ok(text) => text,
        Err(error) => return unreadable_journal(path, id, &error),
    };
    let mut journal = empty_journal(path, id);
    let mut lines = text.split_inclusive('\n').zip(1..);
    let Some((first, number)) = lines.next() else { return journal };
    match parse_line::<Head>(first) {
        // The run died while it wrote the head, before any change.
        Line::CutOff if !first.ends_with('\n') => return journal,
        Line::Whole(head) if head.format != FORMAT => {
            let other = format!("the format is {}, this version reads {FORMAT}", head.format);
            return unreadable_journal(path, id, &other);
        }
        Line::Whole(head) => {
            (journal.id, journal.started, journal.boot) = (head.id, head.started, head.boot);
        }
        damage => {
            journal.faults.extend(damage.fault(path, number));
            // The boot is unknown, but each undo step checks first whether there is anything to do.
            journal.boot = boot_id(system).unwrap_or_default();
        }
    }
    for (line, number) in lines {
        match parse_line::<UndoEntry>(line) {
            Line::Whole(entry) => insert_entry(&mut journal.undos, entry),
            Line::CutOff => {}
            damage @ Line::Damaged(_) => journal.faults.extend(damage.fault(path, number)),
        }
    }
    journal
}

enum Line<T> {
    Whole(T),
    /// Written only in part, or without its end: the change never happened.
    CutOff,
    Damaged(String),
}

impl<T> Line<T> {
    /// Returns the fault of a line; `None` if there is none.
    fn fault(&self, path: &Path, number: u32) -> Option<String> {
        let path = path.display();
        match self {
            Self::Whole(_) => None,
            Self::CutOff => Some(format!("line {number} of the journal {path} is truncated")),
            Self::Damaged(what) => {
                Some(format!("cannot read line {number} of the journal {path}: {what}"))
            }
        }
    }
}

/// Parses a line; without its line break it is cut off, even if it is valid so far.
fn parse_line<T: DeserializeOwned>(line: &str) -> Line<T> {
    let whole = line.strip_suffix('\n');
    match serde_json::from_str(whole.unwrap_or(line)) {
        Ok(value) if whole.is_some() => Line::Whole(value),
        Ok(_) => Line::CutOff,
        Err(error) if error.is_eof() => Line::CutOff,
        Err(error) => Line::Damaged(error.to_string()),
    }
}

fn empty_journal(path: &Path, id: &str) -> Unfinished {
    let (started, boot) = (String::new(), String::new());
    let (path, id) = (path.to_owned(), id.to_owned());
    Unfinished { path, id, started, faults: Vec::new(), boot, undos: Vec::new() }
}

/// Locks the journal of a new run; waits briefly for other processes, which lock a journal only to see who has it.
fn lock_new_journal(system: &dyn System, path: &Path) -> Result<OwnFile, HoldError> {
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

/// ID of this boot; empty if the kernel has none. After another boot, volatile changes count as gone: errors fail.
pub(super) fn boot_id(system: &dyn System) -> io::Result<String> {
    let text = sysfs::if_exists(system.read_text(Path::new(BOOT)))?;
    Ok(text.map(|text| text.trim().to_owned()).unwrap_or_default())
}

fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn lock_failure(path: &Path, error: &HoldError) -> Failure {
    let path = path.display();
    Failure::refused(match error {
        HoldError::Held { .. } => {
            format!("another assay process uses the journal {path}; wait until it exits")
        }
        HoldError::Failed(error) => format!("cannot lock the journal {path}: {error}"),
    })
}

fn unreadable_journal(path: &Path, id: &str, what: &dyn std::fmt::Display) -> Unfinished {
    let fault = format!("cannot read the journal {}: {what}", path.display());
    Unfinished { faults: vec![fault], ..empty_journal(path, id) }
}

fn write_failure(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format!(
        "cannot write the journal {}: {error}; nothing was changed; set ASSAY_HOME to a directory with free space",
        path.display()
    ))
}
