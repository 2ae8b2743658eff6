//! Fields of on-disk structures, and what must hold of a structure besides its mark.

use std::fmt::Write;
use std::io;

use super::Read;

const KIB: u64 = 1024;

/// A structure on a device, by its first byte.
pub struct Block<'a> {
    /// Bytes of the device.
    pub length: u64,
    /// Reads the device.
    pub read: &'a Read<'a>,
    /// First byte of the structure.
    pub offset: u64,
}

impl Block<'_> {
    /// Bytes of the structure; what lies past the end of the device reads as zeros.
    pub fn bytes(&self, at: u64, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let start = self.offset.saturating_add(at);
        let there = self.length.saturating_sub(start).min(count as u64) as usize;
        if let Some(part) = bytes.get_mut(..there).filter(|part| !part.is_empty()) {
            (self.read)(start, part)?;
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&self, at: u64) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(at, N)?);
        Ok(array)
    }

    fn u8(&self, at: u64) -> io::Result<u8> {
        Ok(u8::from_le_bytes(self.array(at)?))
    }

    fn u16(&self, at: u64) -> io::Result<u16> {
        Ok(u16::from_le_bytes(self.array(at)?))
    }

    fn u32(&self, at: u64) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    fn u64(&self, at: u64) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array(at)?))
    }
}

/// Where a UUID or a label lies and how it is written.
#[derive(Clone, Copy)]
pub enum Field {
    /// There is none, or it takes more than a field to find.
    None,
    /// 16 bytes as they come.
    Dce(u64),
    /// 16 bytes, the first three parts little-endian.
    Guid(u64),
    /// A serial number of 4 bytes: `1234-ABCD`.
    Short(u64),
    /// A number of 4 bytes: `1234abcd`.
    Word(u64),
    /// A serial number of 8 bytes: `0123456789ABCDEF`.
    Long(u64),
    /// Text of at most so many bytes.
    Text(u64, usize),
    /// UTF-16, little-endian, of at most so many bytes.
    Wide(u64, usize),
    /// Anything else.
    Own(fn(&Block<'_>) -> io::Result<Option<String>>),
}

impl Field {
    /// What stands there; none where it is empty.
    pub fn of(self, block: &Block<'_>) -> io::Result<Option<String>> {
        Ok(match self {
            Self::None => None,
            Self::Dce(at) => dce(block.array(at)?),
            Self::Guid(at) => dce(swapped(block.array(at)?)),
            Self::Short(at) => {
                let serial = block.u32(at)?;
                (serial != 0).then(|| format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff))
            }
            Self::Word(at) => Some(block.u32(at)?).filter(|n| *n != 0).map(|n| format!("{n:08x}")),
            Self::Long(at) => Some(block.u64(at)?).filter(|n| *n != 0).map(|n| format!("{n:016X}")),
            Self::Text(at, count) => text(&block.bytes(at, count)?),
            Self::Wide(at, count) => wide(&block.bytes(at, count)?),
            Self::Own(read) => read(block)?,
        })
    }
}

fn dce(bytes: [u8; 16]) -> Option<String> {
    if bytes == [0; 16] {
        return None;
    }
    let mut written = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        let dash = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(written, "{dash}{byte:02x}");
    }
    Some(written)
}

