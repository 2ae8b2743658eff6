//! Users of a block device, of its partitions, of a partition's disk, or of the devices below.
//!
//! An unknown state is refused: a failing read must never look like "not in use".

use std::io;
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};

use crate::system::mounts::{self, MountEntry};
use crate::system::{DeviceNumber, FileKind, FileStatus, System, devices, sysfs};

/// The refusal to overwrite a device because `path` is unreadable, so `what` is unknown.
pub fn unknown_state(what: &str, path: &Path, error: &io::Error) -> Failure {
    let reason = sysfs::reason(error);
    let path = path.display();
    let root =
        if error.kind() == io::ErrorKind::PermissionDenied { "run as root, or " } else { "" };
    Failure::refused(format!(
        "cannot determine {what}: {path} is unreadable ({reason}); {root}use the device read-only"
    ))
}

/// Text of a file; `None` if it does not exist.
pub fn text(system: &dyn System, path: &Path, what: &str) -> Outcome<Option<String>> {
    if_present(system.read_text(path), path, what)
}

/// Names in a directory; none if it does not exist.
fn list(system: &dyn System, path: &Path, what: &str) -> Outcome<Vec<String>> {
    Ok(if_present(system.list(path), path, what)?.unwrap_or_default())
}

/// Status of a path; `None` if it does not exist.
fn status(system: &dyn System, path: &Path, what: &str) -> Outcome<Option<FileStatus>> {
    if_present(system.status(path), path, what)
}

fn if_present<T>(result: io::Result<T>, path: &Path, what: &str) -> Outcome<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(unknown_state(what, path, &error)),
        },
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedMember {
    pub name: String,
    /// First sector on the target; `None` for the target itself.
    pub start: Option<u64>,
    pub size_bytes: u64,
}

/// A device, everything overwritten with it, and other affected devices.
pub struct Family {
    members: Vec<UsedMember>,
    /// The disk of a partition, and a device below a loop device with its partitions.
    others: Vec<String>,
    numbers: Vec<DeviceNumber>,
}

type Check = fn(&Family, &dyn System) -> Outcome<Option<String>>;

impl Family {
    /// Reads a device from sysfs; refused if a part of it is unreadable.
    pub fn read(system: &dyn System, name: &str) -> Outcome<Self> {
        let size_bytes = number_in(system, name, "size")?.saturating_mul(512);
        let mut members = vec![UsedMember { name: name.to_owned(), start: None, size_bytes }];
        for part in partitions(system, name)? {
            let start = Some(number_in(system, &part, "start")?);
            let size_bytes = number_in(system, &part, "size")?.saturating_mul(512);
            members.push(UsedMember { name: part, start, size_bytes });
        }
        let mut others: Vec<String> = disk_of(system, name)?.into_iter().collect();
        let whole_device = others.first().map_or(name, String::as_str);
        // A loop device may be on a block device, which is affected with all its parts.
        if let Some(below) = device_below_loop(system, whole_device)? {
            others.extend(partitions(system, &below)?);
            others.extend(disk_of(system, &below)?);
            others.push(below);
        }
        let mut family = Self { members, others, numbers: Vec::new() };
        let names: Vec<String> = family.names().map(ToOwned::to_owned).collect();
        for name in names {
            family.numbers.push(number_of(system, &name)?);
        }
        Ok(family)
    }

    pub fn members(&self) -> &[UsedMember] {
        &self.members
    }

