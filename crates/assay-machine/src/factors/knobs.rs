//! Settings of queues, memory and processors: one row each.

use std::path::{Path, PathBuf};

use crate::system::journal::setting_value;
use crate::system::site::{Backing, Site};
use crate::system::{Act, sysfs};
use assay_core::catalogue::About;
use assay_core::presence::Presence;
use assay_core::quantity::{Bytes, Percent, Time};

use super::permanent::ANY_DEVICE;
use super::{Factor, Role, Setting, View};

/// CPU frequency policies, one directory per group of CPUs.
const CLOCKS: &str = "/sys/devices/system/cpu/cpufreq";

pub(super) struct Knob {
    about: About,
    example: &'static str,
    place: KnobFile,
    level: KnobLevel,
    risky: Option<(&'static str, &'static str)>,
    /// Whether the setting may change under a mounted device in production: no data can be lost.
    live: bool,
}

enum KnobFile {
    /// In the request queue of each drive below the target.
    Queue(&'static str),
    /// Read-ahead of the file system, or otherwise of the topmost device.
    ReadAhead,
    Machine(&'static str),
    /// A file for each group of processors that share a clock.
    Policies(&'static str),
}

/// Syntax of levels, and their values for the kernel.
enum KnobLevel {
    Word,
    /// One of these words, each with the kernel's word.
    Words(&'static [(&'static str, &'static str)]),
    Number(u64),
    /// An amount of bytes that the kernel counts in KiB.
    Kib,
    /// A time that the kernel counts in units of this many nanoseconds; `off` is 0.
    Time(u64),
    Share,
}

impl Knob {
    /// A setting without a risk, which may change under a mounted device in use.
    const fn new(
        name: &'static str,
        summary: &'static str,
        text: &'static str,
        example: &'static str,
        place: KnobFile,
        level: KnobLevel,
    ) -> Self {
        let about = About { name, summary, text };
        Self { about, example, place, level, risky: None, live: true }
    }
}

pub(super) static SCHEDULER: Knob = Knob::new(
    "scheduler",
    "I/O scheduler of the drives",
    "`none`, `mq-deadline`, `kyber` or `bfq`, if available; Assay writes it to `queue/scheduler` of every drive \
     below the target. A scheduler also changes queue depth and write-back throttling; Assay restores both.",
    "[\"none\", \"mq-deadline\", \"kyber\", \"bfq\"]",
    KnobFile::Queue("scheduler"),
    KnobLevel::Word,
);

pub(super) static QUEUE_DEPTH: Knob = Knob::new(
    "nr_requests",
    "size of the kernel's request queue",
    "A whole number; Assay writes it to `queue/nr_requests` of every drive below the target.",
    "[64, 256]",
    KnobFile::Queue("nr_requests"),
    KnobLevel::Number(u32::MAX as u64),
);

pub(super) static READ_AHEAD: Knob = Knob::new(
    "read_ahead",
    "read-ahead of sequential reads",
    "An amount such as `128 KiB`, in whole pages; `0 KiB` disables read-ahead. Assay sets read-ahead on the \
     filesystem if the filesystem has a setting for it (btrfs), otherwise on the topmost device. Read-ahead \
     affects only reads through the page cache (`direct = false`).",
    "[\"0 KiB\", \"128 KiB\", \"4 MiB\"]",
    KnobFile::ReadAhead,
    KnobLevel::Kib,
);

pub(super) static WRITE_CACHE: Knob = Knob {
    risky: Some((
        "no-flushes",
        "with no-flushes, the kernel sends no flushes; a power loss destroys written data unless the drive has \
         power-loss protection",
    )),
    live: false,
    ..Knob::new(
        "write_cache",
        "whether the kernel flushes the drive's cache",
        "`flushes` or `no-flushes`; Assay writes `write back` or `write through` to `queue/write_cache`. With \
     `no-flushes`, the kernel treats every completed write as durable and sends no flushes. This is safe only for \
     drives with power-loss protection. The setting does not disable the drive's own cache. Assay also accepts the \
     kernel's words `write-back` and `write-through`.",
        "[\"flushes\", \"no-flushes\"]",
        KnobFile::Queue("write_cache"),
        KnobLevel::Words(&[
            ("flushes", "write back"),
            ("no-flushes", "write through"),
            ("write-back", "write back"),
            ("write-through", "write through"),
        ]),
    )
};

pub(super) static WRITEBACK_THROTTLE: Knob = Knob::new(
    "wbt_latency",
    "target read latency of write-back throttling",
    "A time such as `75 ms`, or `off`; Assay writes it to `queue/wbt_lat_usec`.",
    "[\"off\", \"2 ms\", \"75 ms\"]",
    KnobFile::Queue("wbt_lat_usec"),
    KnobLevel::Time(1_000),
);

pub(super) static MERGES: Knob = Knob::new(
    "merges",
    "merging of adjacent requests",
    "`all`, `simple` (only with the last request), or `none`; Assay writes it to `queue/nomerges`.",
    "[\"all\", \"simple\", \"none\"]",
    KnobFile::Queue("nomerges"),
    KnobLevel::Words(&[("all", "0"), ("simple", "1"), ("none", "2")]),
);

pub(super) static MAX_SECTORS: Knob = Knob::new(
    "max_sectors",
    "largest request size",
    "An amount such as `512 KiB`; Assay writes it to `queue/max_sectors_kb`.",
    "[\"128 KiB\", \"512 KiB\"]",
    KnobFile::Queue("max_sectors_kb"),
    KnobLevel::Kib,
);

pub(super) static DIRTY_RATIO: Knob = Knob::new(
    "dirty_ratio",
    "share of dirty memory at which writers block",
    "Integer percentage; sets `vm.dirty_ratio` for the whole machine.",
    "[\"5%\", \"20%\"]",
    KnobFile::Machine("/proc/sys/vm/dirty_ratio"),
    KnobLevel::Share,
);

pub(super) static DIRTY_BACKGROUND_RATIO: Knob = Knob::new(
    "dirty_background_ratio",
    "share of dirty memory at which background write-back starts",
    "Integer percentage; sets `vm.dirty_background_ratio` for the whole machine.",
    "[\"1%\", \"10%\"]",
    KnobFile::Machine("/proc/sys/vm/dirty_background_ratio"),
    KnobLevel::Share,
);

pub(super) static DIRTY_EXPIRE: Knob = Knob::new(
    "dirty_expire",
    "age at which the kernel writes back dirty data",
    "A time such as `30 s`; sets `vm.dirty_expire_centisecs` for the whole machine.",
    "[\"5 s\", \"30 s\"]",
    KnobFile::Machine("/proc/sys/vm/dirty_expire_centisecs"),
    KnobLevel::Time(10_000_000),
);

pub(super) static SWAPPINESS: Knob = Knob::new(
    "swappiness",
    "preference for swapping over page cache reclaim",
    "A whole number from 0 to 200; sets `vm.swappiness` for the whole machine.",
    "[10, 60, 180]",
    KnobFile::Machine("/proc/sys/vm/swappiness"),
    KnobLevel::Number(200),
);

pub(super) static PAGE_CLUSTER: Knob = Knob::new(
    "page_cluster",
    "swap-in cluster size: base-2 logarithm of the pages read per swap-in",
    "A whole number from 0 (one page) to 10; sets `vm.page-cluster` for the whole machine. The default of 3 (eight \
     pages) suits disks; 0 is often recommended for swap in memory.",
    "[0, 3]",
    KnobFile::Machine("/proc/sys/vm/page-cluster"),
    KnobLevel::Number(10),
);

pub(super) static CACHE_PRESSURE: Knob = Knob::new(
    "vfs_cache_pressure",
    "preference for reclaiming cached dentries and inodes",
    "A whole number, 100 by default; sets `vm.vfs_cache_pressure` for the whole machine.",
    "[50, 100, 200]",
    KnobFile::Machine("/proc/sys/vm/vfs_cache_pressure"),
    KnobLevel::Number(i32::MAX as u64),
);

pub(super) static GOVERNOR: Knob = Knob::new(
    "governor",
    "CPU frequency governor",
    "A governor that the kernel supports, such as `performance` or `powersave`; Assay sets it for all CPUs.",
    "[\"powersave\", \"performance\"]",
    KnobFile::Policies("scaling_governor"),
    KnobLevel::Word,
);

pub(super) static TURBO: Knob = Knob::new(
    "turbo",
    "whether CPUs may exceed their base frequency",
    "`on` or `off`; Assay writes it to `cpufreq/boost`. CPUs with intel_pstate need \
     `tunable:/sys/devices/system/cpu/intel_pstate/no_turbo` and `--allow-tunable` instead.",
    "[\"off\", \"on\"]",
    KnobFile::Machine("/sys/devices/system/cpu/cpufreq/boost"),
    KnobLevel::Words(&[("off", "0"), ("on", "1")]),
);

impl Factor for Knob {
    fn about(&self) -> &About {
        &self.about
    }

    fn example(&self) -> &'static str {
        self.example
    }

    fn role(&self) -> Role {
        Role::Setting
    }

    fn judge(&self, level: &str) -> Result<(), String> {
        self.level.kernel_value(level).map(|_| ())
    }

    fn caution(&self, level: &str) -> Option<&'static str> {
        self.risky.filter(|(risky, _)| self.same(risky, level)).map(|(_, caution)| caution)
    }

    fn not_live(&self, _: &str) -> Option<&'static str> {
        (!self.live).then_some(
            "a power loss could destroy data of other programs; compare it under a generated load with assay run \
             write-cache",
        )
    }

    fn is_of_device(&self) -> bool {
        matches!(self.place, KnobFile::Queue(_) | KnobFile::ReadAhead)
    }

    fn same(&self, one: &str, other: &str) -> bool {
        match (self.level.kernel_value(one), self.level.kernel_value(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        }
    }

    fn settings(&self, _: &str, level: &str, view: &View<'_>) -> Result<Vec<Setting>, String> {
        let value = self.level.kernel_value(level)?;
        let files = self.place.files(view)?;
        Ok(files
            .into_iter()
            .map(|(path, device)| Setting { path, device, value: value.clone() })
            .collect())
    }

    fn commands(&self, _: &str, level: &str, site: &Site) -> Vec<String> {
        let Ok(value) = self.level.kernel_value(level) else { return Vec::new() };
        if let KnobFile::Policies(name) = self.place {
            return vec![format!("echo {value} | tee {CLOCKS}/policy*/{name}")];
        }
        let acts = self.place.files_in_command(site).into_iter();
        acts.map(|path| Act::Set { path, value: value.clone() }.to_string()).collect()
    }

    fn observe(&self, _: &str, view: &View<'_>) -> Presence<String> {
        let files = match self.place.files(view) {
            Ok(files) => files,
            Err(reason) => return Presence::Absent(reason),
        };
        let mut levels: Vec<String> = Vec::new();
        for (path, _) in files {
            match sysfs::text(view.system, &path) {
                Presence::Present(text) => levels.push(self.level.level_of(&setting_value(&text))),
                Presence::Absent(reason) => return Presence::Absent(reason),
            }
        }
        levels.dedup();
        match levels.as_slice() {
            [level] => Presence::Present(level.clone()),
            levels => Presence::absent(format!(
                "its devices have different values: {}",
                levels.join(", ")
            )),
        }
    }
}

impl KnobFile {
    /// Files of the setting for a recorded target, as printed in commands, with placeholders for changing names.
    fn files_in_command(&self, site: &Site) -> Vec<PathBuf> {
        // A loop device may have another number the next time.
        let file = |device: &str, name: &str| {
            queue_file(if device.starts_with("loop") { ANY_DEVICE } else { device }, name)
        };
        match self {
            Self::Queue(name) => {
                queue_devices(site).into_iter().map(|device| file(device, name)).collect()
            }
            Self::ReadAhead => match read_ahead_owner(site) {
                ReadAheadOwner::Btrfs => vec!["/sys/fs/btrfs/UUID/bdi/read_ahead_kb".into()],
                ReadAheadOwner::Mount => vec![mount_read_ahead_file(site)],
                ReadAheadOwner::Device(device) => vec![file(device, "read_ahead_kb")],
                ReadAheadOwner::Unknown => Vec::new(),
            },
            Self::Machine(path) => vec![PathBuf::from(path)],
            Self::Policies(_) => Vec::new(),
        }
    }

    /// Returns the files of the setting with the devices that they belong to; an error if there are none.
    fn files(&self, view: &View<'_>) -> Result<Vec<(PathBuf, Option<String>)>, String> {
        let files: Vec<(PathBuf, Option<String>)> = match self {
            Self::Queue(name) => queue_devices(view.site)
                .into_iter()
                .map(|drive| (queue_file(drive, name), Some(drive.to_owned())))
                .collect(),
            Self::ReadAhead => vec![read_ahead_file(view)?],
            Self::Machine(path) => vec![(PathBuf::from(path), None)],
            Self::Policies(name) => policy_files(view, name),
        };
        if files.is_empty() {
            return Err(match self {
                Self::Policies(_) => {
                    "this machine does not support CPU frequency control".to_owned()
                }
                _ => "no device below the target has a request queue".to_owned(),
            });
        }
        for (path, device) in &files {
            if let Err(error) = view.system.read_text(path) {
                let whose = device.as_deref().unwrap_or("this kernel");
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                return Err(format!("{whose} has no setting {name}: {}", sysfs::reason(&error)));
            }
        }
        Ok(files)
    }
}

/// Devices at which the target's requests queue: none below a loop device's file; multipath devices instead of their
/// paths, whose schedulers requests skip (`blk_insert_cloned_request` of the kernel).
fn queue_devices(site: &Site) -> Vec<&str> {
    let multipath = site.layers.iter().filter(|layer| layer.kind == "multipath");
    let mut devices: Vec<&str> = multipath.map(|layer| layer.name.as_str()).collect();
    if devices.is_empty() {
        devices.extend(site.drives.iter().map(|drive| drive.name.as_str()));
    }
    devices.retain(|name| site.shared.iter().any(|shared| shared == name));
    devices
}

fn queue_file(drive: &str, name: &str) -> PathBuf {
    sysfs::block(drive).join("queue").join(name)
}

/// Owner of the setting that decides how far the kernel reads ahead.
enum ReadAheadOwner<'a> {
    Btrfs,
    /// FUSE and network file systems have one for each mount.
    Mount,
    /// File systems on a block device use that of the device.
    Device(&'a str),
    Unknown,
}

/// Finds out whose read-ahead setting applies to the files of a target.
fn read_ahead_owner(site: &Site) -> ReadAheadOwner<'_> {
    // overlay caches no pages: read-ahead applies to its upper directory.
    let mounts = site.mount.value().into_iter().chain(&site.followed);
    match mounts.map(|mount| mount.filesystem.as_str()).find(|name| *name != "overlay") {
        Some("btrfs") => ReadAheadOwner::Btrfs,
        Some(name) if name.starts_with("fuse") => ReadAheadOwner::Mount,
        Some(_) if site.backing == Backing::Remote => ReadAheadOwner::Mount,
        _ => topmost_queue(site).map_or(ReadAheadOwner::Unknown, ReadAheadOwner::Device),
    }
}

/// The topmost device, or the disk of a partition, which has no queue unless device-mapper made it.
fn topmost_queue(site: &Site) -> Option<&str> {
    let top = site.counted.first()?;
    let layer = site.layers.iter().find(|layer| layer.name == *top);
    let partition =
        layer.filter(|layer| layer.kind == "partition" && !layer.name.starts_with("dm-"));
    Some(partition.and_then(|layer| layer.below.first()).unwrap_or(top))
}

/// Named as in `fuse_bdi_init` and `nfs_get_tree_common` of the kernel.
fn mount_read_ahead_file(site: &Site) -> PathBuf {
    let suffix = if site.filesystem() == "fuseblk" { "-fuseblk" } else { "" };
    format!("/sys/class/bdi/{}{suffix}/read_ahead_kb", site.device).into()
}

/// Returns the read-ahead setting that applies to a target, and the device that it belongs to, if any.
fn read_ahead_file(view: &View<'_>) -> Result<(PathBuf, Option<String>), String> {
    match read_ahead_owner(view.site) {
        ReadAheadOwner::Btrfs => {
            let root = Path::new("/sys/fs/btrfs");
            let mut filesystems = sysfs::names(view.system, root).into_iter();
            let device = view.site.counted.first();
            let mounted = filesystems.find(|uuid| {
                let devices = sysfs::names(view.system, &root.join(uuid).join("devices"));
                device.is_some_and(|device| devices.contains(device))
            });
            match mounted {
                Some(uuid) => Ok((root.join(uuid).join("bdi/read_ahead_kb"), None)),
                None => Err("sysfs does not list this btrfs filesystem".to_owned()),
            }
        }
        ReadAheadOwner::Mount => Ok((mount_read_ahead_file(view.site), None)),
        ReadAheadOwner::Device(name) => {
            Ok((queue_file(name, "read_ahead_kb"), Some(name.to_owned())))
        }
        ReadAheadOwner::Unknown => Err("the filesystem does not report its device".to_owned()),
    }
}

fn policy_files(view: &View<'_>, name: &str) -> Vec<(PathBuf, Option<String>)> {
    let root = Path::new(CLOCKS);
    let groups = sysfs::names(view.system, root).into_iter();
    let groups = groups.filter(|group| group.starts_with("policy"));
    groups.map(|group| (root.join(group).join(name), None)).collect()
}

impl KnobLevel {
    /// Returns the kernel's value of a level, or an error with the valid ones.
    fn kernel_value(&self, level: &str) -> Result<String, String> {
        let level = level.trim();
        match self {
            Self::Word => {
                let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_".contains(sign);
                if level.is_empty() || !level.chars().all(is_plain) {
                    return Err(format!("`{level}` is not a word"));
                }
                Ok(level.to_owned())
            }
            Self::Words(words) => {
                if let Some((_, kernel)) = words.iter().find(|(word, _)| *word == level) {
                    return Ok((*kernel).to_owned());
                }
                let choices: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(format!("unknown level `{level}`; use one of {}", choices.join(", ")))
            }
            Self::Number(most) => match level.parse::<u64>() {
                Ok(number) if number <= *most => Ok(number.to_string()),
                _ => Err(format!("`{level}` is not a whole number from 0 to {most}")),
            },
            Self::Kib => {
                let bytes: Bytes = level.parse().map_err(|error| format!("{error}"))?;
                if !bytes.0.is_multiple_of(1024) {
                    return Err(format!("`{level}` is not a whole number of KiB"));
                }
                Ok((bytes.0 / 1024).to_string())
            }
            Self::Time(_) if level == "off" => Ok("0".to_owned()),
            Self::Time(unit) => {
                let time: Time = level.parse().map_err(|error| format!("{error}"))?;
                if !time.0.is_multiple_of(*unit) {
                    return Err(format!(
                        "`{level}`: the kernel counts in units of {}",
                        Time(*unit)
                    ));
                }
                Ok((time.0 / unit).to_string())
            }
            Self::Share => {
                let bare = level.parse::<u8>().map(|number| Percent(f64::from(number)));
                let share =
                    bare.or_else(|_| level.parse::<Percent>()).map_err(|e| e.to_string())?;
                if share.0.fract() != 0.0 || !(0.0..=100.0).contains(&share.0) {
                    return Err(format!("`{level}` is not an integer percentage"));
                }
                Ok(share.0.to_string())
            }
        }
    }

