//! What can be recognised, a row each.

use super::Place::{End, Start};
use super::fields::{self, Field};
use super::{Kind, Place, Row};

const KIB: u64 = 1024;
pub(super) const ANY: Row = Row {
    name: "",
    kind: Kind::Other,
    places: &[Start(0)],
    at: 0,
    magics: &[],
    fits: None,
    uuid: Field::None,
    label: Field::None,
};

pub(super) const EXT: Row = Row {
    kind: Kind::FileSystem,
    places: &[Start(KIB)],
    at: 0x38,
    magics: &[b"\x53\xef"],
    uuid: Field::Dce(0x68),
    label: Field::Text(0x78, 16),
    ..ANY
};

pub(super) const FILE_SYSTEM: Row = Row { kind: Kind::FileSystem, ..ANY };
pub(super) const RAID: Row = Row { kind: Kind::Raid, ..ANY };
pub(super) const POOL: Row = Row { kind: Kind::VolumeManager, ..ANY };
pub(super) const TABLE: Row = Row { kind: Kind::PartitionTable, ..ANY };
const ENCRYPTION: Row = Row { kind: Kind::Encryption, ..ANY };
const MD1: Row = Row {
    name: "md",
    magics: &[b"\xfc\x4e\x2b\xa9"],
    fits: Some(fields::is_md1),
    uuid: Field::Dce(16),
    label: Field::Text(32, 32),
    ..RAID
};

const LUKS_PLACES: [Place; 10] = [
    Start(0),
    Start(16 * KIB),
    Start(32 * KIB),
    Start(64 * KIB),
    Start(128 * KIB),
    Start(256 * KIB),
    Start(512 * KIB),
    Start(1024 * KIB),
    Start(2048 * KIB),
    Start(4096 * KIB),
];

