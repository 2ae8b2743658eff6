//! Changes the machine for a study, with journal and read-back, and restores everything.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

mod builder;

#[cfg(test)]
mod tests;

use crate::system::journal::{Journal, Mark, Report, Undo, excluded_by, setting_value};
use crate::system::{Act, DeviceNumber, FileKind, System, devices, sysfs};
use assay_core::failure::{Failure, Outcome};

use super::layers::DeviceRange;
use super::{Setting, has_role, locate};

pub use builder::Builder;

/// Maximum number of partitions per disk in the search for a free number.
const MOST_PARTITIONS: u32 = 128;
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// Directories whose settings change each other. Elsewhere a changing value may be a counter.
const INTERDEPENDENT: &[&str] = &["sys/vm", "queue", "iosched"];
const WITHOUT_VALUE: [io::ErrorKind; 4] = [
    io::ErrorKind::NotFound,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::InvalidInput,
    io::ErrorKind::Unsupported,
];
/// Maximum number of restore rounds: restoring a setting may change another one.
const ROUNDS: u32 = 3;
/// Lock for changing settings: two runs would take each other's values for originals.
pub const SETTINGS: &str = "settings";

/// Changes the machine. Restores everything at any end ([`Guard::finish`], drop).
pub struct Guard<'a> {
    system: &'a dyn System,
    journal: Option<Journal>,
    /// Directory of Assay's files and mount points.
    directory: PathBuf,
    id: String,
    /// Count of names and labels, so that each is used once.
    made: u32,
    /// Numbers of the partitions that it added, by disk and first byte.
    partitions: BTreeMap<(String, u64), u32>,
    /// The devices that the study began on: no other under their names is changed.
    study_devices: Vec<Mark>,
    /// Settings and values whose side effects are known.
    tried: BTreeSet<(PathBuf, String)>,
    /// Settings that the kernel changed with another one, by the path of that.
    side_effects: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            // After a panic: changes that cannot be restored now stay in the journal, and `assay restore` reports them.
            let _ = journal.finish(self.system);
        }
    }
}

impl<'a> Guard<'a> {
    /// Begins a journal; `home` is the directory of the tool's own state.
    pub fn begin(system: &'a dyn System, home: &Path, id: &str) -> Outcome<Self> {
        Self::begin_in(&journals(home), system, home, id)
    }

    /// Begins the journal of permanent changes, in a directory that runs do not search.
    pub fn begin_lasting(system: &'a dyn System, home: &Path, id: &str) -> Outcome<Self> {
        Self::begin_in(&applied(home), system, home, id)
    }

    /// Begins a guard with a journal in `directory`; its own files go below `home`.
    fn begin_in(directory: &Path, system: &'a dyn System, home: &Path, id: &str) -> Outcome<Self> {
        Ok(Self {
            system,
            journal: Some(Journal::begin(system, directory, id)?),
            directory: home.join("room"),
            id: id.to_owned(),
            made: 0,
            partitions: BTreeMap::new(),
            study_devices: Vec::new(),
            tried: BTreeSet::new(),
            side_effects: BTreeMap::new(),
        })
    }

    /// From now on, refuses to change settings of other devices that have taken the names of these.
    pub fn change_only(&mut self, devices: Vec<Mark>) {
        self.study_devices = devices;
    }

    /// Leaves all changes in place; the journal stays for a later undo.
    pub fn keep(mut self) {
        self.journal = None;
    }

    /// Writes a new text file and checks it.
    pub fn write(&mut self, path: &Path, text: &str) -> Outcome<()> {
        let undo =
            Undo::Text { path: path.to_owned(), original: None, written: Some(text.to_owned()) };
        self.act(undo, &Act::WriteFile { path: path.to_owned(), text: text.to_owned() })?;
        match self.system.read_text(path) {
            Ok(now) if now == text => Ok(()),
            _ => Err(Failure::refused(format!(
                "{} does not contain the written text",
                path.display()
            ))),
        }
    }

    /// Restores everything and closes the journal; fails if some changes could not be restored.
    pub fn finish(mut self) -> Outcome<Report> {
        let Some(journal) = self.journal.take() else { return Ok(Report::default()) };
        let report = journal.finish(self.system);
        if report.failed.is_empty() {
            return Ok(report);
        }
        Err(Failure::not_restored(format!(
            "cannot restore some changes: {}; stop the programs that use these devices and files, or reboot (which \
             resets settings); then run assay restore",
            report.failed.join("; ")
        )))
    }

