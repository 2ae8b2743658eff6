//! Sources of boots: the journal of this machine, a copied one, or exported text.

use std::io;
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::journal::RUNNING;
use assay_machine::system::{FileKind, System, first_program, machine};

use crate::boot::journal::entry::{self, Entry, FIELDS, ReadEntries};
use crate::boot::journal::timeline::{self, Boot, ids};
use crate::recorded::RecordSource;

const JOURNALCTL: &str = "journalctl";
/// Directories of the system journal: the persistent and the volatile one.
const PLACES: [&str; 2] = ["/var/log/journal", "/run/log/journal"];
/// Maximum bytes to read of the list of boots, and of each boot: its beginning is enough.
const MOST_OF_LIST: u64 = 32 << 20;
const MOST_OF_BOOT: u64 = 12 << 20;
const LARGEST_FILE_BYTES: u64 = 1 << 30;
const SIGNATURE: &[u8] = b"LPKSHHRH";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundBoots {
    /// The boots in time order, the newest last.
    pub boots: Vec<Boot>,
    /// Number of older boots that were not read.
    pub older: usize,
    pub faults: usize,
    pub is_own: bool,
}

/// Reads the newest boots of a source; `until_unit` is a unit whose start time is wanted.
pub(super) fn read(
    system: &dyn System,
    source: &RecordSource,
    most: usize,
    until: Option<&str>,
) -> Outcome<FoundBoots> {
    let mut found = match source {
        RecordSource::Own => own_boots(system, most, until)?,
        RecordSource::At(path) => boots_in_path(system, path, most, until)?,
    };
    let machine_id = system.read_text(Path::new("/etc/machine-id")).unwrap_or_default();
    found.is_own = *source == RecordSource::Own
        || entry::id(&machine_id)
            .is_some_and(|id| found.boots.iter().any(|boot| boot.machine == id));
    Ok(found)
}

pub(super) fn current_boot(system: &dyn System, until: Option<&str>) -> Outcome<Boot> {
    let id = machine::boot_id(system)?;
    let boot = own_boots(system, 1, until)?.boots.into_iter().find(|boot| boot.id == id);
    boot.ok_or_else(|| Failure::refused("the journal does not contain the current boot"))
}

/// Reads the boots of this machine; fails with the reason if there are none.
fn own_boots(system: &dyn System, most: usize, until: Option<&str>) -> Outcome<FoundBoots> {
    let refused = |why: &str| {
        Failure::refused(format!(
            "{why}: {}; use --set journal=FILE to read the boots of another machine",
            first_program::words(system)
        ))
    };
    if system.program(JOURNALCTL).is_none() {
        return Err(refused("this machine has no systemd journal (journalctl is not installed)"));
    }
    if !PLACES.iter().any(|place| system.status(Path::new(place)).is_ok()) {
        return Err(refused(
            "this machine has no systemd journal (neither /var/log/journal nor /run/log/journal exists)",
        ));
    }
    let found = read_with_journalctl(system, &[], most, until)?;
    if !found.boots.is_empty() {
        return Ok(found);
    }
    if system.status(Path::new(RUNNING)).is_err() {
        return Err(refused("systemd is not the init process, and the journal contains no boot"));
    }
    if system.user().id != 0 {
        return Err(Failure::refused(
            "cannot read the system journal: only root and the groups systemd-journal and adm have access; run sudo \
             usermod -aG systemd-journal \"$USER\" and log in again, or run sudo assay run boot",
        ));
    }
    Err(refused("the journal contains no boot"))
}

/// Runs journalctl: first for the list of boots, then for the start of each of the newest.
fn read_with_journalctl(
    system: &dyn System,
    place: &[&str],
    most: usize,
    until: Option<&str>,
) -> Outcome<FoundBoots> {
    let message = |id: &str| format!("MESSAGE_ID={id}");
    // `+` is a logical or. A user's services also report their end, but not as process 1.
    let list = [ids::FINISHED, ids::JOURNAL_STARTED, ids::JOURNAL_STOPPED, ids::USER_FINISHED]
        .map(message);
    let [finished, started, stopped, user] = list.each_ref().map(String::as_str);
    let matches = [finished, "+", started, "+", stopped, "+", user, "_PID=1"];
    let listed = ask_journalctl(system, place, &matches, MOST_OF_LIST)?;
    let mut faults = listed.faults;
    let mut boots = timeline::boots(&listed.entries, until);
    let older = boots.len().saturating_sub(most);
    let newest: Vec<String> = boots.drain(older..).map(|boot| boot.id).collect();
    let mut entries: Vec<Entry> =
        listed.entries.into_iter().filter(|entry| newest.contains(&entry.boot)).collect();
    for id in &newest {
        let boot = format!("_BOOT_ID={id}");
        let messages = [ids::STARTING, ids::STARTED, ids::FAILED].map(message);
        let mut matches = vec![boot.as_str(), "_TRANSPORT=kernel"];
        for message in &messages {
            matches.extend(["+", &boot, message]);
        }
        let read = ask_journalctl(system, place, &matches, MOST_OF_BOOT)?;
        faults += read.faults;
        entries
            .extend(read.entries.into_iter().filter(|entry| entry.boot == *id && is_needed(entry)));
    }
    Ok(FoundBoots { boots: timeline::boots(&entries, until), older, faults, is_own: false })
}

