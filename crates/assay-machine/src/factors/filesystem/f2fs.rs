//! F2FS.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::{Keys, Nothing, Power, Value};
use super::{FileSystem, plain};

pub(super) static F2FS: FileSystem = FileSystem {
    name: "f2fs",
    summary: "a log-structured filesystem for flash",
    program: "mkfs.f2fs",
    package: "f2fs-tools",
    smallest: Bytes(64 << 20),
    options: &[
        ("-a", Value),
        ("-b", Power),
        ("-C", Value),
        ("-e", Value),
        ("-E", Value),
        ("-i", Nothing),
        ("-o", Value),
        ("-O", Keys(FEATURES)),
        ("-r", Nothing),
        ("-s", Value),
        ("-w", Value),
        ("-z", Value),
    ],
    encrypting: &["-O", "encrypt"],
    arguments: |label, options| plain(&["-f", "-q", "-t", "0", "-l"], label, options),
};

const FEATURES: &str = "casefold compression encrypt extra_attr flexible_inline_xattr inode_checksum inode_crtime lost_found \
     project_quota quota sb_checksum verity";