    /// Changes a setting and checks that it took effect. After a failure the journal contains the change.
    pub fn set(&mut self, setting: &Setting) -> Outcome<()> {
        let mut setting = locate(self.system, setting.clone()).map_err(Failure::refused)?;
        if setting.device.is_none() {
            setting.device = limited_device(self.system, &setting);
        }
        let path = &setting.path;
        let refused = |what: String| Failure::refused(format!("{}: {what}", path.display()));
        let is_of_device = |mark: &&Mark| setting.device.as_ref() == Some(&mark.name);
        let expected = self.study_devices.iter().find(is_of_device);
        if let Some(why) = expected.and_then(|mark| mark.gone(self.system)) {
            return Err(refused(why));
        }
        let now = self.read(path).map_err(|error| refused(sysfs::reason(&error)))?;
        if now == setting.value {
            return Ok(());
        }
        let device = setting.device.as_deref().map(|name| Mark::now(self.system, name));
        let is_first = !self.tried.iter().any(|(tried, _)| tried == path);
        // A value that was set before has known side effects.
        if self.tried.contains(&(path.clone(), setting.value.clone())) {
            return self.change(&setting, &now, device, is_first);
        }
        self.change_observed(&setting, &now, device, is_first)
    }

    /// Changes a setting whose value is `now` and learns which other settings the kernel changes with it. The first
    /// change of a setting (`is_first`) is also reverted once, because that may change further settings.
    fn change_observed(
        &mut self,
        setting: &Setting,
        now: &str,
        device: Option<Mark>,
        is_first: bool,
    ) -> Outcome<()> {
        // Side effects are known only afterwards, so the journal gets all possible ones before. Afterwards, `unneeded`
        // are those that did not happen: they are struck from the journal.
        let neighbors = self.neighbors(&setting.path, device.as_ref())?;
        let is_new = |undo: &&Undo| !self.undos().iter().any(|known| known.is_for_the_same(undo));
        let mut unneeded: Vec<Undo> = neighbors.iter().filter(is_new).cloned().collect();
        self.note(unneeded.clone(), false)?;
        let mut changed = self.change(setting, now, device.clone(), is_first);
        let mut side_effects = self.changed_paths(&neighbors);
        if is_first && changed.is_ok() && !neighbors.is_empty() {
            // Restoring may change a setting that the first change left, because it already had that value.
            let original = Setting { value: now.to_owned(), ..setting.clone() };
            let restored = self.change(&original, &setting.value, device.clone(), false);
            side_effects.extend(self.changed_paths(&neighbors));
            changed = match restored {
                Ok(()) => self.change(setting, now, device, false),
                Err(Failure { message, .. }) => {
                    Err(Failure::refused(format!("cannot restore the original value: {message}")))
                }
            };
        }
        if changed.is_ok() {
            self.tried.insert((setting.path.clone(), setting.value.clone()));
        }
        // Settings that did not change need no undo entry.
        unneeded
            .retain(|undo| undo.setting().is_some_and(|(path, _)| !side_effects.contains(path)));
        self.side_effects.entry(setting.path.clone()).or_default().extend(side_effects);
        self.note(unneeded, true)?;
        changed
    }

    /// Writes entries to the journal; `struck` ones need no undo.
    fn note(&mut self, undos: Vec<Undo>, struck: bool) -> Outcome<()> {
        self.journal.as_mut().ok_or_else(journal_closed)?.note(self.system, undos, struck)
    }

    /// Paths of the settings that no longer have the value that these entries restore.
    fn changed_paths(&self, before: &[Undo]) -> BTreeSet<PathBuf> {
        let changed = before.iter().filter(|undo| !self.is_original(undo));
        changed.filter_map(|undo| Some(undo.setting()?.0.to_owned())).collect()
    }

    /// Returns the settings that the kernel changed together with this one, with their present values.
    pub fn side_effects_of(&self, setting: &Setting) -> Vec<Setting> {
        let Ok(setting) = locate(self.system, setting.clone()) else { return Vec::new() };
        let mut changed = Vec::new();
        for path in self.side_effects.get(&setting.path).into_iter().flatten() {
            if let Ok(value) = self.read(path) {
                let device = setting.device.clone();
                changed.push(Setting { path: path.clone(), value, device });
            }
        }
        changed
    }

