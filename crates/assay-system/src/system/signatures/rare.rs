//! What is seldom met: members of arrays that firmware makes, file systems of other systems, second
//! copies of what others recognise by their first.
//!
//! Where firmware keeps its notes is told by the programs that assemble such arrays, where file systems keep theirs by the systems that they belong to.
//! `tests/fixtures/signatures` holds one of each with what `blkid` says of it.

use super::Place::{self, End, Start};
use super::fields::{self, Field};
use super::table::{ANY, EXT, FILE_SYSTEM, POOL, RAID, TABLE};
use super::{Kind, Row};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// The unit in which firmware counts.
const SECTOR: u64 = 512;
/// The last sector of a drive.
const LAST: [Place; 1] = [End(SECTOR, SECTOR)];

/// A sector by its number from the end.
const fn from_end(sectors: u64) -> Place {
    End(sectors * SECTOR, SECTOR)
}

/// Promise's firmware was sold for drives of many geometries: each puts its notes elsewhere.
const PROMISE: [Place; 13] = [
    from_end(16),
    from_end(63),
    from_end(255),
    from_end(256),
    from_end(399),
    from_end(591),
    from_end(675),
    from_end(735),
    from_end(911),
    from_end(951),
    from_end(974),
    from_end(991),
    from_end(3087),
];

/// Bytes of a group of blocks: as many blocks as fit a map of one block, at most 65,528.
const fn group(block: u64) -> u64 {
    let blocks = 8 * block;
    block * if blocks > 65_528 && block > 4 * KIB { 65_528 } else { blocks }
}

/// Where the second superblocks of ext lie: at the start of the groups 1, 3, 5, 7 and 9, for each
/// size of blocks. With blocks of 1 KiB the first one belongs to no group. The last two are those of
/// `bigalloc` with clusters of 16 blocks and of 16 KiB, and of larger blocks.
const EXT_COPIES: [Place; 22] = [
    Start(group(KIB) + KIB),
    Start(3 * group(KIB) + KIB),
    Start(5 * group(KIB) + KIB),
    Start(7 * group(KIB) + KIB),
    Start(9 * group(KIB) + KIB),
    Start(group(2 * KIB)),
    Start(3 * group(2 * KIB)),
    Start(5 * group(2 * KIB)),
    Start(7 * group(2 * KIB)),
    Start(9 * group(2 * KIB)),
    Start(group(4 * KIB)),
    Start(3 * group(4 * KIB)),
    Start(5 * group(4 * KIB)),
    Start(7 * group(4 * KIB)),
    Start(9 * group(4 * KIB)),
    Start(group(8 * KIB)),
    Start(group(16 * KIB)),
    Start(group(32 * KIB)),
    Start(group(64 * KIB)),
    Start(16 * group(KIB) + KIB),
    Start(16 * group(2 * KIB)),
    Start(16 * group(4 * KIB)),
];

const EXT_COPY: Row = Row { places: &EXT_COPIES, ..EXT };

/// Where the superblock of System V lies: on drives, and behind the boot tracks of floppies.
const SYSV: [Place; 4] =
    [Start(512), Start(9 * KIB + 512), Start(15 * KIB + 512), Start(18 * KIB + 512)];

