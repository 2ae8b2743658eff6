//! File systems, created on a device whose data the user gave up. One file per file system.

mod allowed;
mod btrfs;
mod compression;
mod exfat;
mod ext;
mod f2fs;
mod ntfs;
mod profile;
mod vfat;
mod volume;
mod xfs;

use assay_core::catalogue::About;
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;

use super::Choice;

pub use allowed::{Allowed, OptionValue};
pub(super) use compression::COMPRESSION_FACTOR;
pub use volume::FileSystems;

#[derive(Debug)]
pub struct FileSystem {
    pub name: &'static str,
    pub summary: &'static str,
    pub program: &'static str,
    pub package: &'static str,
    pub smallest: Bytes,
    pub options: &'static [Allowed],
    /// Options for native directory encryption; empty if not supported.
    pub encrypting: &'static [&'static str],
    /// Arguments before the device: label and the user's options, with no deferred initialization.
    pub arguments: fn(label: &str, options: &[&str]) -> Vec<String>,
}

fn plain(first: &[&str], label: &str, options: &[&str]) -> Vec<String> {
    [first, &[label], options].concat().into_iter().map(str::to_owned).collect()
}

pub static FILE_SYSTEMS: &[&FileSystem] = &[
    &ext::EXT2,
    &ext::EXT3,
    &ext::EXT4,
    &xfs::XFS,
    &btrfs::BTRFS,
    &f2fs::F2FS,
    &vfat::VFAT,
    &exfat::EXFAT,
    &ntfs::NTFS,
];

pub fn find(name: &str) -> Option<&'static FileSystem> {
    FILE_SYSTEMS.iter().find(|known| known.name == name).copied()
}

/// Options after which a power cut may cost more than the last moments.
const UNSAFE: &str =
    "^has_journal data=writeback nobarrier barrier=0 norecovery nodatasum treelog=off";
const UNSAFE_TOLD: &str = "these options disable the filesystem's protection against power loss";

fn caution(options: &str) -> Option<&'static str> {
    UNSAFE.split(' ').any(|option| options.contains(option)).then_some(UNSAFE_TOLD)
}

const DEFAULTS: &str = "defaults";

pub(super) static KIND_FACTOR: Choice = Choice {
    about: About {
        name: "filesystem",
        summary: "filesystem under test",
        text: "`ext2`, `ext3`, `ext4`, `xfs`, `btrfs`, `f2fs` or `vfat`. Assay creates it on the target device, whose \
               data are lost, and mounts it in a temporary directory. Assay recreates the filesystem per replicate, or \
               once per study if `recreate_per = \"study\"`. Assay discards no blocks and prevents background \
               initialization. btrfs writes files with checksums through the page cache (Linux 6.15 to 7.2); with \
               `mount_options = [\"nodatacow\"]`, it uses direct I/O like the other filesystems. Each level needs \
               mkfs.NAME and kernel support; Assay excludes and reports unavailable levels.",
    },
    example: "[\"ext4\", \"xfs\", \"btrfs\"]",
    judge: |level| {
        if find(level).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = FILE_SYSTEMS.iter().map(|known| known.name).collect();
        Err(format!("cannot create `{level}`; use one of {}", names.join(", ")))
    },
    observe: |view| Presence::Present(view.site.filesystem()),
    ..Choice::PLAIN
};

pub(super) static MKFS_OPTIONS_FACTOR: Choice = Choice {
    about: About {
        name: "mkfs_options",
        summary: "mkfs options",
        text: "As on the command line, such as `-b 4096 -O ^has_journal`, or `defaults`. Requires the factor \
               filesystem; if filesystem has several levels, list the valid combinations. Assay refuses options that \
               name another device or file, or set the label.",
    },
    example: "[\"defaults\", \"-O ^has_journal\"]",
    caution: |level| caution(level),
    judge: |level| {
        if level == DEFAULTS {
            return Ok(());
        }
        if level.starts_with('-') {
            return allowed::fault_of_all(FILE_SYSTEMS, level)
                .map_or(Ok(()), |reason| Err(format!("`{level}`: {reason}")));
        }
        Err(format!("`{level}` is not an option; example: -O ^has_journal, or {DEFAULTS}"))
    },
    observe: |_| Presence::absent("a filesystem does not report its mkfs options"),
    ..Choice::PLAIN
};

pub(super) static MOUNT_OPTIONS_FACTOR: Choice = Choice {
    about: About {
        name: "mount_options",
        summary: "mount options of the filesystem",
        text: "As in fstab, such as `noatime` or `defaults`. Levels with commas form a list: `--set \
               'mount_options=[\"defaults\", \"noatime,data=writeback\"]'`. Requires the factor filesystem. After \
               mounting, Assay verifies the options in the kernel's mount table. Assay refuses options that name \
               another device or file. Access times and journal modes affect many small files (preset small-files) \
               and synced writes (preset durability), hardly direct I/O to one file.",
    },
    example: "[\"relatime\", \"noatime\"]",
    caution: |level| caution(level),
    judge: |level| {
        if level.is_empty() || level.starts_with('-') || level.contains([' ', '\n']) {
            return Err(format!("`{level}`: use options as in fstab, such as noatime,lazytime"));
        }
        allowed::mount_fault(level).map_or(Ok(()), |reason| Err(format!("`{level}`: {reason}")))
    },
    observe: |view| match &view.site.mount {
        Presence::Present(mount) => Presence::Present(mount.options.join(",")),
        Presence::Absent(reason) => Presence::Absent(reason.clone()),
    },
    ..Choice::PLAIN
};
