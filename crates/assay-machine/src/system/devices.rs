//! Drives, and the devices between them and a file system, from sysfs.

mod arrays;
mod counters;
mod describe;
mod link;
mod stack;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use super::site::Drive;
use super::{DeviceNumber, System, mounts, sysfs};

pub use arrays::{Array, arrays, arrays_of, arrays_on, pool_of};
pub use counters::{Counters, counters, under_way};
pub use describe::{device_id, drive, has_lasting_id};
pub use link::{pcie_most, pcie_on_way};
pub use stack::{Below, backing_file, is_buffered_loop, layer, mapping, mapping_name, partitions};

/// Unit of sizes in sysfs, bytes, independent of the device's blocks.
const SECTOR: u64 = 512;

/// Whole devices to measure on, sorted by name: no partitions, RAM disks or empty devices.
pub fn drives(system: &dyn System) -> Vec<Drive> {
    let names = sysfs::names(system, Path::new("/sys/block"));
    let candidates = names.iter().filter(|name| !name.starts_with("ram"));
    candidates.map(|name| drive(system, name)).filter(|drive| drive.size_bytes > 0).collect()
}

/// Kernel name of a block device number; `None` if sysfs does not list it.
pub fn name_of(system: &dyn System, number: DeviceNumber) -> Option<String> {
    let link = PathBuf::from(format!("/sys/dev/block/{number}"));
    let target = system.canonical(&link).or_else(|_| system.read_link(&link)).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

pub fn number_of(system: &dyn System, name: &str) -> Option<DeviceNumber> {
    let text = system.read_text(&sysfs::block(name).join("dev")).ok()?;
    mounts::parse_number(&text)
}

/// Kernel name of the block device that a path leads to; none when it leads to anything else.
pub fn name_at(system: &dyn System, path: &Path) -> Option<String> {
    let status = system.status(path).ok()?;
    let is_block = status.kind == super::FileKind::BlockDevice;
    name_of(system, status.own_device.filter(|_| is_block)?)
}

/// Size of the block device in bytes; 0 without a medium.
pub fn size_of(system: &dyn System, name: &str) -> u64 {
    let sectors = sysfs::number(system, &sysfs::block(name).join("size"));
    sectors.value().map_or(0, |sectors| sectors.saturating_mul(SECTOR))
}

/// Device file of a block device with a kernel name; some names have a slash, which sysfs spells `!`.
pub fn file_of(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// Kernel name of a partition: `sda1`, `nvme0n1p1`.
pub fn partition_name(disk: &str, number: u32) -> String {
    let separator = if disk.ends_with(|sign: char| sign.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{separator}{number}")
}

/// First byte of a partition on its disk; `None` if it is not a partition.
pub fn start_of(system: &dyn System, partition: &str) -> Option<u64> {
    let sectors = sysfs::number(system, &sysfs::block(partition).join("start"));
    sectors.value().map(|sectors| sectors.saturating_mul(SECTOR))
}

/// Suffix that the kernel appends to the name of a removed file.
const REMOVED: &str = " (deleted)";

/// Kernel names of the loop devices with this backing file, even if removed. The file name must be unique: for a
/// detached mount the kernel shows only the path inside it.
pub fn loops_of(system: &dyn System, file: &Path) -> io::Result<Vec<String>> {
    let names = sysfs::if_exists(system.list(Path::new("/sys/block")))?.unwrap_or_default();
    let mut loops = Vec::new();
    for name in names.into_iter().filter(|name| name.starts_with("loop")) {
        let shown = stack::read_backing_file(system, &name)?;
        loops.extend(shown.is_some_and(|shown| is_end_of(&shown, file)).then_some(name));
    }
    Ok(loops)
}

/// Returns whether a path shown by the kernel is the end of a file's path.
fn is_end_of(shown: &Path, file: &Path) -> bool {
    let text = shown.as_os_str().as_encoded_bytes();
    let bare = text.strip_suffix(REMOVED.as_bytes()).unwrap_or(text);
    let whole = file.as_os_str().as_encoded_bytes();
    // A file may really be named so: the whole text counts, too.
    [text, bare].iter().any(|end| end.len() > 1 && end[0] == b'/' && whole.ends_with(end))
}

/// Canonical sysfs directory of a device: its path contains the bus.
fn place(system: &dyn System, name: &str) -> PathBuf {
    let link = sysfs::block(name);
    system.canonical(&link).unwrap_or(link)
}

/// First component of a path that consists of a word and a number: `ata7` for `ata`.
fn numbered_part(path: &Path, word: &str) -> Option<String> {
    path.iter().map(|part| part.to_string_lossy().into_owned()).find(|part| {
        part.strip_prefix(word)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
