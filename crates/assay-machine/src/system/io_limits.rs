//! I/O limits of control groups for this process.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::site::{Layer, Mount};
use super::{System, mounts};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    ReadBytes,
    WrittenBytes,
    Reads,
    Writes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimit {
    pub device: String,
    pub counted: Counted,
    pub per_s: u64,
    pub place: PathBuf,
}

/// Files of version 1, one per kind of limit.
const FILES_1: [(&str, Counted); 4] = [
    ("blkio.throttle.read_bps_device", Counted::ReadBytes),
    ("blkio.throttle.write_bps_device", Counted::WrittenBytes),
    ("blkio.throttle.read_iops_device", Counted::Reads),
    ("blkio.throttle.write_iops_device", Counted::Writes),
];
const FILE_2: &str = "io.max";
const KEYS_2: [(&str, Counted); 4] = [
    ("rbps", Counted::ReadBytes),
    ("wbps", Counted::WrittenBytes),
    ("riops", Counted::Reads),
    ("wiops", Counted::Writes),
];

/// All limits for some devices; for version 2 of every group that contains this process.
pub fn find(system: &dyn System, layers: &[Layer]) -> Vec<IoLimit> {
    let groups = system.read_text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        if controllers.is_empty() {
            let Some(root) = cgroup_root(system, "cgroup2", None) else { continue };
            for ancestor in Path::new(group).ancestors() {
                let file = group_directory(&root, ancestor).join(FILE_2);
                let text = system.read_text(&file).unwrap_or_default();
                found.extend(parse_io_max(&text, &file, layers));
            }
        } else if controllers.split(',').any(|name| name == "blkio") {
            let Some(root) = cgroup_root(system, "cgroup", Some("blkio")) else { continue };
            for (name, counted) in FILES_1 {
                let file = group_directory(&root, Path::new(group)).join(name);
                let text = system.read_text(&file).unwrap_or_default();
                for (number, value) in text.lines().filter_map(|line| line.split_once(' ')) {
                    found.extend(limit_on(layers, number, counted, value, &file));
                }
            }
        }
    }
    found
}

/// Parses lines `8:0 rbps=4194304 wbps=max riops=max wiops=max`; returns the limits of these layers.
fn parse_io_max(text: &str, file: &Path, layers: &[Layer]) -> Vec<IoLimit> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(number) = words.next() else { continue };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            if let Some((_, counted)) = KEYS_2.iter().find(|(name, _)| *name == key) {
                found.extend(limit_on(layers, number, *counted, value, file));
            }
        }
    }
    found
}

/// Limit of the layer with a device number; `None` for another device, and without a limit (`max`; 0 in version 1).
fn limit_on(
    layers: &[Layer],
    number: &str,
    counted: Counted,
    value: &str,
    place: &Path,
) -> Option<IoLimit> {
    let layer = layers.iter().find(|layer| layer.number.to_string() == number)?;
    let per_s = value.trim().parse().ok().filter(|per_s| *per_s > 0)?;
    Some(IoLimit { device: layer.name.clone(), counted, per_s, place: place.to_owned() })
}

/// Mount point of the control groups: those of version 2 (`cgroup2`), or those of version 1 with this controller.
fn cgroup_root(system: &dyn System, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    let table = mounts::read(system).ok()?;
    let mut mounts = table.into_iter().map(|entry| entry.mount);
    let has = |options: &[String], name: &str| options.iter().any(|option| option == name);
    let is_root = |mount: &Mount| {
        mount.filesystem == kind && controller.is_none_or(|name| has(&mount.options, name))
    };
    mounts.find(is_root).map(|mount| mount.point)
}

fn group_directory(root: &Path, group: &Path) -> PathBuf {
    root.join(group.strip_prefix("/").unwrap_or(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{DeviceNumber, Fake};

    fn layers() -> Vec<Layer> {
        let layer = |name: &str, minor| Layer {
            name: name.to_owned(),
            number: DeviceNumber { major: 8, minor },
            kind: "disk".to_owned(),
            below: Vec::new(),
            size_bytes: 1 << 30,
        };
        vec![layer("sda1", 1), layer("sda", 0)]
    }

    fn words(fake: &Fake) -> Vec<String> {
        let all = find(fake, &layers());
        let told = |own: &IoLimit| {
            format!("{} {:?} {} {}", own.device, own.counted, own.per_s, own.place.display())
        };
        all.iter().map(told).collect()
    }

    #[test]
    fn limits_of_all_groups_around_are_found() {
        let fake = Fake::new();
        fake.put("/proc/self/mountinfo", "1 0 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake.put("/proc/self/cgroup", "0::/user.slice/box\n");
        let inner = "8:0 rbps=max wbps=4194304 riops=max wiops=max\n8:16 rbps=1 wbps=1\n";
        fake.put("/sys/fs/cgroup/user.slice/box/io.max", inner);
        fake.put("/sys/fs/cgroup/user.slice/io.max", "8:0 rbps=max wbps=max riops=120 wiops=max\n");
        assert_eq!(
            words(&fake),
            [
                "sda WrittenBytes 4194304 /sys/fs/cgroup/user.slice/box/io.max",
                "sda Reads 120 /sys/fs/cgroup/user.slice/io.max",
            ]
        );
    }

    #[test]
    fn limits_of_version_1_are_those_of_the_own_group() {
        let fake = Fake::new();
        let table = "1 0 0:9 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                     2 0 0:8 / /cg/blkio rw - cgroup cgroup rw,blkio\n\
                     3 0 0:7 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        fake.put("/proc/self/mountinfo", table);
        fake.put("/proc/self/cgroup", "7:blkio:/box/inner\n1:cpu:/\n0::/\n");
        fake.put("/cg/blkio/box/blkio.throttle.read_bps_device", "8:0 99\n");
        fake.put("/cg/blkio/box/inner/blkio.throttle.write_iops_device", "8:0 50\n8:1 0\n");
        let place = "/cg/blkio/box/inner/blkio.throttle.write_iops_device";
        assert_eq!(words(&fake), [format!("sda Writes 50 {place}")]);
    }

    #[test]
    fn no_limit_and_no_groups_are_nothing() {
        let fake = Fake::new();
        assert_eq!(words(&fake), [""; 0]);
        fake.put("/proc/self/mountinfo", "1 0 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake.put("/proc/self/cgroup", "0::/\n");
        fake.put("/sys/fs/cgroup/io.max", "8:0 rbps=max wbps=max riops=max wiops=max\nwhat\n");
        assert_eq!(words(&fake), [""; 0]);
    }
}