    /// Undo entries of the settings that the kernel may change together with this one. Schedulers come first, so they
    /// are restored last: a queue depth changes them. The other setting of an exclusive pair has its own undo entry.
    fn neighbors(&self, path: &Path, device: Option<&Mark>) -> Outcome<Vec<Undo>> {
        let mut undos = Vec::new();
        let directory = path.parent().unwrap_or(path);
        if !INTERDEPENDENT.iter().any(|end| directory.ends_with(end)) {
            return Ok(undos);
        }
        let pair = excluded_by(path);
        for directory in [directory.join("iosched"), directory.to_owned()] {
            let failed = |error| Failure::refused(format!("{}: {error}", directory.display()));
            let names = sysfs::if_exists(self.system.list(&directory)).map_err(failed)?;
            for other in names.unwrap_or_default().iter().map(|name| directory.join(name)) {
                let status = sysfs::if_exists(self.system.status(&other)).map_err(failed)?;
                let is_setting = status
                    .is_some_and(|file| file.kind == FileKind::File && file.mode & 0o600 == 0o600);
                if !is_setting || other == path || pair.as_ref() == Some(&other) {
                    continue;
                }
                match self.read(&other) {
                    Ok(original) => {
                        let device = device.cloned();
                        undos.push(Undo::Setting { path: other, original, device });
                    }
                    // The kernel does not support it now, or not for this user.
                    Err(error) if WITHOUT_VALUE.contains(&error.kind()) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Ok(undos)
    }

    /// Returns whether a setting already has the value that undoing restores.
    fn is_original(&self, undo: &Undo) -> bool {
        undo.setting()
            .is_none_or(|(path, original)| self.read(path).is_ok_and(|now| now == original))
    }

    /// Records the value `now` as the original and sets the new one; `is_first` checks that `now` can be written back.
    fn change(
        &mut self,
        setting: &Setting,
        now: &str,
        device: Option<Mark>,
        is_first: bool,
    ) -> Outcome<()> {
        let path = &setting.path;
        let refused = |what: String| Failure::refused(format!("{}: {what}", path.display()));
        let undo = Undo::Setting { path: path.clone(), original: now.to_owned(), device };
        let undo = self.undo_of_pair(undo);
        if let Undo::Setting { path: other, original, .. } = &undo
            && other != path
        {
            // The other setting of the pair was active. The kernel rejects 0 here, so 0 means to activate the other.
            let (other, original) = (other.clone(), original.clone());
            let activates_other = setting.value == "0";
            let (path, value) =
                if activates_other { (&other, &original) } else { (path, &setting.value) };
            return self
                .write_setting(undo, path, value)
                .map_err(|failure| refused(failure.message));
        }
        if is_first {
            // What cannot be written back must not be changed.
            self.write_setting(undo.clone(), path, now).map_err(|failure| {
                refused(format!("cannot restore the original value: {}", failure.message))
            })?;
        }
        self.write_setting(undo, path, &setting.value).map_err(|failure| refused(failure.message))
    }

    /// Returns the undo entry of a setting; of two settings that exclude each other, that of the active (nonzero) one.
    fn undo_of_pair(&self, undo: Undo) -> Undo {
        let Undo::Setting { path, original, .. } = &undo else { return undo };
        let Some(other) = excluded_by(path) else { return undo };
        let is_of_pair = |undo: &&Undo| {
            undo.setting().is_some_and(|(recorded, _)| recorded == path || recorded == other)
        };
        if let Some(noted) = self.undos().iter().find(is_of_pair) {
            return noted.clone();
        }
        match self.read(&other) {
            Ok(value) if original == "0" && value != "0" => {
                Undo::Setting { path: other, original: value, device: None }
            }
            _ => undo,
        }
    }

    /// Records the undo entry, writes a value, and reads it back; fails unless the kernel uses the value.
    fn write_setting(&mut self, undo: Undo, path: &Path, value: &str) -> Outcome<()> {
        let set = Act::Set { path: path.to_owned(), value: value.to_owned() };
        self.try_act(undo, &set)?.map_err(|error| {
            let denied = error.kind() == io::ErrorKind::PermissionDenied;
            let hint = if denied && self.system.user().id != 0 { "; run as root" } else { "" };
            let reason = sysfs::reason(&error);
            Failure::refused(format!("the kernel refused {value}: {reason}{hint}"))
        })?;
        match self.read(path) {
            Ok(now) if now == value => Ok(()),
            Ok(now) => Err(Failure::refused(format!("{value} requested, the kernel uses {now}"))),
            Err(error) => Err(Failure::refused(error.to_string())),
        }
    }

    /// Creates something in steps, each recorded in the journal first. A failure reverts the finished steps.
    pub(super) fn build<T>(
        &mut self,
        make: impl FnOnce(&mut Builder<'_, 'a>) -> Outcome<T>,
    ) -> Outcome<(T, Vec<Undo>)> {
        let mut builder = Builder::new(self);
        let made = make(&mut builder);
        let mut undo = builder.undo;
        undo.reverse();
        match made {
            Ok(made) => Ok((made, undo)),
            Err(failure) => Err(self.take_down(&undo).err().unwrap_or(failure)),
        }
    }

    pub(super) fn take_down(&mut self, undo: &[Undo]) -> Outcome<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        undo.iter().try_for_each(|undo| journal.undo(self.system, undo))
    }

    /// Restores all settings, the last change first, in rounds: one that fails may succeed once another is restored.
    /// Returns the first error of the last round.
    pub fn restore_settings(&self) -> Outcome<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let mut last_round = Ok(());
        for _ in 0..ROUNDS {
            last_round = Ok(());
            for undo in journal.undos().iter().rev().filter(|undo| undo.setting().is_some()) {
                last_round = last_round.and(journal.undo(self.system, undo));
            }
            if self.is_as_found() {
                return Ok(());
            }
        }
        last_round
    }

    /// Returns whether every changed setting has its original value.
    pub fn is_as_found(&self) -> bool {
        self.undos().iter().all(|undo| self.is_original(undo))
    }

    /// Pending undo entries, the first change first.
    pub fn undos(&self) -> &[Undo] {
        self.journal.as_ref().map_or(&[], |journal| journal.undos())
    }

    /// Device file of an extent: the device, or a partition that covers this part.
    fn file_of_extent(&mut self, extent: &DeviceRange, disk: &Mark) -> Outcome<PathBuf> {
        let whole = devices::file_of(&extent.device);
        if extent.whole {
            return Ok(whole);
        }
        let Range { start, end } = extent.range;
        let key = (extent.device.clone(), start);
        let name_of = |number| devices::partition_name(&extent.device, number);
        if let Some(number) = self.partitions.get(&key) {
            let partition = name_of(*number);
            if devices::start_of(self.system, &partition) == Some(start)
                && devices::size_of(self.system, &partition) == end - start
            {
                return Ok(devices::file_of(&partition));
            }
        }
        let is_taken = |number: &u32| devices::number_of(self.system, &name_of(*number)).is_some();
        let number = (1..=MOST_PARTITIONS).find(|number| !is_taken(number)).ok_or_else(|| {
            Failure::refused(format!("no free space for another partition on {}", whole.display()))
        })?;
        let undo = Undo::Partition { disk: disk.clone(), number, start };
        let range = extent.range.clone();
        self.act(undo, &Act::AddPartition { disk: whole, number, range })?;
        self.partitions.insert(key, number);
        Ok(devices::file_of(&name_of(number)))
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        self.system.read_text(path).map(|text| setting_value(&text))
    }

    fn record(&mut self, undo: Undo) -> Outcome<crate::system::journal::Warrant> {
        self.journal.as_mut().ok_or_else(journal_closed)?.record(self.system, undo)
    }

    /// Takes a further step on something whose undo entry exists.
    fn try_further(&self, undo: &Undo, act: &Act) -> Outcome<io::Result<()>> {
        let warrant = self.journal.as_ref().ok_or_else(journal_closed)?.warrant_for(undo)?;
        Ok(self.system.act(warrant, act))
    }

    fn try_act(&mut self, undo: Undo, act: &Act) -> Outcome<io::Result<()>> {
        let warrant = self.record(undo)?;
        Ok(self.system.act(warrant, act))
    }

    fn act(&mut self, undo: Undo, act: &Act) -> Outcome<()> {
        self.try_act(undo, act)?.map_err(|error| act_failure(act, &error))
    }

    fn unique_name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{}-{what}-{}", self.id, self.made)
    }