    /// Returns whether the device still has this number.
    pub fn is_device(&self, number: DeviceNumber) -> bool {
        self.numbers.first() == Some(&number)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| &member.name).chain(&self.others).map(String::as_str)
    }

    fn target(&self) -> &str {
        self.members.first().map_or("", |member| &member.name)
    }

    /// Returns whether a path leads to one of the devices.
    pub fn is_at(&self, system: &dyn System, path: &Path) -> Outcome<bool> {
        let found = status(system, path, "what uses the device")?;
        let found = found.filter(|found| found.kind == FileKind::BlockDevice);
        let number = found.and_then(|found| found.own_device);
        Ok(number.is_some_and(|number| self.numbers.contains(&number)))
    }

    /// Why the device must not be overwritten now, as the end of a sentence about it.
    pub fn in_use(&self, system: &dyn System) -> Outcome<Option<String>> {
        const CHECKS: [Check; 11] = [
            Family::find_read_only,
            Family::find_mount,
            Family::find_named_mount,
            Family::find_btrfs,
            Family::find_journal,
            Family::find_swap,
            Family::find_holder,
            Family::find_mount_above,
            Family::find_loop_above,
            Family::find_sharer,
            Family::find_zram,
        ];
        if self.members.first().is_none_or(|member| member.size_bytes == 0) {
            return Ok(Some("has no medium (its size is 0); insert one first".to_owned()));
        }
        for check in CHECKS {
            if let Some(reason) = check(self, system)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    fn find_read_only(&self, system: &dyn System) -> Outcome<Option<String>> {
        for name in self.names() {
            if number_in(system, name, "ro")? != 0 {
                return Ok(Some(format!(
                    "is read-only ({name}); remove the write protection first"
                )));
            }
        }
        Ok(None)
    }

    fn find_mount(&self, system: &dyn System) -> Outcome<Option<String>> {
        let table = mount_table(system)?;
        let found = table.iter().find(|entry| self.numbers.contains(&entry.number));
        Ok(found.map(|entry| {
            self.describe_mount(&devices::name_of(system, entry.number).unwrap_or_default(), entry)
        }))
    }

    fn describe_mount(&self, name: &str, entry: &MountEntry) -> String {
        let is_target = name.is_empty() || name == self.target();
        let part = if is_target { String::new() } else { format!(" ({name})") };
        let point = entry.mount.point.to_string_lossy();
        format!("is mounted on {point:?}{part}; unmount it first")
    }

    /// Finds a mount that names the device: the mount table has no device number of btrfs, and of the second device of
    /// xfs only the name, in an option.
    fn find_named_mount(&self, system: &dyn System) -> Outcome<Option<String>> {
        for entry in mount_table(system)? {
            let options = ["logdev", "rtdev", "journal_path"];
            let named = options.iter().filter_map(|name| mounts::option(&entry.mount, name));
            let source = entry.mount.source.as_str();
            for path in named.chain([source]).filter(|path| path.starts_with("/dev/")) {
                if self.is_at(system, Path::new(path))? {
                    return Ok(Some(self.describe_mount("", &entry)));
                }
            }
        }
        Ok(None)
    }

    /// Finds a mounted btrfs with the device in sysfs: the mount table names only one of several devices.
    fn find_btrfs(&self, system: &dyn System) -> Outcome<Option<String>> {
        let (root, what) =
            (Path::new("/sys/fs/btrfs"), "whether a btrfs filesystem uses the device");
        for directory in list(system, root, what)? {
            let members = list(system, &root.join(&directory).join("devices"), what)?;
            if self.names().any(|name| members.iter().any(|member| member == name)) {
                return Ok(Some(format!(
                    "is mounted as part of the btrfs filesystem {directory}; unmount it first"
                )));
            }
        }
        Ok(None)
    }

    /// Finds the journal of a mounted ext file system on the device: the kernel names journals after their device.
    fn find_journal(&self, system: &dyn System) -> Outcome<Option<String>> {
        let journals =
            list(system, Path::new("/proc/fs/jbd2"), "whether it contains an active journal")?;
        let active = journals.iter().find(|journal| self.names().any(|name| *journal == name));
        Ok(active.map(|name| {
            format!("contains the journal of a mounted filesystem ({name}); unmount it first")
        }))
    }

    fn find_swap(&self, system: &dyn System) -> Outcome<Option<String>> {
        for path in swaps(system)? {
            // If the file is gone, its name is the only clue.
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_named = self.names().any(|name| name == file_name);
            let is_gone = status(system, &path, "the active swap")?.is_none();
            if self.is_at(system, &path)? || (is_gone && is_named) {
                return Ok(Some(format!("is used as swap ({}); disable it first", path.display())));
            }
        }
        Ok(None)
    }

    fn find_holder(&self, system: &dyn System) -> Outcome<Option<String>> {
        for name in self.names() {
            let directory = sysfs::block(name).join("holders");
            let what = "the holders of the device";
            let holders =
                system.list(&directory).map_err(|e| unknown_state(what, &directory, &e))?;
            if let Some(holder) = holders.first() {
                let kind = devices::layer(system, holder).0.kind;
                return Ok(Some(format!("is part of {holder} ({kind}); stop {holder} first")));
            }
            if list(system, &sysfs::block(name), what)?.iter().any(|child| child == "bcache") {
                return Ok(Some(
                    "is part of a bcache device; stop the bcache device first".to_owned(),
                ));
            }
        }
        Ok(None)
    }

    /// Finds a mounted file system above by descending from every mount, which protects the root even without holders.
    fn find_mount_above(&self, system: &dyn System) -> Outcome<Option<String>> {
        let what = "the devices below mounted filesystems";
        for entry in mount_table(system)?.iter().filter(|entry| entry.number.major != 0) {
            let mut waiting: Vec<PathBuf> =
                vec![format!("/sys/dev/block/{}/slaves", entry.number).into()];
            // Terminates at the drives, because device stacks have no cycles.
            while let Some(directory) = waiting.pop() {
                for name in list(system, &directory, what)? {
                    if self.members.iter().any(|member| member.name == name) {
                        let point = entry.mount.point.to_string_lossy();
                        return Ok(Some(format!(
                            "is below the filesystem on {point:?}; unmount it first"
                        )));
                    }
                    waiting.push(sysfs::block(&name).join("slaves"));
                }
            }
        }
        Ok(None)
    }

    /// Finds a loop device whose backing file is the device.
    fn find_loop_above(&self, system: &dyn System) -> Outcome<Option<String>> {
        for (name, file) in loops(system)? {
            let is_own = self.names().any(|member| member == name);
            if !is_own && self.is_at(system, &file)? {
                return Ok(Some(format!("is below {name}; detach {name} first")));
            }
        }
        Ok(None)
    }

    /// Finds other users of the file below the loop device: another loop device, swap, or a mount without a device.
    fn find_sharer(&self, system: &dyn System) -> Outcome<Option<String>> {
        let loops = loops(system)?;
        let is_own = |name: &str| self.names().any(|member| member == name);
        let own_loop = loops.iter().find(|(name, _)| is_own(name));
        let Some((own_name, file)) = own_loop else { return Ok(None) };
        let what = "the users of the backing file";
        let inode_of = |path: &Path| -> Outcome<Option<(DeviceNumber, u64)>> {
            Ok(status(system, path, what)?.map(|found| (found.device, found.inode)))
        };
        let inode = inode_of(file)?;
        let is_file = |path: &Path| -> Outcome<bool> {
            Ok(path == file.as_path() || (inode.is_some() && inode_of(path)? == inode))
        };
        for (name, other) in &loops {
            if name != own_name && is_file(other)? {
                return Ok(Some(format!("shares its file with {name}; detach {name} first")));
            }
        }
        for path in swaps(system)? {
            if is_file(&path)? {
                return Ok(Some("is on a file that is used as swap; disable it first".to_owned()));
            }
        }
        // A file mounted without a device has its name as the source.
        let is_mount = |entry: &MountEntry| Path::new(&entry.mount.source) == file.as_path();
        Ok(mount_table(system)?.into_iter().find(is_mount).map(|entry| {
            let point = entry.mount.point.to_string_lossy();
            format!("is on a file that is mounted on {point:?}; unmount it first")
        }))
    }

    fn find_zram(&self, system: &dyn System) -> Outcome<Option<String>> {
        for name in block_devices(system)?.iter().filter(|name| name.starts_with("zram")) {
            let file = sysfs::block(name).join("backing_dev");
            let device = text(system, &file, "the backing device of zram")?.unwrap_or_default();
            let device = device.trim();
            if device.starts_with('/') && self.is_at(system, Path::new(device))? {
                return Ok(Some(format!("is the backing device of {name}; reset {name} first")));
            }
        }
        Ok(None)
    }
}

fn mount_table(system: &dyn System) -> Outcome<Vec<MountEntry>> {
    mounts::read(system)
        .map_err(|error| unknown_state("the mounts", Path::new("/proc/self/mountinfo"), &error))
}

/// Active swap files and devices. A kernel without swap has no such table.
fn swaps(system: &dyn System) -> Outcome<Vec<PathBuf>> {
    let table = text(system, Path::new("/proc/swaps"), "the active swap")?.unwrap_or_default();
    let sources = table.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let path = |source: &str| {
        let path = mounts::unescape(source);
        PathBuf::from(path.strip_suffix(" (deleted)").unwrap_or(&path))
    };
    Ok(sources.map(path).collect())
}

fn block_devices(system: &dyn System) -> Outcome<Vec<String>> {
    let root = Path::new("/sys/block");
    system.list(root).map_err(|error| unknown_state("the devices above the device", root, &error))
}

fn loops(system: &dyn System) -> Outcome<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for name in block_devices(system)?.into_iter().filter(|name| name.starts_with("loop")) {
        found.extend(file_below(system, &name)?.map(|file| (name, file)));
    }
    Ok(found)
}

