//! Arrays in memory: md as created by mdadm, and a btrfs on several devices, including errors of the kernel.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::act::is_part;
use super::disks::place_of;
use super::tree::Node;
use super::{Fake, FakeState};
use crate::system::site::MD_MAJOR;
use crate::system::{DeviceNumber, Errno, System as _, devices};

/// Bytes that a superblock of version 1.2 uses of a member.
const METADATA_BYTES: u64 = 1 << 20;
pub(super) const BTRFS: &str = "/sys/fs/btrfs";

#[derive(Clone, Debug)]
pub(super) struct FakePool {
    label: String,
    profile: String,
    members: Vec<String>,
}

impl Fake {
    /// mdadm, and a kernel with every level of md.
    pub fn with_arrays(&self) -> &Self {
        let levels = "Personalities : [raid0] [raid1] [raid10] [raid6] [raid5] [raid4] \n";
        self.install("mdadm").put("/proc/mdstat", format!("{levels}unused devices: <none>\n"))
    }

    /// Runs `mdadm --create`: marks the members and shows the array in sysfs.
    pub(super) fn mdadm(&self, words: &[String]) -> io::Result<()> {
        let option = |name: &str| {
            let value = |word: &String| Some(word.strip_prefix(name)?.to_owned());
            words.iter().find_map(value)
        };
        let complain = |text: String| Err(io::Error::other(format!("mdadm: {text}")));
        let [create, array, ..] = words else { return Err(Errno::INVAL.into()) };
        let number = array.strip_prefix("/dev/md").and_then(|number| number.parse::<u32>().ok());
        let Some(minor) = number.filter(|_| create == "--create") else {
            return complain("only --create /dev/mdN is known here".to_owned());
        };
        let name = format!("md{minor}");
        if self.status(Path::new(array)).is_ok() {
            return complain(format!("{array} is already in use."));
        }
        let members: Vec<&String> =
            words.iter().skip(2).filter(|word| word.starts_with("/dev/")).collect();
        if option("--raid-devices=") != Some(members.len().to_string()) {
            return complain("the number of devices differs".to_owned());
        }
        let mut numbers = Vec::new();
        for member in &members {
            let found = self.lock().tree.number_of(Path::new(member))?;
            if self.is_busy(found) {
                return complain(format!("cannot open {member}: Device or resource busy"));
            }
            numbers.push(found);
        }
        let label = option("--name=").unwrap_or_default();
        let smallest = numbers.iter().map(|number| self.device_bytes(*number)).min().unwrap_or(0);
        for number in &numbers {
            let (disk, start) = self.disk_and_start(*number);
            // As mdadm names it.
            let name = format!("any:{label}");
            self.put_marks(disk, start, &format!("linux_raid_member raid - {name}"))?;
        }
        let level = option("--level=").unwrap_or_default();
        let (count, bytes) = (numbers.len() as u64, smallest.saturating_sub(METADATA_BYTES));
        let capacity = match level.as_str() {
            "raid0" => count * bytes,
            "raid1" => bytes,
            "raid5" => (count - 1) * bytes,
            "raid6" => (count - 2) * bytes,
            "raid10" => count * bytes / 2,
            other => return complain(format!("invalid raid level: {other}")),
        };
        let chunk =
            option("--chunk=").and_then(|kib| kib.trim_end_matches('K').parse::<u64>().ok());
        let chunk = if level == "raid1" { 0 } else { chunk.unwrap_or(512) << 10 };
        let bitmap = if option("--bitmap=").as_deref() == Some("internal") { "+8" } else { "none" };
        let mut texts = vec![
            ("size", (capacity / 512).to_string()),
            ("md/level", level.clone()),
            ("md/raid_disks", count.to_string()),
            ("md/chunk_size", chunk.to_string()),
            ("md/array_state", "clean".to_owned()),
            ("queue/read_ahead_kb", "1536".to_owned()),
        ];
        if level != "raid0" {
            texts.push(("md/degraded", "0".to_owned()));
            let clean = words.iter().any(|word| word == "--assume-clean");
            texts.push(("md/sync_action", if clean { "idle" } else { "resync" }.to_owned()));
            texts.push(("md/sync_speed_max", "200000 (system)".to_owned()));
            texts.push(("md/bitmap/location", bitmap.to_owned()));
        }
        if ["raid5", "raid6"].contains(&level.as_str()) {
            texts.push(("md/stripe_cache_size", "256".to_owned()));
        }
        let own = DeviceNumber { major: MD_MAJOR, minor };
        let names = numbers.iter().filter_map(|number| devices::name_of(self, *number));
        let names: Vec<String> = names.collect();
        self.lock().assemble((&name, own), &texts, &names);
        Ok(())
    }

