//! Profiles of btrfs: how it lays data out on its devices.

use std::path::Path;

use crate::system::{System, devices, mounts, sysfs};
use assay_core::{catalogue::About, presence::Presence};

use super::DEFAULTS;
use crate::factors::Choice;
use crate::factors::layers::too_few;

#[derive(Debug)]
pub(super) struct Profile {
    pub name: &'static str,
    /// Minimum number of devices: btrfs accepts fewer for some profiles, but then they differ.
    pub least: usize,
    /// Capacity in bytes, from number and size of the devices.
    pub capacity: fn(u64, u64) -> u64,
}

static PROFILES: [Profile; 8] = [
    Profile { name: "single", least: 1, capacity: |devices, bytes| devices * bytes },
    Profile { name: "raid0", least: 2, capacity: |devices, bytes| devices * bytes },
    Profile { name: "raid1", least: 2, capacity: |devices, bytes| devices * bytes / 2 },
    Profile { name: "raid1c3", least: 3, capacity: |devices, bytes| devices * bytes / 3 },
    Profile { name: "raid1c4", least: 4, capacity: |devices, bytes| devices * bytes / 4 },
    Profile { name: "raid10", least: 4, capacity: |devices, bytes| devices * bytes / 2 },
    Profile { name: "raid5", least: 3, capacity: |devices, bytes| (devices - 1) * bytes },
    Profile { name: "raid6", least: 4, capacity: |devices, bytes| (devices - 2) * bytes },
];

pub(super) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

impl Profile {
    pub fn too_few(&self, devices: usize) -> Option<String> {
        (devices < self.least).then(|| too_few(self.name, self.least, devices))
    }

    /// Arguments of mkfs: metadata is on more than one device wherever there are several.
    pub fn arguments(&self, devices: usize) -> [String; 4] {
        let metadata = if devices > 1 { "raid1" } else { "dup" };
        ["-d", self.name, "-m", metadata].map(str::to_owned)
    }

    /// Checks in sysfs that a mounted pool has `members` devices and uses only this profile for data.
    pub fn check(&self, system: &dyn System, point: &Path, members: usize) -> Result<(), String> {
        let source = devices::name_at(system, Path::new(&mounts::at(system, point)?.mount.source));
        let pool = source.and_then(|name| devices::pool_of(system, &name));
        let pool = pool.ok_or("sysfs does not list this btrfs filesystem")?;
        let devices = sysfs::names(system, &pool.join("devices")).len();
        if devices != members {
            return Err(format!("{members} devices requested, btrfs uses {devices}"));
        }
        let data = sysfs::names(system, &pool.join("allocation/data"));
        let profiles: Vec<&str> =
            data.iter().map(String::as_str).filter(|name| find(name).is_some()).collect();
        if profiles != [self.name] {
            let used = if profiles.is_empty() { "none".to_owned() } else { profiles.join(" and ") };
            return Err(format!("data profile {} requested, btrfs uses {used}", self.name));
        }
        Ok(())
    }
}

pub(in crate::factors) static BTRFS_PROFILE_FACTOR: Choice = Choice {
    about: About {
        name: "btrfs_profile",
        summary: "btrfs data profile on several devices",
        text: "`single`, `raid0`, `raid1`, `raid1c3`, `raid1c4`, `raid10`, `raid5` or `raid6`, on all members of the \
               target; `defaults` is the default profile of mkfs.btrfs on the first member only. The metadata profile \
               is always raid1. Requires the factor filesystem, with btrfs. Assay verifies in sysfs that btrfs uses \
               all devices and that all data have this profile.",
    },
    example: "[\"defaults\", \"single\", \"raid0\", \"raid1\", \"raid10\", \"raid5\", \"raid6\"]",
    judge: |level| {
        if level == DEFAULTS || find(level).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Err(format!("unknown profile `{level}`; use one of {}, or {DEFAULTS}", names.join(", ")))
    },
    caution: |level| match level {
        "raid0" => Some("raid0 loses all data if one device fails"),
        "raid5" | "raid6" => Some(
            "a power loss may corrupt parity in raid5 and raid6 of btrfs; the btrfs manual advises against them",
        ),
        _ => None,
    },
    observe: |_| Presence::absent("read only from a mounted filesystem"),
    ..Choice::PLAIN
};