/// Rows behind those of [`super::table::ROWS`].
pub const ROWS: &[&Row] = &[
    &Row { name: "aix", magics: &[b"\xc9\xc2\xd4\xc1"], ..TABLE },
    &Row { name: "sgi", magics: &[b"\x0b\xe5\xa9\x41"], fits: Some(fields::is_sgi), ..TABLE },
    &Row { name: "atari", fits: Some(fields::is_atari), ..TABLE },
    &Row { name: "ultrix", at: 16 * KIB - 72, magics: &[b"\x57\x29\x03\x00"], ..TABLE },
    &Row { name: "ext2", fits: Some(fields::is_ext2_copy), ..EXT_COPY },
    &Row { name: "ext3", fits: Some(fields::is_ext3_copy), ..EXT_COPY },
    &Row { name: "ext4", fits: Some(fields::is_ext4_copy), ..EXT_COPY },
    &Row {
        name: "adaptec",
        places: &LAST,
        magics: &[b"\x37\xfc\x4d\x1e"],
        fits: Some(fields::is_adaptec),
        ..RAID
    },
    &Row {
        name: "highpoint",
        places: &[Start(9 * SECTOR)],
        at: 32,
        magics: &[b"\xf0\x16\x78\x5a", b"\xfd\x16\x78\x5a"],
        ..RAID
    },
    &Row {
        name: "highpoint",
        places: &[from_end(11)],
        magics: &[b"\xf3\x16\x78\x5a", b"\xfd\x16\x78\x5a"],
        ..RAID
    },
    &Row {
        name: "jmicron",
        places: &LAST,
        magics: &[b"JM"],
        fits: Some(fields::is_jmicron),
        ..RAID
    },
    &Row { name: "lsi", places: &LAST, magics: &[b"$XIDE$"], ..RAID },
    &Row { name: "nvidia", places: &[from_end(2)], magics: &[b"NVIDIA"], ..RAID },
    &Row { name: "promise", places: &PROMISE, magics: &[b"Promise Technology, Inc."], ..RAID },
    &Row {
        name: "silicon-image",
        places: &LAST,
        at: 0x60,
        magics: &[b"\0\0\0\x2f"],
        fits: Some(fields::is_silicon_image),
        ..RAID
    },
    &Row { name: "via", places: &LAST, magics: &[b"\x55\xaa"], fits: Some(fields::is_via), ..RAID },
    &Row { name: "drbdmanage", magics: &[b"$DRBDmgr=q"], uuid: Field::Text(11, 32), ..POOL },
    &Row { name: "drbdproxy", magics: &[b"DRBDdlh*"], uuid: Field::Dce(16), ..POOL },
    &Row {
        name: "lvm1",
        magics: &[b"HM\x01\0", b"HM\x02\0"],
        uuid: Field::Own(fields::lvm1_uuid),
        ..POOL
    },
    &Row {
        name: "mpool",
        magics: &[b"mpoolDev"],
        uuid: Field::Dce(40),
        label: Field::Text(8, 32),
        ..POOL
    },
    &Row { name: "vmfs-member", places: &[Start(MIB)], magics: &[b"\x0d\xd0\x01\xc0"], ..POOL },
    &Row { name: "vmfs", places: &[Start(2 * MIB)], magics: &[b"\x5e\xf1\xab\x2f"], ..FILE_SYSTEM },
    &Row { name: "ubi", magics: &[b"UBI#"], ..POOL },
    &Row { name: "ubifs", magics: &[b"\x31\x18\x10\x06"], ..FILE_SYSTEM },
    &Row {
        name: "zonefs",
        magics: &[b"SFOZ"],
        uuid: Field::Dce(72),
        label: Field::Text(8, 64),
        ..FILE_SYSTEM
    },
    &Row {
        name: "befs",
        places: &[Start(0), Start(512)],
        at: 32,
        magics: &[b"BFS1", b"1SFB"],
        fits: Some(fields::is_befs),
        label: Field::Text(0, 32),
        ..FILE_SYSTEM
    },
    &Row { name: "bfs", magics: &[b"\xce\xfa\xad\x1b"], label: Field::Text(34, 6), ..FILE_SYSTEM },
    &Row {
        name: "exfs",
        magics: &[b"EXFS"],
        uuid: Field::Dce(32),
        label: Field::Text(108, 12),
        ..FILE_SYSTEM
    },
    &Row {
        name: "gfs",
        places: &[Start(64 * KIB)],
        magics: &[b"\x01\x16\x19\x70"],
        fits: Some(fields::is_gfs),
        ..FILE_SYSTEM
    },
    &Row { name: "hpfs", places: &[Start(8 * KIB)], magics: &[b"\x49\xe8\x95\xf9"], ..FILE_SYSTEM },
    &Row { name: "iso9660", places: &[Start(32 * KIB)], at: 9, magics: &[b"CDROM"], ..FILE_SYSTEM },
    &Row { name: "nss", places: &[Start(4 * KIB)], magics: &[b"SPB5"], ..FILE_SYSTEM },
    &Row { name: "ocfs", places: &[Start(8 * KIB)], magics: &[b"OracleCFS"], ..FILE_SYSTEM },
    &Row {
        name: "sysv",
        places: &SYSV,
        at: 504,
        magics: &[b"\x20\x7e\x18\xfd", b"\xfd\x18\x7e\x20"],
        label: Field::Text(440, 6),
        ..FILE_SYSTEM
    },
    &Row {
        name: "vxfs",
        places: &[Start(KIB), Start(8 * KIB)],
        magics: &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"],
        ..FILE_SYSTEM
    },
    &Row {
        name: "xenix",
        places: &[Start(KIB)],
        at: 1016,
        magics: &[b"\x44\x55\x2b\0", b"\0\x2b\x55\x44"],
        label: Field::Text(632, 6),
        ..FILE_SYSTEM
    },
    // Where others look for it.
    &Row {
        name: "xenix",
        places: &[Start(KIB)],
        at: 1024,
        magics: &[b"\x44\x55\x2b", b"\x2b\x55\x44"],
        label: Field::Text(632, 6),
        ..FILE_SYSTEM
    },
    // The image of a machine that TuxOnIce put to sleep.
    &Row {
        name: "hibernation",
        kind: Kind::Swap,
        magics: &[b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"],
        ..ANY
    },
    // Second boot sectors and headers, by which what lost its first is brought back.
    &Row {
        name: "vfat",
        places: &[Start(6 * SECTOR)],
        fits: Some(fields::is_fat32_copy),
        uuid: Field::Own(fields::fat_serial),
        label: Field::Own(fields::fat_label),
        ..FILE_SYSTEM
    },
    &Row {
        name: "exfat",
        places: &[Start(12 * SECTOR)],
        at: 3,
        magics: &[b"EXFAT   "],
        uuid: Field::Short(0x64),
        ..FILE_SYSTEM
    },
    &Row {
        name: "ntfs",
        places: &LAST,
        at: 3,
        magics: &[b"NTFS    "],
        uuid: Field::Long(0x48),
        ..FILE_SYSTEM
    },
    &Row {
        name: "btrfs",
        places: &[Start(64 * MIB), Start(256 * 1024 * MIB)],
        at: 0x40,
        magics: &[b"_BHRfS_M"],
        uuid: Field::Dce(0x20),
        label: Field::Text(0x12b, 256),
        ..FILE_SYSTEM
    },
    &Row {
        name: "hfsplus",
        places: &[End(KIB, SECTOR)],
        magics: &[b"H+", b"HX"],
        fits: Some(fields::is_hfs_plus),
        ..FILE_SYSTEM
    },
];
