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

/// Undoes everything, the last change first; afterwards restores settings again that the others have changed.
pub(super) fn undo_all(system: &dyn System, warrant: Warrant, undos: &[Undo]) -> Report {
    let mut report = Report::default();
    for undo in undos.iter().rev() {
        match undo_one(system, warrant, undo) {
            Ok(Restored::Done) => report.done.push(undo.to_string()),
            Ok(Restored::Nothing(why)) => report.nothing.push(format!("{undo}: {why}")),
            // Tried again below: another setting may still forbid it, as the scheduler bfq does for wbt_lat_usec.
            Err(_) if undo.setting().is_some() => {}
            Err(why) => report.failed.push(format!("{undo}: {why}")),
        }
    }
    settle_settings(system, warrant, undos, &mut report);
    report
}

/// Restores settings again until all are original, because restoring one may change another; reports the wrong ones.
fn settle_settings(system: &dyn System, warrant: Warrant, undos: &[Undo], report: &mut Report) {
    let settings = || undos.iter().filter(|undo| matches!(undo, Undo::Setting { .. }));
    for _ in 0..ROUNDS {
        // Restores all of them: `any` would stop at the first one.
        let had_to_restore =
            |undo: &&Undo| matches!(undo_one(system, warrant, undo), Ok(Restored::Done));
        if settings().filter(had_to_restore).count() == 0 {
            break;
        }
    }
    for undo in settings() {
        match undo_one(system, warrant, undo) {
            Ok(Restored::Done) => {
                report.failed.push(format!("{undo}: another program keeps changing the setting"));
            }
            Err(why) => report.failed.push(format!("{undo}: {why}")),
            Ok(Restored::Nothing(_)) => {}
        }
    }
}

