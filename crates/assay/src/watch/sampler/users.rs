//! Block I/O by program, from the accounting of threads (`/proc/PID/task/TID/io`; that of the process includes ended
//! children), and the watched disks on which they have open files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Disk;
use assay_core::quantity::units::show;
use assay_machine::system::{DeviceNumber, System, devices, sysfs};

const MOST_NAMED: usize = 16;
const OPEN_FILES: usize = 64;

/// A program that did I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    pub pid: u32,
    /// Its name as the kernel stores it.
    pub name: String,
    pub read_bytes: u64,
    /// Bytes that it wrote to devices, or made dirty.
    pub written_bytes: u64,
    /// Watched disks with its open files; empty if unknown.
    pub on: Vec<String>,
}

/// Programs that did I/O, the busiest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    pub busiest: Vec<User>,
    /// Programs whose I/O this user may not see.
    pub hidden: usize,
}

impl User {
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }
}

/// IDs of process and thread.
type Thread = (u32, u32);

/// I/O of a thread or program, in bytes.
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
    /// I/O of each thread at the last call.
    before: Option<BTreeMap<Thread, Moved>>,
    /// Watched disk by the number of each device on it; empty if open files are not read.
    disks: BTreeMap<DeviceNumber, String>,
    watches_all_drives: bool,
}

impl Watcher {
    pub fn new(system: &dyn System, disks: &[Disk]) -> Self {
        let mut by_number = BTreeMap::new();
        for disk in disks {
            for name in devices_on(system, &disk.name) {
                if let Some(number) = devices::number_of(system, &name) {
                    by_number.entry(number).or_insert_with(|| disk.name.clone());
                }
            }
            // A watched disk counts as itself, even if it is on another watched one.
            by_number.insert(disk.number, disk.name.clone());
        }
        let is_watched = |name: &String| disks.iter().any(|disk| disk.name == *name);
        let watches_all_drives =
            devices::drives(system).iter().all(|drive| is_watched(&drive.name));
        Self { before: None, disks: by_number, watches_all_drives }
    }

    /// Returns the programs that did I/O since the last call; none on the first call.
    pub fn active_programs(&mut self, system: &dyn System) -> Users {
        let (now, unreadable) = thread_io(system);
        // What root cannot read is not hidden: nobody can read it.
        let hidden = if system.user().id == 0 { 0 } else { unreadable };
        let Some(before) = self.before.replace(now.clone()) else {
            return Users { busiest: Vec::new(), hidden };
        };
        let mut sums: BTreeMap<u32, Moved> = BTreeMap::new();
        for (thread, moved) in now {
            let (process, _) = thread;
            sums.entry(process).or_default().add(moved_since(before.get(&thread), moved));
        }
        let mut active: Vec<_> = sums.into_iter().filter(|(_, moved)| moved.sum() > 0).collect();
        active.sort_by_key(|(process, moved)| (std::cmp::Reverse(moved.sum()), *process));
        active.truncate(MOST_NAMED);
        let mut busiest = Vec::new();
        for (process, moved) in active {
            let user = self.describe(system, process, moved);
            // Programs active only elsewhere do not load the shown disks.
            if self.watches_all_drives || self.disks.is_empty() || !user.on.is_empty() {
                busiest.push(user);
            }
        }
        // Programs with open files on a watched disk come first.
        busiest.sort_by_key(|user| user.on.is_empty());
        Users { busiest, hidden }
    }

    fn describe(&self, system: &dyn System, process: u32, moved: Moved) -> User {
        let folder = Path::new("/proc").join(process.to_string());
        let name = sysfs::text(system, &folder.join("comm"));
        User {
            pid: process,
            name: name.value().map_or_else(|| "(ended)".to_owned(), |name| show::clean(name)),
            read_bytes: moved.read_bytes,
            written_bytes: moved.written_bytes,
            on: self.disks_with_open_files(system, &folder),
        }
    }

    /// Returns the watched disks on which a program has open files.
    fn disks_with_open_files(&self, system: &dyn System, folder: &Path) -> Vec<String> {
        if self.disks.is_empty() {
            return Vec::new();
        }
        let mut disks = BTreeSet::new();
        for file in sysfs::names(system, &folder.join("fd")).iter().take(OPEN_FILES) {
            let Ok(status) = system.status(&folder.join("fd").join(file)) else { continue };
            // A device file counts as the device, and another file as the device of its filesystem.
            disks.extend(self.disks.get(&status.own_device.unwrap_or(status.device)));
        }
        disks.into_iter().cloned().collect()
    }
}

fn moved_since(before: Option<&Moved>, now: Moved) -> Moved {
    let before = before.copied().unwrap_or_default();
    Moved {
        // A decreased number belongs to another thread with a reused ID.
        read_bytes: now.read_bytes.checked_sub(before.read_bytes).unwrap_or(now.read_bytes),
        // Written bytes may also decrease because canceled writes are subtracted later.
        written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
    }
}

/// Returns a disk, its partitions, and devices built on them.
fn devices_on(system: &dyn System, disk: &str) -> BTreeSet<String> {
    let mut devices = BTreeSet::new();
    let mut unvisited = vec![disk.to_owned()];
    while let Some(name) = unvisited.pop() {
        let holders = sysfs::names(system, &sysfs::block(&name).join("holders"));
        unvisited.extend(holders.into_iter().filter(|holder| !devices.contains(holder)));
        unvisited.extend(devices::partitions(system, &name));
        devices.insert(name);
    }
    devices
}

/// Returns the I/O of each thread, and the number of programs that this user may not read.
fn thread_io(system: &dyn System) -> (BTreeMap<Thread, Moved>, usize) {
    let (mut threads, mut unreadable) = (BTreeMap::new(), 0);
    let names = sysfs::names(system, Path::new("/proc"));
    for process in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let folder: PathBuf = ["/proc", &process.to_string(), "task"].iter().collect();
        let names = sysfs::names(system, &folder);
        for thread in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
            match system.read_text(&folder.join(thread.to_string()).join("io")) {
                Ok(text) => threads.extend(parse(&text).map(|moved| ((process, thread), moved))),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    unreadable += 1;
                    break;
                }
                // The thread ended meanwhile.
                Err(_) => {}
            }
        }
    }
    (threads, unreadable)
}

/// Parses the accounting; subtracts canceled writes.
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
