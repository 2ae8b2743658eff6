//! btrfs.

use super::FileSystem;
use crate::quantity::Bytes;

pub(super) static BTRFS: FileSystem = FileSystem {
    name: "btrfs",
    summary: "copy on write, checksums, snapshots, several devices",
    program: "mkfs.btrfs",
    package: "btrfs-progs",
    smallest: Bytes(114_294_784),
    arguments: |label, options| {
        let fixed = ["-f", "-q", "-K", "-L", label].into_iter();
        fixed.chain(options.iter().copied()).map(str::to_owned).collect()
    },
};
