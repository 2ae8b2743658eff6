//! The layer of file systems: made fresh on a device, mounted in a directory of the tool's own.

use std::path::{Path, PathBuf};

use super::{DEFAULTS, FILE_SYSTEMS, FileSystem, Kind, MkfsOptions, MountOptions, allowed, find};
use crate::factors::Factor;
use crate::factors::guard::Builder;
use crate::factors::layers::{
    Base, ByHand, Carried, Gives, Layer, Made, Recipe, Takes, Typed, Wish,
};
use crate::factors::lines::{LABEL, MOUNT_POINT};
use crate::factors::permanent::ANY_DIRECTORY;
use crate::failure::{Failure, Outcome};
use crate::quantity::Bytes;
use crate::system::journal::{Mark, Undo};
use crate::system::{Act, System, mounts};

/// Part of an area that a file system needs for itself, at least.
const OWN: u64 = 10;
/// Bytes that each has room for in any case.
const AMPLE: u64 = 64 << 20;

/// How names of files are written, which those of other systems ask for: modules of the kernel.
const NAMES: &[&str] = &["nls_cp437", "nls_iso8859_1", "nls_ascii", "nls_utf8"];

/// All file systems.
pub struct FileSystems;

impl Layer for FileSystems {
    fn noun(&self) -> &'static str {
        "file system"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        &[&Kind, &MkfsOptions, &MountOptions]
    }

    fn takes(&self) -> Takes {
        Takes::One
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        Some(Box::new(Volume::of(wish)?))
    }

    fn choices(&self) -> Vec<String> {
        FILE_SYSTEMS.iter().map(|kind| kind.name.to_owned()).collect()
    }

    fn least(&self, bytes: u64) -> u64 {
        bytes.saturating_add(bytes / OWN)
    }

    fn ample(&self, bytes: u64) -> u64 {
        // File systems keep some room to themselves: btrfs and xfs the most.
        (bytes / 2 * 3).saturating_add(AMPLE)
    }
}

/// A file system as an arm wants it.
#[derive(Clone, Debug)]
pub(in crate::factors) struct Volume {
    /// Which.
    pub kind: &'static FileSystem,
    /// Options for its program, as the level writes them.
    pub mkfs_options: String,
    /// Options for mounting, as fstab writes them.
    pub mount_options: String,
}

impl Volume {
    /// From levels by factor; none where no file system is asked for.
    pub fn of(wish: &Wish<'_>) -> Option<Self> {
        let kind = find(wish.level(Kind.about().name)?)?;
        let options = |factor: &dyn Factor| {
            let level = wish.level(factor.about().name).filter(|level| *level != DEFAULTS);
            level.unwrap_or_default().to_owned()
        };
        let (mkfs_options, mount_options) = (options(&MkfsOptions), options(&MountOptions));
        Some(Self { kind, mkfs_options, mount_options })
    }

    fn own_options(&self) -> Vec<&str> {
        self.mkfs_options.split_whitespace().collect()
    }

    /// The program that makes it, the device last.
    fn make_on(&self, label: &str, device: &Path) -> Act {
        let mut arguments = (self.kind.arguments)(label, &self.own_options());
        arguments.push(device.display().to_string());
        Act::Run { program: self.kind.program.to_owned(), arguments }
    }

    fn mount(&self, device: &Path, point: &Path) -> Act {
        Act::Mount {
            device: device.to_owned(),
            point: point.to_owned(),
            filesystem: self.kind.name.to_owned(),
            options: self.mount_options.clone(),
        }
    }

    /// What among its options may not be given, if anything is: the options name no other device
    /// and change no label.
    fn fault(&self) -> Option<String> {
        let FileSystem { program, options, .. } = self.kind;
        if let Some(fault) = allowed::fault(self.kind, &self.mkfs_options) {
            let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
            return Some(format!("{program}: {} (it may give {})", fault.reason, names.join(" ")));
        }
        allowed::mount_fault(&self.mount_options)
    }

    /// Sees in the kernel's own table that it is mounted as it was asked for; else how it is.
    fn see_at(&self, system: &dyn System, point: &Path) -> Result<(), String> {
        let table =
            mounts::read(system).map_err(|error| format!("the mounts cannot be told: {error}"))?;
        let entry = table.iter().rev().find(|entry| entry.mount.point == point);
        let Some(entry) = entry else {
            return Err("nothing is mounted there, though nothing complained".to_owned());
        };
        if entry.mount.filesystem != self.kind.name {
            return Err(format!("the kernel mounted {}", entry.mount.filesystem));
        }
        let asked = self.mount_options.split(',').filter(|option| !option.is_empty());
        let lacks = |option: &&str| !shows(&entry.mount.options, option);
        match asked.into_iter().find(lacks) {
            Some(option) => {
                let took = entry.mount.options.join(",");
                Err(format!("asked for {option}, the kernel took {took}"))
            }
            None => Ok(()),
        }
    }
}