/// Whether an entry is used: most kernel messages are not.
fn is_needed(entry: &Entry) -> bool {
    let prefixes = ["Linux version ", "Command line: ", "Kernel command line: "];
    entry.transport != "kernel" || prefixes.iter().any(|start| entry.message.starts_with(start))
}

/// Runs journalctl with these matches, and reads the entries in at most `most_bytes` of its output.
fn ask_journalctl(
    system: &dyn System,
    place: &[&str],
    matches: &[&str],
    most_bytes: u64,
) -> Outcome<ReadEntries> {
    let fields = format!("--output-fields={FIELDS}");
    let words = [&["--no-pager", "--output=json", &fields], place, matches].concat();
    let failed = |error| Failure::refused(format!("cannot run journalctl: {error}"));
    let answer = system.answer_of(JOURNALCTL, &words, most_bytes).map_err(failed)?;
    let mut read = entry::json(answer.text.as_bytes());
    if answer.text.len() as u64 >= most_bytes {
        // The size limit truncated the last line.
        read.faults = read.faults.saturating_sub(1);
    }
    // Other users than root may lack access: the caller explains this.
    if answer.code.is_some_and(|code| code != 0) && read.entries.is_empty() && system.user().id == 0
    {
        let last = answer.complaint.lines().last().unwrap_or("no error message");
        return Err(Failure::refused(format!("journalctl cannot read the journal: {last}")));
    }
    Ok(read)
}

/// Reads a binary journal (a file or directory) through journalctl, and exported text directly.
fn boots_in_path(
    system: &dyn System,
    path: &Path,
    most: usize,
    until: Option<&str>,
) -> Outcome<FoundBoots> {
    let shown = path.display();
    let status = system.status(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::mistake(format!("journal {shown}: no such file or directory"))
        }
        _ => Failure::refused(format!("journal {shown}: {error}")),
    })?;
    let place = path.to_string_lossy();
    // The option of journalctl, which reads binary journals; `None` for exported text.
    let binary = match status.kind {
        FileKind::Directory if holds_journals(system, path) => Some(["--directory", &place]),
        FileKind::File if begins_as_journal(system, path) => Some(["--file", &place]),
        FileKind::Directory | FileKind::File => None,
        _ => {
            return Err(Failure::mistake(format!("journal {shown}: not a file or directory")));
        }
    };
    let found = match binary {
        Some(_) if system.program(JOURNALCTL).is_none() => {
            return Err(Failure::refused(format!(
                "cannot read the journal {shown}: journalctl is not installed; run journalctl -D DIR -o export > \
                 boots.export on the other machine, and use that file"
            )));
        }
        Some(place) => read_with_journalctl(system, &place, most, until)?,
        None => read_text(system, path, status.kind, most, until)?,
    };
    if found.boots.is_empty() {
        return Err(Failure::mistake(format!(
            "journal {shown}: no boot in this file{}; create it with journalctl -o export > boots.export",
            if found.faults > 0 {
                format!(" ({} entries were unreadable)", found.faults)
            } else {
                String::new()
            }
        )));
    }
    Ok(found)
}

/// Whether a directory, or one directly below it, contains journal files.
fn holds_journals(system: &dyn System, directory: &Path) -> bool {
    let list = |directory: &Path| system.list(directory).unwrap_or_default();
    let is_journal = |name: &String| name.ends_with(".journal") || name.ends_with(".journal~");
    let names = list(directory);
    names.iter().any(is_journal)
        || names.iter().any(|name| list(&directory.join(name)).iter().any(is_journal))
}

fn begins_as_journal(system: &dyn System, path: &Path) -> bool {
    let mut start = [0; SIGNATURE.len()];
    let file = system.open_for_reading(path, assay_machine::system::Caching::Buffered);
    file.and_then(|file| system.read_at(&file, 0, &mut start)).is_ok() && start == SIGNATURE
}

