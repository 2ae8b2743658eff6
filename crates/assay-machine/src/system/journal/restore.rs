//! Undoing: each kind of entry checks first whether there is anything to do, so undoing can be repeated after a crash.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Warrant;
use super::undo::{Mark, MemberMark, Undo, unit_files};
use crate::system::{Act, Errno, System, devices, mounts, network, signatures, swaps, sysfs};

/// Maximum number of tries while something is busy: a killed process releases its files a moment later.
const ATTEMPTS: u32 = 25;
/// The same for a program: it takes longer on a busy machine.
const ATTEMPTS_OF_A_PROGRAM: u32 = 150;
const PAUSE: Duration = Duration::from_millis(200);
/// Rounds after which settings that change each other (scheduler, queue depth) are restored.
const ROUNDS: u32 = 3;
/// Bytes to wipe at the start of a file system: every primary superblock is there.
const WIPED: u64 = 1 << 20;
/// Bytes of the unit of `start` in sysfs.
const SECTOR: u64 = 512;
/// Bytes to wipe of a superblock copy, which would identify a file system that is gone.
const WIPED_OF_COPY: u64 = 4096;

/// This directory exists if systemd is the init process.
pub const RUNNING: &str = "/run/systemd/system";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    Done,
    Nothing(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub done: Vec<String>,
    /// Entries without anything to undo, with reasons.
    pub nothing: Vec<String>,
    /// Entries that could not be undone, with reasons.
    pub failed: Vec<String>,
}