impl Recipe for Volume {
    fn words(&self) -> String {
        self.kind.name.to_owned()
    }

    fn carried(&self) -> Carried {
        let FileSystem { name, program, package, .. } = self.kind;
        Carried { programs: vec![(program, package)], modules: [&[*name], NAMES].concat() }
    }

    fn missing(&self, system: &dyn System, bytes: u64) -> Option<String> {
        let FileSystem { name, program, package, smallest, .. } = self.kind;
        if let Some(fault) = self.fault() {
            return Some(fault);
        }
        if system.program(program).is_none() {
            return Some(format!("{program} is not installed: install the package {package}"));
        }
        if bytes < smallest.0 {
            return Some(format!("{name} needs {smallest}, here are {}", Bytes(bytes)));
        }
        kernel_lacks(system, name).then(|| format!("this kernel has no {name}"))
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        if let Some(fault) = self.fault() {
            return Err(Failure::refused(fault));
        }
        let [Base::Device(device)] = below else {
            return Err(Failure::refused("a file system is made on one block device"));
        };
        let system = builder.system();
        let file = builder.file_of(device)?;
        let (disk, label) = (Mark::of(system, &device.extent.device), builder.label());
        let made =
            Undo::FileSystem { disk, start: device.extent.range.start, label: label.clone() };
        if device.discard {
            let range = 0..device.extent.range.end - device.extent.range.start;
            builder.act_on(device, made.clone(), &Act::Discard { device: file.clone(), range })?;
        }
        builder.act_on(device, made, &self.make_on(&label, &file))?;
        let point = builder.place("mount")?;
        let directory = Undo::Directory { path: point.clone() };
        builder.act(directory, &Act::CreateDirectory { path: point.clone() })?;
        let mounted = Undo::Mount { point: point.clone() };
        builder.act_on(device, mounted, &self.mount(&file, &point))?;
        self.see_at(system, &point)
            .map_err(|what| Failure::refused(format!("mounting {}: {what}", self.kind.name)))?;
        Ok(Base::Directory(point))
    }

    fn see(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        match &made.base {
            Base::Directory(point) => self.see_at(system, point),
            Base::Device(_) => Ok(()),
        }
    }

    fn typed(&self, below: &[PathBuf]) -> Typed {
        let device = below.first().cloned().unwrap_or_default();
        let out = PathBuf::from(MOUNT_POINT);
        let acts = vec![self.make_on(LABEL, &device), self.mount(&device, &out)];
        Typed { acts, out }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let device = below.first().cloned().unwrap_or_default();
        let out = PathBuf::from(ANY_DIRECTORY);
        let named = device.display().to_string();
        let options = if self.mount_options.is_empty() { DEFAULTS } else { &self.mount_options };
        let line = format!("{named} {ANY_DIRECTORY} {} {options} 0 2", self.kind.name);
        let own = self.own_options().into_iter().map(str::to_owned);
        let arguments = own.chain([named]).collect();
        let make = Act::Run { program: self.kind.program.to_owned(), arguments };
        ByHand {
            typed: Typed { acts: vec![make, self.mount(&device, &out)], out },
            why: "assay makes and mounts file systems only to measure them",
            lasting: Some((line, "a line for /etc/fstab, which assay does not edit")),
        }
    }
}

/// Whether the kernel neither has a file system nor a module for it that mounting would load.
fn kernel_lacks(system: &dyn System, name: &str) -> bool {
    let lists = |path: &str, wanted: &dyn Fn(&str) -> bool| {
        system.read_text(Path::new(path)).is_ok_and(|text| text.lines().any(wanted))
    };
    let built_in = lists("/proc/filesystems", &|line| line.split('\t').next_back() == Some(name));
    let release = system.read_text(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let modules = format!("/lib/modules/{}/modules.dep", release.trim());
    let module = format!("/{name}.ko");
    !built_in
        && !lists(&modules, &|line| line.split(':').next().is_some_and(|m| m.contains(&module)))
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