/// Reads exported text: one file, or all files of a directory.
fn read_text(
    system: &dyn System,
    path: &Path,
    kind: FileKind,
    most: usize,
    until: Option<&str>,
) -> Outcome<FoundBoots> {
    let files: Vec<PathBuf> = match kind {
        FileKind::Directory => {
            let refused = |error| Failure::refused(format!("{}: {error}", path.display()));
            let names = system.list(path).map_err(refused)?;
            names.iter().map(|name| path.join(name)).collect()
        }
        _ => vec![path.to_owned()],
    };
    let mut entries = Vec::new();
    let mut faults = 0;
    for file in files {
        let Ok(status) = system.status(&file) else { continue };
        if status.kind != FileKind::File {
            continue;
        }
        let shown = file.display();
        if status.size_bytes > LARGEST_FILE_BYTES {
            return Err(Failure::mistake(format!(
                "{shown} is too large; export fewer boots (journalctl -b -5 -o export)"
            )));
        }
        let refused = |error| Failure::refused(format!("cannot read {shown}: {error}"));
        let read = entry::read(&system.read_bytes(&file).map_err(refused)?);
        faults += read.faults;
        entries.extend(read.entries.into_iter().filter(is_needed));
    }
    let mut boots = timeline::boots(&entries, until);
    let older = boots.len().saturating_sub(most);
    Ok(FoundBoots { boots: boots.split_off(older), older, faults, is_own: false })
}

#[cfg(test)]
mod tests {
    use assay_core::failure::Kind;
    use assay_machine::system::Fake;

    use super::*;

    #[test]
    fn a_machine_without_systemd_says_what_can_be_had() {
        let fake = Fake::new();
        fake.put_output("dmesg", "[    0.467173] Run /sbin/init as init process\n");
        let failure = read(&fake, &RecordSource::Own, 9, None).unwrap_err();
        assert_eq!(failure.kind, Kind::Refused);
        assert!(failure.message.contains("no systemd journal"), "{}", failure.message);
        assert!(failure.message.contains("0.467 s"), "{}", failure.message);
        fake.install("journalctl");
        let failure = read(&fake, &RecordSource::Own, 9, None).unwrap_err();
        assert!(failure.message.contains("has no systemd journal"), "{}", failure.message);
    }

    #[test]
    fn who_may_not_read_the_journal_is_told_which_group_may() {
        let fake = Fake::new();
        fake.put("/var/log/journal/x", "").put("/run/systemd/system/x", "").install("journalctl");
        fake.put_told(
            "journalctl",
            1,
            "",
            "No journal files were opened due to insufficient permissions.",
        );
        fake.set_user(1000);
        let failure = read(&fake, &RecordSource::Own, 9, None).unwrap_err();
        assert_eq!(failure.kind, Kind::Refused);
        assert!(failure.message.contains("usermod -aG systemd-journal"), "{}", failure.message);
        fake.set_user(0);
        let failure = read(&fake, &RecordSource::Own, 9, None).unwrap_err();
        assert!(failure.message.contains("insufficient permissions"), "{}", failure.message);
    }

    #[test]
    fn a_file_that_is_none_or_tells_nothing_is_the_users_mistake() {
        let fake = Fake::new();
        fake.put("/a.json", "{}\n");
        for (path, told) in [("/none", "no such file"), ("/a.json", "1 entries were unreadable")] {
            let failure = read(&fake, &RecordSource::At(path.into()), 9, None).unwrap_err();
            assert_eq!(failure.kind, Kind::Mistake);
            assert!(failure.message.contains(told), "{}", failure.message);
        }
    }

    const EXPORTED: &str = include_str!("../../tests/fixtures/journals/bullseye.json");

    #[test]
    fn exported_text_is_read_of_a_file_and_of_all_files_of_a_directory() {
        let fake = Fake::new();
        fake.put("/one.json", EXPORTED).put("/many/a.json", EXPORTED).put("/many/b.txt", "{}\n");
        fake.put("/many/below/c.json", "not read\n");
        let all =
            |path: &str, most| read(&fake, &RecordSource::At(path.into()), most, None).unwrap();
        let (one, many) = (all("/one.json", 9), all("/many", 9));
        assert_eq!((one.boots.len(), one.older, one.faults, one.is_own), (7, 0, 0, false));
        assert_eq!((many.boots.clone(), many.faults), (one.boots.clone(), 1));
        let newest = all("/one.json", 2);
        assert_eq!((newest.boots.as_slice(), newest.older), (&one.boots[5..], 5));
        // It belongs to this machine if that is among them.
        fake.put("/etc/machine-id", format!("{}\n", one.boots[0].machine));
        assert!(all("/one.json", 9).is_own);
        fake.put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert!(!all("/one.json", 9).is_own);
    }

