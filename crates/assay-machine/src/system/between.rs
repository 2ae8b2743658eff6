//! Caches other than the page cache that may answer reads, as far as visible before a read.

use serde::{Deserialize, Serialize};

use super::site::{Backing, Drive, Site, TargetKind};
use super::{System, devices};

/// Whether reads of a target reach its medium, or memory other than the drive's may answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    Nothing,
    /// Memory answers, with the reason.
    Memory(String),
    /// Invisible memory may answer, with the reason.
    Unseen(String),
}

impl Between {
    /// Finds caches between trials and drive; `refused` is why trials cannot use direct I/O, if so.
    pub fn find(system: &dyn System, site: &Site, refused: Option<&str>) -> Self {
        if site.kind == TargetKind::Simulated {
            return Self::Nothing;
        }
        if let Some(reason) = refused {
            return Self::Memory(format!("reads use the page cache ({reason})"));
        }
        if site.backing == Backing::Memory {
            return Self::Memory(format!("{} stores files in memory", site.filesystem()));
        }
        let mut names = site.layers.iter().map(|layer| &layer.name);
        if let Some(name) = names.find(|name| devices::is_buffered_loop(system, name)) {
            return Self::Memory(format!(
                "{name} uses the page cache of its backing file; run losetup --direct-io=on {name}"
            ));
        }
        match site.backing {
            Backing::Remote => {
                Self::Unseen(format!("{} is stored on another computer", site.filesystem()))
            }
            Backing::Unknown => {
                Self::Unseen(format!("the storage of {} is unknown", site.filesystem()))
            }
            Backing::Blocks | Backing::Memory => Self::of_drives(&site.drives),
        }
    }

    /// Caches of the server of the drives. They are invisible here; rule `host-cache` detects them.
    fn of_drives(drives: &[Drive]) -> Self {
        let Some(drive) = drives.iter().find(|drive| drive.is_served()) else {
            return Self::Nothing;
        };
        Self::Unseen(format!(
            "a host provides {}, and the host's cache is invisible to this guest",
            drive.name
        ))
    }

    /// Returns why reads do not show the content of the medium; `None` if they do.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Memory(reason) | Self::Unseen(reason) => Some(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;

    use super::*;
    use crate::system::{Fake, resolve};

    fn site(kind: TargetKind, backing: Backing) -> Site {
        Site { kind, backing, ..Site::simulated("/x") }
    }

    #[test]
    fn a_refusal_and_memory_and_others_are_told_apart() {
        let fake = Fake::new();
        let of = |site: &Site, refused| Between::find(&fake, site, refused);
        let blocks = site(TargetKind::Device, Backing::Blocks);
        assert_eq!(of(&blocks, None), Between::Nothing);
        let refused = of(&blocks, Some("ntfs refuses direct I/O"));
        assert!(matches!(&refused, Between::Memory(why) if why.contains("ntfs refuses")));
        let kept = |backing| of(&site(TargetKind::Directory, backing), None);
        assert!(matches!(kept(Backing::Memory), Between::Memory(_)));
        assert!(matches!(kept(Backing::Remote), Between::Unseen(_)));
        assert!(matches!(kept(Backing::Unknown), Between::Unseen(_)));
        let simulated = site(TargetKind::Simulated, Backing::Unknown);
        assert_eq!(of(&simulated, Some("simulated")), Between::Nothing);
        assert_eq!(Between::Nothing.reason(), None);
    }

    /// A recorded machine with a virtio drive, and a loop device over a file on it.
    #[test]
    fn loops_through_the_page_cache_and_served_drives_are_seen() {
        let text = include_str!("../../tests/fixtures/machines/vm-virtio.txt");
        let fake = Fake::recorded(text).unwrap();
        let of = |dio: &str| {
            fake.put("/sys/devices/virtual/block/loop0/loop/dio", dio);
            let site = resolve(&fake, "/tmp/bench/mnt").unwrap();
            (Between::find(&fake, &site, None), site)
        };
        let (buffered, _) = of("0\n");
        assert!(
            matches!(&buffered, Between::Memory(why) if why.starts_with("loop0 uses the page cache"))
        );
        let (past, site) = of("1\n");
        assert!(
            matches!(&past, Between::Unseen(why) if why.contains("a host provides")),
            "{past:?}"
        );
        let mut own = site;
        for drive in &mut own.drives {
            drive.bus = Presence::Present("sata".to_owned());
        }
        assert_eq!(Between::find(&fake, &own, None), Between::Nothing);
    }
}
