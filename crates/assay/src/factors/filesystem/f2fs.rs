//! F2FS.

use super::FileSystem;
use crate::quantity::Bytes;

pub(super) static F2FS: FileSystem = FileSystem {
    name: "f2fs",
    summary: "a log-structured file system for flash",
    program: "mkfs.f2fs",
    package: "f2fs-tools",
    smallest: Bytes(64 << 20),
    arguments: |label, options| {
        let fixed = ["-f", "-q", "-t", "0", "-l", label].into_iter();
        fixed.chain(options.iter().copied()).map(str::to_owned).collect()
    },
};