fn swapped(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[0..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(bytes.get(..end)?);
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

fn wide(bytes: &[u8]) -> Option<String> {
    let units = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    text(String::from_utf16_lossy(&units).as_bytes())
}

const JOURNAL: u32 = 0x4;
const JOURNAL_DEVICE: u32 = 0x8;

/// Compatible, incompatible and read-only compatible features of an ext superblock.
fn features(ext: &Block<'_>) -> io::Result<[u32; 3]> {
    Ok([ext.u32(0x5c)?, ext.u32(0x60)?, ext.u32(0x64)?])
}

/// What `blkid` calls ext2: no journal and nothing that ext2 does not know.
pub fn is_ext2(ext: &Block<'_>) -> io::Result<bool> {
    let [compatible, incompatible, read_only] = features(ext)?;
    Ok(compatible & JOURNAL == 0 && incompatible & !0x12 == 0 && read_only & !0x7 == 0)
}

/// A journal and nothing that ext3 does not know.
pub fn is_ext3(ext: &Block<'_>) -> io::Result<bool> {
    let [compatible, incompatible, read_only] = features(ext)?;
    Ok(compatible & JOURNAL != 0 && incompatible & !0x16 == 0 && read_only & !0x7 == 0)
}

/// The journal of an ext file system on another device.
pub fn is_ext_journal(ext: &Block<'_>) -> io::Result<bool> {
    Ok(features(ext)?[1] & JOURNAL_DEVICE != 0)
}

/// Any other ext.
pub fn is_ext4(ext: &Block<'_>) -> io::Result<bool> {
    Ok(!is_ext2(ext)? && !is_ext3(ext)? && !is_ext_journal(ext)?)
}

/// A copy of an ext superblock says which group of blocks it begins, and that is where it lies.
fn is_ext_copy(copy: &Block<'_>) -> io::Result<bool> {
    let (group, shift) = (u64::from(copy.u16(0x5a)?), copy.u32(0x18)?);
    let (first, blocks) = (u64::from(copy.u32(0x14)?), u64::from(copy.u32(0x20)?));
    let start = (first + group * blocks) << (10 + shift.min(6));
    Ok(group > 0 && shift <= 6 && start == copy.offset)
}

/// A copy of that of ext2.
pub fn is_ext2_copy(copy: &Block<'_>) -> io::Result<bool> {
    Ok(is_ext_copy(copy)? && is_ext2(copy)?)
}

/// A copy of that of ext3.
pub fn is_ext3_copy(copy: &Block<'_>) -> io::Result<bool> {
    Ok(is_ext_copy(copy)? && is_ext3(copy)?)
}

/// A copy of that of ext4.
pub fn is_ext4_copy(copy: &Block<'_>) -> io::Result<bool> {
    Ok(is_ext_copy(copy)? && is_ext4(copy)?)
}

/// The parameter block of a FAT, with the name of one or the end mark of a boot sector.
pub fn is_fat(boot: &Block<'_>) -> io::Result<bool> {
    let (sector, cluster) = (boot.u16(11)?, boot.u8(13)?);
    let media = boot.u8(21)?;
    let plausible = sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && cluster.is_power_of_two()
        && boot.u16(14)? != 0
        && (1..=4).contains(&boot.u8(16)?)
        && (media == 0xf0 || media >= 0xf8);
    let named = [boot.bytes(0x36, 3)?, boot.bytes(0x52, 3)?].iter().any(|name| name == b"FAT");
    let jumps = [0xeb, 0xe9].contains(&boot.u8(0)?);
    Ok(plausible && (named || (jumps && boot.u16(510)? == 0xaa55)))
}

/// A FAT32 has no root directory of fixed size, and its extended fields lie elsewhere.
fn is_fat32(boot: &Block<'_>) -> io::Result<bool> {
    Ok(boot.u16(22)? == 0)
}

/// The second boot sector of a FAT32; the other FATs have none.
pub fn is_fat32_copy(boot: &Block<'_>) -> io::Result<bool> {
    Ok(is_fat(boot)? && is_fat32(boot)? && boot.bytes(0x52, 5)? == b"FAT32")
}

/// Serial number of a FAT.
pub fn fat_serial(boot: &Block<'_>) -> io::Result<Option<String>> {
    Field::Short(if is_fat32(boot)? { 0x43 } else { 0x27 }).of(boot)
}

/// Label of a FAT, from its boot sector.
pub fn fat_label(boot: &Block<'_>) -> io::Result<Option<String>> {
    let label = Field::Text(if is_fat32(boot)? { 0x47 } else { 0x2b }, 11).of(boot)?;
    Ok(label.filter(|label| label != "NO NAME"))
}

/// Label of an exFAT: an entry of its root directory, which the boot sector names ("exFAT File System
/// Specification", 3.1 and 7.3).
pub fn exfat_label(boot: &Block<'_>) -> io::Result<Option<String>> {
    const ENTRY: usize = 32;
    const LABEL: u8 = 0x83;
    let (sector, cluster) = (u32::from(boot.u8(0x6c)?), u32::from(boot.u8(0x6d)?));
    if sector > 12 || sector + cluster > 25 {
        return Ok(None);
    }
    let heap = u64::from(boot.u32(0x58)?) << sector;
    let before = u64::from(boot.u32(0x60)?).saturating_sub(2) << (sector + cluster);
    let root = boot.bytes(heap + before, 16 * ENTRY)?;
    let entry = root.chunks_exact(ENTRY).find(|entry| entry[0] == LABEL);
    Ok(entry.and_then(|entry| wide(entry.get(2..2 + 2 * usize::from(entry[1]).min(11))?)))
}

/// Label of an NTFS: the name in the record of `$Volume`, the fourth of its master file table.
pub fn ntfs_label(boot: &Block<'_>) -> io::Result<Option<String>> {
    const VOLUME_NAME: u32 = 0x60;
    const END: u32 = 0xffff_ffff;
    let cluster = u64::from(boot.u16(11)?) * u64::from(boot.u8(13)?);
    let record = match boot.u8(0x40)? {
        // A negative number is the power of two of the bytes, any other a count of clusters.
        power @ 0xe1..=0xff => 1 << (256 - u64::from(power)),
        clusters => cluster * u64::from(clusters),
    };
    let Some(table) = boot.u64(0x30)?.checked_mul(cluster) else { return Ok(None) };
    let volume = Block { offset: boot.offset.saturating_add(table + 3 * record), ..*boot };
    if volume.bytes(0, 4)? != b"FILE" {
        return Ok(None);
    }
    let mut at = u64::from(volume.u16(0x14)?);
    while at < record {
        let (kind, length) = (volume.u32(at)?, u64::from(volume.u32(at + 4)?));
        match kind {
            VOLUME_NAME => {
                let (bytes, begin) = (volume.u32(at + 16)?, u64::from(volume.u16(at + 20)?));
                return Field::Wide(at + begin, bytes.min(256) as usize).of(&volume);
            }
            END => break,
            _ if length == 0 => break,
            _ => at += length,
        }
    }
    Ok(None)
}

/// A table of four partitions, used or not; not the boot sector of a file system, which ends alike.
pub fn is_dos(boot: &Block<'_>) -> io::Result<bool> {
    let others = [b"NTFS    ", b"EXFAT   ", b"-FVE-FS-"];
    if others.contains(&&boot.array(3)?) || is_fat(boot)? {
        return Ok(false);
    }
    // Empty or with boot code alone it is one, too: what it told may have been taken out of it.
    let entries = boot.bytes(446, 64)?;
    Ok(entries.chunks(16).all(|entry| matches!(entry[0], 0 | 0x80)))
}

/// A GPT header of plausible size.
pub fn is_gpt(header: &Block<'_>) -> io::Result<bool> {
    Ok((92..=4096).contains(&header.u32(12)?))
}

/// Swap space of version 1; images of sleeping machines replace the mark and keep the rest.
pub fn is_swap(page: &Block<'_>) -> io::Result<bool> {
    let version = page.array(1024)?;
    Ok([u32::from_le_bytes(version), u32::from_be_bytes(version)].contains(&1))
}

/// Label of a LUKS2 header; LUKS1 has none.
pub fn luks_label(header: &Block<'_>) -> io::Result<Option<String>> {
    if header.array(6)? != [0, 2] {
        return Ok(None);
    }
    Field::Text(24, 48).of(header)
}

/// What is written as letters and shown in groups that begin at these.
fn grouped(bytes: &[u8], starts: &[usize]) -> Option<String> {
    let mut written = String::new();
    for (index, letter) in text(bytes)?.chars().enumerate() {
        let dash = if starts.contains(&index) { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(written, "{dash}{letter}");
    }
    Some(written)
}

const LVM_GROUPS: [usize; 6] = [6, 10, 14, 18, 22, 26];

/// LVM writes 32 letters.
pub fn lvm_uuid(label: &Block<'_>) -> io::Result<Option<String>> {
    Ok(grouped(&label.bytes(32, 32)?, &LVM_GROUPS))
}

/// So did its first version, elsewhere.
pub fn lvm1_uuid(header: &Block<'_>) -> io::Result<Option<String>> {
    Ok(grouped(&header.bytes(44, 32)?, &LVM_GROUPS))
}

/// Of a device of a Stratis pool.
pub fn stratis_uuid(superblock: &Block<'_>) -> io::Result<Option<String>> {
    Ok(grouped(&superblock.bytes(64, 32)?, &[8, 12, 16, 20]))
}

/// A member of an md array of version 1 says where it lies.
pub fn is_md1(superblock: &Block<'_>) -> io::Result<bool> {
    Ok(superblock.u32(4)? == 1 && superblock.u64(144)? == superblock.offset / 512)
}

/// Version 0.90, in either byte order.
pub fn is_md0(superblock: &Block<'_>) -> io::Result<bool> {
    Ok(superblock.u32(4)? == 0)
}

/// The four words of the UUID lie apart, in the byte order of the machine that made the array.
pub fn md0_uuid(superblock: &Block<'_>) -> io::Result<Option<String>> {
    let little = superblock.u32(0)? == 0xa92b_4efc;
    let mut uuid = [0; 16];
    for (index, at) in [20, 52, 56, 60].into_iter().enumerate() {
        let mut word: [u8; 4] = superblock.array(at)?;
        if little {
            word.reverse();
        }
        uuid[index * 4..][..4].copy_from_slice(&word);
    }
    Ok(dce(uuid))
}

/// A ZFS label has a ring of uberblocks in its second half.
pub fn is_zfs(label: &Block<'_>) -> io::Result<bool> {
    const MAGIC: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();
    let ring = label.bytes(128 * KIB, 128 * KIB as usize)?;
    let is_magic = |start: &[u8]| start == MAGIC || start.iter().rev().eq(&MAGIC);
    Ok(ring.chunks(KIB as usize).any(|slot| slot.get(..8).is_some_and(is_magic)))
}

/// The value of a name in the list of names and values of a ZFS label (XDR).
fn zfs_value(label: &Block<'_>, name: &[u8], kind: u32) -> io::Result<Vec<u8>> {
    let list = label.bytes(16 * KIB, 112 * KIB as usize)?;
    // Length of the name, the name filled up to words, the kind of value, one value.
    let mut start = (name.len() as u32).to_be_bytes().to_vec();
    start.extend(name);
    start.resize(4 + name.len().next_multiple_of(4), 0);
    start.extend(kind.to_be_bytes());
    start.extend(1_u32.to_be_bytes());
    let at = list.windows(start.len()).position(|window| window == start);
    Ok(at.and_then(|at| list.get(at + start.len()..)).unwrap_or_default().to_vec())
}

pub fn zfs_pool_number(label: &Block<'_>) -> io::Result<Option<String>> {
    let value = zfs_value(label, b"pool_guid", 8)?;
    Ok(value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes).to_string()))
}

pub fn zfs_pool_name(label: &Block<'_>) -> io::Result<Option<String>> {
    let value = zfs_value(label, b"name", 9)?;
    let Some((length, rest)) = value.split_first_chunk() else { return Ok(None) };
    Ok(rest.get(..u32::from_be_bytes(*length) as usize).and_then(text))
}

/// The date of a CD stands for its UUID: of its last change, else of its making.
pub fn iso_date(descriptor: &Block<'_>) -> io::Result<Option<String>> {
    for at in [830, 813] {
        let digits = descriptor.bytes(at, 16)?;
        if digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|digit| *digit != b'0') {
            let parts = [0..4, 4..6, 6..8, 8..10, 10..12, 12..14, 14..16];
            let parts = parts.map(|range| String::from_utf8_lossy(&digits[range]).into_owned());
            return Ok(Some(parts.join("-")));
        }
    }
    Ok(None)
}

