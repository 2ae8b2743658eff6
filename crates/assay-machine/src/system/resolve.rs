//! Resolves a target to its device stack.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;

use super::mounts::{self, MountEntry};
use super::site::{Backing, LOOP_IN_MEMORY, Layer, Mount, Site, TargetKind};
use super::{
    DeviceNumber, Errno, FileKind, FileStatus, System, compression, devices, encryption, io_limits,
    sysfs,
};

/// Mounts followed below the first one: more is a circle.
const MOST_MOUNTS: usize = 8;

const ADVICE: &str = "use a directory, a file or a block device";
const MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "rootfs"];

/// File systems with data on another machine, or on the host of this one.
const REMOTE: &str = "nfs nfs4 cifs smb3 smbfs 9p virtiofs ceph afs lustre beegfs vboxsf prl_fs fuse.sshfs fuse.ceph \
     fuse.glusterfs fuse.s3fs fuse.rclone fuse.vmhgfs-fuse fuse.davfs2";

pub(super) fn is_remote(filesystem: &str) -> bool {
    REMOTE.split(' ').any(|name| name == filesystem)
}

/// Describes the stack of a target. A user error if it does not exist; refused if this user may not read it.
pub fn resolve(system: &dyn System, target: &str) -> Outcome<Site> {
    let explain = |error: io::Error| match device_named(system, target) {
        Some(path) if error.kind() == io::ErrorKind::NotFound => {
            Failure::mistake(format!("{target:?} does not exist; use {path}"))
        }
        _ => access_error(target, &error),
    };
    let path = system.canonical(Path::new(target)).map_err(explain)?;
    let status = system.status(&path).map_err(explain)?;
    let kind = target_kind(target, status.kind)?;
    let mut descent = Descent::new(system);
    let (device, ground) = match (kind, status.own_device) {
        (TargetKind::Device, Some(number)) => (number, descent.device(number)),
        _ => (status.device, descent.file_system(&path, status.device, 0)),
    };
    Ok(descent.site(NamedTarget { target, kind, path, device }, ground))
}

fn target_kind(target: &str, kind: FileKind) -> Outcome<TargetKind> {
    let noun = match kind {
        FileKind::Directory => return Ok(TargetKind::Directory),
        FileKind::File => return Ok(TargetKind::File),
        FileKind::BlockDevice => return Ok(TargetKind::Device),
        FileKind::CharacterDevice => "a character device",
        FileKind::Other => "a socket or a pipe",
    };
    Err(Failure::mistake(format!("{target:?} is {noun}; {ADVICE}")))
}

/// The block device that a bare word such as `sda` names.
fn device_named(system: &dyn System, word: &str) -> Option<String> {
    let path = (!word.contains('/')).then(|| format!("/dev/{word}"))?;
    let status = system.status(Path::new(&path)).ok()?;
    (status.kind == FileKind::BlockDevice).then_some(path)
}

fn access_error(target: &str, error: &io::Error) -> Failure {
    let mistake = |fault: &str| Failure::mistake(format!("{target:?} {fault}; {ADVICE}"));
    match Errno::find(error) {
        Some(Errno::LOOP) => return mistake("is a symbolic link to itself"),
        Some(Errno::NAMETOOLONG) => return mistake("is too long"),
        _ => {}
    }
    match error.kind() {
        io::ErrorKind::NotFound => mistake("does not exist"),
        io::ErrorKind::NotADirectory => mistake("contains a component that is not a directory"),
        io::ErrorKind::InvalidInput => mistake("is not a path"),
        io::ErrorKind::PermissionDenied => Failure::refused(format!(
            "cannot access {target:?}: permission denied; use sudo or another user"
        )),
        _ => Failure::refused(format!("cannot access {target:?}: {error}")),
    }
}

/// Names of the locks for the hardware of a run, sorted: numbers of the bottom devices, or that of the file system.
pub fn lock_names(site: &Site) -> Vec<String> {
    let unknown = DeviceNumber { major: 0, minor: 0 };
    let whole_devices = site.layers.iter().filter(|layer| layer.below.is_empty());
    let numbers = whole_devices.map(|layer| layer.number).filter(|number| *number != unknown);
    let mut names: BTreeSet<String> = numbers.map(|number| number.to_string()).collect();
    if names.is_empty() {
        names.insert(site.device.to_string());
    }
    names.into_iter().collect()
}

/// Where a file system or device stores its data; block devices by kernel name.
enum Ground {
    Blocks(Vec<String>),
    Memory,
    Remote,
    Unknown(String),
}

struct NamedTarget<'a> {
    target: &'a str,
    kind: TargetKind,
    path: PathBuf,
    device: DeviceNumber,
}

/// The way from a target down to its devices.
struct Descent<'a> {
    system: &'a dyn System,
    table: io::Result<Vec<MountEntry>>,
    /// Mounts met, the target's own first.
    met: Vec<Mount>,
    reasons: Vec<String>,
}

