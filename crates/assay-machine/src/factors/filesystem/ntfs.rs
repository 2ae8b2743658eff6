//! NTFS, by the driver of the kernel: not by a program that serves it.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::{Nothing, Value};
use super::{FileSystem, plain};

pub(super) static NTFS: FileSystem = FileSystem {
    name: "ntfs3",
    summary: "NTFS with the kernel's own driver",
    program: "mkfs.ntfs",
    package: "ntfs-3g",
    smallest: Bytes(8 << 20),
    options: &[
        ("-c", Value),
        ("-C", Nothing),
        ("-H", Value),
        ("-I", Nothing),
        ("-s", Value),
        ("-S", Value),
        ("-T", Nothing),
        ("-z", Value),
    ],
    encrypting: &[],
    arguments: |label, options| plain(&["-Q", "-q", "-L"], label, options),
};
