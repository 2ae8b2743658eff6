//! Configuration lines and commands that make a level permanent: texts only, this module writes no files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::system::site::Drive;
use crate::system::site::Site;
use crate::system::{System, devices, sysfs};

use super::layers::{ByHand, PermanentLayer, Stack, Wish};
use super::{Setting, find, locate, rank};

pub const ANY_DEVICE: &str = "DEVICE";
pub const ANY_DIRECTORY: &str = "DIRECTORY";

/// Mechanism that applies a setting at each boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeper {
    /// udev, whenever the device appears.
    Udev,
    /// sysctl, for files below `/proc/sys`.
    Sysctl,
    /// systemd-tmpfiles, for any other file of the kernel.
    Tmpfiles,
}

impl Keeper {
    /// Its configuration file, with a name that identifies Assay.
    pub fn file(self, id: &str) -> PathBuf {
        let (directory, ending) = match self {
            Self::Udev => ("/etc/udev/rules.d", "rules"),
            Self::Sysctl => ("/etc/sysctl.d", "conf"),
            Self::Tmpfiles => ("/etc/tmpfiles.d", "conf"),
        };
        PathBuf::from(directory).join(format!("61-assay-{id}.{ending}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permanent {
    pub keeper: Keeper,
    pub line: String,
}

/// Configuration line of a permanent setting; fails if the device or the value does not allow one.
pub fn permanent(system: &dyn System, setting: &Setting) -> Result<Permanent, String> {
    // A setting may have a line even if it does not exist now.
    let setting = locate(system, setting.clone()).unwrap_or_else(|_| setting.clone());
    let Setting { path, value, device, .. } = &setting;
    let shown = path.display();
    if value.chars().any(|sign| sign.is_control() || "\"\\$%".contains(sign)) {
        return Err(format!("{shown}: a configuration file cannot contain the value {value:?}"));
    }
    if path.to_string_lossy().chars().any(char::is_control) {
        return Err(format!("{}: a configuration file cannot contain this path", path.display()));
    }
    if let Ok(name) = path.strip_prefix("/proc/sys") {
        let line = format!("{} = {value}", sysctl_name(name));
        return Ok(Permanent { keeper: Keeper::Sysctl, line });
    }
    if let Some(device) = device {
        let device_match = udev_match(system, device)?;
        let line = format!("{device_match}, {}", assign(system, path, device, value)?);
        return Ok(Permanent { keeper: Keeper::Udev, line });
    }
    if path.starts_with("/sys/fs/btrfs") {
        return Err(format!("{shown} exists only while the filesystem is mounted"));
    }
    if path.to_string_lossy().contains([' ', '"', '*', '?', '[', '%']) {
        return Err(format!("{shown}: tmpfiles.d would expand this path"));
    }
    Ok(Permanent { keeper: Keeper::Tmpfiles, line: format!("w {shown} - - - - {value}") })
}

/// With dots, unless a part of the name contains one.
fn sysctl_name(name: &Path) -> String {
    let name = name.to_string_lossy();
    if name.contains('.') { name.into_owned() } else { name.replace('/', ".") }
}

/// The part of a udev rule that assigns a value to a setting of the device; fails if the setting is not below it.
fn assign(system: &dyn System, path: &Path, device: &str, value: &str) -> Result<String, String> {
    let link = sysfs::block(device);
    let place = system.canonical(&link).unwrap_or_else(|_| link.clone());
    let below = path.strip_prefix(&link).or_else(|_| path.strip_prefix(place)).map_err(|_| {
        format!("{}: not an attribute of {device}; a udev rule cannot set it", path.display())
    })?;
    Ok(format!("ATTR{{{}}}=\"{value}\"", below.display()))
}

/// The part of a udev rule that matches one device, by properties that survive a rename.
fn udev_match(system: &dyn System, device: &str) -> Result<String, String> {
    if device.starts_with("loop") {
        return Err(format!(
            "cannot make settings of {device} permanent: loop device numbers change"
        ));
    }
    let drive = devices::drive(system, device);
    let name = match udev_id(system, device, &drive) {
        Some((key, id)) => format!("{key}==\"{}\"", udev_pattern(&id)),
        None => format!("KERNEL==\"{}\"", udev_pattern(device)),
    };
    Ok(format!("ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {name}"))
}

/// Name and value of the udev property that identifies a device.
fn udev_id(system: &dyn System, device: &str, drive: &Drive) -> Option<(&'static str, String)> {
    if device.starts_with("dm-") {
        let uuid = sysfs::text(system, &sysfs::block(device).join("dm/uuid"));
        return Some(("ATTR{dm/uuid}", uuid.value()?.clone()));
    }
    let serial = drive.serial.value()?.clone();
    let key = match drive.bus.value().map(String::as_str) {
        Some("sata" | "usb") => "ENV{ID_SERIAL_SHORT}",
        Some("scsi") => "ENV{ID_SCSI_SERIAL}",
        Some("virtio") if device.starts_with("sd") => "ENV{ID_SCSI_SERIAL}",
        _ => "ATTRS{serial}",
    };
    Some((key, serial))
}

/// A text for udev to match: signs that mean something there, or that udev replaces, match any one.
fn udev_pattern(text: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.:+".contains(sign);
    text.trim().chars().map(|sign| if is_plain(sign) { sign } else { '?' }).collect()
}

/// Commands that create the layers of an arm, then those that set the levels of its other factors in their order.
pub fn commands(levels: &BTreeMap<String, String>, site: &Site) -> Vec<String> {
    let mut named: Vec<(&String, &String)> = levels.iter().collect();
    named.sort_by_key(|(name, _)| rank(name));
    let settings =
        named.into_iter().filter_map(|(name, level)| Some(find(name)?.commands(name, level, site)));
    let acts = by_hand(levels, site).into_iter().flat_map(|layer| layer.commands.acts);
    acts.map(|act| act.to_string()).chain(settings.flatten()).collect()
}

/// Steps that create the layers of an arm permanently, the lowest first, on as many devices as measured, to be named by
/// the operator. Assay creates layers only for measurements.
pub fn by_hand(levels: &BTreeMap<String, String>, site: &Site) -> Vec<ByHand> {
    let stack = Stack::new(&Wish::new(levels));
    stack.map(|stack| stack.by_hand(any_devices(&stack, site))).unwrap_or_default()
}

/// Sentence on the data lost by these steps; `None` if there is none.
pub fn lost(levels: &BTreeMap<String, String>, site: &Site) -> Option<String> {
    let stack = Stack::new(&Wish::new(levels)).ok()?;
    stack.lost(&any_devices(&stack, site))
}

fn any_devices(stack: &Stack, site: &Site) -> Vec<PathBuf> {
    stack.open_names(ANY_DEVICE, site.counted.len())
}

/// Parts of an arm's layers that Assay can apply permanently.
pub fn kept(levels: &BTreeMap<String, String>, id: &str) -> Vec<PermanentLayer> {
    Stack::new(&Wish::new(levels)).map(|stack| stack.kept(id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    const DRIVES: &str = "
file /sys/class/block/sda/device/vpd_pg80 x
link /sys/block/nvme0n1 ../devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1
link /sys/class/block/nvme0n1 ../../devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1
file /sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1/device/serial S4 X/1
file /sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1/size 1000
file /sys/class/block/dm-0/dm/uuid LVM-abc
file /sys/class/block/vdb/size 1000
";

    fn line(path: &str, value: &str, device: Option<&str>) -> Result<Permanent, String> {
        let fake = Fake::recorded(DRIVES).unwrap();
        let device = device.map(str::to_owned);
        let (path, value) = (path.into(), value.to_owned());
        permanent(&fake, &Setting { path, value, device })
    }

    #[test]
    fn each_setting_has_the_keeper_that_can_bring_it_back() {
        let rows = [
            ("/proc/sys/vm/dirty_ratio", "5", None, Keeper::Sysctl, "vm.dirty_ratio = 5"),
            (
                "/proc/sys/net/ipv4/conf/eth0.1/mtu",
                "9",
                None,
                Keeper::Sysctl,
                "net/ipv4/conf/eth0.1/mtu = 9",
            ),
            (
                "/sys/module/zfs/parameters/x",
                "3",
                None,
                Keeper::Tmpfiles,
                "w /sys/module/zfs/parameters/x - - - - 3",
            ),
            (
                "/sys/class/block/dm-0/queue/read_ahead_kb",
                "4096",
                Some("dm-0"),
                Keeper::Udev,
                "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", \
                 ATTR{dm/uuid}==\"LVM-abc\", ATTR{queue/read_ahead_kb}=\"4096\"",
            ),
            (
                "/sys/class/block/nvme0n1/queue/scheduler",
                "none",
                Some("nvme0n1"),
                Keeper::Udev,
                "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", \
                 ATTRS{serial}==\"S4?X?1\", ATTR{queue/scheduler}=\"none\"",
            ),
            (
                "/sys/class/block/vdb/queue/write_cache",
                "write back",
                Some("vdb"),
                Keeper::Udev,
                "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", \
                 KERNEL==\"vdb\", ATTR{queue/write_cache}=\"write back\"",
            ),
        ];
        for (path, value, device, keeper, text) in rows {
            let found = line(path, value, device).unwrap();
            assert_eq!((found.keeper, found.line.as_str()), (keeper, text));
        }
    }

    #[test]
    fn what_cannot_last_says_why() {
        let rows = [
            (
                "/sys/class/block/loop0/queue/scheduler",
                "bfq",
                Some("loop0"),
                "loop device numbers change",
            ),
            ("/proc/sys/vm/x", "a\"b", None, "cannot contain"),
            ("/sys/fs/btrfs/1-2/bdi/read_ahead_kb", "4", None, "while the filesystem is mounted"),
            ("/sys/module/a b", "4", None, "tmpfiles.d"),
            ("/sys/module/other", "4", Some("vdb"), "not an attribute of vdb"),
        ];
        for (path, value, device, reason) in rows {
            let message = line(path, value, device).unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn what_one_would_type_names_the_settings_own_files() {
        let arm = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        let site = Site::loop_to_be(1 << 30);
        let levels: BTreeMap<String, String> = arm(&[
            ("dirty_ratio", "5%"),
            ("filesystem", "xfs"),
            ("governor", "performance"),
            ("mkfs_options", "-m crc=0"),
            ("mount_options", "noatime"),
            ("block_size", "4 KiB"),
            ("tunable:/proc/sys/vm/page-cluster", "0"),
        ]);
        assert_eq!(
            commands(&levels, &site),
            [
                "mkfs.xfs -m crc=0 DEVICE",
                "mount -t xfs -o noatime DEVICE DIRECTORY",
                "echo 5 > /proc/sys/vm/dirty_ratio",
                "echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
                "echo 0 > /proc/sys/vm/page-cluster",
            ]
        );
        let lasting = by_hand(&levels, &site).remove(0).lasting.unwrap().0;
        assert_eq!(lasting, "DEVICE DIRECTORY xfs noatime 0 2");
        assert_eq!(lost(&levels, &site).unwrap(), "all data on DEVICE are lost");
    }

    #[test]
    fn an_array_is_made_of_as_many_devices_as_were_measured_and_says_what_is_lost() {
        let arm = |raid: &str| BTreeMap::from([("raid".to_owned(), raid.to_owned())]);
        let mut site = Site::loop_to_be(1 << 30);
        let devices = |raid: &str, site: &Site| {
            let line = commands(&arm(raid), site).remove(0);
            line.split_once("--raid-devices=").unwrap().1.to_owned()
        };
        assert_eq!(devices("raid5", &site), "3 DEVICE1 DEVICE2 DEVICE3", "fewer make none");
        site.counted = ["loop0", "loop1", "loop2", "loop3"].map(str::to_owned).into();
        assert_eq!(devices("raid5", &site), "4 DEVICE1 DEVICE2 DEVICE3 DEVICE4");
        assert_eq!(devices("raid0", &site), "4 DEVICE1 DEVICE2 DEVICE3 DEVICE4");
        let told = lost(&arm("raid5"), &site).unwrap();
        assert_eq!(told, "all data on DEVICE1, DEVICE2, DEVICE3, DEVICE4 are lost");
        let setting = BTreeMap::from([("scheduler".to_owned(), "none".to_owned())]);
        assert_eq!(lost(&setting, &site), None);
    }
}
