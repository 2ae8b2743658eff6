//! exFAT.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::{Nothing, Value};
use super::{FileSystem, plain};

pub(super) static EXFAT: FileSystem = FileSystem {
    name: "exfat",
    summary: "the filesystem of large memory cards, without a 4 GiB file size limit",
    program: "mkfs.exfat",
    package: "exfatprogs",
    smallest: Bytes(1 << 20),
    options: &[("-b", Value), ("-c", Value), ("-f", Nothing), ("--pack-bitmap", Nothing)],
    encrypting: &[],
    arguments: |label, options| plain(&["-L"], label, options),
};
