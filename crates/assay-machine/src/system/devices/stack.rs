//! Layers of a block device.

use std::io;
use std::path::{Path, PathBuf};

use super::{name_at, number_of, place, size_of};
use crate::system::site::Layer;
use crate::system::{DeviceNumber, System, sysfs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Below {
    /// Other block devices, by kernel name; empty for a drive.
    Devices(Vec<String>),
    File(PathBuf),
}

/// Describes a block device, and returns what is below. The caller resolves a file (of a loop device).
pub fn layer(system: &dyn System, name: &str) -> (Layer, Below) {
    let below = devices_below(system, name);
    let names = match &below {
        Below::Devices(names) => names.clone(),
        Below::File(_) => Vec::new(),
    };
    let layer = Layer {
        name: name.to_owned(),
        number: number_of(system, name).unwrap_or(DeviceNumber { major: 0, minor: 0 }),
        kind: layer_kind(system, name),
        below: names,
        size_bytes: size_of(system, name),
    };
    (layer, below)
}

/// What a block device is made of: the disk of a partition, the file of a loop device, or other devices.
fn devices_below(system: &dyn System, name: &str) -> Below {
    let block = sysfs::block(name);
    if is_partition(system, name) {
        let place = place(system, name);
        let drive = place.parent().and_then(Path::file_name);
        let drive = drive.map(|name| name.to_string_lossy().into_owned());
        return Below::Devices(drive.into_iter().collect());
    }
    if let Some(file) = backing_file(system, name) {
        return Below::File(file);
    }
    if name.starts_with("zram") {
        // `none`, or the device that incompressible pages go to.
        let backing = sysfs::text(system, &block.join("backing_dev"));
        let device = backing.value().and_then(|path| name_at(system, Path::new(path)));
        return Below::Devices(device.into_iter().collect());
    }
    Below::Devices(sysfs::names(system, &block.join("slaves")))
}

fn is_partition(system: &dyn System, name: &str) -> bool {
    sysfs::text(system, &sysfs::block(name).join("partition")).value().is_some()
}

/// Returns whether a loop device uses the page cache of its file.
pub fn is_buffered_loop(system: &dyn System, name: &str) -> bool {
    system.read_text(&sysfs::block(name).join("loop/dio")).is_ok_and(|text| text.trim() == "0")
}

/// The backing file of a loop device; a removed one has no usable name.
pub fn backing_file(system: &dyn System, name: &str) -> Option<PathBuf> {
    read_backing_file(system, name).ok()?
}

/// The same; a read error must not look like a missing file.
pub(super) fn read_backing_file(system: &dyn System, name: &str) -> io::Result<Option<PathBuf>> {
    let file = sysfs::block(name).join("loop/backing_file");
    // Not `sysfs::text`: space at the end belongs to the name.
    let text = sysfs::if_exists(system.read_text(&file))?.unwrap_or_default();
    let path = text.strip_suffix('\n').unwrap_or(&text);
    Ok((!path.is_empty()).then(|| path.into()))
}

/// The name under which device-mapper shows a device. A failure to read must not look like no name.
pub fn mapping_name(system: &dyn System, device: &str) -> io::Result<Option<String>> {
    let name = sysfs::if_exists(system.read_text(&sysfs::block(device).join("dm/name")))?;
    Ok(name.map(|name| name.trim_end_matches('\n').to_owned()))
}

/// Kernel name of a device-mapper device; `None` if it does not exist.
pub fn mapping(system: &dyn System, name: &str) -> io::Result<Option<String>> {
    let devices = sysfs::if_exists(system.list(Path::new("/sys/class/block")))?.unwrap_or_default();
    for device in devices.into_iter().filter(|device| device.starts_with("dm-")) {
        if mapping_name(system, &device)?.as_deref() == Some(name) {
            return Ok(Some(device));
        }
    }
    Ok(None)
}

fn layer_kind(system: &dyn System, name: &str) -> String {
    let block = sysfs::block(name);
    if is_partition(system, name) {
        return "partition".to_owned();
    }
    if name.starts_with("dm-") {
        let uuid = sysfs::text(system, &block.join("dm/uuid"));
        return mapper_kind(uuid.value().map_or("", String::as_str)).to_owned();
    }
    if name.starts_with("md") {
        let level = sysfs::text(system, &block.join("md/level"));
        return level.value().map_or("md", String::as_str).to_owned();
    }
    if name.starts_with("zd") {
        return "zvol".to_owned();
    }
    let kinds = ["loop", "zram", "bcache", "nbd", "ram", "drbd", "rbd", "pmem", "ublk", "nullb"];
    kinds.iter().find(|start| name.starts_with(**start)).unwrap_or(&"disk").to_string()
}

/// Kind of a device-mapper device by its uuid, because only root can read its targets: tools start the uuid with their
/// name, and LVM ends the uuid of hidden volumes with their kind (`lib/activate/dev_manager.c` of LVM2).
fn mapper_kind(uuid: &str) -> &'static str {
    const OWNERS: [(&str, &str); 9] = [
        ("CRYPT-VERITY", "verity"),
        ("CRYPT-INTEGRITY", "integrity"),
        ("CRYPT-", "crypt"),
        ("LVM-", "lvm"),
        ("mpath-", "multipath"),
        ("part", "partition"),
        ("DMRAID-", "dmraid"),
        ("VDO-", "vdo"),
        ("stratis-", "stratis"),
    ];
    const HIDDEN: [(&str, &str); 9] = [
        ("-tpool", "thin pool"),
        ("-tdata", "thin pool"),
        ("-vpool", "vdo"),
        ("-vdata", "vdo"),
        ("-cdata", "cache"),
        ("-cvol", "cache"),
        ("-cow", "snapshot"),
        ("-real", "snapshot origin"),
        ("-imeta", "integrity"),
    ];
    if uuid.starts_with("LVM-")
        && let Some((_, kind)) = HIDDEN.iter().find(|(end, _)| uuid.ends_with(end))
    {
        return kind;
    }
    OWNERS.iter().find(|(start, _)| uuid.starts_with(start)).map_or("dm", |(_, kind)| *kind)
}

pub fn partitions(system: &dyn System, name: &str) -> Vec<String> {
    let children = sysfs::names(system, &sysfs::block(name));
    // Only partitions begin with their drive's name; `queue`, `holders` and the like do not.
    let candidates = children.into_iter().filter(|child| child.starts_with(name));
    candidates.filter(|child| is_partition(system, child)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_mapped_devices_are_told_by_their_uuid() {
        for (uuid, kind) in [
            ("LVM-abcdef", "lvm"),
            ("LVM-abcdef-tpool", "thin pool"),
            ("LVM-abcdef-cow", "snapshot"),
            ("LVM-abcdef-cdata", "cache"),
            ("part1-mpath-3600", "partition"),
            ("stratis-1-private-abc-thin-pool", "stratis"),
            ("CRYPT-LUKS2-0-name", "crypt"),
            ("CRYPT-VERITY-0-name", "verity"),
            ("mpath-3600", "multipath"),
            ("", "dm"),
        ] {
            assert_eq!(mapper_kind(uuid), kind, "{uuid}");
        }
    }
}
