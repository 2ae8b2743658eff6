//! XFS.

use super::FileSystem;
use crate::quantity::Bytes;

pub(super) static XFS: FileSystem = FileSystem {
    name: "xfs",
    summary: "a journalled file system for large files and many processors",
    program: "mkfs.xfs",
    package: "xfsprogs",
    smallest: Bytes(300 << 20),
    arguments: |label, options| {
        let fixed = ["-f", "-q", "-K", "-L", label].into_iter();
        fixed.chain(options.iter().copied()).map(str::to_owned).collect()
    },
};
