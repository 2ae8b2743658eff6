//! The stack below a target: file system, mount, and devices, as far as known.

use std::collections::BTreeSet;
use std::path::PathBuf;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::DeviceNumber;
use super::io_limits::IoLimit;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A directory: Assay creates its own file in it.
    Directory,
    /// An existing file: only read.
    File,
    /// A block device: only read without consent.
    Device,
    Simulated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backing {
    /// Block devices, listed in [`Site::layers`].
    Blocks,
    /// Memory (tmpfs, ramfs): no drive at all.
    Memory,
    /// Another machine or the host (NFS, CIFS, 9p, virtiofs, sshfs).
    Remote,
    /// Unknown to the kernel (a FUSE program without a path, ZFS without its tools).
    Unknown,
}

/// Target of a study for which Assay creates a loop device.
pub const NEW_LOOP_DEVICE: &str = "a new loop device";

/// Major number of md devices (Linux, admin-guide/devices.txt).
pub const MD_MAJOR: u32 = 9;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Kernel name: `sda1`, `dm-0`, `loop3`.
    pub name: String,
    pub number: DeviceNumber,
    /// Kind: `disk`, `partition`, `loop`, `crypt`, `linear`, `raid5`, `zram`, ...
    pub kind: String,
    pub below: Vec<String>,
    pub size_bytes: u64,
}

/// Interface between drive and machine, and its bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Display name: `SATA 6.0 Gbit/s`, `PCIe 4.0 x4`, `USB 480 Mbit/s (uas)`.
    pub name: String,
    /// Payload bytes per second after line coding: an upper bound for the drive.
    pub ceiling_bytes_per_s: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCard {
    /// `SD` or `MMC`.
    pub kind: Presence<String>,
    /// Number of the maker: `0x000003`.
    pub maker_id: Presence<String>,
    /// OEM ID: two letters as a number, `0x5344`.
    pub oem_id: Presence<String>,
    /// Month and year of manufacture: `04/2019`.
    pub made: Presence<String>,
}

const NOT_ASKED: &str = "not recorded by the Assay version that ran the study";

fn not_asked<T>() -> Presence<T> {
    Presence::absent(NOT_ASKED)
}

fn is_not_asked<T>(seen: &Presence<T>) -> bool {
    seen.reason() == Some(NOT_ASKED)
}

/// A whole device with its known facts. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    pub name: String,
    pub number: DeviceNumber,
    /// Name for `--destroy`: serial number, by-id name, or NAME:SIZE.
    pub id: String,
    pub model: Presence<String>,
    pub firmware: Presence<String>,
    pub serial: Presence<String>,
    pub size_bytes: u64,
    pub rotational: Presence<bool>,
    #[serde(default = "not_asked", skip_serializing_if = "is_not_asked")]
    pub rpm: Presence<u64>,
    pub removable: Presence<bool>,
    /// `nvme`, `sata`, `usb`, `mmc`, `virtio`, `loop`, ...
    pub bus: Presence<String>,
    /// Ports that lead to it, as the kernel's log names them: `ata1`, `2-1`, `2-1.4`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    pub link: Presence<Link>,
    /// USB version of its device: `3.20`.
    #[serde(default = "not_asked", skip_serializing_if = "is_not_asked")]
    pub usb_version: Presence<String>,
    #[serde(default = "not_asked", skip_serializing_if = "is_not_asked")]
    pub card: Presence<MemoryCard>,
    pub scheduler: Presence<String>,
    /// `write back` or `write through`.
    pub write_cache: Presence<String>,
    pub discard: Presence<bool>,
    pub logical_block_bytes: Presence<u64>,
    pub physical_block_bytes: Presence<u64>,
    pub queue_requests: Presence<u64>,
    pub read_ahead_bytes: Presence<u64>,
}

/// The kernel's word for a drive with a volatile write cache.
const WRITE_BACK: &str = "write back";
/// The same for one without.
const WRITE_THROUGH: &str = "write through";

/// Buses of drives that a program on another computer or the host implements.
const SERVED: [&str; 5] = ["virtio", "xen", "hyper-v", "nbd", "rbd"];

impl Drive {
    /// Returns whether a program on another computer or the host implements it.
    pub fn is_served(&self) -> bool {
        self.bus.value().is_some_and(|bus| SERVED.contains(&bus.as_str()))
    }