/// Current value of a setting: the choice in brackets if the kernel lists choices.
pub fn setting_value(text: &str) -> String {
    let chosen = text.contains('[').then(|| sysfs::chosen(text)).flatten();
    chosen.unwrap_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Undoes everything, the last change first, and looks again at the settings afterwards.
pub(super) fn all(system: &dyn System, warrant: Warrant, undos: &[Undo]) -> Report {
    let mut report = Report::default();
    for undo in undos.iter().rev() {
        match one(system, warrant, undo) {
            Ok(Restored::Done) => report.done.push(undo.to_string()),
            Ok(Restored::Nothing(why)) => report.nothing.push(format!("{undo}: {why}")),
            // Another setting may forbid it as yet: the scheduler bfq ignores a write to wbt_lat_usec.
            Err(_) if undo.setting().is_some() => {}
            Err(why) => report.failed.push(format!("{undo}: {why}")),
        }
    }
    settle(system, warrant, undos, &mut report);
    report
}

/// Writing one setting may change another that was right already.
fn settle(system: &dyn System, warrant: Warrant, undos: &[Undo], report: &mut Report) {
    let settings = || undos.iter().filter(|undo| matches!(undo, Undo::Setting { .. }));
    for _ in 0..ROUNDS {
        let again = settings().map(|undo| one(system, warrant, undo));
        if !again.into_iter().any(|found| matches!(found, Ok(Restored::Done))) {
            break;
        }
    }
    for undo in settings() {
        match one(system, warrant, undo) {
            Ok(Restored::Done) => {
                report.failed.push(format!("{undo}: another program keeps changing the setting"));
            }
            Err(why) => report.failed.push(format!("{undo}: {why}")),
            Ok(Restored::Nothing(_)) => {}
        }
    }
}

/// Undoes one entry, unless there is nothing to do.
pub(super) fn one(system: &dyn System, warrant: Warrant, undo: &Undo) -> io::Result<Restored> {
    let restorer = Restorer { system, warrant };
    match undo {
        Undo::Setting { path, original, device } => {
            restorer.setting(path, original, device.as_ref())
        }
        Undo::Mount { point } => restorer.mount(point),
        Undo::Served { point } => restorer.served(point),
        Undo::Mapping { name } => restorer.mapping(name),
        Undo::DirectoryKey { directory } => restorer.directory_key(directory),
        Undo::File { path } => restorer.file(path),
        Undo::Directory { path } => restorer.directory(path),
        Undo::Loop { file, device } => restorer.detach(file, device.as_ref()),
        Undo::Zram { number, sequence } => restorer.zram(*number, *sequence),
        Undo::Swap { path } => restorer.swap(path),
        Undo::Partition { disk, number, start } => restorer.partition(disk, *number, *start),
        Undo::FileSystem { disk, start, label } => restorer.file_system(disk, *start, label),
        Undo::Array { device, name, members } => restorer.array(device, name, members),
        Undo::NetworkSpace { name, with_mount } => restorer.network_space(name, *with_mount),
        Undo::Discipline { namespace, interface, original } => {
            restorer.discipline(namespace.as_deref(), interface, original)
        }
        Undo::Unit { name, wanted_by, written } => restorer.unit(name, wanted_by, written),
        Undo::Text { path, original, written } => {
            restorer.text(path, original.as_deref(), written.as_deref())
        }
    }
}

pub(super) fn remove_file(system: &dyn System, warrant: Warrant, path: &Path) -> io::Result<()> {
    match system.act(warrant, &Act::RemoveFile { path: path.to_owned() }) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

struct Restorer<'a> {
    system: &'a dyn System,
    warrant: Warrant,
}

impl Restorer<'_> {
    fn act(&self, act: &Act) -> io::Result<()> {
        self.system.act(self.warrant, act)
    }

    fn setting(&self, path: &Path, original: &str, device: Option<&Mark>) -> io::Result<Restored> {
        if let Some(mark) = device
            && !self.is_same(mark)?
        {
            return Ok(nothing(format!("{} was removed", mark.id)));
        }
        let read = || self.system.read_text(path).map(|text| setting_value(&text));
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(nothing("already removed"));
            }
            Err(error) => return Err(error),
            Ok(now) if now == original => return Ok(nothing("already restored")),
            Ok(_) => {}
        }
        let set = Act::Set { path: path.to_owned(), value: original.to_owned() };
        self.act(&set)?;
        match read()? {
            now if now == original => Ok(Restored::Done),
            now => Err(io::Error::other(format!("the kernel set {now} instead"))),
        }
    }

    fn mount(&self, point: &Path) -> io::Result<Restored> {
        let mounted = || -> io::Result<bool> {
            let table = mounts::read(self.system)?;
            Ok(table.iter().any(|entry| entry.mount.point == point))
        };
        if !mounted()? {
            return Ok(nothing("nothing is mounted"));
        }
        while mounted()? {
            self.patiently(&Act::Unmount { point: point.to_owned() })?;
        }
        Ok(Restored::Done)
    }

    /// A killed program may still complete its mount, so this waits for it.
    fn served(&self, point: &Path) -> io::Result<Restored> {
        let mut became = nothing("nothing is mounted");
        for _ in 0..ATTEMPTS_OF_A_PROGRAM {
            // Checked before the mounts, which then include a process that mounted and ended in between.
            let serves = self.names_it(point);
            if let Restored::Done = self.mount(point)? {
                became = Restored::Done;
            } else if !serves {
                return Ok(became);
            }
            self.system.sleep(if serves { PAUSE } else { Duration::ZERO });
        }
        Err(io::Error::other("the program that provides the mount is still running"))
    }

    /// Returns whether a running program has a directory among its arguments.
    fn names_it(&self, point: &Path) -> bool {
        let point = point.to_string_lossy();
        let names = |process: &String| {
            let line = self.system.read_text(&Path::new("/proc").join(process).join("cmdline"));
            line.is_ok_and(|line| line.split('\0').any(|word| word == point))
        };
        let processes = sysfs::names(self.system, Path::new("/proc"));
        let numbers = processes.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        numbers.into_iter().any(names)
    }

    fn mapping(&self, name: &str) -> io::Result<Restored> {
        let there = || match devices::mapping(self.system, name) {
            Ok(found) => Ok(found.is_some()),
            Err(error) => Err(because("cannot read the device-mapper state", &error)),
        };
        if !there()? {
            return Ok(nothing("already closed"));
        }
        self.until_gone(&Act::run("cryptsetup", &["close", name]), there)
    }

    /// If the directory is gone, so is the file system with the key.
    fn directory_key(&self, directory: &Path) -> io::Result<Restored> {
        match sysfs::there(self.system.encryption_of(directory))? {
            None => return Ok(nothing("already removed")),
            Some(None) => return Ok(nothing("not encrypted")),
            Some(Some(policy)) if !policy.has_key => {
                return Ok(nothing("the filesystem has no key"));
            }
            Some(Some(_)) => {}
        }
        self.patiently(&Act::ForgetKey { directory: directory.to_owned() })?;
        Ok(Restored::Done)
    }

    fn file(&self, path: &Path) -> io::Result<Restored> {
        // After its removal, its loop device cannot be found by name.
        let loops = self.loops_of(path)?;
        if !loops.is_empty() {
            return Err(io::Error::other(format!("{} still uses the file", loops.join(", "))));
        }
        match self.act(&Act::RemoveFile { path: path.to_owned() }) {
            Ok(()) => Ok(Restored::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(nothing("already removed")),
            Err(error) => Err(error),
        }
    }

    fn directory(&self, path: &Path) -> io::Result<Restored> {
        let remove = || self.act(&Act::RemoveDirectory { path: path.to_owned() });
        let removed = match remove() {
            // A mount appeared after all: its server was slower than the timeout.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                self.mount(path)?;
                remove()
            }
            other => other,
        };
        match removed {
            Ok(()) => Ok(Restored::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(nothing("already removed")),
            Err(error) => Err(error),
        }
    }

    /// By file and device, because the file's name disappears with the mount namespace of a killed run.
    fn detach(&self, file: &Path, device: Option<&Mark>) -> io::Result<Restored> {
        let users = || {
            let mut users = self.loops_of(file)?;
            if let Some(mark) = device.filter(|mark| mark.sequence.is_some())
                && !users.contains(&mark.name)
                && self.is_same(mark)?
                && devices::backing_file(self.system, &mark.name).is_some()
            {
                users.push(mark.name.clone());
            }
            Ok::<_, io::Error>(users)
        };
        if users()?.is_empty() {
            return Ok(nothing("no loop device uses the file"));
        }
        for _ in 0..ATTEMPTS {
            for name in users()? {
                let device = devices::file_of(&name);
                match self.act(&Act::DetachLoop { device }) {
                    // Gone by itself, with its last user.
                    Err(error) if Errno::find(&error) == Some(Errno::NXIO) => {}
                    other => other?,
                }
            }
            if users()?.is_empty() {
                return Ok(Restored::Done);
            }
            self.system.sleep(PAUSE);
        }
        Err(io::Error::other(format!("{} is in use", users()?.join(", "))))
    }

    fn zram(&self, number: u32, sequence: Option<u64>) -> io::Result<Restored> {
        let name = format!("zram{number}");
        let file =
            sysfs::block(&name).join(if sequence.is_some() { "diskseq" } else { "disksize" });
        let there = sysfs::there(self.system.read_text(&file))?;
        let Some(now) = there.map(|text| text.trim().parse::<u64>().ok()) else {
            return Ok(nothing("already removed"));
        };
        // A device that was to be added has no size yet; another program's would.
        if now != Some(sequence.unwrap_or(0)) {
            return Ok(nothing("another zram device has this number"));
        }
        self.patiently(&Act::RemoveZram { number })?;
        Ok(Restored::Done)
    }

    fn swap(&self, path: &Path) -> io::Result<Restored> {
        let in_use = || match sysfs::there(swaps::has(self.system, path)) {
            Ok(found) => Ok(found.unwrap_or(false)),
            Err(error) => Err(because(&format!("cannot read {}", swaps::TABLE), &error)),
        };
        if !in_use()? {
            return Ok(nothing("not in use"));
        }
        self.patiently(&Act::SwapOff { path: path.to_owned() })?;
        Ok(Restored::Done)
    }

    fn partition(&self, disk: &Mark, number: u32, start: u64) -> io::Result<Restored> {
        if !self.is_same(disk)? {
            return Ok(nothing(format!("{} was removed", disk.id)));
        }
        let name = devices::partition_name(&disk.name, number);
        let file = sysfs::block(&name).join("start");
        let there = sysfs::there(self.system.read_text(&file))?;
        let sectors = there.and_then(|text| text.trim().parse::<u64>().ok());
        if sectors.map(|sectors| sectors.saturating_mul(SECTOR)) != Some(start) {
            return Ok(nothing("already removed"));
        }
        let disk = devices::file_of(&disk.name);
        self.patiently(&Act::RemovePartition { disk, number })?;
        Ok(Restored::Done)
    }

    fn file_system(&self, disk: &Mark, start: u64, label: &str) -> io::Result<Restored> {
        let Some(device) = self.find(disk)? else {
            return Ok(nothing(format!("{} is not connected", disk.id)));
        };
        let found = signatures::superblocks(self.system, &device, start, label)?;
        if found == signatures::Superblocks::default() {
            return Ok(nothing("already removed"));
        }
        // The first superblock last: while it exists, this can be repeated.
        for at in found.copies {
            let range = at..at.saturating_add(WIPED_OF_COPY);
            self.patiently(&Act::Wipe { device: device.clone(), range })?;
        }
        if found.has_original {
            let end = start.saturating_add(WIPED);
            self.patiently(&Act::Wipe { device, range: start..end })?;
        }
        Ok(Restored::Done)
    }

    /// Stopped first: as long as a member bears the name, this can be done again.
    fn array(&self, device: &str, name: &str, members: &[MemberMark]) -> io::Result<Restored> {
        let mut own = Vec::new();
        for MemberMark { disk, start } in members {
            let Some(file) = self.find(disk)? else { continue };
            if signatures::superblocks(self.system, &file, *start, name)?.has_original {
                own.push((file, *start));
            }
        }
        let stopped = self.stop(device, &own)?;
        for (device, start) in &own {
            let range = *start..start.saturating_add(WIPED);
            self.patiently(&Act::Wipe { device: device.clone(), range })?;
        }
        let gone = own.is_empty() && !stopped;
        Ok(if gone { nothing("already removed") } else { Restored::Done })
    }

    /// Stops every array on these extents, and the named one if it is empty; returns whether there was one.
    fn stop(&self, device: &str, own: &[(PathBuf, u64)]) -> io::Result<bool> {
        let mut was_there = false;
        for _ in 0..ATTEMPTS {
            let arrays = devices::arrays_on(self.system, own, device)
                .map_err(|error| because("cannot list the arrays", &error))?;
            if arrays.is_empty() {
                return Ok(was_there);
            }
            was_there = true;
            for array in arrays {
                let path = sysfs::block(&array).join("md/array_state");
                match self.act(&Act::Set { path, value: "clear".to_owned() }) {
                    // The array disappears a moment after it was stopped, or is in use.
                    Err(error)
                        if !matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::ResourceBusy
                        ) && Errno::find(&error) != Some(Errno::NODEV) =>
                    {
                        return Err(error);
                    }
                    _ => {}
                }
            }
            self.system.sleep(PAUSE);
        }
        Err(io::Error::other("the array is in use"))
    }

    /// Its interfaces, their queues and their addresses disappear with it.
    fn network_space(&self, name: &str, with_mount: bool) -> io::Result<Restored> {
        let place = Path::new(network::lab::PLACE);
        let removed = self.remove_space(name)?;
        if with_mount && self.system.list(place).is_ok_and(|names| names.is_empty()) {
            self.mount(place)?;
        }
        Ok(removed)
    }

    fn remove_space(&self, name: &str) -> io::Result<Restored> {
        let file = Path::new(network::lab::PLACE).join(name);
        let there = || Ok(sysfs::there(self.system.status(&file))?.is_some());
        if !there()? {
            return Ok(nothing("already removed"));
        }
        self.until_gone(&network::lab::remove(name), there)
    }

    /// Repeats a step until its object is gone.
    fn until_gone(
        &self,
        removal: &Act,
        is_there: impl Fn() -> io::Result<bool>,
    ) -> io::Result<Restored> {
        let mut refused = io::Error::other("is busy");
        for _ in 0..ATTEMPTS {
            let removed = self.act(removal);
            if !is_there()? {
                return Ok(Restored::Done);
            }
            refused = removed.err().unwrap_or_else(|| io::Error::other("is busy"));
            self.system.sleep(PAUSE);
        }
        Err(refused)
    }

    /// Removes only Assay's own discipline, identified by its handle.
    fn discipline(
        &self,
        namespace: Option<&str>,
        interface: &str,
        original: &str,
    ) -> io::Result<Restored> {
        if let Some(name) = namespace {
            let space = self.system.status(&Path::new(network::lab::PLACE).join(name));
            if sysfs::there(space)?.is_none() {
                return Ok(nothing("the namespace was removed"));
            }
        }
        let words = network::shown(namespace, interface);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let shown = || {
            let told = self.system.output_of("tc", &words);
            told.map_err(|error| because("tc does not report the qdisc", &error))
        };
        let now = shown()?;
        if now.trim().is_empty() {
            return Ok(nothing("the interface was removed"));
        }
        if !network::is_own(&now) {
            return Ok(nothing("already restored"));
        }
        let root = ["qdisc", "del", "dev", interface, "root"].map(str::to_owned);
        let arguments = network::within(namespace).into_iter().chain(root).collect();
        let deleted = self.act(&Act::Run { program: "tc".to_owned(), arguments });
        let now = shown()?;
        if now.trim().is_empty() {
            return Ok(nothing("the interface was removed"));
        }
        deleted?;
        if now == original {
            return Ok(Restored::Done);
        }
        let (now, original) = (now.trim(), original.trim());
        Err(io::Error::other(format!("the kernel set {now:?} instead of {original:?}")))
    }

    /// Removes the link first, so that this can be repeated; informs systemd if it runs.
    fn unit(&self, name: &str, wanted_by: &str, written: &str) -> io::Result<Restored> {
        if [name, wanted_by].iter().any(|word| word.is_empty() || word.contains('/')) {
            return Err(io::Error::other("not a unit name"));
        }
        let [file, link] = unit_files(name, wanted_by);
        let linked = self.system.read_link(&link).is_ok();
        let now = sysfs::there(self.system.read_text(&file))?;
        if now.is_none() && !linked {
            return Ok(nothing("already removed"));
        }
        if now.as_deref().is_some_and(|now| now != written) {
            return Err(io::Error::other("another program changed the file"));
        }
        for path in [link, file] {
            remove_file(self.system, self.warrant, &path)?;
        }
        if self.system.status(Path::new(RUNNING)).is_ok() {
            let _ = self.act(&Act::run("systemctl", &["daemon-reload"]));
        }
        Ok(Restored::Done)
    }

    fn text(
        &self,
        path: &Path,
        original: Option<&str>,
        written: Option<&str>,
    ) -> io::Result<Restored> {
        let now = self.system.read_text(path).ok();
        if now.is_some() && now.as_deref() == original {
            return Ok(nothing("already restored"));
        }
        if let (Some(now), Some(written)) = (&now, written)
            && now != written
        {
            return Err(io::Error::other("another program changed the file"));
        }
        let Some(text) = original else { return self.file(path) };
        let write = Act::WriteFile { path: path.to_owned(), text: text.to_owned() };
        self.act(&write)?;
        Ok(Restored::Done)
    }

    fn is_same(&self, mark: &Mark) -> io::Result<bool> {
        let now = Mark::read(self.system, &mark.name);
        let now = now.map_err(|error| because(&format!("cannot access {}", mark.name), &error))?;
        Ok(now.is_some_and(|now| now.is_same(mark)))
    }

    fn loops_of(&self, file: &Path) -> io::Result<Vec<String>> {
        devices::loops_of(self.system, file)
            .map_err(|error| because("cannot list the loop devices", &error))
    }

    /// The device file of a disk, which may have another name after a restart.
    fn find(&self, disk: &Mark) -> io::Result<Option<PathBuf>> {
        if self.is_same(disk)? {
            return Ok(Some(devices::file_of(&disk.name)));
        }
        // Names such as loop3:512MiB are given again; only a serial number is for ever.
        let lasting = !disk.id.starts_with(&format!("{}:", disk.name));
        let mut all = devices::drives(self.system).into_iter();
        let found = all.find(|drive| lasting && drive.id == disk.id);
        Ok(found.map(|found| devices::file_of(&found.name)))
    }

    /// Repeats an act for a while if the kernel reports that the object is busy.
    fn patiently(&self, act: &Act) -> io::Result<()> {
        for _ in 1..ATTEMPTS {
            match self.act(act) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    self.system.sleep(PAUSE);
                }
                other => return other,
            }
        }
        self.act(act)
    }
}

fn nothing(why: impl Into<String>) -> Restored {
    Restored::Nothing(why.into())
}

fn because(what: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}
