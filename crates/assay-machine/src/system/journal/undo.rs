//! How a change is undone, in words that need neither the study nor the factor that made it.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::system::{System, devices, identity, sysfs};

pub const UNITS: &str = "/etc/systemd/system";

/// The file of a unit, and the link in the target that wants it.
pub fn unit_files(name: &str, wanted_by: &str) -> [PathBuf; 2] {
    let units = PathBuf::from(UNITS);
    [units.join(name), units.join(format!("{wanted_by}.wants")).join(name)]
}

/// Exclusive settings: writing one sets the other to 0.
const PAIRS: [[&str; 2]; 3] = [
    ["/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"],
    ["/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"],
    ["/proc/sys/vm/overcommit_kbytes", "/proc/sys/vm/overcommit_ratio"],
];

/// The setting that becomes 0 when this one is written; `None` if there is none.
pub fn excluded_by(path: &Path) -> Option<PathBuf> {
    let [bytes, ratio] = PAIRS.iter().find(|pair| pair.iter().any(|one| path == Path::new(one)))?;
    Some(PathBuf::from(if path == Path::new(bytes) { ratio } else { bytes }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifetime {
    /// Gone after a restart: settings, mounts, loop devices.
    Volatile,
    /// Still there: files, file systems.
    Persistent,
}

/// Which device a setting belongs to: names are given again to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Kernel name: `sda`.
    pub name: String,
    /// Serial number, by-id name, or NAME:SIZE.
    pub id: String,
    /// The kernel's running number of disks (`diskseq`, Linux 5.15), not given twice until a restart.
    pub sequence: Option<u64>,
}

impl Mark {
    pub fn now(system: &dyn System, name: &str) -> Self {
        let number = devices::number_of(system, name);
        let sequence = number.and_then(|number| identity::disk_sequence(system, number));
        let id = devices::device_id(system, name);
        Self { name: name.to_owned(), id, sequence }
    }

    /// Returns the mark of a device; `None` if it is missing. Unlike [`Self::now`] it fails if the device cannot be
    /// read, which must not look like a missing device.
    pub fn read(system: &dyn System, name: &str) -> io::Result<Option<Self>> {
        let read = |path: PathBuf| sysfs::if_exists(system.read_text(&path));
        let Some(number) = read(sysfs::block(name).join("dev"))? else { return Ok(None) };
        let by_number = PathBuf::from(format!("/sys/dev/block/{}", number.trim()));
        let mut sequence = read(by_number.join("diskseq"))?;
        if sequence.is_none() {
            // A partition has the number of its disk.
            sequence = read(by_number.join("../diskseq"))?;
        }
        let sequence = sequence.and_then(|text| text.trim().parse().ok());
        Ok(Some(Self { sequence, ..Self::now(system, name) }))
    }

    /// Returns whether both are the same device. IDs count only if the kernel does not number its disks.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same_disk = match (self.sequence, other.sequence) {
            (Some(own), Some(others)) => own == others,
            _ => self.id == other.id,
        };
        self.name == other.name && is_same_disk
    }

    /// Describes a device that is gone: its name is unused, or another device has it. `None` if it is there.
    pub fn gone(&self, system: &dyn System) -> Option<String> {
        let find_difference = || match Self::read(system, &self.name) {
            Ok(Some(now)) if now.is_same(self) => None,
            Ok(Some(_)) => Some(format!("{} was replaced by another device", self.name)),
            Ok(None) => Some(format!("{} was removed", self.name)),
            Err(_) => None,
        };
        // Looks twice: without a sequence number, IDs decide, and one failed read makes them differ.
        find_difference()?;
        find_difference()
    }
}

/// A part of a disk that belongs to something made of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberMark {
    pub disk: Mark,
    pub start: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Restores a kernel setting, with the device that it belongs to, if any.
    Setting { path: PathBuf, original: String, device: Option<Mark> },
    /// Unmounts Assay's mount at a directory.
    Mount { point: PathBuf },
    /// Unmounts a FUSE file system at a directory of Assay, even one that is still starting.
    Served { point: PathBuf },
    /// Closes the device that device-mapper shows under a name of Assay.
    Mapping { name: String },
    /// Removes the key of an encrypted directory of Assay from its filesystem.
    DirectoryKey { directory: PathBuf },
    /// Removes a file of Assay.
    File { path: PathBuf },
    /// Removes a directory of Assay.
    Directory { path: PathBuf },
    /// Detaches a file of Assay (its path without links) from every loop device.
    Loop {
        file: PathBuf,
        /// The loop device; `None` before it is attached, and if the kernel does not number its disks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<Mark>,
    },
    /// Removes a zram device by the kernel's sequence number (`diskseq`). `None` before the device exists: then Assay
    /// removes the device only if it has no size.
    Zram { number: u32, sequence: Option<u64> },
    /// Takes a swap area of Assay (its path without links) back from the kernel.
    Swap { path: PathBuf },
    /// Removes a partition that only the kernel knows.
    Partition { disk: Mark, number: u32, start: u64 },
    /// Wipes a filesystem that Assay made, if it still has this label.
    FileSystem { disk: Mark, start: u64, label: String },
    /// Stops an array that Assay made under a kernel name such as `md127`, and wipes the superblocks of its members.
    Array { device: String, name: String, members: Vec<MemberMark> },
    /// Removes a network namespace that Assay made, with everything in it.
    NetworkSpace {
        name: String,
        /// Whether the last namespace takes the mount of all namespaces with it: `ip` made the mount for this run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        with_mount: bool,
    },
    /// Removes the queueing discipline of Assay from an interface.
    Discipline {
        /// The namespace of the interface; `None` is the machine's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        interface: String,
        /// What `tc` showed before.
        original: String,
    },
    /// Disables and removes a systemd unit below [`UNITS`], if it still has the written text.
    Unit { name: String, wanted_by: String, written: String },
    /// Restores a text file, or removes it if there was none, if it still has the written text.
    Text {
        path: PathBuf,
        original: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<String>,
    },
}

