//! The layer of file systems: made fresh on a device, mounted in a directory of the tool's own.

use std::path::{Path, PathBuf};

use crate::system::journal::{Mark, Undo};
use crate::system::{Act, System, mounts, signatures};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;

use super::profile::{self, BTRFS_PROFILE_FACTOR, Profile};
use super::{
    COMPRESSION_FACTOR, DEFAULTS, FILE_SYSTEMS, FileSystem, KIND_FACTOR, MKFS_OPTIONS_FACTOR,
    MOUNT_OPTIONS_FACTOR, allowed, compression, find,
};
use crate::factors::guard::Builder;
use crate::factors::layers::{
    Base, ByHand, Commands, Device, ENCRYPTION_FACTOR, FSCRYPT, Gives, Layer, Made, Recipe, Takes,
    Wish, devices_of, missing_program,
};
use crate::factors::lines::{LABEL, MOUNT_POINT};
use crate::factors::permanent::ANY_DIRECTORY;
use crate::factors::{Factor, has_module};

/// Minimum share of an area for the metadata of the file system: one part in this many.
const METADATA_DIVISOR: u64 = 10;
/// Bytes that each has room for in any case.
const AMPLE: u64 = 64 << 20;

pub struct FileSystems;

impl Layer for FileSystems {
    fn noun(&self) -> &'static str {
        "file system"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const {
            &[
                &KIND_FACTOR,
                &MKFS_OPTIONS_FACTOR,
                &MOUNT_OPTIONS_FACTOR,
                &BTRFS_PROFILE_FACTOR,
                &COMPRESSION_FACTOR,
            ]
        }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        Some(Box::new(Volume::from_wish(wish)?))
    }

    fn choices(&self) -> Vec<String> {
        FILE_SYSTEMS.iter().map(|kind| kind.name.to_owned()).collect()
    }

    fn least(&self, bytes: u64) -> u64 {
        bytes.saturating_add(bytes / METADATA_DIVISOR)
    }

    fn ample(&self, bytes: u64) -> u64 {
        // File systems reserve space: btrfs and xfs the most.
        (bytes / 2 * 3).saturating_add(AMPLE)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub kind: &'static FileSystem,
    pub mkfs_options: String,
    pub mount_options: String,
    /// Profile on several devices, if requested.
    pub profile: Option<&'static Profile>,
    /// Whether it encrypts a directory natively.
    pub encrypts: bool,
    pub compression: Option<String>,
}

impl Volume {
    /// Returns the file system that the levels of a study request; `None` if they request none.
    pub fn from_wish(wish: &Wish<'_>) -> Option<Self> {
        let kind = find(wish.asked(&KIND_FACTOR)?)?;
        Some(Self {
            kind,
            mkfs_options: wish.asked(&MKFS_OPTIONS_FACTOR).unwrap_or_default().to_owned(),
            mount_options: wish.asked(&MOUNT_OPTIONS_FACTOR).unwrap_or_default().to_owned(),
            profile: wish.asked(&BTRFS_PROFILE_FACTOR).and_then(profile::find),
            encrypts: wish.asked(&ENCRYPTION_FACTOR) == Some(FSCRYPT),
            compression: wish.asked(&COMPRESSION_FACTOR).map(str::to_owned),
        })
    }

    fn mkfs_words(&self) -> Vec<&str> {
        let added: &[&str] = if self.encrypts { self.kind.encrypting } else { &[] };
        self.mkfs_options.split_whitespace().chain(added.iter().copied()).collect()
    }

    fn make_on(&self, label: &str, devices: &[PathBuf]) -> Act {
        let mut arguments = (self.kind.arguments)(label, &self.mkfs_words());
        arguments.extend(self.profile_arguments(devices.len()));
        arguments.extend(devices.iter().map(|device| device.display().to_string()));
        Act::Run { program: self.kind.program.to_owned(), arguments }
    }

    fn profile_arguments(&self, devices: usize) -> Vec<String> {
        self.profile.map_or_else(Vec::new, |profile| profile.arguments(devices).to_vec())
    }

    /// Returns the step that mounts the volume by its first device; mount options name the others.
    fn mount(&self, devices: &[PathBuf], point: &Path) -> Act {
        let requested = self.all_mount_options();
        let requested = requested.split(',').filter(|option| !option.is_empty());
        let others = devices.iter().skip(1).map(|device| format!("device={}", device.display()));
        let options: Vec<String> = requested.map(str::to_owned).chain(others).collect();
        Act::Mount {
            device: devices.first().cloned().unwrap_or_default(),
            point: point.to_owned(),
            filesystem: self.kind.name.to_owned(),
            options: options.join(","),
        }
    }