    /// A label that no other file system has: the longest that FAT takes has eleven letters.
    fn unique_label(&mut self) -> String {
        self.made += 1;
        let skipped = self.id.chars().count().saturating_sub(4);
        let tail: String = self.id.chars().skip(skipped).collect();
        format!("AY{}{:05}", tail.to_uppercase(), self.made % 100_000)
    }
}

/// Directory of the journals, within Assay's state.
pub fn journals(home: &Path) -> PathBuf {
    home.join("journal")
}

/// Directory of the journals of permanent changes.
pub fn applied(home: &Path) -> PathBuf {
    home.join("applied")
}

/// The factors among an arm's levels that change settings, in the order in which they are set.
pub fn setters<'l>(
    levels: impl IntoIterator<Item = (&'l String, &'l String)>,
) -> Vec<(&'l str, &'l str)> {
    let levels = levels.into_iter().map(|(name, level)| (name.as_str(), level.as_str()));
    let mut setters: Vec<(&str, &str)> =
        levels.filter(|(name, _)| has_role(name, super::Role::Setting)).collect();
    setters.sort_by_key(|(name, _)| super::rank(name));
    setters
}

/// Returns the device of a control group limit. The limit names it by number, which the kernel reuses.
fn limited_device(system: &dyn System, setting: &Setting) -> Option<String> {
    let (major, minor) = setting.value.split_whitespace().next()?.split_once(':')?;
    let number = DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? };
    devices::name_of(system, number).filter(|_| setting.path.starts_with(CONTROL_GROUPS))
}

fn journal_closed() -> Failure {
    Failure::refused("the journal is closed")
}

fn act_failure(act: &Act, error: &io::Error) -> Failure {
    Failure::refused(format!("{act}: {error}"))
}
