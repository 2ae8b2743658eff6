//! Who moves bytes through block devices: programs, by the accounts of their threads
//! (`/proc/PID/task/TID/io`; that of the process holds what its children moved who ended), and on which of the watched
//! disks they have something open.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Disk;
use assay_core::quantity::units::show;
use assay_machine::system::devices;
use assay_machine::system::{DeviceNumber, System, sysfs};

/// Programs that are told by name.
const TOLD: usize = 16;
/// Open files of a program that are looked at.
const OPEN_FILES: usize = 64;

/// A program that moved something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    pub pid: u32,
    /// Its name, as the kernel keeps it.
    pub name: String,
    /// Bytes that it fetched from devices.
    pub read_bytes: u64,
    /// Bytes that it sent to devices, or made dirty.
    pub written_bytes: u64,
    /// Watched disks on which it has files open; none where that cannot be told.
    pub on: Vec<String>,
}

/// Programs that moved something, the busiest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    pub busiest: Vec<User>,
    /// Programs whose traffic this user may not see.
    pub hidden: usize,
}

impl User {
    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }
}

type Thread = (u32, u32);

/// Bytes that a thread or a program has moved.
#[derive(Clone, Copy, Default)]
struct Moved {
    read_bytes: u64,
    written_bytes: u64,
}

impl Moved {
    const fn sum(self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }

    const fn add(&mut self, other: Self) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
    }
}

pub(super) struct Watcher {
    before: Option<BTreeMap<Thread, Moved>>,
    /// Watched disk by the number of everything that lies on it; none where open files are
    /// left alone.
    disks: BTreeMap<DeviceNumber, String>,
    /// Whether every drive of the machine is watched.
    all: bool,
}

impl Watcher {
    pub fn new(system: &dyn System, disks: &[Disk]) -> Self {
        let mut found = BTreeMap::new();
        for disk in disks {
            for name in upon(system, &disk.name) {
                if let Some(number) = devices::number_of(system, &name) {
                    // What is named itself is not another disk's.
                    found.entry(number).or_insert_with(|| disk.name.clone());
                }
            }
            found.insert(disk.number, disk.name.clone());
        }
        let watched = |name: &String| disks.iter().any(|disk| disk.name == *name);
        let all = devices::drives(system).iter().all(|drive| watched(&drive.name));
        Self { before: None, disks: found, all }
    }

    /// Who moved something since the look before.
    pub fn look(&mut self, system: &dyn System) -> Users {
        let (now, hidden) = all(system);
        // What root cannot read nobody can.
        let hidden = if system.user().id == 0 { 0 } else { hidden };
        let Some(before) = self.before.replace(now.clone()) else {
            return Users { busiest: Vec::new(), hidden };
        };
        let mut sums: BTreeMap<u32, Moved> = BTreeMap::new();
        for (thread, late) in now {
            sums.entry(thread.0).or_default().add(since(before.get(&thread), late));
        }
        let mut moved: Vec<(u32, Moved)> =
            sums.into_iter().filter(|(_, moved)| moved.sum() > 0).collect();
        moved.sort_by_key(|(process, moved)| (std::cmp::Reverse(moved.sum()), *process));
        moved.truncate(TOLD);
        let told = |(process, moved)| self.describe(system, process, moved);
        let mut busiest: Vec<User> = moved.into_iter().map(told).collect();
        // Who works elsewhere is not to blame for the disks that are shown.
        busiest.retain(|user| self.all || self.disks.is_empty() || !user.on.is_empty());
        // Who has files open on a watched disk is who is looked for.
        busiest.sort_by_key(|user| user.on.is_empty());
        Users { busiest, hidden }
    }

    fn describe(&self, system: &dyn System, process: u32, moved: Moved) -> User {
        let folder = Path::new("/proc").join(process.to_string());
        let name = sysfs::text(system, &folder.join("comm"));
        User {
            pid: process,
            // It may have ended since.
            name: name.value().map_or_else(|| "(ended)".to_owned(), |name| show::clean(name)),
            read_bytes: moved.read_bytes,
            written_bytes: moved.written_bytes,
            on: self.open_on(system, &folder),
        }
    }

    /// Watched disks on which a program has something open.
    fn open_on(&self, system: &dyn System, folder: &Path) -> Vec<String> {
        if self.disks.is_empty() {
            return Vec::new();
        }
        let files = sysfs::names(system, &folder.join("fd"));
        let on = |file: &String| -> Option<&String> {
            let found = system.status(&folder.join("fd").join(file)).ok()?;
            self.disks.get(&found.own_device.unwrap_or(found.device))
        };
        let on: BTreeSet<&String> = files.iter().take(OPEN_FILES).filter_map(on).collect();
        on.into_iter().cloned().collect()
    }
}

/// A number that went back belongs to another program under an old id.
fn since(before: Option<&Moved>, now: Moved) -> Moved {
    let before = before.copied().unwrap_or_default();
    Moved {
        read_bytes: now.read_bytes.checked_sub(before.read_bytes).unwrap_or(now.read_bytes),
        // What is cancelled later takes some of it back.
        written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
    }
}

/// A disk, its partitions, and what is made of them.
fn upon(system: &dyn System, disk: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![disk.to_owned()];
    while let Some(name) = left.pop() {
        let holders = sysfs::names(system, &sysfs::block(&name).join("holders"));
        left.extend(holders.into_iter().filter(|holder| !found.contains(holder)));
        left.extend(devices::partitions(system, &name));
        found.insert(name);
    }
    found
}

/// What each thread has moved, and how many programs do not tell.
fn all(system: &dyn System) -> (BTreeMap<Thread, Moved>, usize) {
    let (mut found, mut hidden) = (BTreeMap::new(), 0);
    let names = sysfs::names(system, Path::new("/proc"));
    for process in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let folder: PathBuf = ["/proc", &process.to_string(), "task"].iter().collect();
        let names = sysfs::names(system, &folder);
        for thread in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
            match system.read_text(&folder.join(thread.to_string()).join("io")) {
                Ok(text) => found.extend(parse(&text).map(|moved| ((process, thread), moved))),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    hidden += 1;
                    break;
                }
                // It ended meanwhile.
                Err(_) => {}
            }
        }
    }
    (found, hidden)
}

/// What was written and then thrown away before it reached a device is taken off.
fn parse(text: &str) -> Option<Moved> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    };
    let cancelled: u64 = field("cancelled_write_bytes").unwrap_or(0);
    let written: u64 = field("write_bytes")?;
    Some(Moved {
        read_bytes: field("read_bytes")?,
        written_bytes: written.saturating_sub(cancelled),
    })
}
