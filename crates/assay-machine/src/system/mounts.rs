//! The mount table: `/proc/self/mountinfo`.

use std::io;
use std::path::{Path, PathBuf};

use super::site::Mount;
use super::{DeviceNumber, System};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number of the file system (`st_dev` of its files; other for btrfs).
    pub number: DeviceNumber,
    /// Mounted directory of the file system, `/` unless bind-mounted or a subvolume.
    pub root: PathBuf,
    pub mount: Mount,
}

pub fn read(system: &dyn System) -> io::Result<Vec<MountEntry>> {
    Ok(parse(&system.read_text(Path::new("/proc/self/mountinfo"))?))
}

/// Parses a mount table; skips invalid lines.
pub fn parse(text: &str) -> Vec<MountEntry> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<MountEntry> {
    // `id parent major:minor root point options [optional fields] - type source super-options`
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(2);
    let number = parse_number(front.next()?)?;
    let root = unescape(front.next()?).into();
    let point = unescape(front.next()?).into();
    let mount_options = front.next()?;
    let mut back = back.split(' ');
    let filesystem = unescape(back.next()?);
    let source = unescape(back.next()?);
    let options = all_options(mount_options, back.next().unwrap_or_default());
    Some(MountEntry { number, root, mount: Mount { point, source, filesystem, options } })
}

/// Options of the mount, then further ones of the superblock.
fn all_options(mount: &str, super_block: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for option in mount.split(',').chain(super_block.split(',')).filter(|text| !text.is_empty()) {
        let option = unescape(option);
        // A read-only mount of a writable file system has `ro` in the mount's options and `rw` in the superblock's.
        let contradicts = option == "rw" && options.iter().any(|have| have == "ro");
        if !contradicts && !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

/// `8:1`.
pub fn parse_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Replaces the kernel's octal escapes by their characters: `\040` is a space.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = octal(rest);
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &rest[4..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(text: &[u8]) -> Option<u8> {
    let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] = text else {
        return None;
    };
    Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
}

/// The mount that contains a path without links. A mount hides earlier ones there or below, so the last of equal points
/// counts; if the path's device number (`st_dev`) is known, only mounts with this number count, unless there are none
/// (btrfs, some overlays).
pub fn find<'a>(
    entries: &'a [MountEntry],
    path: &Path,
    device: Option<DeviceNumber>,
) -> Option<&'a MountEntry> {
    let above = || entries.iter().filter(|entry| path.starts_with(&entry.mount.point));
    let depth = |entry: &&MountEntry| entry.mount.point.components().count();
    // `max_by_key` returns the last of equals.
    above()
        .filter(|entry| Some(entry.number) == device)
        .max_by_key(depth)
        .or_else(|| above().max_by_key(depth))
}

/// The mount at a directory, as the kernel shows it; otherwise why Assay cannot read it.
pub fn at(system: &dyn System, point: &Path) -> Result<MountEntry, String> {
    let table = read(system).map_err(|error| format!("cannot read the mounts: {error}"))?;
    let entry = table.into_iter().rev().find(|entry| entry.mount.point == point);
    entry.ok_or_else(|| "nothing is mounted there, although mount reported no error".to_owned())
}

pub fn option<'a>(mount: &'a Mount, name: &str) -> Option<&'a str> {
    mount.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
28 27 0:25 / /mnt/a\\040b ro,nosuid master:2 propagate_from:3 - tmpfs no\\134ne rw,size=4k
29 27 8:1 /sub /srv rw - ext4 /dev/sda1 rw
30 27 8:17 / /srv rw - ext4 /dev/sdb1 rw
31 30 0:40 / /srv/deep rw - btrfs /dev/sdc rw,compress=zstd:3,subvol=/
nonsense
32 27 0:50 / /merged rw - overlay overlay rw,upperdir=/u\\054p,workdir=/w
";

    fn found(path: &str, device: Option<(u32, u32)>) -> Mount {
        let number = device.map(|(major, minor)| DeviceNumber { major, minor });
        find(&parse(TABLE), Path::new(path), number).unwrap().mount.clone()
    }

    #[test]
    fn lines_are_understood() {
        let entries = parse(TABLE);
        assert_eq!(entries.len(), 6);
        assert_eq!(entries[1].mount.point, Path::new("/mnt/a b"));
        assert_eq!(entries[1].mount.source, "no\\ne");
        assert_eq!(entries[1].mount.options, ["ro", "nosuid", "size=4k"]);
        assert_eq!(entries[2].root, Path::new("/sub"));
        assert_eq!(option(&entries[5].mount, "upperdir"), Some("/u,p"));
        assert_eq!(option(&entries[5].mount, "upper"), None);
    }

    #[test]
    fn the_longest_point_wins_and_of_equal_ones_the_last() {
        assert_eq!(found("/home/x", None).source, "/dev/vda");
        assert_eq!(found("/srv/x", None).source, "/dev/sdb1");
        assert_eq!(found("/srv/deep/er", None).filesystem, "btrfs");
        assert_eq!(found("/srvx", None).source, "/dev/vda");
    }

    #[test]
    fn the_device_number_decides_where_it_is_in_the_table() {
        assert_eq!(found("/srv/x", Some((8, 1))).source, "/dev/sda1");
        assert_eq!(found("/srv/deep", Some((8, 17))).source, "/dev/sdb1");
        // A btrfs subvolume has a separate number.
        assert_eq!(found("/srv/deep/sub", Some((0, 41))).filesystem, "btrfs");
    }

    #[test]
    fn escapes_are_octal_and_nothing_else() {
        assert_eq!(unescape("a\\040b\\011c\\134"), "a b\tc\\");
        assert_eq!(unescape("\\9x\\04"), "\\9x\\04");
        assert_eq!(unescape("\\303\\251"), "é");
    }
}
