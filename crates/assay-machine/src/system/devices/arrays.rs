//! Devices of arrays: of md, device-mapper, btrfs and bcachefs. ZFS shows its devices only to its own tools.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{SECTOR, file_of, layer};
use crate::system::site::{Layer, Site};
use crate::system::{System, sysfs};

/// Parts of a device-mapper device are members of an array if they are alike within this factor: only root may
/// read the table, and caches and tables of metadata are much smaller.
const RATIO: u64 = 2;

/// Several devices that share the work of one device or file system above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Name of the array: `md0`, `dm-3`, or the file system (`btrfs`).
    pub name: String,
    /// `raid5`, `lvm`, `btrfs`, ...
    pub kind: String,
    pub members: Vec<String>,
}

impl Array {
    /// `md0 (raid5 of sda1, sdb1 and sdc1)`.
    pub fn words(&self) -> String {
        let list = match self.members.as_slice() {
            [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            members => members.join(", "),
        };
        if self.kind == self.name {
            return format!("{} of {list}", self.kind);
        }
        format!("{} ({} of {list})", self.name, self.kind)
    }
}

/// Arrays of a target's stack, the topmost first.
pub fn arrays_of(site: &Site) -> Vec<Array> {
    let mut found = Vec::new();
    if site.counted.len() > 1 {
        let name = site.filesystem();
        found.push(Array { kind: name.clone(), name, members: site.counted.clone() });
    }
    found.extend(site.layers.iter().filter_map(|layer| array_of(layer, &site.layers)));
    found
}

/// Arrays of this machine in sysfs: block devices, then mounted file systems.
pub fn arrays(system: &dyn System) -> Vec<Array> {
    let names = sysfs::names(system, Path::new("/sys/block"));
    let candidates = names.iter().filter(|name| name.starts_with("md") || name.starts_with("dm-"));
    let on_blocks = candidates.filter_map(|name| {
        let (top, _) = layer(system, name);
        let below: Vec<Layer> = top.below.iter().map(|name| layer(system, name).0).collect();
        array_of(&top, &below)
    });
    let mut found: Vec<Array> = on_blocks.collect();
    for (kind, root) in [("btrfs", "/sys/fs/btrfs"), ("bcachefs", "/sys/fs/bcachefs")] {
        let root = Path::new(root);
        for directory in sysfs::names(system, root) {
            let members = members_of(system, kind, &root.join(directory));
            if members.len() > 1 {
                found.push(Array { name: kind.to_owned(), kind: kind.to_owned(), members });
            }
        }
    }
    found
}

/// md arrays with a member at one of these places (disk and first byte), and the array `name` if it has no members.
pub fn arrays_on(
    system: &dyn System,
    places: &[(PathBuf, u64)],
    name: &str,
) -> io::Result<Vec<String>> {
    let names = sysfs::if_exists(system.list(Path::new("/sys/block")))?.unwrap_or_default();
    let mut found = Vec::new();
    for array in names.into_iter().filter(|array| array.starts_with("md")) {
        let below = sysfs::if_exists(system.list(&sysfs::block(&array).join("slaves")))?;
        let below = below.unwrap_or_default();
        let mut is_wanted = below.is_empty() && array == name;
        for member in &below {
            is_wanted = is_wanted || places.contains(&place_of(system, member)?);
        }
        found.extend(is_wanted.then_some(array));
    }
    Ok(found)
}

/// File of the disk of a device, and the device's first byte on it.
fn place_of(system: &dyn System, name: &str) -> io::Result<(PathBuf, u64)> {
    let sysfs_place = sysfs::block(name);
    let Some(start) = sysfs::if_exists(system.read_text(&sysfs_place.join("start")))? else {
        return Ok((file_of(name), 0));
    };
    let sectors: u64 = start.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    let place = system.canonical(&sysfs_place)?;
    let disk = place.parent().and_then(Path::file_name).ok_or(io::ErrorKind::NotFound)?;
    Ok((file_of(&disk.to_string_lossy()), sectors.saturating_mul(SECTOR)))
}

/// sysfs directory of the mounted btrfs that contains a device.
pub fn pool_of(system: &dyn System, device: &str) -> Option<PathBuf> {
    let root = Path::new("/sys/fs/btrfs");
    let pools = sysfs::names(system, root).into_iter().map(|pool| root.join(pool));
    let contains =
        |pool: &PathBuf| members_of(system, "btrfs", pool).iter().any(|member| member == device);
    pools.into_iter().find(contains)
}

/// Devices of a file system: btrfs links them by name; bcachefs has a directory for each with a link to the device.
fn members_of(system: &dyn System, kind: &str, directory: &Path) -> Vec<String> {
    if kind == "btrfs" {
        return sysfs::names(system, &directory.join("devices"));
    }
    let names = sysfs::names(system, directory).into_iter().filter(|name| name.starts_with("dev-"));
    let device_at = |name: String| {
        let link = system.read_link(&directory.join(name).join("block")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    };
    names.filter_map(device_at).collect()
}

/// Describes a layer as an array; `None` if it does not distribute requests to several members.
fn array_of(layer: &Layer, all: &[Layer]) -> Option<Array> {
    let members = match layer.kind.as_str() {
        // Members follow each other, so each request goes to one of them.
        "linear" | "container" => return None,
        _ if layer.name.starts_with("md") => layer.below.clone(),
        "dm" | "lvm" | "dmraid" => similar_parts(layer, all),
        _ => return None,
    };
    let array = Array { name: layer.name.clone(), kind: layer.kind.clone(), members };
    (array.members.len() > 1).then_some(array)
}

/// Parts of a mapped device that are about as large as its largest one.
fn similar_parts(layer: &Layer, all: &[Layer]) -> Vec<String> {
    let size = |name: &&String| {
        let part = all.iter().find(|part| part.name == **name);
        part.map_or(0, |part| part.size_bytes)
    };
    let largest = layer.below.iter().map(|name| size(&name)).max().unwrap_or_default();
    layer.below.iter().filter(|name| size(name).saturating_mul(RATIO) >= largest).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::DeviceNumber;
    use crate::system::fake::machines;
    use crate::system::resolve;

    fn layer_of(name: &str, kind: &str, below: &[&str], size_bytes: u64) -> Layer {
        Layer {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor: 0 },
            kind: kind.to_owned(),
            below: below.iter().map(|name| (*name).to_owned()).collect(),
            size_bytes,
        }
    }

    #[test]
    fn a_mirror_below_others_and_a_file_system_of_two_are_arrays() {
        let raid = machines::machine("crypt-lvm-raid");
        let found = arrays_of(&resolve(&raid, "/srv/data").unwrap());
        let [mirror] = &found[..] else { panic!("{found:?}") };
        assert_eq!(mirror.words(), "md0 (raid1 of sda1 and sdb1)");
        assert_eq!(arrays(&raid), found);
        let btrfs = machines::machine("btrfs-two");
        let found = arrays_of(&resolve(&btrfs, "/home/me").unwrap());
        assert_eq!(found[0].words(), "btrfs of sda and sdb");
        assert_eq!(arrays(&btrfs), found);
        assert!(arrays(&machines::machine("sata-ssd")).is_empty());
    }

    #[test]
    fn a_cache_or_metadata_is_no_member() {
        let all = [
            layer_of("dm-1", "lvm", &[], 1 << 40),
            layer_of("dm-2", "lvm", &[], 1 << 40),
            layer_of("dm-3", "lvm", &[], 4 << 20),
            layer_of("sda", "disk", &[], 1 << 38),
        ];
        let of = |kind: &str, below: &[&str]| {
            let found = array_of(&layer_of("dm-0", kind, below, 0), &all);
            found.map(|array| array.members.join(" "))
        };
        assert_eq!(of("lvm", &["dm-1", "dm-2", "dm-3"]).as_deref(), Some("dm-1 dm-2"));
        assert_eq!(of("lvm", &["dm-1", "sda"]), None, "a cache before it");
        assert_eq!(of("crypt", &["dm-1"]), None);
        assert_eq!(of("multipath", &["dm-1", "dm-2"]), None, "two ways to one drive");
        assert_eq!(array_of(&layer_of("bcache0", "bcache", &["dm-1", "dm-2"], 0), &all), None);
        assert_eq!(array_of(&layer_of("md0", "linear", &["dm-1", "dm-2"], 0), &all), None);
    }
}