impl<'a> Descent<'a> {
    fn new(system: &'a dyn System) -> Self {
        Self { system, table: mounts::read(system), met: Vec::new(), reasons: Vec::new() }
    }

    fn device(&self, number: DeviceNumber) -> Ground {
        match devices::name_of(self.system, number) {
            Some(name) => Ground::Blocks(vec![name]),
            None => Ground::Unknown(format!("sysfs does not contain the device {number}")),
        }
    }

    /// Finds what the file system of a path is on; `depth` is the number of mounts followed so far.
    fn file_system(&mut self, path: &Path, device: DeviceNumber, depth: usize) -> Ground {
        if depth > MOST_MOUNTS {
            return Ground::Unknown("the mounts form a cycle".to_owned());
        }
        let table = self.table.as_deref().unwrap_or_default();
        let mount = mounts::find(table, path, Some(device)).map(|entry| entry.mount.clone());
        if let Some(mount) = mount.as_ref().filter(|mount| !self.met.contains(mount)) {
            self.met.push(mount.clone());
        }
        if device.major != 0 {
            return self.device(device);
        }
        match mount {
            Some(mount) => self.without_device(&mount, depth),
            None => Ground::Unknown(self.no_mount()),
        }
    }

    fn no_mount(&self) -> String {
        match &self.table {
            Ok(_) => "the mount is not in the mount table".to_owned(),
            Err(error) => format!("cannot read the mount table: {}", sysfs::reason(error)),
        }
    }

    /// Finds what a file system is on whose device number (major 0) names no block device.
    fn without_device(&mut self, mount: &Mount, depth: usize) -> Ground {
        let filesystem = mount.filesystem.as_str();
        if MEMORY.contains(&filesystem) {
            return Ground::Memory;
        }
        if is_remote(filesystem) {
            return Ground::Remote;
        }
        match filesystem {
            "btrfs" => self.btrfs(mount),
            "bcachefs" => self.blocks_of(mount.source.split(':')),
            "overlay" => self.overlay(mount, depth),
            "ecryptfs" => self.follow(Path::new(&mount.source), depth),
            "zfs" => Ground::Unknown("only ZFS tools can list the devices".to_owned()),
            _ if filesystem.starts_with("fuse") => self.fuse(mount, depth),
            _ => Ground::Unknown(format!("{filesystem} does not report where the data is stored")),
        }
    }

    fn btrfs(&self, mount: &Mount) -> Ground {
        let source = self.source_name(&mount.source);
        let root = Path::new("/sys/fs/btrfs");
        for directory in sysfs::names(self.system, root) {
            let members = sysfs::names(self.system, &root.join(directory).join("devices"));
            if members.contains(&source) {
                return Ground::Blocks(members);
            }
        }
        // If sysfs does not list it (old kernels, containers), the mount source is one device at least.
        self.blocks_of([mount.source.as_str()])
    }

    /// Kernel name of a mount's source; its last component if the device file does not exist.
    fn source_name(&self, source: &str) -> String {
        let file_name = || Path::new(source).file_name().unwrap_or_default();
        devices::name_at(self.system, Path::new(source))
            .unwrap_or_else(|| file_name().to_string_lossy().into_owned())
    }

