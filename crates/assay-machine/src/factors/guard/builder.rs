//! Steps of a layer: each goes through the journal, and confirms the consent of the device that it changes.

use std::io;
use std::path::{Path, PathBuf};

use crate::system::journal::{Mark, Undo, make_own_directory, setting_value};
use crate::system::{Act, Key, System, devices, identity, mounts, sysfs};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;

use super::{Guard, act_failure, journal_closed};
use crate::factors::Setting;
use crate::factors::layers::{Device, whole_mib};

/// Another process may take a free loop device first.
const ATTEMPTS: usize = 20;

/// Maximum number of zram devices in the search for a free number.
const MOST_ZRAM: u32 = 256;

/// Creates one thing in steps, and records how to undo each.
pub struct Builder<'g, 'a> {
    guard: &'g mut Guard<'a>,
    pub(super) undo: Vec<Undo>,
}

impl<'g, 'a> Builder<'g, 'a> {
    pub(super) fn new(guard: &'g mut Guard<'a>) -> Self {
        Self { guard, undo: Vec::new() }
    }

    pub fn system(&self) -> &'a dyn System {
        self.guard.system
    }

    /// Takes one step that touches only the tool's own files; refuses a step that changes a device.
    pub fn act(&mut self, undo: Undo, act: &Act) -> Outcome<()> {
        let touches_device = matches!(
            act,
            Act::Run { .. } | Act::RunWithKey { .. } | Act::Wipe { .. } | Act::Discard { .. }
        );
        if touches_device {
            return Err(Failure::refused(format!("{act}: no consent given")));
        }
        self.try_act(undo, act)?.map_err(|error| act_failure(act, &error))
    }

    /// Runs one `ip` or `tc` command, which changes the network and no device with data.
    pub fn act_on_network(&mut self, undo: Undo, act: &Act) -> Outcome<()> {
        let is_of_network =
            matches!(act, Act::Run { program, .. } if ["ip", "tc"].contains(&program.as_str()));
        if !is_of_network {
            return Err(Failure::refused(format!("{act}: not a network change")));
        }
        self.try_act(undo, act)?.map_err(|error| act_failure(act, &error))
    }

    /// Takes one step that changes a device or uses it; refused unless its consent is confirmed again.
    pub fn act_on(&mut self, device: &Device, undo: Undo, act: &Act) -> Outcome<()> {
        self.act_on_all(&[device], undo, act)
    }

    pub fn act_on_all(&mut self, devices: &[&Device], undo: Undo, act: &Act) -> Outcome<()> {
        for device in devices {
            identity::confirm(self.guard.system, &device.consent)?;
        }
        self.try_act(undo, act)?.map_err(|error| act_failure(act, &error))
    }

    /// Records the undo entry of a side effect of the next step.
    pub fn record_side_effect(&mut self, undo: Undo) -> Outcome<()> {
        if !self.undo.contains(&undo) {
            self.undo.push(undo.clone());
        }
        self.guard.record(undo).map(drop)
    }

    /// Takes one step inside a file system that this run made and mounted. Refused elsewhere.
    pub fn act_within(&mut self, directory: &Path, act: &Act) -> Outcome<()> {
        let refuse = |why: &str, path: &Path| {
            Failure::refused(format!("{act}: {why} at {}", path.display()))
        };
        let mount_point_above = |undo: &Undo| match undo {
            Undo::Mount { point } if directory.starts_with(point) => Some(point.clone()),
            _ => None,
        };
        // The last mount is the innermost one.
        let point = self.guard.undos().iter().rev().find_map(mount_point_above);
        let point = point.ok_or_else(|| refuse("this run created nothing", directory))?;
        let table = mounts::read(self.guard.system);
        if !table.is_ok_and(|table| table.iter().any(|entry| entry.mount.point == point)) {
            return Err(refuse("nothing is mounted", &point));
        }
        let undo = Undo::Mount { point };
        self.guard.try_further(&undo, act)?.map_err(|error| act_failure(act, &error))
    }

    /// One step of a program that serves a directory of the tool's own, and does not touch a device.
    pub fn serve(&mut self, point: &Path, act: &Act) -> Outcome<()> {
        let served = Undo::Served { point: point.to_owned() };
        self.try_act(served, act)?.map_err(|error| act_failure(act, &error))
    }

    pub fn key(&self) -> Outcome<Key> {
        Key::new(self.guard.system)
            .map_err(|error| Failure::refused(format!("cannot create a key: {error}")))
    }

    pub fn name(&mut self, what: &str) -> String {
        self.guard.unique_name(what)
    }

    fn try_act(&mut self, undo: Undo, act: &Act) -> Outcome<io::Result<()>> {
        if self.undo.contains(&undo) {
            return self.guard.try_further(&undo, act);
        }
        self.undo.push(undo.clone());
        self.guard.try_act(undo, act)
    }

    /// Device file of a device or its part. Refused if the consent names another device or for lack of room.
    pub fn file_of(&mut self, device: &Device) -> Outcome<PathBuf> {
        identity::confirm(self.guard.system, &device.consent)?;
        let disk = Mark::now(self.guard.system, &device.extent.device);
        self.guard.file_of_extent(&device.extent, &disk)
    }

    pub fn files_of(&mut self, devices: &[&Device]) -> Outcome<Vec<PathBuf>> {
        devices.iter().map(|device| self.file_of(device)).collect()
    }

    /// Discards the blocks of a device or its part, if Assay may: `file` is its device file.
    pub fn discard(&mut self, device: &Device, file: &Path, undo: Undo) -> Outcome<()> {
        if !device.discard {
            return Ok(());
        }
        let range = 0..device.extent.range.end - device.extent.range.start;
        self.act_on(device, undo, &Act::Discard { device: file.to_owned(), range })
    }

    /// Creates the directory of Assay's files and mount points if it does not exist; returns its path.
    pub fn directory(&mut self) -> Outcome<PathBuf> {
        let directory = &self.guard.directory;
        make_own_directory(self.guard.system, directory).map_err(|error| {
            Failure::refused(format!("cannot create {}: {error}", directory.display()))
        })?;
        Ok(self.guard.directory.clone())
    }

    /// A path in that directory that was never used before.
    pub fn unused_path(&mut self, what: &str) -> Outcome<PathBuf> {
        Ok(self.directory()?.join(self.guard.unique_name(what)))
    }

    pub fn label(&mut self) -> String {
        self.guard.unique_label()
    }

    /// Creates a sparse file for a loop device; refused if it could not grow to this size. Returns its canonical path.
    pub fn create_loop_file(&mut self, bytes: u64) -> Outcome<PathBuf> {
        let directory = self.directory()?;
        if let Ok(space) = self.guard.system.space(&directory)
            && space.available_bytes < bytes
        {
            return Err(Failure::refused(format!(
                "{} has {} free, but the loop device's file needs {}; free some space, or use another ASSAY_HOME",
                directory.display(),
                whole_mib(space.available_bytes),
                Bytes(bytes)
            )));
        }
        let path = self.unused_path("disk")?;
        let create = Act::CreateFile { path: path.clone(), bytes };
        self.act(Undo::File { path: path.clone() }, &create)?;
        self.guard.system.canonical(&path).map_err(|error| act_failure(&create, &error))
    }

    /// Attaches a file to a free loop device; returns its device file and the undo entry. If the file is that of the
    /// device `on`, refuses another device that replaced it.
    pub fn attach_loop(&mut self, file: &Path, on: Option<&Device>) -> Outcome<(PathBuf, Undo)> {
        let undo = Undo::Loop { file: file.to_owned(), device: None };
        for _ in 0..ATTEMPTS {
            if let Some(device) = on {
                identity::confirm(self.guard.system, &device.consent)?;
            }
            let device = self
                .guard
                .system
                .free_loop()
                .map_err(|error| Failure::refused(format!("no free loop device: {error}")))?;
            let attach = Act::AttachLoop { device: device.clone(), file: file.to_owned() };
            match self.try_act(undo.clone(), &attach)? {
                Ok(()) => return self.record_attached(device, file),
                // Another process took the device meanwhile: the next attempt uses the next free one.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => return Err(act_failure(&attach, &error)),
            }
        }
        Err(Failure::refused("other processes took every free loop device; try again"))
    }

    /// Records the attached device in the journal if it has a sequence number, which identifies it without its file;
    /// returns it with its undo entry.
    fn record_attached(&mut self, device: PathBuf, file: &Path) -> Outcome<(PathBuf, Undo)> {
        let name = device.file_name().unwrap_or_default().to_string_lossy();
        let mark = Mark::read(self.guard.system, &name).ok().flatten();
        let mark = mark.filter(|mark| mark.sequence.is_some());
        let has_mark = mark.is_some();
        let undo = Undo::Loop { file: file.to_owned(), device: mark };
        if has_mark {
            self.record_side_effect(undo.clone())?;
        }
        Ok((device, undo))
    }

    /// Creates a zram device of this size and verifies its settings; returns its device file and undo entry.
    pub fn add_zram(&mut self, algorithm: &str, bytes: u64) -> Outcome<(PathBuf, Undo)> {
        let system = self.guard.system;
        // The kernel assigns the lowest free number, so the undo entry can name it before it exists.
        let is_taken = |number: &u32| {
            let file = sysfs::block(&format!("zram{number}")).join("dev");
            matches!(sysfs::if_exists(system.read_text(&file)), Ok(Some(_)))
        };
        let number = (0..MOST_ZRAM).find(|number| !is_taken(number));
        let number = number.ok_or_else(|| Failure::refused("all zram devices are in use"))?;
        let add = Act::AddZram { number };
        match self.try_act(Undo::Zram { number, sequence: None }, &add)? {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return Err(Failure::refused("another process is adding zram devices; try again"));
            }
            other => other.map_err(|error| act_failure(&add, &error))?,
        }
        let name = format!("zram{number}");
        let mark = Mark::read(system, &name).map_err(|error| act_failure(&add, &error))?;
        let Some(sequence) = mark.and_then(|mark| mark.sequence) else {
            let why = "cannot identify a new zram device: this kernel has no disk sequence numbers; use Linux 5.15 or \
                       later";
            return Err(Failure::refused(why));
        };
        let undo = Undo::Zram { number, sequence: Some(sequence) };
        // The kernel accepts an algorithm only before the size is set.
        for (file, value) in
            [("comp_algorithm", algorithm.to_owned()), ("disksize", bytes.to_string())]
        {
            let path = sysfs::block(&name).join(file);
            self.act(undo.clone(), &Act::Set { path: path.clone(), value: value.clone() })?;
            let now = system.read_text(&path).map(|text| setting_value(&text));
            if now.as_ref().ok() != Some(&value) {
                let now = now.unwrap_or_else(|error| error.to_string());
                let path = path.display();
                return Err(Failure::refused(format!(
                    "{path}: {value} requested, the kernel uses {now}"
                )));
            }
        }
        Ok((devices::file_of(&name), undo))
    }

    /// Changes a setting for this layer; removing the layer restores it.
    pub fn set(&mut self, setting: &Setting) -> Outcome<()> {
        let Setting { path, value, .. } = setting;
        let original = self.guard.read(path).map_err(|error| {
            Failure::refused(format!("{}: {}", path.display(), sysfs::reason(&error)))
        })?;
        if original != *value {
            self.undo.push(Undo::Setting { path: path.clone(), original, device: None });
        }
        self.guard.set(setting)
    }

    /// Returns the created device for the next layer, with a consent derived from the devices below. Refused if it is
    /// not the device that `undo` removes, or uses anything else.
    pub fn made_device(&self, file: &Path, undo: &Undo, below: &[&Device]) -> Outcome<Device> {
        let system = self.guard.system;
        let journal = self.guard.journal.as_ref().ok_or_else(journal_closed)?;
        let consents: Vec<_> = below.iter().map(|device| &device.consent).collect();
        let consent = identity::consent_of_made(system, journal, file, undo, &consents)?;
        Device::whole(system, file, below.iter().any(|device| device.discard), consent)
    }
}