    #[test]
    fn a_journals_own_files_are_left_to_journalctl() {
        let fake = Fake::new();
        fake.put("/flat/system.journal", "x").put("/deep/0123/user-1.journal~", "x");
        fake.put("/file", "LPKSHHRH and more").put("/text", "LPKSHHR");
        for path in ["/flat", "/deep", "/file"] {
            let failure = read(&fake, &RecordSource::At(path.into()), 9, None).unwrap_err();
            assert_eq!(failure.kind, Kind::Refused, "{path}");
            assert!(failure.message.contains("journalctl is not installed"), "{}", failure.message);
        }
        let failure = read(&fake, &RecordSource::At("/text".into()), 9, None).unwrap_err();
        assert!(failure.message.contains("no boot in this file"), "{}", failure.message);
        fake.install("journalctl");
        fake.put_told("journalctl", 0, EXPORTED, "");
        let found = read(&fake, &RecordSource::At("/deep".into()), 2, None).unwrap();
        assert_eq!((found.boots.len(), found.older), (2, 5));
    }

    /// A machine whose journalctl prints this text for any request.
    fn with_journal(text: &str) -> Fake {
        let fake = Fake::new();
        fake.put("/var/log/journal/x", "").put("/run/systemd/system/x", "").install("journalctl");
        fake.put_told("journalctl", 0, text, "");
        fake
    }

    #[test]
    fn a_journal_that_tells_of_no_boot_is_refused_with_the_reason() {
        let fake = with_journal("");
        let told = |fake: &Fake| read(fake, &RecordSource::Own, 9, None).unwrap_err().message;
        assert!(told(&fake).starts_with("the journal contains no boot: "), "{}", told(&fake));
        fake.set_user(1000);
        assert!(told(&fake).contains("the groups systemd-journal"), "{}", told(&fake));
        fake.remove("/run/systemd/system");
        let other = told(&fake);
        assert!(other.starts_with("systemd is not the init process, and the journal"), "{other}");
        // A user who may read it gets no advice on groups.
        let whole = with_journal(EXPORTED);
        whole.set_user(1000);
        assert_eq!(read(&whole, &RecordSource::Own, 9, None).unwrap().boots.len(), 7);
    }

    #[test]
    fn the_boot_that_runs_is_found_among_the_newest() {
        let fake = with_journal(EXPORTED);
        let all = read(&fake, &RecordSource::Own, 9, None).unwrap();
        assert!(all.is_own && all.faults == 0 && all.older == 0);
        let boot = |at: usize| {
            fake.put("/proc/sys/kernel/random/boot_id", format!("{}\n", all.boots[at].id));
            current_boot(&fake, None).map(|boot| boot.id)
        };
        assert_eq!(boot(6).unwrap(), all.boots[6].id);
        assert!(
            boot(0).unwrap_err().message.contains("does not contain the current boot"),
            "it is older"
        );
    }

    #[test]
    fn what_journalctl_says_last_is_why_it_cannot_read() {
        let fake = with_journal("");
        fake.put_told("journalctl", 1, "", "first\nlast");
        let told = |fake: &Fake| read(fake, &RecordSource::Own, 9, None).unwrap_err().message;
        assert_eq!(told(&fake), "journalctl cannot read the journal: last");
        fake.put_told("journalctl", 1, "", "");
        assert!(told(&fake).ends_with("no error message"), "{}", told(&fake));
        // With entries in the output, the exit code does not matter.
        fake.put_told("journalctl", 1, EXPORTED, "some file is damaged");
        assert_eq!(read(&fake, &RecordSource::Own, 9, None).unwrap().boots.len(), 7);
    }

    #[test]
    fn of_a_directory_only_files_are_read_and_none_that_is_too_large() {
        let fake = Fake::new();
        fake.add("dir /none\nother /device\n").unwrap();
        let told =
            |path: &str| read(&fake, &RecordSource::At(path.into()), 9, None).unwrap_err().message;
        assert!(told("/device").contains("not a file or directory"), "{}", told("/device"));
        let nothing = told("/none");
        assert!(nothing.contains("no boot in this file; create it with"), "{nothing}");
        assert!(!nothing.contains("unreadable"), "{nothing}");
    }

    #[test]
    fn of_the_kernel_only_what_boots_are_told_by_is_kept() {
        let of = |transport: &str, message: &str| {
            let (message, transport) = (message.to_owned(), transport.to_owned());
            is_needed(&Entry { message, transport, ..Entry::default() })
        };
        assert!(of("kernel", "Linux version 6.1") && of("kernel", "Command line: ro"));
        assert!(of("kernel", "Kernel command line: ro") && of("journal", "anything"));
        assert!(!of("kernel", "usb 1-1: new device") && !of("kernel", "a Linux version "));
    }
}
