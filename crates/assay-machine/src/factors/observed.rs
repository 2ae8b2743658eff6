//! Factors set by the operator and only observed by Assay: other hardware, another kernel, another host. Run a study
//! with such a factor once per level, and compare the results.

use std::path::Path;

use crate::system::{machine, sysfs};
use assay_core::{catalogue::About, presence::Presence};

use super::{Factor, Role, View};

pub(super) struct ObservedFactor {
    about: About,
    example: &'static str,
    /// Valid levels; any word if empty.
    words: &'static [&'static str],
    look: fn(&View<'_>) -> Presence<String>,
}

impl ObservedFactor {
    const fn new(
        name: &'static str,
        summary: &'static str,
        text: &'static str,
        example: &'static str,
        words: &'static [&'static str],
        look: fn(&View<'_>) -> Presence<String>,
    ) -> Self {
        Self { about: About { name, summary, text }, example, words, look }
    }
}

pub(super) static PLATFORM: ObservedFactor = ObservedFactor::new(
    "platform",
    "bare metal or hypervisor",
    "`bare-metal`, or the hypervisor's name as `assay doctor` shows it, such as `kvm`.",
    "[\"bare-metal\", \"kvm\"]",
    &[],
    |view| {
        let platform = machine::machine(view.system).virtualisation;
        platform.map(|name| if name == "none" { "bare-metal".to_owned() } else { name })
    },
);

pub(super) static DRIVE_KIND: ObservedFactor = ObservedFactor::new(
    "drive_type",
    "hard disk or flash",
    "`ssd` or `hdd`, as the kernel reports for the drives below the target.",
    "[\"ssd\", \"hdd\"]",
    &["ssd", "hdd"],
    drive_kind,
);

pub(super) static ENCRYPTION: ObservedFactor = ObservedFactor::new(
    "encrypted",
    "whether the target's device is encrypted",
    "`yes` if dm-crypt is between the target and its drives, otherwise `no`. Assay does not detect encryption by a \
         drive or filesystem.",
    "[\"no\", \"yes\"]",
    &["yes", "no"],
    |view| {
        if view.site.layers.is_empty() {
            return Presence::absent("the devices below the target are unknown");
        }
        let crypt = view.site.layers.iter().any(|layer| layer.kind == "crypt");
        Presence::Present(if crypt { "yes" } else { "no" }.to_owned())
    },
);

pub(super) static KERNEL: ObservedFactor = ObservedFactor::new(
    "kernel",
    "the running kernel",
    "The kernel release, as `uname -r` prints it.",
    "[\"6.12.1\", \"6.18.0\"]",
    &[],
    |view| machine::machine(view.system).kernel,
);

pub(super) static ROOT_DEVICE: ObservedFactor = ObservedFactor::new(
    "root_device",
    "root device on the kernel command line",
    "The value of `root=`.",
    "[\"/dev/sda2\", \"/dev/nvme0n1p2\"]",
    &[],
    |view| {
        let line = sysfs::text(view.system, Path::new("/proc/cmdline"));
        sysfs::parsed(line, |line| {
            let root = line.split_whitespace().rev().find_map(|word| word.strip_prefix("root="));
            root.map(str::to_owned)
        })
    },
);

pub(super) static LABEL: ObservedFactor = ObservedFactor::new(
    "label",
    "label of your choice",
    "Any text; Assay does not verify it. Use `assay note boot` to label boots.",
    "[\"old disk\", \"new disk\"]",
    &[],
    |_| Presence::absent("undetectable; measure each setup and use assay compare"),
);

fn drive_kind(view: &View<'_>) -> Presence<String> {
    let kinds = view.site.drives.iter().map(|drive| drive.rotational.value().copied());
    let kinds: Option<Vec<bool>> = kinds.collect();
    match kinds.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|other| other == first) => {
            Presence::Present(if *first { "hdd" } else { "ssd" }.to_owned())
        }
        Some([_, ..]) => Presence::absent("the drives below the target differ"),
        _ => Presence::absent("the drives do not report their type"),
    }
}

impl Factor for ObservedFactor {
    fn about(&self) -> &About {
        &self.about
    }

    fn example(&self) -> &'static str {
        self.example
    }

    fn role(&self) -> Role {
        Role::Observed
    }

    fn judge(&self, level: &str) -> Result<(), String> {
        if self.words.is_empty() || self.words.contains(&level) {
            return Ok(());
        }
        Err(format!("unknown level `{level}`; use {}", self.words.join(" or ")))
    }

    fn observe(&self, _: &str, view: &View<'_>) -> Presence<String> {
        (self.look)(view)
    }
}
