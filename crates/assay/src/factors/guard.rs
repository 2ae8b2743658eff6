//! Changes the machine for a study, and puts everything back: read the original, write it to the
//! journal, change, read back and compare.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

use super::filesystem::Recipe;
use super::{Setting, has_role, located};
use crate::failure::{Failure, Outcome};
use crate::quantity::Bytes;
use crate::system::journal::{Journal, Mark, Report, Undo, make_own_directory, setting_value};
use crate::system::{Act, Consent, System, devices, identity, mounts, sysfs};

/// Partitions of a disk at most: their numbers are looked through for a free one.
const MOST_PARTITIONS: u32 = 128;
/// Lock of those who change settings: two runs would take each other's for the originals.
pub const SETTINGS: &str = "settings";
/// Another process may take a free loop device first.
const ATTEMPTS: usize = 20;

/// The one who changes the machine. Whatever ends it, everything is put back: by [`Guard::finish`],
/// or when it is dropped.
pub struct Guard<'a> {
    system: &'a dyn System,
    journal: Option<Journal>,
    /// Directory below which its own files and mount points lie.
    room: PathBuf,
    id: String,
    /// Names of files and labels are never used twice in a run.
    made: u32,
    /// Numbers of the partitions that it added, by disk and first byte.
    partitions: BTreeMap<(String, u64), u32>,
}

/// A place on a device for a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// Kernel name of the device.
    pub device: String,
    /// Its bytes that the file system may have.
    pub range: Range<u64>,
    /// Whether they are the whole device.
    pub whole: bool,
}

/// A file system that was made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Where.
    pub point: PathBuf,
    name: &'static str,
    options: String,
    undo: Vec<Undo>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            // A panic: what cannot be put back now stays in the journal, and `assay restore` says so.
            let _ = journal.finish(self.system);
        }
    }
}

impl<'a> Guard<'a> {
    /// Begins a journal; `home` is the directory of the tool's own state.
    pub fn begin(system: &'a dyn System, home: &Path, id: &str) -> Outcome<Self> {
        Self::with_journal_in(&journals(home), system, home, id)
    }

    /// Begins the journal of changes that are to stay, in a directory where no run looks for one.
    pub fn begin_lasting(system: &'a dyn System, home: &Path, id: &str) -> Outcome<Self> {
        Self::with_journal_in(&applied(home), system, home, id)
    }

    fn with_journal_in(
        directory: &Path,
        system: &'a dyn System,
        home: &Path,
        id: &str,
    ) -> Outcome<Self> {
        Ok(Self {
            system,
            journal: Some(Journal::begin(system, directory, id)?),
            room: home.join("room"),
            id: id.to_owned(),
            made: 0,
            partitions: BTreeMap::new(),
        })
    }

    /// Leaves everything as it is now; the journal stays, to undo it one day.
    pub fn keep(mut self) {
        self.journal = None;
    }

