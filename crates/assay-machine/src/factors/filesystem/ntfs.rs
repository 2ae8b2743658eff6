//! NTFS, by the driver of the kernel: not by a program that serves it.

use assay_core::quantity::Bytes;

use super::FileSystem;
use super::allowed::Takes::{Nothing, Value};

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
    arguments: |label, options| {
        let fixed = ["-Q", "-q", "-L", label].into_iter();
        fixed.chain(options.iter().copied()).map(str::to_owned).collect()
    },
};