    /// Remembers a btrfs that was made with a data profile (`-d`) on several devices, for its mount.
    pub(super) fn add_pool(&self, words: &[String], numbers: &[DeviceNumber]) {
        let after = |option: &str| {
            let mut pairs = words.windows(2).filter(|pair| pair[0] == option);
            pairs.next().map(|pair| pair[1].clone())
        };
        let (Some(profile), Some(first)) = (after("-d"), numbers.first()) else { return };
        let names = numbers.iter().filter_map(|number| devices::name_of(self, *number));
        let label = after("-L").unwrap_or_default();
        let pool = FakePool { label, profile, members: names.collect() };
        self.lock().pools.insert(*first, pool);
    }

    /// Returns whether the kernel rejects other users of a device.
    pub(super) fn is_busy(&self, number: DeviceNumber) -> bool {
        let name = devices::name_of(self, number).unwrap_or_default();
        self.lock().is_held(&name)
    }
}

impl FakeState {
    /// Shows an array in sysfs, with links from and to the devices below.
    fn assemble(&mut self, own: (&str, DeviceNumber), texts: &[(&str, String)], below: &[String]) {
        let (name, number) = own;
        self.show_device(name, number, texts.iter().map(|(path, text)| (*path, text.clone())));
        let place = place_of(name);
        for member in below {
            let link = PathBuf::from(format!("/sys/class/block/{member}"));
            self.tree.put(&place.join("slaves").join(member), Node::Link(link.clone()));
            if let Ok((found, _)) = self.tree.find(&link) {
                self.tree.put(&found.join("holders").join(name), Node::Link(place.clone()));
            }
        }
    }

    /// Stops the array whose `md/array_state` file is `state`, as writing `clear` does; its members do not change.
    pub(super) fn stop_array(&mut self, state: &Path) -> io::Result<()> {
        let name = state.iter().rev().nth(2).unwrap_or_default().to_string_lossy().into_owned();
        if self.is_held(&name) {
            return Err(Errno::BUSY.into());
        }
        let number = self.tree.number_of(&devices::file_of(&name))?;
        self.hide_device(&name, number, &place_of(&name));
        let own = format!("holders/{name}");
        let all = self.tree.nodes.below(Path::new("/sys/devices"));
        let holders = all.filter(|path| path.ends_with(&own));
        for path in holders.cloned().collect::<Vec<_>>() {
            self.tree.remove(&path);
        }
        self.pools.remove(&number);
        Ok(())
    }

    /// Returns whether a device, or a part of it, is mounted or in use by an array or volume.
    pub(super) fn is_held(&mut self, name: &str) -> bool {
        let is_own = |part: Option<&OsStr>| {
            part.is_some_and(|part| is_part(name, part.to_string_lossy().as_ref()))
        };
        // Holders are links `DEVICE/holders/HOLDER`.
        let below_array = self.tree.nodes.iter().any(|(path, node)| {
            let holders = path.parent().filter(|parent| parent.ends_with("holders"));
            let device = holders.and_then(Path::parent).and_then(Path::file_name);
            matches!(node, Node::Link(_)) && is_own(device)
        });
        let in_pool = self.tree.nodes.below(Path::new(BTRFS)).any(|path| {
            path.parent().is_some_and(|at| at.ends_with("devices")) && is_own(path.file_name())
        });
        below_array || in_pool || self.is_mounted(name) || self.has_holders(name)
    }

    /// Shows a btrfs on several devices after its mount; returns the device number of its files.
    pub(super) fn show_pool(&mut self, first: DeviceNumber) -> Option<DeviceNumber> {
        let pool = self.pools.get(&first)?.clone();
        let place = Path::new(BTRFS).join(&pool.label);
        for member in &pool.members {
            self.tree.put(&place.join("devices").join(member), Node::Directory);
        }
        self.tree.put(&place.join("allocation/data").join(&pool.profile), Node::Directory);
        Some(DeviceNumber { major: 0, minor: 1000 + first.major * 256 + first.minor })
    }

    pub(super) fn hide_pool(&mut self, device: &Path) {
        let number = self.tree.number_of(device).ok();
        if let Some(pool) = number.and_then(|number| self.pools.get(&number)) {
            self.tree.remove(&Path::new(BTRFS).join(&pool.label));
        }
    }
}