    /// Writes a new text file and sees that it is there.
    ///
    /// # Errors
    /// Refused where it could not be written.
    pub fn write(&mut self, path: &Path, text: &str) -> Outcome<()> {
        let undo =
            Undo::Text { path: path.to_owned(), original: None, written: Some(text.to_owned()) };
        self.act(undo, &Act::WriteFile { path: path.to_owned(), text: text.to_owned() })?;
        match self.system.read_text(path) {
            Ok(now) if now == text => Ok(()),
            _ => {
                Err(Failure::refused(format!("{} does not hold what was written", path.display())))
            }
        }
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// Not restored: what could not be put back, and what to do.
    pub fn finish(mut self) -> Outcome<Report> {
        let Some(journal) = self.journal.take() else { return Ok(Report::default()) };
        let report = journal.finish(self.system);
        if report.failed.is_empty() {
            return Ok(report);
        }
        Err(Failure::not_restored(format!(
            "not everything was put back: {}; free it, then run assay restore",
            report.failed.join("; ")
        )))
    }

    /// Brings one setting to its value and sees that it took effect.
    ///
    /// # Errors
    /// Why it could not be had; what was changed on the way is in the journal.
    pub fn set(&mut self, setting: &Setting) -> Outcome<()> {
        let setting = located(self.system, setting.clone()).map_err(Failure::refused)?;
        let path = &setting.path;
        let refused = |what: String| Failure::refused(format!("{}: {what}", path.display()));
        let now = self.read(path).map_err(|error| refused(sysfs::reason(&error)))?;
        if now == setting.value {
            return Ok(());
        }
        let device = setting.device.as_deref().map(|name| Mark::of(self.system, name));
        for beside in &setting.also {
            let original = self.read(beside).map_err(|error| refused(error.to_string()))?;
            self.record(Undo::Setting { path: beside.clone(), original, device: device.clone() })?;
        }
        let undo = Undo::Setting { path: path.clone(), original: now.clone(), device };
        if !self.undos().iter().any(|known| known.is_for_the_same(&undo)) {
            // What cannot be written back must not be changed.
            self.put(undo.clone(), path, &now).map_err(|failure| {
                refused(format!("its value cannot be put back: {}", failure.message))
            })?;
        }
        self.put(undo, path, &setting.value).map_err(|failure| refused(failure.message))
    }

    /// Writes a setting and reads it back.
    fn put(&mut self, undo: Undo, path: &Path, value: &str) -> Outcome<()> {
        let set = Act::Set { path: path.to_owned(), value: value.to_owned() };
        self.try_act(undo, &set)?.map_err(|error| {
            let denied = error.kind() == io::ErrorKind::PermissionDenied;
            let hint = if denied && self.system.user().id != 0 { "; become root" } else { "" };
            let reason = sysfs::reason(&error);
            Failure::refused(format!("the kernel refused {value}: {reason}{hint}"))
        })?;
        match self.read(path) {
            Ok(took) if took == value => Ok(()),
            Ok(took) => Err(Failure::refused(format!("asked for {value}, the kernel took {took}"))),
            Err(error) => Err(Failure::refused(error.to_string())),
        }
    }

    /// A loop device over a new file of zeros in the room; gives its device file.
    pub fn make_loop(&mut self, bytes: u64) -> Outcome<PathBuf> {
        self.make_room()?;
        let room = self.room.clone();
        if let Ok(space) = self.system.space(&room)
            && space.available_bytes < bytes
        {
            return Err(Failure::refused(format!(
                "{} has {} free, the loop device's file needs {}: make room there, or set ASSAY_HOME to a directory with room",
                room.display(),
                Bytes(space.available_bytes >> 20 << 20),
                Bytes(bytes)
            )));
        }
        let name = self.name("disk");
        let file = self.room.join(name);
        let made = Act::CreateFile { path: file.clone(), bytes };
        self.act(Undo::File { path: file.clone() }, &made)?;
        let file = self.system.canonical(&file).map_err(|error| cannot(&made, &error))?;
        for _ in 0..ATTEMPTS {
            let device = self.system.free_loop().map_err(|error| {
                Failure::refused(format!("there is no free loop device: {error}"))
            })?;
            let attach = Act::AttachLoop { device: device.clone(), file: file.clone() };
            match self.try_act(Undo::Loop { file: file.clone() }, &attach)? {
                Ok(()) => return Ok(device),
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => return Err(cannot(&attach, &error)),
            }
        }
        Err(Failure::refused("other processes take every free loop device first: try again"))
    }

    /// Makes a file system on a plot and mounts it, and sees that both took effect. That the device
    /// is still the one of the consent is looked at before each step.
    pub fn make_file_system(
        &mut self,
        plot: &Plot,
        recipe: &Recipe<'_>,
        consent: &Consent,
        discard: bool,
    ) -> Outcome<Mounted> {
        if let Some(fault) = recipe.fault() {
            return Err(Failure::refused(fault));
        }
        identity::confirm(self.system, consent)?;
        let disk = Mark::of(self.system, &plot.device);
        let device = self.device_of(plot, &disk)?;
        self.make_room()?;
        let label = self.label();
        let made = Undo::FileSystem { disk, start: plot.range.start, label: label.clone() };
        if discard {
            let range = 0..plot.range.end - plot.range.start;
            self.act(made.clone(), &Act::Discard { device: device.clone(), range })?;
            identity::confirm(self.system, consent)?;
        }
        let program = recipe.kind.program.to_owned();
        let arguments = recipe.arguments(&label, &device);
        self.act(made.clone(), &Act::Run { program, arguments })?;
        identity::confirm(self.system, consent)?;
        let name = self.name("mount");
        let point = self.room.join(name);
        let directory = Undo::Directory { path: point.clone() };
        let mounted = Mounted {
            point: point.clone(),
            name: recipe.kind.name,
            options: recipe.mount_options.to_owned(),
            undo: vec![Undo::Mount { point }, directory, made],
        };
        match self.mount(&device, &mounted) {
            Ok(()) => Ok(mounted),
            // Left there, it would be in the way of the next one.
            Err(failure) => Err(self.take_down(&mounted).err().unwrap_or(failure)),
        }
    }

    fn mount(&mut self, device: &Path, mounted: &Mounted) -> Outcome<()> {
        let Mounted { point, name, options, .. } = mounted;
        let directory = Undo::Directory { path: point.clone() };
        self.act(directory, &Act::CreateDirectory { path: point.clone() })?;
        let mount = Act::Mount {
            device: device.to_owned(),
            point: point.clone(),
            filesystem: (*name).to_owned(),
            options: options.clone(),
        };
        self.act(Undo::Mount { point: point.clone() }, &mount)?;
        self.see_mounted(mounted)
            .map_err(|what| Failure::refused(format!("mounting {name}: {what}")))
    }

    /// Unmounts a file system and wipes it.
    pub fn take_down(&mut self, mounted: &Mounted) -> Outcome<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        mounted.undo.iter().try_for_each(|undo| journal.take_back(self.system, undo))
    }