pub(super) fn undo_one(system: &dyn System, warrant: Warrant, undo: &Undo) -> io::Result<Restored> {
    let restorer = Restorer { system, warrant };
    match undo {
        Undo::Setting { path, original, device } => restorer.reset(path, original, device.as_ref()),
        Undo::Mount { point } => restorer.unmount(point),
        Undo::Served { point } => restorer.unmount_served(point),
        Undo::Mapping { name } => restorer.close_mapping(name),
        Undo::DirectoryKey { directory } => restorer.forget_directory_key(directory),
        Undo::File { path } => restorer.remove_file(path),
        Undo::Directory { path } => restorer.remove_directory(path),
        Undo::Loop { file, device } => restorer.detach_loop(file, device.as_ref()),
        Undo::Zram { number, sequence } => restorer.remove_zram(*number, *sequence),
        Undo::Swap { path } => restorer.disable_swap(path),
        Undo::Partition { disk, number, start } => restorer.remove_partition(disk, *number, *start),
        Undo::FileSystem { disk, start, label } => restorer.wipe_file_system(disk, *start, label),
        Undo::Array { device, name, members } => restorer.stop_array(device, name, members),
        Undo::NetworkSpace { name, with_mount } => restorer.remove_network_space(name, *with_mount),
        Undo::Discipline { namespace, interface, original } => {
            restorer.delete_discipline(namespace.as_deref(), interface, original)
        }
        Undo::Unit { name, wanted_by, written } => restorer.remove_unit(name, wanted_by, written),
        Undo::Text { path, original, written } => {
            restorer.revert_text(path, original.as_deref(), written.as_deref())
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

    /// Writes the original value of a setting, unless its device was replaced, and verifies the value.
    fn reset(&self, path: &Path, original: &str, device: Option<&Mark>) -> io::Result<Restored> {
        if let Some(mark) = device
            && !self.is_same(mark)?
        {
            return Ok(not_needed(format!("{} was removed", mark.id)));
        }
        let read_value = || self.system.read_text(path).map(|text| setting_value(&text));
        match read_value() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(not_needed("already removed"));
            }
            Err(error) => return Err(error),
            Ok(now) if now == original => return Ok(not_needed("already restored")),
            Ok(_) => {}
        }
        let set = Act::Set { path: path.to_owned(), value: original.to_owned() };
        self.act(&set)?;
        match read_value()? {
            now if now == original => Ok(Restored::Done),
            now => Err(io::Error::other(format!("the kernel set {now} instead"))),
        }
    }

    /// Unmounts everything at a point, because mounts may hide earlier ones there.
    fn unmount(&self, point: &Path) -> io::Result<Restored> {
        let is_mounted = || -> io::Result<bool> {
            Ok(mounts::read(self.system)?.iter().any(|entry| entry.mount.point == point))
        };
        if !is_mounted()? {
            return Ok(not_needed("nothing is mounted"));
        }
        while is_mounted()? {
            self.retry_while_busy(&Act::Unmount { point: point.to_owned() })?;
        }
        Ok(Restored::Done)
    }

    /// Unmounts a directory that a program serves. Waits for the program to end: if killed, it may still mount.
    fn unmount_served(&self, point: &Path) -> io::Result<Restored> {
        let mut restored = not_needed("nothing is mounted");
        for _ in 0..ATTEMPTS_OF_A_PROGRAM {
            // Checked before the mounts, which then include a process that mounted and ended in between.
            let has_server = self.has_server(point);
            if let Restored::Done = self.unmount(point)? {
                restored = Restored::Done;
            } else if !has_server {
                return Ok(restored);
            }
            self.system.sleep(if has_server { PAUSE } else { Duration::ZERO });
        }
        Err(io::Error::other("the program that provides the mount is still running"))
    }

    /// Returns whether a running program has a directory among its arguments, as one that serves it has.
    fn has_server(&self, point: &Path) -> bool {
        let point = point.to_string_lossy();
        let names_point = |process: &String| {
            let line = self.system.read_text(&Path::new("/proc").join(process).join("cmdline"));
            line.is_ok_and(|line| line.split('\0').any(|argument| argument == point))
        };
        let is_process = |name: &&String| name.bytes().all(|byte| byte.is_ascii_digit());
        sysfs::names(self.system, Path::new("/proc")).iter().filter(is_process).any(names_point)
    }

    fn close_mapping(&self, name: &str) -> io::Result<Restored> {
        let is_open = || match devices::mapping(self.system, name) {
            Ok(mapping) => Ok(mapping.is_some()),
            Err(error) => Err(with_context("cannot read the device-mapper state", &error)),
        };
        if !is_open()? {
            return Ok(not_needed("already closed"));
        }
        self.remove_until_gone(&Act::run("cryptsetup", &["close", name]), is_open)
    }

    /// Removes a directory's encryption key from the file system; if the directory is gone, so is the file system.
    fn forget_directory_key(&self, directory: &Path) -> io::Result<Restored> {
        match sysfs::if_exists(self.system.encryption_of(directory))? {
            None => return Ok(not_needed("already removed")),
            Some(None) => return Ok(not_needed("not encrypted")),
            Some(Some(policy)) if !policy.has_key => {
                return Ok(not_needed("the filesystem has no key"));
            }
            Some(Some(_)) => {}
        }
        self.retry_while_busy(&Act::ForgetKey { directory: directory.to_owned() })
    }

    fn remove_file(&self, path: &Path) -> io::Result<Restored> {
        // After the file's removal, its loop devices could not be found by its name.
        let loops = self.loops_of(path)?;
        if !loops.is_empty() {
            return Err(io::Error::other(format!("{} still uses the file", loops.join(", "))));
        }
        done_unless_missing(self.act(&Act::RemoveFile { path: path.to_owned() }))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<Restored> {
        let remove = || self.act(&Act::RemoveDirectory { path: path.to_owned() });
        let removed = match remove() {
            // A mount appeared after all: its server was slower than the timeout.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                self.unmount(path)?;
                remove()
            }
            other => other,
        };
        done_unless_missing(removed)
    }

    /// Finds loop devices by file and mark, because the file's name disappears with the mount namespace of a killed run.
    fn detach_loop(&self, file: &Path, device: Option<&Mark>) -> io::Result<Restored> {
        let find_users = || {
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
        if find_users()?.is_empty() {
            return Ok(not_needed("no loop device uses the file"));
        }
        for _ in 0..ATTEMPTS {
            for name in find_users()? {
                let device = devices::file_of(&name);
                match self.act(&Act::DetachLoop { device }) {
                    // Gone by itself, with its last user.
                    Err(error) if Errno::find(&error) == Some(Errno::NXIO) => {}
                    other => other?,
                }
            }
            if find_users()?.is_empty() {
                return Ok(Restored::Done);
            }
            self.system.sleep(PAUSE);
        }
        Err(io::Error::other(format!("{} is in use", find_users()?.join(", "))))
    }

    /// Removes the zram device that the run added: that with its sequence number, or one without a size.
    fn remove_zram(&self, number: u32, sequence: Option<u64>) -> io::Result<Restored> {
        let (attribute, expected) = match sequence {
            Some(sequence) => ("diskseq", sequence),
            // The run died while adding the device, which has no size then; another program's device has one.
            None => ("disksize", 0),
        };
        let file = sysfs::block(&format!("zram{number}")).join(attribute);
        let Some(text) = sysfs::if_exists(self.system.read_text(&file))? else {
            return Ok(not_needed("already removed"));
        };
        if text.trim().parse::<u64>() != Ok(expected) {
            return Ok(not_needed("another zram device has this number"));
        }
        self.retry_while_busy(&Act::RemoveZram { number })
    }

    fn disable_swap(&self, path: &Path) -> io::Result<Restored> {
        let in_use = || match sysfs::if_exists(swaps::has(self.system, path)) {
            Ok(found) => Ok(found.unwrap_or(false)),
            Err(error) => Err(with_context(&format!("cannot read {}", swaps::TABLE), &error)),
        };
        if !in_use()? {
            return Ok(not_needed("not in use"));
        }
        self.retry_while_busy(&Act::SwapOff { path: path.to_owned() })
    }

    fn remove_partition(&self, disk: &Mark, number: u32, start: u64) -> io::Result<Restored> {
        if !self.is_same(disk)? {
            return Ok(not_needed(format!("{} was removed", disk.id)));
        }
        let name = devices::partition_name(&disk.name, number);
        let file = sysfs::block(&name).join("start");
        let text = sysfs::if_exists(self.system.read_text(&file))?;
        let sectors = text.and_then(|text| text.trim().parse::<u64>().ok());
        if sectors.map(|sectors| sectors.saturating_mul(SECTOR)) != Some(start) {
            return Ok(not_needed("already removed"));
        }
        let disk = devices::file_of(&disk.name);
        self.retry_while_busy(&Act::RemovePartition { disk, number })
    }

    /// Wipes the superblocks with Assay's label, from the start of the file system's place on a disk on.
    fn wipe_file_system(&self, disk: &Mark, start: u64, label: &str) -> io::Result<Restored> {
        let Some(device) = self.device_file(disk)? else {
            return Ok(not_needed(format!("{} is not connected", disk.id)));
        };
        let found = signatures::superblocks(self.system, &device, start, label)?;
        if found == signatures::Superblocks::default() {
            return Ok(not_needed("already removed"));
        }
        // The original superblock last: while it exists, this can be repeated after an interruption.
        for at in found.copies {
            let range = at..at.saturating_add(WIPED_OF_COPY);
            self.retry_while_busy(&Act::Wipe { device: device.clone(), range })?;
        }
        if found.has_original {
            let end = start.saturating_add(WIPED);
            self.retry_while_busy(&Act::Wipe { device, range: start..end })?;
        }
        Ok(Restored::Done)
    }

    /// Stops an array before wiping its members: as long as a member has the name, this can be repeated.
    fn stop_array(&self, device: &str, name: &str, members: &[MemberMark]) -> io::Result<Restored> {
        let mut marked = Vec::new();
        for MemberMark { disk, start } in members {
            let Some(file) = self.device_file(disk)? else { continue };
            if signatures::superblocks(self.system, &file, *start, name)?.has_original {
                marked.push((file, *start));
            }
        }
        let has_stopped = self.stop_arrays(device, &marked)?;
        for (device, start) in &marked {
            let range = *start..start.saturating_add(WIPED);
            self.retry_while_busy(&Act::Wipe { device: device.clone(), range })?;
        }
        let was_removed = marked.is_empty() && !has_stopped;
        Ok(if was_removed { not_needed("already removed") } else { Restored::Done })
    }

    /// Stops every array on these extents, and the named one if it is empty; returns whether there was one.
    fn stop_arrays(&self, device: &str, members: &[(PathBuf, u64)]) -> io::Result<bool> {
        let mut was_there = false;
        for _ in 0..ATTEMPTS {
            let arrays = devices::arrays_on(self.system, members, device)
                .map_err(|error| with_context("cannot list the arrays", &error))?;
            if arrays.is_empty() {
                return Ok(was_there);
            }
            was_there = true;
            for array in arrays {
                let path = sysfs::block(&array).join("md/array_state");
                match self.act(&Act::Set { path, value: "clear".to_owned() }) {
                    Ok(()) => {}
                    // Already stopped: it disappears a moment later.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) if Errno::find(&error) == Some(Errno::NODEV) => {}
                    // In use: tried again after the pause.
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                    Err(error) => return Err(error),
                }
            }
            self.system.sleep(PAUSE);
        }
        Err(io::Error::other("the array is in use"))
    }

    /// Removes a namespace, with which its interfaces, their queues and their addresses disappear.
    fn remove_network_space(&self, name: &str, with_mount: bool) -> io::Result<Restored> {
        let place = Path::new(network::lab::PLACE);
        let file = place.join(name);
        let exists = || Ok(sysfs::if_exists(self.system.status(&file))?.is_some());
        let removed = if exists()? {
            self.remove_until_gone(&network::lab::remove(name), exists)?
        } else {
            not_needed("already removed")
        };
        // The place is the mount that the creation of the first namespace made.
        if with_mount && self.system.list(place).is_ok_and(|names| names.is_empty()) {
            self.unmount(place)?;
        }
        Ok(removed)
    }

    /// Repeats a program until its object is gone, whatever it reports; fails with its last error.
    fn remove_until_gone(
        &self,
        removal: &Act,
        is_there: impl Fn() -> io::Result<bool>,
    ) -> io::Result<Restored> {
        let mut last_error = None;
        for _ in 0..ATTEMPTS {
            last_error = self.act(removal).err();
            if !is_there()? {
                return Ok(Restored::Done);
            }
            self.system.sleep(PAUSE);
        }
        Err(last_error.unwrap_or_else(|| io::Error::other("is busy")))
    }

    /// Removes only Assay's own discipline, identified by its handle.
    fn delete_discipline(
        &self,
        namespace: Option<&str>,
        interface: &str,
        original: &str,
    ) -> io::Result<Restored> {
        if let Some(name) = namespace {
            let space = self.system.status(&Path::new(network::lab::PLACE).join(name));
            if sysfs::if_exists(space)?.is_none() {
                return Ok(not_needed("the namespace was removed"));
            }
        }
        let arguments = network::shown(namespace, interface);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let read_qdisc = || {
            let output = self.system.output_of("tc", &arguments);
            output.map_err(|error| with_context("tc does not report the qdisc", &error))
        };
        let now = read_qdisc()?;
        if now.trim().is_empty() {
            return Ok(not_needed("the interface was removed"));
        }
        if !network::is_own(&now) {
            return Ok(not_needed("already restored"));
        }
        let root = ["qdisc", "del", "dev", interface, "root"].map(str::to_owned);
        let arguments = network::within(namespace).into_iter().chain(root).collect();
        let deleted = self.act(&Act::Run { program: "tc".to_owned(), arguments });
        // If the interface was removed meanwhile, the error does not matter.
        let now = read_qdisc()?;
        if now.trim().is_empty() {
            return Ok(not_needed("the interface was removed"));
        }
        deleted?;
        if now == original {
            return Ok(Restored::Done);
        }
        let (now, original) = (now.trim(), original.trim());
        Err(io::Error::other(format!("the kernel set {now:?} instead of {original:?}")))
    }

    /// Removes the link first, so that this can be repeated; informs systemd if it runs.
    fn remove_unit(&self, name: &str, wanted_by: &str, written: &str) -> io::Result<Restored> {
        if [name, wanted_by].iter().any(|word| word.is_empty() || word.contains('/')) {
            return Err(io::Error::other("not a unit name"));
        }
        let [file, link] = unit_files(name, wanted_by);
        let is_linked = self.system.read_link(&link).is_ok();
        let now = sysfs::if_exists(self.system.read_text(&file))?;
        if now.is_none() && !is_linked {
            return Ok(not_needed("already removed"));
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

    /// Restores the original text of a file, or removes a new file; fails if the file is not as `written`.
    fn revert_text(
        &self,
        path: &Path,
        original: Option<&str>,
        written: Option<&str>,
    ) -> io::Result<Restored> {
        let now = self.system.read_text(path).ok();
        if now.is_some() && now.as_deref() == original {
            return Ok(not_needed("already restored"));
        }
        if let (Some(now), Some(written)) = (&now, written)
            && now != written
        {
            return Err(io::Error::other("another program changed the file"));
        }
        let Some(text) = original else { return self.remove_file(path) };
        self.act(&Act::WriteFile { path: path.to_owned(), text: text.to_owned() })?;
        Ok(Restored::Done)
    }

    fn is_same(&self, mark: &Mark) -> io::Result<bool> {
        let now = Mark::read(self.system, &mark.name);
        let now =
            now.map_err(|error| with_context(&format!("cannot access {}", mark.name), &error))?;
        Ok(now.is_some_and(|now| now.is_same(mark)))
    }

    fn loops_of(&self, file: &Path) -> io::Result<Vec<String>> {
        devices::loops_of(self.system, file)
            .map_err(|error| with_context("cannot list the loop devices", &error))
    }

    /// The device file of a disk, which may have another name after a restart.
    fn device_file(&self, disk: &Mark) -> io::Result<Option<PathBuf>> {
        if self.is_same(disk)? {
            return Ok(Some(devices::file_of(&disk.name)));
        }
        // An ID of name and size (loop3:512MiB) may be that of another device; only a serial number identifies a disk.
        if disk.id.starts_with(&format!("{}:", disk.name)) {
            return Ok(None);
        }
        let drive = devices::drives(self.system).into_iter().find(|drive| drive.id == disk.id);
        Ok(drive.map(|drive| devices::file_of(&drive.name)))
    }

    /// Repeats an act for a while if the kernel reports that the object is busy.
    fn retry_while_busy(&self, act: &Act) -> io::Result<Restored> {
        for _ in 1..ATTEMPTS {
            match self.act(act) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    self.system.sleep(PAUSE);
                }
                other => return other.map(|()| Restored::Done),
            }
        }
        self.act(act).map(|()| Restored::Done)
    }
}

/// An object that is missing needs no removal.
fn done_unless_missing(removal: io::Result<()>) -> io::Result<Restored> {
    match removal {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(not_needed("already removed")),
        other => other.map(|()| Restored::Done),
    }
}

fn not_needed(why: impl Into<String>) -> Restored {
    Restored::Nothing(why.into())
}

fn with_context(what: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}
