//! What the system expects to find: `/etc/fstab` and `/etc/crypttab`.

use std::fmt::Write;
use std::path::Path;

use assay_core::failure::Outcome;

use super::consent::DataLoss;
use super::usage::{Family, text};
use crate::system::{System, mounts, sysfs};

/// A table, and the index of the column that names a device.
const TABLES: [(&str, usize); 2] = [("/etc/fstab", 0), ("/etc/crypttab", 1)];
const WHAT: &str = "whether an entry names the device";

/// Returns why the system needs a device, as the end of a sentence about it; `None` if no table names it.
pub fn find(system: &dyn System, family: &Family, losses: &[DataLoss]) -> Outcome<Option<String>> {
    for (table, column) in TABLES {
        let lines = text(system, Path::new(table), WHAT)?.unwrap_or_default();
        for line in lines.lines().filter(|line| !line.trim_start().starts_with('#')) {
            for name in devices_in(line, column) {
                if is_ours(system, family, losses, &name)? {
                    return Ok(Some(format!("is in {table} as {name:?}; remove that line first")));
                }
            }
        }
    }
    Ok(None)
}

/// Devices in a line: in its column, and as values of its options.
fn devices_in(line: &str, column: usize) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Columns of fstab: device, directory, type, options. Of crypttab: name, device, key, options.
    let options = words.get(3).copied().unwrap_or_default().split(',');
    let values = options.filter_map(|option| Some(option.split_once('=')?.1));
    let devices = words.get(column).copied().into_iter().chain(values);
    // The value of a tag may be in quotes: LABEL="data".
    devices.map(|device| mounts::unescape(device).replace('"', "")).collect()
}

/// Returns whether a path, or a tag such as `UUID=...`, leads to the device or is written on it.
fn is_ours(system: &dyn System, family: &Family, losses: &[DataLoss], name: &str) -> Outcome<bool> {
    if name.starts_with('/') {
        let path = Path::new(name);
        // The file may be missing now and be there after the next start.
        let by_name = |name: &str| path.parent() == Some(Path::new("/dev")) && path.ends_with(name);
        return Ok(family.names().any(by_name) || family.is_at(system, path)?);
    }
    let Some((tag, value)) = name.split_once('=') else { return Ok(false) };
    let directory = match tag {
        "UUID" => "by-uuid",
        "LABEL" => "by-label",
        "PARTUUID" => "by-partuuid",
        "PARTLABEL" => "by-partlabel",
        _ => return Ok(false),
    };
    let link = Path::new("/dev/disk").join(directory).join(escaped(value));
    let is_on_device = losses.iter().any(|loss| match tag {
        "UUID" => loss.signature.uuid.as_ref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(value)),
        "LABEL" => loss.signature.label.as_deref() == Some(value),
        _ => false,
    });
    Ok(is_on_device
        || names_partition(system, family, tag, value)?
        || family.is_at(system, &link)?)
}

/// Whether a tag is the ID or name of a partition in the partition table, as far as the kernel shows them.
fn names_partition(system: &dyn System, family: &Family, tag: &str, value: &str) -> Outcome<bool> {
    let key = match tag {
        "PARTUUID" => "PARTUUID=",
        "PARTLABEL" => "PARTNAME=",
        _ => return Ok(false),
    };
    for name in family.names() {
        let facts = text(system, &sysfs::block(name).join("uevent"), WHAT)?.unwrap_or_default();
        let mut values = facts.lines().filter_map(|line| line.strip_prefix(key));
        if values.any(|found| found.eq_ignore_ascii_case(value)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Escapes a name for `/dev/disk/by-*` like udev, with `\x20` for a space.
fn escaped(value: &str) -> String {
    let mut escaped = String::new();
    for sign in value.chars() {
        if sign.is_ascii_alphanumeric() || "#+-.:=@_".contains(sign) || !sign.is_ascii() {
            escaped.push(sign);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\x{:02x}", u32::from(sign));
        }
    }
    escaped
}