    /// Writes all settings back, for now.
    pub fn settings_back(&self) -> Outcome<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let settings =
            journal.undos().iter().rev().filter(|undo| matches!(undo, Undo::Setting { .. }));
        settings.into_iter().try_for_each(|undo| journal.take_back(self.system, undo))
    }

    /// What will be undone, the first change first.
    pub fn undos(&self) -> &[Undo] {
        self.journal.as_ref().map_or(&[], |journal| journal.undos())
    }

    /// Device file for a plot: the device, or a partition over its part of it.
    fn device_of(&mut self, plot: &Plot, disk: &Mark) -> Outcome<PathBuf> {
        let whole = devices::file_of(&plot.device);
        if plot.whole {
            return Ok(whole);
        }
        let Range { start, end } = plot.range;
        let key = (plot.device.clone(), start);
        let name = |number| devices::partition_name(&plot.device, number);
        if let Some(number) = self.partitions.get(&key) {
            let own = name(*number);
            let is_there = devices::start_of(self.system, &own) == Some(start)
                && devices::size_of(self.system, &own) == end - start;
            if is_there {
                return Ok(devices::file_of(&own));
            }
        }
        let taken = |number: &u32| devices::number_of(self.system, &name(*number)).is_some();
        let number = (1..=MOST_PARTITIONS).find(|number| !taken(number)).ok_or_else(|| {
            Failure::refused(format!("{} has no room for another partition", whole.display()))
        })?;
        let undo = Undo::Partition { disk: disk.clone(), number, start };
        let range = plot.range.clone();
        self.act(undo, &Act::AddPartition { disk: whole, number, range })?;
        self.partitions.insert(key, number);
        Ok(devices::file_of(&name(number)))
    }

    /// Sees in the kernel's own table that a file system is mounted as it was asked for; else how
    /// it is.
    pub fn see_mounted(&self, mounted: &Mounted) -> Result<(), String> {
        let table = mounts::read(self.system)
            .map_err(|error| format!("the mounts cannot be told: {error}"))?;
        let entry = table.iter().rev().find(|entry| entry.mount.point == mounted.point);
        let Some(entry) = entry else {
            return Err("nothing is mounted there, though nothing complained".to_owned());
        };
        if entry.mount.filesystem != mounted.name {
            return Err(format!("the kernel mounted {}", entry.mount.filesystem));
        }
        let asked = mounted.options.split(',').filter(|option| !option.is_empty());
        let lacks = |option: &&str| !shows(&entry.mount.options, option);
        match asked.into_iter().find(lacks) {
            Some(option) => {
                let took = entry.mount.options.join(",");
                Err(format!("asked for {option}, the kernel took {took}"))
            }
            None => Ok(()),
        }
    }

    fn make_room(&mut self) -> Outcome<()> {
        let room = self.room.clone();
        make_own_directory(self.system, &room).map_err(|error| {
            Failure::refused(format!("{} cannot be made: {error}", room.display()))
        })
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        self.system.read_text(path).map(|text| setting_value(&text))
    }

    fn record(&mut self, undo: Undo) -> Outcome<crate::system::journal::Warrant> {
        let ended = || Failure::refused("the journal is closed");
        self.journal.as_mut().ok_or_else(ended)?.record(self.system, undo)
    }

    fn try_act(&mut self, undo: Undo, act: &Act) -> Outcome<io::Result<()>> {
        let warrant = self.record(undo)?;
        Ok(self.system.act(warrant, act))
    }

    fn act(&mut self, undo: Undo, act: &Act) -> Outcome<()> {
        self.try_act(undo, act)?.map_err(|error| cannot(act, &error))
    }

    fn name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{}-{what}-{}", self.id, self.made)
    }

    /// A label that no other file system has: the longest that FAT takes has eleven letters.
    fn label(&mut self) -> String {
        self.made += 1;
        let tail: String =
            self.id.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
        format!("AY{}{:05}", tail.to_uppercase(), self.made % 100_000)
    }
}