    /// Block devices with these files; unknown if sysfs does not contain one of them.
    fn blocks_of<'s>(&self, sources: impl IntoIterator<Item = &'s str>) -> Ground {
        let mut names = Vec::new();
        for source in sources {
            let name = self.source_name(source);
            if devices::number_of(self.system, &name).is_none() {
                return Ground::Unknown(format!("sysfs does not contain the device {source}"));
            }
            names.push(name);
        }
        Ground::Blocks(names)
    }

    fn overlay(&mut self, mount: &Mount, depth: usize) -> Ground {
        match mounts::option(mount, "upperdir") {
            Some(upper) => self.follow(Path::new(upper), depth),
            None => Ground::Unknown("a read-only overlay combines several directories".to_owned()),
        }
    }

    fn fuse(&mut self, mount: &Mount, depth: usize) -> Ground {
        let source = Path::new(&mount.source);
        // Many FUSE programs have /dev/fuse as source, which stores no data.
        let stores_data = |status: FileStatus| {
            !matches!(status.kind, FileKind::CharacterDevice | FileKind::Other)
        };
        if source.is_absolute() && self.system.status(source).is_ok_and(stores_data) {
            return self.follow(source, depth);
        }
        if mount.source.contains(":/") {
            return Ground::Remote;
        }
        Ground::Unknown(format!("{} does not report where the data is stored", mount.filesystem))
    }

    /// Continues at another path, which may not exist in a container.
    fn follow(&mut self, path: &Path, depth: usize) -> Ground {
        let system = self.system;
        let resolved = system.canonical(path).and_then(|path| Ok((system.status(&path)?, path)));
        match resolved {
            Ok((status, path)) => match status.own_device {
                Some(number) if status.kind == FileKind::BlockDevice => self.device(number),
                _ => self.file_system(&path, status.device, depth + 1),
            },
            Err(error) => {
                let reason = sysfs::reason(&error);
                Ground::Unknown(format!("cannot resolve {}: {reason}", path.display()))
            }
        }
    }

    /// Devices that store the backing file of a loop device; records the reason if there are none.
    fn devices_below_loop(&mut self, file: &Path) -> Vec<String> {
        let file = existing_path(self.system, file);
        match self.follow(&file, 0) {
            Ground::Blocks(names) => names,
            Ground::Unknown(reason) => self.no_devices(&reason),
            Ground::Memory => self.no_devices(LOOP_IN_MEMORY),
            Ground::Remote => self.no_devices("the file of the loop device is on another machine"),
        }
    }

    /// Records why there are no devices below.
    fn no_devices(&mut self, reason: &str) -> Vec<String> {
        self.reasons.push(reason.to_owned());
        Vec::new()
    }

    /// All devices from the topmost down, each once, those above first.
    fn layers(&mut self, top: &[String]) -> Vec<Layer> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut waiting: VecDeque<String> = top.iter().cloned().collect();
        while let Some(name) = waiting.pop_front() {
            if layers.iter().any(|layer| layer.name == name) {
                continue;
            }
            let (mut layer, below) = devices::layer(self.system, &name);
            if let devices::Below::File(file) = below {
                layer.below = self.devices_below_loop(&file);
            }
            waiting.extend(layer.below.iter().cloned());
            layers.push(layer);
        }
        layers
    }

    /// Describes a target that is on `ground`, with the mounts met on the way.
    fn site(mut self, named: NamedTarget<'_>, ground: Ground) -> Site {
        let (backing, counted) = match ground {
            Ground::Blocks(names) => (Backing::Blocks, names),
            Ground::Memory => (Backing::Memory, Vec::new()),
            Ground::Remote => (Backing::Remote, Vec::new()),
            Ground::Unknown(reason) => {
                self.reasons.push(reason);
                (Backing::Unknown, Vec::new())
            }
        };
        let layers = self.layers(&counted);
        let compression = match compression::find(self.system, &self.met, &layers) {
            Presence::Absent(_) if backing == Backing::Unknown => {
                Presence::absent("unknown, as are the layers below")
            }
            compression => compression,
        };
        let encryption = encryption::find(self.system, &named.path, &self.met, &layers);
        let no_mount = self.no_mount();
        let mut met = self.met.into_iter();
        let mount = match named.kind {
            TargetKind::Device => Presence::absent("the target is a block device"),
            _ => Presence::from_option(met.next(), no_mount),
        };
        Site {
            target: named.target.to_owned(),
            kind: named.kind,
            path: named.path,
            mount,
            followed: met.collect(),
            device: named.device,
            backing,
            backing_reason: (!self.reasons.is_empty()).then(|| self.reasons.join("; ")),
            shared: shared(&layers, &counted),
            drives: whole_devices(&layers).map(|name| devices::drive(self.system, name)).collect(),
            counted,
            limits: io_limits::find(self.system, &layers),
            layers,
            compression,
            encryption,
        }
    }
}

/// A removed backing file is named `FILE (deleted)`: its directory still identifies the file system.
fn existing_path(system: &dyn System, file: &Path) -> PathBuf {
    let text = file.to_string_lossy();
    let Some(removed) = text.strip_suffix(" (deleted)").map(Path::new) else {
        return file.to_path_buf();
    };
    // A file may really be named so.
    if system.status(file).is_ok() {
        return file.to_path_buf();
    }
    let mut directories = removed.ancestors().skip(1);
    directories.find(|path| system.status(path).is_ok()).unwrap_or(removed).to_path_buf()
}

/// The counted devices, the devices that contain them and the devices below, but nothing below a loop device.
fn shared(layers: &[Layer], counted: &[String]) -> Vec<String> {
    let mut devices: Vec<String> = Vec::new();
    let mut waiting: VecDeque<&String> = counted.iter().collect();
    while let Some(name) = waiting.pop_front() {
        if devices.contains(name) {
            continue;
        }
        devices.push(name.clone());
        let own_layers = layers.iter().filter(|layer| layer.name == *name && layer.kind != "loop");
        waiting.extend(own_layers.flat_map(|layer| &layer.below));
    }
    devices
}

/// Whole devices, top first: devices with nothing below, and devices that count as a drive.
fn whole_devices(layers: &[Layer]) -> impl Iterator<Item = &str> {
    let is_drive =
        |layer: &&Layer| layer.below.is_empty() || matches!(layer.kind.as_str(), "loop" | "zram");
    layers.iter().filter(is_drive).map(|layer| layer.name.as_str())
}

#[cfg(test)]
mod tests;