    /// Returns whether it reports a volatile write cache.
    pub fn announces_a_cache(&self) -> bool {
        self.write_cache.value().is_some_and(|kind| kind == WRITE_BACK)
    }

    /// Returns whether the drive reports no volatile write cache.
    pub fn writes_through(&self) -> bool {
        self.write_cache.value().is_some_and(|kind| kind == WRITE_THROUGH)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub point: PathBuf,
    pub source: String,
    /// Type: `ext4`, `fuse.gocryptfs`.
    pub filesystem: String,
    /// All options, mount and super block.
    pub options: Vec<String>,
}

/// Reason for a loop device without a drive below.
pub const LOOP_IN_MEMORY: &str = "the file of the loop device is in memory";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    pub target: String,
    pub kind: TargetKind,
    pub path: PathBuf,
    pub mount: Presence<Mount>,
    /// Mounts followed below the first one (overlay's upper directory, a FUSE program's source).
    pub followed: Vec<Mount>,
    pub device: DeviceNumber,
    pub backing: Backing,
    /// Why the layers below are unknown or incomplete.
    pub backing_reason: Option<String>,
    pub layers: Vec<Layer>,
    /// Devices whose counters must match the reported traffic: the topmost block devices.
    pub counted: Vec<String>,
    /// Devices on which other traffic disturbs the trial: the counted ones, their parents and the devices below.
    pub shared: Vec<String>,
    pub drives: Vec<Drive>,
    /// Compression of the file system or device: its name, or why it is unknown or off.
    pub compression: Presence<String>,
    /// Visible encryption layers, the uppermost first; not recorded by older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encryption: Vec<String>,
    /// Limits of control groups on the devices of the stack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<IoLimit>,
}

impl Site {
    /// The simulated engine as a target: no device below.
    pub fn simulated(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            kind: TargetKind::Simulated,
            path: PathBuf::new(),
            mount: Presence::absent("simulated"),
            followed: Vec::new(),
            device: DeviceNumber { major: 0, minor: 0 },
            backing: Backing::Unknown,
            backing_reason: Some("simulated".to_owned()),
            layers: Vec::new(),
            counted: Vec::new(),
            shared: Vec::new(),
            drives: Vec::new(),
            compression: Presence::absent("simulated"),
            encryption: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// A loop device that Assay will create.
    pub fn loop_to_be(size_bytes: u64) -> Self {
        let (number, name) = (DeviceNumber { major: 7, minor: 0 }, "loop".to_owned());
        let (kind, below) = (name.clone(), Vec::new());
        let layer = Layer { name, number, kind, below, size_bytes };
        Self {
            target: NEW_LOOP_DEVICE.to_owned(),
            kind: TargetKind::Device,
            mount: Presence::absent("the target is a block device"),
            device: number,
            backing: Backing::Blocks,
            backing_reason: None,
            layers: vec![layer],
            counted: vec!["loop".to_owned()],
            shared: vec!["loop".to_owned()],
            compression: Presence::absent("off"),
            ..Self::simulated("")
        }
    }

    pub fn arrays(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.number.major == MD_MAJOR)
    }

    /// Names of all devices below the arrays, at any depth.
    pub fn below_arrays(&self) -> BTreeSet<&str> {
        let mut waiting: Vec<&String> = self.arrays().flat_map(|array| &array.below).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if found.insert(name.as_str()) {
                let own = self.layers.iter().filter(|layer| layer.name == *name);
                waiting.extend(own.flat_map(|layer| &layer.below));
            }
        }
        found
    }

    pub fn filesystem(&self) -> String {
        match (&self.mount, self.kind) {
            (Presence::Present(mount), _) => mount.filesystem.clone(),
            (Presence::Absent(_), TargetKind::Simulated) => "none (simulated)".to_owned(),
            (Presence::Absent(_), TargetKind::Device) => "none (block device)".to_owned(),
            // A chroot may hide the mount.
            (Presence::Absent(_), _) => "not known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_has_a_file_system_even_where_nobody_tells_which() {
        let site = |kind| Site { kind, ..Site::simulated("/somewhere") };
        assert_eq!(site(TargetKind::Device).filesystem(), "none (block device)");
        assert_eq!(site(TargetKind::Simulated).filesystem(), "none (simulated)");
        assert_eq!(site(TargetKind::Directory).filesystem(), "not known");
        assert_eq!(site(TargetKind::File).filesystem(), "not known");
    }
}
