//! XFS.

use assay_core::quantity::Bytes;

use super::allowed::OptionValue::Keys;
use super::{FileSystem, plain};

pub(super) static XFS: FileSystem = FileSystem {
    name: "xfs",
    summary: "a journaling filesystem for large files and many CPUs",
    program: "mkfs.xfs",
    package: "xfsprogs",
    smallest: Bytes(300 << 20),
    options: &[
        ("-b", Keys("size")),
        ("-m", Keys("bigtime crc finobt inobtcount reflink rmapbt uuid")),
        (
            "-d",
            Keys("agcount agsize cowextsize extszinherit noalign sectsize size su sunit sw swidth"),
        ),
        ("-i", Keys("align attr maxpct nrext64 perblock projid32bit size sparse")),
        ("-l", Keys("agnum internal lazy-count sectsize size su sunit version")),
        ("-n", Keys("ftype parent size version")),
        ("-r", Keys("extsize")),
        ("-s", Keys("size")),
    ],
    encrypting: &[],
    arguments: |label, options| plain(&["-f", "-q", "-K", "-L"], label, options),
};