/// A nilfs2 superblock of plausible size: its mark has but two bytes.
pub fn is_nilfs(superblock: &Block<'_>) -> io::Result<bool> {
    let plausible = (0xc0..=1024).contains(&superblock.u16(8)?) && superblock.u32(20)? <= 6;
    Ok(superblock.u32(0)? == 2 && plausible && superblock.u64(24)? != 0)
}

/// Versions that are in use.
pub fn is_hfs_plus(header: &Block<'_>) -> io::Result<bool> {
    Ok([[0, 4], [0, 5]].contains(&header.array(2)?))
}

/// Allocation blocks of a whole number of sectors.
pub fn is_hfs(header: &Block<'_>) -> io::Result<bool> {
    let size = u32::from_be_bytes(header.array(20)?);
    Ok(size != 0
        && size.is_multiple_of(512)
        && header.u32(18)? != 0
        && header.bytes(36, 1)?[0] < 28)
}

/// Maps of a minix file system (versions 1 and 2) that fit what they count.
pub fn is_minix(superblock: &Block<'_>) -> io::Result<bool> {
    let short = |at| superblock.u16(at).map(u32::from);
    let zones = short(2)?.max(superblock.u32(20)?);
    Ok(minix_fits(superblock, [short(0)?, zones, short(4)?, short(6)?, short(8)?, short(10)?]))
}