/// The backing file of a loop device; `None` for other devices and a detached one.
fn file_below(system: &dyn System, name: &str) -> Outcome<Option<PathBuf>> {
    let path = sysfs::block(name).join("loop/backing_file");
    // Space at the end belongs to the name.
    let file = text(system, &path, "the devices above the device")?.unwrap_or_default();
    let file = file.strip_suffix('\n').unwrap_or(&file);
    Ok((!file.is_empty()).then(|| file.into()))
}

/// The block device below a loop device, if its backing is a device instead of a file.
fn device_below_loop(system: &dyn System, name: &str) -> Outcome<Option<String>> {
    let what = "the device below the loop device";
    let Some(file) = file_below(system, name)? else { return Ok(None) };
    let found = status(system, &file, what)?.filter(|found| found.kind == FileKind::BlockDevice);
    let Some(number) = found.and_then(|found| found.own_device) else { return Ok(None) };
    match devices::name_of(system, number) {
        Some(below) => Ok(Some(below)),
        None => Err(unknown_state(what, &file, &io::ErrorKind::NotFound.into())),
    }
}

fn partitions(system: &dyn System, name: &str) -> Outcome<Vec<String>> {
    let directory = sysfs::block(name);
    let what = "the partitions of the device";
    let children = system.list(&directory).map_err(|e| unknown_state(what, &directory, &e))?;
    let mut found = Vec::new();
    // Only partitions begin with their disk's name; `queue`, `holders` and the like do not.
    for child in children.into_iter().filter(|child| child.starts_with(name)) {
        if text(system, &directory.join(&child).join("partition"), what)?.is_some() {
            found.push(child);
        }
    }
    Ok(found)
}

