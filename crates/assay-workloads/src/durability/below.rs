//! The storage of a program above the logged drive: the drive of a virtual machine, or a file on its file system.

use crate::keys::names;
use assay_machine::system::powered::VmNeeds;
use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// Where a program writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum On {
    #[default]
    Target,
    /// The drive of a virtual machine.
    Drive,
    /// A file on a file system of that drive.
    Ext4,
    Xfs,
    Btrfs,
}

names!(On: Target = "target", Drive = "drive", Ext4 = "ext4", Xfs = "xfs", Btrfs = "btrfs");

impl On {
    pub const fn has_files(self) -> bool {
        matches!(self, Self::Ext4 | Self::Xfs | Self::Btrfs)
    }

    /// Size of the drive in bytes: XFS and btrfs need a larger drive.
    pub const fn drive_bytes(self) -> u64 {
        match self {
            Self::Target | Self::Drive | Self::Ext4 => 96 * MIB,
            Self::Xfs | Self::Btrfs => 384 * MIB,
        }
    }

    /// The command that creates the file system on a drive; `None` for a raw drive.
    pub fn mkfs_command(self, drive: &str) -> Option<Vec<String>> {
        let words: &[&str] = match self {
            Self::Target | Self::Drive => return None,
            Self::Ext4 => {
                // On small drives, mkfs defaults to smaller blocks: records would cross the drive's atomic units.
                const NOT_LAZY: &str = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
                &["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", NOT_LAZY]
            }
            Self::Xfs => &["mkfs.xfs", "-q", "-f", "-K"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-f", "-K"],
        };
        Some(words.iter().copied().chain([drive]).map(str::to_owned).collect())
    }

    /// The command that checks the file system read-only, with the drive if given; `None` for a raw drive.
    pub fn fsck_command(self, drive: Option<&str>) -> Option<Vec<String>> {
        let words: &[&str] = match self {
            Self::Target | Self::Drive => return None,
            Self::Ext4 => &["e2fsck", "-f", "-n"],
            Self::Xfs => &["xfs_repair", "-n"],
            Self::Btrfs => &["btrfs", "check", "--readonly"],
        };
        Some(words.iter().copied().chain(drive).map(str::to_owned).collect())
    }

    /// Programs (each with its package) and kernel modules that the file system needs.
    pub fn vm_needs(self) -> VmNeeds {
        let (programs, modules) = match self {
            Self::Target | Self::Drive => (vec![], vec![]),
            Self::Ext4 => (vec![("mkfs.ext4", "e2fsprogs"), ("e2fsck", "e2fsprogs")], vec!["ext4"]),
            Self::Xfs => (vec![("mkfs.xfs", "xfsprogs"), ("xfs_repair", "xfsprogs")], vec!["xfs"]),
            Self::Btrfs => {
                (vec![("mkfs.btrfs", "btrfs-progs"), ("btrfs", "btrfs-progs")], vec!["btrfs"])
            }
        };
        VmNeeds { programs, modules, ..VmNeeds::default() }
    }

    /// Describes the place and its mount options; `has_directory`: the program works in a directory.
    pub fn words(self, mounted: &str, has_directory: bool) -> String {
        let what = match self {
            Self::Target => return "the target".to_owned(),
            Self::Drive => return "the drive of a virtual machine".to_owned(),
            drive if has_directory => format!("{} in a virtual machine", drive.name()),
            drive => format!("a file of {} in a virtual machine", drive.name()),
        };
        if mounted.is_empty() { what } else { format!("{what} (mounted with {mounted})") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filesystems_are_made_and_checked_by_their_programs() {
        for on in On::ALL {
            let made = on.mkfs_command("/dev/x");
            let inspected = on.fsck_command(Some("/dev/x"));
            assert_eq!((made.is_some(), inspected.is_some()), (on.has_files(), on.has_files()));
            let Some(made) = made else { continue };
            assert!(made.last().is_some_and(|own| own == "/dev/x"));
            let wanted = on.vm_needs();
            let programs: Vec<&str> = wanted.programs.iter().map(|own| own.0).collect();
            assert_eq!(programs, [made[0].as_str(), inspected.unwrap()[0].as_str()]);
            assert_eq!(wanted.modules, [on.name()]);
        }
    }
}