/// Marks at the ends of pages of 4 to 64 KiB.
macro_rules! swap_rows {
    ($($at:literal)*) => {[$(
        Row {
            name: "swap",
            kind: Kind::Swap,
            at: $at - 10,
            magics: &[b"SWAPSPACE2", b"SWAP-SPACE"],
            fits: Some(fields::is_swap),
            uuid: Field::Dce(0x40c),
            label: Field::Text(0x41c, 16),
            ..ANY
        },
        Row {
            name: "hibernation",
            kind: Kind::Swap,
            at: $at - 10,
            magics: &[b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0", b"LINHIB0001"],
            uuid: Field::Dce(0x40c),
            label: Field::Text(0x41c, 16),
            ..ANY
        },
    )*]};
}

const SWAP: [Row; 10] = swap_rows!(4096 8192 16384 32768 65536);

/// What is met often; `rare` holds the rest. Of rows with one name the first that is found counts. `gpt` stands before `dos`.
pub const ROWS: &[&Row] = &[
    &Row {
        name: "gpt",
        places: &[Start(512), Start(4096), End(512, 1), End(4096, 1)],
        magics: &[b"EFI PART"],
        fits: Some(fields::is_gpt),
        uuid: Field::Guid(56),
        ..TABLE
    },
    &Row {
        name: "dos",
        at: 510,
        magics: &[b"\x55\xaa"],
        fits: Some(fields::is_dos),
        uuid: Field::Word(440),
        ..TABLE
    },
    &Row {
        name: "mac",
        places: &[Start(512), Start(2048)],
        magics: &[b"PM\0\0"],
        fits: Some(fields::is_mac),
        ..TABLE
    },
    &Row { name: "sun", at: 508, magics: &[b"\xda\xbe"], fits: Some(fields::is_sun), ..TABLE },
    &Row {
        name: "bsd",
        places: &[Start(512), Start(64), Start(128)],
        magics: &[b"\x57\x45\x56\x82"],
        ..TABLE
    },
    &Row { name: "ext2", fits: Some(fields::is_ext2), ..EXT },
    &Row { name: "ext3", fits: Some(fields::is_ext3), ..EXT },
    &Row { name: "ext4", fits: Some(fields::is_ext4), ..EXT },
    &Row { name: "ext-journal", kind: Kind::Other, fits: Some(fields::is_ext_journal), ..EXT },
    &Row {
        name: "xfs",
        magics: &[b"XFSB"],
        uuid: Field::Dce(32),
        label: Field::Text(108, 12),
        ..FILE_SYSTEM
    },
    &Row {
        name: "xfs-journal",
        magics: &[b"\xfe\xed\xba\xbe"],
        fits: Some(fields::is_xfs_log),
        uuid: Field::Dce(304),
        ..ANY
    },
    &Row {
        name: "btrfs",
        places: &[Start(64 * KIB)],
        at: 0x40,
        magics: &[b"_BHRfS_M"],
        uuid: Field::Dce(0x20),
        label: Field::Text(0x12b, 256),
        ..FILE_SYSTEM
    },
    &Row {
        name: "f2fs",
        places: &[Start(KIB), Start(5 * KIB)],
        magics: &[b"\x10\x20\xf5\xf2"],
        uuid: Field::Dce(0x6c),
        label: Field::Wide(0x7c, 512),
        ..FILE_SYSTEM
    },
    &Row {
        name: "vfat",
        fits: Some(fields::is_fat),
        uuid: Field::Own(fields::fat_serial),
        label: Field::Own(fields::fat_label),
        ..FILE_SYSTEM
    },
    &Row {
        name: "exfat",
        at: 3,
        magics: &[b"EXFAT   "],
        uuid: Field::Short(0x64),
        label: Field::Own(fields::exfat_label),
        ..FILE_SYSTEM
    },
    &Row {
        name: "ntfs",
        at: 3,
        magics: &[b"NTFS    "],
        uuid: Field::Long(0x48),
        label: Field::Own(fields::ntfs_label),
        ..FILE_SYSTEM
    },
    &Row { name: "refs", at: 3, magics: &[b"ReFS\0\0\0\0"], ..FILE_SYSTEM },
    &SWAP[0],
    &SWAP[1],
    &SWAP[2],
    &SWAP[3],
    &SWAP[4],
    &SWAP[5],
    &SWAP[6],
    &SWAP[7],
    &SWAP[8],
    &SWAP[9],
    &Row {
        name: "luks",
        places: &LUKS_PLACES,
        magics: &[b"LUKS\xba\xbe", b"SKUL\xba\xbe"],
        uuid: Field::Text(168, 40),
        label: Field::Own(fields::luks_label),
        ..ENCRYPTION
    },
    &Row { name: "bitlocker", at: 3, magics: &[b"-FVE-FS-"], ..ENCRYPTION },
    &Row {
        name: "bitlocker",
        at: 424,
        magics: &[b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01"],
        ..ENCRYPTION
    },
    &Row { name: "dm-integrity", magics: &[b"integrt\0"], ..ENCRYPTION },
    &Row { name: "dm-verity", magics: &[b"verity\0\0"], uuid: Field::Dce(16), ..ENCRYPTION },
    &Row {
        name: "lvm",
        places: &[Start(0), Start(512), Start(1024), Start(1536)],
        magics: &[b"LABELONE"],
        fits: Some(fields::is_lvm2),
        uuid: Field::Own(fields::lvm_uuid),
        ..POOL
    },
    &Row { name: "lvm-snapshot", magics: &[b"SnAp"], ..POOL },
    &Row { places: &[Start(0), Start(4096), End(8192, 4096)], ..MD1 },
    &Row {
        name: "md",
        places: &[End(64 * KIB, 64 * KIB)],
        magics: &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
        fits: Some(fields::is_md0),
        uuid: Field::Own(fields::md0_uuid),
        ..RAID
    },
    &Row {
        name: "isw",
        places: &[End(1024, 1), End(8192, 1)],
        magics: &[b"Intel Raid ISM Cfg Sig. "],
        ..RAID
    },
    &Row {
        name: "ddf",
        places: &[End(512, 1), End(257 * 512, 1), End(4096, 1)],
        magics: &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
        ..RAID
    },
    &Row {
        name: "drbd",
        places: &[End(4096, 4096)],
        at: 60,
        magics: &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
        ..RAID
    },
    &Row {
        name: "bcache",
        places: &[Start(4096)],
        at: 24,
        magics: &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
        uuid: Field::Dce(40),
        label: Field::Text(72, 32),
        ..POOL
    },
    &Row {
        name: "bcachefs",
        places: &[Start(4096)],
        at: 24,
        magics: &[
            b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
            b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x82",
        ],
        uuid: Field::Dce(56),
        label: Field::Text(72, 32),
        ..FILE_SYSTEM
    },
    &Row {
        name: "zfs",
        places: &[Start(0), Start(256 * KIB), End(512 * KIB, 256 * KIB), End(256 * KIB, 256 * KIB)],
        fits: Some(fields::is_zfs),
        uuid: Field::Own(fields::zfs_pool_number),
        label: Field::Own(fields::zfs_pool_name),
        ..POOL
    },
    &Row {
        name: "stratis",
        places: &[Start(512), Start(9 * 512)],
        at: 4,
        magics: &[b"!Stra0tis\x86\xff\x02^\x41rh"],
        uuid: Field::Own(fields::stratis_uuid),
        ..POOL
    },
    &Row { name: "vdo", magics: &[b"dmvdo001"], ..POOL },
    &Row { name: "ceph", magics: &[b"bluestore block device"], ..POOL },
    &Row { name: "oracle-asm", at: 32, magics: &[b"ORCLDISK"], ..POOL },
    &Row {
        name: "iso9660",
        places: &[Start(32 * KIB)],
        at: 1,
        magics: &[b"CD001"],
        uuid: Field::Own(fields::iso_date),
        label: Field::Text(40, 32),
        ..FILE_SYSTEM
    },
    &Row {
        name: "udf",
        places: &[Start(34 * KIB), Start(36 * KIB), Start(38 * KIB), Start(40 * KIB)],
        at: 1,
        magics: &[b"NSR02", b"NSR03"],
        ..FILE_SYSTEM
    },
    &Row { name: "squashfs", magics: &[b"hsqs", b"sqsh"], ..FILE_SYSTEM },
    &Row { name: "cramfs", magics: &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"], ..FILE_SYSTEM },
    &Row { name: "romfs", magics: &[b"-rom1fs-"], ..FILE_SYSTEM },
    &Row {
        name: "erofs",
        places: &[Start(KIB)],
        magics: &[b"\xe2\xe1\xf5\xe0"],
        uuid: Field::Dce(48),
        label: Field::Text(64, 16),
        ..FILE_SYSTEM
    },
    &Row {
        name: "jfs",
        places: &[Start(32 * KIB)],
        magics: &[b"JFS1"],
        uuid: Field::Dce(136),
        label: Field::Text(152, 16),
        ..FILE_SYSTEM
    },
    &Row {
        name: "reiserfs",
        places: &[Start(64 * KIB), Start(8 * KIB)],
        at: 52,
        magics: &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"],
        uuid: Field::Dce(84),
        label: Field::Text(100, 16),
        ..FILE_SYSTEM
    },
    &Row {
        name: "reiser4",
        places: &[Start(64 * KIB)],
        magics: &[b"ReIsEr4"],
        uuid: Field::Dce(20),
        label: Field::Text(36, 16),
        ..FILE_SYSTEM
    },
    &Row {
        name: "nilfs2",
        places: &[Start(KIB), End(4096, 4096)],
        at: 6,
        magics: &[b"\x34\x34"],
        fits: Some(fields::is_nilfs),
        uuid: Field::Dce(152),
        label: Field::Text(168, 80),
        ..FILE_SYSTEM
    },
    &Row {
        name: "ocfs2",
        places: &[Start(KIB), Start(2 * KIB), Start(4 * KIB), Start(8 * KIB)],
        magics: &[b"OCFSV2"],
        ..FILE_SYSTEM
    },
    &Row {
        name: "gfs2",
        places: &[Start(64 * KIB)],
        magics: &[b"\x01\x16\x19\x70"],
        fits: Some(fields::is_gfs2),
        ..FILE_SYSTEM
    },
    &Row {
        name: "ufs",
        places: &[Start(8 * KIB), Start(64 * KIB), Start(256 * KIB)],
        at: 1372,
        magics: &[b"\x19\x01\x54\x19", b"\x54\x19\x01\x00", b"\x00\x01\x19\x54"],
        ..FILE_SYSTEM
    },
    &Row {
        name: "apfs",
        at: 32,
        magics: &[b"NXSB"],
        fits: Some(fields::is_apfs),
        uuid: Field::Dce(72),
        ..FILE_SYSTEM
    },
    &Row {
        name: "hfsplus",
        places: &[Start(KIB)],
        magics: &[b"H+", b"HX"],
        fits: Some(fields::is_hfs_plus),
        ..FILE_SYSTEM
    },
    &Row {
        name: "hfs",
        places: &[Start(KIB)],
        magics: &[b"BD"],
        fits: Some(fields::is_hfs),
        ..FILE_SYSTEM
    },
    &Row {
        name: "minix",
        places: &[Start(KIB)],
        at: 16,
        magics: &[b"\x7f\x13", b"\x8f\x13", b"\x68\x24", b"\x78\x24"],
        fits: Some(fields::is_minix),
        ..FILE_SYSTEM
    },
    &Row {
        name: "minix",
        places: &[Start(KIB)],
        at: 24,
        magics: &[b"\x5a\x4d"],
        fits: Some(fields::is_minix3),
        ..FILE_SYSTEM
    },
];
