//! FAT with long names.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::{Nothing, Value};
use super::{FileSystem, plain};

pub(super) static VFAT: FileSystem = FileSystem {
    name: "vfat",
    summary: "the filesystem of memory cards, readable on every operating system",
    program: "mkfs.vfat",
    package: "dosfstools",
    smallest: Bytes(1 << 20),
    options: &[
        ("-a", Nothing),
        ("-b", Value),
        ("-D", Value),
        ("-f", Value),
        ("-F", Value),
        ("-h", Value),
        ("-i", Value),
        ("--invariant", Nothing),
        ("-M", Value),
        ("-r", Value),
        ("-R", Value),
        ("-s", Value),
        ("-S", Value),
    ],
    encrypting: &[],
    arguments: |label, options| plain(&["-n"], label, options),
};