impl Undo {
    /// Returns whether it undoes a change of the same object.
    pub fn is_for_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Setting { path, device, .. },
                Self::Setting { path: other_path, device: other_device, .. },
            ) => {
                let is_same_device = match (device, other_device) {
                    (Some(one), Some(other)) => one.is_same(other),
                    (one, other) => one == other,
                };
                path == other_path && is_same_device
            }
            (Self::Text { path, .. }, Self::Text { path: other, .. }) => path == other,
            (
                Self::Discipline { namespace, interface, .. },
                Self::Discipline { namespace: other_space, interface: other, .. },
            ) => (namespace, interface) == (other_space, other),
            _ => self == other,
        }
    }

    pub fn setting(&self) -> Option<(&Path, &str)> {
        match self {
            Self::Setting { path, original, .. } => Some((path, original)),
            _ => None,
        }
    }

    /// Returns whether undoing restores an original; otherwise it removes something that Assay created. Only created
    /// things can be created again under their name, on other devices.
    pub(super) const fn has_original(&self) -> bool {
        matches!(self, Self::Setting { .. } | Self::Text { .. } | Self::Discipline { .. })
    }

    /// The same entry after a reboot, which renumbers disks: names and IDs identify them then.
    pub(super) fn after_restart(mut self) -> Self {
        if let Self::Setting { device: Some(mark), .. }
        | Self::Partition { disk: mark, .. }
        | Self::FileSystem { disk: mark, .. } = &mut self
        {
            mark.sequence = None;
        }
        if let Self::Array { members, .. } = &mut self {
            for member in members {
                member.disk.sequence = None;
            }
        }
        self
    }

    /// Returns whether undoing removes this device, by kernel name.
    pub fn removes_device(&self, system: &dyn System, device: &str) -> bool {
        match self {
            Self::Loop { file, device: mark } => {
                let is_device = |mark: &Mark| mark.is_same(&Mark::now(system, device));
                mark.as_ref().is_none_or(is_device)
                    && devices::backing_file(system, device).as_ref() == Some(file)
            }
            Self::Array { device: array, .. } => device == array,
            Self::Mapping { name } => devices::mapping_name(system, device)
                .is_ok_and(|current| current.as_ref() == Some(name)),
            Self::Zram { number, sequence: Some(sequence) } => {
                let now = Mark::now(system, device).sequence;
                device == format!("zram{number}") && now == Some(*sequence)
            }
            _ => false,
        }
    }

    pub const fn lifetime(&self) -> Lifetime {
        match self {
            Self::Setting { .. }
            | Self::Mount { .. }
            | Self::Served { .. }
            | Self::Mapping { .. }
            | Self::DirectoryKey { .. }
            | Self::Loop { .. }
            | Self::Zram { .. }
            | Self::Swap { .. }
            | Self::NetworkSpace { .. }
            | Self::Discipline { .. }
            | Self::Partition { .. } => Lifetime::Volatile,
            Self::File { .. }
            | Self::Directory { .. }
            | Self::FileSystem { .. }
            | Self::Array { .. }
            | Self::Unit { .. }
            | Self::Text { .. } => Lifetime::Persistent,
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Setting { path, original, .. } => {
                format!("restore {} to {original}", path.display())
            }
            Self::Mount { point } | Self::Served { point } => {
                format!("unmount {}", point.display())
            }
            Self::Mapping { name } => format!("close the encrypted device {name}"),
            Self::DirectoryKey { directory } => {
                format!("remove the key of {}", directory.display())
            }
            Self::File { path } | Self::Text { path, original: None, .. } => {
                format!("remove {}", path.display())
            }
            Self::Directory { path } => format!("remove the directory {}", path.display()),
            Self::Loop { file, .. } => format!("detach the loop device of {}", file.display()),
            Self::Zram { number, .. } => format!("remove zram{number}"),
            Self::Swap { path } => format!("disable swap on {}", path.display()),
            Self::NetworkSpace { name, .. } => format!("remove the namespace {name}"),
            Self::Discipline { interface, .. } => format!("restore the qdisc of {interface}"),
            Self::Partition { disk, number, .. } => {
                format!("remove the temporary partition {number} of {}", disk.name)
            }
            Self::FileSystem { disk, label, .. } => {
                format!("wipe the filesystem {label} on {}", disk.name)
            }
            Self::Array { device, members, .. } => {
                let names: Vec<&str> = members.iter().map(|part| part.disk.name.as_str()).collect();
                format!("stop {device} and wipe it on {}", names.join(", "))
            }
            Self::Unit { name, .. } => format!("disable and remove {name}"),
            Self::Text { path, original: Some(_), .. } => {
                format!("restore the contents of {}", path.display())
            }
        };
        formatter.write_str(&text)
    }
}