/// Where the journals lie, in the directory of the tool's own state.
pub fn journals(home: &Path) -> PathBuf {
    home.join("journal")
}

/// Where the journals of changes lie that are to stay.
pub fn applied(home: &Path) -> PathBuf {
    home.join("applied")
}

/// The factors among an arm's levels that change settings, in the order in which they are set.
pub fn setters<'l>(
    levels: impl IntoIterator<Item = (&'l String, &'l String)>,
) -> Vec<(&'l str, &'l str)> {
    let known = levels.into_iter().map(|(name, level)| (name.as_str(), level.as_str()));
    let mut found: Vec<(&str, &str)> =
        known.filter(|(name, _)| has_role(name, super::Role::Setting)).collect();
    found.sort_by_key(|(name, _)| super::rank(name));
    found
}

/// Whether the kernel's list of options shows one: some are shown by not being there.
fn shows(options: &[String], option: &str) -> bool {
    const UNSHOWN: [&str; 8] =
        ["defaults", "rw", "relatime", "atime", "suid", "dev", "exec", "barrier"];
    UNSHOWN.contains(&option)
        || options.iter().any(|shown| shown == option)
        || option == "barrier=1" && !options.iter().any(|shown| shown.starts_with("nobarrier"))
        || option == "barrier=0" && options.iter().any(|shown| shown == "nobarrier")
        || option == "strictatime" && !options.iter().any(|shown| shown.ends_with("atime"))
}

fn cannot(act: &Act, error: &io::Error) -> Failure {
    Failure::refused(format!("{act}: {error}"))
}