    /// Mount options, including those of other factors.
    fn all_mount_options(&self) -> String {
        let mut options: Vec<&str> = vec![&self.mount_options];
        let compression = self.compression.as_deref().and_then(compression::option);
        options.extend(compression.as_deref());
        options.retain(|option| !option.is_empty());
        options.join(",")
    }

    /// Returns why the options are forbidden, such as other devices or labels; `None` if they are allowed.
    fn fault(&self) -> Option<String> {
        let FileSystem { program, options, .. } = self.kind;
        if let Some(fault) = allowed::fault(self.kind, &self.mkfs_options) {
            let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
            return Some(format!("{program}: {} (allowed: {})", fault.reason, names.join(" ")));
        }
        if self.profile.is_some() && self.kind.name != "btrfs" {
            let (name, factor) = (self.kind.name, BTRFS_PROFILE_FACTOR.about().name);
            return Some(format!(
                "{name} has no profiles; use {factor} = {DEFAULTS} for that configuration"
            ));
        }
        let sets_profile = |word: &&str| ["-d", "--data", "-m", "--metadata"].contains(word);
        if self.profile.is_some() && self.mkfs_words().iter().any(sets_profile) {
            return Some(format!(
                "{program}: the factor {} sets -d and -m; remove these options",
                BTRFS_PROFILE_FACTOR.about().name
            ));
        }
        allowed::mount_fault(&self.mount_options).or_else(|| {
            compression::fault(self.kind, self.compression.as_deref()?, &self.mount_options)
        })
    }

    fn compresses(&self) -> bool {
        self.compression.as_deref().is_some_and(|level| compression::option(level).is_some())
    }

    /// Returns the devices of the volume: exactly one, or as many as a btrfs profile needs; fails otherwise.
    fn devices<'b>(&self, below: &'b [Base]) -> Outcome<Vec<&'b Device>> {
        let wrong = || Failure::refused("a filesystem needs block devices, usually one");
        let devices = devices_of(below).ok_or_else(wrong)?;
        let Some(profile) = self.profile else {
            return if devices.len() == 1 { Ok(devices) } else { Err(wrong()) };
        };
        match profile.too_few(devices.len()) {
            Some(reason) => Err(Failure::refused(reason)),
            None => Ok(devices),
        }
    }

    /// Checks in the kernel's mount table that the volume is mounted as requested; the error describes the mount.
    fn check_mount(&self, system: &dyn System, point: &Path) -> Result<(), String> {
        let entry = mounts::at(system, point)?;
        if entry.mount.filesystem != self.kind.name {
            return Err(format!("the kernel mounted {}", entry.mount.filesystem));
        }
        let used = entry.mount.options.join(",");
        let requested = self.all_mount_options();
        let mut requested = requested.split(',').filter(|option| !option.is_empty());
        if let Some(option) = requested.find(|option| !implies(&entry.mount.options, option)) {
            return Err(format!("{option} requested, the kernel uses {used}"));
        }
        let must_not_compress = self.compression.is_some() && !self.compresses();
        if must_not_compress && entry.mount.options.iter().any(|o| o.starts_with("compress")) {
            return Err(format!("no compression requested, the kernel uses {used}"));
        }
        Ok(())
    }

    fn check_pool(&self, system: &dyn System, point: &Path, devices: usize) -> Result<(), String> {
        self.profile.map_or(Ok(()), |profile| profile.check(system, point, devices))
    }
}

impl Recipe for Volume {
    fn words(&self) -> String {
        match self.compression.as_deref().filter(|_| self.compresses()) {
            Some(level) => format!("{} ({level})", self.kind.name),
            None => self.kind.name.to_owned(),
        }
    }

    fn takes(&self) -> Takes {
        if self.profile.is_some() { Takes::All } else { Takes::One }
    }

    fn least(&self) -> usize {
        self.profile.map_or(1, |profile| profile.least)
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        let FileSystem { name, program, package, smallest, .. } = self.kind;
        let fault = self.fault().or_else(|| self.profile?.too_few(below.len()));
        if let Some(missing) = fault.or_else(|| missing_program(system, program, package)) {
            return Some(missing);
        }
        let bytes = below.iter().copied().min().unwrap_or(0);
        if bytes < smallest.0 {
            return Some(format!("{name} needs {smallest}, only {} available", Bytes(bytes)));
        }
        let lacks = || kernel_lacks(system, name).then(|| format!("this kernel has no {name}"));
        signatures::missing(system).or_else(lacks)
    }