/// The same of version 3.
pub fn is_minix3(superblock: &Block<'_>) -> io::Result<bool> {
    let short = |at| superblock.u16(at).map(u32::from);
    let (inodes, zones) = (superblock.u32(0)?, superblock.u32(20)?);
    Ok(minix_fits(superblock, [inodes, zones, short(6)?, short(8)?, short(10)?, short(12)?]))
}

fn minix_fits(superblock: &Block<'_>, numbers: [u32; 6]) -> bool {
    let [inodes, zones, inode_map, zone_map, first, shift] = numbers.map(u64::from);
    let fits = |map: u64, things: u64| map > 0 && map * 4096 * 8 >= things;
    let inside = first > 0 && first < zones && zones * KIB <= superblock.length.max(KIB) * 4;
    inodes > 0 && shift < 10 && inside && fits(inode_map, inodes) && fits(zone_map, zones - first)
}

/// The container's superblock, not another object of it.
pub fn is_apfs(superblock: &Block<'_>) -> io::Result<bool> {
    Ok(superblock.u16(24)? == 1 && superblock.u32(36)?.is_power_of_two())
}

/// The format of file systems of gfs; gfs2 counts from 1801 on.
const GFS_FORMAT: [u8; 4] = 1309_u32.to_be_bytes();

/// The superblock of gfs2.
pub fn is_gfs2(superblock: &Block<'_>) -> io::Result<bool> {
    Ok(superblock.array(4)? == [0, 0, 0, 1] && superblock.array(24)? != GFS_FORMAT)
}