    /// Returns the level of a kernel value; the value itself if no level has it.
    fn level_of(&self, kernel: &str) -> String {
        let number = || kernel.parse::<u64>().ok();
        let level = match self {
            Self::Word | Self::Number(_) => Some(kernel.to_owned()),
            Self::Words(words) => {
                words.iter().find(|(_, value)| *value == kernel).map(|(word, _)| (*word).to_owned())
            }
            Self::Kib => number().map(|kib| Bytes(kib * 1024).to_string()),
            Self::Time(unit) => number().map(|count| match count {
                0 => "off".to_owned(),
                count => Time(count * unit).to_string(),
            }),
            Self::Share => Some(format!("{kernel}%")),
        };
        level.unwrap_or_else(|| kernel.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::system::devices::drive;
    use crate::system::site::{Layer, Mount};
    use crate::system::{DeviceNumber, Fake};

    use super::*;

    #[test]
    fn levels_are_what_the_kernel_reads_and_back() {
        let rows: [(&Knob, &str, &str); 9] = [
            (&SCHEDULER, "mq-deadline", "mq-deadline"),
            (&READ_AHEAD, "4 MiB", "4096"),
            (&READ_AHEAD, "0 B", "0"),
            (&WRITE_CACHE, "flushes", "write back"),
            (&WRITEBACK_THROTTLE, "75 ms", "75000"),
            (&WRITEBACK_THROTTLE, "off", "0"),
            (&MERGES, "none", "2"),
            (&DIRTY_RATIO, "20%", "20"),
            (&DIRTY_EXPIRE, "30 s", "3000"),
        ];
        for (knob, level, kernel) in rows {
            assert_eq!(knob.level.kernel_value(level).unwrap(), kernel);
            let shown = knob.level.level_of(kernel);
            assert_eq!(knob.level.kernel_value(&shown).unwrap(), kernel, "{shown}");
        }
        assert!(DIRTY_RATIO.same("20", "20%") && !DIRTY_RATIO.same("20", "21%"));
        // The fast mode without flushes is not one in which the drive writes through.
        assert_eq!(WRITE_CACHE.level.level_of("write through"), "no-flushes");
        for level in ["no-flushes", "write-through"] {
            assert!(WRITE_CACHE.caution(level).unwrap().contains("sends no flushes"));
        }
        assert!(WRITE_CACHE.same("write-back", "flushes"));
        assert_eq!(WRITE_CACHE.caution("write-back"), None);
    }

    /// A place on these devices, the topmost first, each on the next one.
    fn stack(filesystem: &str, layers: &[(&str, &str)]) -> Site {
        let mut site = Site::loop_to_be(1 << 30);
        let mount = |filesystem: &str| Mount {
            point: "/m".into(),
            source: "a source".to_owned(),
            filesystem: filesystem.to_owned(),
            options: Vec::new(),
        };
        let mut mounts = filesystem.split(" on ").map(mount);
        site.mount = Presence::from_option(mounts.next(), "none");
        site.followed = mounts.collect();
        let template = site.layers.remove(0);
        for (index, (name, kind)) in layers.iter().enumerate() {
            let below = layers.get(index + 1).map(|(below, _)| (*below).to_owned());
            site.layers.push(Layer {
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
                below: below.into_iter().collect(),
                ..template.clone()
            });
        }
        site.shared = layers.iter().map(|(name, _)| (*name).to_owned()).collect();
        site.counted = site.shared.iter().take(1).cloned().collect();
        site.drives =
            site.shared.last().map(|name| drive(&Fake::new(), name)).into_iter().collect();
        site
    }

    #[test]
    fn settings_are_those_that_decide() {
        let read_ahead = |site: &Site| match read_ahead_owner(site) {
            ReadAheadOwner::Device(name) => name.to_owned(),
            _ => KnobFile::ReadAhead.files_in_command(site)[0].display().to_string(),
        };
        for (filesystem, layers, reader, queue) in [
            ("ext4", &[("sda1", "partition"), ("sda", "disk")][..], "sda", "sda"),
            (
                "ext4",
                &[("dm-1", "partition"), ("dm-0", "multipath"), ("sda", "disk")],
                "dm-1",
                "dm-0",
            ),
            ("xfs", &[("dm-0", "lvm"), ("md0", "raid5"), ("sda", "disk")], "dm-0", "sda"),
            ("overlay on ext4", &[("sda1", "partition"), ("sda", "disk")], "sda", "sda"),
        ] {
            let site = stack(filesystem, layers);
            assert_eq!((read_ahead(&site).as_str(), queue_devices(&site)), (reader, vec![queue]));
        }
        let disk = &[("sda", "disk")];
        let btrfs = stack("overlay on btrfs", disk);
        assert_eq!(read_ahead(&btrfs), "/sys/fs/btrfs/UUID/bdi/read_ahead_kb");
        let mounted = |filesystem: &str| {
            let mut site = stack(filesystem, disk);
            site.device = DeviceNumber { major: 0, minor: 51 };
            if filesystem == "nfs4" {
                site.backing = Backing::Remote;
            }
            read_ahead(&site)
        };
        assert_eq!(mounted("fuse.gocryptfs on ext4"), "/sys/class/bdi/0:51/read_ahead_kb");
        assert_eq!(mounted("fuseblk"), "/sys/class/bdi/0:51-fuseblk/read_ahead_kb");
        assert_eq!(mounted("nfs4"), "/sys/class/bdi/0:51/read_ahead_kb");
    }

    #[test]
    fn a_level_that_is_none_says_what_to_write() {
        let rows: [(&Knob, &str); 9] = [
            (&SCHEDULER, "no such"),
            (&QUEUE_DEPTH, "-1"),
            (&READ_AHEAD, "1000 B"),
            (&READ_AHEAD, "many"),
            (&WRITE_CACHE, "write back"),
            (&WRITEBACK_THROTTLE, "10 ns"),
            (&DIRTY_RATIO, "0.5%"),
            (&DIRTY_RATIO, "120"),
            (&SWAPPINESS, "201"),
        ];
        for (knob, level) in rows {
            let message = knob.judge(level).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }
}
