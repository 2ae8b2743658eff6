//! Whether a target supports trims, zeroing and polling, as far as known without accessing it.

use serde::{Deserialize, Serialize};

use super::site::{Site, TargetKind};
use super::{System, sysfs};

/// Why a target cannot be trimmed, zeroed or polled, as far as known without a try.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clears {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_trim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_zeroing: Option<String>,
    /// Why polling for completions is impossible; read only if a study polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_polling: Option<String>,
}

/// File systems of Linux without holes, and so without zeroing.
const NO_HOLES: [&str; 9] =
    ["vfat", "msdos", "hfs", "hfsplus", "udf", "nilfs2", "jfs", "minix", "9p"];

const NO_ZEROING: [&str; 1] = ["tmpfs"];

impl Clears {
    /// Finds out which ways of clearing data (trim, zeroing) a target does not support, with reasons.
    pub fn find(system: &dyn System, site: &Site) -> Self {
        match site.kind {
            TargetKind::Simulated => Self::default(),
            TargetKind::Directory | TargetKind::File => Self::of_files(&site.filesystem()),
            TargetKind::Device => {
                let lacks_discard =
                    |name: &&String| read_queue(system, name, "discard_max_bytes") == Some(0);
                let discardless = site.counted.iter().find(lacks_discard);
                let no_trim = discardless.map(|name| {
                    format!(
                        "cannot trim {name}: the device does not support discard (queue/discard_max_bytes is 0)"
                    )
                });
                // The kernel writes zeros if a device does not support zeroing.
                Self { no_trim, ..Self::default() }
            }
        }
    }

    fn of_files(filesystem: &str) -> Self {
        let refuse = |unable: &[&str], what: &str| {
            let reason = format!(
                "files on {filesystem} cannot be {what}; use a device or another directory"
            );
            unable.contains(&filesystem).then_some(reason)
        };
        let no_trim = refuse(&NO_HOLES, "trimmed, because the filesystem does not support holes");
        let no_zeroing = refuse(&NO_HOLES, "zeroed").or_else(|| refuse(&NO_ZEROING, "zeroed"));
        Self { no_trim, no_zeroing, no_polling: None }
    }

    /// Adds why completions cannot be polled for on the target, if a study requests polling.
    #[must_use]
    pub fn and_polling(self, system: &dyn System, site: &Site) -> Self {
        let no_polling = match site.kind {
            // The plan checks simulated targets.
            TargetKind::Simulated => None,
            _ if site.counted.is_empty() => {
                Some("cannot poll for completions: the target has no block device".to_owned())
            }
            _ => site.counted.iter().find_map(|name| no_poll_queue(system, name)),
        };
        Self { no_polling, ..self }
    }

    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads a number in the queue directory of a device; of the disk for a partition.
fn read_queue(system: &dyn System, name: &str, attribute: &str) -> Option<u64> {
    let queue = |below: &str| {
        sysfs::number(system, &sysfs::block(name).join(below).join(attribute)).value().copied()
    };
    queue("queue").or_else(|| queue("../queue"))
}

/// Why the completions of a device cannot be polled for; the drivers make queues for it when they are loaded.
fn no_poll_queue(system: &dyn System, name: &str) -> Option<String> {
    if read_queue(system, name, "io_poll").unwrap_or(0) > 0 {
        return None;
    }
    let hint = if name.starts_with("nvme") {
        "; add nvme.poll_queues=4 to the kernel command line"
    } else {
        ""
    };
    Some(format!(
        "cannot poll for completions of {name}: the device has no poll queue (queue/io_poll is not 1){hint}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    fn site(name: &str) -> Site {
        let counted = vec![name.to_owned()];
        Site { kind: TargetKind::Device, counted, ..Site::simulated("/dev/DEVICE") }
    }

    fn device(most: Option<&str>) -> Clears {
        let fake = Fake::new();
        if let Some(most) = most {
            fake.put("/sys/class/block/sdq/queue/discard_max_bytes", most);
        }
        Clears::find(&fake, &site("sdq"))
    }

    fn polled(name: &str, io_poll: &str) -> Option<String> {
        let fake = Fake::new();
        fake.put("/sys/class/block/nvme0n1/queue/io_poll", io_poll);
        fake.put("/sys/class/block/loop7/queue/io_poll", io_poll);
        Clears::default().and_polling(&fake, &site(name)).no_polling
    }

    #[test]
    fn a_device_without_a_queue_for_polling_says_so() {
        for name in ["nvme0n1", "loop7"] {
            assert_eq!(polled(name, "1\n"), None);
            let told = polled(name, "0\n").unwrap();
            assert!(told.starts_with(&format!("cannot poll for completions of {name}")), "{told}");
            assert_eq!(told.contains("poll_queues"), name.starts_with("nvme"), "{told}");
        }
        // A missing file means no support.
        assert!(polled("sdq", "1\n").unwrap().contains("io_poll is not 1"));
        let nowhere = Site { kind: TargetKind::File, ..Site::simulated("x") };
        let told = Clears::default().and_polling(&Fake::new(), &nowhere);
        assert!(told.no_polling.unwrap().contains("no block device"));
        let simulated = Clears::default().and_polling(&Fake::new(), &Site::simulated("x"));
        assert!(simulated.is_open());
        // Not checked if the study does not poll.
        assert_eq!(device(Some("0\n")).no_polling, None);
    }

    #[test]
    fn a_device_without_discard_says_so_and_one_that_does_not_tell_is_tried() {
        let told = device(Some("0\n"));
        assert!(told.no_trim.as_ref().unwrap().starts_with("cannot trim sdq"));
        assert_eq!(told.no_zeroing, None);
        assert!(!told.is_open());
        assert!(device(Some("4294966784\n")).is_open() && device(None).is_open());
    }

    #[test]
    fn file_systems_that_lack_it_are_known_and_others_are_tried() {
        let vfat = Clears::of_files("vfat");
        assert!(vfat.no_trim.unwrap().contains("holes") && vfat.no_zeroing.is_some());
        let tmpfs = Clears::of_files("tmpfs");
        assert!(tmpfs.no_trim.is_none() && tmpfs.no_zeroing.unwrap().contains("zeroed"));
        for others in ["ext4", "xfs", "btrfs", "made-up"] {
            assert!(Clears::of_files(others).is_open(), "{others}");
        }
        assert!(Clears::find(&Fake::new(), &Site::simulated("x")).is_open());
    }
}