/// The superblock of its ancestor.
pub fn is_gfs(superblock: &Block<'_>) -> io::Result<bool> {
    Ok(superblock.array(4)? == [0, 0, 0, 1] && superblock.array(24)? == GFS_FORMAT)
}

/// The second mark of a PV label.
pub fn is_lvm2(label: &Block<'_>) -> io::Result<bool> {
    Ok(label.bytes(24, 8)? == b"LVM2 001")
}

/// The first log record of an xfs journal names the format of its records.
pub fn is_xfs_log(record: &Block<'_>) -> io::Result<bool> {
    Ok([[0, 0, 0, 1], [0, 0, 0, 2]].contains(&record.array(8)?))
}

/// A Macintosh partition map lies behind a driver descriptor or alone.
pub fn is_mac(entry: &Block<'_>) -> io::Result<bool> {
    let entries = u32::from_be_bytes(entry.array(4)?);
    Ok((1..=256).contains(&entries))
}

/// Shows of a Sun label that its words add up.
pub fn is_sun(label: &Block<'_>) -> io::Result<bool> {
    let bytes = label.bytes(0, 512)?;
    let words = bytes.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    Ok(words.fold(0, |sum, word| sum ^ word) == 0)
}

/// The words of an SGI volume header add up to nothing.
pub fn is_sgi(header: &Block<'_>) -> io::Result<bool> {
    let bytes = header.bytes(0, 512)?;
    let words =
        bytes.chunks(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    Ok(words.fold(0, u32::wrapping_add) == 0)
}

/// What partitions of an Atari are for; the table has no mark.
const ATARI: [&[u8; 3]; 10] =
    [b"GEM", b"BGM", b"XGM", b"LNX", b"RAW", b"MIX", b"SWP", b"UNX", b"F32", b"QWA"];

/// A table of an Atari: one that is in use, of a known kind, on the device.
pub fn is_atari(root: &Block<'_>) -> io::Result<bool> {
    let entries = root.bytes(0x1c6, 48)?;
    let sectors = root.length / 512;
    let fits = |entry: &[u8]| {
        let word = |at: usize| entry.get(at..at + 4).and_then(|four| four.first_chunk());
        let number = |at| word(at).map_or(0, |four| u64::from(u32::from_be_bytes(*four)));
        let (start, size) = (number(4), number(8));
        let known = ATARI.iter().any(|kind| entry.get(1..4) == Some(kind.as_slice()));
        entry[0] & 1 == 1 && known && start > 0 && size > 0 && start + size <= sectors
    };
    Ok(entries.chunks(12).any(fits))
}

/// The mark of the drive beside that of the sector.
pub fn is_adaptec(sector: &Block<'_>) -> io::Result<bool> {
    Ok(sector.bytes(0x100, 4)? == b"DPTM")
}

/// A version that there may be: the mark has but two letters.
pub fn is_jmicron(sector: &Block<'_>) -> io::Result<bool> {
    Ok(sector.u8(3)? <= 9)
}

/// A drive of at most eight, and words that add up to nothing.
pub fn is_silicon_image(sector: &Block<'_>) -> io::Result<bool> {
    let bytes = sector.bytes(0, 0x140)?;
    let words = bytes.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    Ok(sector.u8(0x116)? < 8 && words.fold(0, u16::wrapping_add) == 0)
}

/// Its bytes add up to the one behind them: the mark is that of any boot sector.
pub fn is_via(sector: &Block<'_>) -> io::Result<bool> {
    let bytes = sector.bytes(0, 50)?;
    let sum = bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
    Ok(sector.u8(2)? <= 2 && sector.u8(50)? == sum)
}

/// The second of three marks.
pub fn is_befs(superblock: &Block<'_>) -> io::Result<bool> {
    let second = superblock.array(68)?;
    Ok([u32::from_le_bytes(second), u32::from_be_bytes(second)].contains(&0xdd12_1031))
}