/// The disk of a partition; `None` for whole disks.
pub fn disk_of(system: &dyn System, name: &str) -> Outcome<Option<String>> {
    let (place, what) = (sysfs::block(name), "the disk of the partition");
    if text(system, &place.join("partition"), what)?.is_none() {
        return Ok(None);
    }
    let place = system.canonical(&place).map_err(|error| unknown_state(what, &place, &error))?;
    let disk = place.parent().and_then(Path::file_name);
    Ok(disk.map(|disk| disk.to_string_lossy().into_owned()))
}

fn number_in(system: &dyn System, name: &str, file: &str) -> Outcome<u64> {
    let path = sysfs::block(name).join(file);
    let fail = |error: io::Error| unknown_state("the state of the device", &path, &error);
    let text = system.read_text(&path).map_err(fail)?;
    text.trim().parse().map_err(|_| fail(io::ErrorKind::InvalidData.into()))
}

fn number_of(system: &dyn System, name: &str) -> Outcome<DeviceNumber> {
    let path = sysfs::block(name).join("dev");
    let fail = |error: io::Error| unknown_state("the number of the device", &path, &error);
    let text = system.read_text(&path).map_err(fail)?;
    mounts::parse_number(&text).ok_or_else(|| fail(io::ErrorKind::InvalidData.into()))
}
