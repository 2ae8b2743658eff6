//! btrfs.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::{Keys, Nothing, Value};
use super::{FileSystem, plain};

pub(super) static BTRFS: FileSystem = FileSystem {
    name: "btrfs",
    summary: "copy on write, checksums, snapshots, several devices",
    program: "mkfs.btrfs",
    package: "btrfs-progs",
    smallest: Bytes(114_294_784),
    options: &[
        ("-d", Value),
        ("--data", Value),
        ("-m", Value),
        ("--metadata", Value),
        ("-M", Nothing),
        ("--mixed", Nothing),
        ("--csum", Value),
        ("--checksum", Value),
        ("-n", Value),
        ("--nodesize", Value),
        ("-s", Value),
        ("--sectorsize", Value),
        ("-b", Value),
        ("--byte-count", Value),
        ("-U", Value),
        ("--uuid", Value),
        ("-O", Keys(FEATURES)),
        ("--features", Keys(FEATURES)),
        ("-R", Keys(FEATURES)),
        ("--runtime-features", Keys(FEATURES)),
    ],
    encrypting: &[],
    arguments: |label, options| plain(&["-f", "-q", "-K", "-L"], label, options),
};

const FEATURES: &str = "block-group-tree extref free-space-tree mixed-bg no-holes quota raid-stripe-tree raid1c34 raid56 \
     skinny-metadata squota zoned";