    fn room(&self, below: &[u64]) -> u64 {
        let (devices, least) = (below.len() as u64, below.iter().copied().min().unwrap_or(0));
        self.profile.map_or(least, |profile| (profile.capacity)(devices, least))
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        if let Some(fault) = self.fault() {
            return Err(Failure::refused(fault));
        }
        let devices = self.devices(below)?;
        let system = builder.system();
        let files = builder.files_of(&devices)?;
        let label = builder.label();
        let undo_of = |device: &Device| Undo::FileSystem {
            disk: Mark::now(system, &device.extent.device),
            start: device.extent.range.start,
            label: label.clone(),
        };
        for (device, file) in devices.iter().zip(&files) {
            // Each device will have the label, so undoing wipes each.
            builder.record_side_effect(undo_of(device))?;
            builder.discard(device, file, undo_of(device))?;
        }
        builder.act_on_all(&devices, undo_of(devices[0]), &self.make_on(&label, &files))?;
        let point = builder.unused_path("mount")?;
        let directory = Undo::Directory { path: point.clone() };
        builder.act(directory, &Act::CreateDirectory { path: point.clone() })?;
        let mounted = Undo::Mount { point: point.clone() };
        builder.act_on_all(&devices, mounted, &self.mount(&files, &point))?;
        self.check_mount(system, &point)
            .and_then(|()| self.check_pool(system, &point, devices.len()))
            .map_err(|what| Failure::refused(format!("mounting {}: {what}", self.kind.name)))?;
        Ok(Base::Directory(point))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        match &made.base {
            Base::Directory(point) => {
                self.check_mount(system, point)?;
                // Each device of the volume has one such entry.
                let is_labelled = |undo: &&Undo| matches!(undo, Undo::FileSystem { .. });
                self.check_pool(system, point, made.undo.iter().filter(is_labelled).count())
            }
            Base::Device(_) => Ok(()),
        }
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        let out = PathBuf::from(MOUNT_POINT);
        let acts = vec![self.make_on(LABEL, below), self.mount(below, &out)];
        Commands { acts, out }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let device = below.first().cloned().unwrap_or_default();
        let out = PathBuf::from(ANY_DIRECTORY);
        let mount_options = self.all_mount_options();
        let mount_options = if mount_options.is_empty() { DEFAULTS } else { &mount_options };
        let (name, shown) = (self.kind.name, device.display());
        let fstab_line = format!("{shown} {ANY_DIRECTORY} {name} {mount_options} 0 2");
        let words = self.mkfs_words().into_iter().map(str::to_owned);
        let devices = below.iter().map(|device| device.display().to_string());
        let arguments = words.chain(self.profile_arguments(below.len())).chain(devices).collect();
        let make = Act::Run { program: self.kind.program.to_owned(), arguments };
        ByHand {
            commands: Commands { acts: vec![make, self.mount(below, &out)], out },
            why: "assay creates and mounts filesystems only to measure them",
            lasting: Some((fstab_line, "a line for /etc/fstab, which assay does not edit")),
        }
    }
}

/// Returns whether the kernel has neither the file system nor a loadable module.
fn kernel_lacks(system: &dyn System, name: &str) -> bool {
    let known = system.read_text(Path::new("/proc/filesystems")).unwrap_or_default();
    let mut known = known.lines().filter_map(|line| line.split('\t').next_back());
    !known.any(|known| known == name) && !has_module(system, name)
}

/// Returns whether the options that the kernel lists for a mount imply this one: the kernel does not list defaults.
fn implies(options: &[String], option: &str) -> bool {
    const UNSHOWN: [&str; 8] =
        ["defaults", "rw", "relatime", "atime", "suid", "dev", "exec", "barrier"];
    let is_listed = options.iter().any(|shown| shown == option);
    is_listed
        || match option {
            "barrier=1" => !options.iter().any(|shown| shown.starts_with("nobarrier")),
            "barrier=0" => options.iter().any(|shown| shown == "nobarrier"),
            "strictatime" => !options.iter().any(|shown| shown.ends_with("atime")),
            _ => UNSHOWN.contains(&option),
        }
}
