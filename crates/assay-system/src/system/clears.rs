//! Whether a target can give up what it stores, or make it zeros, as far as that is known before anything of
//! it is touched.

use serde::{Deserialize, Serialize};

use super::site::{Site, TargetKind};
use super::{System, sysfs};

/// Why a target takes no trims, or cannot be zeroed; nothing where it can, and where only a try would tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clears {
    /// Why nothing can be trimmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_trim: Option<String>,
    /// Why nothing can be zeroed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_zeroing: Option<String>,
}

/// File systems of Linux without holes, and so without zeroing.
const NO_HOLES: [&str; 9] =
    ["vfat", "msdos", "hfs", "hfsplus", "udf", "nilfs2", "jfs", "minix", "9p"];

/// Those that have holes, but cannot zero.
const NO_ZEROING: [&str; 1] = ["tmpfs"];

impl Clears {
    /// What is known of a target.
    pub fn of(system: &dyn System, site: &Site) -> Self {
        match site.kind {
            TargetKind::Simulated => Self::default(),
            TargetKind::Directory | TargetKind::File => Self::of_files(&site.filesystem()),
            TargetKind::Device => {
                let discardless = site.counted.iter().find(|name| has_no_discard(system, name));
                let no_trim = discardless.map(|name| {
                    format!(
                        "{name} takes no discard (queue/discard_max_bytes of it is 0), so nothing can be \
                         trimmed there"
                    )
                });
                // The kernel writes zeros where a device cannot zero by itself.
                Self { no_trim, no_zeroing: None }
            }
        }
    }

    fn of_files(filesystem: &str) -> Self {
        let lacks = |known: &[&str], what: &str| {
            let words = format!(
                "a file on {filesystem} cannot be {what}: measure on a device, or elsewhere"
            );
            known.contains(&filesystem).then_some(words)
        };
        let no_trim = lacks(&NO_HOLES, "trimmed, as it has no holes");
        let no_zeroing = lacks(&NO_HOLES, "zeroed").or_else(|| lacks(&NO_ZEROING, "zeroed"));
        Self { no_trim, no_zeroing }
    }

    /// Whether nothing is known to be impossible.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Of a partition its disk tells.
fn has_no_discard(system: &dyn System, name: &str) -> bool {
    let block = sysfs::block(name);
    let most = |below: &str| sysfs::number(system, &block.join(below)).value().copied();
    most("queue/discard_max_bytes").or_else(|| most("../queue/discard_max_bytes")) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    fn device(most: Option<&str>) -> Clears {
        let fake = Fake::new();
        if let Some(most) = most {
            fake.put("/sys/class/block/sdq/queue/discard_max_bytes", most);
        }
        let counted = vec!["sdq".to_owned()];
        let site = Site { kind: TargetKind::Device, counted, ..Site::simulated("/dev/sdq") };
        Clears::of(&fake, &site)
    }

    #[test]
    fn a_device_without_discard_says_so_and_one_that_does_not_tell_is_tried() {
        let told = device(Some("0\n"));
        assert!(told.no_trim.as_ref().unwrap().starts_with("sdq takes no discard"));
        assert_eq!(told.no_zeroing, None);
        assert!(!told.is_open());
        assert!(device(Some("4294966784\n")).is_open() && device(None).is_open());
    }

    #[test]
    fn file_systems_that_lack_it_are_known_and_others_are_tried() {
        let vfat = Clears::of_files("vfat");
        assert!(vfat.no_trim.unwrap().contains("no holes") && vfat.no_zeroing.is_some());
        let tmpfs = Clears::of_files("tmpfs");
        assert!(tmpfs.no_trim.is_none() && tmpfs.no_zeroing.unwrap().contains("zeroed"));
        for others in ["ext4", "xfs", "btrfs", "made-up"] {
            assert!(Clears::of_files(others).is_open(), "{others}");
        }
        assert!(Clears::of(&Fake::new(), &Site::simulated("x")).is_open());
    }
}
